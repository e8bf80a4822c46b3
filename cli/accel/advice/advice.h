/*
 * Guidance on the simulated accelerator: the profile of a GEMM with its tiles, changes that advice
 * proposes, applied to its problem and tiles, and the grade of the predictions. Private to
 * cli/accel.
 */
#ifndef PFC_CLI_ACCEL_ADVICE_ADVICE_H
#define PFC_CLI_ACCEL_ADVICE_ADVICE_H

#include "core/analysis/guidance/guidance.h"
#include "core/base/rng.h"
#include "kernels/accel/ops/ops.h"

/** A GEMM with a schedule, on a chip. */
typedef struct advice_case {
    pfc_accel_problem problem;
    pfc_accel_gemm_tiles tiles;
    pfc_accel_chip chip;
} advice_case;

/**
 * Applies an action of advice, "tile_m=256 dtype_bytes=2": numbers of the tiles by their names, and
 * the bytes of an element (4 f32, 2 bf16, 1 int8). PFC_EINVAL names what is no such change.
 * (apply.c)
 */
pfc_code advice_apply(const char *action, advice_case *c, pfc_err *err) PFC_MUSTCHECK;

/** Draws a case: a built-in chip with at most three constants between half and twice their value, a
 *  GEMM (a quarter of them with bias and activation, of which a quarter has them in a second pass),
 *  and any of its tiles that fit. (draw.c) */
void advice_draw(pfc_rng *rng, advice_case *out);

/** Simulates the case, timing only, and fills the profile as a run document has it; the caller
 *  clears it. NULL: cycles only. PFC_ETOOBIG: the schedule does not fit or is too long to be
 *  simulated here. (simulate.c) */
pfc_code advice_simulate(const advice_case *c, uint64_t *cycles, pfc_profile *profile,
                         pfc_err *err) PFC_MUSTCHECK;

/** An advice and its outcome. */
typedef struct advice_outcome {
    size_t entry; /* of the catalogue */
    double predicted, low, high;
    double simulated; /* gain; below 0: slower */
} advice_outcome;

/** The outcomes of the advice for one case, in the order of the predicted gains. */
typedef struct advice_outcomes {
    advice_outcome all[PFC_GUIDANCE_MAX];
    size_t len;
    uint64_t impossible; /* advice whose schedule could not be compiled */
} advice_outcomes;

/** Case number `index` of a seed: predicted from its run, then each change simulated. (simulate.c)
 */
pfc_code advice_measure(const pfc_guidance *guidance, const pfc_limiter_rules *rules, uint64_t seed,
                        uint64_t index, advice_outcomes *out, pfc_err *err) PFC_MUSTCHECK;

#endif
