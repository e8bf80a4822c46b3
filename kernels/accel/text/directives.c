/* Lines that are no commands: types, arguments, buffers, tokens, values. */
#include <string.h>

#include "kernels/accel/text/parts.h"

#define MAX_TOKENS (2 * PFC_ACCEL_MAX_COMMANDS)

static pfc_code once(pfc_accel_assembler *s, bool *seen)
{
    if (*seen)
        return pfc_accel_at(s, "expected \"%s\" once, got it twice", s->words[0]);
    *seen = true;
    return PFC_OK;
}

static pfc_code version(pfc_accel_assembler *s)
{
    if (strcmp(s->words[1], "1") != 0)
        return pfc_accel_at(s, "pca: expected version 1, got \"%.40s\"", s->words[1]);
    return once(s, &s->has_version);
}

static pfc_code dtype(pfc_accel_assembler *s)
{
    pfc_code code = once(s, &s->has_dtype);

    if (!code && pfc_accel_dtype_parse(s->words[1], &s->out->program->dtype, s->err))
        code = pfc_err_wrap(s->err, "%s:%zu", s->out->name, s->line);
    return code ? PFC_EINVAL : PFC_OK;
}

static pfc_code mode(pfc_accel_assembler *s)
{
    pfc_accel_program *p = s->out->program;
    pfc_code code = once(s, &s->has_mode);

    if (!code && pfc_accel_mode_parse(s->words[1], &p->mode, s->err))
        code = pfc_err_wrap(s->err, "%s:%zu", s->out->name, s->line);
    if (code)
        return PFC_EINVAL;
    p->ideal_memory |= pfc_accel_mode_ideal_memory(p->mode);
    return PFC_OK;
}

static pfc_code memory(pfc_accel_assembler *s)
{
    const bool ideal = strcmp(s->words[1], "ideal") == 0;

    if (!ideal && strcmp(s->words[1], "chip") != 0)
        return pfc_accel_at(s, "memory: expected ideal or chip, got \"%.40s\"", s->words[1]);
    s->out->program->ideal_memory |= ideal;
    return once(s, &s->has_memory);
}

static pfc_code macs(pfc_accel_assembler *s)
{
    int64_t value = 0;
    pfc_code code = once(s, &s->has_macs);

    if (!code)
        code = pfc_accel_number(s, "macs", s->words[1], 0, INT64_MAX, &value);
    s->macs = (uint64_t)value;
    return code;
}

/* ---- reference ---- */

static pfc_code parameter(pfc_accel_assembler *s, char *word, bool given[PFC_ACCEL_MAX_PARAMS])
{
    pfc_accel_problem *p = &s->out->reference;
    char *value = strchr(word, '=');

    if (!value)
        return pfc_accel_at(s, "reference: expected NAME=NUMBER, got \"%.60s\"", word);
    *value++ = '\0';
    for (size_t i = 0; pfc_accel_param_name(p->kernel, i); i++) {
        if (strcmp(pfc_accel_param_name(p->kernel, i), word) != 0)
            continue;
        if (given[i])
            return pfc_accel_at(s, "reference: expected %s once, got it twice", word);
        given[i] = true;
        return pfc_accel_number(s, word, value, 0, PFC_ACCEL_MAX_DIM, &p->p[i]);
    }
    return pfc_accel_at(s, "reference: expected a parameter of %s, got \"%.40s\"",
                        pfc_accel_kernel_name(p->kernel), word);
}

static pfc_code reference(pfc_accel_assembler *s)
{
    pfc_accel_problem *p = &s->out->reference;
    bool given[PFC_ACCEL_MAX_PARAMS] = { false };
    pfc_code code = once(s, &s->out->has_reference);

    if (!code && pfc_accel_kernel_parse(s->words[1], &p->kernel, s->err)) {
        (void)pfc_err_wrap(s->err, "%s:%zu: reference", s->out->name, s->line);
        return PFC_EINVAL;
    }
    for (size_t i = 2; i < s->words_len && !code; i++)
        code = parameter(s, s->words[i], given);
    for (size_t i = 0; !code && pfc_accel_param_name(p->kernel, i); i++) {
        const char *name = pfc_accel_param_name(p->kernel, i);

        if (!given[i] && !pfc_accel_param_optional(p->kernel, i))
            code = pfc_accel_at(s, "reference: expected %s=NUMBER, got none", name);
    }
    return code;
}

/* ---- declarations ---- */

static pfc_code argument(pfc_accel_assembler *s)
{
    pfc_accel_program *p = s->out->program;
    int64_t bytes = 0;
    pfc_code code = pfc_accel_number(s, "arg", s->words[2], 0, PFC_ACCEL_TEXT_MAX_SPACE, &bytes);

    if (!code && p->args_len == PFC_ACCEL_MAX_ARGS)
        code = pfc_accel_at(s, "expected at most %d arguments, got one more", PFC_ACCEL_MAX_ARGS);
    if (!code)
        code = pfc_accel_name_add(s, s->words[1], PFC_ACCEL_NAME_ARG, (int64_t)p->args_len, bytes);
    if (!code)
        p->arg_bytes[p->args_len++] = (uint64_t)bytes;
    return code;
}

