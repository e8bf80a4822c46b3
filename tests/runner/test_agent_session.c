/* A job with blocks against a stand-in server: what arrives, in which order, and what a stop
 * leaves. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/wire/wire.h"
#include "runner/agent/agent.h"

#include "tests/check/check.h"
#include "tests/core/git/fixture.h"
#include "tests/core/http/stand_in.h"

enum { MAX_IDS = 8, MAX_RUNS = 16 };

/* A build is the file `value`. Each visit adds a line to the file `log`; the one with the number in
 * the file `hang`, counted from 1, waits there to be interrupted. */
#define YAML                                                                                       \
    "project: demo\nbranch: main\n"                                                                \
    "build: \"test ! -e broken && printf 'echo %s\\\\n' \\\"$(cat value)\\\" > prog.sh\"\n"        \
    "measure: \"echo $PERFCI_COMMIT >> $SESSION_LOG; "                                             \
    "test $(wc -l < $SESSION_LOG) != $SESSION_HANG || sleep 600; sh prog.sh\"\n"                   \
    "metric: t\nunit: ms\nbetter: lower\n"

static fixture f;
static stand_in server;
static char *work, *visits_log;
static int stop_pipe[2];
static char ids[MAX_IDS][41];
static size_t ids_len;

/* The server's answers and the requests that it received. Only its thread uses it while it runs. */
static struct {
    char *job;
    bool leased;           /* it was given out */
    int runs_status;       /* answer to POST /runs; 0: 201 */
    int sessions_status;   /* likewise to the session */
    int complete_status;   /* likewise to the completion; 0: 200 */
    long act_at;           /* heartbeats act once so many visits have begun */
    bool stop_then;        /* ... by stopping the agent */
    int beat_status;       /* ... by this answer */
    const char *beat_body; /* ... and this */
    char order[64];        /* r: run, s: session, c: completion, g: given back */
    pfc_run *runs[MAX_RUNS];
    size_t runs_len;
    char *session, *completed, *progress, *question;
} s;

static long visits(void)
{
    char *text = NULL;
    size_t len = 0;
    long n = 0;

    if (pfc_fs_read(visits_log, 1 << 20, &text, &len, NULL))
        return 0;
    for (size_t i = 0; i < len; i++)
        n += text[i] == '\n';
    free(text);
    return n;
}

static void note(char what)
{
    s.order[strlen(s.order)] = what;
}

static void remember(char **to, const stand_in_req *req)
{
    free(*to);
    *to = pfc_strndup(req->body, req->body_len);
}

static void answer_beat(const stand_in_req *req, pfc_buf *out)
{
    const bool now = s.act_at && visits() >= s.act_at;

    remember(&s.progress, req);
    if (now && s.stop_then)
        (void)!write(stop_pipe[1], "x", 1);
    stand_in_json(out, now && s.beat_status ? s.beat_status : 200,
                  now && s.beat_body ? s.beat_body : "{\"lease_s\": 1, \"cancel\": false}");
}

static void answer_run(const stand_in_req *req, pfc_buf *out)
{
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    note('r');
    if (s.runs_status) {
        stand_in_json(out, s.runs_status, "{\"error\": {\"message\": \"no room\"}}");
    } else if (pfc_run_from_json(req->body, req->body_len, &run, &err) || s.runs_len == MAX_RUNS) {
        stand_in_json(out, 400, "{\"error\": {\"message\": \"bad document\"}}");
        pfc_run_free(run);
    } else {
        s.runs[s.runs_len++] = run;
        stand_in_json(out, 201, "{\"run_id\": 5}");
    }
}

static void serve(const stand_in_req *req, pfc_buf *out, void *arg)
{
    (void)arg;
    if (strncmp(req->path, "/api/v1/jobs/lease", 18) == 0) {
        remember(&s.question, req);
        if (s.job && !s.leased)
            stand_in_json(out, 200, s.job);
        else
            pfc_buf_puts(out, "HTTP/1.1 204 None\r\nConnection: close\r\n\r\n");
        s.leased = true;
    } else if (strcmp(req->path, "/api/v1/runs") == 0) {
        answer_run(req, out);
    } else if (strcmp(req->path, "/api/v1/projects/demo/sessions") == 0) {
        note('s');
        remember(&s.session, req);
        stand_in_json(out, s.sessions_status ? s.sessions_status : 201,
                      "{\"error\": {\"message\": \"odd session\"}}");
    } else if (strcmp(req->path, "/api/v1/jobs/17/heartbeat") == 0) {
        answer_beat(req, out);
    } else if (strcmp(req->path, "/api/v1/jobs/17/complete") == 0) {
        note('c');
        remember(&s.completed, req);
        stand_in_json(out, s.complete_status ? s.complete_status : 200, "{}");
    } else if (strcmp(req->path, "/api/v1/jobs/17/release") == 0) {
        note('g');
        stand_in_json(out, 200, "{}");
    } else {
        stand_in_json(out, 200, "{}"); /* what was built of what */
    }
}

