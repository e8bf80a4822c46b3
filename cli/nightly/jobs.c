/*
 * A nightly round on the service's runners: a job measures all builds in blocks, as one session.
 * Where there is nothing to compare with yet, and at a service from before sessions, each commit is
 * a job of its own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/measure/coverage_line.h"
#include "cli/nightly/nightly.h"
#include "cli/output/output.h"
#include "core/base/clock.h"

enum { POLL_MS = 200, SESSIONS = 20 };

#define ROUNDS_S 86400.0 /* limit of a session whose rounds are given */

/* The queued jobs of a round. */
typedef struct night_round {
    pfc_night *n;
    const pfc_night_jobs *jobs;
    const char *source; /* NULL: the project's own repository */
    const char *config; /* NULL: the branch's perfci.yaml */
} night_round;

/* ---- asking ---- */

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

/* machine_class NULL: any runner; blocks NULL: the commit alone, else taken. */
static pfc_code queue_job(const night_round *r, const char *commit, const char *machine_class,
                          json_t *blocks, int64_t *job, pfc_err *err)
{
    const pfc_night *n = r->n;
    json_t *body = json_pack("{s:s,s:s,s:s,s:s*,s:s*,s:s*,s:o*}", "project", n->project, "kind",
                             "nightly", "commit", commit, "source", r->source, "branch", n->branch,
                             "suite", n->take.opts->suite, "blocks", blocks);
    json_t *answer = NULL;
    pfc_code code;

    if (machine_class)
        json_object_set_new(body, "labels", json_pack("{s:s}", "machine_class", machine_class));
    put_wanted(n->take.opts, r->config, body);
    code = pfc_http_json(n->http, "POST", "/api/v1/jobs", body, NULL, &answer, err);
    if (!code)
        code = pfc_json_i64(answer, NULL, "id", true, 1, INT64_MAX, job, err);
    json_decref(answer);
    json_decref(body);
    return code;
}

static json_t *ids_of(const pfc_commit_id *ids, size_t len)
{
    json_t *list = json_array();

    for (size_t i = 0; i < len; i++)
        json_array_append_new(list, json_string(ids[i].hex));
    return list;
}

/* "blocks" of the job: the plan of the round. */
static json_t *blocks_of(const pfc_night *n)
{
    const pfc_night_plan *p = &n->plan;
    const size_t repeats = n->take.opts->repeats;
    json_t *anchors = ids_of(p->builds, p->first - 1);
    json_t *more = ids_of(p->anchors, p->anchors_len), *known = json_array();
    json_t *doc = json_pack(
        "{s:o,s:s,s:f}", "commits", ids_of(p->builds + p->first, p->len - p->first), "base",
        p->builds[p->first - 1].hex, "budget_s", repeats ? ROUNDS_S : n->budget_s);

    for (size_t i = p->first; i < p->len; i++)
        if (p->known[i])
            json_array_append_new(known, json_string(p->builds[i].hex));
    if (json_array_size(known))
        json_object_set(doc, "known", known);
    json_decref(known);
    json_array_extend(anchors, more);
    json_decref(more);
    if (json_array_size(anchors))
        json_object_set(doc, "anchors", anchors);
    json_decref(anchors);
    if (n->margin > 0)
        json_object_set_new(doc, "margin", json_real(n->margin));
    if (repeats)
        json_object_set_new(doc, "rounds", json_integer((json_int_t)repeats));
    return doc;
}

/* ---- waiting ---- */

