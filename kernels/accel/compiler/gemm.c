/*
 * GEMM: rings of buffers for both operands, accumulators for a group of result tiles; tiles that
 * are still resident are not loaded again. Few rows pass all of k with every column tile of a group
 * in the accumulators, so that both units always have a product that waits for no other.
 *
 * Bias and activation are added before results leave the chip, or, unfused, in a second pass that
 * loads the stored sums again, tile by tile.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/accel/compiler/ir.h"

#define MAX_GROUP 256
#define MAX_OUT   8 /* result tiles in flight in the second pass */

typedef struct lowering {
    pfc_accel_ir *ir;
    pfc_accel_gemm_tiles t;
    uint64_t m; /* what is computed: all, or a corner to try tiles on */
    uint64_t n;
    uint64_t k;
    uint64_t a_cols; /* elements from row to row in HBM */
    uint64_t b_cols;
    bool fused;    /* bias and activation */
    bool unfused;  /* the same in a second pass */
    uint8_t result; /* argument */
    uint8_t act;
    pfc_accel_ring a, b, bias;
    uint16_t acc[2 * MAX_GROUP];
    size_t acc_len;
    uint16_t out[MAX_OUT];
    size_t out_len;
    uint64_t stored;
    uint8_t line_a, line_b, line_mul, line_bias, line_act, line_store, line_sum, line_again;
} lowering;

static uint64_t count(uint64_t dim, uint64_t tile)
{
    return dim ? (dim + tile - 1) / tile : 1;
}

static uint64_t extent(uint64_t dim, uint64_t tile, uint64_t i)
{
    return PFC_MIN(tile, dim - i * tile);
}

/* Tile number t in the order of the outer loops. */
static void indices(const lowering *g, uint64_t t, uint64_t *mi, uint64_t *ni)
{
    const uint64_t nm = count(g->m, g->t.m);
    const uint64_t nn = count(g->n, g->t.n);

    *mi = g->t.m_outer ? t / nn : t % nm;
    *ni = g->t.m_outer ? t % nn : t / nm;
}

/* acc (+)= a b for one tile of k. */
static void multiply(lowering *g, uint64_t t, uint64_t ki)
{
    const uint64_t es = g->ir->es;
    const uint64_t nk = count(g->k, g->t.k);
    const uint64_t depth = g->k ? extent(g->k, g->t.k, ki) : 0;
    uint64_t mi = 0;
    uint64_t ni = 0;
    pfc_accel_tile a, b;
    uint16_t in_a, in_b;
    pfc_accel_tile_op *op;

    indices(g, t, &mi, &ni);
    a = (pfc_accel_tile){ .arg = 0,
                          .offset = (mi * g->t.m * g->a_cols + ki * g->t.k) * es,
                          .stride = g->a_cols * es,
                          .rows = extent(g->m, g->t.m, mi),
                          .cols = depth };
    b = (pfc_accel_tile){ .arg = 1,
                          .offset = (ki * g->t.k * g->b_cols + ni * g->t.n) * es,
                          .stride = g->b_cols * es,
                          .rows = depth,
                          .cols = extent(g->n, g->t.n, ni) };
    in_a = pfc_accel_ring_fetch(g->ir, &g->a, mi * nk + ki, &a, g->line_a);
    in_b = pfc_accel_ring_fetch(g->ir, &g->b, ni * nk + ki, &b, g->line_b);
    op = pfc_accel_ir_op(g->ir, PFC_ACCEL_OP_MATMUL, g->line_mul);
    op->cmd.accumulate = ki > 0;
    op->cmd.m = (uint32_t)a.rows;
    op->cmd.n = (uint32_t)b.cols;
    op->cmd.k = (uint32_t)depth;
    op->a = in_a;
    op->b = in_b;
    op->acc = g->acc[t % g->acc_len];
    op->either = pfc_accel_either_unit(g->ir, a.rows, b.cols, depth);
}

