/*
 * perfci nightly: one round over what is new since the last one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/nightly/store_round.h"
#include "core/base/clock.h"
#include "core/base/parse.h"

enum { KEY_BACKEND = 1, KEY_CLASS };

enum { POLL_MS = 200 };

#define MAX_EXPLAINED 8 /* regressions of a round */

typedef struct nightly_opts {
    pfc_take_opts take;
    pfc_night_opts night;
    const char *repo, *branch, *source, *url, *data;
    const char *store, *remote;
    double wait_s, budget_s, margin;
    const char *classes[PFC_NIGHT_MAX_CLASSES];
    size_t classes_len;
    pfc_report_files reports;
    bool jobs;
    bool markdown;
} nightly_opts;

static const pfc_option nightly_options[] = {
    PFC_CONFIG_OPTION(nightly_opts, take.config),
    PFC_DIRECTION_OPTION,
    PFC_TIME_OPTION(nightly_opts, take.time),
    PFC_OPT_TEXT("repo", "DIR", nightly_opts, repo, "The repository", .fallback = "here"),
    PFC_OPT_TEXT("branch", "B", nightly_opts, branch, "The branch",
                 .fallback = "perfci.yaml\'s, else the one checked out"),
    PFC_OPT_TEXT("suite", "F", nightly_opts, take.suite, "Suite file or name"),
    PFC_OPT_TEXT("filter", "RE", nightly_opts, take.filter, "Only benchmarks whose name matches"),
    PFC_OPT_OWN(KEY_BACKEND, "backend", "B", "Only this backend; repeatable"),
    PFC_OPT_TEXT("anchor", "REV", nightly_opts, night.anchor,
                 "The build that is measured along, so that ratios to it join nights",
                 .fallback = "perfci.yaml's, else the last night's, else the newest release"),
    PFC_OPT_SECONDS("budget", "T", nightly_opts, budget_s, "Measure as long, builds not counted",
                    .fallback = "perfci.yaml's, else 30m"),
    PFC_OPT_NUMBER("margin", "R", nightly_opts, margin, 1e-9, 10,
                   "Relative change that does not matter", .fallback = "perfci.yaml's, else 0.03"),
    PFC_OPT_COUNT("max-commits", "N", nightly_opts, night.max, 1, PFC_NIGHT_MOST,
                  "Measure N new commits at most, the newest always",
                  .fallback = "60, with --all 250"),
    PFC_OPT_FLAG("all", nightly_opts, night.all, "Every commit of the branch that has no run yet"),
    PFC_OPT_COUNT("repeats", "N", nightly_opts, take.repeats, 1, PFC_TAKE_MAX_REPEATS,
                  "Exactly N rounds of two measurements a build, whatever is decided"),
    PFC_OPT_FLAG("jobs", nightly_opts, jobs,
                 "Let the service's runners measure, and wait for them"),
    PFC_OPT_OWN(KEY_CLASS, "machine-class", "C",
                "With --jobs: a session on this class of machines; repeatable",
                .fallback = "one, on any runner"),
    PFC_OPT_TEXT("source", "S", nightly_opts, source,
                 "With --jobs: the URL or folder that runners read",
                 .fallback = "the project's --repo-url, else --repo"),
    PFC_OPT_SECONDS("wait", "T", nightly_opts, wait_s, "For runners and for detection",
                    .fallback = "1h"),
    PFC_OPT_FLAG("markdown", nightly_opts, markdown, "Print the report as Markdown"),
    PFC_REPORT_OPTIONS(nightly_opts, reports),
    PFC_OPT_TEXT("store", "S", nightly_opts, store,
                 "Without a service: the history is in this folder or in branch:NAME"),
    PFC_OPT_TEXT("store-remote", "R", nightly_opts, remote,
                 "With --store branch:NAME: join the branch of this remote before, and push after"),
    PFC_OPT_TEXT("work", "DIR", nightly_opts, take.work, "Where checkouts are kept"),
    PFC_OPT_TEXT("project", "P", nightly_opts, night.project, "The project's name"),
    PFC_OPT_FLAG("create", nightly_opts, night.create,
                 "Make the project of --project when there is none; one that perfci.yaml or the "
                 "folder names is made without it"),
    PFC_SERVICE_OPTIONS(nightly_opts, ),
    { 0 },
};

