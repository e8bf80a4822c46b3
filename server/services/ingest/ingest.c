/*
 * Storing a run: one transaction for everything that belongs to it, so that it is there whole or
 * not at all, and once, however often it is sent.
 */
#include "server/services/ingest/ingest.h"

static pfc_code find_project(pfc_ingest *in, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_args_i64(&args, in->project_id);
    code = pfc_tx_query(in->tx, "project_branch", &args, &res, err);
    if (!code && pfc_res_rows(res) == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such project");
    if (!code) {
        const char *branch = in->run->branch;

        in->project = pfc_strdup(pfc_res_text(res, 0, pfc_res_column(res, "name")));
        in->branch =
            pfc_strdup(branch ? branch : pfc_res_text(res, 0, pfc_res_column(res, "branch")));
    }
    pfc_res_free(res);
    return code;
}

static pfc_code find_machine(pfc_ingest *in, pfc_err *err)
{
    const pfc_machine *m = &in->run->machine;
    const char *name = m->name ? m->name : ""; /* a command's run need not name its machine */
    pfc_code code = PFC_OK;

    /* At most twice: another server may make the row between our look and our insert. */
    for (int round = 0; round < 2 && !in->machine_id && !code; round++) {
        pfc_args args = { 0 };
        pfc_res *res = NULL;
        bool stale = false;

        pfc_args_text(&args, m->machine_class);
        pfc_args_text(&args, name);
        pfc_args_text(&args, m->fingerprint_hash);
        code = pfc_tx_query(in->tx, "machine_find", &args, &res, err);
        if (!code && pfc_res_rows(res)) {
            in->machine_id = pfc_res_i64(res, 0, 0);
            stale = pfc_res_bool(res, 0, 1);
        }
        pfc_res_free(res);
        if (!code && stale) {
            pfc_args_i64(&args, in->machine_id);
            code = pfc_tx_query(in->tx, "machine_touch", &args, NULL, err);
        }
        if (!code && !in->machine_id && round == 0) {
            pfc_args_text(&args, m->machine_class);
            pfc_args_text(&args, name);
            pfc_args_text(&args, m->fingerprint_hash);
            pfc_args_own(&args, pfc_ingest_pairs(&m->fingerprint));
            code = pfc_tx_query(in->tx, "machine_insert", &args, NULL, err);
        }
    }
    if (!code && !in->machine_id)
        code = pfc_err_set(err, PFC_EBUG, "machine: neither found nor made");
    return code;
}

/* The answer of this very document, if it is stored. */
static pfc_code find_part(pfc_ingest *in, pfc_ingest_result *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_args_i64(&args, in->project_id);
    pfc_args_i64(&args, in->run_id);
    pfc_args_text(&args, in->body);
    code = pfc_tx_query(in->tx, "run_part_find", &args, &res, err);
    if (!code && pfc_res_rows(res)) {
        out->repeated = true;
        out->series = pfc_res_i64(res, 0, 0);
        out->samples = pfc_res_i64(res, 0, 1);
    }
    pfc_res_free(res);
    return code;
}

static pfc_code key_conflict(pfc_err *err)
{
    return pfc_err_set(err, PFC_ECONFLICT, "Idempotency-Key: it was used for another document");
}

static pfc_code check_key(pfc_ingest *in, const char *key, pfc_ingest_result *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    if (!key)
        return PFC_OK;
    pfc_args_i64(&args, in->project_id);
    pfc_args_text(&args, key);
    code = pfc_tx_query(in->tx, "run_part_by_key", &args, &res, err);
    if (!code && pfc_res_rows(res)) {
        if (pfc_streq(pfc_res_text(res, 0, pfc_res_column(res, "id")), in->run->id) &&
            pfc_streq(pfc_res_text(res, 0, pfc_res_column(res, "body_hash")), in->body)) {
            out->repeated = true;
            in->run_id = pfc_res_i64(res, 0, pfc_res_column(res, "run_id"));
            out->series = pfc_res_i64(res, 0, pfc_res_column(res, "series"));
            out->samples = pfc_res_i64(res, 0, pfc_res_column(res, "samples"));
        } else {
            code = key_conflict(err);
        }
    }
    pfc_res_free(res);
    return code;
}

/* Makes the run's row, or locks the one that is there. */
static pfc_code claim_run(pfc_ingest *in, pfc_ingest_result *out, pfc_err *err)
{
    const pfc_run *run = in->run;
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_args_i64(&args, in->project_id);
    pfc_args_text(&args, run->id);
    pfc_args_text(&args, in->header);
    pfc_args_i64(&args, in->commit_id);
    pfc_args_text(&args, in->branch);
    pfc_args_text(&args, run->suite ? run->suite : "");
    pfc_args_text(&args, run->suite_hash ? run->suite_hash : "");
    pfc_args_i64(&args, in->machine_id);
    pfc_args_id(&args, run->job_id);
    pfc_args_bool(&args, run->infra);
    pfc_args_f64(&args, run->started_at);
    pfc_args_f64(&args, run->finished_at);
    pfc_args_id(&args, run->job_fence);
    pfc_args_text(&args, run->session_id);
    pfc_args_text(&args, run->session_anchor);
    pfc_args_text(&args, run->session_base);
    /* Waits while another transaction is storing the same run. */
    code = pfc_query_id(in->tx, "run_insert", &args, &in->run_id, err);
    if (!code && in->run_id)
        code = pfc_environment_note(in->tx, in->project_id, in->machine_id, in->run_id, run->infra,
                                    err);
    if (code || in->run_id)
        return code;
    pfc_args_i64(&args, in->project_id);
    pfc_args_text(&args, run->id);
    code = pfc_tx_query(in->tx, "run_lock", &args, &res, err);
    if (code)
        return code;
    in->further = true;
    in->run_id = pfc_res_i64(res, 0, 0);
    if (!pfc_streq(pfc_res_text(res, 0, 1), in->header))
        code = pfc_err_set(err, PFC_ECONFLICT, "run %s is stored with another header", run->id);
    pfc_res_free(res);
    return code ? code : find_part(in, out, err);
}

static pfc_code make_series(pfc_ingest *in, pfc_err *err)
{
    pfc_ingest_columns *c = &in->ok;
    pfc_args args = { 0 };
    pfc_code code;

    pfc_args_i64(&args, in->project_id);
    pfc_args_texts(&args, c->benchmark, c->len);
    pfc_args_texts(&args, (const char *const *)c->params, c->len);
    code = pfc_tx_query(in->tx, "benchmarks_ensure", &args, NULL, err);
    if (code)
        return code;
    pfc_args_i64(&args, in->project_id);
    pfc_args_text(&args, in->run->machine.machine_class);
    pfc_args_text(&args, in->branch);
    pfc_args_texts(&args, c->benchmark, c->len);
    pfc_args_texts(&args, c->metric, c->len);
    pfc_args_texts(&args, c->backend, c->len);
    pfc_args_texts(&args, c->unit, c->len);
    pfc_args_bools(&args, c->higher, c->len);
    pfc_args_bools(&args, c->exact, c->len);
    return pfc_tx_query(in->tx, "series_ensure", &args, NULL, err);
}

static pfc_code resolve_series(pfc_ingest *in, pfc_err *err)
{
    pfc_ingest_columns *c = &in->ok;
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_ingest_series_args(&args, &in, 1);
    code = pfc_tx_query(in->tx, "series_find", &args, &res, err);
    if (!code && pfc_res_rows(res) != c->len)
        code = pfc_err_set(err, PFC_EBUG, "series: asked for %zu, found %zu", c->len,
                           pfc_res_rows(res));
    for (size_t i = 0; !code && i < c->len; i++) {
        const char *unit = pfc_res_text(res, i, 1);

        c->series[i] = pfc_res_i64(res, i, 0);
        if (!c->series[i]) {
            code = pfc_err_set(err, PFC_EBUG, "series: %s %s is not there", c->benchmark[i],
                               c->metric[i]);
            break;
        }
        /* A series is one quantity: mixing units or directions would make steps of nothing. */
        if (!pfc_streq(unit, c->unit[i]) || pfc_res_bool(res, i, 2) != c->higher[i]) {
            char path[64];

            (void)snprintf(path, sizeof(path), "measurements[%zu].%s",
                           (size_t)(c->measured[i] - in->run->measurements),
                           pfc_streq(unit, c->unit[i]) ? "direction" : "unit");
            code = pfc_err_set_field(
                err, PFC_EINVAL, path,
                "%s: %s %s: its series has unit %s, %s is better; got unit %s, %s", path,
                c->benchmark[i], c->metric[i], unit, pfc_res_bool(res, i, 2) ? "higher" : "lower",
                c->unit[i], c->higher[i] ? "higher" : "lower");
        }
    }
    pfc_res_free(res);
    return code;
}

static pfc_code check_overlap(pfc_ingest *in, pfc_err *err)
{
    pfc_args args = { 0 };
    int64_t there = 0;
    pfc_code code;

    if (!in->further)
        return PFC_OK;
    pfc_args_i64(&args, in->project_id);
    pfc_args_i64(&args, in->run_id);
    pfc_args_i64s(&args, in->ok.series, in->ok.len);
    code = pfc_query_id(in->tx, "measurements_overlap", &args, &there, err);
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
    return pfc_tx_copy(in->tx, "measurements_copy", &rows, err);
}

/* What was broken or skipped, so that the document can be given back whole. */
pfc_code pfc_ingest_unmeasured(pfc_ingest *in, pfc_err *err)
{
    const pfc_run *run = in->run;
    size_t cap = run->measurements_len - in->ok.len, n = 0;
    const char **text[5];
    char **params = pfc_calloc(cap, sizeof(char *));
    bool *higher = pfc_calloc(cap, sizeof(bool)), *exact = pfc_calloc(cap, sizeof(bool));
    bool *broken = pfc_calloc(cap, sizeof(bool));
    pfc_args args = { 0 };
    pfc_code code = PFC_OK;

    for (size_t t = 0; t < PFC_ARRAY_LEN(text); t++)
        text[t] = pfc_calloc(cap, sizeof(char *));
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];

        if (m->status == PFC_STATUS_OK)
            continue;
        text[0][n] = m->benchmark;
        text[1][n] = m->metric;
        text[2][n] = m->backend;
        text[3][n] = m->unit;
        text[4][n] = m->reason ? m->reason : "";
        params[n] = pfc_ingest_pairs(&m->params);
        higher[n] = m->higher_is_better;
        exact[n] = m->exact;
        broken[n++] = m->status == PFC_STATUS_BROKEN;
    }
    if (n) {
        pfc_args_i64(&args, in->project_id);
        pfc_args_i64(&args, in->run_id);
        for (size_t t = 0; t < 4; t++)
            pfc_args_texts(&args, text[t], n);
        pfc_args_bools(&args, higher, n);
        pfc_args_bools(&args, exact, n);
        pfc_args_bools(&args, broken, n);
        pfc_args_texts(&args, text[4], n);
        pfc_args_texts(&args, (const char *const *)params, n);
        code = pfc_tx_query(in->tx, "unmeasured_insert", &args, NULL, err);
    }
    for (size_t t = 0; t < PFC_ARRAY_LEN(text); t++)
        free(text[t]);
    for (size_t i = 0; i < n; i++)
        free(params[i]);
    free(params);
    free(broken);
    free(exact);
    free(higher);
    return code;
}

