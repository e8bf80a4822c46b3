/* Reads an expression by recursive descent, bounded in length, nodes and depth. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/expr/node.h"

/* The text and how far it is read; the next token is at text[at .. at + token_len). */
typedef struct reader {
    const char *text;
    size_t len, at, token_len;
    const pfc_expr_place *place;
    const pfc_expr_defs *defs;
    pfc_expr *e;
    int depth;
    pfc_err *err;
} reader;

static pfc_code either(reader *r, size_t *out);

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool starts_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool in_name(char c)
{
    return starts_name(c) || is_digit(c) || c == '.';
}

/* Bytes of a decimal number at the reader's place: digits, a point, an exponent. */
static size_t number_len(const reader *r)
{
    size_t i = r->at;

    while (i < r->len && (is_digit(r->text[i]) || r->text[i] == '.'))
        i++;
    if (i < r->len && (r->text[i] == 'e' || r->text[i] == 'E')) {
        size_t exponent = i + 1;

        if (exponent < r->len && (r->text[exponent] == '-' || r->text[exponent] == '+'))
            exponent++;
        if (exponent < r->len && is_digit(r->text[exponent])) {
            i = exponent;
            while (i < r->len && is_digit(r->text[i]))
                i++;
        }
    }
    return i - r->at;
}

/* Finds the next token behind the current one; token_len is 0 at the end. */
static void advance(reader *r)
{
    const char *two[] = { "<=", ">=", "==", "!=" };
    char c;

    r->at += r->token_len;
    r->token_len = 0;
    while (r->at < r->len && is_space(r->text[r->at]))
        r->at++;
    if (r->at == r->len)
        return;
    c = r->text[r->at];
    r->token_len = 1;
    if (is_digit(c) || c == '.') {
        r->token_len = PFC_MAX(number_len(r), 1);
    } else if (starts_name(c)) {
        while (r->at + r->token_len < r->len && in_name(r->text[r->at + r->token_len]))
            r->token_len++;
    } else if (c == '\'' || c == '"') {
        const char *end = memchr(r->text + r->at + 1, c, r->len - r->at - 1);

        r->token_len = end ? (size_t)(end + 1 - (r->text + r->at)) : 1;
    } else {
        for (size_t i = 0; i < PFC_ARRAY_LEN(two); i++)
            if (r->at + 1 < r->len && memcmp(r->text + r->at, two[i], 2) == 0)
                r->token_len = 2;
    }
}

static bool is(const reader *r, const char *token)
{
    return r->token_len == strlen(token) && memcmp(r->text + r->at, token, r->token_len) == 0;
}

/* True and past it when the next token is this one. */
static bool take(reader *r, const char *token)
{
    const bool met = is(r, token);

    if (met)
        advance(r);
    return met;
}

static void place_of(const reader *r, int *line, int *column)
{
    *line = r->place->line;
    *column = r->place->column;
    for (size_t i = 0; i < r->at; i++) {
        (*column)++;
        if (r->text[i] == '\n') {
            (*line)++;
            *column = 1;
        }
    }
}

static pfc_code expected(reader *r, const char *what)
{
    int line, column;

    place_of(r, &line, &column);
    if (r->token_len == 0)
        return pfc_err_set(r->err, PFC_EINVAL,
                           "%s:%d:%d: expected %s, got the end of the expression", r->place->file,
                           line, column, what);
    return pfc_err_set(r->err, PFC_EINVAL, "%s:%d:%d: expected %s, got \"%.*s\"", r->place->file,
                       line, column, what, (int)PFC_MIN(r->token_len, 40), r->text + r->at);
}

static pfc_code too_big(reader *r, const char *what, int limit)
{
    int line, column;

    place_of(r, &line, &column);
    return pfc_err_set(r->err, PFC_ETOOBIG, "%s:%d:%d: expected at most %d %s", r->place->file,
                       line, column, limit, what);
}

/* ---- nodes ---- */

static pfc_code add_node(reader *r, node_kind kind, const size_t *args, size_t len, size_t *out)
{
    pfc_expr *e = r->e;
    node *n;

    if (e->nodes_len == PFC_EXPR_MAX_NODES)
        return too_big(r, "numbers, names and operators", PFC_EXPR_MAX_NODES);
    e->nodes = pfc_grow(e->nodes, e->nodes_len, &e->nodes_cap, sizeof(*e->nodes));
    n = &e->nodes[e->nodes_len];
    *n = (node){ .kind = kind, .first = e->args_len, .len = len, .height = 1 };
    for (size_t i = 0; i < len; i++) {
        n->height = PFC_MAX(n->height, e->nodes[args[i]].height + 1);
        e->args = pfc_grow(e->args, e->args_len, &e->args_cap, sizeof(*e->args));
        e->args[e->args_len++] = args[i];
    }
    if (n->height > PFC_EXPR_MAX_HEIGHT)
        return too_big(r, "operators above one number", PFC_EXPR_MAX_HEIGHT);
    *out = e->nodes_len++;
    return PFC_OK;
}

