/*
 * Detect jobs: taken from the queue in batches of one project, since judging a series once serves
 * every run that added a point to it.
 */
#include "server/services/detect/detect.h"

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/rng.h"
#include "server/repo/sql/jobs.h"
#include "server/repo/sql/session_judge.h"
#include "server/repo/sql/shifts.h"
#include "server/repo/sql/withheld.h"
#include "server/services/alerts/alerts.h"
#include "server/services/alerts/kinds.h"
#include "server/services/queue/queue.h"
#include "server/services/queue/reruns.h"
#include "server/services/sessions/anchored.h"
#include "server/services/sessions/changes.h"
#include "server/services/sessions/report.h"

#define BATCH      500
#define LEASE_S    60.0
#define PROLONG_NS 10000000000 /* the lease is prolonged when so much of it has passed */

typedef struct batch {
    char hash[PFC_SHA256_HEX];
    int64_t project_id;
    pfc_sql_detect_take_rows jobs;
    int64_t *runs; /* of the jobs */
    const char **branches;
    size_t runs_len, branches_len;
    pfc_detector detector;
} batch;

static pfc_code take_batch(pfc_db *db, batch *b, pfc_err *err)
{
    char secret[33];
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (code)
        return code;
    pfc_random_id(secret);
    pfc_sha256_hex(secret, strlen(secret), b->hash);
    code = pfc_sql_detect_take(
        tx,
        &(pfc_sql_detect_take_args){ .lease_hash = b->hash, .seconds = LEASE_S, .limit = BATCH },
        &b->jobs, err);
    pfc_tx_free(tx);
    if (!code && b->jobs.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no run waits to be judged");
    if (!code)
        b->project_id = b->jobs.items[0].project_id;
    return code;
}

static pfc_code list_series(pfc_db *db, batch *b, pfc_sql_detect_series_rows *out, pfc_err *err)
{
    const size_t n = b->jobs.len;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    b->runs = pfc_calloc(n, sizeof(*b->runs));
    b->branches = pfc_calloc(n, sizeof(*b->branches));
    for (size_t i = 0; i < n; i++) {
        const char *branch = b->jobs.items[i].branch;
        int64_t run = b->jobs.items[i].run_id;

        if (run)
            b->runs[b->runs_len++] = run;
        else if (branch)
            b->branches[b->branches_len++] = branch;
    }
    qsort(b->runs, b->runs_len, sizeof(*b->runs), pfc_by_number);
    if (!code)
        code =
            pfc_sql_detect_series(tx,
                                  &(pfc_sql_detect_series_args){ .project_id = b->project_id,
                                                                 .run_ids = b->runs,
                                                                 .run_ids_len = b->runs_len,
                                                                 .branches = b->branches,
                                                                 .branches_len = b->branches_len },
                                  out, err);
    if (!code)
        code = pfc_detector_load(tx, b->project_id, &b->detector, err);
    pfc_tx_free(tx);
    return code;
}

typedef struct judging {
    const batch *b;
    const pfc_judged *const *series;
    size_t len;
    pfc_judged_some some;
    bool prolong;
} judging;

static pfc_code judge_series(pfc_tx *tx, void *into, pfc_err *err)
{
    judging *j = into;
    pfc_code code = PFC_OK;

    pfc_judged_some_end(&j->some, false); /* of an earlier try */
    if (j->prolong)
        code = pfc_sql_lease_prolong(
            tx, &(pfc_sql_lease_prolong_args){ .lease_hash = j->b->hash, .seconds = LEASE_S }, NULL,
            err);
    return code ? code : pfc_series_judge(tx, j->b->project_id, j->series, j->len, &j->some, err);
}

static pfc_judged *series_of(const batch *b, const pfc_sql_detect_series_rows *list)
{
    pfc_judged *out = pfc_calloc(list->len + 1, sizeof(*out));

    for (size_t i = 0; i < list->len; i++) {
        const pfc_series_name name = {
            .benchmark = list->items[i].benchmark,
            .metric = list->items[i].metric,
            .backend = list->items[i].backend,
            .machine_class = list->items[i].machine_class,
            .branch = list->items[i].branch,
        };

        out[i] = (pfc_judged){
            .canary = pfc_streq(name.benchmark, "canary"),
            .settings = pfc_detector_for(&b->detector, &name),
            .from_position = list->items[i].from_position,
            .to_position = list->items[i].to_position,
            .new_points = list->items[i].points,
            .runs = b->runs,
            .runs_len = b->runs_len,
            .id = list->items[i].id,
            .branch = name.branch,
            .higher_is_better = list->items[i].higher_is_better,
            .exact = list->items[i].exact,
        };
    }
    return out;
}

/* The first of the series that belong in one transaction: those of one branch. */
static size_t together(const pfc_judged *const *series, size_t len)
{
    size_t n = 1;

    while (n < PFC_MIN(len, (size_t)PFC_JUDGE_SERIES) &&
           pfc_streq(series[n]->branch, series[0]->branch))
        n++;
    return n;
}

/* Series with a point that is due, some a transaction, so that none holds the others' rows for
 * long, and a crash loses little work. After an error each series of the transaction is judged
 * alone, since an error in one must not prevent the judging of the others: *fault is the last one.
 * If the database is unavailable the batch returns to the queue, at the latest when its lease
 * expires. */
static pfc_code judge_due(pfc_db *db, const batch *b, const pfc_judged *const *series, size_t len,
                          pfc_err *fault, pfc_detected *judged, pfc_err *err)
{
    int64_t prolonged = pfc_clock_ns();
    size_t alone = 0; /* so many of the next ones */
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < len;) {
        const size_t n = alone ? 1 : together(series + i, len - i);
        pfc_err why = { 0 }; /* includes errors of a try that a later try did not have */
        judging j = { b, series + i, n, { 0 }, pfc_clock_ns() - prolonged > PROLONG_NS };
        const pfc_code some = pfc_db_write(db, judge_series, &j, &why);
        const size_t done = some ? 1 : j.some.len, reused = j.some.reused;

        pfc_judged_some_end(&j.some, some == PFC_OK);

        if (j.prolong)
            prolonged = pfc_clock_ns();
        if (some == PFC_EUNAVAIL || (some == PFC_ETIMEOUT && n == 1)) {
            *fault = why;
            code = pfc_err_set(err, some, "judging series %lld: %s", (long long)series[i]->id,
                               why.msg);
        } else if (some && n > 1) {
            alone = n;
            continue;
        } else if (some) {
            (void)pfc_err_wrap(&why, "judging series %lld", (long long)series[i]->id);
            *fault = why;
        } else {
            judged->series += done;
            judged->reused += reused;
        }
        i += done;
        alone -= PFC_MIN(alone, done);
    }
    return code;
}

