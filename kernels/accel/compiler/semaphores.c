/*
 * From operations to commands: transfers are cut into shares of the DMA engines, every operation
 * signals a token, and a command waits for those that nothing else tells it are done.
 */
#include <stdlib.h>

#include "kernels/accel/compiler/clocks.h"
#include "kernels/accel/compiler/ir.h"

typedef struct emitter {
    pfc_accel_ir *ir;
    pfc_accel_deps deps;
    pfc_accel_clocks clocks;
    uint32_t *place; /* by operation: its place in the schedule, and its token */
    uint32_t load_next, store_next;
    pfc_err *err;
} emitter;

/* Where stores are few a quarter of the engines does them, so that no load waits behind a result
 * that is not there yet. */
static uint32_t engines_for(const emitter *e, bool store, uint32_t *first)
{
    const uint32_t all = (uint32_t)e->ir->chip->dma_engines;
    const uint32_t stores = PFC_MAX(all / 4, 1);

    *first = 0;
    if (all == 1 || e->ir->mixed)
        return all;
    *first = store ? all - stores : 0;
    return store ? stores : all - stores;
}

static int by_place_down(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;

    return x < y ? 1 : -(x > y);
}

/* The tokens that an operation depends on, latest first; returns how many. A queue keeps the order
 * of reading before writing; the array's sums even that of writing before adding. */
static size_t tokens_of(const emitter *e, uint32_t op, uint32_t *out)
{
    const pfc_accel_tile_op *mine = &e->ir->ops[op];
    size_t len = 0;

    for (uint32_t d = e->deps.of[op]; d < e->deps.of[op + 1]; d++) {
        const pfc_accel_tile_op *other = &e->ir->ops[e->deps.from[d]];
        const bool same = mine->cmd.unit == other->cmd.unit && mine->cmd.unit != PFC_ACCEL_UNIT_DMA;

        if (same && (!e->deps.raw[d] || mine->cmd.unit == PFC_ACCEL_UNIT_TENSOR))
            continue;
        out[len++] = e->place[e->deps.from[d]];
    }
    if (len > 1)
        qsort(out, len, sizeof(*out), by_place_down);
    return len;
}

static pfc_code emit(emitter *e, const pfc_accel_cmd *cmd, const uint32_t *tokens, size_t len)
{
    pfc_accel_program *p = e->ir->p;
    const size_t queue = pfc_accel_queue_of(cmd);
    pfc_accel_cmd *made;

    if (p->len >= PFC_ACCEL_MAX_COMMANDS)
        return pfc_err_set(e->err, PFC_ETOOBIG,
                           "expected at most %u commands; this problem needs more",
                           PFC_ACCEL_MAX_COMMANDS);
    p->cmds = pfc_grow(p->cmds, p->len, &p->cap, sizeof(*p->cmds));
    made = &p->cmds[p->len++];
    *made = *cmd;
    for (size_t i = 0; i < len; i++) {
        if (pfc_accel_clocks_knows(&e->clocks, queue, tokens[i]))
            continue;
        if (made->waits_len == PFC_ACCEL_MAX_WAITS)
            return pfc_err_set(e->err, PFC_EBUG, "command %zu waits for too many tokens",
                               p->len - 1);
        made->waits[made->waits_len++] = tokens[i];
        pfc_accel_clocks_wait(&e->clocks, queue, tokens[i]);
    }
    pfc_accel_clocks_start(&e->clocks, queue, made->token);
    if (made->unit == PFC_ACCEL_UNIT_DMA)
        p->dma_bytes += (uint64_t)made->m * made->n * made->elem;
    return PFC_OK;
}

/* The array takes the products of a batch one by one. */
static pfc_code emit_compute(emitter *e, const pfc_accel_cmd *cmd, uint32_t batch,
                             const uint32_t *tokens, size_t len)
{
    pfc_accel_cmd one = *cmd;
    pfc_code code = PFC_OK;

    if (cmd->op != PFC_ACCEL_OP_MATMUL)
        return emit(e, cmd, tokens, len);
    for (uint32_t i = 0; i < batch && !code; i++) {
        code = emit(e, &one, tokens, len);
        one.a += (uint64_t)cmd->m * cmd->k * e->ir->es;
        one.b += (uint64_t)cmd->k * cmd->n * e->ir->es;
        one.acc += (uint64_t)cmd->m * cmd->n * 4;
    }
    return code;
}

/* Rows [r0, r1) of a transfer. */
static pfc_accel_cmd rows_of(const emitter *e, const pfc_accel_cmd *all, uint64_t r0, uint64_t r1)
{
    pfc_accel_cmd part = *all;
    const uint64_t skip = r0 * all->n;

    part.offset += r0 * all->stride;
    part.m = (uint32_t)(r1 - r0);
    if (all->op == PFC_ACCEL_OP_STORE_ACC)
        part.acc += skip * 4;
    else
        part.a += skip * e->ir->es;
    return part;
}

