/* Alerts by SQL. */
#include "tests/server/plant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "core/base/parse.h"
#include "server/services/access/access.h"

/* First column of the first row, caller frees; NULL: no row or SQL NULL. One connection a test,
 * which is a process of its own: connecting costs more than most statements. */
static char *run_sql(const char *url, const char *sql)
{
    static PGconn *pg;
    static char *pg_url;
    char *value = NULL;
    PGresult *res;

    if (!pg || strcmp(pg_url, url) != 0) {
        PQfinish(pg);
        free(pg_url);
        pg = PQconnectdb(url);
        pg_url = pfc_strdup(url);
    }
    res = PQexec(pg, sql);
    if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
        pfc_die("plant: %s", PQerrorMessage(pg));
    if (PQntuples(res) > 0 && !PQgetisnull(res, 0, 0))
        value = pfc_strdup(PQgetvalue(res, 0, 0));
    PQclear(res);
    return value;
}

static char *format_sql(const char *format, va_list list)
{
    va_list again;
    char *sql;
    int len;

    va_copy(again, list);
    len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    sql = pfc_alloc((size_t)len + 1);
    (void)vsnprintf(sql, (size_t)len + 1, format, list);
    return sql;
}

void plant_sql(const char *url, const char *format, ...)
{
    va_list list;
    char *sql;

    va_start(list, format);
    sql = format_sql(format, list);
    va_end(list);
    free(run_sql(url, sql));
    free(sql);
}

int64_t plant_number(const char *url, const char *format, ...)
{
    va_list list;
    char *sql, *text;
    int64_t value = 0;

    va_start(list, format);
    sql = format_sql(format, list);
    va_end(list);
    text = run_sql(url, sql);
    if (text && pfc_parse_i64(text, INT64_MIN, INT64_MAX, "value", &value, NULL))
        pfc_die("plant: \"%s\" is no number", text);
    free(text);
    free(sql);
    return value;
}

int64_t plant_alert(const char *url, int64_t project, const planted *a)
{
    return plant_number(
        url,
        "WITH s AS (SELECT s.project_id, s.id FROM series s"
        " JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id"
        " WHERE s.project_id = %lld AND b.name = '%s' AND s.metric = '%s'),"
        " x AS (INSERT INTO change_points (project_id, series_id, commit_id, commit_low_id,"
        " commit_high_id, before, after, rel_change, rel_low, rel_high, p, regression, confirmed,"
        " firm, kind) SELECT s.project_id, s.id, h.id, l.id, h.id, 100, 100 * (1 + %g), %g, %g, %g,"
        " 1e-9, true, true, true, '%s' FROM s"
        " JOIN commits l ON l.project_id = s.project_id AND l.sha = '%s'"
        " JOIN commits h ON h.project_id = s.project_id AND h.sha = '%s'"
        " RETURNING project_id, id, series_id)"
        " INSERT INTO alerts (project_id, change_point_id, series_id, state)"
        " SELECT project_id, id, series_id, '%s' FROM x RETURNING id",
        (long long)project, a->benchmark ? a->benchmark : "gemm/a",
        a->metric ? a->metric : "time_ns", a->rel != 0 ? a->rel : 0.1, a->rel != 0 ? a->rel : 0.1,
        a->rel != 0 ? a->rel : 0.1, a->rel != 0 ? a->rel : 0.1, a->kind ? a->kind : "step",
        fx_sha(a->low), fx_sha(a->high), a->state ? a->state : "untriaged");
}

static void measure(pfc_db *db, int64_t project, const char *name, unsigned commits)
{
    pfc_run *run = fx_run(1);

    fx_commits(db, project, 1, commits);
    free(run->project);
    run->project = pfc_strdup(name);
    fx_measure(run, "gemm/a", "time_ns", 100, 0.005, 8, 2, 1);
    fx_measure(run, "gemm/b", "time_ns", 100, 0.005, 8, 2, 2);
    fx_ingest(db, project, run);
}

int64_t plant_project(pfc_db *db, unsigned commits)
{
    const int64_t project = fx_project(db);

    measure(db, project, "p", commits);
    return project;
}

int64_t plant_other(pfc_db *db, const char *name, unsigned commits)
{
    pfc_projects rows = { 0 };
    bool created = false;
    pfc_err err = { 0 };
    int64_t id;

    if (pfc_project_create(db, "test", name, "main", NULL, &created, &rows, &err))
        pfc_die("plant: %s", err.msg);
    id = rows.items[0].id;
    pfc_rows_clear(&rows);
    measure(db, id, name, commits);
    return id;
}
