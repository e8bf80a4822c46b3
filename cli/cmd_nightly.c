/*
 * perfci nightly: one round over what is new since the last one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/measured.h"
#include "cli/nightly.h"
#include "core/base/clock.h"
#include "core/base/parse.h"

enum {
    KEY_REPO = 0x100,
    KEY_BRANCH,
    KEY_SUITE,
    KEY_FILTER,
    KEY_BACKEND,
    KEY_MAX,
    KEY_ALL,
    KEY_REPEATS,
    KEY_JOBS,
    KEY_WAIT,
    KEY_SOURCE,
    KEY_MARKDOWN,
    KEY_WORK,
    KEY_PROJECT,
    KEY_CREATE,
};

enum { DEFAULT_MAX = 10, HISTORY = 500, POLL_MS = 200 };

typedef struct nightly_opts {
    pfc_take_opts take;
    const char *repo, *branch, *source, *project, *url, *data;
    size_t max;
    double wait_s;
    bool jobs;
    bool all;
    bool create;
    bool markdown;
} nightly_opts;

static const struct argp_option nightly_options[] = {
    PFC_CONFIG_OPTION(0),
    PFC_DIRECTION_OPTION(0),
    PFC_TIME_OPTION(0),
    { "repo", KEY_REPO, "DIR", 0, "The repository (default: here)", 0 },
    { "branch", KEY_BRANCH, "B", 0, "Default: perfci.yaml's, else the one checked out", 0 },
    { "suite", KEY_SUITE, "F", 0, "Suite file or name", 0 },
    { "filter", KEY_FILTER, "RE", 0, "Only benchmarks whose name matches", 0 },
    { "backend", KEY_BACKEND, "B", 0, "Only this backend; repeatable", 0 },
    { "max-commits", KEY_MAX, "N", 0, "Measure the newest N at most (default 10; with --all 500)",
      0 },
    { "all", KEY_ALL, 0, 0, "Every commit of the branch that has no run yet", 0 },
    { "repeats", KEY_REPEATS, "N", 0, "Times to run for each commit", 0 },
    { "jobs", KEY_JOBS, 0, 0, "Let the service's runners measure, and wait for them", 0 },
    { "source", KEY_SOURCE, "S", 0,
      "With --jobs: the URL or folder that runners read (default: the project's --repo-url, else "
      "--repo)",
      0 },
    { "wait", KEY_WAIT, "T", 0, "For runners and for detection (default 1h)", 0 },
    { "markdown", KEY_MARKDOWN, 0, 0, "Print the report as Markdown", 0 },
    { "work", KEY_WORK, "DIR", 0, "Where checkouts are kept", 0 },
    { "project", KEY_PROJECT, "P", 0, "The project's name", 0 },
    { "create", KEY_CREATE, 0, 0,
      "Make the project of --project when there is none; one that perfci.yaml or the folder names "
      "is made without it",
      0 },
    PFC_SERVICE_OPTIONS(0),
    { 0 },
};

static const pfc_arg_field nightly_fields[] = {
    PFC_CONFIG_FIELD(nightly_opts, take.config),
    { PFC_KEY_TIME, PFC_ARG_FLAG, offsetof(nightly_opts, take.time), 0, 0 },
    { KEY_REPO, PFC_ARG_TEXT, offsetof(nightly_opts, repo), 0, 0 },
    { KEY_BRANCH, PFC_ARG_TEXT, offsetof(nightly_opts, branch), 0, 0 },
    { KEY_SUITE, PFC_ARG_TEXT, offsetof(nightly_opts, take.suite), 0, 0 },
    { KEY_FILTER, PFC_ARG_TEXT, offsetof(nightly_opts, take.filter), 0, 0 },
    { KEY_MAX, PFC_ARG_COUNT, offsetof(nightly_opts, max), 1, HISTORY },
    { KEY_ALL, PFC_ARG_FLAG, offsetof(nightly_opts, all), 0, 0 },
    { KEY_REPEATS, PFC_ARG_COUNT, offsetof(nightly_opts, take.repeats), 1, PFC_TAKE_MAX_REPEATS },
    { KEY_JOBS, PFC_ARG_FLAG, offsetof(nightly_opts, jobs), 0, 0 },
    { KEY_SOURCE, PFC_ARG_TEXT, offsetof(nightly_opts, source), 0, 0 },
    { KEY_WAIT, PFC_ARG_SECONDS, offsetof(nightly_opts, wait_s), 0, 0 },
    { KEY_MARKDOWN, PFC_ARG_FLAG, offsetof(nightly_opts, markdown), 0, 0 },
    { KEY_WORK, PFC_ARG_TEXT, offsetof(nightly_opts, take.work), 0, 0 },
    { KEY_PROJECT, PFC_ARG_TEXT, offsetof(nightly_opts, project), 0, 0 },
    { KEY_CREATE, PFC_ARG_FLAG, offsetof(nightly_opts, create), 0, 0 },
    PFC_SERVICE_FIELDS(nightly_opts, ),
    { 0 },
};

static const char nightly_doc[] =
    "Measures the commits that are new since the last round, uploads them, waits for the verdict "
    "and "
    "prints a short report."
    "\vThe first round of a project measures its newest commit alone.\n"
    "\n"
    "Exit status 1 when the round brought a regression; else 4 when the newest commit could not be "
    "built or measured, or a benchmark was broken at any commit of the round; else 5 when "
    "something "
    "could not be measured or judged.\n"
    "\n"
    "Examples:\n"
    "  perfci nightly --branch main\n"
    "  perfci nightly --jobs --wait 2h --markdown > report.md\n";

static error_t parse_nightly(int key, char *arg, struct argp_state *state)
{
    nightly_opts *o = state->input;

    switch (key) {
    case KEY_BACKEND:
        pfc_take_add_backend(&o->take, arg, state);
        return 0;
    case PFC_KEY_DIRECTION:
        pfc_directions_add(&o->take.directions, arg, state);
        return 0;
    case ARGP_KEY_ARG:
        pfc_cli_usage(state, "there is no argument to give, got \"%s\"", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- what is new ---- */