/* All series of the batch: those that a few statements can advance together, then the others. */
static pfc_code judge_all(pfc_db *db, const batch *b, const pfc_sql_detect_series_rows *list,
                          pfc_err *fault, pfc_detected *judged, pfc_err *err)
{
    pfc_judged *series = series_of(b, list);
    const pfc_judged **due = pfc_calloc(list->len + 1, sizeof(*due));
    bool *passed = pfc_calloc(list->len + 1, sizeof(*passed));
    size_t due_len = 0;
    pfc_code code;

    code = pfc_series_pass(db, b->project_id, b->hash, LEASE_S, b->runs, b->runs_len, series,
                           list->len, passed, err);
    for (size_t i = 0; !code && i < list->len; i++) {
        judged->points += (size_t)list->items[i].points;
        if (!passed[i])
            due[due_len++] = &series[i];
    }
    judged->passed = judged->series = list->len - due_len;
    if (!code)
        code = judge_due(db, b, due, due_len, fault, judged, err);
    free(passed);
    free(due);
    free(series);
    return code;
}

static pfc_code finish_batch(pfc_db *db, const batch *b, const char *state, const char *reason,
                             pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_detect_finish(tx,
                                     &(pfc_sql_detect_finish_args){
                                         .lease_hash = b->hash, .state = state, .reason = reason },
                                     err);
    pfc_tx_free(tx);
    return code;
}

/* Applies the results of sessions, after those of their single points. */
static pfc_code apply_sessions(pfc_db *db, const batch *b, pfc_err *err)
{
    pfc_sql_detect_sessions_rows sessions = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = b->runs_len ? pfc_tx_begin(&tx, db, PFC_TX_AUTO, err) : PFC_OK;

    if (!code && tx)
        code = pfc_sql_detect_sessions(
            tx,
            &(pfc_sql_detect_sessions_args){
                .project_id = b->project_id, .run_ids = b->runs, .run_ids_len = b->runs_len },
            &sessions, err);
    pfc_tx_free(tx);
    for (size_t i = 0; !code && i < sessions.len; i++) {
        pfc_err why = { 0 };

        code = pfc_session_apply(db, b->project_id, sessions.items[i].id, &why);
        if (code == PFC_EUNAVAIL || code == PFC_ETIMEOUT)
            code = pfc_err_set(err, code, "%s", why.msg);
        else if (code) { /* the others of the batch are judged all the same */
            pfc_log(PFC_ERROR, "session_not_judged", "session", sessions.items[i].id, "why",
                    why.msg);
            code = PFC_OK;
        }
    }
    pfc_rows_clear(&sessions);
    return code;
}

