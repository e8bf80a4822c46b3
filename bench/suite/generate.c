/*
 * Generated shapes: seeded random ones, and those around the widths of vectors and tiles, where
 * remainder code runs. Integers only, so a seed gives the same shapes on every machine.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/suite/reader.h"
#include "core/base/rng.h"

#define MAX_TRIES_PER_SHAPE 200 /* draws of a shape that is there already */
#define MAX_BOUNDARIES      80

/* The values that a parameter may take. */
typedef struct span {
    int64_t low, high;
    int64_t edges[MAX_BOUNDARIES]; /* boundary only: those within, ascending */
    size_t edges_len;
} span;

typedef struct generator {
    span spans[PFC_OP_MAX_PARAMS];
    int64_t count; /* 0: all (boundary) */
    int64_t seed;
    bool boundary;
} generator;

static int bits_of(int64_t v)
{
    return v > 0 ? 64 - __builtin_clzll((unsigned long long)v) : 0;
}

/* Uniform over octaves, then within one: small shapes are as likely as large ones. */
static int64_t draw(pfc_rng *rng, const span *s)
{
    const int low = bits_of(s->low);
    const int high = bits_of(s->high);
    const int bits = low + (int)pfc_rng_below(rng, (uint64_t)(high - low) + 1);
    const int64_t from = PFC_MAX(s->low, bits > 0 ? (int64_t)1 << (bits - 1) : 0);
    const int64_t to = PFC_MIN(s->high, bits > 0 ? ((int64_t)1 << bits) - 1 : 0);

    return from + (int64_t)pfc_rng_below(rng, (uint64_t)(to - from) + 1);
}

/* 1, the rows of a register tile (6) and every power of two from a vector's 8 lanes on, each with
 * its neighbours. */
static void find_edges(span *s)
{
    static const int64_t small[] = { 0, 1, 5, 6, 7 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(small); i++) {
        if (small[i] >= s->low && small[i] <= s->high)
            s->edges[s->edges_len++] = small[i];
    }
    for (int64_t p = 8; p <= (int64_t)1 << 30; p *= 2) {
        for (int64_t v = p - 1; v <= p + 1; v++) {
            const bool there = s->edges_len > 0 && s->edges[s->edges_len - 1] >= v;
            if (v >= s->low && v <= s->high && !there && s->edges_len < MAX_BOUNDARIES)
                s->edges[s->edges_len++] = v;
        }
    }
}

/* [low, high], or one value. */
static pfc_code read_span(const pfc_suite_reader *r, const pfc_op_param *p, struct fy_node *node,
                          span *s, pfc_err *err)
{
    const pfc_yaml *y = &r->file->yaml;
    pfc_code code;

    if (fy_node_is_scalar(node)) {
        code = pfc_suite_read_param(r, p, node, &s->low, err);
        s->high = s->low;
        return code;
    }
    if (!fy_node_is_sequence(node) || fy_node_sequence_item_count(node) != 2)
        return pfc_yaml_fault(y, node, err, "%s: expected [low, high] or one number", p->name);
    code = pfc_suite_read_param(r, p, fy_node_sequence_get_by_index(node, 0), &s->low, err);
    if (!code)
        code = pfc_suite_read_param(r, p, fy_node_sequence_get_by_index(node, 1), &s->high, err);
    if (!code && s->low > s->high)
        code = pfc_yaml_fault(y, node, err, "%s: expected [low, high], got %lld above %lld",
                              p->name, (long long)s->low, (long long)s->high);
    return code;
}

static pfc_code read_generator(const pfc_suite_reader *r, const pfc_suite_entry *e,
                               struct fy_node *node, const char *what, generator *g, pfc_err *err)
{
    static const char *const more[] = { "count", "seed", NULL };
    const pfc_yaml *y = &r->file->yaml;
    const char *names[PFC_OP_MAX_PARAMS + 8];
    struct fy_node *v;
    pfc_code code = pfc_yaml_want_mapping(y, node, what, err);

    g->seed = 1;
    pfc_suite_param_names(e->op, more, names);
    if (!code)
        code = pfc_yaml_known(y, node, what, names, err);
    if (!code && (v = pfc_yaml_get(node, "count")))
        code = pfc_yaml_i64(y, v, "count", 1, PFC_SUITE_MAX_CASES, &g->count, err);
    if (!code && (v = pfc_yaml_get(node, "seed")))
        code = pfc_yaml_i64(y, v, "seed", 0, INT64_MAX, &g->seed, err);
    for (size_t i = 0; !code && i < e->op->params_len; i++) {
        const pfc_op_param *p = &e->op->params[i];
        span *s = &g->spans[i];

        v = pfc_yaml_get(node, p->name);
        s->low = s->high = p->fallback;
        if (v)
            code = read_span(r, p, v, s, err);
        else if (p->fallback < 0)
            code = pfc_yaml_fault(y, node, err, "%s: lacks '%s'", what, p->name);
        if (code || !g->boundary)
            continue;
        if (s->low == s->high)
            s->edges[s->edges_len++] = s->low;
        else
            find_edges(s);
        if (s->edges_len == 0)
            code = pfc_yaml_fault(y, v ? v : node, err,
                                  "boundary: no boundary of %s lies in %lld..%lld", p->name,
                                  (long long)s->low, (long long)s->high);
    }
    return code;
}

