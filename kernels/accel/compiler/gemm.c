/* GEMM: two buffers an operand and an accumulator tile; resident tiles are not loaded again. */
#include "kernels/accel/compiler/emit.h"

/* One of two buffers of an operand. */
typedef struct slot {
    uint64_t place;
    uint64_t tag; /* which tile is in it */
    bool full;
    uint32_t loaded; /* token */
    uint32_t used;   /* token of the last command that reads it */
    uint64_t turn;
} slot;

typedef struct lowering {
    pfc_accel_emit *e;
    pfc_accel_gemm_tiles t;
    uint64_t m; /* what is computed: all, or a corner to try tiles on */
    uint64_t n;
    uint64_t k;
    uint64_t a_cols; /* elements from row to row in HBM */
    uint64_t b_cols;
    slot a[2];
    slot b[2];
    uint64_t acc[2];
    uint32_t acc_free[2]; /* token of the store that empties it */
    size_t slots;         /* 2, or 1 for a whole-problem tile */
    uint64_t turn;
} lowering;

static uint64_t extent(uint64_t dim, uint64_t tile, uint64_t i)
{
    return PFC_MIN(tile, dim - i * tile);
}

/* The buffer that holds `tag`, loaded when it is in none. */
static slot *fetch(lowering *g, slot *slots, uint64_t tag, const pfc_accel_tile *tile)
{
    slot *s = &slots[0];
    pfc_accel_tile moved = *tile;

    for (size_t i = 0; i < g->slots; i++)
        if (slots[i].full && slots[i].tag == tag) {
            slots[i].turn = ++g->turn;
            return &slots[i];
        }
    if (g->slots > 1 && slots[1].turn < slots[0].turn)
        s = &slots[1];
    moved.place = s->place;
    s->loaded = pfc_accel_emit_move(g->e, PFC_ACCEL_OP_LOAD, &moved, &s->used, 1);
    s->tag = tag;
    s->full = true;
    s->turn = ++g->turn;
    return s;
}

static void one_tile(lowering *g, uint64_t mi, uint64_t ni, size_t which)
{
    const uint64_t es = g->e->es;
    const uint64_t nk = g->k ? (g->k + g->t.k - 1) / g->t.k : 1;
    const uint64_t rows = extent(g->m, g->t.m, mi);
    const uint64_t cols = extent(g->n, g->t.n, ni);
    uint32_t done = PFC_ACCEL_NO_TOKEN;
    pfc_accel_tile result;

    for (uint64_t ki = 0; ki < nk; ki++) {
        const uint64_t depth = g->k ? extent(g->k, g->t.k, ki) : 0;
        const pfc_accel_tile at = { .arg = 0,
                                    .offset = (mi * g->t.m * g->a_cols + ki * g->t.k) * es,
                                    .stride = g->a_cols * es,
                                    .rows = rows,
                                    .cols = depth };
        const pfc_accel_tile bt = { .arg = 1,
                                    .offset = (ki * g->t.k * g->b_cols + ni * g->t.n) * es,
                                    .stride = g->b_cols * es,
                                    .rows = depth,
                                    .cols = cols };
        slot *a = fetch(g, g->a, mi * nk + ki, &at);
        slot *b = fetch(g, g->b, ni * nk + ki, &bt);
        const uint32_t waits[] = { a->loaded, b->loaded,
                                   ki == 0 ? g->acc_free[which] : PFC_ACCEL_NO_TOKEN };
        const pfc_accel_cmd cmd = {
            .unit = PFC_ACCEL_UNIT_TENSOR,
            .op = PFC_ACCEL_OP_MATMUL,
            .accumulate = ki > 0,
            .token = pfc_accel_emit_token(g->e),
            .m = (uint32_t)rows,
            .n = (uint32_t)cols,
            .k = (uint32_t)depth,
            .a = a->place,
            .b = b->place,
            .acc = g->acc[which],
        };

        pfc_accel_emit_cmd(g->e, &cmd, waits, PFC_ARRAY_LEN(waits));
        a->used = b->used = done = cmd.token;
    }
    result = (pfc_accel_tile){ .arg = 2,
                               .offset = (mi * g->t.m * g->b_cols + ni * g->t.n) * g->e->out_es,
                               .stride = g->b_cols * g->e->out_es,
                               .rows = rows,
                               .cols = cols,
                               .place = g->acc[which] };
    g->acc_free[which] = pfc_accel_emit_move(g->e, PFC_ACCEL_OP_STORE_ACC, &result, &done, 1);
}