static pfc_accel_tile result_of(const lowering *g, uint64_t t)
{
    uint64_t mi = 0;
    uint64_t ni = 0;

    indices(g, t, &mi, &ni);
    return (pfc_accel_tile){ .arg = g->result,
                             .offset = (mi * g->t.m * g->b_cols + ni * g->t.n) * g->ir->out_es,
                             .stride = g->b_cols * g->ir->out_es,
                             .rows = extent(g->m, g->t.m, mi),
                             .cols = extent(g->n, g->t.n, ni) };
}

/* out = act(sums + bias), stored. acc: where the sums are; PFC_ACCEL_NO_BUF: in `out`. */
static void finish(lowering *g, uint64_t t, uint16_t out, uint16_t acc)
{
    const pfc_accel_tile result = result_of(g, t);
    uint64_t mi = 0;
    uint64_t ni = 0;
    pfc_accel_tile bias;
    uint16_t in_bias;
    pfc_accel_tile_op *op;

    indices(g, t, &mi, &ni);
    bias = (pfc_accel_tile){ .arg = 2,
                             .offset = ni * g->t.n * g->ir->es,
                             .stride = result.cols * g->ir->es,
                             .rows = 1,
                             .cols = result.cols };
    in_bias = pfc_accel_ring_fetch(g->ir, &g->bias, ni, &bias, g->line_bias);
    op = pfc_accel_ir_op(
        g->ir, acc == PFC_ACCEL_NO_BUF ? PFC_ACCEL_OP_BIAS_ROWS : PFC_ACCEL_OP_BIAS_ACT,
        g->line_act);
    op->cmd.m = (uint32_t)result.rows;
    op->cmd.n = (uint32_t)result.cols;
    op->cmd.act = g->act;
    op->a = out;
    op->b = in_bias;
    op->acc = acc;
    pfc_accel_ir_move(g->ir, PFC_ACCEL_OP_STORE, &result, out, g->line_store);
}

static void store(lowering *g, uint64_t t)
{
    const uint16_t acc = g->acc[t % g->acc_len];
    const pfc_accel_tile result = result_of(g, t);

    if (g->fused)
        finish(g, t, g->out[g->stored++ % g->out_len], acc);
    else
        pfc_accel_ir_move(g->ir, PFC_ACCEL_OP_STORE_ACC, &result, acc,
                          g->unfused ? g->line_sum : g->line_store);
}

/* sums: by tile 1 + the operation that stored it. */
static void second_pass(lowering *g, const uint32_t *sums, uint64_t tiles)
{
    for (uint64_t t = 0; t < tiles && !g->ir->overflow; t++) {
        const pfc_accel_tile result = result_of(g, t);
        const uint16_t out = g->out[t % g->out_len];

        pfc_accel_ir_move(g->ir, PFC_ACCEL_OP_LOAD, &result, out, g->line_again);
        g->ir->ops[g->ir->ops_len - 1].after = sums[t];
        finish(g, t, out, PFC_ACCEL_NO_BUF);
    }
}

/* Lines, bias and tiles of results: two are enough where they leave at once; in the second pass as
 * many as there is room for. */
static void prepare_results(lowering *g, uint64_t tiles)
{
    pfc_accel_ir *ir = g->ir;
    const uint64_t tile = pfc_accel_sram_rounded(ir->chip, g->t.m * g->t.n * ir->es);
    uint64_t used = 0;

    g->line_store = pfc_accel_ir_line(ir, g->fused || g->unfused ? "store c[mi, ni]"
                                                                 : "store sum[mi, ni]");
    if (!g->fused && !g->unfused)
        return;
    pfc_accel_ring_init(ir, &g->bias, 2, g->t.n * ir->es);
    for (size_t i = 0; i < ir->bufs_len; i++)
        if (ir->bufs[i].space == PFC_ACCEL_SRAM)
            used += pfc_accel_sram_rounded(ir->chip, ir->bufs[i].bytes);
    g->out_len = g->unfused ? PFC_MIN(MAX_OUT, tiles) : 2;
    while (g->out_len > 1 && g->unfused && used + g->out_len * tile > ir->chip->sram_bytes)
        g->out_len--;
    for (size_t i = 0; i < g->out_len; i++)
        g->out[i] = pfc_accel_ir_buffer(ir, PFC_ACCEL_SRAM, g->t.m * g->t.n * ir->es);
}

