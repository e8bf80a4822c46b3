/* Lines, loops, and what a whole text must have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/hash.h"
#include "kernels/accel/text/parts.h"

/* ---- lines ---- */

/* Copies the next line without its comment into `line`; false at the end of the text. */
static bool next_line(pfc_accel_assembler *s, char line[PFC_ACCEL_TEXT_MAX_LINE + 1],
                      pfc_code *code)
{
    const char *from = s->text + s->at;
    const size_t left = s->len - s->at;
    const char *end = left ? memchr(from, '\n', left) : NULL;
    const size_t len = end ? (size_t)(end - from) : left;
    char *comment;

    if (left == 0)
        return false;
    s->line++;
    s->at += len + (end != NULL);
    line[0] = '\0';
    if (len > PFC_ACCEL_TEXT_MAX_LINE)
        *code = pfc_accel_at(s, "expected a line of at most %d bytes, got %zu",
                             PFC_ACCEL_TEXT_MAX_LINE, len);
    else if (++s->steps > PFC_ACCEL_TEXT_MAX_STEPS)
        *code = pfc_accel_at(s, "expected at most %u lines, those of loops each time, got more",
                             PFC_ACCEL_TEXT_MAX_STEPS);
    if (*code)
        return true;
    memcpy(line, from, len);
    line[len] = '\0';
    comment = strchr(line, '#');
    if (comment)
        *comment = '\0';
    return true;
}

static pfc_code split(pfc_accel_assembler *s, char *line)
{
    static const char blanks[] = " \t\r";

    s->words_len = 0;
    for (char *p = line + strspn(line, blanks); *p; p += strspn(p, blanks)) {
        const size_t len = strcspn(p, blanks);

        if (s->words_len == PFC_ACCEL_MAX_WORDS)
            return pfc_accel_at(s, "expected at most %d words, got more", PFC_ACCEL_MAX_WORDS);
        s->words[s->words_len++] = p;
        p += len;
        if (*p)
            *p++ = '\0';
    }
    return PFC_OK;
}

static bool is_word(const pfc_accel_assembler *s, size_t i, const char *text)
{
    return i < s->words_len && strcmp(s->words[i], text) == 0;
}

/* ---- loops ---- */

/* Leaves out the lines of a loop that runs no time. */
static pfc_code skip_loop(pfc_accel_assembler *s)
{
    char line[PFC_ACCEL_TEXT_MAX_LINE + 1];
    const size_t opened = s->line;
    size_t depth = 1;
    pfc_code code = PFC_OK;

    while (!code && depth > 0) {
        if (!next_line(s, line, &code)) {
            s->line = opened;
            return pfc_accel_at(s, "expected \"}\" for this repeat, got the end of the file");
        }
        if (!code)
            code = split(s, line);
        if (!code && is_word(s, 0, "repeat"))
            depth++;
        else if (!code && is_word(s, 0, "}"))
            depth--;
    }
    return code;
}

/* repeat N { or repeat N as i { */
static pfc_code begin_loop(pfc_accel_assembler *s)
{
    const bool named = s->words_len == 5 && is_word(s, 2, "as");
    pfc_accel_loop *loop = &s->loops[s->loops_len];
    int64_t count = 0;
    pfc_code code;

    if (!is_word(s, s->words_len - 1, "{") || (s->words_len != 3 && !named))
        return pfc_accel_at(s,
                            "expected \"repeat COUNT {\" or \"repeat COUNT as NAME {\", got "
                            "%zu words",
                            s->words_len);
    if (s->loops_len == PFC_ACCEL_TEXT_MAX_DEPTH)
        return pfc_accel_at(s, "expected at most %d loops in each other, got one more",
                            PFC_ACCEL_TEXT_MAX_DEPTH);
    code = pfc_accel_number(s, "repeat", s->words[1], 0, PFC_ACCEL_MAX_COMMANDS, &count);
    if (!code && named)
        code = pfc_accel_name_check(s, s->words[3]);
    if (!code && named && pfc_accel_name_find(s, s->words[3], strlen(s->words[3])))
        code = pfc_accel_at(s, "repeat: expected a new name, got \"%s\"", s->words[3]);
    if (code)
        return code;
    if (count == 0)
        return skip_loop(s);
    *loop = (pfc_accel_loop){ .count = count, .at = s->at, .line = s->line };
    loop->index.kind = PFC_ACCEL_NAME_VALUE;
    snprintf(loop->index.text, sizeof(loop->index.text), "%s", named ? s->words[3] : "");
    s->loops_len++;
    return PFC_OK;
}

static pfc_code end_loop(pfc_accel_assembler *s)
{
    pfc_accel_loop *loop;

    if (s->loops_len == 0)
        return pfc_accel_at(s, "expected a \"repeat\" before \"}\"");
    loop = &s->loops[s->loops_len - 1];
    if (s->words_len > 1)
        return pfc_accel_at(s, "expected the end of the line after \"}\", got \"%.40s\"",
                            s->words[1]);
    if (++loop->index.value < loop->count) {
        s->at = loop->at;
        s->line = loop->line;
    } else {
        s->loops_len--;
    }
    return PFC_OK;
}

/* ---- the whole ---- */

