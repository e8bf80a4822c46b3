/* Reads an expression, term by term. */
#include "core/base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/select/select_priv.h"

typedef struct reader {
    const char *text, *at;
    pfc_err *err;
} reader;

/* The position of a byte in characters, from 1. */
static size_t place_of(const reader *r, const char *at)
{
    size_t place = 1;

    for (const char *c = r->text; c < at; c++)
        place += ((unsigned char)*c & 0xC0) != 0x80;
    return place;
}

static pfc_code fault(const reader *r, const char *at, const char *what)
{
    return pfc_err_set_field(r->err, PFC_EINVAL, "select", "select: at character %zu: %s",
                             place_of(r, at), what);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static bool is_operator(char c)
{
    return c == '=' || c == '!' || c == '<' || c == '>';
}

/* One quoted or plain text into *out. A plain one ends at a blank, at a comma and, in front of an
 * operator, at an operator. */
static pfc_code read_text(reader *r, bool operators_end, select_operand *out)
{
    const char *begin = r->at;
    const bool quoted = *begin == '"';
    const size_t room = strlen(begin) + 1;
    size_t len = 0;

    out->text = pfc_calloc(room, 1);
    out->any = pfc_calloc(room, sizeof(*out->any));
    r->at += quoted;
    while (*r->at && (quoted ? *r->at != '"'
                             : !is_blank(*r->at) && *r->at != ',' && *r->at != '"' &&
                                   !(operators_end && is_operator(*r->at)))) {
        const bool escaped = quoted && *r->at == '\\' && (r->at[1] == '"' || r->at[1] == '\\');

        r->at += escaped;
        out->any[len] = !quoted && *r->at == '*';
        out->has_any |= out->any[len];
        out->text[len++] = *r->at++;
    }
    if (!quoted && *r->at == '"')
        return fault(r, r->at, "a quote within a word; put quotes around all of it");
    if (!quoted)
        return PFC_OK;
    if (*r->at != '"')
        return fault(r, begin, "expected a closing quote");
    r->at++;
    if (*r->at && !is_blank(*r->at) && *r->at != ',' && !is_operator(*r->at))
        return fault(r, r->at, "expected a blank after the closing quote");
    return PFC_OK;
}

static select_operand *add_value(select_term *term)
{
    term->values = pfc_grow(term->values, term->len, &term->cap, sizeof(*term->values));
    term->values[term->len] = (select_operand){ 0 };
    return &term->values[term->len++];
}

/* The operator at the reader, and its length; 0: there is none. */
static size_t operator_at(const char *at, select_op *op)
{
    static const struct {
        const char *sign;
        select_op op;
    } all[] = {
        { "!=", OP_NE }, { "<=", OP_LE }, { ">=", OP_GE },
        { "=", OP_EQ },  { "<", OP_LT },  { ">", OP_GT },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(all); i++) {
        if (strncmp(at, all[i].sign, strlen(all[i].sign)) == 0) {
            *op = all[i].op;
            return strlen(all[i].sign);
        }
    }
    return 0;
}

static bool ordered(select_op op)
{
    return op != OP_WORD && op != OP_EQ && op != OP_NE;
}

static pfc_code read_value(reader *r, const char *term_at, select_term *term)
{
    const char *begin = r->at;
    const bool quoted = *begin == '"';
    select_operand *value = add_value(term);
    char message[PFC_ERR_MAX];
    pfc_code code = read_text(r, false, value);

    if (code)
        return code;
    if (!quoted && value->text[0] == '\0') {
        (void)snprintf(message, sizeof(message), "expected a value after \"%.*s\"",
                       (int)PFC_MIN(begin - term_at, 100), term_at);
        return fault(r, begin, message);
    }
    value->is_number = pfc_select_number(value->text, &value->number);
    if (ordered(term->op) && !value->is_number) {
        (void)snprintf(message, sizeof(message), "expected a number after \"%.*s\", got \"%.*s\"",
                       (int)PFC_MIN(begin - term_at, 100), term_at, 100, value->text);
        return fault(r, begin, message);
    }
    return PFC_OK;
}

static pfc_code read_values(reader *r, const char *term_at, select_term *term)
{
    pfc_code code = read_value(r, term_at, term);

    while (!code && *r->at == ',') {
        if (ordered(term->op))
            return fault(r, r->at, "expected one number; only = and != take several values");
        if (term->len == PFC_SELECT_MAX_VALUES)
            return pfc_err_set_field(
                r->err, PFC_ETOOBIG, "select",
                "select: at character %zu: more than %d values, the limit of a term",
                place_of(r, r->at), PFC_SELECT_MAX_VALUES);
        r->at++;
        code = read_value(r, term_at, term);
    }
    return code;
}

static pfc_code read_term(reader *r, select_term *term)
{
    const char *begin = r->at;
    const bool quoted = *begin == '"';
    select_operand first = { 0 };
    pfc_code code = PFC_OK;
    size_t len;

    if (!is_operator(*begin) && *begin != ',')
        code = read_text(r, true, &first);
    len = operator_at(r->at, &term->op);
    if (code) {
        ;
    } else if (!first.text || (len && !first.text[0])) {
        code = fault(r, begin, "expected a word, or a field's name before the operator");
    } else if (len == 0 && *r->at == ',') {
        code = fault(r, r->at, "a comma without a field; write FIELD=VALUE,VALUE");
    } else if (len == 0 && is_operator(*r->at)) {
        code = fault(r, r->at, "expected an operator: = != < <= > >=");
    } else if (len == 0 && quoted && !first.text[0]) {
        code = fault(r, begin, "an empty word");
    } else if (len == 0) {
        *add_value(term) = first;
        first = (select_operand){ 0 };
    } else if (first.has_any) {
        code = fault(r, begin, "a field's name has no *; put it into the value");
    } else {
        r->at += len;
        term->field = pfc_strdup(first.text);
        code = read_values(r, begin, term);
    }
    free(first.text);
    free(first.any);
    return code;
}

pfc_code pfc_select_parse(const char *text, pfc_select **out, pfc_err *err)
{
    reader r = { .text = text, .at = text, .err = err };
    pfc_select *s;
    pfc_code code = PFC_OK;

    if (strlen(text) > PFC_SELECT_MAX_BYTES)
        return pfc_err_set_field(err, PFC_ETOOBIG, "select",
                                 "select: %zu bytes, expected at most %d", strlen(text),
                                 PFC_SELECT_MAX_BYTES);
    s = pfc_calloc(1, sizeof(*s));
    while (!code) {
        while (is_blank(*r.at))
            r.at++;
        if (!*r.at)
            break;
        if (s->len == PFC_SELECT_MAX_TERMS) {
            code = pfc_err_set_field(err, PFC_ETOOBIG, "select",
                                     "select: at character %zu: more than %d terms",
                                     place_of(&r, r.at), PFC_SELECT_MAX_TERMS);
            break;
        }
        s->terms = pfc_grow(s->terms, s->len, &s->cap, sizeof(*s->terms));
        s->terms[s->len] = (select_term){ .op = OP_WORD };
        code = read_term(&r, &s->terms[s->len++]);
    }
    if (code)
        pfc_select_free(s);
    else
        *out = s;
    return code;
}

void pfc_select_free(pfc_select *select)
{
    if (!select)
        return;
    for (size_t i = 0; i < select->len; i++) {
        select_term *t = &select->terms[i];

        for (size_t k = 0; k < t->len; k++) {
            free(t->values[k].text);
            free(t->values[k].any);
        }
        free(t->values);
        free(t->field);
    }
    free(select->terms);
    free(select);
}

size_t pfc_select_terms(const pfc_select *select)
{
    return select->len;
}

const char *pfc_select_field(const pfc_select *select, size_t n)
{
    return select->terms[n].field;
}

bool pfc_select_number(const char *text, double *out)
{
    return strlen(text) < 64 && pfc_parse_double(text, -1e300, 1e300, "", out, NULL) == PFC_OK;
}