static const char nightly_doc[] =
    "Measures the commits that are new since the last round, uploads them, waits for the verdict "
    "and prints a short report."
    "\vThe new commits, the last measured one and an anchor are built, then measured in blocks: "
    "each "
    "build once, in random order, and again in reverse order. Blocks go on where a decision is "
    "open, "
    "until every commit is decided or --budget is spent. For each new commit the report says "
    "slower, "
    "faster, same (within x %), or undecided (needs n minutes). A "
    "commit whose object code is its predecessor's is not measured.\n"
    "\n"
    "An undecided commit goes on in the next round where its values show a step. The others go on "
    "in "
    "a round of at most 8 builds; the report counts those that wait.\n"
    "\n"
    "docs/explanation/nights.md explains the method, with a picture.\n"
    "\n"
    "The first round of a project measures its newest commit, with the newest release where there "
    "is "
    "one.\n"
    "\n"
    "Exit status 1 when the round brought a regression or a commit is slower; else 4 when the "
    "newest commit could not be "
    "built or measured, or a benchmark was broken at any commit of the round; else 5 when "
    "something "
    "could not be measured or judged; else 3 when a commit is undecided.\n"
    "\n"
    "Examples:\n"
    "  perfci nightly --branch main\n"
    "  perfci nightly --budget 1h --anchor v1.2\n"
    "  perfci nightly --report-junit junit.xml --report-sarif perfci.sarif\n"
    "  perfci nightly --jobs --wait 2h --markdown > report.md\n"
    "  perfci nightly --store branch:perfci-data --store-remote origin\n";

static error_t parse_nightly(int key, char *arg, struct argp_state *state)
{
    nightly_opts *o = state->input;

    switch (key) {
    case KEY_BACKEND:
        pfc_take_add_backend(&o->take, arg, state);
        return 0;
    case KEY_CLASS:
        if (o->classes_len == PFC_NIGHT_MAX_CLASSES)
            pfc_cli_usage(state, "--machine-class: expected at most %d", PFC_NIGHT_MAX_CLASSES);
        o->classes[o->classes_len++] = arg;
        return 0;
    case PFC_KEY_DIRECTION:
        pfc_directions_add(&o->take.directions, arg, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- measuring ---- */

static pfc_code upload(const pfc_night *n, pfc_night_commit *c, pfc_run *run, pfc_err *err)
{
    free(run->project);
    run->project = pfc_strdup(n->project);
    free(run->branch);
    run->branch = pfc_strdup(n->branch);
    return pfc_api_post_run(n->http, run, &c->run_id, NULL, err);
}

/* A commit that cannot be measured is news, not the end of the round. */
static pfc_code measure_here(pfc_night *n, pfc_night_commit *c, pfc_err *err)
{
    pfc_run *run = NULL;
    pfc_code code = pfc_take_commit(&n->take, &c->id, &run, err);

    if (code == PFC_EBROKEN || code == PFC_ETIMEOUT) {
        c->broken = true;
        c->reason = pfc_strdup(err->msg);
        *err = (pfc_err){ 0 };
        return PFC_OK;
    }
    if (code)
        return code;
    pfc_night_note_skipped(n, run);
    code = n->store ? pfc_night_store_run(n, run, err) : upload(n, c, run, err);
    c->measured = !code;
    if (!code && !n->store)
        pfc_api_post_sources(n->http, n->project, c->id.hex, &n->take.conf, &n->take.built);
    pfc_run_free(run);
    return code;
}

static pfc_code measure_all(pfc_night *n, const nightly_opts *o, int64_t until_ns, pfc_err *err)
{
    const pfc_night_jobs jobs = { .source = o->source,
                                  .until_ns = until_ns,
                                  .machine_classes = o->classes,
                                  .machine_classes_len = o->classes_len };
    pfc_code code = PFC_OK;

    if (o->jobs)
        return pfc_night_measure_by_jobs(n, &jobs, err);
    if (n->plan.len > 1)
        return pfc_night_measure_blocks(n, err);
    for (size_t i = 0; i < n->len && !code; i++) {
        if (!n->cli->progress)
            pfc_cli_note(n->cli, "measuring %.12s (%zu of %zu)", n->commits[i].id.hex, i + 1,
                         n->len);
        code = measure_here(n, &n->commits[i], err);
    }
    return code;
}

/* ---- the verdict ---- */

/* Returns true if the service has judged every run. detection_lag_s is the age of the oldest run
 * that is not judged. */
static pfc_code wait_judged(pfc_night *n, int64_t until_ns, pfc_err *err)
{
    char *path = pfc_format("/api/v1/stats?project=%s", n->project);
    pfc_code code = PFC_OK;

    while (!n->judged && !code) {
        json_t *answer = NULL;

        code = pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, err);
        if (!code)
            n->judged = json_number_value(json_object_get(answer, "detection_lag_s")) <= 0;
        json_decref(answer);
        if (n->judged || pfc_clock_ns() >= until_ns || pfc_cli_interrupted(NULL))
            break;
        pfc_clock_sleep_ns(POLL_MS * PFC_NS_PER_MS);
    }
    free(path);
    return code;
}

/* How the project stands after the round, also with alerts of earlier ones. */
static pfc_code take_standing(pfc_night *n, pfc_err *err)
{
    char *path = pfc_format("/api/v1/projects/%s", n->project);
    json_t *answer = NULL;
    pfc_code code = pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, err);

    if (!code)
        n->standing = json_incref(json_object_get(answer, "standing"));
    json_decref(answer);
    free(path);
    return code;
}

static pfc_code get_alerts(const pfc_night *n, json_t **out, pfc_err *err)
{
    char *path = pfc_format("/api/v1/alerts?project=%s&limit=1000", n->project);
    pfc_code code = pfc_http_json(n->http, "GET", path, NULL, NULL, out, err);

    free(path);
    return code;
}

/* Benchmarks without a result at the measured commits. */
static pfc_code take_broken(pfc_night *n, const pfc_night_commit *c, pfc_err *err)
{
    char *path = pfc_format("/api/v1/projects/%s/commits/%s", n->project, c->id.hex);
    json_t *answer = NULL;
    const json_t *list;
    pfc_code code = pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, err);

    list = json_object_get(answer, "broken");
    for (size_t i = 0; !code && i < json_array_size(list); i++) {
        json_t *one = json_array_get(list, i);

        json_object_set_new(one, "commit", json_string(c->id.hex));
        json_array_append(n->broken, one);
    }
    json_decref(answer);
    free(path);
    return code;
}