static pfc_code number(reader *r, size_t *out)
{
    char text[64];
    char *end;
    double value;
    pfc_code code;

    if (r->token_len >= sizeof(text))
        return expected(r, "a number of at most 63 digits");
    memcpy(text, r->text + r->at, r->token_len);
    text[r->token_len] = '\0';
    value = strtod(text, &end);
    if (*end || !isfinite(value))
        return expected(r, "a decimal number such as 0.8 or 2e-3");
    code = add_node(r, NODE_NUMBER, NULL, 0, out);
    if (code)
        return code;
    r->e->nodes[*out].number = value;
    advance(r);
    return PFC_OK;
}

/* Whether the token is a name, plain or in single quotes. */
static bool at_name(const reader *r)
{
    return r->token_len && (starts_name(r->text[r->at]) || r->text[r->at] == '\'') &&
           !is(r, "and") && !is(r, "or") && !is(r, "not");
}

/* A copy of the token without its quotes, past it; caller frees. */
static pfc_code take_text(reader *r, char quote, const char *what, char **out)
{
    const bool quoted = r->token_len && r->text[r->at] == quote;
    const size_t outer = quoted ? 2 : 0;

    if (r->token_len <= outer || r->token_len - outer > PFC_EXPR_NAME_BYTES)
        return expected(r, what);
    *out = pfc_strndup(r->text + r->at + quoted, r->token_len - outer);
    advance(r);
    return PFC_OK;
}

static const char name_text[] = "a name of 1 to 127 bytes";
static const char before[] = "before."; /* begins a name of the scope before a change */

static pfc_code name(reader *r, size_t *out)
{
    pfc_code code = add_node(r, NODE_NAME, NULL, 0, out);
    node *n = code ? NULL : &r->e->nodes[*out];

    if (!code)
        code = take_text(r, '\'', name_text, &n->name);
    if (code)
        return code;
    n->index = NO_INDEX;
    if (strncmp(n->name, before, strlen(before)) == 0 && n->name[strlen(before)]) {
        n->kind = NODE_BEFORE;
        memmove(n->name, n->name + strlen(before), strlen(n->name + strlen(before)) + 1);
    }
    for (size_t i = 0; r->defs && i < r->defs->len; i++)
        if (strcmp(r->defs->names[i], n->name) == 0)
            n->index = i;
    if (n->kind == NODE_NAME && n->index != NO_INDEX)
        n->kind = NODE_DEFINITION;
    return PFC_OK;
}

static pfc_code fact(reader *r, size_t *out)
{
    pfc_code code = add_node(r, NODE_FACT, NULL, 0, out);
    node *n = code ? NULL : &r->e->nodes[*out];

    if (code)
        return code;
    advance(r);
    if (!take(r, "("))
        return expected(r, "\"(\"");
    if (!at_name(r))
        return expected(r, name_text);
    code = take_text(r, '\'', name_text, &n->name);
    if (!code && !take(r, ","))
        code = expected(r, "\",\" and a text");
    if (!code && (r->token_len == 0 || r->text[r->at] != '"'))
        code = expected(r, "a text in double quotes");
    if (!code)
        code = take_text(r, '"', "a text of 1 to 127 bytes", &n->text);
    if (!code && !take(r, ")"))
        code = expected(r, "\")\"");
    return code;
}

/* ---- functions ---- */

static const struct {
    const char *name;
    node_kind kind;
    size_t min, max; /* arguments */
} functions[] = {
    { "min", NODE_MIN, 2, PFC_EXPR_MAX_ARGS },
    { "max", NODE_MAX, 2, PFC_EXPR_MAX_ARGS },
    { "if", NODE_IF, 3, 3 },
    { "default", NODE_DEFAULT, 2, 2 },
    { "log2", NODE_LOG2, 1, 1 },
    { "exp2", NODE_EXP2, 1, 1 },
    { "sqrt", NODE_SQRT, 1, 1 },
    { "floor", NODE_FLOOR, 1, 1 },
    { "ceil", NODE_CEIL, 1, 1 },
};

static pfc_code call(reader *r, size_t which, size_t *out)
{
    size_t args[PFC_EXPR_MAX_ARGS];
    size_t len = 0;
    char what[64];
    pfc_code code = PFC_OK;

    advance(r);
    if (!take(r, "("))
        return expected(r, "\"(\"");
    do {
        snprintf(what, sizeof(what), "%s with %zu arguments or fewer", functions[which].name,
                 functions[which].max);
        if (len == functions[which].max)
            return expected(r, what);
        code = either(r, &args[len++]);
    } while (!code && take(r, ","));
    if (code)
        return code;
    snprintf(what, sizeof(what), "\",\": %s has at least %zu arguments", functions[which].name,
             functions[which].min);
    if (len < functions[which].min)
        return expected(r, what);
    if (!take(r, ")"))
        return expected(r, "\",\" or \")\"");
    return add_node(r, functions[which].kind, args, len, out);
}

