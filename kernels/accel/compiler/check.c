/*
 * Legality: finds every race of a program. Two commands race when both use a byte of scratchpad,
 * accumulators or an argument, one of them writes it, and neither a chain of tokens nor the order
 * of a queue puts one after the other. A queue separates a read or write from a later write; what
 * was written may be read without a token only in the accumulators by the array that added it.
 */
#include <stdlib.h>

#include "kernels/accel/compiler/clocks.h"

#define SPACE(s)  ((uint64_t)(s) << 62)
#define MAX_PAIRS (1u << 20)

/* A command that used a piece of memory: its number in its queue, 0: none. */
typedef struct user {
    uint32_t number;
    uint32_t cmd;
} user;

/* Two transfers that meet in an argument. */
typedef struct pair {
    uint32_t later;
    uint32_t earlier;
} pair;

typedef struct rectangle {
    uint64_t start, end; /* bytes that it lies within */
    uint32_t cmd;
} rectangle;

typedef struct checker {
    const pfc_accel_program *p;
    pfc_accel_clocks clocks;
    uint32_t *number; /* by command: in its queue */
    uint64_t *edges;  /* of the pieces into which all operands cut the chip's memories */
    size_t edges_len;
    user *writers; /* by piece */
    size_t *writer_queue;
    user *readers; /* by piece and queue */
    pair *pairs;
    size_t pairs_len, pairs_cap;
    pfc_err *err;
} checker;

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static size_t piece_of(const checker *c, uint64_t at)
{
    const uint64_t *found = bsearch(&at, c->edges, c->edges_len, sizeof(*c->edges), by_value);

    return (size_t)(found - c->edges);
}

static void cut(checker *c)
{
    const pfc_accel_program *p = c->p;
    size_t kept = 0;

    c->edges = pfc_calloc(p->len * 2 * PFC_ACCEL_MAX_ACCESSES + 1, sizeof(*c->edges));
    for (size_t i = 0; i < p->len; i++) {
        pfc_accel_access parts[PFC_ACCEL_MAX_ACCESSES];
        const size_t len = pfc_accel_cmd_accesses(p, &p->cmds[i], parts);

        for (size_t j = 0; j < len; j++) {
            c->edges[c->edges_len++] = SPACE(parts[j].space) + parts[j].at;
            c->edges[c->edges_len++] = SPACE(parts[j].space) + parts[j].at + parts[j].bytes;
        }
    }
    if (c->edges_len)
        qsort(c->edges, c->edges_len, sizeof(*c->edges), by_value);
    for (size_t i = 0; i < c->edges_len; i++)
        if (i == 0 || c->edges[i] != c->edges[kept - 1])
            c->edges[kept++] = c->edges[i];
    c->edges_len = kept;
    c->writers = pfc_calloc(kept + 1, sizeof(*c->writers));
    c->writer_queue = pfc_calloc(kept + 1, sizeof(*c->writer_queue));
    c->readers = pfc_calloc((kept + 1) * c->clocks.queues, sizeof(*c->readers));
}

static pfc_code race(const checker *c, size_t later, size_t earlier, const char *where, bool raw)
{
    return pfc_err_set(c->err, PFC_EINVAL,
                       "race: command %zu (%s) may use %s that command %zu (%s) %s: expected a "
                       "token that orders them",
                       later, pfc_accel_op_name(c->p->cmds[later].op), where, earlier,
                       pfc_accel_op_name(c->p->cmds[earlier].op),
                       raw ? "has not written yet" : "still uses");
}

static bool ordered(const checker *c, size_t queue, size_t other, uint32_t number, bool raw)
{
    if (queue == other && (!raw || queue == 0))
        return true;
    return c->clocks.known[queue * c->clocks.queues + other] >= number;
}

static pfc_code check_piece(const checker *c, size_t at, const pfc_accel_access *part, size_t piece)
{
    static const char *const names[] = { "a piece of the scratchpad", "accumulators" };
    const size_t queue = pfc_accel_queue_of(&c->p->cmds[at]);
    const user *w = &c->writers[piece];

    if (w->number && !ordered(c, queue, c->writer_queue[piece], w->number, part->reads))
        return race(c, at, w->cmd, names[part->space], part->reads);
    for (size_t q = 0; q < c->clocks.queues && part->writes; q++) {
        const user *r = &c->readers[piece * c->clocks.queues + q];

        if (r->number && !ordered(c, queue, q, r->number, false))
            return race(c, at, r->cmd, names[part->space], false);
    }
    return PFC_OK;
}

static void note_piece(checker *c, size_t at, const pfc_accel_access *part, size_t piece)
{
    const size_t queue = pfc_accel_queue_of(&c->p->cmds[at]);
    const user me = { c->number[at], (uint32_t)at };

    if (part->writes) {
        c->writers[piece] = me;
        c->writer_queue[piece] = queue;
        for (size_t q = 0; q < c->clocks.queues; q++)
            c->readers[piece * c->clocks.queues + q] = (user){ 0 };
    } else {
        c->readers[piece * c->clocks.queues + queue] = me;
    }
}

/* ---- arguments ---- */

static int by_start(const void *a, const void *b)
{
    const rectangle *x = a;
    const rectangle *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->cmd < y->cmd ? -1 : x->cmd > y->cmd;
}

/* Whether a row of y meets a row of x: for each row of x, the first row of y that ends after its
 * start. */
static bool meet(const pfc_accel_cmd *x, const pfc_accel_cmd *y)
{
    const uint64_t xw = (uint64_t)x->n * x->elem;
    const uint64_t yw = (uint64_t)y->n * y->elem;

    for (uint64_t r = 0; r < x->m; r++) {
        const uint64_t at = x->offset + r * x->stride;
        uint64_t row = 0;

        if (at >= y->offset + yw)
            row = (at - y->offset - yw) / y->stride + 1;
        if (row < y->m && y->offset + row * y->stride < at + xw)
            return true;
    }
    return false;
}

