/*
 * Rerun rules: which rule an ended job fires, and the job that measures again.
 */
#include "server/services/queue/reruns.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "server/repo/documents/rerun_rules.h"
#include "server/repo/sql/reruns.h"
#include "server/services/history/compare.h"
#include "server/services/queue/queue.h"
#include "server/services/service.h"

#define MAX_SUSPECTS 20 /* commits of one batch of runs */

/* A job that has ended, and the rule that it fires. */
typedef struct decision {
    const pfc_sql_rerun_next_row *job;
    pfc_rerun_rules rules;
    const pfc_rerun_rule *rule; /* NULL: none */
} decision;

/* ---- which rule ---- */

/* A job failed: because of the commit, or for another reason. */
static pfc_rerun_on failure_of(const char *reason)
{
    const bool commit =
        reason && (strncmp(reason, PFC_JOB_BROKEN, strlen(PFC_JOB_BROKEN)) == 0 ||
                   strncmp(reason, PFC_JOB_TIMED_OUT, strlen(PFC_JOB_TIMED_OUT)) == 0);

    return commit ? PFC_RERUN_BROKEN : PFC_RERUN_INFRA;
}

/* Headline rows decide where there are some: of hundreds of benchmarks a few are always open. */
static bool is_undecided(const pfc_comparison *c)
{
    size_t headlines = 0, open_headlines = 0;

    for (size_t i = 0; i < c->rows_len; i++) {
        const pfc_compare_row *row = &c->rows[i];
        const bool headline = strcmp(row->benchmark, "headline") == 0;

        headlines += headline;
        open_headlines += headline && !row->broken_a && !row->broken_b &&
                          row->result.verdict == PFC_VERDICT_INCONCLUSIVE;
    }
    return headlines ? open_headlines > 0 : c->inconclusive > 0;
}

/* Against the first parent. Where that was not measured there is nothing to decide. */
static pfc_code compare_with_parent(pfc_db *db, const pfc_sql_rerun_next_row *job, bool *undecided,
                                    pfc_err *err)
{
    pfc_comparison c = { 0 };
    pfc_err why = { 0 };
    pfc_code code;

    *undecided = false;
    if (!job->base || !job->runs)
        return PFC_OK;
    code = pfc_compare_commits(db, job->project_id, job->base, job->commit, &c, &why);
    if (code == PFC_ENOTFOUND)
        return PFC_OK;
    if (code)
        return pfc_err_set(err, code, "%s", why.msg);
    *undecided = is_undecided(&c);
    pfc_comparison_clear(&c);
    return PFC_OK;
}

static pfc_code choose_rule(pfc_db *db, decision *d, pfc_err *err)
{
    const pfc_sql_rerun_next_row *job = d->job;
    const pfc_rerun_rule *inconclusive = pfc_rerun_find(&d->rules, PFC_RERUN_INCONCLUSIVE);
    bool undecided = job->blocks && job->undecided;
    pfc_code code = PFC_OK;

    if (strcmp(job->state, "failed") == 0) {
        d->rule = pfc_rerun_find(&d->rules, failure_of(job->reason));
        return PFC_OK;
    }
    if (job->canary)
        d->rule = pfc_rerun_find(&d->rules, PFC_RERUN_CANARY);
    if (d->rule || !inconclusive)
        return PFC_OK;
    if (!job->blocks)
        code = compare_with_parent(db, job, &undecided, err);
    if (!code && undecided)
        d->rule = inconclusive;
    return code;
}

/* ---- the rerun ---- */

/* The job to repeat, the rule, and which rerun by that rule this is. */
typedef struct repetition {
    int64_t project_id, job_id, root;
    const pfc_rerun_rule *rule;
    int64_t number;
} repetition;

