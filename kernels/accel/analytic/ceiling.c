#include "kernels/accel/analytic/ceiling.h"

#include <math.h>

#include "kernels/accel/analytic/pairs.h"
#include "kernels/accel/analytic/products.h"

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Both units work until the last of them is done: at best they share the work so that both end at
 * once. */
static uint64_t together(uint64_t a, uint64_t b)
{
    double both;

    if (a == 0 || b == 0)
        return 0;
    if (a == UINT64_MAX || b == UINT64_MAX)
        return PFC_MIN(a, b);
    both = (double)a / (1.0 + (double)a / (double)b);
    return (uint64_t)(both * (1.0 - 1e-12)); /* never above, whatever the rounding */
}

/* M rows pass through every fold of K x N; the weights of a fold take cycles of their own. The
 * last fold's weights are in place while the others stream, so one load is not counted. */
static uint64_t array_cycles(const pfc_accel_chip *chip, uint64_t passes, uint64_t m, uint64_t n,
                             uint64_t k)
{
    const uint64_t folds = div_up(k, chip->array_rows) * div_up(n, chip->array_cols);

    return folds * PFC_MAX(m * passes, pfc_accel_load_cycles(chip));
}

/* The same when the vector unit takes what would leave folds partly empty: all folds are full. */
static uint64_t full_fold_cycles(const pfc_accel_chip *chip, uint64_t passes, uint64_t m,
                                 uint64_t n, uint64_t k)
{
    return k * n * PFC_MAX(m * passes, pfc_accel_load_cycles(chip)) /
           (chip->array_rows * chip->array_cols);
}

/* The array has `a` cycles of products, of which the vector unit, busy for `own` cycles with what
 * is its alone, may take any part at `products` cycles for all. */
static uint64_t beside(uint64_t a, uint64_t own, uint64_t products)
{
    double both;

    if (a <= own)
        return own;
    both = (double)a * ((double)products + (double)own) / ((double)a + (double)products);
    return (uint64_t)(both * (1.0 - 1e-12));
}

static uint64_t least_gemm_elements(const pfc_accel_chip *chip, uint64_t es, uint64_t m, uint64_t n,
                                    uint64_t k)
{
    const double space = (double)chip->sram_bytes / (double)es + (double)chip->acc_bytes / 4.0;
    const double bound = 2.0 * (double)m * (double)n * (double)k / sqrt(space) - 2.0 * space;

    return bound > 0.0 ? (uint64_t)bound : 0;
}

/* Longest time that a channel serves one access, rounded up. */
static uint64_t longest_access(const pfc_accel_chip *chip)
{
    const uint64_t block =
        div_up(chip->hbm_interleave * chip->clock_mhz * chip->hbm_channels, chip->hbm_mbps);

    return block + 1 + chip->hbm_row_miss + chip->hbm_turnaround;
}

/*
 * Cycles from the start of the first transfer to its engine's last byte, when `bytes` move of which
 * `distinct` have addresses of their own: at the peak of the engines, or of the channels. Every
 * channel is busy as long as their mean or longer, and
 *
 * - each row of distinct bytes is opened once or more often;
 * - no access starts while a refresh lasts, and one that has started before ends at the latest
 *   after the longest access: the rest of each refresh before the end is lost.
 */
static uint64_t memory_cycles(const pfc_accel_chip *chip, uint64_t bytes, uint64_t distinct)
{
    const uint64_t dma = bytes / (chip->dma_bytes * chip->dma_engines);
    const uint64_t rows = distinct / PFC_MAX(chip->hbm_row_bytes, chip->hbm_interleave);
    const uint64_t busy = chip->dma_setup + bytes * chip->clock_mhz / chip->hbm_mbps +
                          rows * chip->hbm_row_miss / chip->hbm_channels;
    const uint64_t longest = longest_access(chip);
    const uint64_t lost = chip->hbm_refresh > longest ? chip->hbm_refresh - longest : 0;
    uint64_t end = busy;

    for (;;) { /* the time that is lost may let a further refresh begin before the end */
        const uint64_t refreshes =
            end > chip->hbm_refresh ? (end - chip->hbm_refresh) / chip->hbm_refresh_every : 0;

        if (busy + refreshes * lost == end)
            break;
        end = busy + refreshes * lost;
    }
    return PFC_MAX(end, dma + chip->dma_setup);
}

