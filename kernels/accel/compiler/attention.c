/*
 * Attention with online softmax: tiles of queries stay, tiles of keys and values pass. Several
 * tiles of queries are in flight, so that the array multiplies for one while the vector unit weighs
 * the scores of another. Heads that share keys are rows of the same tile where queries are few.
 * Source: Dao et al., arXiv 2205.14135 (the tiling), arXiv 1805.02867 (the running softmax).
 */
#include <math.h>
#include <stdio.h>

#include "kernels/accel/compiler/ir.h"

#define ARG_Q 0
#define ARG_K 1
#define ARG_V 2
#define ARG_O 3

#define MAX_LANES 4
#define MAX_DEPTH 8
#define MAX_HEADS 32

typedef struct shape {
    uint64_t groups; /* heads of keys and values */
    uint64_t share;  /* heads a group */
    uint64_t s;
    uint64_t queries;
    uint64_t d;
    bool causal;
} shape;

/* A tile of queries in flight; two of each buffer, and `depth` of those of a tile of keys, used in
 * turn. */
typedef struct lane {
    bool active;
    uint64_t group;    /* first head of keys */
    uint64_t heads;    /* of keys */
    uint64_t row;      /* first row of all queries */
    uint64_t rows;     /* for each of those heads */
    uint64_t position; /* of the first row among the keys */
    uint64_t end;      /* keys that any row sees */
    uint64_t k0;
    size_t tile; /* 0 or 1: changes with the tile of queries */
    size_t step; /* of the tiles of keys, modulo the depth */
    uint16_t q[2], out[2], stats[2], sum[2], scores[MAX_DEPTH], p[MAX_DEPTH];
} lane;

typedef struct lowering {
    pfc_accel_ir *ir;
    shape x;
    pfc_accel_attention_tiles t;
    float scale;
    lane lanes[MAX_LANES];
    uint64_t steps; /* tiles of keys so far, of all lanes */
    pfc_accel_ring k, v;
    uint8_t line_q, line_k, line_v, line_score, line_weigh, line_sum, line_end, line_store;
} lowering;

static shape shape_of(const pfc_accel_problem *problem)
{
    const uint64_t heads = (uint64_t)problem->p[0];
    const uint64_t kv = problem->p[5] ? (uint64_t)problem->p[5] : heads;

    return (shape){ .groups = kv,
                    .share = kv ? heads / kv : 0,
                    .s = (uint64_t)problem->p[1],
                    .queries = problem->p[4] && problem->p[1] ? (uint64_t)problem->p[4]
                                                              : (uint64_t)problem->p[1],
                    .d = (uint64_t)problem->p[2],
                    .causal = problem->p[3] != 0 };
}

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* ---- sizes ---- */

static bool fits(const pfc_accel_ir *ir, const shape *x, const pfc_accel_attention_tiles *t)
{
    const pfc_accel_chip *chip = ir->chip;
    const uint64_t rows = t->q * t->heads;
    const uint64_t keys = t->k * t->heads;
    const uint64_t sram =
        t->lanes * (4 * pfc_accel_sram_rounded(chip, rows * x->d * ir->es) +
                    2 * t->depth * pfc_accel_sram_rounded(chip, keys * x->d * ir->es) +
                    t->depth * pfc_accel_sram_rounded(chip, rows * t->k * ir->es) +
                    2 * pfc_accel_sram_rounded(chip, rows * 8));

    return sram <= chip->sram_bytes &&
           t->lanes * (t->depth * rows * t->k + 2 * rows * x->d) * 4 <= chip->acc_bytes;
}

/* Rows of whole heads where a tile has room for several, else rows of one. */
static uint64_t tile_rows(const shape *x, uint64_t room)
{
    if (room < x->queries)
        return room;
    return PFC_MIN(room / x->queries, x->share) * x->queries;
}

static uint64_t tiles_a_group(const shape *x, uint64_t rows)
{
    if (rows < x->queries)
        return x->share * div_up(x->queries, rows);
    return div_up(x->share, rows / x->queries);
}

/* ---- operations ---- */