static void prepare(lowering *g)
{
    pfc_accel_ir *ir = g->ir;
    const uint64_t nk = count(g->k, g->t.k);
    const uint64_t tiles = count(g->m, g->t.m) * count(g->n, g->t.n);
    const size_t least = ir->p->ideal_memory ? 1 : 2;

    g->line_a = pfc_accel_ir_line(ir, "load a[mi, ki]");
    g->line_b = pfc_accel_ir_line(ir, "load b[ki, ni]");
    g->line_mul = pfc_accel_ir_line(ir, "sum[mi, ni] += a[mi, ki] b[ki, ni]");
    if (g->unfused) {
        g->line_sum = pfc_accel_ir_line(ir, "store sum[mi, ni]");
        g->line_again = pfc_accel_ir_line(ir, "load sum[mi, ni]");
    }
    if (g->fused || g->unfused) {
        g->line_bias = pfc_accel_ir_line(ir, "load bias[ni]");
        g->line_act = pfc_accel_ir_line(ir, "c[mi, ni] = act(sum[mi, ni] + bias[ni])");
    }
    pfc_accel_ring_init(ir, &g->a, PFC_MIN(g->t.slots, PFC_MAX(count(g->m, g->t.m) * nk, least)),
                        g->t.m * g->t.k * ir->es);
    pfc_accel_ring_init(ir, &g->b, PFC_MIN(g->t.slots, PFC_MAX(count(g->n, g->t.n) * nk, least)),
                        g->t.k * g->t.n * ir->es);
    g->acc_len = g->t.group * (tiles > g->t.group ? 2 : 1);
    if (g->t.group == 1) /* as many as buffers where there is room: stores may lag behind */
        g->acc_len = PFC_MAX(least, PFC_MIN(PFC_MIN(tiles, g->t.slots),
                                            ir->chip->acc_bytes / (g->t.m * g->t.n * 4)));
    for (size_t i = 0; i < g->acc_len; i++)
        g->acc[i] = pfc_accel_ir_buffer(ir, PFC_ACCEL_ACC, g->t.m * g->t.n * 4);
    prepare_results(g, tiles);
}

static void all_tiles(lowering *g)
{
    const uint64_t tiles = count(g->m, g->t.m) * count(g->n, g->t.n);
    const uint64_t nk = count(g->k, g->t.k);
    uint32_t *sums = pfc_calloc(g->unfused ? tiles : 1, sizeof(*sums));

    g->ir->mixed = g->t.mixed;
    prepare(g);
    for (uint64_t first = 0; first < tiles && !g->ir->overflow; first += g->t.group) {
        const uint64_t end = PFC_MIN(first + g->t.group, tiles);

        for (uint64_t ki = 0; ki < nk && !g->ir->overflow; ki++)
            for (uint64_t t = first; t < end; t++)
                multiply(g, t, ki);
        for (uint64_t t = first; t < end; t++) {
            store(g, t);
            if (g->unfused)
                sums[t] = (uint32_t)g->ir->ops_len;
        }
    }
    if (g->unfused)
        second_pass(g, sums, tiles);
    free(sums);
}

static lowering lowering_of(pfc_accel_ir *ir, const pfc_accel_problem *problem, bool unfused)
{
    const bool epilogue = problem->kernel == PFC_ACCEL_GEMM_BIAS_ACT;

    return (lowering){ .ir = ir,
                       .m = (uint64_t)problem->p[0],
                       .n = (uint64_t)problem->p[1],
                       .k = (uint64_t)problem->p[2],
                       .a_cols = (uint64_t)problem->p[2],
                       .b_cols = (uint64_t)problem->p[1],
                       .fused = epilogue && !unfused,
                       .unfused = epilogue && unfused,
                       .result = epilogue ? 3 : 2,
                       .act = (uint8_t)problem->p[3] };
}

/* Memory decides, and tiles of the right shape for it. */
#define FEW_ROWS 32
static bool few_rows(const lowering *g)
{
    return g->m <= FEW_ROWS;
}

