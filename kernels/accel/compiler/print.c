/* The program as text, after any pass. */
#include "core/base/buf.h"
#include "kernels/accel/compiler/ir.h"

static const char *const passes[] = {
    "choose", "tile", "place", "schedule", "semaphores", "check"
};

const char *pfc_accel_pass_name(size_t pass)
{
    return pass < PFC_ARRAY_LEN(passes) ? passes[pass] : NULL;
}

const char *pfc_accel_queues_text(bool mixed)
{
    return mixed ? "each engine loads and stores" : "a quarter of the engines stores";
}

static void print_buffer(const char *name, const pfc_accel_ir *ir, uint16_t buf, bool placed,
                         pfc_buf *out)
{
    if (buf == PFC_ACCEL_NO_BUF)
        return;
    pfc_buf_printf(out, " %s=%%%u", name, buf);
    if (placed)
        pfc_buf_printf(out, "@%llu", (unsigned long long)ir->bufs[buf].at);
}

static void print_shape(const pfc_accel_cmd *cmd, pfc_buf *out)
{
    pfc_buf_printf(out, "%-10s", pfc_accel_op_name(cmd->op));
    if (cmd->unit == PFC_ACCEL_UNIT_DMA)
        pfc_buf_printf(out, " %ux%u arg%u+%llu", cmd->m, cmd->n, cmd->arg,
                       (unsigned long long)cmd->offset);
    else
        pfc_buf_printf(out, " m=%u n=%u k=%u%s", cmd->m, cmd->n, cmd->k,
                       cmd->accumulate ? " accumulate" : "");
}

static void print_line(const pfc_accel_program *p, uint8_t line, pfc_buf *out)
{
    if (line)
        pfc_buf_printf(out, "  ; %u: %s", line, p->lines[line - 1]);
    pfc_buf_printf(out, "\n");
}

static void print_op(const pfc_accel_ir *ir, size_t i, pfc_accel_pass pass, pfc_buf *out)
{
    static const char *const units[] = { "tensor", "vector", "dma" };
    const pfc_accel_tile_op *op = &ir->ops[i];
    const bool placed = pass >= PFC_ACCEL_PASS_PLACE;

    pfc_buf_printf(out, "%6zu ", i);
    if (pass >= PFC_ACCEL_PASS_SCHEDULE)
        pfc_buf_printf(out, "%10llu %-6s ", (unsigned long long)op->start, units[op->cmd.unit]);
    else if (op->either)
        pfc_buf_printf(out, "either unit: ");
    print_shape(&op->cmd, out);
    print_buffer("a", ir, op->a, placed, out);
    print_buffer("b", ir, op->b, placed, out);
    print_buffer("c", ir, op->c, placed, out);
    print_buffer("acc", ir, op->acc, placed, out);
    print_buffer("acc2", ir, op->acc2, placed, out);
    print_line(ir->p, op->cmd.line, out);
}

static void print_command(const pfc_accel_program *p, size_t i, pfc_buf *out)
{
    const pfc_accel_cmd *cmd = &p->cmds[i];

    pfc_buf_printf(out, "%6zu ", i);
    if (cmd->unit == PFC_ACCEL_UNIT_DMA)
        pfc_buf_printf(out, "dma%-3u ", cmd->queue);
    else
        pfc_buf_printf(out, "%s ", cmd->unit == PFC_ACCEL_UNIT_TENSOR ? "tensor" : "vector");
    print_shape(cmd, out);
    pfc_buf_printf(out, " -> t%u", cmd->token);
    for (size_t w = 0; w < cmd->waits_len; w++)
        pfc_buf_printf(out, "%s t%u", w ? "," : " after", cmd->waits[w]);
    print_line(p, cmd->line, out);
}

void pfc_accel_ir_print(const pfc_accel_ir *ir, pfc_accel_pass pass, pfc_buf *out)
{
    const pfc_accel_program *p = ir->p;

    pfc_buf_printf(out, "after %s: %s\n", passes[pass], p->choice);
    if (pass == PFC_ACCEL_PASS_CHOOSE)
        return;
    if (pass == PFC_ACCEL_PASS_PLACE)
        for (size_t i = 0; i < ir->bufs_len; i++)
            pfc_buf_printf(out, "  %%%zu %s [%llu, %llu)\n", i,
                           ir->bufs[i].space == PFC_ACCEL_SRAM ? "sram" : "acc",
                           (unsigned long long)ir->bufs[i].at,
                           (unsigned long long)(ir->bufs[i].at + ir->bufs[i].bytes));
    if (pass <= PFC_ACCEL_PASS_SCHEDULE)
        for (size_t i = 0; i < ir->ops_len; i++)
            print_op(ir, pass == PFC_ACCEL_PASS_SCHEDULE ? ir->order[i] : i, pass, out);
    else
        for (size_t i = 0; i < p->len; i++)
            print_command(p, i, out);
    if (pass == PFC_ACCEL_PASS_CHECK)
        pfc_buf_printf(out, "no race in %zu commands\n", p->len);
}
