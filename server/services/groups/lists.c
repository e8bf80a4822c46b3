/* Lists of groups, their alerts with the highest worth, and improvements. */
#include <math.h>
#include <stdlib.h>

#include "server/repo/sql/groups.h"
#include "server/services/alerts/group_summary.h"
#include "server/services/groups/groups.h"
#include "server/services/service.h"

static pfc_sql_alert_group_list_args list_args(const pfc_group_filter *f, pfc_page page)
{
    return (pfc_sql_alert_group_list_args){ .project_id = f->project_id,
                                            .ids = f->ids,
                                            .ids_len = f->ids_len,
                                            .state = f->state,
                                            .assignee = f->assignee,
                                            .kernel = f->kernel,
                                            .backend = f->backend,
                                            .machine_class = f->machine_class,
                                            .words = f->words,
                                            .owner = f->owner,
                                            .back = f->back,
                                            .by_worth = f->by_worth,
                                            .cursor = page.cursor,
                                            .limit = pfc_page_fetch(page) };
}

static pfc_code read_leads(pfc_db *db, const pfc_groups *groups, pfc_alerts *leads, pfc_err *err)
{
    int64_t *ids = pfc_calloc(groups->len + 1, sizeof(*ids));
    pfc_code code;

    for (size_t i = 0; i < groups->len; i++)
        ids[i] = groups->items[i].lead_id;
    code = pfc_sql_alerts_list_once(db,
                                    &(pfc_sql_alerts_list_args){ .limit = (int64_t)groups->len + 1,
                                                                 .alert_ids = ids,
                                                                 .alert_ids_len = groups->len },
                                    leads, err);
    free(ids);
    return code;
}

pfc_code pfc_groups_list(pfc_db *db, const pfc_group_filter *filter, pfc_page page, pfc_groups *out,
                         pfc_alerts *leads, pfc_err *err)
{
    const pfc_sql_alert_group_list_args args = list_args(filter, page);
    pfc_code code = pfc_sql_alert_group_list_once(db, &args, out, err);

    if (!code)
        pfc_rows_cut(out, page, id);
    return code ? code : read_leads(db, out, leads, err);
}

pfc_code pfc_groups_get(pfc_db *db, int64_t id, pfc_groups *out, pfc_alerts *leads, pfc_err *err)
{
    const pfc_group_filter filter = { .ids = &id, .ids_len = 1 };
    pfc_code code = pfc_groups_list(db, &filter, (pfc_page){ .limit = 1 }, out, leads, err);

    return code ? code : pfc_rows_expect_one(out->len, "such group", err);
}

pfc_code pfc_group_events_list(pfc_db *db, int64_t id, pfc_group_events *out, pfc_err *err)
{
    return pfc_sql_alert_group_events_once(
        db, &(pfc_sql_alert_group_events_args){ .group_id = id, .limit = PFC_GROUP_EVENTS_MAX },
        out, err);
}

/* ---- improvements ---- */

/* The change of series `id` at the commit; NAN: it has none. */
static double change_of(const int64_t *ids, const double *changes, size_t len, int64_t id)
{
    for (size_t i = 0; i < len; i++) {
        if (ids[i] == id)
            return changes[i];
    }
    return (double)NAN;
}

static pfc_code summarise(pfc_tx *tx, const pfc_improvement *row, char **out, pfc_err *err)
{
    pfc_sql_group_slices_rows slices = { 0 };
    pfc_slice_series *series;
    pfc_labels *params;
    int64_t *ids = NULL;
    double *changes = NULL;
    size_t ids_len = 0, changes_len = 0;
    pfc_code code;

    code = pfc_sql_group_slices(tx,
                                &(pfc_sql_group_slices_args){ .project_id = row->project_id,
                                                              .branch = row->branch,
                                                              .commit_ids = &row->commit_id,
                                                              .commit_ids_len = 1 },
                                &slices, err);
    pfc_array_i64s(row->series_ids, &ids, &ids_len);
    pfc_array_f64s(row->rel_changes, &changes, &changes_len);
    series = pfc_calloc(slices.len + 1, sizeof(*series));
    params = pfc_calloc(slices.len + 1, sizeof(*params));
    for (size_t i = 0; !code && i < slices.len; i++) {
        const pfc_sql_group_slices_row *s = &slices.items[i];
        const double rel = change_of(ids, changes, PFC_MIN(ids_len, changes_len), s->id);

        if (s->params_json)
            code = pfc_labels_parse(s->params_json, &params[i], err);
        series[i] = (pfc_slice_series){ .benchmark = s->benchmark,
                                        .metric = s->metric,
                                        .backend = s->backend,
                                        .machine_class = s->machine_class,
                                        .params = &params[i],
                                        .hit = !isnan(rel),
                                        .rel_change = rel,
                                        .headline = s->headline };
    }
    if (!code)
        *out = slices.len ? pfc_slice_summary(series, slices.len) : pfc_strdup("");
    for (size_t i = 0; i < slices.len; i++)
        pfc_labels_clear(&params[i]);
    free(params);
    free(series);
    free(changes);
    free(ids);
    pfc_rows_clear(&slices);
    return code;
}

pfc_code pfc_improvements_list(pfc_db *db, const pfc_group_filter *f, pfc_page page,
                               pfc_improvements *out, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    if (!code)
        code = pfc_sql_alert_group_improvements(
            tx,
            &(pfc_sql_alert_group_improvements_args){ .project_id = f->project_id,
                                                      .kernel = f->kernel,
                                                      .backend = f->backend,
                                                      .machine_class = f->machine_class,
                                                      .words = f->words,
                                                      .cursor = page.cursor,
                                                      .limit = pfc_page_fetch(page) },
            &out->rows, err);
    if (!code) {
        pfc_rows_cut(&out->rows, page, id);
        out->summaries = pfc_calloc(out->rows.len + 1, sizeof(*out->summaries));
    }
    for (size_t i = 0; !code && i < out->rows.len; i++)
        code = summarise(tx, &out->rows.items[i], &out->summaries[i], err);
    pfc_tx_free(tx);
    return code;
}

void pfc_improvements_clear(pfc_improvements *list)
{
    if (list->summaries)
        pfc_texts_free(list->summaries, list->rows.len);
    list->summaries = NULL;
    pfc_rows_clear(&list->rows);
}
