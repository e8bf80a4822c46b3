/* Programs: what a chip accepts. Everything the engine and the functional plane rely on. */
#include <stdlib.h>

#include "kernels/accel/device/parts.h"

void pfc_accel_program_free(pfc_accel_program *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->lines_len; i++)
        free(p->lines[i]);
    free(p->cmds);
    free(p);
}

typedef struct checker {
    const pfc_accel_program *p;
    const pfc_accel_chip *chip;
    size_t at;
    pfc_err *err;
} checker;

static pfc_code bad(const checker *c, const char *what)
{
    return pfc_err_set(c->err, PFC_EINVAL, "command %zu: %s", c->at, what);
}

/* [at, at + bytes) in a space of `size`. */
static bool inside(uint64_t at, uint64_t bytes, uint64_t size)
{
    return at <= size && bytes <= size - at;
}

static pfc_code check_transfer(const checker *c, const pfc_accel_cmd *cmd)
{
    const uint64_t width = (uint64_t)cmd->n * cmd->elem;
    uint64_t end = 0;

    if (cmd->arg >= c->p->args_len)
        return bad(c, "no such argument");
    if (cmd->m == 0 || cmd->n == 0 || cmd->elem == 0 || cmd->elem > 4)
        return bad(c, "an empty transfer");
    if (cmd->stride < width)
        return bad(c, "rows of a transfer overlap");
    if (__builtin_mul_overflow(cmd->stride, (uint64_t)(cmd->m - 1), &end) ||
        __builtin_add_overflow(end, cmd->offset, &end) ||
        __builtin_add_overflow(end, width, &end) || end > c->p->arg_bytes[cmd->arg])
        return bad(c, "a transfer leaves its argument");
    if (cmd->queue >= c->chip->dma_engines)
        return bad(c, "no such DMA engine");
    if (cmd->op == PFC_ACCEL_OP_STORE_ACC) {
        if (!inside(cmd->acc, (uint64_t)cmd->m * cmd->n * 4, c->p->acc_used))
            return bad(c, "a transfer leaves the accumulators");
        return cmd->elem == (c->p->dtype == PFC_ACCEL_BF16 ? 2 : 4)
                   ? PFC_OK
                   : bad(c, "a wrong element size");
    }
    if (!inside(cmd->a, width * cmd->m, c->p->sram_used))
        return bad(c, "a transfer leaves the scratchpad");
    return PFC_OK;
}

static bool right_unit(const pfc_accel_cmd *cmd)
{
    if (cmd->op <= PFC_ACCEL_OP_STORE_ACC)
        return false;
    return cmd->unit ==
           (cmd->op == PFC_ACCEL_OP_MATMUL ? PFC_ACCEL_UNIT_TENSOR : PFC_ACCEL_UNIT_VECTOR);
}

static pfc_code check_compute(const checker *c, const pfc_accel_cmd *cmd)
{
    pfc_accel_access parts[PFC_ACCEL_MAX_ACCESSES];
    bool ok = right_unit(cmd) && cmd->acc % 4 == 0 && cmd->acc2 % 4 == 0;
    size_t len;

    if (cmd->m > 1u << 20 || cmd->n > 1u << 20 || cmd->k > 1u << 20)
        return bad(c, "expected at most 2^20 rows and columns");
    if (cmd->op != PFC_ACCEL_OP_MATMUL && cmd->op != PFC_ACCEL_OP_MATVEC &&
        c->p->dtype == PFC_ACCEL_INT8)
        return bad(c, "the vector unit has no int8 but for products");
    if (cmd->batch > (cmd->op == PFC_ACCEL_OP_MATVEC ? 1024u : 0u))
        return bad(c, "expected at most 1024 products, on the vector unit alone");
    if (cmd->op > PFC_ACCEL_OP_BIAS_ROWS || cmd->act > PFC_ACCEL_ACT_SILU ||
        cmd->line > c->p->lines_len)
        return bad(c, "no such operation, activation or line of the schedule");
    if ((cmd->op == PFC_ACCEL_OP_ATT_STEP || cmd->op == PFC_ACCEL_OP_ATT_END) && cmd->b % 4 != 0)
        ok = false;
    len = pfc_accel_cmd_accesses(c->p, cmd, parts);
    for (size_t i = 0; i < len; i++)
        ok = ok && inside(parts[i].at, parts[i].bytes,
                          parts[i].space == PFC_ACCEL_SRAM ? c->p->sram_used : c->p->acc_used);
    /* the first step leaves its output tile alone, but the next one will not */
    if (cmd->op == PFC_ACCEL_OP_ATT_STEP)
        ok = ok && inside(cmd->acc2, (uint64_t)cmd->m * cmd->k * 4, c->p->acc_used);
    return ok ? PFC_OK : bad(c, "an operand leaves its memory, or the wrong unit");
}