/* Rows of a share. Shares that are long run through the banks of the memory side by side; an odd
 * number of open rows in each keeps them in different banks, and their rows open. */
static uint64_t share_rows(const pfc_accel_chip *chip, const pfc_accel_cmd *cmd, uint64_t parts)
{
    const uint64_t span = chip->hbm_row_bytes * chip->hbm_channels;
    const uint64_t even = (cmd->m + parts - 1) / parts;
    const uint64_t spans = even * cmd->stride / span;

    if (spans == 0)
        return even;
    return PFC_MAX((spans - (spans % 2 == 0)) * span / cmd->stride, 1);
}

static pfc_code emit_block(emitter *e, const pfc_accel_cmd *cmd, const uint32_t *tokens, size_t len)
{
    const bool store = cmd->op != PFC_ACCEL_OP_LOAD;
    uint32_t *next = store && !e->ir->mixed ? &e->store_next : &e->load_next;
    uint32_t first = 0;
    const uint32_t engines = engines_for(e, store, &first);
    const uint64_t bytes = (uint64_t)cmd->m * cmd->n * cmd->elem;
    pfc_accel_cmd all = *cmd;
    uint64_t parts;
    uint64_t rows;
    pfc_code code = PFC_OK;

    /* a few long rows in one piece: pieces of whole bursts instead */
    if (all.m < engines && all.stride == (uint64_t)all.n * all.elem && bytes % 256 == 0 &&
        bytes > 4096) {
        all.n = 256 / all.elem;
        all.m = (uint32_t)(bytes / 256);
        all.stride = 256;
    }
    /* below 4 KiB the setup of another engine costs more than it brings */
    parts = PFC_MIN(PFC_MIN(all.m, engines), bytes / 4096 + 1);
    if (e->ir->p->ideal_memory)
        parts = 1;
    rows = parts == 1 ? all.m : share_rows(e->ir->chip, &all, parts);
    for (uint64_t r = 0; r < all.m && !code; r += rows) {
        pfc_accel_cmd part = rows_of(e, &all, r, PFC_MIN(r + rows, all.m));

        part.queue = (uint8_t)(first + (*next)++ % engines);
        code = emit(e, &part, tokens, len);
    }
    return code;
}

/* Few long rows that lie apart are moved one after the other, each by all engines. */
#define LONG_ROW 16384
static pfc_code emit_move(emitter *e, const pfc_accel_cmd *cmd, const uint32_t *tokens, size_t len)
{
    const uint64_t width = (uint64_t)cmd->n * cmd->elem;
    pfc_code code = PFC_OK;

    if (cmd->m == 1 || cmd->m >= e->ir->chip->dma_engines || width < LONG_ROW ||
        cmd->stride == width || e->ir->p->ideal_memory)
        return emit_block(e, cmd, tokens, len);
    for (uint64_t r = 0; r < cmd->m && !code; r++) {
        pfc_accel_cmd row = rows_of(e, cmd, r, r + 1);

        row.stride = width;
        code = emit_block(e, &row, tokens, len);
    }
    return code;
}

pfc_code pfc_accel_pass_semaphores(pfc_accel_ir *ir, pfc_err *err)
{
    emitter e = { .ir = ir, .err = err };
    uint32_t *tokens;
    pfc_code code = PFC_OK;

    pfc_accel_deps_find(ir, &e.deps);
    pfc_accel_clocks_init(&e.clocks, ir->chip, ir->ops_len);
    e.place = pfc_calloc(ir->ops_len + 1, sizeof(*e.place));
    tokens = pfc_calloc(e.deps.len + 1, sizeof(*tokens));
    for (uint32_t i = 0; i < ir->ops_len; i++)
        e.place[ir->order[i]] = i;
    for (uint32_t i = 0; i < ir->ops_len && !code; i++) {
        const uint32_t op = ir->order[i];
        const size_t len = tokens_of(&e, op, tokens);
        pfc_accel_cmd cmd = ir->ops[op].cmd;

        cmd.token = i;
        if (cmd.unit == PFC_ACCEL_UNIT_DMA)
            code = emit_move(&e, &cmd, tokens, len);
        else
            code = emit_compute(&e, &cmd, ir->ops[op].batch, tokens, len);
    }
    ir->p->tokens_len = (uint32_t)ir->ops_len;
    pfc_accel_deps_free(&e.deps);
    pfc_accel_clocks_free(&e.clocks);
    free(e.place);
    free(tokens);
    return code;
}
