/*
 * Tile sizes of a GEMM: an exhaustive search over powers of two of the array's size with a closed
 * form for the cost. The form does not model banks, open rows and queues; the engine therefore
 * times the best few candidates on a corner of the problem (gemm.c).
 */
#include "kernels/accel/compiler/emit.h"

#define MAX_SIZES 20

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* step, 2 step, 4 step, ... and the whole dimension */
static size_t sizes_of(uint64_t dim, uint64_t step, uint64_t out[MAX_SIZES])
{
    size_t len = 0;

    for (uint64_t s = step; s < dim && len < MAX_SIZES - 1; s *= 2)
        out[len++] = s;
    out[len++] = dim;
    return len;
}

typedef struct search {
    const pfc_accel_chip *chip;
    uint64_t es;
    uint64_t out_es;
    uint64_t passes;
    uint64_t m;
    uint64_t n;
    uint64_t k;
} search;

static bool fits(const search *s, const pfc_accel_gemm_tiles *t)
{
    const uint64_t sram = 2 * pfc_accel_sram_rounded(s->chip, t->m * t->k * s->es) +
                          2 * pfc_accel_sram_rounded(s->chip, t->k * t->n * s->es);

    return sram <= s->chip->sram_bytes && 2 * t->m * t->n * 4 <= s->chip->acc_bytes;
}

/* Cycles for that many bytes in rows of `width`: whole bursts, and a row miss a row at worst. */
static uint64_t rows_cycles(const search *s, uint64_t bytes, uint64_t width)
{
    const uint64_t rows = div_up(bytes, width);
    const uint64_t moved = rows * (div_up(width, s->chip->hbm_burst) * s->chip->hbm_burst);
    const uint64_t miss =
        width < s->chip->hbm_interleave ? rows * s->chip->hbm_row_miss / s->chip->hbm_channels : 0;

    return div_up(moved * s->chip->clock_mhz * 100, s->chip->hbm_mbps * 87) + miss;
}

static uint64_t hbm_cycles(const search *s, uint64_t bytes)
{
    /* 87 %: what refresh and row misses leave of the peak */
    return div_up(bytes * s->chip->clock_mhz * 100, s->chip->hbm_mbps * 87);
}

/* Cycles a single transfer of a tile takes: its share of the engines, and their setup. */
static uint64_t move_cycles(const search *s, uint64_t bytes)
{
    return s->chip->dma_setup + s->chip->hbm_latency +
           PFC_MAX(hbm_cycles(s, bytes), div_up(bytes, s->chip->dma_bytes * s->chip->dma_engines));
}

static uint64_t cost_of(const search *s, const pfc_accel_gemm_tiles *t)
{
    const uint64_t nm = div_up(s->m, t->m);
    const uint64_t nn = div_up(s->n, t->n);
    const uint64_t nk = div_up(s->k, t->k);
    const uint64_t folds = div_up(t->k, s->chip->array_rows) * div_up(t->n, s->chip->array_cols);
    const uint64_t issue = folds * PFC_MAX(t->m * s->passes, s->chip->array_rows);
    const uint64_t compute = nm * nn * nk * issue;
    /* The outer loop's operand stays when its whole depth is in the two buffers. */
    const uint64_t a_rounds = t->m_outer ? (nk <= 2 ? 1 : nn) : (nm * nk <= 2 ? 1 : nn);
    const uint64_t b_rounds = t->m_outer ? (nn * nk <= 2 ? 1 : nm) : (nk <= 2 ? 1 : nm);
    const uint64_t memory = rows_cycles(s, a_rounds * s->m * s->k * s->es, t->k * s->es) +
                            rows_cycles(s, b_rounds * s->k * s->n * s->es, t->n * s->es) +
                            rows_cycles(s, s->m * s->n * s->out_es, t->n * s->out_es);
    const uint64_t first = move_cycles(s, (t->m * t->k + t->k * t->n) * s->es);
    const uint64_t last =
        move_cycles(s, t->m * t->n * s->out_es) + s->chip->array_rows + s->chip->array_cols;
    /* With two buffers a tile is loaded while the other is used: two steps take at least one use
     * and one load. Steps that find both operands in place load nothing. */
    const uint64_t steps = nm * nn * nk;
    const uint64_t a_loads = PFC_MIN(a_rounds * nm * nk, steps);
    const uint64_t b_loads = PFC_MIN(b_rounds * nn * nk, steps);
    const uint64_t a_move = move_cycles(s, t->m * t->k * s->es);
    const uint64_t b_move = move_cycles(s, t->k * t->n * s->es);
    const uint64_t a_bound = (steps * issue + a_loads * a_move) / 2;
    const uint64_t b_bound = (steps * issue + b_loads * b_move) / 2;

    const uint64_t most = PFC_MAX(PFC_MAX(compute, memory), PFC_MAX(a_bound, b_bound));

    /* Of two that the largest term cannot tell apart, the one with more room in the others. */
    return most + (compute + memory + a_bound + b_bound) / 8 + first + last;
}

/* Keeps the cheapest, in order of cost. */
static size_t keep(pfc_accel_gemm_tiles *best, uint64_t *costs, size_t len,
                   const pfc_accel_gemm_tiles *t, uint64_t cost)
{
    size_t at = len;

    if (len == PFC_ACCEL_TILE_CHOICES && cost >= costs[len - 1])
        return len;
    if (len < PFC_ACCEL_TILE_CHOICES)
        len++;
    else
        at--;
    for (; at > 0 && cost < costs[at - 1]; at--) {
        best[at] = best[at - 1];
        costs[at] = costs[at - 1];
    }
    best[at] = *t;
    costs[at] = cost;
    return len;
}

size_t pfc_accel_gemm_tiles_choose(const pfc_accel_chip *chip, pfc_accel_dtype dtype, uint64_t m,
                                   uint64_t n, uint64_t k,
                                   pfc_accel_gemm_tiles out[PFC_ACCEL_TILE_CHOICES])
{
    const search s = {
        .chip = chip,
        .es = pfc_accel_dtype_bytes(dtype),
        .out_es = dtype == PFC_ACCEL_BF16 ? 2 : 4,
        .passes = dtype == PFC_ACCEL_F32 ? chip->f32_passes : 1,
        .m = m,
        .n = n,
        .k = PFC_MAX(k, 1),
    };
    uint64_t ms[MAX_SIZES];
    uint64_t ns[MAX_SIZES];
    uint64_t ks[MAX_SIZES];
    uint64_t costs[PFC_ACCEL_TILE_CHOICES];
    const size_t ms_len = sizes_of(m, PFC_MIN(chip->array_rows, m), ms);
    const size_t ns_len = sizes_of(n, PFC_MIN(chip->array_cols, n), ns);
    const size_t ks_len = sizes_of(s.k, PFC_MIN(chip->array_rows, s.k), ks);
    size_t len = 0;

    for (size_t i = 0; i < ms_len * ns_len * ks_len * 2; i++) {
        const pfc_accel_gemm_tiles t = {
            .m = ms[i / 2 % ms_len],
            .n = ns[i / 2 / ms_len % ns_len],
            .k = ks[i / 2 / ms_len / ns_len],
            .m_outer = i % 2 == 1,
        };

        if (fits(&s, &t))
            len = keep(out, costs, len, &t, cost_of(&s, &t));
    }
    return len;
}
