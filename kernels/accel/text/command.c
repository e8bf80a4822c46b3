/* One line, one command: an operation of the table with its operands, waits and signal. */
#include <string.h>

#include "core/base/parse.h"
#include "kernels/accel/text/parts.h"

typedef struct reader {
    pfc_accel_assembler *s;
    const pfc_accel_op_row *row;
    pfc_accel_cmd cmd;
    bool seen[PFC_ACCEL_MAX_KEYS];
    const pfc_accel_name *in[PFC_ACCEL_MAX_KEYS]; /* buffers that operands name */
    bool has_waits, has_signal;
} reader;

static pfc_code real(reader *r, const pfc_accel_key *key, const char *value)
{
    double number = 0.0;
    float field;

    if (pfc_parse_double(value, -3e38, 3e38, key->name, &number, r->s->err)) {
        (void)pfc_err_wrap(r->s->err, "%s:%zu: %s", r->s->out->name, r->s->line,
                           pfc_accel_op_name(r->cmd.op));
        return PFC_EINVAL;
    }
    field = (float)number;
    memcpy((char *)&r->cmd + key->offset, &field, sizeof(field));
    return PFC_OK;
}

static pfc_code operand(reader *r, const pfc_accel_key *key, const char *value,
                        const pfc_accel_name **in)
{
    const pfc_accel_name *name = NULL;
    pfc_accel_name_kind kind = PFC_ACCEL_NAME_VALUE;
    int64_t number = 1;
    pfc_code code;

    if (key->kind == PFC_ACCEL_KEY_REAL)
        return real(r, key, value);
    if (key->kind == PFC_ACCEL_KEY_FLAG && *value == '\0')
        return pfc_accel_field_set(key, &r->cmd, 1) ? PFC_OK : PFC_EBUG;
    if (key->kind == PFC_ACCEL_KEY_SRAM)
        kind = PFC_ACCEL_NAME_SRAM;
    else if (key->kind == PFC_ACCEL_KEY_ACC)
        kind = PFC_ACCEL_NAME_ACC;
    else if (key->kind == PFC_ACCEL_KEY_ARG)
        kind = PFC_ACCEL_NAME_ARG;
    if (kind == PFC_ACCEL_NAME_VALUE)
        code = pfc_accel_number(r->s, key->name, value, INT64_MIN, INT64_MAX, &number);
    else
        code = pfc_accel_place(r->s, key->name, value, kind, &name, &number);
    if (code)
        return code;
    if (key->kind == PFC_ACCEL_KEY_ARG) {
        if (!name)
            return pfc_accel_at(r->s, "%s: expected an argument, got only a number", key->name);
        r->cmd.arg = (uint8_t)name->value;
    } else {
        *in = name;
    }
    if (!pfc_accel_field_set(key, &r->cmd, number))
        return pfc_accel_at(r->s, "%s: expected 0..%llu, got %lld", key->name,
                            key->size == 1 ? 255ull : 4294967295ull, (long long)number);
    return PFC_OK;
}

static pfc_code raw(reader *r, const char *name, const char *value)
{
    const pfc_accel_name *unused;

    for (size_t i = 0; pfc_accel_raw_key(i)->name; i++)
        if (strcmp(pfc_accel_raw_key(i)->name, name) == 0)
            return operand(r, pfc_accel_raw_key(i), value, &unused);
    return pfc_accel_at(r->s, "raw: expected the name of a field, got \"%.40s\"", name);
}

/* A token of an index below 0 is left out: the first rounds of a loop wait for nothing. */
static pfc_code waits(reader *r, const char *value)
{
    pfc_code code = PFC_OK;

    while (!code) {
        int64_t number = 0;

        code = pfc_accel_token(r->s, "wait", &value, &number);
        if (code)
            break;
        if (number >= 0 && r->cmd.waits_len == PFC_ACCEL_MAX_WAITS)
            return pfc_accel_at(r->s, "wait: expected at most %d tokens, got one more",
                                PFC_ACCEL_MAX_WAITS);
        if (number >= 0)
            r->cmd.waits[r->cmd.waits_len++] = (uint32_t)number;
        if (*value == '\0')
            break;
        if (*value++ != ',')
            code = pfc_accel_at(r->s, "wait: expected \",\" and a token, got \"%.40s\"", value - 1);
    }
    return code;
}

static pfc_code signals(reader *r, const char *value)
{
    int64_t number = 0;
    pfc_code code = pfc_accel_token(r->s, "signal", &value, &number);

    if (!code && (number < 0 || *value != '\0'))
        code = pfc_accel_at(r->s, "signal: expected one token with an index of 0 and up");
    if (!code)
        r->cmd.token = (uint32_t)number;
    return code;
}

static pfc_code again(reader *r, const char *key)
{
    return pfc_accel_at(r->s, "%s: expected %s once, got it twice", pfc_accel_op_name(r->cmd.op),
                        key);
}

static pfc_code word(reader *r, char *text)
{
    char *value = strchr(text, '=');
    bool bare = !value;

    if (value)
        *value++ = '\0';
    else
        value = text + strlen(text);
    if (strcmp(text, "wait") == 0 || strcmp(text, "signal") == 0) {
        const bool wait = *text == 'w';
        bool *seen = wait ? &r->has_waits : &r->has_signal;

        if (*seen)
            return again(r, text);
        *seen = true;
        return wait ? waits(r, value) : signals(r, value);
    }
    if (strncmp(text, "raw.", 4) == 0 && !bare)
        return raw(r, text + 4, value);
    for (size_t i = 0; r->row->keys[i].name; i++) {
        const pfc_accel_key *key = &r->row->keys[i];

        if (strcmp(key->name, text) != 0)
            continue;
        if (r->seen[i])
            return again(r, text);
        if (bare != (*value == '\0') || (bare && key->kind != PFC_ACCEL_KEY_FLAG))
            return pfc_accel_at(r->s, "%s: expected %s=VALUE, got no value",
                                pfc_accel_op_name(r->cmd.op), text);
        r->seen[i] = true;
        return operand(r, key, value, &r->in[i]);
    }
    return pfc_accel_at(r->s, "%s: expected one of its operands, wait= or signal=, got \"%.40s\"",
                        pfc_accel_op_name(r->cmd.op), text);
}