static uint64_t count(uint64_t dim, uint64_t tile)
{
    return dim ? (dim + tile - 1) / tile : 1;
}

static void all_tiles(lowering *g)
{
    const uint64_t nm = count(g->m, g->t.m);
    const uint64_t nn = count(g->n, g->t.n);

    for (size_t i = 0; i < g->slots; i++) {
        g->a[i] = (slot){ .used = PFC_ACCEL_NO_TOKEN, .loaded = PFC_ACCEL_NO_TOKEN };
        g->b[i] = g->a[i];
        g->a[i].place = pfc_accel_emit_sram(g->e, g->t.m * g->t.k * g->e->es);
        g->b[i].place = pfc_accel_emit_sram(g->e, g->t.k * g->t.n * g->e->es);
        g->acc[i] = pfc_accel_emit_acc(g->e, g->t.m * g->t.n * 4);
        g->acc_free[i] = PFC_ACCEL_NO_TOKEN;
    }
    for (uint64_t i = 0; i < nm * nn && !g->e->overflow; i++) {
        const uint64_t mi = g->t.m_outer ? i / nn : i % nm;
        const uint64_t ni = g->t.m_outer ? i % nn : i / nm;

        one_tile(g, mi, ni, (size_t)(i % g->slots));
    }
}

/* Cycles of a corner of at most TRY tiles a side, times how many such corners there are. */
#define TRY 4
static uint64_t tried(const lowering *g, const pfc_accel_gemm_tiles *t)
{
    pfc_accel_emit fork = pfc_accel_emit_fork(g->e);
    lowering part = *g;
    uint64_t all = count(g->m, t->m) * count(g->n, t->n) * count(g->k, t->k);
    uint64_t cycles;

    part.e = &fork;
    part.t = *t;
    part.m = PFC_MIN(g->m, TRY * t->m);
    part.n = PFC_MIN(g->n, TRY * t->n);
    part.k = PFC_MIN(g->k, TRY * t->k);
    all_tiles(&part);
    cycles = pfc_accel_emit_cycles(&fork);
    pfc_accel_program_free(fork.p);
    if (cycles == UINT64_MAX)
        return UINT64_MAX;
    return cycles * all / (count(part.m, t->m) * count(part.n, t->n) * count(part.k, t->k));
}

static bool choose(lowering *g, const pfc_accel_problem *problem)
{
    pfc_accel_gemm_tiles choices[PFC_ACCEL_TILE_CHOICES];
    const size_t len =
        pfc_accel_gemm_tiles_choose(g->e->chip, problem->dtype, g->m, g->n, g->k, choices);
    uint64_t best = UINT64_MAX;

    for (size_t i = 0; i < len; i++) {
        const uint64_t cycles = len > 1 ? tried(g, &choices[i]) : 0;

        if (cycles < best) {
            best = cycles;
            g->t = choices[i];
        }
    }
    return best != UINT64_MAX;
}

pfc_code pfc_accel_lower_gemm(pfc_accel_emit *e, const pfc_accel_problem *problem, pfc_err *err)
{
    lowering g = { .e = e,
                   .m = (uint64_t)problem->p[0],
                   .n = (uint64_t)problem->p[1],
                   .k = (uint64_t)problem->p[2],
                   .a_cols = (uint64_t)problem->p[2],
                   .b_cols = (uint64_t)problem->p[1],
                   .slots = e->p->ideal_memory ? 1 : 2 };

    e->p->args_len = 3;
    e->p->arg_bytes[0] = g.m * g.k * e->es;
    e->p->arg_bytes[1] = g.k * g.n * e->es;
    e->p->arg_bytes[2] = g.m * g.n * e->out_es;
    if (g.m == 0 || g.n == 0)
        return PFC_OK;
    if (e->p->ideal_memory)
        g.t = (pfc_accel_gemm_tiles){ .m = g.m, .n = g.n, .k = PFC_MAX(g.k, 1) };
    else if (!choose(&g, problem))
        return pfc_err_set(err, PFC_ETOOBIG, "%s: no tile of this gemm fits its scratchpad",
                           e->chip->name);
    all_tiles(&g);
    return PFC_OK;
}