static void add_commit(const char *path, const char *text)
{
    char *id = fixture_commit(&f, path, text, "work");

    (void)snprintf(ids[ids_len++], sizeof(ids[0]), "%s", id);
    free(id);
}

static void setup(void)
{
    fixture_init(&f);
    work = pfc_fs_join(f.dir, "work");
    visits_log = pfc_fs_join(f.dir, "log");
    setenv("SESSION_LOG", visits_log, 1);
    setenv("SESSION_HANG", "0", 1);
    memset(&s, 0, sizeof(s));
    ids_len = 0;
    cr_assert(eq(int, pipe(stop_pipe), 0));
    pfc_log_set_level(PFC_OFF);
    stand_in_start(&server, serve, NULL);
    fixture_write(&f, "perfci.yaml", YAML);
    add_commit("value", "10\n"); /* the anchor */
    add_commit("value", "11\n"); /* the base */
    add_commit("value", "12\n");
}

static void teardown(void)
{
    stand_in_stop(&server);
    close(stop_pipe[0]);
    close(stop_pipe[1]);
    for (size_t i = 0; i < s.runs_len; i++)
        pfc_run_free(s.runs[i]);
    free(s.job);
    free(s.session);
    free(s.completed);
    free(s.progress);
    free(s.question);
    free(work);
    free(visits_log);
    fixture_clear(&f);
}

TestSuite(agent_session, .init = setup, .fini = teardown, .timeout = 900);

/* The anchors as given, base, and all commits from the third on, for two rounds. */
static void offer(const char *anchors, const char *base)
{
    pfc_buf list;

    pfc_buf_init(&list, 4096);
    for (size_t i = 2; i < ids_len; i++)
        pfc_buf_printf(&list, "%s\"%s\"", i > 2 ? ", " : "", ids[i]);
    s.job = pfc_format(
        "{\"job\": {\"id\": 17, \"lease\": \"secret\", \"fence\": 3, \"lease_s\": 1, "
        "\"kind\": \"nightly\", \"project\": \"demo\", \"commit\": \"%s\", \"branch\": \"main\", "
        "\"source\": \"%s\", \"task\": {\"blocks\": {\"commits\": [%s], \"base\": \"%s\", "
        "\"anchors\": [%s], \"budget_s\": 3600, \"rounds\": 2}}}}",
        ids[ids_len - 1], f.repo, pfc_buf_text(&list), base, anchors);
    pfc_buf_clear(&list);
}

static void offer_all(void)
{
    char anchor[64];

    (void)snprintf(anchor, sizeof(anchor), "\"%s\"", ids[0]);
    offer(anchor, ids[1]);
}

static pfc_agent_report run_agent(void)
{
    const pfc_agent_opts opts = { .url = server.url,
                                  .token = "pfc_token",
                                  .dir = work,
                                  .name = "tester",
                                  .machine_class = "lab",
                                  .once = true,
                                  .sandbox =
                                      PFC_SANDBOX_OFF, /* jobs write notes beside the repository */
                                  .stop_fd = stop_pipe[0],
                                  .seed = 1,
                                  .backoff_s = 0.01 };
    pfc_agent_report report;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_agent_run(&opts, &report, &err), PFC_OK), "%s", err.msg);
    return report;
}

static void unstop(void)
{
    char byte;

    s.stop_then = false;
    cr_assert(eq(int, (int)read(stop_pipe[0], &byte, 1), 1));
}

/* The run of a commit; NULL: there is none. */
static const pfc_run *run_of(const char *id)
{
    for (size_t i = 0; i < s.runs_len; i++)
        if (strcmp(s.runs[i]->commit, id) == 0)
            return s.runs[i];
    return NULL;
}

static json_t *session(void)
{
    json_t *doc = NULL;
    pfc_err err = { 0 };

    cr_assert(ne(ptr, s.session, NULL));
    cr_assert(eq(int, pfc_json_parse(s.session, strlen(s.session), &doc, &err), PFC_OK), "%s",
              err.msg);
    return doc;
}

static void want_commit(const json_t *doc, size_t at, const char *id, const char *status)
{
    const json_t *c = json_array_get(json_object_get(doc, "commits"), at);

    cr_assert(eq(str, (char *)json_string_value(json_object_get(c, "commit")), (char *)id));
    cr_assert(eq(str, (char *)json_string_value(json_object_get(c, "status")), (char *)status));
}

