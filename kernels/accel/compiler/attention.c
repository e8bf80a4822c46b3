/*
 * Attention with online softmax: tiles of queries stay, tiles of keys and values pass. Several
 * tiles of queries are in flight, so that the array multiplies for one while the vector unit weighs
 * the scores of another. Heads that share keys are rows of the same tile where queries are few.
 *
 * A causal mask leaves most of the array's first fold of keys unused by the first queries. The
 * vector unit may take these: one tile has some of them of all heads, whose products fill its lanes
 * side by side.
 * Source: Dao et al., arXiv 2205.14135 (the tiling), arXiv 1805.02867 (the running softmax).
 */
#include "kernels/accel/compiler/attention.h"

#include <math.h>

typedef pfc_accel_attention_shape shape;

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
    uint64_t keys; /* of a tile of keys */
    bool piece;    /* of the first queries of all heads; rows are of all heads that share keys */
    size_t tile;   /* 0 or 1: changes with the tile of queries */
    size_t step;   /* of the tiles of keys, modulo the depth */
    uint16_t q[2], out[2], stats[2], sum[2], scores[PFC_ACCEL_ATTENTION_MAX_DEPTH],
        p[PFC_ACCEL_ATTENTION_MAX_DEPTH];
} lane;

typedef struct lowering {
    pfc_accel_ir *ir;
    shape x;
    pfc_accel_attention_tiles t;
    float scale;
    lane lanes[PFC_ACCEL_ATTENTION_MAX_LANES];
    lane first;     /* the tile of the first queries */
    uint64_t steps; /* tiles of keys so far, of all lanes */
    pfc_accel_ring k, v, first_k, first_v;
    uint8_t line_q, line_k, line_v, line_score, line_weigh, line_sum, line_end, line_store;
} lowering;

pfc_accel_attention_shape pfc_accel_attention_shape_of(const pfc_accel_problem *problem)
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

uint64_t pfc_accel_attention_tile_rows(const pfc_accel_attention_shape *x, uint64_t room)
{
    if (room < x->queries)
        return room;
    return PFC_MIN(room / x->queries, x->share) * x->queries;
}

uint64_t pfc_accel_attention_tiles_a_group(const pfc_accel_attention_shape *x, uint64_t rows,
                                           uint64_t first)
{
    if (rows < x->queries)
        return x->share * div_up(x->queries - first, rows);
    return div_up(x->share, rows / x->queries);
}

uint64_t pfc_accel_attention_piece_keys(uint64_t queries)
{
    return div_up(queries, PFC_ACCEL_ATTENTION_PIECE_KEYS) * PFC_ACCEL_ATTENTION_PIECE_KEYS;
}

/* ---- operations ---- */

/* For tiles of `rows` queries of all heads and so many keys. */
static void prepare_lane(pfc_accel_ir *ir, lane *n, uint64_t rows, uint64_t keys, uint64_t d,
                         size_t depth)
{
    n->keys = keys;
    for (size_t j = 0; j < depth; j++) { /* 2 or more */
        const bool of_queries = j < 2;

        if (of_queries)
            n->q[j] = pfc_accel_ir_buffer(ir, PFC_ACCEL_SRAM, rows * d * ir->es);
        n->p[j] = pfc_accel_ir_buffer(ir, PFC_ACCEL_SRAM, rows * keys * ir->es);
        if (of_queries)
            n->out[j] = pfc_accel_ir_buffer(ir, PFC_ACCEL_SRAM, rows * d * ir->es);
        if (of_queries)
            n->stats[j] = pfc_accel_ir_buffer(ir, PFC_ACCEL_SRAM, rows * 8);
        n->scores[j] = pfc_accel_ir_buffer(ir, PFC_ACCEL_ACC, rows * keys * 4);
        if (of_queries)
            n->sum[j] = pfc_accel_ir_buffer(ir, PFC_ACCEL_ACC, rows * d * 4);
    }
}