/* Cycles of a problem, or, of a large one, of a corner of at most TRY tiles a side, times how many
 * such corners there are. */
#define TRY        4
#define TRY_ALL    512 /* tiles */
#define TRY_MBYTES 16
static uint64_t tried(const pfc_accel_ir *like, const lowering *g, const pfc_accel_gemm_tiles *t)
{
    const uint64_t all = count(g->m, t->m) * count(g->n, t->n) * count(g->k, t->k);
    const uint64_t bytes = (g->m * g->k + g->k * g->n + g->m * g->n) * like->es;
    const bool corner = all > TRY_ALL || bytes > (uint64_t)TRY_MBYTES << 20;
    pfc_accel_ir ir;
    lowering part = *g;
    uint64_t cycles;

    pfc_accel_ir_fork(&ir, like);
    part.ir = &ir;
    part.t = *t;
    if (corner && few_rows(g)) { /* all columns, some of the depth */
        part.k = PFC_MAX(TRY * t->k, ((uint64_t)TRY_MBYTES << 20) / (g->n * like->es));
        part.k = PFC_MIN(g->k, part.k / t->k * t->k);
    } else if (corner) {
        part.m = PFC_MIN(g->m, TRY * t->m);
        part.n = PFC_MIN(g->n, PFC_MAX(TRY, t->group) * t->n);
        part.k = PFC_MIN(g->k, TRY * t->k);
    }
    all_tiles(&part);
    cycles = pfc_accel_ir_cycles(&ir);
    pfc_accel_program_free(ir.p);
    pfc_accel_ir_free(&ir);
    if (cycles == UINT64_MAX)
        return UINT64_MAX;
    return cycles * all / (count(part.m, t->m) * count(part.n, t->n) * count(part.k, t->k));
}

#define CHEAP_BYTES (2u << 20)
static bool cheap_to_try(const pfc_accel_ir *ir, const lowering *g)
{
    return (g->m * g->k + g->k * g->n + g->m * g->n) * ir->es <= CHEAP_BYTES;
}

/* From a choice to its best neighbour as long as that is faster; returns its cycles. */
#define CLIMB_STEPS 8
static uint64_t climb(const pfc_accel_ir *ir, const lowering *g, const pfc_accel_problem *problem,
                      pfc_accel_gemm_tiles *at, uint64_t cycles)
{
    bool moved = true;

    for (size_t i = 0; i < CLIMB_STEPS && moved; i++) {
        pfc_accel_gemm_tiles near[PFC_ACCEL_MAX_NEIGHBOURS];
        const size_t len = pfc_accel_gemm_tiles_near(ir->chip, problem, at, near);

        moved = false;
        for (size_t j = 0; j < len; j++) {
            const uint64_t now = tried(ir, g, &near[j]);

            if (now >= cycles)
                continue;
            cycles = now;
            *at = near[j];
            moved = true;
        }
    }
    return cycles;
}

/* The fastest hill of those that begin at the CLIMBS fastest choices. */
#define CLIMBS 4
static void climb_from_best(const pfc_accel_ir *ir, const lowering *g,
                            const pfc_accel_problem *problem, const pfc_accel_gemm_tiles *choices,
                            uint64_t *cycles, size_t len, pfc_accel_gemm_tiles *out, uint64_t best)
{
    const size_t climbs = cheap_to_try(ir, g) ? CLIMBS : 1;

    for (size_t i = 0; i < PFC_MIN(climbs, len); i++) {
        size_t from = 0;
        pfc_accel_gemm_tiles at;
        uint64_t now;

        for (size_t j = 1; j < len; j++)
            if (cycles[j] < cycles[from])
                from = j;
        if (cycles[from] == UINT64_MAX)
            return;
        at = choices[from];
        now = climb(ir, g, problem, &at, cycles[from]);
        cycles[from] = UINT64_MAX;
        if (now < best) {
            best = now;
            *out = at;
        }
    }
}

