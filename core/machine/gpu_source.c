/* The part that the readers of all GPU families share: lists of throttle reasons. */
#include "core/machine/gpu_source.h"

#include <stdio.h>
#include <string.h>

void pfc_gpu_reason(pfc_gpu *gpu, const char *reason, bool slows)
{
    const size_t len = strlen(gpu->reasons);

    snprintf(gpu->reasons + len, sizeof(gpu->reasons) - len, "%s%s", len ? ", " : "", reason);
    gpu->throttled = gpu->throttled || slows;
}
