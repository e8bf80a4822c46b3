/*
 * Exact metrics: a deterministic metric has one value at a commit under one fingerprint. A run with
 * another value is refused as a whole, and the error contains both values. Other compilers,
 * simulators or machines may differ, and so may the builds of a bisection, which can be
 * relinked with another layout.
 */
#include <stdlib.h>

#include "server/repo/sql/ingest.h"
#include "server/services/ingest/ingest.h"
#include "server/services/ingest/prepared.h"

/* The exact results of many runs, one element per result. */
typedef struct columns {
    int64_t *place, *project, *commit, *series, *job;
    double *value;
    const char **fingerprint;
    size_t *row; /* of the run's columns */
    size_t len;
} columns;

static void columns_clear(columns *c)
{
    free(c->place);
    free(c->project);
    free(c->commit);
    free(c->series);
    free(c->job);
    free(c->value);
    free(c->fingerprint);
    free(c->row);
    *c = (columns){ 0 };
}

static void gather(columns *c, pfc_ingest *const *runs, size_t len)
{
    const size_t cap = pfc_ingest_rows(runs, len);

    *c = (columns){ .place = pfc_calloc(cap, sizeof(*c->place)),
                    .project = pfc_calloc(cap, sizeof(*c->project)),
                    .commit = pfc_calloc(cap, sizeof(*c->commit)),
                    .series = pfc_calloc(cap, sizeof(*c->series)),
                    .job = pfc_calloc(cap, sizeof(*c->job)),
                    .value = pfc_calloc(cap, sizeof(*c->value)),
                    .fingerprint = pfc_calloc(cap, sizeof(*c->fingerprint)),
                    .row = pfc_calloc(cap, sizeof(*c->row)) };
    for (size_t i = 0; i < len; i++) {
        const pfc_ingest *in = runs[i];

        for (size_t k = 0; k < in->ok.len; k++) {
            if (!in->ok.exact[k])
                continue;
            c->place[c->len] = (int64_t)i;
            c->project[c->len] = in->project_id;
            c->commit[c->len] = in->commit_id;
            c->series[c->len] = in->ok.series[k];
            c->job[c->len] = in->run->job_id;
            c->value[c->len] = in->ok.median[k];
            c->fingerprint[c->len] = in->run->machine.fingerprint_hash;
            c->row[c->len++] = k;
        }
    }
}

static bool any_exact(const pfc_ingest *in)
{
    for (size_t k = 0; k < in->ok.len; k++)
        if (in->ok.exact[k])
            return true;
    return false;
}

pfc_code pfc_ingest_exact_lock(pfc_tx *tx, pfc_ingest *const *runs, size_t len, pfc_err *err)
{
    int64_t *project = pfc_calloc(len, sizeof(*project)),
            *commit = pfc_calloc(len, sizeof(*commit));
    size_t n = 0;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < len; i++) {
        if (!any_exact(runs[i]))
            continue;
        project[n] = runs[i]->project_id;
        commit[n++] = runs[i]->commit_id;
    }
    if (n)
        code = pfc_sql_exact_lock(
            tx,
            &(pfc_sql_exact_lock_args){ .project_ids = project, .commit_ids = commit, .len = n },
            NULL, err);
    free(commit);
    free(project);
    return code;
}

pfc_code pfc_ingest_exact_conflicts(pfc_tx *tx, pfc_ingest *const *runs, size_t len,
                                    pfc_exact_conflict *out, pfc_err *err)
{
    columns c;
    pfc_sql_exact_conflicts_rows rows = { 0 };
    pfc_code code = PFC_OK;

    gather(&c, runs, len);
    if (c.len)
        code = pfc_sql_exact_conflicts(
            tx,
            &(pfc_sql_exact_conflicts_args){ .places = c.place,
                                             .project_ids = c.project,
                                             .commit_ids = c.commit,
                                             .fingerprint_hashes = c.fingerprint,
                                             .series_ids = c.series,
                                             .values = c.value,
                                             .job_ids = c.job,
                                             .len = c.len },
            &rows, err);
    for (size_t i = 0; !code && i < rows.len; i++) {
        const size_t at = (size_t)rows.items[i].ordinal - 1;
        pfc_exact_conflict *x = &out[c.place[at]];

        if (x->found)
            continue;
        *x = (pfc_exact_conflict){ .found = true,
                                   .row = c.row[at],
                                   .run_id = rows.items[i].run_id,
                                   .stored = rows.items[i].value };
    }
    pfc_rows_clear(&rows);
    columns_clear(&c);
    return code;
}

pfc_code pfc_ingest_exact_check(pfc_ingest *in, pfc_err *err)
{
    pfc_exact_conflict x = { 0 };
    pfc_ingest *const runs[] = { in };
    char path[64], stored[32], got[32];
    pfc_code code = pfc_ingest_exact_conflicts(in->tx, runs, 1, &x, err);

    if (code || !x.found)
        return code;
    (void)snprintf(path, sizeof(path), "measurements[%zu].samples",
                   (size_t)(in->ok.measured[x.row] - in->run->measurements));
    pfc_wire_number(x.stored, stored);
    pfc_wire_number(in->ok.median[x.row], got);
    return pfc_err_set_field(err, PFC_ECONFLICT, path,
                             "%s: %s %s%s%s is exact: expected %s, which run %lld has at commit "
                             "%.12s, got %s",
                             path, in->ok.benchmark[x.row], in->ok.metric[x.row],
                             *in->ok.backend[x.row] ? " on " : "", in->ok.backend[x.row], stored,
                             (long long)x.run_id, in->run->commit, got);
}