/* The least that a transfer takes of a channel: it ends in whole cycles. */
static uint64_t burst_cycles(const pfc_accel_chip *chip)
{
    return div_up(chip->hbm_burst * chip->clock_mhz * chip->hbm_channels, chip->hbm_mbps);
}

/* From the last operand's arrival in a unit to the last result, beside the cycles that the unit is
 * occupied: the depth of the array after a row, or the latency of the vector unit. */
static uint64_t array_depth(const pfc_accel_chip *chip)
{
    const uint64_t cells = chip->array_rows + chip->array_cols;
    const uint64_t load = pfc_accel_load_cycles(chip);

    return cells > load + 1 ? cells - load - 1 : 0;
}

static uint64_t last_result_cycles(const pfc_accel_chip *chip, bool array_can)
{
    return array_can ? PFC_MIN(array_depth(chip), chip->vector_latency) : chip->vector_latency;
}

typedef struct shape {
    uint64_t es, out_es, passes;
} shape;

/* The bias and activation of a fused GEMM take `own` cycles of the vector unit, and a tile's first
 * result takes `after` of them; 0 without. */
static void products(const pfc_accel_problem *p, const pfc_accel_chip *chip, const shape *s,
                     uint64_t own, uint64_t after, pfc_accel_ceiling *out)
{
    const pfc_accel_products all = { .m = (uint64_t)p->p[0],
                                     .n = (uint64_t)p->p[1],
                                     .k = (uint64_t)p->p[2],
                                     .passes = s->passes,
                                     .own = own,
                                     .after = after };
    pfc_accel_products one = all;

    one.m = one.n = 1;
    one.own = after ? after - chip->vector_latency : 0;
    out->products = pfc_accel_products_cycles(&all, chip);
    out->first = pfc_accel_products_cycles(&one, chip);
    if (out->products == 0)
        return;
    /* the last operand is part of a product of a row and all columns, or of all rows */
    out->last = PFC_MIN(PFC_MIN(all.m, div_up(all.n, chip->vector_lanes)) + chip->vector_latency,
                        all.passes + chip->array_rows + chip->array_cols - 2) +
                (after ? after - chip->vector_latency : 0);
}

static void gemm(const pfc_accel_problem *p, const pfc_accel_chip *chip, const shape *s,
                 pfc_accel_ceiling *out)
{
    const uint64_t m = (uint64_t)p->p[0];
    const uint64_t n = (uint64_t)p->p[1];
    const uint64_t k = (uint64_t)p->p[2];
    uint64_t least;

    if (m == 0 || n == 0)
        return;
    least = least_gemm_elements(chip, s->es, m, n, k) * PFC_MIN(s->es, s->out_es);
    out->loads = (m * k + k * n) * s->es;
    out->distinct = out->loads + m * n * s->out_es;
    out->array = array_cycles(chip, s->passes, m, n, k);
    out->vector = m * n * k / chip->vector_lanes;
    out->compute = together(full_fold_cycles(chip, s->passes, m, n, k), out->vector);
    out->bytes = PFC_MAX(out->distinct, least);
    products(p, chip, s, 0, 0, out);
}

/* The fused bias and activation belong to the vector unit alone. */
static void fused_gemm(const pfc_accel_problem *p, const pfc_accel_chip *chip, const shape *s,
                       pfc_accel_ceiling *out)
{
    const uint64_t elements = (uint64_t)p->p[0] * (uint64_t)p->p[1];
    const uint64_t passes = pfc_accel_vector_passes(chip, PFC_ACCEL_OP_BIAS_ACT, (uint8_t)p->p[3]);
    const uint64_t store = elements * passes / chip->vector_lanes;

    gemm(p, chip, s, out);
    if (out->bytes == 0)
        return;
    out->compute = beside(
        full_fold_cycles(chip, s->passes, (uint64_t)p->p[0], (uint64_t)p->p[1], (uint64_t)p->p[2]),
        store, out->vector);
    out->vector += store;
    out->bytes += (uint64_t)p->p[1] * s->es;
    out->distinct += (uint64_t)p->p[1] * s->es;
    out->loads += (uint64_t)p->p[1] * s->es;
    products(p, chip, s, store, passes + chip->vector_latency, out);
}