/* Where it waits, and for how long; nothing of one that a runner has. */
static void tell_place(const pfc_night *n, int64_t job, const char *commit, const json_t *answer)
{
    const json_t *wait = json_object_get(answer, "expected_wait");
    const char *reason = json_string_value(json_object_get(answer, "wait_reason"));
    const json_t *position = json_object_get(answer, "position");
    char middle[32], low[32], high[32], place[48] = "far back in the queue";

    if (!pfc_streq(json_string_value(json_object_get(answer, "state")), "queued"))
        return;
    if (json_is_integer(position))
        (void)snprintf(place, sizeof(place), "number %lld in the queue",
                       (long long)json_integer_value(position));
    if (!json_is_object(wait)) {
        pfc_cli_note(n->cli, "job %lld (%.12s): %s, %s", (long long)job, commit, place,
                     reason ? reason : "wait unknown");
        return;
    }
    pfc_show_seconds(json_number_value(json_object_get(wait, "seconds")), middle);
    pfc_show_seconds(json_number_value(json_object_get(wait, "low")), low);
    pfc_show_seconds(json_number_value(json_object_get(wait, "high")), high);
    pfc_cli_note(n->cli, "job %lld (%.12s): %s, begins in about %s (%s to %s)%s%s", (long long)job,
                 commit, place, middle, low, high, reason ? ": " : "", reason ? reason : "");
}

/* Asks until the job is done with, one way or the other; *ended is the job then, NULL when the time
 * is over. The caller decrefs. */
static pfc_code wait_job(const night_round *r, int64_t job, const char *commit, json_t **ended,
                         pfc_err *err)
{
    char *path = pfc_format("/api/v1/jobs/%lld", (long long)job);
    const pfc_night *n = r->n;
    bool printed = false;
    pfc_code code = PFC_OK;

    *ended = NULL;
    while (!*ended) {
        json_t *answer = NULL;
        const char *state, *progress;

        code = pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, err);
        if (code)
            break;
        if (!printed)
            tell_place(n, job, commit, answer);
        printed = true;
        state = json_string_value(json_object_get(answer, "state"));
        progress = json_string_value(json_object_get(answer, "progress"));
        if (pfc_streq(state, "leased") && progress)
            pfc_cli_progress(n->cli, "job %lld: %s", (long long)job, progress);
        if (pfc_streq(state, "done") || pfc_streq(state, "failed") || pfc_streq(state, "cancelled"))
            *ended = answer;
        else
            json_decref(answer);
        if (*ended || pfc_clock_ns() >= r->jobs->until_ns || pfc_cli_interrupted(NULL))
            break;
        pfc_clock_sleep_ns(POLL_MS * PFC_NS_PER_MS);
    }
    free(path);
    return code;
}

/* The status of a commit whose job has no result of it. `job` NULL: it did not end in time. */
static void take_failure(pfc_night_commit *c, const json_t *job)
{
    const char *state = json_string_value(json_object_get(job, "state"));
    const char *reason = json_string_value(json_object_get(job, "reason"));

    c->broken = pfc_streq(state, "failed");
    free(c->reason);
    c->reason = pfc_strdup(!job                       ? "no runner has measured it in time"
                           : reason                   ? reason
                           : pfc_streq(state, "done") ? "the job brought no result of it"
                                                      : state);
}

static bool has_status(const pfc_night_commit *c)
{
    return c->measured || c->broken || c->left_out || c->same_as.hex[0];
}

/* ---- each commit a job ---- */

/* On each class of machines; the commit is measured when one of them has measured it. */
static pfc_code wait_commit(const night_round *r, const int64_t *ids, size_t len,
                            pfc_night_commit *c, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < len && !code; i++) {
        json_t *job = NULL;

        code = wait_job(r, ids[i], c->id.hex, &job, err);
        if (!code && pfc_streq(json_string_value(json_object_get(job, "state")), "done"))
            c->measured = true;
        else if (!code)
            take_failure(c, job);
        json_decref(job);
    }
    if (c->measured) {
        free(c->reason);
        c->reason = NULL;
        c->broken = false;
    }
    return code;
}

static pfc_code one_by_one(const night_round *r, pfc_err *err)
{
    pfc_night *n = r->n;
    const size_t classes = r->jobs->machine_classes_len, each = PFC_MAX(1, classes);
    int64_t *ids = pfc_calloc(n->len * each + 1, sizeof(ids[0]));
    pfc_code code = PFC_OK;

    /* All of them first, so that several runners share them. */
    for (size_t i = 0; i < n->len * each && !code; i++)
        if (!n->commits[i / each].left_out)
            code =
                queue_job(r, n->commits[i / each].id.hex,
                          classes ? r->jobs->machine_classes[i % each] : NULL, NULL, &ids[i], err);
    for (size_t i = 0; i < n->len && !code; i++) {
        if (n->commits[i].left_out)
            continue;
        pfc_cli_progress(n->cli, "waiting for commit %zu of %zu", i + 1, n->len);
        code = wait_commit(r, ids + i * each, each, &n->commits[i], err);
    }
    free(ids);
    return code;
}

