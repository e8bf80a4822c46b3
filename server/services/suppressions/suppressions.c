/* Suppression rules; see suppressions.h. */
#include "server/services/suppressions/suppressions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "server/repo/documents/labels.h"

#define MAX_CHANGE 10.0

/* ---- checking ---- */

static pfc_code check_glob(const char *field, const char *glob, pfc_err *err)
{
    size_t stars = 0;

    if (!glob)
        return PFC_OK;
    for (const char *c = glob; *c; c++)
        stars += *c == '*';
    if (*glob && strlen(glob) <= PFC_WIRE_MAX_NAME && stars <= PFC_SUPPRESSION_MAX_STARS)
        return PFC_OK;
    return pfc_err_set_field(err, PFC_EINVAL, field,
                             "%s: expected a glob of 1 to %d bytes with at most %d '*', got "
                             "%zu bytes with %zu",
                             field, PFC_WIRE_MAX_NAME, PFC_SUPPRESSION_MAX_STARS, strlen(glob),
                             stars);
}

static bool is_empty(const pfc_suppression_matcher *m)
{
    return !m->benchmark && !m->backend && !m->machine_class && !m->metric && !m->direction &&
           isnan(m->max_change) && (!m->params || m->params->len == 0);
}

static pfc_code check_matcher(const pfc_suppression_matcher *m, pfc_err *err)
{
    pfc_code code = check_glob("benchmark", m->benchmark, err);

    if (!code)
        code = check_glob("backend", m->backend, err);
    if (!code)
        code = check_glob("machine_class", m->machine_class, err);
    if (!code)
        code = check_glob("metric", m->metric, err);
    for (size_t i = 0; !code && m->params && i < m->params->len; i++)
        code = check_glob("params", m->params->items[i].value, err);
    if (!code && m->direction && strcmp(m->direction, "up") != 0 &&
        strcmp(m->direction, "down") != 0)
        code = pfc_err_set_field(err, PFC_EINVAL, "direction",
                                 "direction: expected up or down, got \"%.40s\"", m->direction);
    if (!code && !isnan(m->max_change) && !(m->max_change > 0 && m->max_change <= MAX_CHANGE))
        code = pfc_err_set_field(err, PFC_EINVAL, "max_change",
                                 "max_change: expected a relative change above 0 and up to %g, got "
                                 "%g",
                                 MAX_CHANGE, m->max_change);
    if (!code && is_empty(m))
        code = pfc_err_set_field(err, PFC_EINVAL, "benchmark",
                                 "expected at least one of benchmark, params, backend, "
                                 "machine_class, metric, direction and max_change: a rule that "
                                 "fits every alert hides them all");
    return code;
}

static pfc_code check_text(const char *field, const char *text, size_t most, pfc_err *err)
{
    const size_t len = text ? strlen(text) : 0;

    if (len > 0 && len <= most)
        return PFC_OK;
    return pfc_err_set_field(err, PFC_EINVAL, field, "%s: expected 1 to %zu bytes, got %zu", field,
                             most, len);
}

static pfc_code check(const pfc_suppression_spec *s, pfc_err *err)
{
    pfc_code code = check_text("owner", s->owner, PFC_WIRE_MAX_NAME, err);

    if (!code)
        code = check_text("reason", s->reason, PFC_WIRE_MAX_TEXT, err);
    if (!code && (s->days < 1 || s->days > PFC_SUPPRESSION_MAX_DAYS))
        code = pfc_err_set_field(err, PFC_EINVAL, "days", "days: expected 1 to %d, got %lld",
                                 PFC_SUPPRESSION_MAX_DAYS, (long long)s->days);
    return code ? code : check_matcher(&s->matcher, err);
}

/* ---- writing ---- */