/* *id 0: another server was faster. */
static pfc_code insert(pfc_tx *tx, const repetition *r, int64_t *id, pfc_err *err)
{
    const pfc_rerun_rule *rule = r->rule;
    int64_t others = 0;
    char *what = NULL;
    pfc_code code = PFC_OK;

    *id = 0;
    if (rule->other_machine)
        code = pfc_sql_rerun_others(
            tx, &(pfc_sql_rerun_others_args){ .project_id = r->project_id, .job_id = r->job_id },
            &others, err);
    if (!code)
        code = pfc_sql_rerun_insert(
            tx,
            &(pfc_sql_rerun_insert_args){
                .project_id = r->project_id,
                .job_id = r->job_id,
                .root = r->root,
                .rule = pfc_rerun_name(rule->on),
                .number = r->number,
                .times = rule->times,
                .after_s = rule->after_s,
                .other = others > 0,
                .avoid_s = PFC_RERUN_OTHER_WAIT_S,
                .note = rule->other_machine && !others
                            ? "no other machine that fits is connected: the same one may measure"
                            : NULL },
            id, err);
    if (code || !*id)
        return code;
    what = pfc_format("job %lld", (long long)*id);
    code = pfc_audit_add(tx, "rerun rules", "rerun", r->project_id, what, pfc_rerun_name(rule->on),
                         err);
    free(what);
    return code ? code : pfc_job_announce(tx, *id, err);
}

/* The note of the job that has ended: what its rule led to. *made: a rerun was queued. */
static pfc_code repeat(pfc_tx *tx, const decision *d, char **note, bool *made, pfc_err *err)
{
    const char *name = pfc_rerun_name(d->rule->on);
    pfc_sql_rerun_counts_rows counts = { 0 };
    repetition r = { d->job->project_id, d->job->id, d->job->root, d->rule, 1 };
    int64_t id = 0, of_any = 0;
    pfc_code code;

    code = pfc_sql_rerun_counts(
        tx,
        &(pfc_sql_rerun_counts_args){ .project_id = r.project_id, .root = r.root, .rule = name },
        &counts, err);
    if (!code && counts.len) {
        r.number += counts.items[0].of_rule;
        of_any = counts.items[0].of_any;
    }
    pfc_rows_clear(&counts);
    if (code)
        return code;
    if (r.number > d->rule->times) {
        *note = pfc_format("rule %s: no further rerun, %d of %d were made", name, d->rule->times,
                           d->rule->times);
        return PFC_OK;
    }
    if (of_any >= PFC_RERUN_MAX_CHAIN) {
        *note = pfc_format("rule %s: no further rerun, all rules together made %d", name,
                           PFC_RERUN_MAX_CHAIN);
        return PFC_OK;
    }
    code = insert(tx, &r, &id, err);
    if (!code && id) {
        *made = true;
        *note = pfc_format("rule %s: job %lld measures again (%lld of %d)", name, (long long)id,
                           (long long)r.number, d->rule->times);
    }
    return code;
}

/* ---- ended jobs ---- */

static pfc_code next_ended(pfc_db *db, int64_t after, pfc_sql_rerun_next_rows *out, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_rerun_next(tx, &(pfc_sql_rerun_next_args){ .after = after }, out, err);
    pfc_tx_free(tx);
    return code;
}

/* A decision on its way into the database. note: why there is none, else what it led to; owned. */
typedef struct outcome {
    const decision *d;
    char *note;
    bool made;
} outcome;

static pfc_code store(pfc_tx *tx, void *into, pfc_err *err)
{
    outcome *o = into;
    const pfc_sql_rerun_next_row *job = o->d->job;
    int64_t claimed = 0;
    pfc_code code = pfc_sql_rerun_claim(
        tx, &(pfc_sql_rerun_claim_args){ .project_id = job->project_id, .id = job->id }, &claimed,
        err);

    o->made = false;
    if (code || !claimed)
        return code;
    if (o->d->rule) {
        free(o->note); /* of a try that was rolled back */
        o->note = NULL;
        code = repeat(tx, o->d, &o->note, &o->made, err);
    }
    if (!code && o->note)
        code =
            pfc_sql_rerun_note(tx,
                               &(pfc_sql_rerun_note_args){
                                   .project_id = job->project_id, .id = job->id, .note = o->note },
                               err);
    return code;
}