/* How many different shapes there are, at most `limit`. */
static uint64_t different(const pfc_suite_entry *e, const generator *g, uint64_t limit)
{
    uint64_t n = 1;

    for (size_t i = 0; i < e->op->params_len && n < limit; i++) {
        const span *s = &g->spans[i];
        n *= g->boundary ? (uint64_t)s->edges_len : (uint64_t)(s->high - s->low) + 1;
    }
    return PFC_MIN(n, limit);
}

static void draw_shape(pfc_rng *rng, const pfc_suite_entry *e, const generator *g, int64_t *params)
{
    for (size_t i = 0; i < e->op->params_len; i++) {
        const span *s = &g->spans[i];
        params[i] = g->boundary ? s->edges[pfc_rng_below(rng, s->edges_len)] : draw(rng, s);
    }
}

static bool drawn_before(const int64_t (*drawn)[PFC_OP_MAX_PARAMS], size_t len,
                         const int64_t *params)
{
    for (size_t i = 0; i < len; i++) {
        if (memcmp(drawn[i], params, sizeof(drawn[i])) == 0)
            return true;
    }
    return false;
}

static pfc_code add_drawn(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *node,
                          const generator *g, const char *what, pfc_err *err)
{
    const size_t count = (size_t)g->count;
    int64_t(*drawn)[PFC_OP_MAX_PARAMS] = pfc_calloc(count, sizeof(*drawn));
    uint64_t tries = (uint64_t)count * MAX_TRIES_PER_SHAPE;
    size_t len = 0;
    pfc_rng rng;
    pfc_code code = PFC_OK;

    pfc_rng_seed(&rng, (uint64_t)g->seed);
    while (!code && len < count && tries-- > 0) {
        int64_t params[PFC_OP_MAX_PARAMS] = { 0 };

        draw_shape(&rng, e, g, params);
        if (drawn_before((const int64_t(*)[PFC_OP_MAX_PARAMS])drawn, len, params))
            continue;
        memcpy(drawn[len++], params, sizeof(params));
        code = pfc_suite_add_case(r, e, node, params, err);
    }
    if (!code && len < count)
        code = pfc_yaml_fault(&r->file->yaml, node, err,
                              "%s: expected %zu different shapes, the ranges gave %zu", what, count,
                              len);
    free(drawn);
    return code;
}

static pfc_code add_all_edges(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *node,
                              const generator *g, pfc_err *err)
{
    const uint64_t total = different(e, g, PFC_SUITE_MAX_CASES + 1);
    pfc_code code = PFC_OK;

    if (total > PFC_SUITE_MAX_CASES)
        return pfc_yaml_fault(&r->file->yaml, node, err,
                              "boundary: more than %d shapes; say with 'count' how many to draw",
                              PFC_SUITE_MAX_CASES);
    for (uint64_t n = 0; !code && n < total; n++) {
        int64_t params[PFC_OP_MAX_PARAMS] = { 0 };
        uint64_t rest = n;

        for (size_t i = e->op->params_len; i-- > 0;) {
            params[i] = g->spans[i].edges[rest % g->spans[i].edges_len];
            rest /= g->spans[i].edges_len;
        }
        code = pfc_suite_add_case(r, e, node, params, err);
    }
    return code;
}

static pfc_code generate(pfc_suite_reader *r, const pfc_suite_entry *given, struct fy_node *node,
                         const char *what, generator *g, pfc_err *err)
{
    pfc_suite_entry e = *given;
    pfc_code code = read_generator(r, &e, node, what, g, err);

    e.generated = true;
    if (code)
        return code;
    if (g->count == 0 && !g->boundary)
        return pfc_yaml_fault(&r->file->yaml, node, err, "%s: lacks 'count'", what);
    if (g->count == 0)
        return add_all_edges(r, &e, node, g, err);
    if (different(&e, g, (uint64_t)g->count) < (uint64_t)g->count)
        return pfc_yaml_fault(&r->file->yaml, node, err,
                              "%s: expected %lld different shapes, the ranges hold fewer", what,
                              (long long)g->count);
    return add_drawn(r, &e, node, g, what, err);
}

/* random: {count: 20, seed: 7, m: [1, 512], n: [1, 512], k: 64} */
pfc_code pfc_suite_add_random(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *node,
                              pfc_err *err)
{
    generator g = { .boundary = false };

    return generate(r, e, node, "random", &g, err);
}

/* boundary: {m: [1, 65], n: [1, 65], k: 64, count: 30}; without count: every combination */
pfc_code pfc_suite_add_boundary(pfc_suite_reader *r, const pfc_suite_entry *e, struct fy_node *node,
                                pfc_err *err)
{
    generator g = { .boundary = true };

    return generate(r, e, node, "boundary", &g, err);
}