/* {commit: true} for every commit that has a run. */
static pfc_code measured_commits(const pfc_night *n, json_t **out, pfc_err *err)
{
    char *path = pfc_format("/api/v1/projects/%s/runs?limit=1000", n->project);
    json_t *answer = NULL;
    const json_t *runs;
    pfc_code code = pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, err);

    *out = json_object();
    runs = json_object_get(answer, "runs");
    for (size_t i = 0; !code && i < json_array_size(runs); i++) {
        const char *commit = json_string_value(json_object_get(json_array_get(runs, i), "commit"));

        if (commit)
            json_object_set_new(*out, commit, json_true());
    }
    json_decref(answer);
    free(path);
    return code;
}

/* Places of the commits to measure, oldest first: those after the newest one that has a run (of a
 * project without runs, the tip alone), or all that have none. Returns how many. */
static size_t wanted_places(const pfc_commit_id *ids, size_t len, const json_t *seen, bool all,
                            size_t *places)
{
    size_t count = 0;
    size_t first = len;

    while (first > 0 && !json_object_get(seen, ids[first - 1].hex))
        first--;
    if (all)
        first = 0;
    else if (first == 0)
        first = len - 1;
    for (size_t i = first; i < len; i++)
        if (!json_object_get(seen, ids[i].hex))
            places[count++] = i;
    return count;
}

static void choose_new(pfc_night *n, const pfc_commit_id *ids, size_t len, const json_t *seen,
                       const nightly_opts *o)
{
    size_t *places = pfc_calloc(len, sizeof(places[0]));
    size_t count = wanted_places(ids, len, seen, o->all, places);
    size_t max = o->max > 0 ? o->max : o->all ? HISTORY : DEFAULT_MAX;

    n->skipped = count > max ? count - max : 0;
    n->len = count - n->skipped;
    n->commits = pfc_calloc(n->len, sizeof(n->commits[0]));
    for (size_t i = 0; i < n->len; i++) {
        const pfc_commit_id *id = &ids[places[n->skipped + i]];
        pfc_commit commit = { 0 };

        n->commits[i].id = *id;
        if (pfc_repo_commit(n->take.repo, id, &commit, NULL))
            continue;
        n->commits[i].subject = pfc_strdup(commit.subject);
        pfc_commit_clear(&commit);
    }
    free(places);
}

/* A name that was typed may be a typo; that of the repository is meant. */
static pfc_code ensure(const pfc_night *n, const nightly_opts *o, pfc_err *err)
{
    const bool typed = pfc_conf_pick(o->project, "PERFCI_PROJECT", NULL, NULL) != NULL;
    const pfc_ensure want = { .project = n->project,
                              .branch = n->branch,
                              .conf = &n->take.conf,
                              .create = o->create || !typed,
                              .has_flag = true };
    bool made = false;
    pfc_code code = pfc_api_ensure_project(n->http, &want, &made, err);

    if (made)
        pfc_cli_note(n->cli, "project %s is new", n->project);
    return code;
}

static pfc_code find_new(pfc_night *n, const nightly_opts *o, pfc_err *err)
{
    pfc_commit_id *ids = NULL;
    pfc_commit_id tip;
    json_t *seen = NULL;
    size_t len = 0;
    pfc_code code = pfc_repo_resolve(n->take.repo, n->branch ? n->branch : "HEAD", &tip, err);

    if (!code)
        code = pfc_repo_history(n->take.repo, &tip, HISTORY, &ids, &len, err);
    if (!code)
        code = ensure(n, o, err);
    if (!code)
        code =
            pfc_api_post_commits(n->http, n->project, n->branch, n->take.repo, ids, len, NULL, err);
    if (!code)
        code = measured_commits(n, &seen, err);
    if (!code)
        choose_new(n, ids, len, seen, o);
    json_decref(seen);
    free(ids);
    return code;
}