static int64_t newest_id(const json_t *answer)
{
    const json_t *list = json_object_get(answer, "alerts");
    json_int_t newest = 0;

    for (size_t i = 0; i < json_array_size(list); i++)
        newest =
            PFC_MAX(newest, json_integer_value(json_object_get(json_array_get(list, i), "id")));
    return newest;
}

static pfc_code take_new_alerts(pfc_night *n, int64_t after, pfc_err *err)
{
    json_t *answer = NULL;
    const json_t *list;
    pfc_code code = get_alerts(n, &answer, err);

    list = json_object_get(answer, "alerts");
    for (size_t i = 0; !code && i < json_array_size(list); i++) {
        json_t *alert = json_array_get(list, i);

        if (json_integer_value(json_object_get(alert, "id")) > after)
            json_array_append(n->alerts, alert);
    }
    json_decref(answer);
    return code;
}

/* Why the benchmarks of the new regressions changed, as "explanation" of each alert; none where the
 * service has no stored run on both sides, or knows no explanations. */
static void explain_alerts(pfc_night *n)
{
    size_t asked = 0;

    for (size_t i = 0; i < json_array_size(n->alerts) && asked < MAX_EXPLAINED; i++) {
        json_t *alert = json_array_get(n->alerts, i);
        json_t *answer = NULL;
        pfc_err ignored = { 0 };
        char *path;

        if (!pfc_night_is_regression(alert))
            continue;
        asked++;
        path = pfc_format("/api/v1/alerts/%lld/explanation",
                          (long long)json_integer_value(json_object_get(alert, "id")));
        if (!pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, &ignored))
            json_object_set(alert, "explanation", answer);
        json_decref(answer);
        free(path);
    }
}

static pfc_code go_round(pfc_night *n, const nightly_opts *o, pfc_err *err)
{
    const int64_t wait_ns = (int64_t)(o->wait_s * (double)PFC_NS_PER_S);
    int64_t until_ns = pfc_clock_ns() + wait_ns;
    json_t *before = NULL;
    pfc_code code = pfc_night_find(n, &o->night, err);

    if (!code)
        code = get_alerts(n, &before, err);
    if (!code)
        code = measure_all(n, o, until_ns, err);
    pfc_cli_progress(n->cli, "%s", "");
    if (!o->jobs)
        until_ns = pfc_clock_ns() + wait_ns;
    if (!code)
        code = wait_judged(n, until_ns, err);
    if (!code)
        code = pfc_night_take_verdicts(n, err);
    if (!code)
        code = take_new_alerts(n, newest_id(before), err);
    if (!code)
        explain_alerts(n);
    for (size_t i = 0; i < n->len && !code; i++)
        if (n->commits[i].measured)
            code = take_broken(n, &n->commits[i], err);
    if (!code)
        code = take_standing(n, err);
    json_decref(before);
    return code;
}