/* Tokens that a command waits for belong to earlier commands alone: then none waits for ever. */
static pfc_code check_tokens(const checker *c, uint32_t *last)
{
    const pfc_accel_program *p = c->p;

    for (size_t i = 0; i < p->len; i++) {
        if (p->cmds[i].token >= p->tokens_len)
            return pfc_err_set(c->err, PFC_EINVAL, "command %zu: no such token", i);
        last[p->cmds[i].token] = (uint32_t)i;
    }
    for (size_t i = 0; i < p->len; i++) {
        const pfc_accel_cmd *cmd = &p->cmds[i];

        if (cmd->waits_len > PFC_ACCEL_MAX_WAITS)
            return pfc_err_set(c->err, PFC_EINVAL, "command %zu: too many waits", i);
        for (size_t w = 0; w < cmd->waits_len; w++)
            if (cmd->waits[w] >= p->tokens_len || last[cmd->waits[w]] >= i)
                return pfc_err_set(c->err, PFC_EINVAL,
                                   "command %zu waits for a command that comes later", i);
    }
    return PFC_OK;
}

pfc_code pfc_accel_program_check(const pfc_accel_program *p, const pfc_accel_chip *chip,
                                 pfc_err *err)
{
    checker c = { .p = p, .chip = chip, .err = err };
    uint32_t *last;
    pfc_code code = PFC_OK;

    if (p->len > PFC_ACCEL_MAX_COMMANDS)
        return pfc_err_set(err, PFC_ETOOBIG, "program: expected at most %u commands, got %zu",
                           PFC_ACCEL_MAX_COMMANDS, p->len);
    if (p->dma_bytes > PFC_ACCEL_MAX_DMA_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "program: expected at most %llu bytes moved, got %llu",
                           PFC_ACCEL_MAX_DMA_BYTES, (unsigned long long)p->dma_bytes);
    if (!p->ideal_memory && p->sram_used > chip->sram_bytes)
        return pfc_err_set(err, PFC_ETOOBIG, "%s has %llu bytes of scratchpad, expected %llu",
                           chip->name, (unsigned long long)chip->sram_bytes,
                           (unsigned long long)p->sram_used);
    if (!p->ideal_memory && p->acc_used > chip->acc_bytes)
        return pfc_err_set(err, PFC_ETOOBIG, "%s has %llu bytes of accumulators, expected %llu",
                           chip->name, (unsigned long long)chip->acc_bytes,
                           (unsigned long long)p->acc_used);
    for (c.at = 0; c.at < p->len && !code; c.at++) {
        const pfc_accel_cmd *cmd = &p->cmds[c.at];

        code = cmd->unit == PFC_ACCEL_UNIT_DMA ? check_transfer(&c, cmd) : check_compute(&c, cmd);
    }
    if (code)
        return code;
    last = pfc_calloc((size_t)p->tokens_len + 1, sizeof(*last));
    code = check_tokens(&c, last);
    free(last);
    return code;
}
