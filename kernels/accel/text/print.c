/* Programs to text: everything that the digest of a stream covers, in the form of the table. */
#include <math.h>
#include <string.h>

#include "kernels/accel/text/parts.h"

static void put_address(pfc_buf *out, const char *buffer, uint64_t used, uint64_t at)
{
    if (used == 0)
        pfc_buf_printf(out, "%llu", (unsigned long long)at);
    else if (at == 0)
        pfc_buf_puts(out, buffer);
    else
        pfc_buf_printf(out, "%s+%llu", buffer, (unsigned long long)at);
}

static void put_operand(const pfc_accel_program *p, const pfc_accel_cmd *cmd,
                        const pfc_accel_key *key, pfc_buf *out)
{
    const int64_t value = pfc_accel_field_get(key, cmd);
    float real;

    if (key->kind == PFC_ACCEL_KEY_FLAG) {
        if (value)
            pfc_buf_printf(out, " %s", key->name);
        return;
    }
    pfc_buf_printf(out, " %s=", key->name);
    switch (key->kind) {
    case PFC_ACCEL_KEY_SRAM:
        put_address(out, "s", p->sram_used, (uint64_t)value);
        break;
    case PFC_ACCEL_KEY_ACC:
        put_address(out, "c", p->acc_used, (uint64_t)value);
        break;
    case PFC_ACCEL_KEY_ARG:
        pfc_buf_printf(out, value ? "x%u+%lld" : "x%u", cmd->arg, (long long)value);
        break;
    case PFC_ACCEL_KEY_REAL:
        memcpy(&real, (const char *)cmd + key->offset, sizeof(real));
        pfc_buf_printf(out, "%.9g", (double)real);
        break;
    case PFC_ACCEL_KEY_NUMBER:
    case PFC_ACCEL_KEY_SIGNED:
    case PFC_ACCEL_KEY_FLAG:
        pfc_buf_printf(out, "%lld", (long long)value);
        break;
    }
}

static bool in_row(const pfc_accel_op_row *row, const pfc_accel_key *raw)
{
    for (size_t i = 0; row->keys[i].name; i++) {
        const pfc_accel_key *key = &row->keys[i];

        if (key->offset == raw->offset ||
            (key->kind == PFC_ACCEL_KEY_ARG && raw->offset == offsetof(pfc_accel_cmd, arg)))
            return true;
    }
    return false;
}

static void put_command(const pfc_accel_program *p, const pfc_accel_cmd *cmd,
                        const pfc_accel_op_row *row, pfc_buf *out)
{
    pfc_buf_puts(out, pfc_accel_op_name(cmd->op));
    for (size_t i = 0; row->keys[i].name; i++)
        put_operand(p, cmd, &row->keys[i], out);
    for (size_t i = 0; pfc_accel_raw_key(i)->name; i++) {
        const pfc_accel_key *raw = pfc_accel_raw_key(i);

        if (!in_row(row, raw) && pfc_accel_field_get(raw, cmd))
            pfc_buf_printf(out, " raw.%s=%lld", raw->name,
                           (long long)pfc_accel_field_get(raw, cmd));
    }
    for (size_t i = 0; i < cmd->waits_len; i++)
        pfc_buf_printf(out, p->tokens_len > 1 ? "%st[%u]" : "%st",
                       i ? "," : " wait=", cmd->waits[i]);
    pfc_buf_printf(out, p->tokens_len > 1 ? " signal=t[%u]\n" : " signal=t\n", cmd->token);
}

static void put_reference(const pfc_accel_problem *r, pfc_buf *out)
{
    pfc_buf_printf(out, "reference %s", pfc_accel_kernel_name(r->kernel));
    for (size_t i = 0; pfc_accel_param_name(r->kernel, i); i++)
        pfc_buf_printf(out, " %s=%lld", pfc_accel_param_name(r->kernel, i), (long long)r->p[i]);
    pfc_buf_putc(out, '\n');
}

pfc_code pfc_accel_text_print(const pfc_accel_program *p, const pfc_accel_problem *reference,
                              pfc_buf *out, pfc_err *err)
{
    pfc_buf_printf(out, "pca 1\ndtype %s\nmode %s\n", pfc_accel_dtype_name(p->dtype),
                   pfc_accel_mode_name(p->mode));
    if (p->ideal_memory)
        pfc_buf_puts(out, "memory ideal\n");
    if (reference)
        put_reference(reference, out);
    else
        pfc_buf_printf(out, "macs %llu\n", (unsigned long long)p->macs);
    for (size_t i = 0; i < p->args_len; i++)
        pfc_buf_printf(out, "arg x%zu %llu\n", i, (unsigned long long)p->arg_bytes[i]);
    if (p->sram_used)
        pfc_buf_printf(out, "sram s %llu\n", (unsigned long long)p->sram_used);
    if (p->acc_used)
        pfc_buf_printf(out, "acc c %llu\n", (unsigned long long)p->acc_used);
    if (p->tokens_len)
        pfc_buf_printf(out, "token t %u\n", p->tokens_len);
    pfc_buf_putc(out, '\n');
    for (size_t i = 0; i < p->len; i++) {
        const pfc_accel_op_row *row = pfc_accel_row_of(&p->cmds[i]);

        if (!row)
            return pfc_err_set(err, PFC_EINVAL,
                               "command %zu: expected an operation with a name, got number %u of "
                               "unit %u",
                               i, p->cmds[i].op, p->cmds[i].unit);
        put_command(p, &p->cmds[i], row, out);
    }
    return pfc_buf_check(out, "the program as text", err);
}
