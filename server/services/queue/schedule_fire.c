/*
 * Starting the nights of schedules. All happens in one transaction under the schedule's row lock:
 * the night, its job and the next due time are stored together or not at all.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/services/queue/queue.h"
#include "server/services/queue/schedule_plan.h"

/* A night that is about to be stored. */
typedef struct night {
    const char *actor, *state;
    char why[256];
    double due_s; /* NAN: a person started it */
    int64_t job_id;
    const char *head, *base;
    size_t commits;
    int64_t left_out;
} night;

static pfc_code read_plan(pfc_tx *tx, const pfc_sql_schedule_due_row *s, const pfc_labels *labels,
                          pfc_sql_night_plan_rows *out, pfc_err *err)
{
    return pfc_sql_night_plan(
        tx,
        &(pfc_sql_night_plan_args){ .project_id = s->project_id,
                                    .schedule_id = s->id,
                                    .branch = s->branch,
                                    .machine_class = pfc_labels_get(labels, "machine_class"),
                                    .limit = s->max_commits },
        out, err);
}

/* One job for all commits of the plan, in blocks on the base; without a base, where there is
 * nothing to compare with, only the newest one. */
static pfc_code put_job(pfc_tx *tx, const pfc_sql_schedule_due_row *s, const pfc_labels *labels,
                        const pfc_sql_night_plan_rows *plan, night *n, pfc_err *err)
{
    const char **commits = pfc_calloc(plan->len, sizeof(*commits));
    pfc_texts backends = { 0 };
    const pfc_job_blocks blocks = {
        .commits = commits, .commits_len = plan->len, .base = n->base, .budget_s = s->budget_s
    };
    bool created = false;
    pfc_job_spec spec = { .kind = "nightly",
                          .commit = n->head,
                          .branch = s->branch,
                          .suite = s->suite,
                          .source = s->source,
                          .labels = labels,
                          .priority = PFC_JOB_BY_KIND,
                          .blocks = n->base ? &blocks : NULL };
    pfc_code code;

    for (size_t i = 0; i < plan->len; i++)
        commits[i] = plan->items[plan->len - 1 - i].sha; /* in the order of history */
    pfc_array_texts(s->backends, &backends);
    spec.backends = (const char *const *)backends.items;
    spec.backends_len = backends.len;
    code = pfc_job_enqueue_in(tx, n->actor, s->project_id, &spec, &created, &n->job_id, err);
    pfc_texts_clear(&backends);
    free(commits);
    return code;
}

/* Decides the night's state, and queues its job. `plan` keeps the texts. */
static pfc_code plan_night(pfc_tx *tx, const pfc_sql_schedule_due_row *s,
                           pfc_sql_night_plan_rows *plan, night *n, pfc_err *err)
{
    pfc_labels labels = { 0 };
    pfc_code code = pfc_labels_parse(s->labels_json, &labels, err);

    if (!code)
        code = read_plan(tx, s, &labels, plan, err);
    if (code) {
        pfc_labels_clear(&labels);
        return code;
    }
    n->state = "running";
    if (plan->len == 0) {
        n->state = "nothing";
        (void)snprintf(n->why, sizeof(n->why), "branch %.100s has no new commit", s->branch);
    } else {
        n->head = plan->items[0].sha;
        n->base = plan->items[0].base;
        n->commits = n->base ? plan->len : 1;
        n->left_out = n->base ? plan->items[0].total - (int64_t)plan->len : 0;
    }
    if (plan->len && !s->source) {
        n->state = "failed";
        (void)snprintf(n->why, sizeof(n->why),
                       "the project has no repository URL, from which runners get the commits");
    } else if (plan->len) {
        code = put_job(tx, s, &labels, plan, n, err);
    }
    pfc_labels_clear(&labels);
    return code;
}

static pfc_code store_night(pfc_tx *tx, const pfc_sql_schedule_due_row *s, const night *n,
                            int64_t *id, pfc_err *err)
{
    return pfc_sql_night_put(tx,
                             &(pfc_sql_night_put_args){ .project_id = s->project_id,
                                                        .schedule_id = s->id,
                                                        .due_s = n->due_s,
                                                        .actor = n->actor,
                                                        .state = n->state,
                                                        .reason = n->why,
                                                        .job_id = n->job_id,
                                                        .head = n->head,
                                                        .base = n->base,
                                                        .commits = (int64_t)n->commits,
                                                        .left_out = n->left_out },
                             id, err);
}

