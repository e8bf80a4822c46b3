/*
 * Tiles of attention: all sizes by a closed form for the cost, the best few of each kind by the
 * engine on a part of the problem.
 */
#include <stdio.h>

#include "kernels/accel/compiler/attention.h"

typedef pfc_accel_attention_shape shape;

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Scratchpad of the tiles of first queries, two of each buffer. */
static uint64_t first_sram(const pfc_accel_ir *ir, const shape *x,
                           const pfc_accel_attention_tiles *t)
{
    const uint64_t rows = x->groups * x->share * t->piece;
    const uint64_t keys = pfc_accel_attention_piece_keys(t->first);

    return 2 * (2 * pfc_accel_sram_rounded(ir->chip, rows * x->d * ir->es) +
                pfc_accel_sram_rounded(ir->chip, rows * keys * ir->es) +
                pfc_accel_sram_rounded(ir->chip, rows * 8) +
                2 * pfc_accel_sram_rounded(ir->chip, x->groups * keys * x->d * ir->es));
}

static bool fits(const pfc_accel_ir *ir, const shape *x, const pfc_accel_attention_tiles *t)
{
    const pfc_accel_chip *chip = ir->chip;
    const uint64_t rows = t->q * t->heads;
    const uint64_t keys = t->k * t->heads;
    const uint64_t first = x->groups * x->share * t->piece;
    const uint64_t sram =
        t->lanes * (4 * pfc_accel_sram_rounded(chip, rows * x->d * ir->es) +
                    2 * t->depth * pfc_accel_sram_rounded(chip, keys * x->d * ir->es) +
                    t->depth * pfc_accel_sram_rounded(chip, rows * t->k * ir->es) +
                    2 * pfc_accel_sram_rounded(chip, rows * 8));

    return sram + first_sram(ir, x, t) <= chip->sram_bytes &&
           (t->lanes * (t->depth * rows * t->k + 2 * rows * x->d) +
            2 * first * (pfc_accel_attention_piece_keys(t->first) + x->d)) *
                   4 <=
               chip->acc_bytes;
}

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
    const uint64_t tiles = div_up(x->groups, t->heads) *
                           pfc_accel_attention_tiles_a_group(x, t->q, 0) * div_up(x->s, t->k);
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

/* Cycles of all of the problem. */
static uint64_t timed(const pfc_accel_ir *like, const shape *x, const pfc_accel_attention_tiles *t)
{
    pfc_accel_ir ir;
    uint64_t cycles;

    pfc_accel_ir_fork(&ir, like);
    pfc_accel_attention_emit(&ir, x, t);
    cycles = pfc_accel_ir_cycles(&ir);
    pfc_accel_program_free(ir.p);
    pfc_accel_ir_free(&ir);
    return cycles;
}

static uint64_t tried(const pfc_accel_ir *like, const shape *x, const pfc_accel_attention_tiles *t)
{
    shape part = *x;

    part.groups = PFC_MIN(x->groups, t->mixed ? 8 * TRY_HEADS : TRY_HEADS);
    while (part.s * part.queries > TRY_PAIRS) {
        if (part.queries == part.s)
            part.queries = div_up(part.queries, 2);
        part.s = PFC_MAX(div_up(part.s, 2), part.queries);
    }
    return timed(like, &part, t);
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

    for (; t.heads <= (whole ? PFC_MIN(x->groups, PFC_ACCEL_ATTENTION_MAX_HEADS) : 1);
         t.heads *= 2) {
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
        const uint64_t rows =
            pfc_accel_attention_tile_rows(x, PFC_MIN(room, x->queries * x->share));

        if (rows == rows_before)
            continue;
        rows_before = rows;
        for (uint64_t keys = 1;; keys *= 2) {
            for (uint64_t lanes = 1; lanes <= PFC_ACCEL_ATTENTION_MAX_LANES; lanes++)
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

#define FIRST_STEPS 4096 /* tiles of keys: larger problems are not timed as a whole */
#define FIRST_LANES 3    /* or more: others must wait longer for the vector unit */

/* Whether, and for how many, the first queries are the vector unit's: at most those that see one
 * fold of keys, so that the array has whole tiles left. Timed on the whole problem, since a tile
 * has all heads. */
static void choose_first(const pfc_accel_ir *ir, const shape *x, pfc_accel_attention_tiles *t)
{
    const uint64_t most = PFC_MIN(ir->chip->array_cols, x->queries - 1);
    pfc_accel_attention_tiles best = *t;
    pfc_accel_attention_tiles c = *t;
    uint64_t cycles;

    if (!x->causal || x->queries != x->s || x->groups == 1 || t->q >= x->queries || t->split ||
        t->q > most || x->groups * x->share * x->s * x->s / (t->q * t->k) > FIRST_STEPS)
        return;
    cycles = timed(ir, x, t);
    for (c.q = t->q; c.q > 0 && c.q >= t->q / 2; c.q /= 2) {
        for (c.first = c.q; c.first <= most; c.first += c.q) {
            for (c.piece = 2; c.piece <= 4 && c.first % c.piece == 0; c.piece *= 2) {
                for (c.lanes = FIRST_LANES; c.lanes <= PFC_ACCEL_ATTENTION_MAX_LANES; c.lanes++) {
                    const uint64_t with = fits(ir, x, &c) ? timed(ir, x, &c) : UINT64_MAX;

                    if (with < cycles)
                        best = c;
                    cycles = PFC_MIN(with, cycles);
                }
            }
        }
    }
    *t = best;
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
    if (t->first && len > 0 && (size_t)len < cap)
        snprintf(out + len, cap - (size_t)len, "; first %llu by %llu on the vector unit",
                 (unsigned long long)t->first, (unsigned long long)t->piece);
}

pfc_code pfc_accel_choose_attention(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                                    pfc_accel_plan *out, bool *empty, pfc_err *err)
{
    const shape x = pfc_accel_attention_shape_of(problem);
    pfc_accel_attention_tiles *t = &out->attention;
    const uint64_t rows = x.d * ir->es;

    ir->p->args_len = 4;
    ir->p->arg_bytes[PFC_ACCEL_ATTENTION_Q] = ir->p->arg_bytes[PFC_ACCEL_ATTENTION_O] =
        x.groups * x.share * x.queries * rows;
    ir->p->arg_bytes[PFC_ACCEL_ATTENTION_K] = ir->p->arg_bytes[PFC_ACCEL_ATTENTION_V] =
        x.groups * x.s * rows;
    *empty = ir->p->arg_bytes[PFC_ACCEL_ATTENTION_O] == 0 ||
             ir->p->arg_bytes[PFC_ACCEL_ATTENTION_K] == 0;
    if (*empty)
        return PFC_OK;
    if (ir->p->ideal_memory)
        *t = (pfc_accel_attention_tiles){ .q = pfc_accel_attention_tile_rows(
                                              &x, PFC_MIN(x.queries * x.share, 128)),
                                          .k = PFC_MIN(x.s, 128),
                                          .heads = 1,
                                          .lanes = 1,
                                          .depth = 2 };
    else if (!choose(ir, &x, t))
        return pfc_err_set(err, PFC_ETOOBIG, "%s: no tile of this attention fits its scratchpad",
                           ir->chip->name);
    if (!ir->p->ideal_memory)
        choose_first(ir, &x, t);
    say_choice(t, ir->p->choice, sizeof(ir->p->choice));
    return PFC_OK;
}