/* ---- measuring ---- */

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
    free(run->project);
    run->project = pfc_strdup(n->project);
    free(run->branch);
    run->branch = pfc_strdup(n->branch);
    code = pfc_api_post_run(n->http, run, &c->run_id, NULL, err);
    c->measured = !code;
    if (!code)
        pfc_api_post_sources(n->http, n->project, c->id.hex, &n->take.conf, &n->take.built);
    pfc_run_free(run);
    return code;
}

static void put_wanted(const pfc_take_opts *o, const char *config, json_t *body)
{
    json_t *backends = o->backends_len ? json_array() : NULL;

    for (size_t i = 0; i < o->backends_len; i++)
        json_array_append_new(backends, json_string(o->backends[i]));
    if (backends)
        json_object_set_new(body, "backends", backends);
    if (o->filter)
        json_object_set_new(body, "filter", json_string(o->filter));
    if (config)
        json_object_set_new(body, "config", json_string(config));
}

/* source NULL: the project's own repository; config NULL: the branch's perfci.yaml. */
static pfc_code queue_job(const pfc_night *n, const nightly_opts *o, const char *source,
                          const char *config, const pfc_night_commit *c, int64_t *job, pfc_err *err)
{
    json_t *body = json_pack("{s:s,s:s,s:s,s:s*}", "project", n->project, "kind", "nightly",
                             "commit", c->id.hex, "source", source);
    json_t *answer = NULL;
    pfc_code code;

    if (n->branch)
        json_object_set_new(body, "branch", json_string(n->branch));
    if (o->take.suite)
        json_object_set_new(body, "suite", json_string(o->take.suite));
    put_wanted(&o->take, config, body);
    code = pfc_http_json(n->http, "POST", "/api/v1/jobs", body, NULL, &answer, err);
    if (!code)
        code = pfc_json_i64(answer, NULL, "id", true, 1, INT64_MAX, job, err);
    json_decref(answer);
    json_decref(body);
    return code;
}

/* Where it waits, and for how long; nothing of one that a runner has. */
static void tell_place(const pfc_night *n, int64_t job, const pfc_night_commit *c,
                       const json_t *answer)
{
    const json_t *wait = json_object_get(answer, "expected_wait");
    const char *reason = json_string_value(json_object_get(answer, "wait_reason"));
    const long long place = json_integer_value(json_object_get(answer, "position"));
    char middle[32], low[32], high[32];

    if (!pfc_streq(json_string_value(json_object_get(answer, "state")), "queued"))
        return;
    if (!json_is_object(wait)) {
        pfc_cli_note(n->cli, "job %lld (%.12s): number %lld in the queue, %s", (long long)job,
                     c->id.hex, place, reason ? reason : "nobody knows for how long");
        return;
    }
    pfc_show_seconds(json_number_value(json_object_get(wait, "seconds")), middle);
    pfc_show_seconds(json_number_value(json_object_get(wait, "low")), low);
    pfc_show_seconds(json_number_value(json_object_get(wait, "high")), high);
    pfc_cli_note(n->cli,
                 "job %lld (%.12s): number %lld in the queue, begins in about %s (%s to %s)%s%s",
                 (long long)job, c->id.hex, place, middle, low, high, reason ? ": " : "",
                 reason ? reason : "");
}

/* Asks until the job is done with, one way or the other. */
static pfc_code wait_job(const pfc_night *n, int64_t job, int64_t until_ns, pfc_night_commit *c,
                         pfc_err *err)
{
    char *path = pfc_format("/api/v1/jobs/%lld", (long long)job);
    bool told = false;
    pfc_code code = PFC_OK;

    for (;;) {
        json_t *answer = NULL;
        const char *state;

        code = pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, err);
        if (code)
            break;
        state = json_string_value(json_object_get(answer, "state"));
        if (!told)
            tell_place(n, job, c, answer);
        told = true;
        if (pfc_streq(state, "done")) {
            c->measured = true;
        } else if (pfc_streq(state, "failed") || pfc_streq(state, "cancelled")) {
            const char *reason = json_string_value(json_object_get(answer, "reason"));

            c->broken = pfc_streq(state, "failed");
            c->reason = pfc_strdup(reason ? reason : state);
        }
        json_decref(answer);
        if (c->measured || c->reason)
            break;
        if (pfc_clock_ns() >= until_ns || pfc_cli_interrupted(NULL)) {
            c->reason = pfc_strdup("no runner has measured it in time");
            break;
        }
        pfc_clock_sleep_ns(POLL_MS * PFC_NS_PER_MS);
    }
    free(path);
    return code;
}