static void prepare(lowering *l)
{
    pfc_accel_ir *ir = l->ir;
    const uint64_t keys = l->t.heads * l->t.k * l->x.d * ir->es;
    const uint64_t rows = l->t.heads * l->t.q;

    l->line_q = pfc_accel_ir_line(ir, "load q[qi]");
    l->line_k = pfc_accel_ir_line(ir, "load k[ki]");
    l->line_v = pfc_accel_ir_line(ir, "load v[ki]");
    l->line_score = pfc_accel_ir_line(ir, "s = q[qi] k[ki]^T");
    l->line_weigh = pfc_accel_ir_line(ir, "p = exp(s - max), sums and o rescaled");
    l->line_sum = pfc_accel_ir_line(ir, "o[qi] += p v[ki]");
    l->line_end = pfc_accel_ir_line(ir, "o[qi] /= sums");
    l->line_store = pfc_accel_ir_line(ir, "store o[qi]");
    for (size_t i = 0; i < l->t.lanes; i++) {
        lane *n = &l->lanes[i];

        for (size_t j = 0; j < l->t.depth; j++) { /* 2 or more */
            const bool of_queries = j < 2;

            if (of_queries)
                n->q[j] = pfc_accel_ir_buffer(ir, PFC_ACCEL_SRAM, rows * l->x.d * ir->es);
            n->p[j] = pfc_accel_ir_buffer(ir, PFC_ACCEL_SRAM, rows * l->t.k * ir->es);
            if (of_queries)
                n->out[j] = pfc_accel_ir_buffer(ir, PFC_ACCEL_SRAM, rows * l->x.d * ir->es);
            if (of_queries)
                n->stats[j] = pfc_accel_ir_buffer(ir, PFC_ACCEL_SRAM, rows * 8);
            n->scores[j] = pfc_accel_ir_buffer(ir, PFC_ACCEL_ACC, rows * l->t.k * 4);
            if (of_queries)
                n->sum[j] = pfc_accel_ir_buffer(ir, PFC_ACCEL_ACC, rows * l->x.d * 4);
        }
    }
    pfc_accel_ring_init(ir, &l->k, l->t.depth * l->t.lanes, keys);
    pfc_accel_ring_init(ir, &l->v, l->t.depth * l->t.lanes, keys);
}

static pfc_accel_tile rows_at(const lowering *l, uint8_t arg, uint64_t row, uint64_t rows)
{
    const uint64_t width = l->x.d * l->ir->es;

    return (pfc_accel_tile){
        .arg = arg, .offset = row * width, .stride = width, .rows = rows, .cols = l->x.d
    };
}

/* Keys or values [k0, k0 + keys) of a lane's heads. */
static pfc_accel_tile keys_at(const lowering *l, const lane *n, uint8_t arg, uint64_t keys)
{
    const uint64_t width = l->x.d * l->ir->es;

    if (n->heads == 1)
        return rows_at(l, arg, n->group * l->x.s + n->k0, keys);
    return (pfc_accel_tile){ .arg = arg,
                             .offset = (n->group * l->x.s + n->k0) * width,
                             .stride = l->x.s * width,
                             .rows = n->heads,
                             .cols = keys * l->x.d };
}

/* Starts tile number i of all. */
static void begin(lowering *l, lane *n, uint64_t i)
{
    const uint64_t each = tiles_a_group(&l->x, l->t.q);
    const uint64_t in = i % each;
    uint64_t first = 0; /* query within its head */
    uint64_t head = 0;
    pfc_accel_tile q;

    n->group = i / each * l->t.heads;
    n->heads = PFC_MIN(l->t.heads, l->x.groups - n->group);
    if (l->t.q < l->x.queries) {
        const uint64_t a_head = div_up(l->x.queries, l->t.q);

        head = in / a_head;
        first = in % a_head * l->t.q;
        n->rows = PFC_MIN(l->t.q, l->x.queries - first);
    } else {
        const uint64_t heads = l->t.q / l->x.queries;

        head = in * heads;
        n->rows = PFC_MIN(heads, l->x.share - head) * l->x.queries;
    }
    n->row = (n->group * l->x.share + head) * l->x.queries + first;
    n->position = l->x.s - l->x.queries + first;
    n->end = l->x.causal ? PFC_MIN(n->position + n->rows, l->x.s) : l->x.s;
    n->k0 = 0;
    n->active = true;
    n->tile ^= 1;
    q = rows_at(l, ARG_Q, n->row, n->heads * n->rows);
    pfc_accel_ir_move(l->ir, PFC_ACCEL_OP_LOAD, &q, n->q[n->tile], l->line_q);
}