/* ---- all builds in one job ---- */

/* A run of the job. The session's base and anchor are not among its commits, but may be among ours.
 */
static void take_run(pfc_night_commit *c, const json_t *run)
{
    c->run_id = json_integer_value(json_object_get(run, "run_id"));
    c->measured = c->measured || (!c->broken && !c->left_out && !c->same_as.hex[0]);
}

/* Numbers of the runs that the job brought. */
static pfc_code take_run_ids(pfc_night *n, const json_t *job, pfc_err *err)
{
    char *path = pfc_format("/api/v1/projects/%s/runs?limit=1000", n->project);
    const json_t *ids = json_object_get(job, "run_ids");
    json_t *mine = json_object(), *answer = NULL;
    const json_t *runs;
    pfc_code code = pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, err);

    for (size_t i = 0; i < json_array_size(ids); i++)
        json_object_set_new(mine, json_string_value(json_array_get(ids, i)), json_true());
    runs = json_object_get(answer, "runs");
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        const char *id = json_string_value(json_object_get(run, "id"));
        const char *commit = json_string_value(json_object_get(run, "commit"));

        for (size_t k = 0; id && json_object_get(mine, id) && k < n->len; k++)
            if (pfc_streq(n->commits[k].id.hex, commit))
                take_run(&n->commits[k], run);
    }
    json_decref(mine);
    json_decref(answer);
    free(path);
    return code;
}

/* The session's status of one of the round's commits. */
static void take_status(pfc_night_commit *c, const json_t *one)
{
    const char *status = json_string_value(json_object_get(one, "status"));
    const char *same = json_string_value(json_object_get(one, "same_as"));
    const char *reason = json_string_value(json_object_get(one, "reason"));

    if (c->measured)
        return; /* on another class of machines */
    c->measured = pfc_streq(status, "measured");
    c->broken = pfc_streq(status, "broken");
    c->left_out = pfc_streq(status, "not_measured");
    (void)snprintf(c->same_as.hex, sizeof(c->same_as.hex), "%s", same ? same : "");
    free(c->reason);
    c->reason = !c->measured && reason ? pfc_strdup(reason) : NULL;
}

static void take_document(pfc_night *n, json_t *session)
{
    const json_t *commits = json_object_get(session, "commits");
    const char *note = json_string_value(json_object_get(session, "note"));

    for (size_t i = 0; i < json_array_size(commits); i++) {
        const json_t *one = json_array_get(commits, i);
        const char *id = json_string_value(json_object_get(one, "commit"));

        for (size_t k = 0; id && k < n->len; k++)
            if (pfc_streq(n->commits[k].id.hex, id))
                take_status(&n->commits[k], one);
    }
    for (size_t k = 0; k < n->len; k++)
        n->skipped += n->commits[k].left_out && n->commits[k].build != PFC_NIGHT_NONE;
    if (note) {
        free(n->note);
        n->note = pfc_strdup(note);
    }
    if (!n->posted)
        n->posted = json_incref(session);
}

/* The session that the job names, as it was posted. */
static pfc_code take_session(pfc_night *n, const json_t *job, bool *found, pfc_err *err)
{
    const char *id = json_string_value(json_object_get(job, "session"));
    char *path = pfc_format("/api/v1/projects/%s/sessions?limit=%d", n->project, SESSIONS);
    json_t *answer = NULL;
    const json_t *list;
    pfc_code code = id ? pfc_http_json(n->http, "GET", path, NULL, NULL, &answer, err) : PFC_OK;

    *found = false;
    list = json_object_get(answer, "sessions");
    for (size_t i = 0; !code && i < json_array_size(list) && !*found; i++) {
        json_t *one = json_array_get(list, i);

        *found = pfc_streq(json_string_value(json_object_get(one, "id")), id);
        if (*found)
            take_document(n, one);
    }
    if (*found && n->session[0]) {
        n->further = n->further ? n->further : json_array();
        json_array_append_new(n->further, json_string(id));
    } else if (*found) {
        (void)snprintf(n->session, sizeof(n->session), "%s", id);
    }
    json_decref(answer);
    free(path);
    return code;
}

