/*
 * perfci bisect --remote: starts a bisection on the service's runners, follows it and prints its
 * report.
 */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/bisect/output/report.h"
#include "cli/measure/coverage_line.h"
#include "cli/output/output.h"
#include "core/base/parse.h"

#define POLL_EVERY_MS 1000

typedef struct remote_search {
    const pfc_cli *cli;
    const bisect_opts *opts;
    pfc_http *http;
    pfc_conf conf;
    pfc_project_source source; /* where conf came from */
    bool sent;                 /* conf is posted for the jobs */
    pfc_repo *repo;            /* NULL: ids are posted as given */
    char *project;
    size_t printed; /* steps */
} remote_search;

/* ---- the order ---- */

/* Sets both ends as full ids, and posts the commits between them. */
static pfc_code post_commits(remote_search *w, json_t *body, pfc_err *err)
{
    const bisect_opts *o = w->opts;
    pfc_commit_id good, bad, *ids = NULL;
    const pfc_ensure want = { .project = w->project, .branch = w->conf.branch, .conf = &w->conf };
    size_t len = 0;
    bool made = false;
    pfc_code code = pfc_repo_resolve(w->repo, o->good, &good, err);

    if (code)
        return pfc_err_wrap(err, "--good");
    code = pfc_repo_resolve(w->repo, o->bad, &bad, err);
    if (code)
        return pfc_err_wrap(err, "--bad");
    json_object_set_new(body, "good", json_string(good.hex));
    json_object_set_new(body, "bad", json_string(bad.hex));
    code = pfc_repo_path(w->repo, &good, &bad, &ids, &len, err);
    if (!code)
        code = pfc_api_ensure_project(w->http, &want, &made, err);
    if (!code)
        code =
            pfc_api_post_commits(w->http, w->project, w->conf.branch, w->repo, ids, len, NULL, err);
    free(ids);
    return code;
}

static void put_text(json_t *body, const char *key, const char *text)
{
    if (text)
        json_object_set_new(body, key, json_string(text));
}

static void put_number(json_t *body, const char *key, double value)
{
    if (value != 0)
        json_object_set_new(body, key, json_real(value));
}

static pfc_code make_order(remote_search *w, json_t *body, pfc_err *err)
{
    const bisect_opts *o = w->opts;
    const char *metric = o->metric ? o->metric : w->conf.metric;

    if (o->alert)
        json_object_set_new(body, "alert_id", json_integer(o->alert));
    else
        put_text(body, "metric", metric);
    put_text(body, "benchmark", o->benchmark);
    put_text(body, "backend", o->backend);
    put_number(body, "confidence", o->confidence);
    put_number(body, "noise", o->noise);
    put_number(body, "layout_noise", o->layout_noise);
    put_number(body, "delta", o->delta);
    put_number(body, "margin", o->margin);
    if (o->max_runs)
        json_object_set_new(body, "max_runs", json_integer(o->max_runs));
    if (o->relink)
        json_object_set_new(body, "relink", json_true());
    if (o->globs_len) {
        json_t *globs = json_array();

        for (size_t i = 0; i < o->globs_len; i++)
            json_array_append_new(globs, json_string(o->globs[i]));
        json_object_set_new(body, "paths", globs);
    }
    if (o->alert && !o->good && !o->bad)
        return PFC_OK;
    if (!metric)
        return pfc_err_set(err, PFC_EINVAL, "missing metric: pass --metric M, such as gemm_tflops");
    if (!o->good || !o->bad)
        return pfc_err_set(err, PFC_EINVAL, "expected --good and --bad, or --alert N");
    if (w->repo)
        return post_commits(w, body, err);
    put_text(body, "good", o->good);
    put_text(body, "bad", o->bad);
    return PFC_OK;
}

static pfc_code read_settings(remote_search *w, pfc_err *err)
{
    const bisect_opts *o = w->opts;
    pfc_project_place place = { .file = o->config,
                                .dir = o->repo ? o->repo : ".",
                                .repo = w->repo };
    pfc_commit_id good, bad;
    pfc_commit_id *ids = NULL;
    pfc_code code;

    /* Errors of the two ends are reported where the commits are posted. */
    if (w->repo && o->good && o->bad && !pfc_repo_resolve(w->repo, o->good, &good, NULL) &&
        !pfc_repo_resolve(w->repo, o->bad, &bad, NULL) &&
        pfc_repo_path(w->repo, &good, &bad, &ids, &place.commits_len, NULL))
        place.commits_len = 0;
    place.commits = ids;
    code = pfc_project_read(&place, &w->conf, &w->source, err);
    free(ids);
    return code;
}