static bool given(const reader *r, const char *name)
{
    for (size_t i = 0; r->row->keys[i].name; i++)
        if (strcmp(r->row->keys[i].name, name) == 0)
            return r->seen[i];
    return false;
}

/* The operands of the command lie in the buffers that it names. */
static pfc_code check_extents(const reader *r)
{
    pfc_accel_access parts[PFC_ACCEL_MAX_ACCESSES];
    const size_t len = pfc_accel_cmd_accesses(r->s->out->program, &r->cmd, parts);

    for (size_t i = 0; i < len; i++)
        for (size_t k = 0; r->row->keys[k].name; k++) {
            const pfc_accel_name *in = r->in[k];
            uint64_t offset;

            if (!in || r->row->keys[k].offset != parts[i].field)
                continue;
            offset = parts[i].at - (uint64_t)in->value;
            if (parts[i].bytes > (uint64_t)in->size - offset)
                return pfc_accel_at(r->s,
                                    "%s: %s: expected at most %llu bytes from offset %llu of "
                                    "\"%s\", got %llu",
                                    pfc_accel_op_name(r->cmd.op), r->row->keys[k].name,
                                    (unsigned long long)((uint64_t)in->size - offset),
                                    (unsigned long long)offset, in->text,
                                    (unsigned long long)parts[i].bytes);
        }
    return PFC_OK;
}

static pfc_code check_sizes(const reader *r)
{
    const uint32_t most = PFC_MAX(PFC_MAX(r->cmd.m, r->cmd.n), PFC_MAX(r->cmd.k, r->cmd.batch));

    if (r->row->unit != PFC_ACCEL_UNIT_DMA && most > 1u << 20)
        return pfc_accel_at(r->s, "%s: expected at most 2^20 rows, columns and products, got %u",
                            pfc_accel_op_name(r->cmd.op), most);
    return PFC_OK;
}

static pfc_code complete(reader *r)
{
    for (size_t i = 0; r->row->keys[i].name; i++)
        if (!r->seen[i] && !r->row->keys[i].optional)
            return pfc_accel_at(r->s, "%s: expected %s=VALUE, got none",
                                pfc_accel_op_name(r->cmd.op), r->row->keys[i].name);
    if (r->row->unit != PFC_ACCEL_UNIT_DMA)
        return PFC_OK;
    if (!given(r, "elem"))
        r->cmd.elem = pfc_accel_default_elem(r->row->op, r->s->out->program->dtype);
    if (!given(r, "stride"))
        r->cmd.stride = (uint64_t)r->cmd.n * r->cmd.elem;
    r->s->rows += r->cmd.m;
    if (r->s->rows > PFC_ACCEL_TEXT_MAX_ROWS)
        return pfc_accel_at(r->s, "expected transfers of at most %llu rows in all, got more",
                            PFC_ACCEL_TEXT_MAX_ROWS);
    return PFC_OK;
}

static pfc_code count_bytes(pfc_accel_assembler *s, const pfc_accel_cmd *cmd)
{
    pfc_accel_program *p = s->out->program;
    uint64_t moved = 0;

    if (cmd->unit == PFC_ACCEL_UNIT_DMA &&
        (__builtin_mul_overflow((uint64_t)cmd->m * cmd->n, (uint64_t)cmd->elem, &moved) ||
         __builtin_add_overflow(p->dma_bytes, moved, &p->dma_bytes) ||
         p->dma_bytes > PFC_ACCEL_MAX_DMA_BYTES))
        return pfc_accel_at(s, "expected transfers of at most %llu bytes in all, got more",
                            PFC_ACCEL_MAX_DMA_BYTES);
    return PFC_OK;
}

static pfc_code add(pfc_accel_assembler *s, const pfc_accel_cmd *cmd)
{
    pfc_accel_program *p = s->out->program;

    if (p->len == PFC_ACCEL_MAX_COMMANDS)
        return pfc_accel_at(s, "expected at most %u commands, got one more",
                            PFC_ACCEL_MAX_COMMANDS);
    p->cmds = pfc_grow(p->cmds, p->len, &p->cap, sizeof(*p->cmds));
    s->out->lines = pfc_grow(s->out->lines, p->len, &s->lines_cap, sizeof(*s->out->lines));
    s->out->lines[p->len] = (uint32_t)s->line;
    p->cmds[p->len++] = *cmd;
    return PFC_OK;
}

pfc_code pfc_accel_command(pfc_accel_assembler *s, const pfc_accel_op_row *row)
{
    reader r = { .s = s,
                 .row = row,
                 .cmd = { .op = (uint8_t)row->op, .unit = (uint8_t)row->unit } };
    pfc_code code = PFC_OK;

    if (!s->has_dtype)
        return pfc_accel_at(s, "expected \"dtype TYPE\" before the first command");
    for (size_t i = 1; i < s->words_len && !code; i++)
        code = word(&r, s->words[i]);
    if (!code)
        code = complete(&r);
    if (!code)
        code = check_sizes(&r);
    if (!code)
        code = count_bytes(s, &r.cmd);
    if (!code)
        code = check_extents(&r);
    if (!code && !r.has_signal)
        r.cmd.token = s->out->program->tokens_len++;
    return code ? code : add(s, &r.cmd);
}
