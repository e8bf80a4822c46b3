/* Interface between gpu.c and the readers of one GPU family each. Private to this folder. */
#ifndef PFC_CORE_MACHINE_GPU_SOURCE_H
#define PFC_CORE_MACHINE_GPU_SOURCE_H

#include "core/machine/gpu.h"

typedef struct pfc_gpu_source {
    void (*read)(void *arg, size_t i, pfc_gpu *out); /* texts and numbers are absent beforehand */
    void (*close)(void *arg);
    void *arg;
    size_t count; /* 0: nothing to close */
} pfc_gpu_source;

pfc_gpu_source pfc_gpu_nvml(const char *library);
pfc_gpu_source pfc_gpu_amd(const char *root);
/** Appends to a list of reasons, ", " between. */
void pfc_gpu_reason(pfc_gpu *gpu, const char *reason, bool slows);

#endif
