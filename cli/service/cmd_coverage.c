/*
 * perfci coverage: what was measured at which of the newest commits, and jobs for what is missing.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/service/browse.h"

typedef struct coverage_opts {
    const char *project, *branch, *benchmark, *backend, *machine_class, *url, *data;
    size_t commits, jobs, limit;
    bool fill;
} coverage_opts;

static const pfc_option coverage_options[] = {
    PFC_OPT_TEXT("project", "P", coverage_opts, project, "The project's name"),
    PFC_OPT_TEXT("branch", "B", coverage_opts, branch, "The branch", .fallback = "the project's"),
    PFC_OPT_COUNT("commits", "N", coverage_opts, commits, 1, 500, "The newest N commits",
                  .fallback = "30"),
    PFC_OPT_TEXT("benchmark", "B", coverage_opts, benchmark, "Only this benchmark"),
    PFC_OPT_TEXT("backend", "B", coverage_opts, backend, "Only this backend"),
    PFC_OPT_TEXT("machine-class", "C", coverage_opts, machine_class, "Only this class of machines"),
    PFC_OPT_COUNT("limit", "N", coverage_opts, limit, 1, 1000, "At most N series",
                  .fallback = "100"),
    PFC_OPT_FLAG("fill", coverage_opts, fill,
                 "Queue a job for each commit and machine class with gaps"),
    PFC_OPT_COUNT("jobs", "N", coverage_opts, jobs, 1, 1000,
                  "With --fill: at most N jobs, those that fill most first", .fallback = "50"),
    PFC_SERVICE_OPTIONS(coverage_opts, ),
    { 0 },
};

static const char coverage_doc[] =
    "Shows what was measured at which of the newest commits and what is missing."
    "\v"
    "The column CELLS has one character for each commit, newest first: x is measured, ! is "
    "broken, - is missing, . means that the series did not exist yet.\n"
    "\n"
    "Examples:\n"
    "  perfci coverage --project kernels\n"
    "  perfci coverage --commits 100 --machine-class bare\n"
    "  perfci coverage --fill --jobs 10\n";

static void print_rows(const pfc_cli *cli, const json_t *answer)
{
    static const pfc_browse_col cols[] = {
        { "SERIES", "series_id", PFC_BROWSE_ID },  { "BENCHMARK", "benchmark", PFC_BROWSE_TEXT },
        { "BACKEND", "backend", PFC_BROWSE_TEXT }, { "MACHINE", "machine_class", PFC_BROWSE_TEXT },
        { "MISSING", "missing", PFC_BROWSE_ID },   { "CELLS", "cells", PFC_BROWSE_TEXT },
    };
    static const pfc_browse_col never_cols[] = {
        { "BENCHMARK", "benchmark", PFC_BROWSE_TEXT },
        { "BACKEND", "backend", PFC_BROWSE_TEXT },
        { "MACHINE", "machine_class", PFC_BROWSE_TEXT },
    };
    const json_t *fills = json_object_get(answer, "fills");
    const json_t *never = json_object_get(answer, "never");
    int64_t missing = 0;

    pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), false, json_object_get(answer, "rows"));
    if (cli->csv)
        return;
    if (json_array_size(never)) {
        pfc_out("\nNever measured there:\n");
        pfc_browse_list(cli, never_cols, PFC_ARRAY_LEN(never_cols), false, never);
    }
    for (size_t i = 0; i < json_array_size(fills); i++)
        missing += json_integer_value(json_object_get(json_array_get(fills, i), "missing"));
    pfc_out("\n%lld gaps at %zu commits on branch %s; %zu jobs would fill them%s\n",
            (long long)missing, json_array_size(json_object_get(answer, "commits")),
            pfc_browse_string(answer, "branch"), json_array_size(fills),
            json_array_size(fills) ? ": perfci coverage --fill" : "");
}

static pfc_code queue_one(pfc_http *http, const char *project, const char *branch,
                          const json_t *fill, json_t *jobs, pfc_err *err)
{
    json_t *answer = NULL;
    json_t *body =
        json_pack("{s:s, s:s, s:O, s:s, s:{s:O}}", "project", project, "kind", "backfill", "commit",
                  json_object_get(fill, "commit"), "branch", branch, "labels", "machine_class",
                  json_object_get(fill, "machine_class"));
    pfc_code code = pfc_http_json(http, "POST", "/api/v1/jobs", body, NULL, &answer, err);

    if (!code)
        json_array_append(jobs, answer);
    json_decref(answer);
    json_decref(body);
    return code;
}

/* Queues the missing; `jobs` gets the jobs, those that were there before included. */
static pfc_code fill(const pfc_cli *cli, const coverage_opts *o, pfc_http *http,
                     const char *project, const json_t *answer, pfc_err *err)
{
    static const pfc_browse_col cols[] = {
        { "JOB", "id", PFC_BROWSE_ID },
        { "KIND", "kind", PFC_BROWSE_TEXT },
        { "COMMIT", "commit", PFC_BROWSE_ID },
        { "STATE", "state", PFC_BROWSE_TEXT },
    };
    const json_t *fills = json_object_get(answer, "fills");
    const size_t len = PFC_MIN(json_array_size(fills), o->jobs);
    json_t *jobs = json_array();
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < len && !code; i++)
        code = queue_one(http, project, pfc_browse_string(answer, "branch"),
                         json_array_get(fills, i), jobs, err);
    if (cli->json)
        pfc_cli_print_json(json_pack("{s:O, s:I}", "jobs", jobs, "left",
                                     (json_int_t)(json_array_size(fills) - json_array_size(jobs))));
    else if (json_array_size(jobs) || cli->csv)
        pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), false, jobs);
    else if (!code)
        pfc_cli_note(cli, "nothing is missing");
    if (!code && len < json_array_size(fills))
        pfc_cli_note(cli, "%zu more jobs would fill the rest: --jobs N",
                     json_array_size(fills) - len);
    json_decref(jobs);
    return code;
}

static int cmd_coverage(pfc_cli *cli, int argc, char **argv)
{
    coverage_opts o = { .commits = 30, .jobs = 50, .limit = 100 };
    char *project = NULL;
    pfc_http *http = NULL;
    pfc_conf conf = { 0 };
    json_t *answer = NULL;
    pfc_buf path;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_coverage, argc, argv, &o);
    pfc_buf_init(&path, 8192);
    code = pfc_api_begin(o.url, o.data, o.project, &conf, &project, &http, &err);
    pfc_buf_printf(&path, "/api/v1/projects/%s/coverage", project ? project : "");
    pfc_browse_query(&path, "branch", o.branch);
    pfc_browse_query(&path, "benchmark", o.benchmark);
    pfc_browse_query(&path, "backend", o.backend);
    pfc_browse_query(&path, "machine_class", o.machine_class);
    pfc_browse_query_i64(&path, "commits", (int64_t)o.commits);
    pfc_browse_query_i64(&path, "limit", (int64_t)o.limit);
    if (!code)
        code = pfc_http_json(http, "GET", pfc_buf_text(&path), NULL, NULL, &answer, &err);
    if (!code && o.fill)
        code = fill(cli, &o, http, project, answer, &err);
    else if (!code && cli->json)
        pfc_cli_print_json(json_incref(answer));
    else if (!code)
        print_rows(cli, answer);
    json_decref(answer);
    pfc_buf_clear(&path);
    pfc_http_free(http);
    pfc_conf_clear(&conf);
    free(project);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_coverage = {
    .name = "coverage",
    .summary = "what is measured, what is missing; --fill queues it",
    .run = cmd_coverage,
    .options = coverage_options,
    .doc = coverage_doc,
};