static void prepare(lowering *l)
{
    pfc_accel_ir *ir = l->ir;
    const uint64_t keys = l->t.heads * l->t.k * l->x.d * ir->es;
    const uint64_t first = pfc_accel_attention_piece_keys(l->t.first);

    l->line_q = pfc_accel_ir_line(ir, "load q[qi]");
    l->line_k = pfc_accel_ir_line(ir, "load k[ki]");
    l->line_v = pfc_accel_ir_line(ir, "load v[ki]");
    l->line_score = pfc_accel_ir_line(ir, "s = q[qi] k[ki]^T");
    l->line_weigh = pfc_accel_ir_line(ir, "p = exp(s - max), sums and o rescaled");
    l->line_sum = pfc_accel_ir_line(ir, "o[qi] += p v[ki]");
    l->line_end = pfc_accel_ir_line(ir, "o[qi] /= sums");
    l->line_store = pfc_accel_ir_line(ir, "store o[qi]");
    for (size_t i = 0; i < l->t.lanes; i++)
        prepare_lane(ir, &l->lanes[i], l->t.heads * l->t.q, l->t.k, l->x.d, l->t.depth);
    pfc_accel_ring_init(ir, &l->k, l->t.depth * l->t.lanes, keys);
    pfc_accel_ring_init(ir, &l->v, l->t.depth * l->t.lanes, keys);
    if (!l->t.first)
        return;
    prepare_lane(ir, &l->first, l->x.groups * l->x.share * l->t.piece, first, l->x.d, 2);
    pfc_accel_ring_init(ir, &l->first_k, 2, l->x.groups * first * l->x.d * ir->es);
    pfc_accel_ring_init(ir, &l->first_v, 2, l->x.groups * first * l->x.d * ir->es);
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

/* A lane's rows of queries or results: of a piece, the same ones of every head. */
static pfc_accel_tile queries_at(const lowering *l, const lane *n, uint8_t arg)
{
    const uint64_t width = l->x.d * l->ir->es;

    if (!n->piece)
        return rows_at(l, arg, n->row, n->heads * n->rows);
    return (pfc_accel_tile){ .arg = arg,
                             .offset = n->row * width,
                             .stride = l->x.queries * width,
                             .rows = l->x.groups * l->x.share,
                             .cols = n->rows / l->x.share * l->x.d };
}

static void load_queries(lowering *l, lane *n)
{
    const pfc_accel_tile q = queries_at(l, n, PFC_ACCEL_ATTENTION_Q);

    n->k0 = 0;
    n->active = true;
    n->tile ^= 1;
    pfc_accel_ir_move(l->ir, PFC_ACCEL_OP_LOAD, &q, n->q[n->tile], l->line_q);
}

/* Starts the first queries from `row` on. */
static void begin_piece(lowering *l, lane *n, uint64_t row)
{
    n->piece = true;
    n->heads = l->x.groups;
    n->row = n->position = row;
    n->rows = PFC_MIN(l->t.piece, l->t.first - row) * l->x.share;
    n->end = PFC_MIN(pfc_accel_attention_piece_keys(row + n->rows / l->x.share), l->x.s);
    n->keys = n->end;
    load_queries(l, n);
}

/* The rows of tile number i of all. */
static void place(const lowering *l, lane *n, uint64_t i)
{
    const uint64_t each = pfc_accel_attention_tiles_a_group(&l->x, l->t.q, l->t.first);
    const uint64_t in = i % each;
    uint64_t first = 0; /* query within its head */
    uint64_t head = 0;

    n->group = i / each * l->t.heads;
    n->heads = PFC_MIN(l->t.heads, l->x.groups - n->group);
    if (l->t.q < l->x.queries) {
        const uint64_t a_head = div_up(l->x.queries - l->t.first, l->t.q);

        head = in / a_head;
        first = l->t.first + in % a_head * l->t.q;
        n->rows = PFC_MIN(l->t.q, l->x.queries - first);
    } else {
        const uint64_t heads = l->t.q / l->x.queries;

        head = in * heads;
        n->rows = PFC_MIN(heads, l->x.share - head) * l->x.queries;
    }
    n->row = (n->group * l->x.share + head) * l->x.queries + first;
    n->position = l->x.s - l->x.queries + first;
    n->end = l->x.causal ? PFC_MIN(n->position + n->rows, l->x.s) : l->x.s;
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
    op->either =
        !l->t.split && !n->piece && pfc_accel_either_unit(l->ir, op->cmd.m, op->cmd.n, op->cmd.k);
    if (n->piece || (l->t.split && is_turn(l->steps, values ? l->t.sums : l->t.scores))) {
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
    if (n->piece)
        op->cmd.period = (uint32_t)(n->rows / l->x.share);
    else if (l->x.causal && n->heads * n->rows > l->x.queries)
        op->cmd.period = (uint32_t)l->x.queries;
    op->cmd.scale = l->scale;
    op->a = n->p[n->step];
    op->b = n->stats[n->tile];
    op->acc = n->scores[n->step];
    op->acc2 = n->sum[n->tile];
}

static void finish(lowering *l, lane *n)
{
    pfc_accel_tile_op *op = pfc_accel_ir_op(l->ir, PFC_ACCEL_OP_ATT_END, l->line_end);
    const pfc_accel_tile o = queries_at(l, n, PFC_ACCEL_ATTENTION_O);

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
    const uint64_t loaded = PFC_MIN(n->keys, l->x.s - n->k0);
    const uint64_t cols = PFC_MIN(loaded, n->end - n->k0); /* the rest is masked for every row */
    const uint64_t tag = n->piece ? loaded : n->group * div_up(l->x.s, l->t.k) + n->k0 / l->t.k;
    const pfc_accel_tile k = keys_at(l, n, PFC_ACCEL_ATTENTION_K, loaded);
    const pfc_accel_tile v = keys_at(l, n, PFC_ACCEL_ATTENTION_V, loaded);
    const size_t depth = n->piece ? 2 : l->t.depth;
    uint16_t buf;

    n->step = (n->step + 1) % depth;
    buf = pfc_accel_ring_fetch(l->ir, n->piece ? &l->first_k : &l->k, tag, &k, l->line_k);
    product(l, n, false, buf, cols);
    weigh(l, n, cols);
    buf = pfc_accel_ring_fetch(l->ir, n->piece ? &l->first_v : &l->v, tag, &v, l->line_v);
    product(l, n, true, buf, cols);
    n->k0 += cols;
    if (n->k0 >= n->end)
        finish(l, n);
}

/* Tiles of keys of all lanes. */
static uint64_t all_steps(const lowering *l, uint64_t tiles)
{
    uint64_t steps = 0;

    for (uint64_t i = 0; i < tiles; i++) {
        lane n = { 0 };

        place(l, &n, i);
        steps += div_up(n.end, l->t.k);
    }
    return steps;
}

/* Tiles of first queries, spread evenly over the steps of the others. */
static void pieces(lowering *l, uint64_t *next, uint64_t steps)
{
    while (*next < l->t.first && (!steps || *next * steps <= l->steps * l->t.first)) {
        begin_piece(l, &l->first, *next);
        step(l, &l->first);
        *next += l->t.piece;
    }
}

static void all_tiles(lowering *l)
{
    const uint64_t tiles = div_up(l->x.groups, l->t.heads) *
                           pfc_accel_attention_tiles_a_group(&l->x, l->t.q, l->t.first);
    const uint64_t steps = l->t.first ? all_steps(l, tiles) : 0;
    uint64_t next = 0;
    uint64_t first = 0;
    bool any = true;

    l->scale = 1.0f / sqrtf((float)l->x.d);
    l->ir->mixed = l->t.mixed;
    prepare(l);
    while (any && !l->ir->overflow) {
        any = false;
        for (size_t i = 0; i < l->t.lanes; i++) {
            lane *n = &l->lanes[i];

            if (!n->active && next < tiles) {
                place(l, n, next++);
                load_queries(l, n);
            }
            if (!n->active)
                continue;
            pieces(l, &first, steps);
            step(l, n);
            l->steps++;
            any = true;
        }
    }
    pieces(l, &first, 0);
}

void pfc_accel_attention_emit(pfc_accel_ir *ir, const pfc_accel_attention_shape *x,
                              const pfc_accel_attention_tiles *t)
{
    lowering l = { .ir = ir, .x = *x, .t = *t };

    all_tiles(&l);
}

void pfc_accel_tile_attention(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                              const pfc_accel_plan *plan)
{
    const shape x = pfc_accel_attention_shape_of(problem);

    pfc_accel_attention_emit(ir, &x, &plan->attention);
}
