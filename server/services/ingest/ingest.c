/*
 * Storing a run: one transaction for everything that belongs to it, so that it is stored
 * completely or not at all, and once, however often it is sent.
 */
#include "server/services/ingest/ingest.h"

#include "server/repo/sql/ingest.h"
#include "server/repo/sql/projects.h"
#include "server/repo/sql/runs.h"
#include "server/services/alerts/alerts.h"
#include "server/services/history/history.h"
#include "server/services/ingest/prepared.h"
#include "server/services/queue/queue.h"
#include "server/services/service.h"

static pfc_code find_project(pfc_ingest *in, pfc_err *err)
{
    pfc_sql_project_branch_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_project_branch(
        in->tx, &(pfc_sql_project_branch_args){ .project_id = in->project_id }, &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such project");
    if (!code) {
        const char *branch = in->run->branch;

        in->project = pfc_strdup(rows.items[0].name);
        in->branch = pfc_strdup(branch ? branch : rows.items[0].branch);
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code find_machine(pfc_ingest *in, pfc_err *err)
{
    const pfc_machine *m = &in->run->machine;
    const char *name = m->name ? m->name : ""; /* a command's run need not name its machine */
    pfc_code code = PFC_OK;

    /* At most twice: another server may insert the row between the query and the insert. */
    for (int round = 0; round < 2 && !in->machine_id && !code; round++) {
        pfc_sql_machine_find_rows rows = { 0 };
        bool stale = false;

        code = pfc_sql_machine_find(
            in->tx,
            &(pfc_sql_machine_find_args){ .machine_class = m->machine_class,
                                          .name = name,
                                          .fingerprint_hash = m->fingerprint_hash },
            &rows, err);
        if (!code && rows.len) {
            in->machine_id = rows.items[0].id;
            stale = rows.items[0].stale;
        }
        pfc_rows_clear(&rows);
        if (!code && stale)
            code = pfc_sql_machine_touch(
                in->tx, &(pfc_sql_machine_touch_args){ .id = in->machine_id }, err);
        if (!code && !in->machine_id && round == 0) {
            char *fingerprint = pfc_labels_text(&m->fingerprint);

            code = pfc_sql_machine_insert(
                in->tx,
                &(pfc_sql_machine_insert_args){ .machine_class = m->machine_class,
                                                .name = name,
                                                .fingerprint_hash = m->fingerprint_hash,
                                                .fingerprint_json = fingerprint },
                err);
            free(fingerprint);
        }
    }
    if (!code && !in->machine_id)
        code = pfc_err_set(err, PFC_EBUG, "machine: neither found nor made");
    return code;
}

/* The answer of this very document, if it is stored. */
static pfc_code find_part(pfc_ingest *in, pfc_ingest_result *out, pfc_err *err)
{
    pfc_sql_run_part_find_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_run_part_find(in->tx,
                                 &(pfc_sql_run_part_find_args){ .project_id = in->project_id,
                                                                .run_id = in->run_id,
                                                                .body_hash = in->body },
                                 &rows, err);
    if (!code && rows.len) {
        out->repeated = true;
        out->series = rows.items[0].series;
        out->samples = rows.items[0].samples;
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code key_conflict(pfc_err *err)
{
    return pfc_err_set(err, PFC_ECONFLICT, "Idempotency-Key: it was used for another document");
}

static pfc_code check_key(pfc_ingest *in, const char *key, pfc_ingest_result *out, pfc_err *err)
{
    pfc_sql_run_part_by_key_rows rows = { 0 };
    pfc_code code;

    if (!key)
        return PFC_OK;
    code = pfc_sql_run_part_by_key(
        in->tx, &(pfc_sql_run_part_by_key_args){ .project_id = in->project_id, .key = key }, &rows,
        err);
    if (!code && rows.len) {
        if (pfc_streq(rows.items[0].id, in->run->id) &&
            pfc_streq(rows.items[0].body_hash, in->body)) {
            out->repeated = true;
            in->run_id = rows.items[0].run_id;
            out->series = rows.items[0].series;
            out->samples = rows.items[0].samples;
        } else {
            code = key_conflict(err);
        }
    }
    pfc_rows_clear(&rows);
    return code;
}

/* Stores the run, or a further part of it, without its event; *made false: the run is there
 * already. */
static pfc_code store_run(pfc_ingest *in, bool *made, pfc_err *err)
{
    pfc_code code = pfc_ingest_store(in->tx, &in, 1, false, made, err);

    if (code == PFC_ECONFLICT && in->key) /* after check_key, for example by another server */
        return key_conflict(err);
    return code;
}

/* Stores a new run, or locks the existing one. */
static pfc_code claim_run(pfc_ingest *in, pfc_ingest_result *out, pfc_err *err)
{
    const pfc_run *run = in->run;
    pfc_sql_run_lock_rows rows = { 0 };
    bool made = false;
    pfc_code code = store_run(in, &made, err); /* waits while another transaction stores this run */

    if (!code && made)
        code = pfc_environment_note(in->tx, in->project_id, in->machine_id, in->run_id, run->infra,
                                    err);
    if (code || made)
        return code;
    code = pfc_sql_run_lock(
        in->tx, &(pfc_sql_run_lock_args){ .project_id = in->project_id, .run_id = run->id }, &rows,
        err);
    if (code)
        return code;
    in->further = true;
    in->run_id = rows.items[0].id;
    if (!pfc_streq(rows.items[0].header_hash, in->header))
        code = pfc_err_set(err, PFC_ECONFLICT, "run %s is stored with another header", run->id);
    pfc_rows_clear(&rows);
    return code ? code : find_part(in, out, err);
}

static pfc_code make_series(pfc_ingest *in, pfc_err *err)
{
    pfc_ingest_columns *c = &in->ok;
    pfc_code code;

    code = pfc_sql_benchmarks_ensure(
        in->tx,
        &(pfc_sql_benchmarks_ensure_args){ .project_id = in->project_id,
                                           .names = c->benchmark,
                                           .params = (const char *const *)c->params,
                                           .len = c->len },
        err);
    if (code)
        return code;
    return pfc_sql_series_ensure(
        in->tx,
        &(pfc_sql_series_ensure_args){ .project_id = in->project_id,
                                       .machine_class = in->run->machine.machine_class,
                                       .branch = in->branch,
                                       .benchmarks = c->benchmark,
                                       .metrics = c->metric,
                                       .backends = c->backend,
                                       .units = c->unit,
                                       .higher_is_better = c->higher,
                                       .exact = c->exact,
                                       .len = c->len },
        err);
}

static pfc_code resolve_series(pfc_ingest *in, pfc_err *err)
{
    pfc_ingest_columns *c = &in->ok;
    pfc_sql_series_find_rows rows = { 0 };
    pfc_code code = pfc_ingest_series_find(in->tx, &in, 1, &rows, err);

    if (!code && rows.len != c->len)
        code = pfc_err_set(err, PFC_EBUG, "series: asked for %zu, found %zu", c->len, rows.len);
    for (size_t i = 0; !code && i < c->len; i++) {
        const char *unit = rows.items[i].unit;

        c->series[i] = rows.items[i].id;
        if (!c->series[i]) {
            code = pfc_err_set(err, PFC_EBUG, "series: %s %s is not there", c->benchmark[i],
                               c->metric[i]);
            break;
        }
        /* A series is one quantity: mixing units or directions would produce false steps. */
        if (!pfc_streq(unit, c->unit[i]) || rows.items[i].higher_is_better != c->higher[i]) {
            char path[64];

            (void)snprintf(path, sizeof(path), "measurements[%zu].%s",
                           (size_t)(c->measured[i] - in->run->measurements),
                           pfc_streq(unit, c->unit[i]) ? "direction" : "unit");
            code = pfc_err_set_field(
                err, PFC_EINVAL, path,
                "%s: %s %s: its series has unit %s, %s is better; got unit %s, %s", path,
                c->benchmark[i], c->metric[i], unit,
                rows.items[i].higher_is_better ? "higher" : "lower", c->unit[i],
                c->higher[i] ? "higher" : "lower");
        }
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code check_overlap(pfc_ingest *in, pfc_err *err)
{
    int64_t there = 0;
    pfc_code code;

    if (!in->further)
        return PFC_OK;
    code = pfc_sql_measurements_overlap(
        in->tx,
        &(pfc_sql_measurements_overlap_args){ .project_id = in->project_id,
                                              .run_id = in->run_id,
                                              .series_ids = in->ok.series,
                                              .series_ids_len = in->ok.len },
        &there, err);
    if (!code && there)
        code = pfc_err_set(err, PFC_ECONFLICT, "run %s is stored with other measurements",
                           in->run->id);
    return code;
}

static pfc_code store_measured(pfc_ingest *in, pfc_err *err)
{
    pfc_ingest_columns *c = &in->ok;
    pfc_copy rows;
    pfc_code code;

    if (c->len == 0)
        return PFC_OK;
    code = make_series(in, err);
    if (!code)
        code = resolve_series(in, err);
    if (!code)
        code = check_overlap(in, err);
    if (!code)
        code = pfc_ingest_exact_check(in, err);
    if (code)
        return code;
    pfc_ingest_measurements(&rows, &in, 1);
    return pfc_sql_measurements_copy(in->tx, &rows, err);
}

static pfc_code announce(pfc_ingest *in, pfc_err *err)
{
    return pfc_sql_run_notify(in->tx,
                              &(pfc_sql_run_notify_args){ .project = in->project,
                                                          .run_id = in->run_id,
                                                          .id = in->run->id,
                                                          .commit = in->run->commit },
                              err);
}

static pfc_code store(pfc_ingest *in, pfc_ingest_result *out, pfc_err *err)
{
    bool made = false;
    pfc_code code = find_project(in, err);

    if (!code)
        code = check_key(in, in->key, out, err);
    if (code || out->repeated)
        return code;
    /* History before machines before runs before series: one lock order prevents deadlocks. */
    code = pfc_commit_ensure(in->tx, in->project_id, in->branch, in->run->commit,
                             in->run->started_at, &in->commit_id, err);
    if (!code)
        code = find_machine(in, err);
    if (!code)
        code = pfc_ingest_exact_lock(in->tx, &in, 1, err);
    if (!code)
        code = claim_run(in, out, err);
    if (code || out->repeated)
        return code;
    out->series = (int64_t)in->ok.len;
    out->samples = in->ok.samples_total;
    code = store_measured(in, err);
    if (!code)
        code = pfc_ingest_unmeasured(in, err);
    if (!code && in->further)
        code = store_run(in, &made, err);
    /* After the machine's event, so that a client knows the machine's state when the run's event
     * arrives. */
    return code ? code : announce(in, err);
}

/* Frees the state of an attempt that failed. */
static void forget_attempt(pfc_ingest *in)
{
    free(in->project);
    free(in->branch);
    in->project = in->branch = NULL;
    in->commit_id = in->machine_id = in->run_id = 0;
    in->further = false;
}

typedef struct attempt {
    pfc_ingest *in;
    pfc_ingest_result answer;
} attempt;

static pfc_code try_to_store(pfc_tx *tx, void *into, pfc_err *err)
{
    attempt *a = into;
    pfc_code code;

    forget_attempt(a->in);
    a->answer = (pfc_ingest_result){ 0 };
    a->in->tx = tx;
    code = store(a->in, &a->answer, err);
    if (!code && a->answer.repeated)
        code = pfc_tx_replicate(tx, err);
    a->in->tx = NULL;
    return code;
}

pfc_code pfc_ingest_one(pfc_db *db, pfc_ingest *in, pfc_ingest_result *out, pfc_err *err)
{
    attempt a = { .in = in };
    pfc_code code = pfc_db_write(db, try_to_store, &a, err);

    if (!code) {
        a.answer.run_id = in->run_id;
        (void)snprintf(a.answer.id, sizeof(a.answer.id), "%s", in->run->id);
        *out = a.answer;
    }
    return code;
}

pfc_code pfc_run_ingest(pfc_db *db, const char *actor, int64_t project_id, const pfc_run *run,
                        const char *key, pfc_ingest_result *out, pfc_err *err)
{
    pfc_ingest in = { 0 };
    /* The slow part, summaries and texts, is done before a connection is taken. */
    pfc_code code = pfc_ingest_prepare(&in, actor, project_id, run, key, err);

    if (!code)
        code = pfc_ingest_one(db, &in, out, err);
    pfc_ingest_clear(&in);
    return code;
}