static pfc_code statement(pfc_accel_assembler *s)
{
    const pfc_accel_op_row *row;
    bool known = false;
    pfc_code code;

    if (!s->has_version && !is_word(s, 0, "pca"))
        return pfc_accel_at(s, "expected \"pca 1\" in the first line, got \"%.40s\"", s->words[0]);
    if (is_word(s, 0, "repeat"))
        return begin_loop(s);
    if (is_word(s, 0, "}"))
        return end_loop(s);
    code = pfc_accel_directive(s, &known);
    if (code || known)
        return code;
    row = pfc_accel_row_named(s->words[0]);
    if (!row)
        return pfc_accel_at(s, "expected a directive, an operation, repeat or \"}\", got \"%.40s\"",
                            s->words[0]);
    return pfc_accel_command(s, row);
}

/* Useful multiply-adds: of the reference, else as the text says, else all. */
static uint64_t macs_of(const pfc_accel_assembler *s)
{
    const pfc_accel_program *p = s->out->program;
    uint64_t macs = 0;

    if (s->out->has_reference)
        return pfc_accel_problem_macs(&s->out->reference);
    if (s->has_macs)
        return s->macs;
    for (size_t i = 0; i < p->len; i++) {
        const pfc_accel_cmd *cmd = &p->cmds[i];
        uint64_t more = 0;

        if ((cmd->op == PFC_ACCEL_OP_MATMUL || cmd->op == PFC_ACCEL_OP_MATVEC) &&
            (__builtin_mul_overflow((uint64_t)cmd->m * cmd->n, (uint64_t)cmd->k, &more) ||
             __builtin_mul_overflow(more, (uint64_t)PFC_MAX(cmd->batch, 1u), &more) ||
             __builtin_add_overflow(macs, more, &macs)))
            return UINT64_MAX;
    }
    return macs;
}

static pfc_code finish(pfc_accel_assembler *s)
{
    pfc_accel_text *t = s->out;

    if (s->loops_len) {
        s->line = s->loops[s->loops_len - 1].line;
        return pfc_accel_at(s, "expected \"}\" for this repeat, got the end of the file");
    }
    if (!s->has_version || !s->has_dtype)
        return pfc_accel_at(s, "expected \"%s\", got the end of the file",
                            s->has_version ? "dtype TYPE" : "pca 1");
    if (t->program->args_len == 0)
        return pfc_accel_at(s, "expected \"arg NAME BYTES\", the last one for the result, got the "
                               "end of the file");
    if (t->has_reference && s->has_macs)
        return pfc_accel_at(s, "expected \"macs\" or \"reference\", got both");
    t->reference.dtype = t->program->dtype;
    t->program->macs = macs_of(s);
    return pfc_accel_order_check(s);
}

static pfc_code assemble(pfc_accel_assembler *s)
{
    char line[PFC_ACCEL_TEXT_MAX_LINE + 1];
    pfc_code code = PFC_OK;

    while (!code && next_line(s, line, &code)) {
        if (!code)
            code = split(s, line);
        if (!code && s->words_len)
            code = statement(s);
    }
    return code ? code : finish(s);
}

pfc_code pfc_accel_text_parse(const char *text, size_t len, const char *name, pfc_accel_text **out,
                              pfc_err *err)
{
    pfc_accel_assembler *s;
    char hex[PFC_SHA256_HEX];
    pfc_code code;

    if (len > PFC_ACCEL_TEXT_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "%s: expected at most %llu bytes, got %zu", name,
                           PFC_ACCEL_TEXT_MAX_BYTES, len);
    if (len && memchr(text, '\0', len))
        return pfc_err_set(err, PFC_EINVAL, "%s: expected text, got a NUL byte", name);
    s = pfc_alloc(sizeof(*s));
    s->out = pfc_alloc(sizeof(*s->out));
    s->out->program = pfc_alloc(sizeof(*s->out->program));
    s->out->name = pfc_strdup(name);
    s->text = text;
    s->len = len;
    s->err = err;
    pfc_sha256_hex(text, len, hex);
    snprintf(s->out->hash, sizeof(s->out->hash), "%.16s", hex);
    code = assemble(s);
    if (code)
        pfc_accel_text_free(s->out);
    else
        *out = s->out;
    free(s);
    return code;
}

pfc_code pfc_accel_text_load(const char *path, pfc_accel_text **out, pfc_err *err)
{
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, PFC_ACCEL_TEXT_MAX_BYTES, &text, &len, err);

    if (!code)
        code = pfc_accel_text_parse(text, len, path, out, err);
    free(text);
    return code;
}

void pfc_accel_text_free(pfc_accel_text *t)
{
    if (!t)
        return;
    pfc_accel_program_free(t->program);
    free(t->name);
    free(t->lines);
    free(t);
}

pfc_code pfc_accel_text_check(const pfc_accel_text *t, const pfc_accel_chip *chip, pfc_err *err)
{
    pfc_err inner = { 0 };
    pfc_code code = pfc_accel_program_check(t->program, chip, &inner);
    const char *command;
    size_t at = 0;

    if (!code)
        code = pfc_accel_program_races(t->program, chip, &inner);
    if (!code)
        return PFC_OK;
    /* both say "command N", which is a line here */
    command = strstr(inner.msg, "command ");
    if (command && sscanf(command, "command %zu", &at) == 1 && at < t->program->len)
        return pfc_err_set(err, code, "%s:%u: %s", t->name, t->lines[at], inner.msg);
    return pfc_err_set(err, code, "%s: %s", t->name, inner.msg);
}
