/*
 * The verdict of a pull request's job: the session's verdict of the head, as a comparison document.
 */
#include <math.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/comparison/comparison.h"
#include "server/bot/internal.h"
#include "server/services/queue/queue.h"
#include "server/services/sessions/report.h"

#define ROWS_MAX   2000
#define FROM_MAX   64
#define LATE_S     5.0 /* until a session that is on its way is looked for again */
#define LATE_MAX_S 600.0

/* ---- the document ---- */

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *side(const pfc_session_series *s, size_t build)
{
    const pfc_block_level *l = build < s->fit.levels_len ? &s->fit.levels[build] : NULL;
    const double nothing = (double)NAN;

    return json_pack("{s:o, s:o, s:o, s:I}", "median", number(l ? l->median : nothing), "low",
                     json_null(), "high", json_null(), "n", (json_int_t)(l ? l->visits : 0));
}

static const char *row_verdict(const pfc_session_boundary *b)
{
    const char *word = pfc_session_verdict_name(b);

    return strcmp(word, "undecided") == 0 ? "inconclusive" : word;
}

static json_t *row(const pfc_session_series *s, const pfc_session_boundary *b)
{
    const char *verdict = row_verdict(b);
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "benchmark", s->benchmark,
                             "metric", s->metric, "backend", s->backend, "machine_class",
                             s->machine_class, "unit", s->unit, "direction",
                             s->higher_is_better ? "higher" : "lower", "exact", s->exact);

    json_object_set_new(json, "series_id", json_integer((json_int_t)s->id));
    json_object_set_new(json, "a", side(s, b->b->from));
    json_object_set_new(json, "b", side(s, b->b->to));
    json_object_set_new(json, "rel_change", number(b->b->rel_change));
    json_object_set_new(json, "rel_low", number(b->b->rel_low));
    json_object_set_new(json, "rel_high", number(b->b->rel_high));
    json_object_set_new(json, "p", number(b->b->p));
    json_object_set_new(json, "p_adjusted", number(b->p_adjusted));
    json_object_set_new(json, "noise_rel", number(s->fit.noise_rel));
    json_object_set_new(json, "margin_rel", number(s->margin));
    json_object_set_new(json, "rounds", json_integer((json_int_t)b->b->rounds));
    json_object_set_new(json, "broken", json_array());
    json_object_set_new(json, "reason", json_null());
    json_object_set_new(json, "verdict", json_string(verdict));
    if (strcmp(verdict, "inconclusive") == 0 && b->b->more)
        json_object_set_new(json, "more_rounds", json_integer((json_int_t)b->b->more));
    return json;
}

/* counts: of each verdict; rounds: of the row with the most. */
static json_t *rows_of(const pfc_session_report *r, const char *head, size_t counts[4],
                       size_t *rounds)
{
    static const char *const words[] = { "regression", "improvement", "same", "inconclusive" };
    json_t *rows = json_array();

    for (size_t s = 0; s < r->judgement.series_len; s++) {
        const pfc_session_series *series = &r->judgement.series[s];

        for (size_t i = 0; series->judged && i < series->boundaries_len; i++) {
            const pfc_session_boundary *b = &series->boundaries[i];

            if (!pfc_streq(r->judgement.builds[b->b->to].commit, head) ||
                json_array_size(rows) == ROWS_MAX)
                continue;
            for (size_t w = 0; w < PFC_ARRAY_LEN(words); w++)
                counts[w] += strcmp(row_verdict(b), words[w]) == 0;
            *rounds = PFC_MAX(*rounds, b->b->rounds);
            json_array_append_new(rows, row(series, b));
        }
    }
    return rows;
}

/* The commits that the session measured. They are the pull request's own, unless the runner found
 * that an earlier session had measured the same pair (runner/blocks/pair_key.h). */
typedef struct measured {
    const char *base, *head;
    bool reused;
} measured;

static measured measured_by(const pfc_session_report *r, const pfc_pull_measurement *m)
{
    const pfc_session_row *session = &r->session.items[0];
    measured own = { .base = m->base_sha, .head = m->head_sha };

    for (size_t i = 0; i < r->commits.len; i++)
        if (pfc_streq(r->commits.items[i].commit, m->head_sha))
            return own;
    if (r->commits.len == 1 && session->pair_key)
        own =
            (measured){ .base = session->base, .head = r->commits.items[0].commit, .reused = true };
    return own;
}