static pfc_code go_store_round(pfc_night *n, const nightly_opts *o, pfc_err *err)
{
    pfc_code code = pfc_night_find(n, &o->night, err);

    if (!code)
        code = measure_all(n, o, 0, err);
    pfc_cli_progress(n->cli, "%s", "");
    return code ? code : pfc_night_store_finish(n, err);
}

static pfc_code open_history(pfc_night *n, const nightly_opts *o, pfc_err *err)
{
    return o->store ? pfc_night_store_open(n, o->store, o->remote, err)
                    : pfc_api_open(o->url, o->data, &n->take.conf, &n->http, err);
}

static pfc_code check_store(const nightly_opts *o, pfc_err *err)
{
    if (o->remote && !o->store)
        return pfc_err_set(err, PFC_EINVAL, "--store-remote: expected --store branch:NAME with it");
    if (!o->store || (!o->jobs && !o->url))
        return PFC_OK;
    pfc_err_set(err, PFC_EINVAL, "--store and %s exclude each other", o->jobs ? "--jobs" : "--url");
    return pfc_err_hint(err, "leave out --store to use a service");
}

static int fail(const pfc_night *n, const nightly_opts *o, const pfc_err *err)
{
    const int status = pfc_cli_fail(n->cli, err);
    char *title =
        pfc_format("perfci nightly%s%s", n->project ? ": " : "", n->project ? n->project : "");
    pfc_err why = { 0 };

    if (pfc_reports_write_failure(&o->reports, title, NULL, err, &why))
        (void)pfc_cli_fail(n->cli, &why);
    free(title);
    return status;
}

static int finish(const pfc_night *n, const nightly_opts *o)
{
    pfc_findings findings = { 0 };
    pfc_err err = { 0 };
    pfc_buf text;
    pfc_code code = PFC_OK;

    pfc_night_print(n, o->markdown);
    if (!pfc_reports_wanted(&o->reports))
        return pfc_night_exit(n);
    pfc_buf_init(&text, PFC_FINDINGS_MAX_BYTES);
    pfc_night_markdown(n, &text);
    pfc_night_findings(n, &findings);
    code = pfc_reports_write(&o->reports, &findings, pfc_buf_text(&text), &err);
    pfc_findings_clear(&findings);
    pfc_buf_clear(&text);
    return code ? pfc_cli_fail(n->cli, &err) : pfc_night_exit(n);
}

static int cmd_nightly(pfc_cli *cli, int argc, char **argv)
{
    nightly_opts o = { .wait_s = 3600 };
    pfc_take_range range = { 0 };
    pfc_night n = { .cli = cli };
    char *branch = NULL;
    pfc_err err = { 0 };
    int status;
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_nightly, argc, argv, &o);
    pfc_cli_catch_signals();
    n.alerts = json_array();
    n.broken = json_array();
    range.to = o.branch;
    code = check_store(&o, &err);
    if (!code)
        code = pfc_reports_check(&o.reports, &err);
    if (!code)
        code = pfc_take_open(&n.take, cli, &o.take, o.repo, true, &range, &err);
    if (!code && !o.jobs)
        code = pfc_take_ready(&n.take, &err);
    if (!code) {
        branch = pfc_repo_branch(n.take.repo);
        n.budget_s = o.budget_s > 0             ? o.budget_s
                     : n.take.conf.budget_s > 0 ? n.take.conf.budget_s
                                                : PFC_NIGHT_BUDGET_S;
        n.margin = o.margin > 0             ? o.margin
                   : n.take.conf.margin > 0 ? n.take.conf.margin
                                            : PFC_NIGHT_MARGIN;
        n.branch = o.branch ? o.branch : n.take.conf.branch ? n.take.conf.branch : branch;
        code = pfc_api_project(o.night.project, &n.take.conf, n.take.root, &n.project, &err);
    }
    if (!code)
        code = open_history(&n, &o, &err);
    if (!code)
        code = n.store ? go_store_round(&n, &o, &err) : go_round(&n, &o, &err);
    if (code) {
        status = fail(&n, &o, &err);
    } else {
        status = finish(&n, &o);
    }
    pfc_night_store_close(&n);
    pfc_night_clear(&n);
    free(branch);
    pfc_http_free(n.http);
    pfc_take_close(&n.take);
    return status;
}

const pfc_subcommand pfc_cmd_nightly = {
    .name = "nightly",
    .summary = "measure what is new, upload, report",
    .run = cmd_nightly,
    .options = nightly_options,
    .parse = parse_nightly,
    .doc = nightly_doc,
};