/* Scores and weighted values are two products of all pairs (causal: of half of them and the
 * diagonal); the softmax of the pairs belongs to the vector unit alone. */
static void attention(const pfc_accel_problem *p, const pfc_accel_chip *chip, const shape *s,
                      pfc_accel_ceiling *out)
{
    const uint64_t heads = (uint64_t)p->p[0];
    const uint64_t len = (uint64_t)p->p[1];
    const uint64_t d = (uint64_t)p->p[2];
    const uint64_t queries = p->p[4] && len ? (uint64_t)p->p[4] : len;
    const uint64_t groups = p->p[5] ? (uint64_t)p->p[5] : heads;
    const uint64_t masked = p->p[3] && queries ? queries * (queries - 1) / 2 : 0;
    const uint64_t pairs = heads * (queries * len - masked);
    const uint64_t rows = PFC_MAX(PFC_MIN(d, chip->array_rows), 1);
    const uint64_t cols = PFC_MAX(PFC_MIN(d, chip->array_cols), 1);
    uint64_t depth;

    /* A fold has at most d rows in use for the scores, and d columns for the values. */
    out->array = pairs * d * s->passes / (rows * chip->array_cols) +
                 pairs * d * s->passes / (cols * chip->array_rows);
    /* Keys and values are the weights of the two products. Each is loaded at least once, by folds
     * that use at most d rows of the array (scores) or d columns of it (values). */
    out->array = PFC_MAX(
        out->array, groups * len * (PFC_MAX(d, chip->array_rows) + PFC_MAX(d, chip->array_cols)) *
                        pfc_accel_load_cycles(chip) / (chip->array_rows * chip->array_cols));
    out->vector =
        pairs * pfc_accel_vector_passes(chip, PFC_ACCEL_OP_ATT_STEP, 0) / chip->vector_lanes;
    out->compute = beside(out->array, out->vector, 2 * pairs * d / chip->vector_lanes);
    out->loads = (heads * queries + 2 * groups * len) * d * s->es;
    out->bytes = out->distinct = out->loads + heads * queries * d * s->es;
    if (out->bytes == 0 || pairs == 0)
        return;
    /* what the last result of either unit takes is counted beside this */
    depth = array_depth(chip) - last_result_cycles(chip, true);
    out->tiles = pfc_accel_pairs_cycles(&(pfc_accel_pairs){ .heads = heads,
                                                            .groups = groups,
                                                            .keys = len,
                                                            .queries = queries,
                                                            .d = d,
                                                            .causal = p->p[3] != 0,
                                                            .passes = s->passes,
                                                            .own = out->vector,
                                                            .depth = depth },
                                        chip);
}

static void norm(const pfc_accel_problem *p, const pfc_accel_chip *chip, const shape *s,
                 pfc_accel_ceiling *out)
{
    static const struct {
        pfc_accel_op op;
        uint64_t weights;  /* vectors of one element a column */
        uint64_t matrices; /* number of matrices of the whole size: half are read, half written */
    } kinds[] = {
        [PFC_ACCEL_LAYERNORM] = { PFC_ACCEL_OP_LAYERNORM, 2, 2 },
        [PFC_ACCEL_RMSNORM] = { PFC_ACCEL_OP_RMSNORM, 1, 2 },
        [PFC_ACCEL_SOFTMAX] = { PFC_ACCEL_OP_SOFTMAX, 0, 2 },
        [PFC_ACCEL_RESIDUAL_RMSNORM] = { PFC_ACCEL_OP_RES_NORM, 1, 4 },
    };
    const uint64_t elements = (uint64_t)p->p[0] * (uint64_t)p->p[1];
    const uint64_t passes = pfc_accel_vector_passes(chip, kinds[p->kernel].op, 0);

    out->array = UINT64_MAX;
    out->vector = out->compute = elements * passes / chip->vector_lanes;
    if (elements == 0)
        return;
    out->loads =
        (kinds[p->kernel].matrices / 2 * elements + kinds[p->kernel].weights * (uint64_t)p->p[1]) *
        s->es;
    out->bytes = out->distinct = out->loads + kinds[p->kernel].matrices / 2 * elements * s->es;
}