/* The comparison reads all samples, so it is made before the transaction and not in it. */
static pfc_code decide_one(pfc_db *db, const pfc_sql_rerun_next_row *job, bool *made, pfc_err *err)
{
    decision d = { .job = job };
    outcome o = { .d = &d };
    pfc_err why = { 0 };
    pfc_code code = pfc_rerun_rules_parse(job->rules_json, &d.rules, &why);

    if (!code)
        code = choose_rule(db, &d, &why);
    if (code == PFC_EUNAVAIL || code == PFC_ETIMEOUT)
        return pfc_err_set(err, code, "%s", why.msg);
    if (code) { /* the same next time: it must not hold up the others */
        pfc_log(PFC_ERROR, "rerun_not_decided", "job", job->id, "why", why.msg);
        o.note = pfc_format("the rerun rules were not applied: %.400s", why.msg);
        d.rule = NULL;
    }
    code = pfc_db_write(db, store, &o, err);
    *made = !code && o.made;
    free(o.note);
    return code;
}

pfc_code pfc_reruns_decide(pfc_db *db, size_t *made, pfc_err *err)
{
    int64_t after = 0;
    pfc_code code = PFC_OK;

    *made = 0;
    do {
        pfc_sql_rerun_next_rows rows = { 0 };
        bool one = false;

        code = next_ended(db, after, &rows, err);
        after = !code && rows.len ? rows.items[0].id : 0;
        if (after)
            code = decide_one(db, &rows.items[0], &one, err);
        *made += one;
        pfc_rows_clear(&rows);
    } while (!code && after);
    return code;
}

/* ---- suspected changes ---- */

typedef struct suspicion {
    int64_t project_id;
    const int64_t *runs;
    size_t runs_len;
    size_t made;
} suspicion;

static pfc_code load_rules(pfc_tx *tx, int64_t project_id, pfc_rerun_rules *out, pfc_err *err)
{
    pfc_sql_rerun_rules_of_project_rows rows = { 0 };
    pfc_code code = pfc_sql_rerun_rules_of_project(
        tx, &(pfc_sql_rerun_rules_of_project_args){ .project_id = project_id }, &rows, err);

    *out = (pfc_rerun_rules){ 0 };
    if (!code && rows.len)
        code = pfc_rerun_rules_parse(rows.items[0].rules_json, out, err);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code suspect(pfc_tx *tx, void *into, pfc_err *err)
{
    suspicion *s = into;
    pfc_sql_rerun_suspects_rows rows = { 0 };
    pfc_rerun_rules rules;
    const pfc_rerun_rule *rule;
    pfc_code code = load_rules(tx, s->project_id, &rules, err);

    s->made = 0;
    rule = pfc_rerun_find(&rules, PFC_RERUN_SUSPECTED);
    if (code || !rule)
        return code;
    code = pfc_sql_rerun_suspects(tx,
                                  &(pfc_sql_rerun_suspects_args){ .project_id = s->project_id,
                                                                  .run_ids = s->runs,
                                                                  .run_ids_len = s->runs_len,
                                                                  .limit = MAX_SUSPECTS },
                                  &rows, err);
    for (size_t i = 0; i < rows.len && !code; i++) {
        const pfc_sql_rerun_suspects_row *row = &rows.items[i];
        const repetition r = { s->project_id, row->job_id, row->root, rule, row->done + 1 };
        int64_t id = 0;

        if (!row->open && row->done < rule->times)
            code = insert(tx, &r, &id, err);
        s->made += id != 0;
    }
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_reruns_suspect(pfc_db *db, int64_t project_id, const int64_t *runs, size_t runs_len,
                            size_t *made, pfc_err *err)
{
    suspicion s = { .project_id = project_id, .runs = runs, .runs_len = runs_len };
    pfc_code code = runs_len ? pfc_db_write(db, suspect, &s, err) : PFC_OK;

    *made = code ? 0 : s.made;
    return code;
}

pfc_code pfc_reruns_keep(pfc_tx *tx, const char *actor, int64_t job_id,
                         const pfc_rerun_rules *rules, pfc_err *err)
{
    pfc_sql_rerun_rules_set_rows rows = { 0 };
    char *text = pfc_rerun_rules_text(rules);
    pfc_code code = pfc_sql_rerun_rules_set(
        tx, &(pfc_sql_rerun_rules_set_args){ .job_id = job_id, .rules_json = text }, &rows, err);

    if (!code && rows.len)
        code =
            pfc_audit_add(tx, actor, "rerun_rules", rows.items[0].project_id, "project", text, err);
    pfc_rows_clear(&rows);
    free(text);
    return code;
}