/* Of those that are as fast within 1/256, the one with most rows: it loads weights least often. */
static bool choose(const pfc_accel_ir *ir, const lowering *g, const pfc_accel_problem *problem,
                   pfc_accel_gemm_tiles *out)
{
    pfc_accel_gemm_tiles choices[PFC_ACCEL_TILE_CHOICES];
    uint64_t cycles[PFC_ACCEL_TILE_CHOICES];
    const size_t len = pfc_accel_gemm_tiles_choose(
        ir->chip, problem, choices,
        cheap_to_try(ir, g) ? PFC_ACCEL_TILE_CHOICES : PFC_ACCEL_TILE_CHOICES / 3);
    uint64_t best = UINT64_MAX;
    size_t chosen = len;

    for (size_t i = 0; i < len; i++) {
        cycles[i] = len > 1 ? tried(ir, g, &choices[i]) : 0;
        best = PFC_MIN(best, cycles[i]);
    }
    for (size_t i = 0; i < len; i++) {
        if (cycles[i] == UINT64_MAX || cycles[i] > best + best / 256)
            continue;
        if (chosen == len || choices[i].m > choices[chosen].m ||
            (choices[i].m == choices[chosen].m && cycles[i] < cycles[chosen]))
            chosen = i;
    }
    if (chosen == len)
        return false;
    *out = choices[chosen];
    if (cheap_to_try(ir, g) || few_rows(g)) {
        const uint64_t fastest = cycles[chosen];

        climb_from_best(ir, g, problem, choices, cycles, len, out, fastest);
    }
    return true;
}

/* Tiles that the caller asked for. */
static bool valid(const pfc_accel_gemm_tiles *t)
{
    return t->m && t->n && t->k && t->group && t->group <= MAX_GROUP && t->slots >= 2 &&
           t->slots <= PFC_ACCEL_MAX_SLOTS;
}

pfc_code pfc_accel_choose_gemm(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                               pfc_accel_plan *out, bool *empty, pfc_err *err)
{
    pfc_accel_gemm_tiles *t = &out->gemm;
    const lowering g = lowering_of(ir, problem, t->unfused);
    pfc_accel_program *p = ir->p;
    size_t args = 0;

    p->arg_bytes[args++] = g.m * g.k * ir->es;
    p->arg_bytes[args++] = g.k * g.n * ir->es;
    if (g.fused || g.unfused)
        p->arg_bytes[args++] = g.n * ir->es;
    p->arg_bytes[args++] = g.m * g.n * ir->out_es;
    p->args_len = args;
    *empty = g.m == 0 || g.n == 0;
    if (*empty)
        return PFC_OK;
    if (t->unfused && !g.unfused)
        return pfc_err_set(err, PFC_EINVAL,
                           "gemm tiles: expected fuse = on, since gemm has no bias and activation");
    if (p->ideal_memory)
        *t = (pfc_accel_gemm_tiles){
            .m = g.m, .n = g.n, .k = PFC_MAX(g.k, 1), .group = 1, .slots = 1
        };
    else if (t->m && !valid(t))
        return pfc_err_set(err, PFC_EINVAL,
                           "gemm tiles: expected sizes of at least 1, 1..%d tiles together and "
                           "2..%d buffers",
                           MAX_GROUP, PFC_ACCEL_MAX_SLOTS);
    else if (t->m == 0 && !choose(ir, &g, problem, t))
        return pfc_err_set(err, PFC_ETOOBIG, "%s: no tile of this gemm fits its scratchpad",
                           ir->chip->name);
    t->unfused = g.unfused;
    snprintf(p->choice, sizeof(p->choice),
             "tiles of m %llu, n %llu, k %llu; %s outermost, %llu tiles together; %llu buffers; "
             "%s%s",
             (unsigned long long)t->m, (unsigned long long)t->n, (unsigned long long)t->k,
             t->m_outer ? "m" : "n", (unsigned long long)t->group, (unsigned long long)t->slots,
             pfc_accel_queues_text(t->mixed), g.unfused ? PFC_ACCEL_UNFUSED_TEXT : "");
    return PFC_OK;
}

void pfc_accel_tile_gemm(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                         const pfc_accel_plan *plan)
{
    lowering g = lowering_of(ir, problem, plan->gemm.unfused);

    g.t = plan->gemm;
    all_tiles(&g);
}