static pfc_code note(pfc_tx *tx, const char *actor, const char *action, int64_t project_id,
                     int64_t id, const char *detail, pfc_err *err)
{
    char *what = pfc_format("suppression %lld", (long long)id);
    pfc_code code = pfc_audit_add(tx, actor, action, project_id, what, detail, err);

    free(what);
    return code;
}

static pfc_code settle(pfc_tx *tx, int64_t project_id, pfc_suppressions_settled *out, pfc_err *err)
{
    pfc_sql_suppressions_settle_rows rows = { 0 };
    pfc_code code = pfc_sql_suppressions_settle(
        tx, &(pfc_sql_suppressions_settle_args){ .project_id = project_id }, &rows, err);

    if (!code && out)
        *out = rows.items[0];
    pfc_rows_clear(&rows);
    return code;
}

/* The arguments of the writing functions. */
typedef struct change {
    const char *actor;
    int64_t project_id, id;
    const pfc_suppression_spec *spec;
    pfc_suppressions_settled settled;
} change;

static pfc_code add(pfc_tx *tx, void *into, pfc_err *err)
{
    change *c = into;
    const pfc_suppression_spec *s = c->spec;
    const pfc_suppression_matcher *m = &s->matcher;
    char *params = pfc_labels_text(m->params);
    char *detail = pfc_format("%.80s, %lld days: %.200s", s->owner, (long long)s->days, s->reason);
    int64_t count = 0;
    pfc_code code = pfc_sql_suppressions_count(
        tx, &(pfc_sql_suppressions_count_args){ .project_id = c->project_id }, &count, err);

    if (!code && count >= PFC_SUPPRESSIONS_MAX)
        code = pfc_err_set(err, PFC_ECONFLICT,
                           "the project has %d active suppression rules: end one first",
                           PFC_SUPPRESSIONS_MAX);
    if (!code)
        code = pfc_sql_suppression_put(
            tx,
            &(pfc_sql_suppression_put_args){ .project_id = c->project_id,
                                             .owner = s->owner,
                                             .reason = s->reason,
                                             .benchmark = m->benchmark,
                                             .params_json = params,
                                             .backend = m->backend,
                                             .machine_class = m->machine_class,
                                             .metric = m->metric,
                                             .direction = m->direction,
                                             .max_change = m->max_change,
                                             .actor = c->actor,
                                             .days = s->days },
            &c->id, err);
    if (!code)
        code = note(tx, c->actor, "suppress", c->project_id, c->id, detail, err);
    if (!code)
        code = settle(tx, c->project_id, NULL, err);
    free(detail);
    free(params);
    return code;
}

pfc_code pfc_suppression_add(pfc_db *db, const char *actor, int64_t project_id,
                             const pfc_suppression_spec *spec, int64_t *id, pfc_err *err)
{
    change c = { .actor = actor, .project_id = project_id, .spec = spec };
    pfc_code code = check(spec, err);

    if (!code)
        code = pfc_db_write(db, add, &c, err);
    if (!code)
        *id = c.id;
    return code;
}

static pfc_code end(pfc_tx *tx, void *into, pfc_err *err)
{
    const change *c = into;
    int64_t ended = 0;
    pfc_code code =
        pfc_sql_suppression_end(tx,
                                &(pfc_sql_suppression_end_args){
                                    .project_id = c->project_id, .id = c->id, .actor = c->actor },
                                &ended, err);

    if (!code && ended)
        code = note(tx, c->actor, "unsuppress", c->project_id, c->id, NULL, err);
    if (!code && ended)
        code = settle(tx, c->project_id, NULL, err);
    return code;
}

pfc_code pfc_suppression_end(pfc_db *db, const char *actor, int64_t project_id, int64_t id,
                             pfc_err *err)
{
    change c = { .actor = actor, .project_id = project_id, .id = id };
    pfc_suppressions known = { 0 };
    pfc_code code = pfc_suppression_get(db, project_id, id, &known, err);

    pfc_rows_clear(&known);
    return code ? code : pfc_db_write(db, end, &c, err);
}