static pfc_code put_settings(remote_search *w, json_t *body, pfc_err *err)
{
    const char *metric = w->opts->metric ? w->opts->metric : w->conf.metric;
    const char *text = pfc_measured_to_send(w->repo, w->conf.branch, &w->source);

    w->sent = text != NULL;
    put_text(body, "config", text);
    return pfc_measured_remotely(w->cli, &w->conf, w->conf.branch, w->sent, metric, err);
}

static pfc_code open_service(remote_search *w, pfc_err *err)
{
    const bisect_opts *o = w->opts;
    pfc_code code = PFC_OK;

    /* Without a repository the ends can be ids of commits that the service stores. */
    if (pfc_repo_open(o->repo ? o->repo : ".", &w->repo, err) != PFC_OK) {
        if (o->repo)
            return err->code;
        *err = (pfc_err){ 0 };
    }
    code = read_settings(w, err);
    if (!code)
        code = pfc_api_open(o->url, o->data, &w->conf, &w->http, err);
    if (!code)
        code = pfc_api_project(o->project, &w->conf, w->repo ? pfc_repo_root(w->repo) : NULL,
                               &w->project, err);
    return code;
}

/* ---- the answer of the service ---- */

static const char *text_of(const json_t *obj, const char *key)
{
    const char *text = json_string_value(json_object_get(obj, key));

    return text ? text : "";
}

/* Text from the service as one line without control characters; caller frees. */
static char *line_of(const json_t *obj, const char *key)
{
    char *text = pfc_strdup(text_of(obj, key));

    pfc_text_plain(text, false);
    return text;
}

static double number_of(const json_t *obj, const char *key)
{
    const json_t *value = json_object_get(obj, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void print_cost(const json_t *cost)
{
    char text[32];

    pfc_out("%.0f commits, about %.0f runs and %.0f builds", number_of(cost, "commits"),
            number_of(cost, "runs"), number_of(cost, "builds"));
    if (number_of(cost, "stored_runs") > 0)
        pfc_out(", %.0f stored runs used", number_of(cost, "stored_runs"));
    if (isfinite(number_of(cost, "seconds"))) {
        pfc_show_seconds(number_of(cost, "seconds"), text);
        pfc_out(", about %s", text);
        pfc_show_seconds(number_of(cost, "wait_seconds"), text);
        pfc_out(" (of it %s in the queue, behind %.0f jobs)", text,
                number_of(cost, "jobs_waiting"));
    }
    pfc_out(" on %.0f runners\n", number_of(cost, "runners"));
}

/* Appends ", 3 stored runs used" for one kind of step, when there are any. */
static void add_count(pfc_buf *out, double n, const char *what)
{
    if (n > 0)
        pfc_buf_printf(out, "%s%.0f %s", out->len ? ", " : "", n, what);
}

/* Appends the number of steps of each kind. Stored runs and failed jobs are not new
 * measurements. */
static void say_counts(const json_t *b, pfc_buf *out)
{
    const json_t *n = json_object_get(b, "counts");

    pfc_buf_printf(out, "%.0f newly measured", fmax(0, number_of(n, "measured")));
    add_count(out, number_of(n, "stored"), "stored runs used");
    add_count(out, number_of(n, "failed"), "failed");
    add_count(out, number_of(n, "broken"), "broken");
    add_count(out, number_of(n, "timed_out"), "timed out");
    add_count(out, number_of(n, "waiting"), "under way");
}

static void show_steps(remote_search *w, const json_t *b)
{
    const json_t *steps = json_object_get(b, "steps");
    char value[32];
    pfc_buf counts;

    /* In the order of the steps: a pending one delays those after it. */
    for (; w->printed < json_array_size(steps); w->printed++) {
        const json_t *s = json_array_get(steps, w->printed);
        const char *state = text_of(s, "state");
        char *reason;

        if (strcmp(state, "asked") == 0)
            break;
        if (json_is_true(json_object_get(s, "stored")))
            continue;
        pfc_show_value(number_of(s, "value"), value);
        reason = line_of(s, "reason");
        pfc_cli_note(w->cli, "%.12s: %s%s%s%s%s", text_of(s, "commit"),
                     strcmp(state, "measured") == 0 ? value : state,
                     *text_of(s, "runner") ? " by " : "", text_of(s, "runner"), *reason ? ": " : "",
                     reason);
        free(reason);
    }
    if (strcmp(text_of(b, "state"), "running") == 0) {
        pfc_buf_init(&counts, 1024);
        say_counts(b, &counts);
        pfc_cli_progress(w->cli, "%s, about %.0f runs to go", pfc_buf_text(&counts),
                         number_of(b, "expected_runs"));
        pfc_buf_clear(&counts);
    }
}

static void print_culprits(const pfc_cli *cli, const json_t *b)
{
    static const pfc_table_col cols[] = {
        { "CULPRIT", false }, { "PROBABILITY", true }, { "CHANGE", true }, { "INTERVAL", true }
    };
    const json_t *list = json_object_get(b, "culprits");
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *c = json_array_get(list, i), *commits = json_object_get(c, "commits");
        char change[32], low[32], high[32];

        pfc_show_percent(number_of(c, "rel_change"), change);
        pfc_show_percent(number_of(c, "rel_low"), low);
        pfc_show_percent(number_of(c, "rel_high"), high);
        for (size_t k = 0; k < json_array_size(commits); k++) {
            pfc_table_row(table);
            pfc_table_setf(table, 0, "%.12s", json_string_value(json_array_get(commits, k)));
            pfc_table_color(table, 0, "red");
            if (k == 0) {
                pfc_table_setf(table, 1, "%.4f", number_of(c, "probability"));
                pfc_table_set(table, 2, change);
                pfc_table_setf(table, 3, "%s .. %s", low, high);
            } else {
                pfc_table_set(table, 1, "or");
            }
        }
    }
    pfc_table_print(table);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *c = json_array_get(list, i), *commits = json_object_get(c, "commits");

        if (json_array_size(commits) > 1)
            pfc_out(
                "%.12s .. %.12s: %s\n", json_string_value(json_array_get(commits, 0)),
                json_string_value(json_array_get(commits, json_array_size(commits) - 1)),
                json_is_true(json_object_get(c, "unmeasurable"))
                    ? "no run can separate these, because the commits between cannot be measured"
                    : "another run would hardly narrow these down");
    }
}