/* Says in n->why which night of the schedule runs; "": none does. */
static pfc_code find_running(pfc_tx *tx, const pfc_sql_schedule_due_row *s, night *n, pfc_err *err)
{
    pfc_sql_night_running_rows running = { 0 };
    pfc_code code = pfc_sql_night_running(
        tx, &(pfc_sql_night_running_args){ .project_id = s->project_id, .schedule_id = s->id },
        &running, err);

    if (!code && running.len)
        (void)snprintf(n->why, sizeof(n->why), "night %lld still runs: job %lld is %s",
                       (long long)running.items[0].id, (long long)running.items[0].job_id,
                       running.items[0].job_state ? running.items[0].job_state : "gone");
    pfc_rows_clear(&running);
    return code;
}

static pfc_code settle(pfc_tx *tx, int64_t project_id, pfc_err *err)
{
    pfc_sql_nights_settle_rows ended = { 0 };
    pfc_code code = pfc_sql_nights_settle(
        tx, &(pfc_sql_nights_settle_args){ .project_id = project_id }, &ended, err);

    pfc_rows_clear(&ended);
    return code;
}

/* The night of a locked schedule; refuse: an earlier one that runs is an error, else the night is
 * stored as skipped. */
static pfc_code start_night(pfc_tx *tx, const pfc_sql_schedule_due_row *s, bool refuse, night *n,
                            int64_t *id, pfc_err *err)
{
    pfc_sql_night_plan_rows plan = { 0 };
    pfc_code code = find_running(tx, s, n, err);

    if (!code && n->why[0] && refuse)
        code = pfc_err_set(err, PFC_ECONFLICT, "schedule \"%.63s\": %s", s->name, n->why);
    else if (!code && n->why[0])
        n->state = "skipped";
    else if (!code)
        code = plan_night(tx, s, &plan, n, err);
    if (!code)
        code = store_night(tx, s, n, id, err);
    pfc_rows_clear(&plan);
    n->head = n->base = NULL; /* were the plan's */
    return code;
}

pfc_code pfc_schedule_run(pfc_db *db, const char *actor, int64_t project_id, const char *name,
                          int64_t *night_id, pfc_err *err)
{
    pfc_sql_schedule_due_rows rows = { 0 };
    night n = { .actor = actor, .due_s = (double)NAN };
    char *what = pfc_format("schedule %.63s", name);
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = settle(tx, project_id, err);
    if (!code)
        code = pfc_schedule_lock(tx, project_id, name, &rows, err);
    if (!code)
        code = start_night(tx, &rows.items[0], true, &n, night_id, err);
    if (!code)
        code = pfc_audit_add(tx, actor, "run", project_id, what, n.state, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    pfc_rows_clear(&rows);
    free(what);
    return code;
}

/* ---- due ones ---- */

/* A text that was made for a struct of fixed size. */
static void copy(char *out, size_t size, const char *text)
{
    (void)snprintf(out, size, "%s", text ? text : "");
}

static pfc_code fire(pfc_tx *tx, const pfc_sql_schedule_due_row *s, const char *zone_dir,
                     pfc_fired *out, pfc_err *err)
{
    night n = { .actor = "schedule", .due_s = s->due_s, .state = "" };
    const bool due = isfinite(s->due_s);
    double next = NAN;
    pfc_err why = { 0 };
    pfc_code code = PFC_OK;

    if (due)
        code = start_night(tx, s, false, &n, &out->night, err);
    /* After now, so that a service that was down catches up once. */
    if (!code && pfc_schedule_next(s->cron, s->zone, zone_dir, (int64_t)s->now_s, &next, &why))
        copy(out->trouble, sizeof(out->trouble), why.msg);
    out->job_id = n.job_id;
    copy(out->state, sizeof(out->state), n.state);
    copy(out->why, sizeof(out->why), n.why);
    return code ? code
                : pfc_sql_schedule_planned(tx,
                                           &(pfc_sql_schedule_planned_args){
                                               .project_id = s->project_id,
                                               .id = s->id,
                                               .last_s = s->due_s,
                                               .next_s = next,
                                               .trouble = out->trouble[0] ? out->trouble : NULL },
                                           err);
}

pfc_code pfc_schedules_fire(pfc_db *db, const char *zone_dir, pfc_fired *out, pfc_err *err)
{
    pfc_sql_schedule_due_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    size_t due = 0;

    *out = (pfc_fired){ 0 };
    if (!code)
        code = settle(tx, 0, err);
    if (!code)
        code = pfc_sql_schedules_due(tx, &rows, err);
    due = rows.len;
    if (!code && due)
        code = fire(tx, &rows.items[0], zone_dir, out, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    pfc_rows_clear(&rows);
    return code || due ? code : pfc_err_set(err, PFC_ENOTFOUND, "no schedule is due");
}

pfc_code pfc_nights_prune(pfc_db *db, int days, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_nights_prune(tx, &(pfc_sql_nights_prune_args){ .days = days }, err);
    pfc_tx_free(tx);
    return code;
}
