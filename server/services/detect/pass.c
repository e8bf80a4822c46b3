/*
 * Judging by the new points alone: most points of most series tell nothing new, and are judged by
 * the stored state of the detector, many series in one transaction. The others go the whole way
 * (judge.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/repo/sql/jobs.h"
#include "server/repo/sql/judging.h"
#include "server/services/detect/detect.h"

#define AT_ONCE 1000 /* series of one transaction: how long it may hold their rows */

typedef struct pass {
    int64_t project_id;
    const char *lease_hash;
    double seconds;
    const int64_t *runs;
    size_t runs_len;
    const pfc_judged **series; /* by id */
    size_t len;
    bool *passed; /* of each of them */
} pass;

/* The arguments of steady_advance, one element a series; `fresh` has the medians of all. */
typedef struct advance {
    double *fresh;
    size_t fresh_len, len;
    int64_t *ids, *firsts, *lasts, *points, *commits, *levels, *positions;
    double *detectables;
    char **states;
} advance;

/* The state of a series, unless it is one of another version or of other settings. */
static bool load_state(const pfc_sql_steady_states_row *row, const pfc_judged *series,
                       pfc_steady *out)
{
    const pfc_detect_opts opts = pfc_judged_opts(series);

    return series->settings.judged &&
           pfc_steady_load(out, row->state.data, row->state.len, NULL) == PFC_OK &&
           pfc_steady_fits(out, &opts);
}

/* Takes the new points rows[0..n) of a series; false: one of them is due, or lies before the newest
 * point that was judged, or is of a run that later judgements would not read. */
static bool take_points(pfc_steady *steady, const pfc_sql_steady_points_row *rows, size_t n,
                        const pfc_sql_steady_states_row *state)
{
    bool passes = true;

    for (size_t i = 0; passes && i < n; i++) {
        const size_t most = pfc_bytes_f64s_len(rows[i].samples);
        double *samples = pfc_calloc(most, sizeof(*samples));
        const size_t len = pfc_bytes_f64s(rows[i].samples, samples, most);

        passes = rows[i].position > state->position && rows[i].run_id >= state->anchor_run &&
                 pfc_steady_pass(steady, &(pfc_point){ .t = rows[i].time,
                                                       .v = rows[i].median,
                                                       .repeats = samples,
                                                       .repeats_len = len });
        free(samples);
    }
    return passes;
}

static void add(advance *a, const pfc_judged *series, const pfc_sql_steady_states_row *state,
                const pfc_sql_steady_points_row *rows, size_t n, const pfc_steady *steady)
{
    const size_t points = (size_t)state->points + n, level = (size_t)state->level_points + n;
    const size_t k = a->len++;

    a->ids[k] = series->id;
    a->firsts[k] = (int64_t)a->fresh_len + 1;
    for (size_t i = 0; i < n; i++)
        a->fresh[a->fresh_len++] = rows[i].median;
    a->lasts[k] = (int64_t)a->fresh_len;
    a->points[k] = (int64_t)points;
    a->commits[k] = rows[n - 1].commit_id;
    a->levels[k] = (int64_t)level;
    a->positions[k] = rows[n - 1].position;
    a->detectables[k] = pfc_judged_detectable(series, state->noise_rel, points, level);
    a->states[k] = pfc_steady_text(steady);
}

static void advance_init(advance *a, size_t series, size_t points)
{
    *a = (advance){ .fresh = pfc_calloc(points + 1, sizeof(*a->fresh)) };
    a->ids = pfc_calloc(series + 1, sizeof(*a->ids));
    a->firsts = pfc_calloc(series + 1, sizeof(*a->firsts));
    a->lasts = pfc_calloc(series + 1, sizeof(*a->lasts));
    a->points = pfc_calloc(series + 1, sizeof(*a->points));
    a->commits = pfc_calloc(series + 1, sizeof(*a->commits));
    a->levels = pfc_calloc(series + 1, sizeof(*a->levels));
    a->positions = pfc_calloc(series + 1, sizeof(*a->positions));
    a->detectables = pfc_calloc(series + 1, sizeof(*a->detectables));
    a->states = pfc_calloc(series + 1, sizeof(*a->states));
}

static void advance_clear(advance *a)
{
    for (size_t i = 0; i < a->len; i++)
        free(a->states[i]);
    free(a->fresh);
    free(a->ids);
    free(a->firsts);
    free(a->lasts);
    free(a->points);
    free(a->commits);
    free(a->levels);
    free(a->positions);
    free(a->detectables);
    free(a->states);
}

