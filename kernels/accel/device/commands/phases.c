/* Names of phases: see phases.h. */
#include "kernels/accel/device/commands/phases.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

#define OPS (PFC_ACCEL_OP_BIAS_ROWS + 1)

static size_t key_of(const pfc_accel_cmd *cmd)
{
    const size_t arg = cmd->unit == PFC_ACCEL_UNIT_DMA ? cmd->arg : 0;

    return ((size_t)cmd->line * OPS + cmd->op) * PFC_ACCEL_MAX_ARGS + arg;
}

/* The operand that a line names first: "a" of "load a[mi, ki]", "sum" of "sum[mi, ni] += ...". */
static const char *operand_of(const pfc_accel_program *p, const pfc_accel_cmd *cmd, size_t *len)
{
    const char *text = cmd->line > 0 && cmd->line <= p->lines_len ? p->lines[cmd->line - 1] : "";
    const char *verb = pfc_accel_op_name(cmd->op);

    text += strspn(text, " \t");
    if (cmd->unit == PFC_ACCEL_UNIT_DMA && strncmp(text, verb, strcspn(verb, "_")) == 0) {
        text += strcspn(text, " \t");
        text += strspn(text, " \t");
    }
    *len = 0;
    while (isalnum((unsigned char)text[*len]) || text[*len] == '_')
        (*len)++;
    return text;
}

static uint16_t number_of(pfc_accel_phases *phases, const char *name)
{
    for (size_t i = 0; i < phases->len; i++)
        if (strcmp(phases->names[i], name) == 0)
            return (uint16_t)(i + 1);
    phases->names = pfc_grow(phases->names, phases->len, &phases->cap, sizeof(*phases->names));
    memcpy(phases->names[phases->len++], name, PFC_ACCEL_PHASE_BYTES);
    return (uint16_t)phases->len;
}

void pfc_accel_phases_find(const pfc_accel_program *p, pfc_accel_phases *out)
{
    *out = (pfc_accel_phases){ 0 };
    out->of =
        pfc_calloc((size_t)(PFC_ACCEL_MAX_LINES + 1) * OPS * PFC_ACCEL_MAX_ARGS, sizeof(*out->of));
    for (size_t i = 0; i < p->len; i++) {
        const pfc_accel_cmd *cmd = &p->cmds[i];
        uint16_t *number = &out->of[key_of(cmd)];
        char name[PFC_ACCEL_PHASE_BYTES] = "";
        size_t len;
        const char *operand;

        if (*number)
            continue;
        operand = operand_of(p, cmd, &len);
        if (len > 0)
            snprintf(name, sizeof(name), "%s_%.*s", pfc_accel_op_name(cmd->op),
                     (int)PFC_MIN(len, 24), operand);
        else if (cmd->unit == PFC_ACCEL_UNIT_DMA)
            snprintf(name, sizeof(name), "%s_argument%u", pfc_accel_op_name(cmd->op), cmd->arg);
        else
            snprintf(name, sizeof(name), "%s", pfc_accel_op_name(cmd->op));
        *number = number_of(out, name);
    }
}

void pfc_accel_phases_clear(pfc_accel_phases *phases)
{
    free(phases->names);
    free(phases->of);
    *phases = (pfc_accel_phases){ 0 };
}

uint16_t pfc_accel_phase_of(const pfc_accel_phases *phases, const pfc_accel_cmd *cmd)
{
    return phases->of[key_of(cmd)];
}