static pfc_code measure_by_jobs(pfc_night *n, const nightly_opts *o, int64_t until_ns, pfc_err *err)
{
    int64_t *jobs = pfc_calloc(n->len + 1, sizeof(jobs[0]));
    const char *source = o->source;
    const char *config =
        o->take.suite ? NULL : pfc_measured_to_send(n->take.repo, n->branch, &n->take.source);
    pfc_code code = PFC_OK;

    if (o->take.suite)
        code = pfc_take_ready(&n->take, err);
    else
        code = pfc_measured_remotely(n->cli, &n->take.conf, n->branch, config != NULL,
                                     n->take.conf.metric, err);

    if (!source && !code)
        code = pfc_api_source(n->http, n->project, pfc_repo_root(n->take.repo), &source, err);
    /* All of them first, so that several runners share them. */
    for (size_t i = 0; i < n->len && !code; i++)
        code = queue_job(n, o, source, config, &n->commits[i], &jobs[i], err);
    code = pfc_measured_refused(code, config != NULL, err);
    for (size_t i = 0; i < n->len && !code; i++) {
        pfc_cli_progress(n->cli, "waiting for commit %zu of %zu", i + 1, n->len);
        code = wait_job(n, jobs[i], until_ns, &n->commits[i], err);
    }
    free(jobs);
    return code;
}

static pfc_code measure_all(pfc_night *n, const nightly_opts *o, int64_t until_ns, pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (o->jobs)
        return measure_by_jobs(n, o, until_ns, err);
    for (size_t i = 0; i < n->len && !code; i++) {
        if (!n->cli->progress)
            pfc_cli_note(n->cli, "measuring %.12s (%zu of %zu)", n->commits[i].id.hex, i + 1,
                         n->len);
        code = measure_here(n, &n->commits[i], err);
    }
    return code;
}

/* ---- the verdict ---- */

/* Has the service looked at every run? detection_lag_s is the age of the oldest one it has not. */
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

/* What gave no result at the commits that were measured. */
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

static pfc_code go_round(pfc_night *n, const nightly_opts *o, pfc_err *err)
{
    const int64_t until_ns = pfc_clock_ns() + (int64_t)(o->wait_s * (double)PFC_NS_PER_S);
    json_t *before = NULL;
    pfc_code code = find_new(n, o, err);

    if (!code)
        code = get_alerts(n, &before, err);
    if (!code)
        code = measure_all(n, o, until_ns, err);
    pfc_cli_progress(n->cli, "%s", "");
    if (!code)
        code = wait_judged(n, until_ns, err);
    if (!code)
        code = take_new_alerts(n, newest_id(before), err);
    for (size_t i = 0; i < n->len && !code; i++)
        if (n->commits[i].measured)
            code = take_broken(n, &n->commits[i], err);
    if (!code)
        code = take_standing(n, err);
    json_decref(before);
    return code;
}

int pfc_cmd_nightly(pfc_cli *cli, int argc, char **argv)
{
    const pfc_cmd_args args = { nightly_options, parse_nightly, NULL, nightly_doc, nightly_fields };
    nightly_opts o = { .wait_s = 3600 };
    pfc_take_range range = { 0 };
    pfc_night n = { .cli = cli };
    char *branch = NULL;
    pfc_err err = { 0 };
    int status;
    pfc_code code;

    pfc_cli_parse(cli, &args, argc, argv, &o);
    pfc_cli_catch_signals();
    n.alerts = json_array();
    n.broken = json_array();
    range.to = o.branch;
    code = pfc_take_open(&n.take, cli, &o.take, o.repo, true, &range, &err);
    if (!code && !o.jobs)
        code = pfc_take_ready(&n.take, &err);
    if (!code) {
        branch = pfc_repo_branch(n.take.repo);
        n.branch = o.branch ? o.branch : n.take.conf.branch ? n.take.conf.branch : branch;
        code = pfc_api_open(o.url, o.data, &n.take.conf, &n.http, &err);
    }
    if (!code)
        code = pfc_api_project(o.project, &n.take.conf, n.take.root, &n.project, &err);
    if (!code)
        code = go_round(&n, &o, &err);
    if (code) {
        status = pfc_cli_fail(cli, &err);
    } else {
        pfc_night_print(&n, o.markdown);
        status = pfc_night_exit(&n);
    }
    for (size_t i = 0; i < n.len; i++) {
        free(n.commits[i].subject);
        free(n.commits[i].reason);
    }
    free(n.commits);
    json_decref(n.alerts);
    json_decref(n.broken);
    json_decref(n.standing);
    free(n.project);
    free(branch);
    pfc_http_free(n.http);
    pfc_take_close(&n.take);
    return status;
}