/* Both lists are in the order of ids. */
static void advance_all(const pass *p, const pfc_sql_steady_states_rows *states,
                        const pfc_sql_steady_points_rows *points, advance *a)
{
    size_t next = 0, from = 0;

    for (size_t i = 0; i < states->len; i++) {
        const pfc_sql_steady_states_row *state = &states->items[i];
        pfc_steady steady;
        size_t end;

        while (p->series[next]->id < state->id)
            next++;
        while (from < points->len && points->items[from].series_id < state->id)
            from++;
        for (end = from; end < points->len && points->items[end].series_id == state->id;)
            end++;
        /* A measurement that is no point, or no longer: what was judged may have held it. */
        if ((int64_t)(end - from) != p->series[next]->new_points ||
            !load_state(state, p->series[next], &steady) ||
            !take_points(&steady, points->items + from, end - from, state))
            continue;
        p->passed[next] = true;
        if (end > from)
            add(a, p->series[next], state, points->items + from, end - from, &steady);
    }
}

static pfc_code store(pfc_tx *tx, int64_t project_id, const advance *a, pfc_err *err)
{
    return a->len == 0 ? PFC_OK
                       : pfc_sql_steady_advance(tx,
                                                &(pfc_sql_steady_advance_args){
                                                    .project_id = project_id,
                                                    .spark = PFC_SPARK,
                                                    .fresh = a->fresh,
                                                    .fresh_len = a->fresh_len,
                                                    .ids = a->ids,
                                                    .ids_len = a->len,
                                                    .firsts = a->firsts,
                                                    .firsts_len = a->len,
                                                    .lasts = a->lasts,
                                                    .lasts_len = a->len,
                                                    .points = a->points,
                                                    .points_len = a->len,
                                                    .commit_ids = a->commits,
                                                    .commit_ids_len = a->len,
                                                    .level_points = a->levels,
                                                    .level_points_len = a->len,
                                                    .detectables = a->detectables,
                                                    .detectables_len = a->len,
                                                    .positions = a->positions,
                                                    .positions_len = a->len,
                                                    .states = (const char *const *)a->states,
                                                    .states_len = a->len,
                                                },
                                                err);
}

static pfc_code pass_some(pfc_tx *tx, void *into, pfc_err *err)
{
    pass *p = into;
    pfc_sql_steady_states_rows states = { 0 };
    pfc_sql_steady_points_rows points = { 0 };
    int64_t *ids = pfc_calloc(p->len + 1, sizeof(*ids));
    advance a = { 0 };
    pfc_code code;

    for (size_t i = 0; i < p->len; i++) {
        ids[i] = p->series[i]->id;
        p->passed[i] = false;
    }
    code = pfc_sql_lease_prolong(
        tx, &(pfc_sql_lease_prolong_args){ .lease_hash = p->lease_hash, .seconds = p->seconds },
        NULL, err);
    if (!code)
        code = pfc_sql_steady_states(tx,
                                     &(pfc_sql_steady_states_args){ .project_id = p->project_id,
                                                                    .series_ids = ids,
                                                                    .series_ids_len = p->len },
                                     &states, err);
    if (!code && states.len)
        code = pfc_sql_steady_points(tx,
                                     &(pfc_sql_steady_points_args){ .project_id = p->project_id,
                                                                    .run_ids = p->runs,
                                                                    .run_ids_len = p->runs_len,
                                                                    .series_ids = ids,
                                                                    .series_ids_len = p->len },
                                     &points, err);
    if (!code) {
        advance_init(&a, states.len, points.len);
        advance_all(p, &states, &points, &a);
        code = store(tx, p->project_id, &a, err);
    }
    advance_clear(&a);
    free(ids);
    pfc_rows_clear(&points);
    pfc_rows_clear(&states);
    return code;
}

static int by_id(const void *a, const void *b)
{
    const int64_t x = (*(const pfc_judged *const *)a)->id, y = (*(const pfc_judged *const *)b)->id;

    return (x > y) - (x < y);
}

pfc_code pfc_series_pass(pfc_db *db, int64_t project_id, const char *lease_hash, double seconds,
                         const int64_t *runs, size_t runs_len, const pfc_judged *series,
                         size_t series_len, bool *passed, pfc_err *err)
{
    const pfc_judged **sorted = pfc_calloc(series_len + 1, sizeof(*sorted));
    bool *done = pfc_calloc(series_len + 1, sizeof(*done));
    size_t n = 0;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < series_len; i++) {
        /* Of so many new points one is due in any case. */
        if (series[i].from_position > 0 && series[i].new_points < PFC_STEADY_STRIDE)
            sorted[n++] = &series[i];
    }
    qsort(sorted, n, sizeof(*sorted), by_id);
    for (size_t i = 0; !code && i < n; i += AT_ONCE) {
        pass p = { .project_id = project_id,
                   .lease_hash = lease_hash,
                   .seconds = seconds,
                   .runs = runs,
                   .runs_len = runs_len,
                   .series = sorted + i,
                   .len = PFC_MIN(n - i, (size_t)AT_ONCE),
                   .passed = done + i };

        code = pfc_db_write(db, pass_some, &p, err);
    }
    for (size_t i = 0; !code && i < n; i++)
        passed[sorted[i] - series] = done[i];
    free(done);
    free(sorted);
    return code;
}