static pfc_code add_pair(checker *c, uint32_t a, uint32_t b)
{
    const pfc_accel_cmd *x = &c->p->cmds[a];
    const pfc_accel_cmd *y = &c->p->cmds[b];

    if (x->op == PFC_ACCEL_OP_LOAD && y->op == PFC_ACCEL_OP_LOAD)
        return PFC_OK;
    if (!(x->m <= y->m ? meet(x, y) : meet(y, x)))
        return PFC_OK;
    if (c->pairs_len == MAX_PAIRS)
        return pfc_err_set(c->err, PFC_ETOOBIG,
                           "expected at most %u stores that meet others, more cannot be checked",
                           MAX_PAIRS);
    c->pairs = pfc_grow(c->pairs, c->pairs_len, &c->pairs_cap, sizeof(*c->pairs));
    c->pairs[c->pairs_len++] = (pair){ PFC_MAX(a, b), PFC_MIN(a, b) };
    return PFC_OK;
}

static pfc_code meet_in(checker *c, size_t arg)
{
    const pfc_accel_program *p = c->p;
    rectangle *all = pfc_calloc(p->len + 1, sizeof(*all));
    size_t len = 0;
    size_t stores = 0;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < p->len; i++) {
        const pfc_accel_cmd *cmd = &p->cmds[i];

        if (cmd->unit != PFC_ACCEL_UNIT_DMA || cmd->arg != arg)
            continue;
        stores += cmd->op != PFC_ACCEL_OP_LOAD;
        all[len++] =
            (rectangle){ cmd->offset,
                         cmd->offset + (cmd->m - 1) * cmd->stride + (uint64_t)cmd->n * cmd->elem,
                         (uint32_t)i };
    }
    if (stores && len)
        qsort(all, len, sizeof(*all), by_start);
    for (size_t i = 0; i < len && stores && !code; i++)
        for (size_t j = i + 1; j < len && all[j].start < all[i].end && !code; j++)
            code = add_pair(c, all[i].cmd, all[j].cmd);
    free(all);
    return code;
}

static int by_later(const void *a, const void *b)
{
    const pair *x = a;
    const pair *y = b;

    if (x->later != y->later)
        return x->later < y->later ? -1 : 1;
    return x->earlier < y->earlier ? -1 : x->earlier > y->earlier;
}

static pfc_code check_pair(const checker *c, const pair *m)
{
    const pfc_accel_cmd *later = &c->p->cmds[m->later];
    const bool raw = later->op == PFC_ACCEL_OP_LOAD;

    if (ordered(c, pfc_accel_queue_of(later), pfc_accel_queue_of(&c->p->cmds[m->earlier]),
                c->number[m->earlier], raw))
        return PFC_OK;
    return race(c, m->later, m->earlier, "bytes of an argument", raw);
}

/* ---- all of it ---- */

static pfc_code check_command(checker *c, size_t at, size_t *next_pair)
{
    const pfc_accel_cmd *cmd = &c->p->cmds[at];
    const size_t queue = pfc_accel_queue_of(cmd);
    pfc_accel_access parts[PFC_ACCEL_MAX_ACCESSES];
    const size_t len = pfc_accel_cmd_accesses(c->p, cmd, parts);
    pfc_code code = PFC_OK;

    for (size_t w = 0; w < cmd->waits_len; w++)
        pfc_accel_clocks_wait(&c->clocks, queue, cmd->waits[w]);
    for (; *next_pair < c->pairs_len && c->pairs[*next_pair].later == at && !code; (*next_pair)++)
        code = check_pair(c, &c->pairs[*next_pair]);
    for (size_t i = 0; i < len && !code; i++) {
        const size_t end = piece_of(c, SPACE(parts[i].space) + parts[i].at + parts[i].bytes);

        for (size_t s = piece_of(c, SPACE(parts[i].space) + parts[i].at); s < end && !code; s++)
            code = check_piece(c, at, &parts[i], s);
    }
    if (code)
        return code;
    c->number[at] = pfc_accel_clocks_start(&c->clocks, queue, cmd->token);
    for (size_t i = 0; i < len; i++) {
        const size_t end = piece_of(c, SPACE(parts[i].space) + parts[i].at + parts[i].bytes);

        for (size_t s = piece_of(c, SPACE(parts[i].space) + parts[i].at); s < end; s++)
            note_piece(c, at, &parts[i], s);
    }
    return PFC_OK;
}

pfc_code pfc_accel_program_races(const pfc_accel_program *p, const pfc_accel_chip *chip,
                                 pfc_err *err)
{
    checker c = { .p = p, .err = err };
    size_t next_pair = 0;
    pfc_code code = PFC_OK;

    pfc_accel_clocks_init(&c.clocks, chip, p->tokens_len);
    c.number = pfc_calloc(p->len + 1, sizeof(*c.number));
    cut(&c);
    for (size_t arg = 0; arg < p->args_len && !code; arg++)
        code = meet_in(&c, arg);
    if (c.pairs_len)
        qsort(c.pairs, c.pairs_len, sizeof(*c.pairs), by_later);
    for (size_t i = 0; i < p->len && !code; i++)
        code = check_command(&c, i, &next_pair);
    pfc_accel_clocks_free(&c.clocks);
    free(c.number);
    free(c.edges);
    free(c.writers);
    free(c.writer_queue);
    free(c.readers);
    free(c.pairs);
    return code;
}
