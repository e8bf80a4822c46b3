/*
 * Series as the list and the search show them.
 */
#include "server/repo/tables/rows.h"

static const pfc_col series_cols[] = {
    PFC_COL(pfc_series, id, "id", I64),
    PFC_COL(pfc_series, project_id, "project_id", I64),
    PFC_COL(pfc_series, project, "project", TEXT),
    PFC_COL(pfc_series, benchmark, "benchmark", TEXT),
    PFC_COL(pfc_series, metric, "metric", TEXT),
    PFC_COL(pfc_series, backend, "backend", TEXT),
    PFC_COL(pfc_series, machine_class, "machine_class", TEXT),
    PFC_COL(pfc_series, branch, "branch", TEXT),
    PFC_COL(pfc_series, unit, "unit", TEXT),
    PFC_COL(pfc_series, higher_is_better, "higher_is_better", BOOL),
    PFC_COL(pfc_series, exact, "exact", BOOL),
    PFC_COL(pfc_series, headline, "headline", BOOL),
    PFC_COL(pfc_series, points, "points", I64),
    PFC_COL(pfc_series, last_commit, "last_commit", TEXT),
    PFC_COL(pfc_series, last_time, "last_time", F64),
    PFC_COL(pfc_series, last_median, "last_median", F64),
    PFC_COL(pfc_series, noise_rel, "noise_rel", F64),
    PFC_COL(pfc_series, watching, "watching", I64),
    PFC_COL(pfc_series, watching_of, "watching_of", I64),
    PFC_COL(pfc_series, level_points, "level_points", I64),
    PFC_COL(pfc_series, detectable_rel, "detectable_rel", F64),
    PFC_COL(pfc_series, judged, "judged", BOOL),
    PFC_COL(pfc_series, spark_json, "spark", TEXT),
    PFC_COL(pfc_series, change_rel, "change_rel", F64),
    PFC_COL(pfc_series, change_regression, "change_regression", BOOL),
    PFC_COL(pfc_series, change_confirmed, "change_confirmed", BOOL),
    PFC_COL(pfc_series, change_firm, "change_firm", BOOL),
    PFC_COL(pfc_series, change_commit, "change_commit", TEXT),
    PFC_COL(pfc_series, anchor, "anchor", TEXT),
    PFC_COL(pfc_series, two_speeds_json, "two_speeds", TEXT),
    PFC_COL(pfc_series, change_alert_id, "change_alert_id", I64),
    PFC_COL(pfc_series, change_withheld, "change_withheld", TEXT),
    PFC_COL(pfc_series, change_withheld_detail, "change_withheld_detail", TEXT),
};
static const pfc_shape series_shape = PFC_SHAPE(series_cols, pfc_series);

static void series_args(pfc_args *args, int64_t project_id, int64_t series_id,
                        const pfc_series_filter *f, pfc_page page)
{
    pfc_args_id(args, project_id);
    pfc_args_id(args, series_id);
    pfc_args_text(args, f->metric);
    pfc_args_text(args, f->benchmark);
    pfc_args_text(args, f->backend);
    pfc_args_text(args, f->machine_class);
    pfc_args_text(args, f->branch);
    pfc_args_text(args, f->words);
    pfc_args_bool(args, f->headline);
    pfc_args_i64(args, PFC_MIN(PFC_MAX(f->spark, 0), 200));
    pfc_args_cursor(args, page);
    pfc_args_i64(args, pfc_page_fetch(page));
}

pfc_code pfc_series_list(pfc_db *db, int64_t project_id, const pfc_series_filter *filter,
                         pfc_page page, pfc_series_rows *out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    series_args(&args, project_id, 0, filter, page);
    code = pfc_rows_read(db, "series_list", &args, &series_shape, &page, &rows, err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}

pfc_code pfc_series_get(pfc_db *db, int64_t series_id, pfc_series_rows *out, pfc_err *err)
{
    const pfc_series_filter filter = { .spark = 200 };
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    if (series_id <= 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "no such series");
    series_args(&args, 0, series_id, &filter, (pfc_page){ 0 });
    code = pfc_rows_one(db, "series_list", &args, &series_shape, &rows, "such series", err);
    if (!code)
        PFC_ROWS_INTO(out, rows);
    return code;
}