static pfc_code settle_all(pfc_tx *tx, void *into, pfc_err *err)
{
    change *c = into;

    return settle(tx, 0, &c->settled, err);
}

pfc_code pfc_suppressions_settle(pfc_db *db, pfc_suppressions_settled *out, pfc_err *err)
{
    change c = { 0 };
    pfc_code code = pfc_db_write(db, settle_all, &c, err);

    if (!code)
        *out = c.settled;
    return code;
}

/* ---- reading ---- */

pfc_code pfc_suppressions_page(pfc_db *db, int64_t project_id, bool ended, pfc_page page,
                               pfc_suppressions *out, pfc_err *err)
{
    pfc_code code = pfc_sql_suppressions_list_once(
        db,
        &(pfc_sql_suppressions_list_args){ .project_id = project_id,
                                           .ended = ended,
                                           .cursor = page.cursor,
                                           .limit = pfc_page_fetch(page) },
        out, err);

    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}

pfc_code pfc_suppression_get(pfc_db *db, int64_t project_id, int64_t id, pfc_suppressions *out,
                             pfc_err *err)
{
    pfc_code code = pfc_sql_suppressions_list_once(
        db,
        &(pfc_sql_suppressions_list_args){
            .project_id = project_id, .id = id, .ended = true, .limit = 1 },
        out, err);

    if (!code && (out->len == 0 || id <= 0)) {
        pfc_rows_clear(out);
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such suppression rule");
    }
    return code;
}

pfc_code pfc_suppressed_page(pfc_db *db, int64_t project_id, int64_t id, pfc_page page,
                             pfc_suppressed_alerts *out, pfc_err *err)
{
    pfc_code code = pfc_sql_suppressed_alerts_once(
        db,
        &(pfc_sql_suppressed_alerts_args){ .project_id = project_id,
                                           .suppression_id = id,
                                           .cursor = page.cursor,
                                           .limit = pfc_page_fetch(page) },
        out, err);

    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}

static pfc_code try_matcher(pfc_tx *tx, int64_t project_id, const pfc_suppression_matcher *m,
                            const char *params, pfc_suppression_counts *counts,
                            pfc_suppressed_alerts *rows, pfc_err *err)
{
    pfc_sql_suppression_counts_rows counted = { 0 };
    pfc_code code = pfc_sql_suppression_counts(
        tx,
        &(pfc_sql_suppression_counts_args){ .project_id = project_id,
                                            .benchmark = m->benchmark,
                                            .params_json = params,
                                            .backend = m->backend,
                                            .machine_class = m->machine_class,
                                            .metric = m->metric,
                                            .direction = m->direction,
                                            .max_change = m->max_change },
        &counted, err);

    if (!code)
        *counts = counted.items[0];
    pfc_rows_clear(&counted);
    if (!code)
        code = pfc_sql_suppression_preview(
            tx,
            &(pfc_sql_suppression_preview_args){ .project_id = project_id,
                                                 .benchmark = m->benchmark,
                                                 .params_json = params,
                                                 .backend = m->backend,
                                                 .machine_class = m->machine_class,
                                                 .metric = m->metric,
                                                 .direction = m->direction,
                                                 .max_change = m->max_change,
                                                 .limit = PFC_SUPPRESSION_PREVIEW_ROWS },
            rows, err);
    return code;
}

pfc_code pfc_suppression_try(pfc_db *db, int64_t project_id, const pfc_suppression_matcher *matcher,
                             pfc_suppression_counts *counts, pfc_suppressed_alerts *rows,
                             pfc_err *err)
{
    char *params = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = check_matcher(matcher, err);

    if (!code)
        code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);
    if (!code) {
        params = pfc_labels_text(matcher->params);
        code = try_matcher(tx, project_id, matcher, params, counts, rows, err);
    }
    pfc_tx_free(tx);
    free(params);
    return code;
}
