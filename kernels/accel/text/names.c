/* Names, and expressions over them: + - * / % and parentheses on 64-bit integers. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/accel/text/parts.h"

#define MAX_NESTING 32 /* parentheses and signs */

static const char *const kinds[] = {
    [PFC_ACCEL_NAME_VALUE] = "a number",
    [PFC_ACCEL_NAME_ARG] = "an argument",
    [PFC_ACCEL_NAME_SRAM] = "a buffer in the scratchpad",
    [PFC_ACCEL_NAME_ACC] = "a buffer in the accumulators",
    [PFC_ACCEL_NAME_TOKEN] = "a token",
};

pfc_code pfc_accel_at(pfc_accel_assembler *s, const char *fmt, ...)
{
    char msg[PFC_ERR_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(msg, sizeof(msg), fmt, args);
    va_end(args);
    return pfc_err_set(s->err, PFC_EINVAL, "%s:%zu: %s", s->out->name, s->line, msg);
}

/* ---- names ---- */

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t name_len(const char *text)
{
    size_t len = 0;

    while (letter(text[len]) || (len > 0 && digit(text[len])))
        len++;
    return len;
}

/* The slot that holds the name, or the empty one where it belongs. */
static uint16_t *slot_of(pfc_accel_assembler *s, const char *text, size_t len)
{
    size_t at = 2166136261u;

    for (size_t i = 0; i < len; i++)
        at = (at ^ (uint8_t)text[i]) * 16777619u;
    for (;; at++) {
        uint16_t *slot = &s->slots[at % PFC_ARRAY_LEN(s->slots)];
        const char *there = *slot ? s->names[*slot - 1].text : NULL;

        if (!there || (strncmp(there, text, len) == 0 && there[len] == '\0'))
            return slot;
    }
}

pfc_accel_name *pfc_accel_name_find(pfc_accel_assembler *s, const char *text, size_t len)
{
    uint16_t *slot;

    if (len == 0 || len >= PFC_ACCEL_NAME_MAX)
        return NULL;
    for (size_t i = s->loops_len; i-- > 0;) {
        pfc_accel_name *index = &s->loops[i].index;

        if (strncmp(index->text, text, len) == 0 && index->text[len] == '\0')
            return index;
    }
    slot = slot_of(s, text, len);
    return *slot ? &s->names[*slot - 1] : NULL;
}

pfc_code pfc_accel_name_check(pfc_accel_assembler *s, const char *text)
{
    const size_t len = name_len(text);

    if (len > 0 && text[len] == '\0' && len < PFC_ACCEL_NAME_MAX)
        return PFC_OK;
    return pfc_accel_at(s, "expected a name of at most %d letters, digits and _, got \"%.60s\"",
                        PFC_ACCEL_NAME_MAX - 1, text);
}

pfc_code pfc_accel_name_add(pfc_accel_assembler *s, const char *text, pfc_accel_name_kind kind,
                            int64_t value, int64_t size)
{
    pfc_code code = pfc_accel_name_check(s, text);
    pfc_accel_name *there;

    if (code)
        return code;
    there = pfc_accel_name_find(s, text, strlen(text));
    if (there)
        return pfc_accel_at(s, "expected a new name, got \"%s\", which is %s", text,
                            kinds[there->kind]);
    if (s->names_len == PFC_ACCEL_TEXT_MAX_NAMES)
        return pfc_accel_at(s, "expected at most %d names, got one more", PFC_ACCEL_TEXT_MAX_NAMES);
    there = &s->names[s->names_len++];
    *there = (pfc_accel_name){ .kind = kind, .value = value, .size = size };
    snprintf(there->text, sizeof(there->text), "%s", text);
    *slot_of(s, text, strlen(text)) = (uint16_t)s->names_len;
    return PFC_OK;
}

/* ---- expressions ---- */

typedef struct reader {
    pfc_accel_assembler *s;
    const char *what; /* the operand, for errors */
    const char *p;
    pfc_accel_name_kind kind; /* that may occur once; VALUE: none */
    const pfc_accel_name *name;
    int depth;
} reader;

static pfc_code sum(reader *r, int64_t *out);

static pfc_code too_large(reader *r)
{
    return pfc_accel_at(r->s, "%s: expected numbers of at most 64 bits", r->what);
}

static pfc_code unexpected(reader *r, const char *expected)
{
    if (*r->p == '\0')
        return pfc_accel_at(r->s, "%s: expected %s, got its end", r->what, expected);
    return pfc_accel_at(r->s, "%s: expected %s, got \"%.40s\"", r->what, expected, r->p);
}

static pfc_code literal(reader *r, int64_t *out)
{
    int64_t v = 0;

    for (; digit(*r->p); r->p++)
        if (__builtin_mul_overflow(v, (int64_t)10, &v) ||
            __builtin_add_overflow(v, (int64_t)(*r->p - '0'), &v))
            return too_large(r);
    *out = v;
    return letter(*r->p) ? unexpected(r, "an operator") : PFC_OK;
}

static pfc_code named(reader *r, int64_t *out)
{
    const size_t len = name_len(r->p);
    const pfc_accel_name *name = pfc_accel_name_find(r->s, r->p, len);

    if (!name)
        return pfc_accel_at(r->s, "%s: expected a name that is known, got \"%.*s\"", r->what,
                            (int)PFC_MIN(len, (size_t)60), r->p);
    if (name->kind != PFC_ACCEL_NAME_VALUE) {
        if (name->kind != r->kind)
            return pfc_accel_at(r->s, "%s: expected %s, got \"%s\", which is %s", r->what,
                                kinds[r->kind], name->text, kinds[name->kind]);
        if (r->name)
            return pfc_accel_at(r->s, "%s: expected %s, got two of them", r->what, kinds[r->kind]);
        r->name = name;
    }
    r->p += len;
    *out = name->kind == PFC_ACCEL_NAME_ARG ? 0 : name->value;
    return PFC_OK;
}

static pfc_code factor(reader *r, int64_t *out)
{
    pfc_code code;

    if (digit(*r->p))
        return literal(r, out);
    if (letter(*r->p))
        return named(r, out);
    if (*r->p != '(' && *r->p != '-')
        return unexpected(r, "a number, a name or \"(\"");
    if (r->depth == MAX_NESTING)
        return pfc_accel_at(r->s, "%s: expected at most %d parentheses and signs", r->what,
                            MAX_NESTING);
    r->depth++;
    if (*r->p++ == '-') {
        code = factor(r, out);
        if (!code && __builtin_sub_overflow((int64_t)0, *out, out))
            code = too_large(r);
    } else {
        code = sum(r, out);
        if (!code && *r->p++ != ')') {
            r->p--;
            code = unexpected(r, "\")\"");
        }
    }
    r->depth--;
    return code;
}

static pfc_code product(reader *r, int64_t *out)
{
    pfc_code code = factor(r, out);

    while (!code && (*r->p == '*' || *r->p == '/' || *r->p == '%')) {
        const char op = *r->p++;
        int64_t right = 0;

        code = factor(r, &right);
        if (code)
            break;
        if (op == '*') {
            if (__builtin_mul_overflow(*out, right, out))
                code = too_large(r);
        } else if (right == 0) {
            code = pfc_accel_at(r->s, "%s: expected a divisor other than 0", r->what);
        } else if (right == -1) { /* the smallest number has no opposite */
            if (op == '%')
                *out = 0;
            else if (__builtin_sub_overflow((int64_t)0, *out, out))
                code = too_large(r);
        } else {
            *out = op == '/' ? *out / right : *out % right;
        }
    }
    return code;
}

static pfc_code sum(reader *r, int64_t *out)
{
    pfc_code code = product(r, out);

    while (!code && (*r->p == '+' || *r->p == '-')) {
        const char op = *r->p++;
        int64_t right = 0;

        code = product(r, &right);
        if (!code && (op == '+' ? __builtin_add_overflow(*out, right, out)
                                : __builtin_sub_overflow(*out, right, out)))
            code = too_large(r);
    }
    return code;
}

static pfc_code whole(reader *r, int64_t *out)
{
    pfc_code code = sum(r, out);

    return !code && *r->p != '\0' ? unexpected(r, "an operator") : code;
}

pfc_code pfc_accel_number(pfc_accel_assembler *s, const char *what, const char *text, int64_t min,
                          int64_t max, int64_t *out)
{
    reader r = { .s = s, .what = what, .p = text };
    pfc_code code = whole(&r, out);

    if (!code && (*out < min || *out > max))
        code = pfc_accel_at(s, "%s: expected %lld..%lld, got %lld", what, (long long)min,
                            (long long)max, (long long)*out);
    return code;
}

pfc_code pfc_accel_place(pfc_accel_assembler *s, const char *what, const char *text,
                         pfc_accel_name_kind kind, const pfc_accel_name **name, int64_t *out)
{
    reader r = { .s = s, .what = what, .p = text, .kind = kind };
    pfc_code code = whole(&r, out);
    int64_t base;

    if (code)
        return code;
    *name = r.name;
    base = r.name && kind != PFC_ACCEL_NAME_ARG ? r.name->value : 0;
    if (r.name ? *out < base || *out - base > r.name->size : *out < 0)
        return pfc_accel_at(s, "%s: expected an offset of 0..%lld bytes in \"%s\", got %lld", what,
                            (long long)(r.name ? r.name->size : PFC_ACCEL_TEXT_MAX_SPACE),
                            r.name ? r.name->text : "memory", (long long)(*out - base));
    return PFC_OK;
}

/* ---- tokens ---- */

pfc_code pfc_accel_token(pfc_accel_assembler *s, const char *what, const char **text,
                         int64_t *number)
{
    const size_t len = name_len(*text);
    const pfc_accel_name *name = pfc_accel_name_find(s, *text, len);
    reader r = { .s = s, .what = what, .p = *text + len };
    int64_t index = 0;
    pfc_code code = PFC_OK;

    if (!name || name->kind != PFC_ACCEL_NAME_TOKEN)
        return pfc_accel_at(s, "%s: expected a token, got \"%.60s\"", what, *text);
    if (*r.p == '[') {
        r.p++;
        code = sum(&r, &index);
        if (!code && *r.p != ']')
            code = unexpected(&r, "\"]\"");
        if (code)
            return code;
        r.p++;
    } else if (name->size > 1) {
        return pfc_accel_at(s, "%s: expected an index after \"%s\", which is %lld tokens", what,
                            name->text, (long long)name->size);
    }
    if (index >= name->size)
        return pfc_accel_at(s, "%s: expected an index of at most %lld after \"%s\", got %lld", what,
                            (long long)name->size - 1, name->text, (long long)index);
    *number = index < 0 ? -1 : name->value + index;
    *text = r.p;
    return PFC_OK;
}

void pfc_accel_token_name(const pfc_accel_assembler *s, uint32_t token, char *out, size_t cap)
{
    snprintf(out, cap, "token %u", token);
    for (size_t i = 0; i < s->names_len; i++) {
        const pfc_accel_name *name = &s->names[i];

        if (name->kind != PFC_ACCEL_NAME_TOKEN || token < name->value ||
            token - name->value >= name->size)
            continue;
        if (name->size == 1)
            snprintf(out, cap, "%s", name->text);
        else
            snprintf(out, cap, "%s[%lld]", name->text, (long long)(token - name->value));
        return;
    }
}