/* The first bytes arrive and the last leave before and after any work on them; every input is part
 * of some result, which is stored after the last of them has arrived. */
static uint64_t whole_cycles(const pfc_accel_chip *chip, const pfc_accel_ceiling *c)
{
    const uint64_t cycles = PFC_MAX(c->memory + chip->hbm_latency, c->compute + 2 * c->fixed);
    const uint64_t last = last_result_cycles(chip, c->array != UINT64_MAX) + c->fixed;
    const uint64_t in = c->fixed + chip->hbm_row_miss; /* no row is open at the begin */

    if (!c->loads)
        return cycles;
    return PFC_MAX(cycles, PFC_MAX(in + c->compute + last, memory_cycles(chip, c->loads, c->loads) +
                                                               chip->hbm_latency + last));
}

/* The same for a GEMM in tiles. After the first result all others may leave at the peak of HBM. */
static uint64_t tiled_cycles(const pfc_accel_chip *chip, const pfc_accel_ceiling *c)
{
    const uint64_t in = c->fixed + chip->hbm_row_miss;
    const uint64_t stores = c->distinct - c->loads;
    const uint64_t leave = PFC_MAX(stores * chip->clock_mhz / chip->hbm_mbps,
                                   stores / (chip->dma_bytes * chip->dma_engines));
    const uint64_t cycles = PFC_MAX(in + c->products + c->fixed,
                                    in + c->first + chip->dma_setup + leave + chip->hbm_latency);

    return PFC_MAX(cycles, memory_cycles(chip, c->loads, c->loads) + chip->hbm_latency + c->last +
                               c->fixed);
}

pfc_accel_ceiling pfc_accel_ceiling_of(const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                                       pfc_accel_mode mode, pfc_accel_ceiling_scope scope)
{
    const shape s = { .es = pfc_accel_dtype_bytes(problem->dtype),
                      .out_es = problem->dtype == PFC_ACCEL_BF16 ? 2 : 4,
                      .passes = problem->dtype == PFC_ACCEL_F32 ? chip->f32_passes : 1 };
    pfc_accel_ceiling out = { 0 };

    if (problem->kernel == PFC_ACCEL_GEMM && pfc_accel_mode_ideal_memory(mode)) {
        out.array = out.compute = out.cycles = pfc_accel_tensor_cycles(
            mode, chip->array_rows, chip->array_cols, (uint64_t)problem->p[0],
            (uint64_t)problem->p[1], (uint64_t)problem->p[2]);
        out.vector = UINT64_MAX;
        return out;
    }
    if (problem->kernel == PFC_ACCEL_GEMM)
        gemm(problem, chip, &s, &out);
    else if (problem->kernel == PFC_ACCEL_GEMM_BIAS_ACT)
        fused_gemm(problem, chip, &s, &out);
    else if (problem->kernel == PFC_ACCEL_ATTENTION)
        attention(problem, chip, &s, &out);
    else
        norm(problem, chip, &s, &out);
    if (out.bytes == 0)
        return out;
    if (pfc_accel_mode_ideal_memory(mode)) {
        out.cycles = out.compute;
        return out;
    }
    out.memory = memory_cycles(chip, out.bytes, out.distinct);
    out.fixed = chip->dma_setup + chip->hbm_latency + burst_cycles(chip);
    if (scope == PFC_ACCEL_TILINGS)
        out.compute = PFC_MAX(out.compute, out.tiles);
    out.cycles = whole_cycles(chip, &out);
    if (scope == PFC_ACCEL_TILINGS && out.products)
        out.cycles = PFC_MAX(out.cycles, tiled_cycles(chip, &out));
    return out;
}