/* No job gave a value and at least one failed: the failure is the result. */
static bool nothing_measured(const json_t *b)
{
    const json_t *counts = json_object_get(b, "counts");

    return json_is_object(json_object_get(b, "failure")) && !(number_of(counts, "measured") > 0);
}

static int status_of(const json_t *b)
{
    const char *verdict = text_of(b, "verdict");
    const json_t *failure = json_object_get(b, "failure");

    if (json_array_size(json_object_get(b, "culprits")) > 0)
        return PFC_EXIT_REGRESSION;
    if (strcmp(verdict, "no-regression") == 0)
        return PFC_EXIT_OK;
    if (!nothing_measured(b))
        return PFC_EXIT_INCONCLUSIVE;
    return json_is_true(json_object_get(failure, "infrastructure")) ? PFC_EXIT_INFRA
                                                                    : PFC_EXIT_BROKEN;
}

static void print_failure(const json_t *b)
{
    const json_t *failure = json_object_get(b, "failure");
    char job[32] = "";
    char *reason;

    if (!json_is_object(failure))
        return;
    if (number_of(failure, "job_id") > 0)
        (void)snprintf(job, sizeof(job), " (job %.0f)", number_of(failure, "job_id"));
    reason = line_of(failure, "reason");
    pfc_out("%.12s %s%s: %s\n", text_of(failure, "commit"), text_of(failure, "state"), job, reason);
    free(reason);
}

static void print_none(const json_t *b)
{
    const json_t *d = json_object_get(b, "difference");
    const pfc_finding f = { .known = json_is_number(json_object_get(d, "rel_low")),
                            .rel_change = number_of(d, "rel_change"),
                            .rel_low = number_of(d, "rel_low"),
                            .rel_high = number_of(d, "rel_high"),
                            .margin = number_of(d, "margin"),
                            .within = true };
    pfc_buf text;

    pfc_buf_init(&text, 1024);
    if (f.known) {
        pfc_buf_puts(&text, "; the ends differ by ");
        pfc_finding_say(&f, &text);
    }
    pfc_out("no regression between %.12s and %.12s%s\n", text_of(b, "good"), text_of(b, "bad"),
            pfc_buf_text(&text));
    pfc_buf_clear(&text);
}