static json_t *document_of(const pfc_session_report *r, const pfc_pull_measurement *m,
                           const measured *by)
{
    size_t counts[4] = { 0 }, rounds = 0;
    json_t *rows = rows_of(r, by->head, counts, &rounds);
    const pfc_session_row *session = &r->session.items[0];
    json_t *repeat = json_pack("[s, s, s, s]", "perfci", "compare", m->base_sha, m->head_sha);

    if (m->filter) {
        json_array_append_new(repeat, json_string("--filter"));
        json_array_append_new(repeat, json_string(m->filter));
    }
    return json_pack(
        "{s:{s:s}, s:{s:s}, s:o, s:{s:I, s:I, s:I, s:I}, s:o, s:s, s:s, s:f, s:I, s:I, s:b, s:b, "
        "s:[]}",
        "a", "name", m->base_sha, "b", "name", m->head_sha, "rows", rows, "summary", "regression",
        (json_int_t)counts[0], "improvement", (json_int_t)counts[1], "same", (json_int_t)counts[2],
        "inconclusive", (json_int_t)counts[3], "repeat", repeat, "machine", session->machine,
        "machine_class", session->machine_class, "spent_s", by->reused ? 0.0 : session->spent_s,
        "blocks", by->reused ? (json_int_t)0 : (json_int_t)session->blocks, "rounds",
        (json_int_t)rounds, "stored", 0, "across", 0, "differs");
}

/* The code behind the numbers: its hash, and the functions that execute more or fewer instructions.
 */
static pfc_code add_code(pfc_tx *tx, const pfc_session_report *r, const measured *by, json_t *doc,
                         pfc_err *err)
{
    pfc_session_function_rows functions = { 0 };
    const char *object_code = NULL;
    json_t *list = json_array();
    pfc_code code = pfc_session_code(tx, r->project_id, r->session.items[0].id, by->base, by->head,
                                     &functions, &object_code, err);

    for (size_t i = 0; !code && i < functions.len; i++) {
        const pfc_session_function_row *f = &functions.items[i];

        json_array_append_new(list, pfc_cmp_function(f->name, f->before, f->after));
    }
    pfc_cmp_put_code(doc, object_code, list);
    pfc_rows_clear(&functions);
    return code;
}

/* Where the result comes from: the head's run, or the session where nothing was measured. */
static pfc_code add_reused(pfc_tx *tx, const pfc_session_report *r, const measured *by, json_t *doc,
                           pfc_err *err)
{
    const pfc_session_row *session = &r->session.items[0];
    char from[FROM_MAX], at[32];
    int64_t run = 0;
    pfc_code code;

    if (!by->reused)
        return PFC_OK;
    code = pfc_sql_pull_head_run(tx,
                                 &(pfc_sql_pull_head_run_args){ .project_id = r->project_id,
                                                                .session = session->id,
                                                                .commit = by->head },
                                 &run, err);
    if (run)
        (void)snprintf(from, sizeof(from), "run %lld", (long long)run);
    else
        (void)snprintf(from, sizeof(from), "session %s", session->id);
    pfc_clock_rfc3339(session->finished_at, at);
    if (!code)
        json_object_set_new(doc, "reused", pfc_cmp_reused_json(from, at));
    return code;
}

/* ---- the verdict ---- */

typedef struct decision {
    const char *verdict, *reason; /* reason NULL: none */
    char text[PFC_ERR_MAX];
    json_t *document;
} decision;