static void want_completed(const char *words)
{
    cr_assert(ne(ptr, s.completed, NULL));
    cr_assert(ne(ptr, strstr(s.completed, words), NULL), "%s", s.completed);
}

/* Of each build so many visits, one in each block, and one value each. */
static void want_visits(const pfc_run *run, size_t blocks)
{
    const pfc_measurement *m = &run->measurements[0];

    cr_assert(eq(sz, m->blocks_len, blocks));
    cr_assert(ne(ptr, m->visits, NULL));
    for (size_t i = 0; i < blocks; i++)
        cr_assert(eq(u32, m->visits[i].block, (uint32_t)i));
}

Test(agent_session, builds_become_runs_and_one_session)
{
    pfc_agent_report report;
    json_t *doc;

    add_commit("value", "13\n");
    offer_all();
    report = run_agent();
    cr_assert(eq(sz, report.done, 1));
    cr_assert(eq(sz, report.waiting, 0));
    cr_assert(eq(str, s.order, "rrrrsc"));
    doc = session();
    for (size_t i = 0; i < ids_len; i++) {
        const pfc_run *run = run_of(ids[i]);

        cr_assert(ne(ptr, (void *)(uintptr_t)run, NULL));
        cr_assert(eq(i64, run->job_id, 17));
        cr_assert(eq(i64, run->job_fence, 3));
        cr_assert(eq(str, run->project, "demo"));
        cr_assert(eq(str, run->session_id,
                     (char *)(uintptr_t)json_string_value(json_object_get(doc, "id"))));
        cr_assert(eq(str, run->session_anchor, ids[0]));
        cr_assert(eq(str, run->session_base, ids[1]));
        want_visits(run, 4);
        want_completed(run->id);
    }
    want_completed("\"status\":\"done\"");
    want_completed("\"lease\":\"secret\"");
    want_completed(s.runs[0]->session_id);
    cr_assert(eq(sz, json_array_size(json_object_get(doc, "commits")), 2));
    want_commit(doc, 0, ids[2], "measured");
    want_commit(doc, 1, ids[3], "measured");
    cr_assert(eq(int, (int)json_integer_value(json_object_get(doc, "blocks")), 4));
    cr_assert(eq(str, (char *)json_string_value(json_object_get(doc, "machine")), "tester"));
    cr_assert(eq(str, (char *)json_string_value(json_object_get(doc, "machine_class")), "lab"));
    cr_assert(
        ne(ptr, strstr(s.question, "\"labels\":{\"tasks\":\"blocks\",\"once\":\"yes\"}"), NULL),
        "%s", s.question);
    json_decref(doc);
}

/* The broken commit gets a reason; the others are measured. */
Test(agent_session, a_broken_commit_is_no_broken_job)
{
    json_t *doc;

    add_commit("broken", "x\n");
    fixture_do(&f, "rm -q broken");
    add_commit("value", "14\n");
    offer_all();
    cr_assert(eq(sz, run_agent().done, 1));
    cr_assert(eq(str, s.order, "rrrrsc"));
    doc = session();
    want_commit(doc, 0, ids[2], "measured");
    want_commit(doc, 1, ids[3], "broken");
    want_commit(doc, 2, ids[4], "measured");
    json_decref(doc);
}

Test(agent_session, without_any_result_the_job_is_broken)
{
    json_t *doc;

    ids_len = 2;
    add_commit("broken", "x\n");
    offer_all();
    cr_assert(eq(sz, run_agent().broken, 1));
    want_completed("\"status\":\"broken\"");
    doc = session();
    want_commit(doc, 0, ids[2], "broken");
    json_decref(doc);
}

/* An anchor that was rewritten away is no reason to measure nothing; a base is. */
Test(agent_session, a_missing_anchor_is_left_out)
{
    json_t *doc;

    offer("\"00000000000000000000000000000000000000aa\"", ids[1]);
    cr_assert(eq(sz, run_agent().done, 1));
    doc = session();
    cr_assert(eq(str, (char *)json_string_value(json_object_get(doc, "anchor")), ids[1]));
    json_decref(doc);
}

Test(agent_session, a_missing_base_is_said)
{
    offer("", "00000000000000000000000000000000000000aa");
    cr_assert(eq(sz, run_agent().failed, 1));
    cr_assert(eq(str, s.order, "c"));
    want_completed("\"reason\":\"base: ");
}

