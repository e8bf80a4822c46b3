/* Geometric means of a comparison: one for each kernel, backend and metric. */
#include <math.h>
#include <string.h>

#include "core/wire/wire.h"
#include "server/services/history/compare.h"

/* Of each row its place in the comparison, so that the means keep the order of names. */
typedef struct member {
    const pfc_compare_row *row;
    size_t kernel_len;
} member;

static int by_group(const void *a, const void *b)
{
    const member *x = a, *y = b;
    const size_t common = PFC_MIN(x->kernel_len, y->kernel_len);
    int order = memcmp(x->row->benchmark, y->row->benchmark, common);

    if (!order)
        order = (x->kernel_len > y->kernel_len) - (x->kernel_len < y->kernel_len);
    if (!order)
        order = strcmp(x->row->backend, y->row->backend);
    if (!order)
        order = strcmp(x->row->metric, y->row->metric);
    /* Values of two units or directions have no common mean. */
    if (!order)
        order = strcmp(x->row->unit, y->row->unit);
    if (!order)
        order = (int)x->row->higher_is_better - (int)y->row->higher_is_better;
    return order;
}

/* A headline is a geometric mean already; the canary is about the machine. */
static bool is_member(const pfc_compare_row *row)
{
    return !pfc_streq(row->benchmark, PFC_CANARY_BENCHMARK) &&
           !pfc_streq(row->benchmark, "headline");
}

static bool is_usable(const pfc_compare_row *row)
{
    return !row->broken_a && !row->broken_b && !row->untested && !row->moved &&
           isfinite(row->result.rel_change) && row->result.rel_change > -1;
}

static pfc_compare_mean mean_of(const member *members, size_t n)
{
    const pfc_compare_row *first = members[0].row;
    pfc_compare_mean mean = { .kernel = pfc_strndup(first->benchmark, members[0].kernel_len),
                              .backend = first->backend,
                              .metric = first->metric,
                              .unit = first->unit,
                              .higher_is_better = first->higher_is_better };
    double *ratios = pfc_calloc(n, sizeof(*ratios));

    for (size_t i = 0; i < n; i++) {
        const pfc_compare_row *row = members[i].row;

        if (!is_usable(row)) {
            mean.left_out++;
            continue;
        }
        ratios[mean.n++] = 1 + row->result.rel_change;
        mean.regressions += row->regression;
        mean.improvements += row->result.verdict == PFC_VERDICT_DIFFERENT && !row->regression;
    }
    mean.rel_change = mean.n ? pfc_stats_geomean(ratios, mean.n) - 1 : (double)NAN;
    free(ratios);
    return mean;
}

void pfc_compare_means(pfc_comparison *c)
{
    member *members = pfc_calloc(c->rows_len + 1, sizeof(*members));
    size_t n = 0, end;

    for (size_t i = 0; i < c->rows_len; i++) {
        if (is_member(&c->rows[i]))
            members[n++] =
                (member){ .row = &c->rows[i], .kernel_len = strcspn(c->rows[i].benchmark, "/") };
    }
    if (n)
        qsort(members, n, sizeof(*members), by_group);
    c->means = pfc_calloc(n + 1, sizeof(*c->means));
    for (size_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && by_group(&members[i], &members[end]) == 0;)
            end++;
        c->means[c->means_len++] = mean_of(&members[i], end - i);
    }
    free(members);
}