static pfc_code take_job(const night_round *r, int64_t id, pfc_err *err)
{
    pfc_night *n = r->n;
    const char *newest = n->plan.builds[n->plan.len - 1].hex;
    json_t *job = NULL;
    bool found = false;
    pfc_code code = wait_job(r, id, newest, &job, err);

    if (!code)
        code = take_session(n, job, &found, err);
    if (!code && found)
        code = take_run_ids(n, job, err);
    for (size_t i = 0; !code && i < n->len; i++)
        if (!has_status(&n->commits[i]))
            take_failure(&n->commits[i], job);
    json_decref(job);
    return code;
}

/* A service from before sessions refuses the member. */
static bool is_too_old(pfc_code code, const pfc_err *err)
{
    return code == PFC_EINVAL && strcmp(err->field, "blocks") == 0;
}

/* The report would come before the session ends. */
static void say_short(const night_round *r)
{
    const double left_s = (double)(r->jobs->until_ns - pfc_clock_ns()) / (double)PFC_NS_PER_S;
    char budget[32], wait[32];

    if (r->n->take.opts->repeats || r->n->budget_s <= left_s)
        return;
    pfc_show_seconds(r->n->budget_s, budget);
    pfc_show_seconds(fmax(left_s, 0), wait);
    pfc_cli_warn(r->n->cli, "the budget is %s, but --wait ends in %s", budget, wait);
}

/* One job for each class of machines; *known false and PFC_OK: the service is too old for such
 * jobs. */
static pfc_code in_blocks(const night_round *r, bool *known, pfc_err *err)
{
    const size_t classes = r->jobs->machine_classes_len, len = PFC_MAX(1, classes);
    const char *newest = r->n->plan.builds[r->n->plan.len - 1].hex;
    int64_t *ids = pfc_calloc(len, sizeof(ids[0]));
    pfc_err why = { 0 };
    pfc_code code = PFC_OK;

    *known = true;
    for (size_t i = 0; i < len && !code && *known; i++) {
        code = queue_job(r, newest, classes ? r->jobs->machine_classes[i] : NULL, blocks_of(r->n),
                         &ids[i], &why);
        *known = !is_too_old(code, &why);
    }
    if (!*known)
        code = PFC_OK;
    else if (code)
        *err = why;
    if (!code && *known)
        say_short(r);
    for (size_t i = 0; i < len && !code && *known; i++)
        code = take_job(r, ids[i], err);
    free(ids);
    return code;
}

pfc_code pfc_night_measure_by_jobs(pfc_night *n, const pfc_night_jobs *jobs, pfc_err *err)
{
    night_round r = { .n = n, .jobs = jobs, .source = jobs->source };
    bool known = false;
    pfc_code code;

    r.config =
        n->take.opts->suite ? NULL : pfc_measured_to_send(n->take.repo, n->branch, &n->take.source);
    if (n->take.opts->suite)
        code = pfc_take_ready(&n->take, err);
    else
        code = pfc_measured_remotely(n->cli, &n->take.conf, n->branch, r.config != NULL,
                                     n->take.conf.metric, err);
    if (!r.source && !code)
        code = pfc_api_source(n->http, n->project, pfc_repo_root(n->take.repo), &r.source, err);
    if (!code && n->plan.len > 1) {
        code = in_blocks(&r, &known, err);
        if (!code && !known)
            pfc_cli_warn(n->cli,
                         "the service is too old for jobs of several builds: each commit is "
                         "measured on its own, and no session compares them");
    }
    if (!code && !known)
        code = one_by_one(&r, err);
    return pfc_measured_refused(code, r.config != NULL, err);
}