/* Whether step i of all belongs to a share of so many eighths, spread evenly over the steps. */
static bool is_turn(uint64_t i, uint64_t eighths)
{
    return (i + 1) * eighths / 8 > i * eighths / 8;
}

static void product(lowering *l, const lane *n, bool values, uint16_t keys, uint64_t cols)
{
    pfc_accel_tile_op *op =
        pfc_accel_ir_op(l->ir, PFC_ACCEL_OP_MATMUL, values ? l->line_sum : l->line_score);

    op->cmd.m = (uint32_t)n->rows;
    op->cmd.n = (uint32_t)(values ? l->x.d : cols);
    op->cmd.k = (uint32_t)(values ? cols : l->x.d);
    op->cmd.transpose_b = !values;
    op->cmd.accumulate = values && n->k0 > 0;
    op->a = values ? n->p[n->step] : n->q[n->tile];
    op->b = keys;
    op->acc = values ? n->sum[n->tile] : n->scores[n->step];
    op->batch = (uint32_t)n->heads;
    op->either = !l->t.split && pfc_accel_either_unit(l->ir, op->cmd.m, op->cmd.n, op->cmd.k);
    if (l->t.split && is_turn(l->steps, values ? l->t.sums : l->t.scores)) {
        op->cmd.unit = PFC_ACCEL_UNIT_VECTOR;
        op->cmd.op = PFC_ACCEL_OP_MATVEC;
        op->cmd.batch = op->batch > 1 ? op->batch : 0;
    }
}

static void weigh(lowering *l, const lane *n, uint64_t cols)
{
    pfc_accel_tile_op *op = pfc_accel_ir_op(l->ir, PFC_ACCEL_OP_ATT_STEP, l->line_weigh);

    op->cmd.first = n->k0 == 0;
    op->cmd.m = (uint32_t)(n->heads * n->rows);
    op->cmd.n = (uint32_t)cols;
    op->cmd.k = (uint32_t)l->x.d;
    op->cmd.diagonal = l->x.causal ? (int64_t)n->position - (int64_t)n->k0 : (int64_t)cols;
    op->cmd.period = l->x.causal && n->heads * n->rows > l->x.queries ? (uint32_t)l->x.queries : 0;
    op->cmd.scale = l->scale;
    op->a = n->p[n->step];
    op->b = n->stats[n->tile];
    op->acc = n->scores[n->step];
    op->acc2 = n->sum[n->tile];
}

static void finish(lowering *l, lane *n)
{
    pfc_accel_tile_op *op = pfc_accel_ir_op(l->ir, PFC_ACCEL_OP_ATT_END, l->line_end);
    const pfc_accel_tile o = rows_at(l, ARG_O, n->row, n->heads * n->rows);

    op->cmd.m = (uint32_t)(n->heads * n->rows);
    op->cmd.k = (uint32_t)l->x.d;
    op->a = n->out[n->tile];
    op->b = n->stats[n->tile];
    op->acc2 = n->sum[n->tile];
    pfc_accel_ir_move(l->ir, PFC_ACCEL_OP_STORE, &o, n->out[n->tile], l->line_store);
    n->active = false;
}

/* One tile of keys for one tile of queries. */
static void step(lowering *l, lane *n)
{
    const uint64_t loaded = PFC_MIN(l->t.k, l->x.s - n->k0);
    const uint64_t cols = PFC_MIN(loaded, n->end - n->k0); /* the rest is masked for every row */
    const uint64_t tag = n->group * div_up(l->x.s, l->t.k) + n->k0 / l->t.k;
    const pfc_accel_tile k = keys_at(l, n, ARG_K, loaded);
    const pfc_accel_tile v = keys_at(l, n, ARG_V, loaded);
    uint16_t buf;

    n->step = (n->step + 1) % l->t.depth;
    buf = pfc_accel_ring_fetch(l->ir, &l->k, tag, &k, l->line_k);
    product(l, n, false, buf, cols);
    weigh(l, n, cols);
    buf = pfc_accel_ring_fetch(l->ir, &l->v, tag, &v, l->line_v);
    product(l, n, true, buf, cols);
    l->steps++;
    n->k0 += cols;
    if (n->k0 >= n->end)
        finish(l, n);
}