static const char *verdict_of_word(const char *word)
{
    static const char *const words[][2] = {
        { "slower", "regression" },      { "faster", "improvement" },  { "same", "same" },
        { "undecided", "inconclusive" }, { "identical", "identical" }, { "broken", "broken" },
        { "not_measured", "nothing" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++)
        if (strcmp(words[i][0], word) == 0)
            return words[i][1];
    return "nothing";
}

/* The check and the comment's first line have one verdict: that of the comparison's rows. */
static void decide_by_rows(decision *out)
{
    pfc_cmp cmp = { 0 };

    if (json_array_size(json_object_get(out->document, "rows")) > 0 &&
        pfc_cmp_from_json(out->document, &cmp, NULL) == PFC_OK)
        out->verdict = pfc_cmp_name(pfc_cmp_overall(&cmp));
    pfc_cmp_clear(&cmp);
}

static void decide_by_session(const pfc_session_report *r, const pfc_pull_measurement *m,
                              const measured *by, decision *out)
{
    for (size_t i = 0; i < r->commits.len; i++) {
        const pfc_session_commit_row *c = &r->commits.items[i];
        const char *reason;

        if (!pfc_streq(c->commit, by->head))
            continue;
        out->verdict = verdict_of_word(r->verdicts[i].word);
        reason = c->reason && c->reason[0] ? c->reason : NULL;
        /* Nothing was compared: a base that does not build, or no benchmark in common. */
        if (strcmp(out->verdict, "inconclusive") == 0 && r->verdicts[i].worst == NULL) {
            out->verdict = "nothing";
            if (!reason)
                reason = r->session.items[0].note ? r->session.items[0].note
                                                  : "no benchmark was measured on both sides";
        }
        (void)snprintf(out->text, sizeof(out->text), "%s", reason ? reason : "");
        out->reason = reason ? out->text : NULL;
        out->document = document_of(r, m, by);
        decide_by_rows(out);
        return;
    }
    out->verdict = "outage";
    out->reason = "the session does not name the head";
}

/* Without a session: what the job says. */
static void decide_by_job(const pfc_pull_measurement *m, decision *out)
{
    const char *why = m->why && m->why[0] ? m->why : "the job brought no result";

    if (pfc_streq(m->state, "cancelled"))
        why = "the job was cancelled";
    out->verdict = strncmp(why, PFC_JOB_BROKEN, strlen(PFC_JOB_BROKEN)) == 0 ? "broken" : "outage";
    (void)snprintf(out->text, sizeof(out->text), "%s",
                   strcmp(out->verdict, "broken") == 0 ? why + strlen(PFC_JOB_BROKEN) : why);
    out->reason = out->text;
}

/* PFC_ENOTFOUND: the session is not stored yet. */
static pfc_code load_session(pfc_look *look, decision *out, pfc_err *err)
{
    const pfc_pull_measurement *m = &look->newest.items[0];
    pfc_session_report report = { 0 };
    measured by = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, look->db, PFC_TX_SNAPSHOT, err);

    if (!code)
        code = pfc_session_report_load(tx, look->key.project_id, m->session_id, &report, err);
    if (!code) {
        by = measured_by(&report, m);
        decide_by_session(&report, m, &by, out);
    }
    if (!code && out->document)
        code = add_code(tx, &report, &by, out->document, err);
    if (!code && out->document)
        code = add_reused(tx, &report, &by, out->document, err);
    pfc_tx_free(tx);
    pfc_session_report_clear(&report);
    return code;
}

static pfc_code store(pfc_look *look, const decision *d, pfc_err *err)
{
    const pfc_pull_measurement *m = &look->newest.items[0];
    char *text = json_dumps(d->document ? d->document : json_null(),
                            JSON_COMPACT | JSON_REAL_PRECISION(17) | JSON_ENCODE_ANY);
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, look->db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_pull_measurement_decide(
            tx,
            &(pfc_sql_pull_measurement_decide_args){ .project_id = look->key.project_id,
                                                     .id = m->id,
                                                     .job_state = m->state ? m->state : "failed",
                                                     .verdict = d->verdict,
                                                     .reason = d->reason,
                                                     .session_id = m->session_id,
                                                     .document_json = text },
            err);
    pfc_tx_free(tx);
    free(text);
    if (!code)
        pfc_log(PFC_INFO, "pull_request_judged", "project", look->pulls.items[0].project, "number",
                look->key.number, "head", m->head_sha, "verdict", d->verdict);
    return code ? code : pfc_look_load(look, err);
}

static pfc_code remember_state(pfc_look *look, pfc_err *err)
{
    const pfc_pull_measurement *m = &look->newest.items[0];
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, look->db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_pull_measurement_seen(
            tx,
            &(pfc_sql_pull_measurement_seen_args){
                .project_id = look->key.project_id, .id = m->id, .job_state = m->state },
            err);
    pfc_tx_free(tx);
    return code ? code : pfc_look_load(look, err);
}

pfc_code pfc_look_judge(pfc_look *look, pfc_err *err)
{
    const pfc_pull_measurement *m = look->newest.len ? &look->newest.items[0] : NULL;
    const double patience_s = look->pulls.items[0].patience_s;
    decision d = { 0 };
    pfc_err why = { 0 };
    pfc_code code;

    if (!m || m->verdict)
        return PFC_OK;
    if (pfc_streq(m->state, "queued") || pfc_streq(m->state, "leased")) {
        if (m->waited_s < patience_s)
            look->again_s = fmin(look->again_s, patience_s - m->waited_s);
        return pfc_streq(m->state, m->seen) ? PFC_OK : remember_state(look, err);
    }
    if (m->session_id) {
        code = load_session(look, &d, &why);
        if (code == PFC_ENOTFOUND && m->waited_s < patience_s + LATE_MAX_S) {
            look->again_s = fmin(look->again_s, LATE_S);
            return pfc_streq(m->state, m->seen) ? PFC_OK : remember_state(look, err);
        }
        if (code && code != PFC_ENOTFOUND)
            return pfc_err_set(err, code, "%s", why.msg);
    }
    if (!d.verdict)
        decide_by_job(m, &d);
    code = store(look, &d, err);
    json_decref(d.document);
    return code;
}
