/* Shared registry entries of the row operations (softmax and the norms); private. */
#ifndef PFC_KERNELS_CPU_NORM_OP_H
#define PFC_KERNELS_CPU_NORM_OP_H

#include "kernels/cpu/op.h"

enum { PFC_NORM_ROWS, PFC_NORM_COLS, PFC_NORM_PARAMS };

#define PFC_NORM_PARAM_TABLE                                                                       \
    {                                                                                              \
        { "rows", "rows, each normalised on its own", 0, 1 << 20, 512, false },                    \
            { "cols", "length of a row", 0, 1 << 20, 768, false },                                 \
    }

/** 1 / sqrt(variance + this): keeps rows without variance finite. */
#define PFC_NORM_EPSILON 1e-5F

#endif