static void all_tiles(lowering *l)
{
    const uint64_t tiles = div_up(l->x.groups, l->t.heads) * tiles_a_group(&l->x, l->t.q);
    uint64_t next = 0;
    bool any = true;

    l->scale = 1.0f / sqrtf((float)l->x.d);
    l->ir->mixed = l->t.mixed;
    prepare(l);
    while (any && !l->ir->overflow) {
        any = false;
        for (size_t i = 0; i < l->t.lanes; i++) {
            lane *n = &l->lanes[i];

            if (!n->active && next < tiles)
                begin(l, n, next++);
            if (!n->active)
                continue;
            step(l, n);
            any = true;
        }
    }
}

/* ---- choice ---- */

#define CHOICES   12
#define TRY_HEADS 4
#define TRY_PAIRS (1u << 22) /* of query and key, a head */

typedef struct choice {
    pfc_accel_attention_tiles tiles;
    uint64_t cost;
} choice;

/* A command's cycles on a unit, to its last result in *last. */
static uint64_t cycles_of(const pfc_accel_ir *ir, pfc_accel_op op, const uint64_t mnk[3],
                          uint64_t heads, uint64_t *last)
{
    const pfc_accel_cmd cmd = { .unit = op == PFC_ACCEL_OP_MATMUL ? PFC_ACCEL_UNIT_TENSOR
                                                                  : PFC_ACCEL_UNIT_VECTOR,
                                .op = (uint8_t)op,
                                .batch = op == PFC_ACCEL_OP_MATVEC ? (uint32_t)heads : 0,
                                .m = (uint32_t)mnk[0],
                                .n = (uint32_t)mnk[1],
                                .k = (uint32_t)mnk[2] };
    uint64_t cycles = pfc_accel_cmd_cycles(ir->chip, ir->p, &cmd, last);

    if (op == PFC_ACCEL_OP_MATMUL)
        cycles *= heads;
    *last += cycles;
    return cycles;
}

/* Cycles of the two products of a tile, by unit. */
typedef struct products {
    uint64_t array[2], vector[2]; /* that the scores, and the sums of values, take of the unit */
    uint64_t array_last, vector_last; /* from the begin of the sums to the last of them */
} products;

/* The shares of the vector unit with which both units end soonest; returns their cycles. */
static uint64_t best_split(const products *p, uint64_t weighing, pfc_accel_attention_tiles *t)
{
    uint64_t best = UINT64_MAX;

    for (uint8_t i = 0; i < 81; i++) {
        const uint64_t scores = i % 9;
        const uint64_t sums = i / 9;
        const uint64_t array = p->array[0] * (8 - scores) + p->array[1] * (8 - sums);
        const uint64_t vector = 8 * weighing + p->vector[0] * scores + p->vector[1] * sums;

        if (PFC_MAX(array, vector) >
            best) /* of equals most sums: a tile waits for those of the last */
            continue;
        best = PFC_MAX(array, vector);
        t->scores = (uint8_t)scores;
        t->sums = (uint8_t)sums;
    }
    return best / 8;
}

/* Both units for one tile: with products that either may take, as the better of them ends. With
 * t->split, sets the shares of the units. */
static void step_cycles(const pfc_accel_ir *ir, const shape *x, pfc_accel_attention_tiles *t,
                        uint64_t *units, uint64_t *chain)
{
    const uint64_t score[] = { t->q, t->k, x->d };
    const uint64_t sum[] = { t->q, x->d, t->k };
    uint64_t unused, weighed;
    const uint64_t weigh[] = { t->heads * t->q, t->k, x->d };
    const uint64_t weighing = cycles_of(ir, PFC_ACCEL_OP_ATT_STEP, weigh, 1, &weighed);
    products p;
    uint64_t array, lanes;

    p.array[0] = cycles_of(ir, PFC_ACCEL_OP_MATMUL, score, t->heads, &unused);
    p.array[1] = cycles_of(ir, PFC_ACCEL_OP_MATMUL, sum, t->heads, &p.array_last);
    p.vector[0] = cycles_of(ir, PFC_ACCEL_OP_MATVEC, score, t->heads, &unused);
    p.vector[1] = cycles_of(ir, PFC_ACCEL_OP_MATVEC, sum, t->heads, &p.vector_last);
    array = p.array[0] + p.array[1];
    lanes = p.vector[0] + p.vector[1];
    if (t->split) {
        *units = best_split(&p, weighing, t);
        *chain = weighed + (p.array_last * (8u - t->sums) + p.vector_last * t->sums) / 8;
        return;
    }
    *units = PFC_MAX(array, weighing);
    *chain = weighed + p.array_last;
    if (!pfc_accel_either_unit(ir, t->q, x->d, t->k))
        return;
    if (array > weighing)
        *units = array * (lanes + weighing) / (array + lanes);
    *chain = weighed + PFC_MIN(p.array_last, p.vector_last);
}