/* In the third block of four: the two whole ones are a session, and the job goes on later. */
Test(agent_session, a_stop_inside_a_block_keeps_the_whole_ones)
{
    pfc_agent_report report;
    json_t *doc;

    setenv("SESSION_HANG", "8", 1);
    s.act_at = 8;
    s.stop_then = true;
    offer_all();
    report = run_agent();
    cr_assert(eq(sz, report.abandoned, 1));
    cr_assert(eq(str, s.order, "g"));
    cr_assert(ne(ptr, strstr(s.progress, "[block 3]"), NULL), "%s", s.progress);
    cr_assert(eq(sz, report.waiting, 4));
    unstop();
    cr_assert(eq(sz, run_agent().waiting, 0)); /* the queue is empty */
    cr_assert(eq(str, s.order, "grrrs"));
    doc = session();
    cr_assert(eq(int, (int)json_integer_value(json_object_get(doc, "blocks")), 2));
    want_commit(doc, 0, ids[2], "measured");
    json_decref(doc);
    for (size_t i = 0; i < ids_len; i++) {
        /* The next lease of the job must not overtake them. */
        cr_assert(eq(i64, run_of(ids[i])->job_id, 0));
        cr_assert(eq(i64, run_of(ids[i])->job_fence, 0));
        want_visits(run_of(ids[i]), 2);
    }
    (void)run_agent();
    cr_assert(eq(str, s.order, "grrrs"));
}

Test(agent_session, a_stop_inside_the_first_block_keeps_nothing)
{
    pfc_agent_report report;

    setenv("SESSION_HANG", "2", 1);
    s.act_at = 2;
    s.stop_then = true;
    offer_all();
    report = run_agent();
    cr_assert(eq(sz, report.waiting, 0));
    cr_assert(eq(str, s.order, "g"));
}

/* Another runner has the job: it measures all of it. */
Test(agent_session, a_lost_lease_keeps_nothing)
{
    pfc_agent_report report;

    setenv("SESSION_HANG", "8", 1);
    s.act_at = 8;
    s.beat_status = 409;
    s.beat_body = "{\"error\": {\"message\": \"the lease is lost\"}}";
    offer_all();
    report = run_agent();
    cr_assert(eq(sz, report.abandoned, 1));
    cr_assert(eq(sz, report.waiting, 0));
    cr_assert(eq(str, s.order, ""));
}

Test(agent_session, a_cancelled_job_keeps_nothing_and_ends)
{
    pfc_agent_report report;

    setenv("SESSION_HANG", "8", 1);
    s.act_at = 8;
    s.beat_body = "{\"lease_s\": 1, \"cancel\": true}";
    offer_all();
    report = run_agent();
    cr_assert(eq(sz, report.waiting, 0));
    cr_assert(eq(str, s.order, "g"));
}

/* The process ended between the session and its completion: the next one completes with the same
 * runs. */
Test(agent_session, the_next_process_completes_what_is_stored)
{
    char *first;

    offer_all();
    s.complete_status = 503;
    (void)run_agent();
    cr_assert(eq(sz, s.runs_len, 3));
    first = pfc_strdup(s.completed);
    s.complete_status = 0;
    memset(s.order, 0, sizeof(s.order));
    (void)run_agent();
    cr_assert(eq(str, s.order, "c"));
    cr_assert(eq(str, s.completed, first));
    cr_assert(eq(i64, visits(), 12)); /* measured once */
    free(first);
}

Test(agent_session, a_server_that_was_away_gets_all_of_it_once)
{
    offer_all();
    s.runs_status = 503;
    cr_assert(eq(sz, run_agent().waiting, 4));
    cr_assert(eq(ptr, s.completed, NULL));
    s.runs_status = 0;
    memset(s.order, 0, sizeof(s.order));
    cr_assert(eq(sz, run_agent().waiting, 0));
    cr_assert(eq(str, s.order, "rrrsc"));
    want_completed("\"status\":\"done\"");
    cr_assert(eq(i64, visits(), 12));
}

Test(agent_session, a_refused_session_fails_the_job_with_its_reason)
{
    offer_all();
    s.sessions_status = 400;
    cr_assert(eq(sz, run_agent().failed, 1));
    cr_assert(eq(str, s.order, "rrrsc"));
    want_completed("\"status\":\"failed\"");
    want_completed("odd session");
}

/* Likewise when the refusal comes in the next process, which finds the job as done. */
Test(agent_session, a_session_that_is_refused_later_fails_the_job)
{
    offer_all();
    s.runs_status = 503;
    cr_assert(eq(sz, run_agent().waiting, 4));
    s.runs_status = 0;
    s.sessions_status = 400;
    cr_assert(eq(sz, run_agent().waiting, 0));
    want_completed("\"status\":\"failed\"");
    want_completed("odd session");
}