static pfc_code ask_again(pfc_tx *tx, void *into, pfc_err *err)
{
    const batch *b = into;
    pfc_code code;

    if (b->runs_len == 0)
        return PFC_OK;
    code = pfc_sql_shift_reconsider(tx,
                                    &(pfc_sql_shift_reconsider_args){ .project_id = b->project_id,
                                                                      .run_ids = b->runs,
                                                                      .run_ids_len = b->runs_len },
                                    err);
    if (code)
        return code;
    return pfc_sql_identical_reconsider(
        tx,
        &(pfc_sql_identical_reconsider_args){
            .project_id = b->project_id, .run_ids = b->runs, .run_ids_len = b->runs_len },
        err);
}

/* Reconsiders existing alerts: runs of another machine, or of old commits, may show that the
 * machine was the cause, and the hash of their object code, that the commit was not. */
static pfc_code reconsider(pfc_db *db, batch *b, pfc_err *err)
{
    return pfc_db_write(db, ask_again, b, err);
}

/* After all series of the batch, so that a commit's series are looked at together. The rows
 * are in the order of branches. */
static pfc_code open_alerts(pfc_db *db, const batch *b, const pfc_sql_detect_series_rows *list,
                            pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < list->len; i++) {
        const char *branch = list->items[i].branch;
        bool seen = i > 0 && pfc_streq(branch, list->items[i - 1].branch);

        if (!seen)
            code = pfc_alerts_open(db, b->project_id, branch, b->detector.fdr, err);
        if (!code && !seen)
            code = pfc_boundaries_judge(db, b->project_id, branch, err);
    }
    return code;
}

/* One line a run: its number is on the line of the request that brought it. */
static void log_batch(const batch *b, const char *why)
{
    for (size_t i = 0; i < b->jobs.len; i++) {
        const int64_t run = b->jobs.items[i].run_id;

        if (why)
            pfc_log(PFC_ERROR, "run not judged", "run", run, "why", why);
        else
            pfc_log(PFC_DEBUG, "run judged", "run", run);
    }
}

pfc_code pfc_detect_next(pfc_db *db, pfc_detected *out, pfc_err *err)
{
    pfc_sql_detect_series_rows list = { 0 };
    pfc_err fault = { 0 };
    batch b = { 0 };
    pfc_detected judged = { 0 };
    size_t reruns = 0;
    pfc_code code = take_batch(db, &b, err);

    if (code)
        goto done;
    code = list_series(db, &b, &list, err);
    if (!code)
        code = pfc_anchored_refresh(db, b.project_id, b.runs, b.runs_len, err);
    if (!code)
        code = judge_all(db, &b, &list, &fault, &judged, err);
    if (!code)
        code = apply_sessions(db, &b, err);
    if (!code)
        code = reconsider(db, &b, err);
    if (!code)
        code = open_alerts(db, &b, &list, err);
    if (!code)
        code = pfc_session_reports_refresh(db, b.project_id, b.runs, b.runs_len, err);
    if (!code)
        code =
            pfc_broken_judge(db, b.project_id, b.runs, b.runs_len, b.branches, b.branches_len, err);
    if (!code)
        code = pfc_reruns_suspect(db, b.project_id, b.runs, b.runs_len, &reruns, err);
    if (!code)
        code = finish_batch(db, &b, fault.code ? "failed" : "done", fault.code ? fault.msg : NULL,
                            err);
    if (!code && fault.code)
        code = pfc_err_set(err, fault.code, "%s", fault.msg);
    *out = judged;
    if (code != PFC_EUNAVAIL && code != PFC_ETIMEOUT)
        log_batch(&b, code && err ? err->msg : NULL);

done:
    /* Also if the batch was taken but the reply was lost. */
    if (b.hash[0] && (code == PFC_EUNAVAIL || code == PFC_ETIMEOUT))
        pfc_lease_undo(db, b.hash);
    pfc_rows_clear(&list);
    free(b.runs);
    free(b.branches);
    pfc_detector_clear(&b.detector);
    pfc_rows_clear(&b.jobs);
    return code;
}