static json_t *run_event(const pfc_ingest *in)
{
    return json_pack("{s:s, s:s, s:I, s:s, s:s}", "type", "run", "project", in->project, "run_id",
                     (json_int_t)in->run_id, "id", in->run->id, "commit", in->run->commit);
}

static pfc_code store_part(pfc_ingest *in, const char *actor, const char *key,
                           pfc_ingest_result *out, pfc_err *err)
{
    pfc_args args = { 0 };
    char *what;
    pfc_code code;

    out->series = (int64_t)in->ok.len;
    out->samples = in->ok.samples_total;
    pfc_args_i64(&args, in->project_id);
    pfc_args_i64(&args, in->run_id);
    pfc_args_text(&args, in->body);
    pfc_args_text(&args, key);
    pfc_args_i64(&args, (int64_t)in->run->measurements_len);
    pfc_args_i64(&args, out->series);
    pfc_args_i64(&args, out->samples);
    code = pfc_tx_query(in->tx, "run_part_insert", &args, NULL, err);
    if (code == PFC_ECONFLICT && key) /* since check_key looked, by another server perhaps */
        return key_conflict(err);
    /* Same transaction: a run stored but never judged looks like a healthy one. */
    if (!code && in->run->measurements_len)
        code = pfc_detect_enqueue(in->tx, in->project_id, in->run_id, NULL, err);
    if (code)
        return code;
    what = pfc_format("run %lld", (long long)in->run_id);
    code = pfc_note(in->tx, actor, "ingest", in->project_id, what, in->run->id, err);
    free(what);
    if (!code)
        code = pfc_tell(in->tx, run_event(in), err);
    return code;
}

static pfc_code store(pfc_ingest *in, const char *actor, const char *key, pfc_ingest_result *out,
                      pfc_err *err)
{
    pfc_code code = find_project(in, err);

    if (!code)
        code = check_key(in, key, out, err);
    if (code || out->repeated)
        return code;
    /* History before machines before runs before series: everybody in one order, no circles. */
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
    code = store_measured(in, err);
    if (!code)
        code = pfc_ingest_unmeasured(in, err);
    if (!code)
        code = store_part(in, actor, key, out, err);
    return code;
}

/* What an attempt that failed has left behind. */
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
    code = store(a->in, a->in->actor, a->in->key, &a->answer, err);
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