/* at=N, else behind all buffers so far, at a multiple of align. */
static pfc_code buffer(pfc_accel_assembler *s, pfc_accel_name_kind kind, uint64_t *used,
                       int64_t align)
{
    int64_t bytes = 0;
    int64_t at = -1;
    pfc_code code = pfc_accel_number(s, "size", s->words[2], 0, PFC_ACCEL_TEXT_MAX_SPACE, &bytes);

    for (size_t i = 3; i < s->words_len && !code; i++) {
        const char *word = s->words[i];

        if (strncmp(word, "at=", 3) == 0)
            code = pfc_accel_number(s, "at", word + 3, 0, PFC_ACCEL_TEXT_MAX_SPACE, &at);
        else if (strncmp(word, "align=", 6) == 0)
            code = pfc_accel_number(s, "align", word + 6, 1, 1 << 30, &align);
        else
            code = pfc_accel_at(s, "expected at=BYTES or align=BYTES, got \"%.40s\"", word);
    }
    if (code)
        return code;
    if (at < 0)
        at = ((int64_t)*used + align - 1) / align * align;
    if (at + bytes > PFC_ACCEL_TEXT_MAX_SPACE)
        return pfc_accel_at(s, "expected at most %lld bytes of buffers, got %lld",
                            (long long)PFC_ACCEL_TEXT_MAX_SPACE, (long long)(at + bytes));
    code = pfc_accel_name_add(s, s->words[1], kind, at, bytes);
    if (!code)
        *used = PFC_MAX(*used, (uint64_t)(at + bytes));
    return code;
}

static pfc_code sram(pfc_accel_assembler *s)
{
    return buffer(s, PFC_ACCEL_NAME_SRAM, &s->out->program->sram_used, 64);
}

static pfc_code acc(pfc_accel_assembler *s)
{
    return buffer(s, PFC_ACCEL_NAME_ACC, &s->out->program->acc_used, 4);
}

static pfc_code token(pfc_accel_assembler *s)
{
    pfc_accel_program *p = s->out->program;
    int64_t count = 1;
    pfc_code code = PFC_OK;

    if (s->words_len > 2)
        code = pfc_accel_number(s, "token", s->words[2], 1, MAX_TOKENS - p->tokens_len, &count);
    if (!code && p->tokens_len + count > MAX_TOKENS)
        code = pfc_accel_at(s, "expected at most %u tokens, got one more", MAX_TOKENS);
    if (!code)
        code = pfc_accel_name_add(s, s->words[1], PFC_ACCEL_NAME_TOKEN, p->tokens_len, count);
    if (!code)
        p->tokens_len += (uint32_t)count;
    return code;
}

static pfc_code let(pfc_accel_assembler *s)
{
    pfc_accel_name *name;
    int64_t value = 0;
    pfc_code code;

    if (strcmp(s->words[2], "=") != 0)
        return pfc_accel_at(s, "let: expected \"let NAME = VALUE\", got \"%.40s\" for \"=\"",
                            s->words[2]);
    code = pfc_accel_number(s, s->words[1], s->words[3], INT64_MIN, INT64_MAX, &value);
    if (code)
        return code;
    for (size_t i = 0; i < s->loops_len; i++)
        if (strcmp(s->loops[i].index.text, s->words[1]) == 0)
            return pfc_accel_at(s, "let: expected another name than the loop's index \"%.40s\"",
                                s->words[1]);
    name = pfc_accel_name_find(s, s->words[1], strlen(s->words[1]));
    if (!name || name->kind != PFC_ACCEL_NAME_VALUE)
        return pfc_accel_name_add(s, s->words[1], PFC_ACCEL_NAME_VALUE, value, 0);
    name->value = value;
    return PFC_OK;
}

static const struct {
    const char *name;
    size_t min, max; /* words */
    bool in_loops;
    const char *form;
    pfc_code (*run)(pfc_accel_assembler *s);
} directives[] = {
    { "pca", 2, 2, false, "pca 1", version },
    { "dtype", 2, 2, false, "dtype TYPE", dtype },
    { "mode", 2, 2, false, "mode MODE", mode },
    { "memory", 2, 2, false, "memory ideal|chip", memory },
    { "macs", 2, 2, false, "macs NUMBER", macs },
    { "reference", 2, PFC_ACCEL_MAX_WORDS, false, "reference OPERATION NAME=NUMBER...", reference },
    { "arg", 3, 3, false, "arg NAME BYTES", argument },
    { "sram", 3, 5, false, "sram NAME BYTES [at=BYTES] [align=BYTES]", sram },
    { "acc", 3, 5, false, "acc NAME BYTES [at=BYTES] [align=BYTES]", acc },
    { "token", 2, 3, false, "token NAME [COUNT]", token },
    { "let", 4, 4, true, "let NAME = VALUE", let },
};

pfc_code pfc_accel_directive(pfc_accel_assembler *s, bool *known)
{
    *known = false;
    for (size_t i = 0; i < PFC_ARRAY_LEN(directives); i++) {
        if (strcmp(directives[i].name, s->words[0]) != 0)
            continue;
        *known = true;
        if (s->words_len < directives[i].min || s->words_len > directives[i].max)
            return pfc_accel_at(s, "expected \"%s\", got %zu words", directives[i].form,
                                s->words_len);
        if (s->loops_len && !directives[i].in_loops)
            return pfc_accel_at(s, "expected \"%s\" outside of repeat", s->words[0]);
        return directives[i].run(s);
    }
    return PFC_OK;
}