static pfc_code primary(reader *r, size_t *out)
{
    pfc_code code;

    if (r->token_len && (is_digit(r->text[r->at]) || r->text[r->at] == '.'))
        return number(r, out);
    for (size_t i = 0; i < PFC_ARRAY_LEN(functions); i++)
        if (is(r, functions[i].name))
            return call(r, i, out);
    if (is(r, "fact"))
        return fact(r, out);
    if (at_name(r))
        return name(r, out);
    if (!take(r, "("))
        return expected(r, "a number, a name, a function or \"(\"");
    code = either(r, out);
    if (!code && !take(r, ")"))
        code = expected(r, "\")\" or an operator");
    return code;
}

/* ---- operators, from the strongest to the weakest ---- */

static pfc_code unary(reader *r, size_t *out)
{
    pfc_code code;

    if (++r->depth > PFC_EXPR_MAX_DEPTH)
        return too_big(r, "levels within each other", PFC_EXPR_MAX_DEPTH);
    if (take(r, "-")) {
        code = unary(r, out);
        if (!code)
            code = add_node(r, NODE_NEGATE, out, 1, out);
    } else {
        code = primary(r, out);
    }
    r->depth--;
    return code;
}

/* operand (operator operand)*; the operators are those of a table that ends with NULL. */
typedef struct binary {
    const char *token;
    node_kind kind;
} binary;

static pfc_code chain(reader *r, pfc_code (*operand)(reader *, size_t *), const binary *operators,
                      bool once, size_t *out)
{
    pfc_code code = operand(r, out);
    bool met = true;

    while (!code && met) {
        met = false;
        for (const binary *b = operators; b->token && !code && !met; b++) {
            size_t args[2] = { *out, 0 };

            if (!take(r, b->token))
                continue;
            met = true;
            code = operand(r, &args[1]);
            if (!code)
                code = add_node(r, b->kind, args, 2, out);
        }
        if (once)
            break;
    }
    return code;
}

static pfc_code product(reader *r, size_t *out)
{
    static const binary operators[] = { { "*", NODE_MULTIPLY }, { "/", NODE_DIVIDE }, { 0 } };

    return chain(r, unary, operators, false, out);
}

static pfc_code sum(reader *r, size_t *out)
{
    static const binary operators[] = { { "+", NODE_ADD }, { "-", NODE_SUBTRACT }, { 0 } };

    return chain(r, product, operators, false, out);
}

static pfc_code comparison(reader *r, size_t *out)
{
    static const binary operators[] = { { "<=", NODE_LESS_EQUAL },
                                        { ">=", NODE_GREATER_EQUAL },
                                        { "==", NODE_EQUAL },
                                        { "!=", NODE_NOT_EQUAL },
                                        { "<", NODE_LESS },
                                        { ">", NODE_GREATER },
                                        { 0 } };

    return chain(r, sum, operators, true, out);
}

static pfc_code negation(reader *r, size_t *out)
{
    pfc_code code;

    if (!take(r, "not"))
        return comparison(r, out);
    if (++r->depth > PFC_EXPR_MAX_DEPTH)
        return too_big(r, "levels within each other", PFC_EXPR_MAX_DEPTH);
    code = negation(r, out);
    r->depth--;
    return code ? code : add_node(r, NODE_NOT, out, 1, out);
}

static pfc_code both(reader *r, size_t *out)
{
    static const binary operators[] = { { "and", NODE_AND }, { 0 } };

    return chain(r, negation, operators, false, out);
}

static pfc_code either(reader *r, size_t *out)
{
    static const binary operators[] = { { "or", NODE_OR }, { 0 } };

    return chain(r, both, operators, false, out);
}

pfc_code pfc_expr_parse(const char *text, size_t len, const pfc_expr_place *place,
                        const pfc_expr_defs *defs, pfc_expr **out, pfc_err *err)
{
    reader r = { .text = text, .len = len, .place = place, .defs = defs, .err = err };
    pfc_code code;

    if (len > PFC_EXPR_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG,
                           "%s:%d:%d: expected an expression of at most %d bytes, got %zu",
                           place->file, place->line, place->column, PFC_EXPR_MAX_BYTES, len);
    r.e = pfc_calloc(1, sizeof(*r.e));
    advance(&r);
    code = either(&r, &r.e->root);
    if (!code && r.token_len)
        code = expected(&r, "an operator or the end of the expression");
    if (code) {
        pfc_expr_free(r.e);
        return code;
    }
    *out = r.e;
    return PFC_OK;
}

void pfc_expr_free(pfc_expr *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->nodes_len; i++) {
        free(e->nodes[i].name);
        free(e->nodes[i].text);
    }
    free(e->nodes);
    free(e->args);
    free(e);
}
