/*
 * Tile sizes of a GEMM: an exhaustive search over powers of two of the array's size with a closed
 * form for the cost. The form does not model banks, open rows and queues; the engine therefore
 * times the best few candidates on a corner of the problem (gemm.c).
 */
#include <stdlib.h>

#include "kernels/accel/compiler/ir.h"

#define MAX_SIZES  20
#define MAX_GROUP  256
/* Where the vector unit is slower than the array by more, it would only be in the way. */
#define FAR_SLOWER 8

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

/* Products of few rows may be the vector unit's, which has no folds to fill. */
static uint64_t depth_step(const pfc_accel_chip *chip, uint64_t m)
{
    return m * 4 <= chip->array_rows ? PFC_MAX(chip->array_rows / 4, 1) : chip->array_rows;
}

typedef struct search {
    const pfc_accel_chip *chip;
    uint64_t es;
    uint64_t out_es;
    uint64_t passes;
    uint64_t m;
    uint64_t n;
    uint64_t k;
    bool fused;
} search;

static uint64_t rows_of_tiles(const search *s, const pfc_accel_gemm_tiles *t)
{
    return div_up(s->m, t->m);
}

static bool fits(const search *s, const pfc_accel_gemm_tiles *t)
{
    const uint64_t nm = rows_of_tiles(s, t);
    const uint64_t nn = div_up(s->n, t->n);
    const uint64_t nk = div_up(s->k, t->k);
    const uint64_t groups = t->group == 1 || nm * nn > t->group ? 2 : 1;
    uint64_t sram = PFC_MIN(t->slots, PFC_MAX(nm * nk, 2)) *
                        pfc_accel_sram_rounded(s->chip, t->m * t->k * s->es) +
                    PFC_MIN(t->slots, PFC_MAX(nn * nk, 2)) *
                        pfc_accel_sram_rounded(s->chip, t->k * t->n * s->es);

    if (s->fused)
        sram += 2 * pfc_accel_sram_rounded(s->chip, t->n * s->es) +
                2 * pfc_accel_sram_rounded(s->chip, t->m * t->n * s->es);
    return sram <= s->chip->sram_bytes && groups * t->group * t->m * t->n * 4 <= s->chip->acc_bytes;
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

/* Cycles of the unit that takes a product, or, of both when either may. */
static uint64_t issue_cycles(const search *s, uint64_t m, uint64_t n, uint64_t k)
{
    const uint64_t folds = div_up(k, s->chip->array_rows) * div_up(n, s->chip->array_cols);
    const uint64_t tensor = folds * PFC_MAX(m * s->passes, pfc_accel_load_cycles(s->chip));
    const uint64_t vector = m * k * div_up(n, s->chip->vector_lanes);

    if (vector > FAR_SLOWER * tensor)
        return tensor;
    return PFC_MAX(tensor * vector / PFC_MAX(tensor + vector, 1), 1);
}

bool pfc_accel_either_unit(const pfc_accel_ir *ir, uint64_t m, uint64_t n, uint64_t k)
{
    const pfc_accel_chip *chip = ir->chip;
    const uint64_t passes = ir->p->dtype == PFC_ACCEL_F32 ? chip->f32_passes : 1;
    const uint64_t folds = div_up(k, chip->array_rows) * div_up(n, chip->array_cols);
    const uint64_t tensor = folds * PFC_MAX(m * passes, pfc_accel_load_cycles(chip));

    return ir->p->mode == PFC_ACCEL_PIPELINED_WS && !ir->p->ideal_memory &&
           m * k * div_up(n, chip->vector_lanes) <= FAR_SLOWER * tensor;
}

/* How often each operand is read. */
static void rounds_of(const search *s, const pfc_accel_gemm_tiles *t, uint64_t *a, uint64_t *b)
{
    const uint64_t nm = rows_of_tiles(s, t);
    const uint64_t nn = div_up(s->n, t->n);
    const uint64_t nk = div_up(s->k, t->k);

    if (t->group > 1) {
        *a = t->m_outer ? (nk <= t->slots ? 1 : div_up(nn, t->group)) : nn;
        *b = t->m_outer ? nm : (nk <= t->slots ? 1 : div_up(nm, t->group));
        return;
    }
    /* The outer loop's operand stays when its whole depth is in the buffers. */
    *a = t->m_outer ? (nk <= t->slots ? 1 : nn) : (nm * nk <= t->slots ? 1 : nn);
    *b = t->m_outer ? (nn * nk <= t->slots ? 1 : nm) : (nk <= t->slots ? 1 : nm);
}

/* Cycles of both units together, and of memory, whatever the buffers. */
static void totals(const search *s, const pfc_accel_gemm_tiles *t, uint64_t *compute,
                   uint64_t *memory)
{
    uint64_t a_rounds = 1;
    uint64_t b_rounds = 1;

    rounds_of(s, t, &a_rounds, &b_rounds);
    *compute = rows_of_tiles(s, t) * div_up(s->n, t->n) * div_up(s->k, t->k) *
               issue_cycles(s, t->m, t->n, t->k);
    *memory = rows_cycles(s, a_rounds * s->m * s->k * s->es, t->k * s->es) +
              rows_cycles(s, b_rounds * s->k * s->n * s->es, t->n * s->es) +
              rows_cycles(s, s->m * s->n * s->out_es, t->n * s->out_es);
}

static uint64_t cost_of(const search *s, const pfc_accel_gemm_tiles *t)
{
    const uint64_t nm = rows_of_tiles(s, t);
    const uint64_t nn = div_up(s->n, t->n);
    const uint64_t nk = div_up(s->k, t->k);
    const uint64_t issue = issue_cycles(s, t->m, t->n, t->k);
    uint64_t a_rounds = 1;
    uint64_t b_rounds = 1;
    uint64_t compute, memory, first, last, steps, a_bound, b_bound, most;

    rounds_of(s, t, &a_rounds, &b_rounds);
    totals(s, t, &compute, &memory);
    first = move_cycles(s, (t->m * t->k + t->k * t->n) * s->es);
    last = move_cycles(s, t->m * t->n * s->out_es) + s->chip->array_rows + s->chip->array_cols;
    /* A buffer is loaded while the others are used: as many steps as there are buffers take at
     * least one use and one load. Steps that find both operands in place load nothing. */
    steps = nm * nn * nk;
    a_bound =
        (steps * issue + PFC_MIN(a_rounds * nm * nk, steps) * move_cycles(s, t->m * t->k * s->es)) /
        t->slots;
    b_bound =
        (steps * issue + PFC_MIN(b_rounds * nn * nk, steps) * move_cycles(s, t->k * t->n * s->es)) /
        t->slots;
    most = PFC_MAX(PFC_MAX(compute, memory), PFC_MAX(a_bound, b_bound));
    /* Of two that the largest term cannot tell apart, the one with more room in the others. */
    return most + (compute + memory + a_bound + b_bound) / 8 + first + last;
}

/* ---- all candidates ---- */

typedef struct candidate {
    pfc_accel_gemm_tiles tiles;
    uint64_t cost;
    size_t number; /* in the order of the search: decides between equal costs */
} candidate;

typedef struct candidates {
    candidate *all;
    size_t len, cap;
} candidates;

static void add(const search *s, candidates *c, const pfc_accel_gemm_tiles *t)
{
    c->all = pfc_grow(c->all, c->len, &c->cap, sizeof(*c->all));
    c->all[c->len] = (candidate){ *t, cost_of(s, t), c->len };
    c->len++;
}

/* Where memory takes most of the time, every engine is needed for loads. */
static void consider(const search *s, candidates *c, pfc_accel_gemm_tiles t)
{
    uint64_t compute = 0;
    uint64_t memory = 0;

    if (!fits(s, &t))
        return;
    add(s, c, &t);
    totals(s, &t, &compute, &memory);
    t.mixed = true;
    if (2 * memory > compute)
        add(s, c, &t);
}

/* Orders of the loops and numbers of buffers for one size. */
static void consider_size(const search *s, candidates *c, pfc_accel_gemm_tiles t)
{
    const uint64_t nn = div_up(s->n, t.n);
    const uint64_t tiles = rows_of_tiles(s, &t) * nn;
    const uint64_t steps = tiles * div_up(s->k, t.k);

    for (t.slots = 2; t.slots <= 4; t.slots *= 2) {
        if (t.slots > 2 && steps <= 2)
            continue;
        t.group = 1;
        t.m_outer = true;
        consider(s, c, t);
        if (tiles > 1) {
            t.m_outer = false;
            consider(s, c, t);
        }
    }
    for (int m_outer = 0; m_outer < 2; m_outer++) {
        const uint64_t row = m_outer ? nn : rows_of_tiles(s, &t);

        t.m_outer = m_outer == 1;
        t.group = PFC_MIN(row, MAX_GROUP);
        while (t.group > 1 && 2 * t.group * t.m * t.n * 4 > s->chip->acc_bytes &&
               (tiles > t.group || t.group * t.m * t.n * 4 > s->chip->acc_bytes))
            t.group = div_up(t.group, 2);
        for (t.slots = 4; t.slots <= 8 && t.group > 1; t.slots *= 2)
            consider(s, c, t);
    }
}

static int by_cost(const void *a, const void *b)
{
    const candidate *x = a;
    const candidate *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static candidates find_all(const pfc_accel_chip *chip, const pfc_accel_problem *problem)
{
    const search s = {
        .chip = chip,
        .es = pfc_accel_dtype_bytes(problem->dtype),
        .out_es = problem->dtype == PFC_ACCEL_BF16 ? 2 : 4,
        .passes = problem->dtype == PFC_ACCEL_F32 ? chip->f32_passes : 1,
        .m = (uint64_t)problem->p[0],
        .n = (uint64_t)problem->p[1],
        .k = (uint64_t)PFC_MAX(problem->p[2], 1),
        .fused = problem->kernel == PFC_ACCEL_GEMM_BIAS_ACT,
    };
    uint64_t ms[MAX_SIZES];
    uint64_t ns[MAX_SIZES];
    uint64_t ks[MAX_SIZES];
    const size_t ms_len = sizes_of(s.m, PFC_MIN(chip->array_rows, s.m), ms);
    const size_t ns_len = sizes_of(s.n, PFC_MIN(chip->array_cols, s.n), ns);
    const size_t ks_len = sizes_of(s.k, PFC_MIN(depth_step(chip, s.m), s.k), ks);
    candidates c = { 0 };

    for (size_t i = 0; i < ms_len * ns_len * ks_len; i++)
        consider_size(&s, &c,
                      (pfc_accel_gemm_tiles){ .m = ms[i % ms_len],
                                              .n = ns[i / ms_len % ns_len],
                                              .k = ks[i / ms_len / ns_len] });
    if (c.len > 1)
        qsort(c.all, c.len, sizeof(*c.all), by_cost);
    return c;
}

size_t pfc_accel_gemm_tiles_choose(const pfc_accel_chip *chip, const pfc_accel_problem *problem,
                                   pfc_accel_gemm_tiles *out, size_t cap)
{
    candidates c = find_all(chip, problem);
    const size_t len = PFC_MIN(c.len, cap);

    for (size_t i = 0; i < len; i++)
        out[i] = c.all[i].tiles;
    free(c.all);
    return len;
}

/* ---- neighbours ---- */

/* Next smaller or larger of step, 2 step, 3 step, 4 step, 6 step, ... and the whole dimension. */
static uint64_t next_size(uint64_t dim, uint64_t step, uint64_t from, bool up)
{
    uint64_t below = 0;

    step = PFC_MIN(step, dim);
    for (uint64_t s = step; s < dim; s *= 2) {
        const uint64_t both[] = { s, s / 2 * 3 };

        for (size_t i = 0; i < (s > step ? 2u : 1u) && both[i] < dim; i++) {
            if (up && both[i] > from)
                return both[i];
            if (both[i] < from)
                below = both[i];
        }
    }
    return up ? (from < dim ? dim : 0) : below;
}

size_t pfc_accel_gemm_tiles_near(const pfc_accel_chip *chip, const pfc_accel_problem *problem,
                                 const pfc_accel_gemm_tiles *t,
                                 pfc_accel_gemm_tiles out[PFC_ACCEL_MAX_NEIGHBOURS])
{
    const uint64_t m = (uint64_t)problem->p[0];
    const uint64_t n = (uint64_t)problem->p[1];
    const uint64_t k = (uint64_t)PFC_MAX(problem->p[2], 1);
    const uint64_t row = t->m_outer ? div_up(n, t->n) : div_up(m, t->m);
    size_t len = 0;

    for (int up = 0; up < 2; up++) {
        out[len] = *t;
        out[len].m = next_size(m, chip->array_rows, t->m, up);
        len += out[len].m != 0;
        out[len] = *t;
        out[len].n = next_size(n, chip->array_cols, t->n, up);
        len += out[len].n != 0;
        out[len] = *t;
        out[len].k = next_size(k, depth_step(chip, m), t->k, up);
        len += out[len].k != 0;
        out[len] = *t;
        out[len].slots = up ? t->slots * 2 : t->slots / 2;
        len += out[len].slots >= 2 && out[len].slots <= 16;
    }
    for (int up = 0; up < 2; up++) {
        out[len] = *t;
        out[len].m = next_size(m, chip->array_rows, t->m, up);
        out[len].n = next_size(n, chip->array_cols, t->n, !up);
        len += out[len].m != 0 && out[len].n != 0;
        out[len] = *t;
        out[len].group = up ? PFC_MIN(t->group * 2, MAX_GROUP) : t->group / 2;
        len += out[len].group > 1 && out[len].group < row;
    }
    out[len] = *t;
    out[len++].mixed = !t->mixed;
    out[len] = *t;
    out[len].m_outer = !t->m_outer;
    out[len++].group = 1;
    if (t->group > 1) {
        out[len] = *t;
        out[len++].group = 1;
    } else if (row > 1) {
        out[len] = *t;
        out[len++].group = PFC_MIN(row, MAX_GROUP);
    }
    if (row > 2) {
        out[len] = *t;
        out[len++].group = 2;
    }
    return len;
}

size_t pfc_accel_gemm_tiles_all(const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                                pfc_accel_gemm_tiles **out)
{
    candidates c = find_all(chip, problem);

    *out = pfc_calloc(c.len + 1, sizeof(**out));
    for (size_t i = 0; i < c.len; i++)
        (*out)[i] = c.all[i].tiles;
    free(c.all);
    return c.len;
}