/* Cycles for 2^20 pairs of query and key: the busier unit, or memory, or what one tile waits for
 * itself. */
static uint64_t cost_of(const pfc_accel_ir *ir, const shape *x, pfc_accel_attention_tiles *t)
{
    const uint64_t average = x->s - (x->causal ? x->queries / 2 : 0);
    /* a causal tile also computes half of what its rows have beyond the diagonal; the first tile of
     * keys and the last of queries have nothing to overlap with */
    const uint64_t waste = x->causal ? PFC_MIN(t->q, x->queries) / 2 : 0;
    const uint64_t tiles =
        div_up(x->groups, t->heads) * tiles_a_group(x, t->q) * div_up(x->s, t->k);
    const uint64_t memory =
        2 * t->heads * t->k * x->d * ir->es * ir->chip->clock_mhz / ir->chip->hbm_mbps;
    uint64_t units = 0;
    uint64_t chain = 0;
    uint64_t most;

    step_cycles(ir, x, t, &units, &chain);
    most = PFC_MAX(PFC_MAX(chain / t->lanes, units), t->q < x->queries ? 0 : memory);
    return most * ((average + waste) * 1024 / average) / 1024 * (1u << 20) /
           (t->heads * t->q * t->k) * (tiles + t->lanes) / tiles;
}

static void keep(choice *best, size_t *len, const choice *c)
{
    size_t at = *len;

    if (*len == CHOICES && c->cost >= best[CHOICES - 1].cost)
        return;
    if (*len < CHOICES)
        (*len)++;
    else
        at--;
    for (; at > 0 && c->cost < best[at - 1].cost; at--)
        best[at] = best[at - 1];
    best[at] = *c;
}

static uint64_t tried(const pfc_accel_ir *like, const shape *x, const pfc_accel_attention_tiles *t)
{
    lowering l = { .x = *x, .t = *t };
    pfc_accel_ir ir;
    uint64_t cycles;

    pfc_accel_ir_fork(&ir, like);
    l.ir = &ir;
    l.x.groups = PFC_MIN(x->groups, t->mixed ? 8 * TRY_HEADS : TRY_HEADS);
    while (l.x.s * l.x.queries > TRY_PAIRS) {
        if (l.x.queries == l.x.s)
            l.x.queries = div_up(l.x.queries, 2);
        l.x.s = PFC_MAX(div_up(l.x.s, 2), l.x.queries);
    }
    all_tiles(&l);
    cycles = pfc_accel_ir_cycles(&ir);
    pfc_accel_program_free(ir.p);
    pfc_accel_ir_free(&ir);
    return cycles;
}

/* Kinds of choices; the form for the cost leaves out open rows and the scheduler's decisions, so
 * that the best of each kind are tried. */
enum { ALONE, HEADS, SPLIT, KINDS };

#define SPLIT_DEPTH 4

/* A tile size alone, and, where all queries of a head of keys are in it, of several heads; the same
 * with the products split between the units, where the vector unit is to have some of them. */
static void consider(const pfc_accel_ir *ir, const shape *x, pfc_accel_attention_tiles t,
                     choice best[KINDS][CHOICES], size_t len[KINDS])
{
    const bool whole = t.mixed && t.q == x->share * x->queries;

    for (; t.heads <= (whole ? PFC_MIN(x->groups, MAX_HEADS) : 1); t.heads *= 2) {
        const size_t kind = t.heads == 1 ? ALONE : HEADS;
        choice c = { .tiles = t };

        if (fits(ir, x, &c.tiles)) {
            c.cost = cost_of(ir, x, &c.tiles);
            keep(best[kind], &len[kind], &c);
        }
        c.tiles.split = true;
        c.tiles.depth = SPLIT_DEPTH;
        if (!t.mixed || !fits(ir, x, &c.tiles))
            continue;
        c.cost = cost_of(ir, x, &c.tiles);
        if (c.tiles.scores + c.tiles.sums > 0)
            keep(best[SPLIT], &len[SPLIT], &c);
    }
}

