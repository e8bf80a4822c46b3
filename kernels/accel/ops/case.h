/* The fields of a case. Inside kernels/accel/ops only. */
#ifndef PFC_KERNELS_ACCEL_OPS_CASE_H
#define PFC_KERNELS_ACCEL_OPS_CASE_H

#include "kernels/accel/ops/ops.h"

struct pfc_accel_case {
    pfc_accel_problem problem; /* of a given program without a reference only the type */
    bool has_problem;
    bool tiled; /* the compiler made the program */
    pfc_accel_program *program;
    pfc_accel_device *dev;
    pfc_accel_ptr args[PFC_ACCEL_MAX_ARGS];
    void *host[PFC_ACCEL_MAX_ARGS]; /* NULL: no bytes, or timing only */
    uint64_t seed;
    bool functional;
    char stream_digest[PFC_ACCEL_DIGEST_SIZE]; /* of the program, which no run changes */
};

#endif
