/* Median of samples in blocks. Blocks are drawn as a whole, because the spread between launches is
 * larger than the spread within one. */
#include <math.h>
#include <stdlib.h>

#include "core/stats/sort.h"
#include "core/stats/stats.h"

/* The number of draws is bounded, so there are many rounds for few samples and fewer for many. */
#define DRAWS_MAX  8000000
#define ROUNDS_MAX 2000
#define ROUNDS_MIN 200

static size_t rounds_for(size_t samples)
{
    size_t rounds = DRAWS_MAX / PFC_MAX(samples, (size_t)1);
    return PFC_MIN(PFC_MAX(rounds, (size_t)ROUNDS_MIN), (size_t)ROUNDS_MAX);
}

static double one_round(const double *x, const size_t *start, const uint32_t *blocks,
                        size_t blocks_len, double *draw, pfc_rng *rng)
{
    size_t len = 0;
    size_t most = start[blocks_len];
    for (size_t i = 0; i < blocks_len; i++) {
        size_t block = (size_t)pfc_rng_below(rng, blocks_len);
        for (uint32_t k = 0; k < blocks[block] && len < 2 * most; k++)
            draw[len++] = x[start[block] + pfc_rng_below(rng, blocks[block])];
    }
    return len ? pfc_stats_median_inplace(draw, len) : x[0];
}

pfc_interval pfc_stats_block_interval(const double *x, const uint32_t *blocks, size_t blocks_len,
                                      double level, uint64_t seed)
{
    size_t *start = pfc_calloc(blocks_len + 1, sizeof *start);
    size_t filled = 0;
    for (size_t i = 0; i < blocks_len; i++) {
        start[i + 1] = start[i] + blocks[i];
        filled += blocks[i] > 0;
    }
    size_t n = start[blocks_len];
    pfc_interval out = { .value = (double)NAN, .low = (double)NAN, .high = (double)NAN };
    if (filled <= 1) {
        if (n > 0)
            out = pfc_stats_median_interval(x, n, level);
        free(start);
        return out;
    }
    size_t rounds = rounds_for(n);
    double *draw = pfc_calloc(2 * n, sizeof *draw);
    double *medians = pfc_calloc(rounds, sizeof *medians);
    pfc_rng rng;
    pfc_rng_seed(&rng, seed);
    for (size_t i = 0; i < rounds; i++)
        medians[i] = one_round(x, start, blocks, blocks_len, draw, &rng);
    out.value = pfc_stats_median(x, n);
    out.low = PFC_MIN(out.value, pfc_stats_quantile(medians, rounds, 0.5 * (1.0 - level)));
    out.high = PFC_MAX(out.value, pfc_stats_quantile(medians, rounds, 0.5 * (1.0 + level)));
    free(medians);
    free(draw);
    free(start);
    return out;
}