/* Of those that are as fast within 1/256, the one with most queries: it loads keys least often. */
static bool fastest(const pfc_accel_ir *ir, const shape *x, choice *all, size_t len,
                    pfc_accel_attention_tiles *out)
{
    uint64_t best = UINT64_MAX;
    const choice *chosen = NULL;

    for (size_t i = 0; i < len; i++) {
        all[i].cost = len > 1 ? tried(ir, x, &all[i].tiles) : 0;
        best = PFC_MIN(best, all[i].cost);
    }
    for (size_t i = 0; i < len; i++) {
        if (all[i].cost == UINT64_MAX || all[i].cost > best + best / 256)
            continue;
        if (!chosen || all[i].tiles.q > chosen->tiles.q ||
            (all[i].tiles.q == chosen->tiles.q && all[i].cost < chosen->cost))
            chosen = &all[i];
    }
    if (chosen)
        *out = chosen->tiles;
    return chosen != NULL;
}

static bool choose(const pfc_accel_ir *ir, const shape *x, pfc_accel_attention_tiles *out)
{
    choice best[KINDS][CHOICES], all[KINDS * CHOICES];
    size_t len[KINDS] = { 0 };
    size_t all_len = 0;
    uint64_t rows_before = 0;
    const bool few = x->queries * x->share <= 32; /* memory decides: every engine loads */

    for (uint64_t room = 1; room <= 512; room *= 2) {
        const uint64_t rows = tile_rows(x, PFC_MIN(room, x->queries * x->share));

        if (rows == rows_before)
            continue;
        rows_before = rows;
        for (uint64_t keys = 1;; keys *= 2) {
            for (uint64_t lanes = 1; lanes <= MAX_LANES; lanes++)
                consider(ir, x,
                         (pfc_accel_attention_tiles){ .q = rows,
                                                      .k = PFC_MIN(keys, x->s),
                                                      .heads = 1,
                                                      .lanes = lanes,
                                                      .depth = 2,
                                                      .mixed = few },
                         best, len);
            if (keys >= x->s || keys >= 4096)
                break;
        }
    }
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < len[kind]; i++)
            all[all_len++] = best[kind][i];
    return fastest(ir, x, all, all_len, out);
}

static void say_choice(const pfc_accel_attention_tiles *t, char *out, size_t cap)
{
    const int len =
        snprintf(out, cap,
                 "tiles of %llu queries, %llu keys of %llu heads; %llu tiles of queries in flight; "
                 "%s",
                 (unsigned long long)t->q, (unsigned long long)t->k, (unsigned long long)t->heads,
                 (unsigned long long)t->lanes, pfc_accel_queues_text(t->mixed));

    if (t->split && len > 0 && (size_t)len < cap)
        snprintf(out + len, cap - (size_t)len, "; %u/8 scores, %u/8 sums on the vector unit",
                 t->scores, t->sums);
}

pfc_code pfc_accel_choose_attention(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                                    pfc_accel_plan *out, bool *empty, pfc_err *err)
{
    const shape x = shape_of(problem);
    pfc_accel_attention_tiles *t = &out->attention;
    const uint64_t rows = x.d * ir->es;

    ir->p->args_len = 4;
    ir->p->arg_bytes[ARG_Q] = ir->p->arg_bytes[ARG_O] = x.groups * x.share * x.queries * rows;
    ir->p->arg_bytes[ARG_K] = ir->p->arg_bytes[ARG_V] = x.groups * x.s * rows;
    *empty = ir->p->arg_bytes[ARG_O] == 0 || ir->p->arg_bytes[ARG_K] == 0;
    if (*empty)
        return PFC_OK;
    if (ir->p->ideal_memory)
        *t = (pfc_accel_attention_tiles){ .q = tile_rows(&x, PFC_MIN(x.queries * x.share, 128)),
                                          .k = PFC_MIN(x.s, 128),
                                          .heads = 1,
                                          .lanes = 1,
                                          .depth = 2 };
    else if (!choose(ir, &x, t))
        return pfc_err_set(err, PFC_ETOOBIG, "%s: no tile of this attention fits its scratchpad",
                           ir->chip->name);
    say_choice(t, ir->p->choice, sizeof(ir->p->choice));
    return PFC_OK;
}

void pfc_accel_tile_attention(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                              const pfc_accel_plan *plan)
{
    lowering l = { .ir = ir, .x = shape_of(problem), .t = plan->attention };

    all_tiles(&l);
}
