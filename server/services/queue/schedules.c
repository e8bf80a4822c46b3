/*
 * Schedules as users see them: stored, changed, removed, listed. schedule_fire.c starts nights.
 */
#include "server/services/queue/schedules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/parse.h"
#include "server/repo/documents/labels.h"
#include "server/services/queue/queue.h"
#include "server/services/queue/schedule_plan.h"

pfc_code pfc_schedules_all(pfc_db *db, int64_t project_id, pfc_schedules *out, pfc_err *err)
{
    return pfc_sql_schedules_list_once(
        db, &(pfc_sql_schedules_list_args){ .project_id = project_id }, out, err);
}

pfc_code pfc_schedule_get(pfc_db *db, int64_t project_id, const char *name, pfc_schedules *out,
                          pfc_err *err)
{
    pfc_code code = pfc_sql_schedules_list_once(
        db, &(pfc_sql_schedules_list_args){ .project_id = project_id, .name = name }, out, err);

    if (!code && out->len == 0) {
        pfc_rows_clear(out);
        code = pfc_err_set(err, PFC_ENOTFOUND, "no schedule \"%.63s\"", name);
    }
    return code;
}

/* The field of the error is that of the request. */
static pfc_code name_field(pfc_code code, const char *field, pfc_err *err)
{
    char msg[PFC_ERR_MAX];

    if (!code || !err)
        return code;
    memcpy(msg, err->msg, sizeof(msg));
    return pfc_err_set_field(err, code, field, "%s", msg);
}

static pfc_code check(const pfc_schedule_spec *s, pfc_err *err)
{
    if (!s->name || !pfc_is_slug(s->name))
        return pfc_err_set_field(err, PFC_EINVAL, "name",
                                 "name: expected lower-case letters, digits, '.', '_', '-', got "
                                 "\"%.80s\"",
                                 s->name ? s->name : "");
    if (s->max_commits < 0 || s->max_commits > PFC_JOB_MAX_COMMITS)
        return pfc_err_set_field(err, PFC_EINVAL, "max_commits",
                                 "max_commits: expected 1 to %d, got %lld", PFC_JOB_MAX_COMMITS,
                                 (long long)s->max_commits);
    if (s->budget_s != 0 && !(s->budget_s >= 1 && s->budget_s <= PFC_JOB_MAX_BUDGET_S))
        return pfc_err_set_field(err, PFC_EINVAL, "budget_s",
                                 "budget_s: expected 1 to %d seconds, got %g", PFC_JOB_MAX_BUDGET_S,
                                 s->budget_s);
    if (s->backends_len > PFC_JOB_MAX_BACKENDS)
        return pfc_err_set_field(err, PFC_EINVAL, "backends", "backends: expected at most %d",
                                 PFC_JOB_MAX_BACKENDS);
    return pfc_labels_check(s->labels, err);
}

pfc_code pfc_schedule_next(const char *cron_text, const char *zone_name, const char *zone_dir,
                           int64_t after, double *next, pfc_err *err)
{
    pfc_zone *zone = NULL;
    pfc_cron cron;
    int64_t at = 0;
    pfc_code code = name_field(pfc_cron_parse(cron_text, &cron, err), "cron", err);

    if (!code)
        code = name_field(pfc_zone_load(zone_name, zone_dir, &zone, err), "zone", err);
    if (!code && pfc_cron_next(&cron, zone, after, &at, err))
        code = pfc_err_set_field(err, PFC_EINVAL, "cron",
                                 "cron: \"%.100s\" never fires: there is no such day", cron_text);
    pfc_zone_free(zone);
    if (!code)
        *next = (double)at;
    return code;
}

/* id 0: a new one. */
static pfc_code put(pfc_tx *tx, int64_t project_id, int64_t id, const pfc_schedule_spec *s,
                    int64_t *stored, pfc_err *err)
{
    char *labels = pfc_labels_text(s->labels);
    const char *zone = s->zone ? s->zone : PFC_SCHEDULE_ZONE;
    double next = NAN;
    /* Times of the database and of this machine may differ; that of the database decides when it
     * fires, so that a time just passed fires at once. */
    pfc_code code = pfc_schedule_next(s->cron, zone, NULL, (int64_t)pfc_clock_unix_s(), &next, err);

    if (!code)
        code = pfc_sql_schedule_put(
            tx,
            &(pfc_sql_schedule_put_args){
                .project_id = project_id,
                .id = id,
                .name = s->name,
                .cron = s->cron,
                .zone = zone,
                .branch = s->branch,
                .suite = s->suite,
                .backends = s->backends,
                .backends_len = s->backends_len,
                .labels_json = labels,
                .max_commits = s->max_commits ? s->max_commits : PFC_SCHEDULE_MAX_COMMITS,
                .budget_s = s->budget_s > 0 ? s->budget_s : PFC_SCHEDULE_BUDGET_S,
                .enabled = s->enabled,
                .next_at = s->enabled ? next : (double)NAN },
            stored, err);
    free(labels);
    return code;
}

