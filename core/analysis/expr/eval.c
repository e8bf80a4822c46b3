/* Evaluates expressions. A missing number is carried upwards as its name. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/analysis/expr/node.h"

static pfc_expr_result of(double number)
{
    if (!isfinite(number))
        return (pfc_expr_result){ .number = (double)NAN, .missing = "a finite result" };
    return (pfc_expr_result){ .available = true, .number = number };
}

static pfc_expr_result lacking(const char *what)
{
    return (pfc_expr_result){ .number = (double)NAN, .missing = what };
}

static pfc_expr_result value(const pfc_expr *e, size_t at, const pfc_expr_scope *scope);

static pfc_expr_result argument(const pfc_expr *e, const node *n, size_t i,
                                const pfc_expr_scope *scope)
{
    return value(e, e->args[n->first + i], scope);
}

static pfc_expr_result two(node_kind kind, double a, double b)
{
    switch (kind) {
    case NODE_ADD:
        return of(a + b);
    case NODE_SUBTRACT:
        return of(a - b);
    case NODE_MULTIPLY:
        return of(a * b);
    case NODE_DIVIDE:
        return b == 0.0 ? lacking("division by zero") : of(a / b);
    case NODE_LESS:
        return of(a < b);
    case NODE_LESS_EQUAL:
        return of(a <= b);
    case NODE_GREATER:
        return of(a > b);
    case NODE_GREATER_EQUAL:
        return of(a >= b);
    case NODE_EQUAL:
        return of(a == b);
    case NODE_NOT_EQUAL:
        return of(a != b);
    case NODE_MIN:
        return of(PFC_MIN(a, b));
    case NODE_MAX:
        return of(PFC_MAX(a, b));
    case NODE_NUMBER:
    case NODE_NAME:
    case NODE_DEFINITION:
    case NODE_NEGATE:
    case NODE_NOT:
    case NODE_AND:
    case NODE_OR:
    case NODE_IF:
    case NODE_DEFAULT:
    case NODE_FACT:
    case NODE_LOG2:
    case NODE_EXP2:
    case NODE_SQRT:
    case NODE_FLOOR:
    case NODE_CEIL:
    case NODE_BEFORE:
        break;
    }
    return lacking("an operator of two numbers");
}

static pfc_expr_result one(node_kind kind, double a)
{
    if (kind == NODE_NEGATE)
        return of(-a);
    if (kind == NODE_NOT)
        return of(a == 0.0);
    if (kind == NODE_FLOOR || kind == NODE_CEIL)
        return of(kind == NODE_FLOOR ? floor(a) : ceil(a));
    if (kind == NODE_EXP2)
        return of(exp2(a));
    if (kind == NODE_LOG2)
        return a > 0.0 ? of(log2(a)) : lacking("a positive number");
    return a >= 0.0 ? of(sqrt(a)) : lacking("a positive number");
}

/* All arguments from the left; the first one that is missing is the result. */
static pfc_expr_result folded(const pfc_expr *e, const node *n, const pfc_expr_scope *scope)
{
    pfc_expr_result r = argument(e, n, 0, scope);

    if (r.available && n->len == 1)
        return one(n->kind, r.number);
    for (size_t i = 1; i < n->len && r.available; i++) {
        const pfc_expr_result next = argument(e, n, i, scope);

        if (!next.available)
            return next;
        r = two(n->kind, r.number, next.number);
    }
    return r;
}

/* Functions and operators that do not need all of their arguments. */
static pfc_expr_result chosen(const pfc_expr *e, const node *n, const pfc_expr_scope *scope)
{
    const pfc_expr_result first = argument(e, n, 0, scope);
    pfc_expr_result second;

    if (n->kind == NODE_DEFAULT)
        return first.available ? first : argument(e, n, 1, scope);
    if (!first.available)
        return first;
    if (n->kind == NODE_IF)
        return argument(e, n, first.number != 0.0 ? 1 : 2, scope);
    if ((n->kind == NODE_AND) == (first.number == 0.0))
        return of(first.number != 0.0);
    second = argument(e, n, 1, scope);
    return second.available ? of(second.number != 0.0) : second;
}

static pfc_expr_result named(const node *n, const pfc_expr_scope *scope)
{
    double number;

    for (size_t i = 0; i < scope->changes_len; i++)
        if (strcmp(scope->changes[i].name, n->name) == 0)
            return of(scope->changes[i].value);
    if (n->kind != NODE_NAME && n->index != NO_INDEX)
        return n->index < scope->known ? scope->values[n->index] : lacking(n->name);
    return pfc_profile_number_of(scope->profile, n->name, &number) ? of(number) : lacking(n->name);
}

static pfc_expr_result value(const pfc_expr *e, size_t at, const pfc_expr_scope *scope)
{
    const node *n = &e->nodes[at];

    switch (n->kind) {
    case NODE_NUMBER:
        return of(n->number);
    case NODE_NAME:
    case NODE_DEFINITION:
        return named(n, scope);
    case NODE_BEFORE:
        return scope->before ? named(n, scope->before) : lacking(n->name);
    case NODE_FACT:
        return of(pfc_streq(pfc_profile_fact_of(scope->profile, n->name), n->text));
    case NODE_IF:
    case NODE_DEFAULT:
    case NODE_AND:
    case NODE_OR:
        return chosen(e, n, scope);
    case NODE_NEGATE:
    case NODE_NOT:
    case NODE_ADD:
    case NODE_SUBTRACT:
    case NODE_MULTIPLY:
    case NODE_DIVIDE:
    case NODE_LESS:
    case NODE_LESS_EQUAL:
    case NODE_GREATER:
    case NODE_GREATER_EQUAL:
    case NODE_EQUAL:
    case NODE_NOT_EQUAL:
    case NODE_MIN:
    case NODE_MAX:
    case NODE_LOG2:
    case NODE_EXP2:
    case NODE_SQRT:
    case NODE_FLOOR:
    case NODE_CEIL:
        break;
    }
    return folded(e, n, scope);
}

pfc_expr_result pfc_expr_eval(const pfc_expr *e, const pfc_expr_scope *scope)
{
    return value(e, e->root, scope);
}

bool pfc_expr_true(const pfc_expr *e, const pfc_expr_scope *scope)
{
    const pfc_expr_result r = pfc_expr_eval(e, scope);

    return r.available && r.number != 0.0;
}

void pfc_expr_reason(const pfc_expr_result *r, char *out, size_t size)
{
    if (r->available)
        out[0] = '\0';
    else
        snprintf(out, size, "not available: %s", r->missing);
}

static void evaluate_definitions(pfc_expr_scope *scope)
{
    const pfc_expr_defs *defs = scope->defs;

    scope->known = 0;
    for (size_t i = 0; defs && i < defs->len; i++) {
        scope->values[i] = pfc_expr_eval(defs->exprs[i], scope);
        scope->known = i + 1;
    }
}

void pfc_expr_scope_init(pfc_expr_scope *scope, const pfc_expr_defs *defs, const pfc_profile *p)
{
    scope->profile = p;
    scope->before = NULL;
    scope->changes = NULL;
    scope->changes_len = 0;
    scope->defs = defs;
    evaluate_definitions(scope);
}

void pfc_expr_scope_change(pfc_expr_scope *scope, const pfc_expr_scope *before,
                           const pfc_expr_change *changes, size_t changes_len)
{
    scope->profile = before->profile;
    scope->before = before;
    scope->changes = changes;
    scope->changes_len = changes_len;
    scope->defs = before->defs;
    evaluate_definitions(scope);
}
