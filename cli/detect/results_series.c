/*
 * Results of other tools as series.
 */
#include "cli/detect/results_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/changepoint/changepoint.h"
#include "core/git/repo.h"

/* One run. */
typedef struct point {
    char *commit; /* NULL: not said */
    double t;     /* of the results; NAN: not said */
    double commit_t;
} point;

/* One measurement of a run. */
typedef struct value {
    char *benchmark, *metric, *backend, *unit;
    bool higher;
    size_t point;
    double *samples;
    size_t samples_len;
} value;

struct pfc_points {
    point *points;
    size_t len, cap;
    value *values;
    size_t values_len, values_cap;
    const char **undirected; /* names in `values` */
    size_t undirected_len, undirected_cap;
};

pfc_points *pfc_points_new(void)
{
    return pfc_calloc(1, sizeof(pfc_points));
}

void pfc_points_free(pfc_points *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->len; i++)
        free(p->points[i].commit);
    for (size_t i = 0; i < p->values_len; i++) {
        value *v = &p->values[i];
        free(v->benchmark);
        free(v->metric);
        free(v->backend);
        free(v->unit);
        free(v->samples);
    }
    free(p->points);
    free(p->values);
    free(p->undirected);
    free(p);
}

static void add_undirected(pfc_points *p, const char *name)
{
    for (size_t i = 0; i < p->undirected_len; i++)
        if (pfc_streq(p->undirected[i], name))
            return;
    p->undirected = pfc_grow(p->undirected, p->undirected_len, &p->undirected_cap, sizeof(char *));
    p->undirected[p->undirected_len++] = name;
}

static void add_value(pfc_points *p, const pfc_measurement *m)
{
    value *v;

    p->values = pfc_grow(p->values, p->values_len, &p->values_cap, sizeof(*p->values));
    v = &p->values[p->values_len++];
    *v = (value){ .benchmark = pfc_strdup(m->benchmark),
                  .metric = pfc_strdup(m->metric),
                  .backend = pfc_strdup(m->backend),
                  .unit = pfc_strdup(m->unit),
                  .higher = m->higher_is_better,
                  .point = p->len - 1 };
    if (m->status == PFC_STATUS_OK && m->samples_len > 0) {
        v->samples = pfc_calloc(m->samples_len, sizeof(double));
        memcpy(v->samples, m->samples, m->samples_len * sizeof(double));
        v->samples_len = m->samples_len;
    }
    if (pfc_labels_get(&m->extra, PFC_IMPORT_DIRECTION))
        add_undirected(p, v->metric);
}

void pfc_points_add(pfc_points *p, const pfc_import_result *result)
{
    for (size_t i = 0; i < result->runs_len; i++) {
        const pfc_run *run = result->runs[i];

        p->points = pfc_grow(p->points, p->len, &p->cap, sizeof(*p->points));
        p->points[p->len++] = (point){ .commit = run->commit ? pfc_strdup(run->commit) : NULL,
                                       .t = run->started_at > 0 ? run->started_at : (double)NAN };
        for (size_t k = 0; k < run->measurements_len; k++)
            add_value(p, &run->measurements[k]);
    }
}

size_t pfc_points_undirected(const pfc_points *p, const char *const **names)
{
    *names = p->undirected;
    return p->undirected_len;
}

/* The committer's time of every point, if the repository here has all their commits. */
static void use_commit_times(pfc_points *p)
{
    pfc_repo *repo = NULL;
    bool all = p->len > 0;

    for (size_t i = 0; i < p->len; i++)
        all = all && p->points[i].commit;
    if (!all || pfc_repo_open(".", &repo, NULL))
        return;
    for (size_t i = 0; i < p->len && all; i++) {
        pfc_commit_id id;
        pfc_commit commit = { 0 };

        all = !pfc_repo_resolve(repo, p->points[i].commit, &id, NULL) &&
              !pfc_repo_commit(repo, &id, &commit, NULL);
        if (all)
            p->points[i].commit_t = commit.time;
        pfc_commit_clear(&commit);
    }
    for (size_t i = 0; i < p->len && all; i++)
        p->points[i].t = p->points[i].commit_t;
    pfc_repo_close(repo);
}

static int by_name(const value *a, const value *b)
{
    int c = strcmp(a->benchmark, b->benchmark);

    if (!c)
        c = strcmp(a->metric, b->metric);
    return c ? c : strcmp(a->backend, b->backend);
}

/* Of one name in the order of adding. */
static int compare_values(const void *a, const void *b)
{
    const value *x = *(value *const *)a;
    const value *y = *(value *const *)b;
    const int c = by_name(x, y);

    return c ? c : (x > y) - (x < y);
}

/* A series' values stand together from `from`; its first one says where it comes. */
typedef struct group {
    value **from;
    size_t len;
} group;

static int compare_groups(const void *a, const void *b)
{
    const value *x = *((const group *)a)->from;
    const value *y = *((const group *)b)->from;

    return (x > y) - (x < y);
}

static void emit(const pfc_points *p, const group *g, const pfc_series_sink *sink)
{
    const value *first = *g->from;
    pfc_series_in s = { .unit = first->unit,
                        .higher_is_better = first->higher,
                        .benchmark = first->benchmark,
                        .metric = first->metric,
                        .backend = first->backend };
    bool commits = false;

    s.id = pfc_format("%s %s%s%s", first->benchmark, first->metric, *first->backend ? " " : "",
                      first->backend);
    s.points = pfc_calloc(g->len, sizeof(*s.points));
    s.commits = pfc_calloc(g->len, sizeof(*s.commits));
    for (size_t i = 0; i < g->len; i++) {
        const value *v = g->from[i];
        const point *at = &p->points[v->point];

        s.points[i] = (pfc_point){ .t = at->t, .v = (double)NAN };
        if (v->samples_len > 0)
            s.points[i].v = pfc_stats_median(v->samples, v->samples_len);
        if (v->samples_len > 1) {
            s.points[i].repeats = v->samples;
            s.points[i].repeats_len = v->samples_len;
        }
        s.commits[i] = at->commit;
        commits = commits || at->commit;
    }
    s.len = g->len;
    if (!commits) {
        free(s.commits);
        s.commits = NULL;
    }
    sink->series(sink->arg, &s, 1);
    free(s.commits);
    free(s.points);
    free(s.id);
}

void pfc_points_each(pfc_points *p, const pfc_series_sink *sink)
{
    value **order = pfc_calloc(p->values_len, sizeof(value *));
    group *groups = pfc_calloc(p->values_len, sizeof(group));
    size_t groups_len = 0;

    use_commit_times(p);
    for (size_t i = 0; i < p->values_len; i++)
        order[i] = &p->values[i];
    qsort(order, p->values_len, sizeof(*order), compare_values);
    for (size_t from = 0, to; from < p->values_len; from = to) {
        for (to = from; to < p->values_len && by_name(order[from], order[to]) == 0; to++)
            continue;
        groups[groups_len++] = (group){ order + from, to - from };
    }
    qsort(groups, groups_len, sizeof(*groups), compare_groups);
    for (size_t i = 0; i < groups_len; i++)
        emit(p, &groups[i], sink);
    free(groups);
    free(order);
}