static pfc_code note(pfc_tx *tx, const char *actor, const char *action, int64_t project_id,
                     const char *name, const char *detail, pfc_err *err)
{
    char *what = pfc_format("schedule %.63s", name);
    pfc_code code = pfc_audit_add(tx, actor, action, project_id, what, detail, err);

    free(what);
    return code;
}

static pfc_code note_put(pfc_tx *tx, const char *actor, const char *action, int64_t project_id,
                         const pfc_schedule_spec *s, pfc_err *err)
{
    char *detail = pfc_format("%s %s%s", s->cron, s->zone ? s->zone : PFC_SCHEDULE_ZONE,
                              s->enabled ? "" : ", disabled");
    pfc_code code = note(tx, actor, action, project_id, s->name, detail, err);

    free(detail);
    return code;
}

pfc_code pfc_schedule_add(pfc_db *db, const char *actor, int64_t project_id,
                          const pfc_schedule_spec *spec, pfc_err *err)
{
    pfc_tx *tx = NULL;
    int64_t id = 0, count = 0;
    pfc_code code = check(spec, err);

    if (!code)
        code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = pfc_sql_schedules_count(
            tx, &(pfc_sql_schedules_count_args){ .project_id = project_id }, &count, err);
    if (!code && count >= PFC_SCHEDULES_MAX)
        code = pfc_err_set(err, PFC_ECONFLICT, "the project has %d schedules: remove one",
                           PFC_SCHEDULES_MAX);
    if (!code)
        code = put(tx, project_id, 0, spec, &id, err);
    if (!code && !id)
        code = pfc_err_set_field(err, PFC_ECONFLICT, "name", "schedule \"%.63s\" exists already",
                                 spec->name);
    if (!code)
        code = note_put(tx, actor, "create", project_id, spec, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_schedule_lock(pfc_tx *tx, int64_t project_id, const char *name,
                           pfc_sql_schedule_due_rows *out, pfc_err *err)
{
    pfc_code code = pfc_sql_schedule_lock(
        tx, &(pfc_sql_schedule_lock_args){ .project_id = project_id, .name = name }, out, err);

    if (!code && out->len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no schedule \"%.63s\"", name);
    return code;
}

pfc_code pfc_schedule_change(pfc_db *db, const char *actor, int64_t project_id,
                             const pfc_schedule_spec *spec, pfc_err *err)
{
    pfc_sql_schedule_due_rows rows = { 0 };
    pfc_tx *tx = NULL;
    int64_t id = 0;
    pfc_code code = check(spec, err);

    if (!code)
        code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = pfc_schedule_lock(tx, project_id, spec->name, &rows, err);
    if (!code)
        code = put(tx, project_id, rows.items[0].id, spec, &id, err);
    if (!code)
        code = note_put(tx, actor, "change", project_id, spec, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_schedule_remove(pfc_db *db, const char *actor, int64_t project_id, const char *name,
                             pfc_err *err)
{
    size_t removed = 0;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_schedule_remove(
            tx, &(pfc_sql_schedule_remove_args){ .project_id = project_id, .name = name }, &removed,
            err);
    if (!code && !removed)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no schedule \"%.63s\"", name);
    if (!code)
        code = note(tx, actor, "delete", project_id, name, NULL, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_nights_list(pfc_db *db, int64_t project_id, const char *name, int64_t id,
                         pfc_page page, pfc_scheduled_nights *out, pfc_err *err)
{
    pfc_schedules known = { 0 };
    pfc_code code = pfc_schedule_get(db, project_id, name, &known, err);

    pfc_rows_clear(&known);
    if (!code)
        code =
            pfc_sql_nights_list_once(db,
                                     &(pfc_sql_nights_list_args){ .project_id = project_id,
                                                                  .name = name,
                                                                  .id = id,
                                                                  .cursor = page.cursor,
                                                                  .limit = pfc_page_fetch(page) },
                                     out, err);
    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}
