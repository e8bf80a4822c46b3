/*
 * Cases that analyses are graded on: a problem and a chip, made from a seed. Over all built-in
 * chips, operators, types and shapes, with the constants of the chip varied. A case leans towards
 * one resource, whose constants are made worse, so that each resource is the limiter often enough;
 * which one really limits is found by simulation, never taken from here. Private to cli/accel.
 */
#ifndef PFC_CLI_ACCEL_GRADE_CASES_H
#define PFC_CLI_ACCEL_GRADE_CASES_H

#include "core/base/rng.h"
#include "core/trace/resources.h"
#include "kernels/accel/ops/ops.h"

typedef struct grade_case {
    pfc_accel_problem problem;
    pfc_accel_chip chip;
    pfc_resource leans; /* whose constants were made worse */
    bool is_region;     /* seen from the host, with copies and launches; else the kernel alone */
    pfc_accel_region_opts region;
} grade_case;

/** The next case from the generator's state. The chip always is a valid one; the problem may be one
 *  that does not fit on it, which pfc_accel_case_new says. */
void grade_case_make(pfc_rng *rng, grade_case *out);
/** "gemm 64x64x64 bf16 on pfc-edge": for progress and lists; `out` has 160 bytes. */
void grade_case_text(const grade_case *c, char out[160]);

#endif