static void print_report(const remote_search *w, const json_t *b)
{
    char seconds[32];
    pfc_buf counts;

    print_failure(b);
    if (json_array_size(json_object_get(b, "culprits")) > 0)
        print_culprits(w->cli, b);
    else if (strcmp(text_of(b, "verdict"), "no-regression") == 0)
        print_none(b);
    else {
        char *reason = line_of(b, "reason");

        pfc_out("not decided%s%s\n", *reason ? ": " : "", reason);
        free(reason);
    }
    pfc_show_seconds(number_of(b, "seconds"), seconds);
    pfc_buf_init(&counts, 1024);
    say_counts(b, &counts);
    pfc_out("%s; %.0f builds, %.0f of %.0f commits have a value, %s\n", pfc_buf_text(&counts),
            number_of(b, "builds"), number_of(b, "commits_measured"), number_of(b, "commits"),
            seconds);
    pfc_buf_clear(&counts);
}

static int report(const remote_search *w, const json_t *b)
{
    if (w->cli->json)
        pfc_cli_print_json(json_incref((json_t *)(uintptr_t)b));
    else
        print_report(w, b);
    return status_of(b);
}

/* Polls until the bisection ends, or until a signal; the bisection then continues without this
 * command. */
static pfc_code follow(remote_search *w, int64_t id, json_t **out, pfc_err *err)
{
    char *path = pfc_format("/api/v1/bisections/%lld", (long long)id);
    pfc_code code = PFC_OK;

    while (!code && !pfc_cli_interrupted(NULL)) {
        json_t *b = NULL;

        code = pfc_http_json(w->http, "GET", path, NULL, NULL, &b, err);
        if (pfc_http_retryable(code)) {
            /* A restarted service continues the bisection. */
            pfc_cli_note(w->cli, "waiting for the service: %s", err->msg);
            *err = (pfc_err){ 0 };
            code = PFC_OK;
        } else if (!code) {
            show_steps(w, b);
            if (strcmp(text_of(b, "state"), "running") != 0) {
                *out = b;
                break;
            }
        }
        json_decref(b);
        if (!code)
            (void)poll(NULL, 0, POLL_EVERY_MS); /* a signal ends it */
    }
    pfc_cli_progress(w->cli, "%s", "");
    free(path);
    return code;
}

int bisect_remote(const pfc_cli *cli, const bisect_opts *opts)
{
    remote_search w = { .cli = cli, .opts = opts };
    json_t *body = json_pack("{s:s}", "mode", "remote");
    json_t *answer = NULL, *last = NULL;
    const char *source = NULL;
    int status = PFC_EXIT_INCONCLUSIVE;
    int64_t id = 0;
    pfc_err err = { 0 };
    pfc_code code = open_service(&w, &err);

    if (!code)
        code = make_order(&w, body, &err);
    if (!code)
        code = put_settings(&w, body, &err);
    if (!code && w.repo)
        code = pfc_api_source(w.http, w.project, pfc_repo_root(w.repo), &source, &err);
    if (!code) {
        put_text(body, "source", source);
        json_object_set_new(body, "project", json_string(w.project));
        json_object_set_new(body, "dry_run", json_boolean(opts->dry_run));
        code = pfc_http_json(w.http, "POST", "/api/v1/bisections", body, NULL, &answer, &err);
        code = pfc_measured_refused(code, w.sent, &err);
    }
    if (!code && opts->dry_run) {
        status = PFC_EXIT_OK;
        if (cli->json)
            pfc_cli_print_json(json_incref(json_object_get(answer, "expected")));
        else
            print_cost(json_object_get(answer, "expected"));
    } else if (!code) {
        id = json_integer_value(json_object_get(answer, "id"));
        pfc_cli_note(cli, "bisection %lld: about %.0f runs on %.0f runners", (long long)id,
                     number_of(json_object_get(answer, "expected"), "runs"),
                     number_of(json_object_get(answer, "expected"), "runners"));
        code = follow(&w, id, &last, &err);
        if (!code && last)
            status = report(&w, last);
        else if (!code)
            pfc_cli_warn(cli, "bisection %lld goes on without this command; its page shows it",
                         (long long)id);
    }
    json_decref(last);
    json_decref(answer);
    json_decref(body);
    free(w.project);
    pfc_repo_close(w.repo);
    pfc_http_free(w.http);
    pfc_conf_clear(&w.conf);
    pfc_project_source_clear(&w.source);
    return code ? pfc_cli_fail(cli, &err) : status;
}
