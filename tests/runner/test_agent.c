/* The whole loop against a stand-in server: real repository, real children, real files. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/wire/wire.h"
#include "runner/agent/agent.h"
#include "runner/spool/spool.h"

#include "tests/check/check.h"
#include "tests/core/git/fixture.h"
#include "tests/core/http/stand_in.h"

static fixture f;
static char *work;
static stand_in server;
static int stop_pipe[2];
static double backoff_s = 0.01;

/* The server's answers and the requests that it received. Only its thread uses it while it runs. */
static struct {
    char *job;         /* answer to the first lease; NULL: 204 */
    bool keep_leasing; /* the same job again and again */
    int runs_status;   /* answer to POST /runs */
    int beat_status;
    const char *beat_body;
    int lease_status; /* not 0: instead of a job */
    int leases, runs, beats, completions, releases;
    int complete_status; /* 0: 200 */
    char asked[2][33];   /* the lease of the first and of the last question */
    int64_t numbers[2];  /* likewise; 0: it had none */
    bool falls;          /* a number not above the one before */
    bool unnumbered;     /* numbers are a fault to it */
    bool stop_at_beat;   /* the first heartbeat stops the agent */
    int stop_at_lease;   /* so does this question for a job; 0: none */
    char *completed;     /* body of the last completion */
    char *sources;       /* body of the last word about what was built */
    int sources_told;
    pfc_run *run; /* the last run */
    char token[64];
} s;

static void note_token(const stand_in_req *req)
{
    const char *at = strstr(req->headers, "Authorization: Bearer ");

    (void)snprintf(s.token, sizeof(s.token), "%.*s", at ? (int)strcspn(at + 22, "\r") : 0,
                   at ? at + 22 : "");
}

static void serve(const stand_in_req *req, pfc_buf *out, void *arg)
{
    pfc_err err = { 0 };

    (void)arg;
    note_token(req);
    if (strncmp(req->path, "/api/v1/jobs/lease?wait=", 24) == 0) {
        const char *at = strstr(req->body, "\"lease\":\"");

        s.leases++;
        if (s.leases == s.stop_at_lease)
            (void)!write(stop_pipe[1], "x", 1);
        (void)snprintf(s.asked[s.leases > 1], sizeof(s.asked[0]), "%.32s", at ? at + 9 : "");
        at = strstr(req->body, "\"asked\":");
        s.falls = s.falls || (s.leases > 1 && at && strtoll(at + 8, NULL, 10) <= s.numbers[1]);
        s.numbers[1] = at ? strtoll(at + 8, NULL, 10) : 0;
        if (s.leases == 1)
            s.numbers[0] = s.numbers[1];
        if (s.unnumbered && at)
            stand_in_json(out, 400,
                          "{\"error\": {\"message\": \"asked is not a member that is known here\","
                          " \"field\": \"asked\"}}");
        else if (s.lease_status)
            stand_in_json(out, s.lease_status, "{\"error\": {\"message\": \"go away\"}}");
        else if (s.job && (s.leases == 1 || s.keep_leasing))
            stand_in_json(out, 200, s.job);
        else
            pfc_buf_puts(out, "HTTP/1.1 204 None\r\nConnection: close\r\n\r\n");
    } else if (strcmp(req->path, "/api/v1/runs") == 0) {
        s.runs++;
        pfc_run_free(s.run);
        s.run = NULL;
        if (pfc_run_from_json(req->body, req->body_len, &s.run, &err) != PFC_OK)
            stand_in_json(out, 400, "{\"error\": {\"message\": \"bad document\"}}");
        else
            stand_in_json(out, s.runs_status ? s.runs_status : 201, "{\"run_id\": 5}");
    } else if (strcmp(req->path, "/api/v1/jobs/17/heartbeat") == 0) {
        s.beats++;
        if (s.stop_at_beat)
            (void)!write(stop_pipe[1], "x", 1);
        stand_in_json(out, s.beat_status ? s.beat_status : 200,
                      s.beat_body ? s.beat_body : "{\"lease_s\": 60, \"cancel\": false}");
    } else if (strcmp(req->path, "/api/v1/jobs/17/complete") == 0) {
        s.completions++;
        free(s.completed);
        s.completed = pfc_strdup(req->body);
        stand_in_json(out, s.complete_status ? s.complete_status : 200, "{}");
    } else if (strcmp(req->path, "/api/v1/jobs/17/release") == 0) {
        s.releases++;
        stand_in_json(out, 200, "{}");
    } else if (strcmp(req->path, "/api/v1/projects/demo/sources") == 0) {
        s.sources_told++;
        free(s.sources);
        s.sources = pfc_strndup(req->body, req->body_len);
        stand_in_json(out, 200, "{}");
    } else {
        stand_in_json(out, 404, "{\"error\": {\"message\": \"no such path\"}}");
    }
}

static void setup(void)
{
    fixture_init(&f);
    work = pfc_fs_join(f.dir, "work");
    memset(&s, 0, sizeof(s));
    cr_assert(eq(int, pipe(stop_pipe), 0));
    stand_in_start(&server, serve, NULL);
}

static void teardown(void)
{
    stand_in_stop(&server);
    close(stop_pipe[0]);
    close(stop_pipe[1]);
    pfc_run_free(s.run);
    free(s.completed);
    free(s.sources);
    free(s.job);
    free(work);
    fixture_clear(&f);
}

TestSuite(agent, .init = setup, .fini = teardown, .timeout = 900);

/* A repository with perfci.yaml and one commit to measure. */
static void offer_job(const char *yaml, double lease_s)
{
    char *id;

    fixture_write(&f, "perfci.yaml", yaml);
    id = fixture_commit(&f, "value", "12.5\n", "measure me");
    s.job = pfc_format("{\"job\": {\"id\": 17, \"lease\": \"secret\", \"fence\": 3, "
                       "\"lease_s\": %g, "
                       "\"kind\": \"measure\", \"project\": \"demo\", \"commit\": \"%s\", "
                       "\"branch\": \"main\", \"source\": \"%s\", \"build\": null, "
                       "\"future_member\": [1]}}",
                       lease_s, id, f.repo);
    free(id);
}

static pfc_sandbox_mode
    sandbox; /* off: where a job leaves notes for the test outside of its tree */

static pfc_code run_agent(bool once, pfc_agent_report *report, pfc_err *err)
{
    const pfc_agent_opts opts = { .url = server.url,
                                  .token = "pfc_token",
                                  .dir = work,
                                  .name = "tester",
                                  .machine_class = "lab",
                                  .once = once,
                                  .sandbox = sandbox,
                                  .poll_s = 1.0,
                                  .stop_fd = stop_pipe[0],
                                  .seed = 1,
                                  .backoff_s = backoff_s };

    return pfc_agent_run(&opts, report, err);
}

/* It was stopped, and may be started again. */
static void unstop(void)
{
    char byte;

    s.stop_at_lease = 0;
    cr_assert(eq(int, (int)read(stop_pipe[0], &byte, 1), 1));
}

static void want_completed(const char *words)
{
    cr_assert(eq(int, s.completions, 1));
    cr_assert(ne(ptr, strstr(s.completed, words), NULL), "%s", s.completed);
    cr_assert(ne(ptr, strstr(s.completed, "\"lease\":\"secret\""), NULL), "%s", s.completed);
}

#define YAML                                                                                       \
    "project: demo\nbuild: cp value built\nmeasure: cat built\nmetric: gemm_tflops\n"              \
    "unit: TFLOP/s\nbetter: higher\n"

Test(agent, a_job_becomes_a_run_and_a_completion)
{
    pfc_agent_report report;
    pfc_err err = { 0 };

    offer_job(YAML, 60);
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.done, 1));
    cr_assert(eq(sz, report.waiting, 0));
    cr_assert(eq(int, s.runs, 1));
    cr_assert(eq(str, s.token, "pfc_token"));
    cr_assert(eq(str, s.run->project, "demo"));
    cr_assert(eq(str, s.run->branch, "main"));
    cr_assert(eq(int, (int)s.run->job_id, 17));
    cr_assert(eq(int, (int)s.run->job_fence, 3));
    cr_assert(eq(str, s.run->machine.name, "tester"));
    cr_assert(eq(str, s.run->machine.machine_class, "lab"));
    cr_assert(eq(str, s.run->measurements[0].metric, "gemm_tflops"));
    cr_assert(eq(dbl, pfc_measurement_median(&s.run->measurements[0]), 12.5));
    want_completed("\"status\":\"done\"");
    cr_assert(ne(ptr, strstr(s.completed, s.run->id), NULL), "%s", s.completed);
}

static void expect_tries(const char *yaml, const char *status, const char *lines)
{
    char *tries = pfc_fs_join(f.dir, "tries");
    char *text = NULL;
    size_t len = 0;
    pfc_agent_report report;
    pfc_err err = { 0 };

    sandbox = PFC_SANDBOX_OFF;
    setenv("TRIES", tries, 1);
    offer_job(yaml, 60);
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.failed + report.broken, 1));
    want_completed(status);
    cr_assert(eq(int, pfc_fs_read(tries, 100, &text, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, text, (char *)lines));
    free(text);
    free(tries);
}

Test(agent, a_build_failure_is_reported_as_broken_and_not_repeated)
{
    expect_tries(
        "build: 'echo x >> $TRIES; echo k.c:3: error: no such type; exit 1'\nmeasure: cat built\n",
        "\"status\":\"broken\"", "x\n");
    cr_assert(eq(int, s.runs, 0));
    cr_assert(ne(ptr, strstr(s.completed, "no such type"), NULL), "%s", s.completed);
}

Test(agent, a_measurement_that_fails_alike_is_tried_twice)
{
    expect_tries("measure: 'echo x >> $TRIES; echo k.c:3: error: no such type >&2; exit 3'\n",
                 "\"status\":\"failed\"", "x\nx\n");
}

Test(agent, a_measurement_that_fails_otherwise_each_time_is_tried_three_times)
{
    expect_tries("measure: 'echo x >> $TRIES; exit $(wc -l < $TRIES)'\n", "\"status\":\"failed\"",
                 "x\nx\nx\n");
}

Test(agent, a_missing_program_is_reported)
{
    pfc_agent_report report;
    pfc_err err = { 0 };

    offer_job("project: demo\n", 60);
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    want_completed("nothing to measure: perfci.yaml@");
}

/* The measured commit cannot choose its own command: perfci.yaml of the branch counts. */
Test(agent, the_branch_and_not_the_commit_says_how_to_measure)
{
    pfc_agent_report report;
    char *evil;
    pfc_err err = { 0 };

    fixture_write(&f, "perfci.yaml", YAML);
    free(fixture_commit(&f, "value", "12.5\n", "base"));
    fixture_do(&f, "checkout -q -b fork");
    evil = fixture_commit(&f, "perfci.yaml", "measure: echo 999\n", "own command");
    s.job = pfc_format("{\"job\": {\"id\": 17, \"lease\": \"secret\", \"project\": \"demo\", "
                       "\"commit\": \"%s\", \"branch\": \"main\", \"source\": \"%s\"}}",
                       evil, f.repo);
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.done, 1));
    cr_assert(eq(str, s.run->commit, evil));
    cr_assert(eq(dbl, pfc_measurement_median(&s.run->measurements[0]), 12.5));
    free(evil);
}

/* The server decides which users may send settings with a job. */
Test(agent, settings_that_came_with_the_job_count_before_the_branchs)
{
    pfc_agent_report report;
    char *id;
    pfc_err err = { 0 };

    fixture_write(&f, "perfci.yaml", YAML);
    id = fixture_commit(&f, "value", "12.5\n", "measure me");
    s.job = pfc_format("{\"job\": {\"id\": 17, \"lease\": \"secret\", \"project\": \"demo\", "
                       "\"commit\": \"%s\", \"branch\": \"main\", \"source\": \"%s\", \"task\": "
                       "{\"config\": \"measure: echo 7\\nmetric: sent\\n\"}}}",
                       id, f.repo);
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.done, 1));
    cr_assert(eq(str, s.run->measurements[0].metric, (char *)"sent"));
    cr_assert(eq(dbl, pfc_measurement_median(&s.run->measurements[0]), 7));
    free(id);
}

static void offer_some(const char *filter)
{
    char *id;

    fixture_write(&f, "perfci.yaml", "measure: cat value\n");
    id = fixture_commit(&f, "value", "BenchmarkA-2 100 12 ns/op\nBenchmarkB-2 100 34 ns/op\n",
                        "measure me");
    s.job = pfc_format("{\"job\": {\"id\": 17, \"lease\": \"secret\", \"project\": \"demo\", "
                       "\"commit\": \"%s\", \"source\": \"%s\", \"task\": "
                       "{\"filter\": \"%s\", \"backends\": []}}}",
                       id, f.repo, filter);
    free(id);
}

Test(agent, only_the_benchmarks_that_a_job_asks_for_are_posted)
{
    pfc_agent_report report;
    pfc_err err = { 0 };

    offer_some("B-2$");
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.done, 1));
    cr_assert(eq(sz, s.run->measurements_len, 1));
    cr_assert(eq(str, s.run->measurements[0].benchmark, (char *)"BenchmarkB-2"));
}

Test(agent, a_job_for_benchmarks_that_are_not_there_names_those_that_are)
{
    pfc_agent_report report;
    pfc_err err = { 0 };

    offer_some("C");
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.broken, 1));
    want_completed("BenchmarkA-2, BenchmarkB-2");
    cr_assert(eq(int, s.runs, 0));
}

Test(agent, no_job_is_a_clean_end)
{
    pfc_agent_report report;
    pfc_err err = { 0 };

    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.jobs, 0));
    cr_assert(eq(int, s.leases, 1));
}

Test(agent, a_refused_token_ends_one_round)
{
    pfc_agent_report report;
    pfc_err err = { 0 };

    s.lease_status = 401;
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_EDENIED));
    cr_assert(ne(ptr, strstr(err.msg, "go away"), NULL), "%s", err.msg);
    cr_assert(eq(ptr, strstr(err.msg, "pfc_token"), NULL), "%s", err.msg);
}

Test(agent, a_server_that_takes_no_run_now_gets_it_at_the_next_start)
{
    pfc_agent_report report;
    char *first_id;
    pfc_err err = { 0 };

    offer_job(YAML, 60);
    s.runs_status = 503;
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.abandoned, 1));
    cr_assert(eq(sz, report.waiting, 1));
    cr_assert(eq(int, s.completions, 0));
    first_id = pfc_strdup(s.run->id);

    s.runs_status = 201;
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.waiting, 0));
    cr_assert(eq(str, s.run->id, first_id)); /* the same run, so that it counts once */
    free(first_id);
}

/* The server fails to store the one result and accepts the job's completion: the job has failed,
 * and the runner asks for the next. */
Test(agent, a_result_that_the_server_has_an_error_with_holds_the_runner_up_for_a_while_only)
{
    pfc_agent_report report;
    pfc_err err = { 0 };

    backoff_s = 0.002;
    offer_job(YAML, 60);
    s.runs_status = 500;
    s.stop_at_lease = 2;
    cr_assert(eq(int, run_agent(false, &report, &err), PFC_OK), "%s", err.msg);
    want_completed("\"status\":\"failed\"");
    want_completed("the server fails to store the result, which waits in the spool");
    want_completed("HTTP status 500");
    cr_assert(eq(int, s.leases, 2));
    cr_assert(eq(sz, report.waiting, 1));
    cr_assert(ge(int, s.runs, PFC_SPOOL_ERRORS));

    s.runs_status = 201;
    unstop();
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.waiting, 0));
    cr_assert(eq(int, s.completions, 1));
}

/* Killed between the upload and the completion: the next process reports the state. */
Test(agent, a_job_is_not_done_when_its_result_was_refused_meanwhile)
{
    static const int refusals[] = { 409, 500 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(refusals); i++) {
        pfc_agent_report report;
        pfc_err err = { 0 };

        backoff_s = 0.002;
        if (i == 0)
            offer_job(YAML, 60);
        s.leases = s.completions = 0;
        s.runs_status = 503;
        cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, s.completions, 0));
        cr_assert(eq(sz, report.waiting, 1));
        s.runs_status = refusals[i];
        s.stop_at_lease = 2;
        cr_assert(eq(int, run_agent(false, &report, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, s.completions, 1));
        want_completed("\"status\":\"failed\"");
        unstop();
    }
}

Test(agent, a_lost_lease_stops_the_measurement)
{
    pfc_agent_report report;
    pfc_err err = { 0 };

    offer_job("measure: sleep 600\n", 1);
    s.beat_status = 409;
    s.beat_body = "{\"error\": {\"message\": \"the lease is lost\"}}";
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.abandoned, 1));
    cr_assert(ge(int, s.beats, 1));
    cr_assert(eq(int, s.completions, 0));
    cr_assert(eq(int, s.releases, 0)); /* it is another's now */
    cr_assert(eq(int, s.runs, 0));
}

Test(agent, a_cancelled_job_stops_the_measurement)
{
    pfc_agent_report report;
    pfc_err err = { 0 };

    offer_job("measure: sleep 600\n", 1);
    s.beat_body = "{\"lease_s\": 60, \"cancel\": true}";
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.abandoned, 1));
    cr_assert(eq(int, s.releases, 1)); /* returned before the lease expires */
    cr_assert(eq(int, s.completions, 0));
    cr_assert(eq(int, s.runs, 0));
}

Test(agent, being_stopped_ends_the_child_and_the_loop)
{
    pfc_agent_report report;
    pfc_err err = { 0 };

    offer_job("measure: sleep 600\n", 1);
    s.stop_at_beat = true;
    cr_assert(eq(int, run_agent(false, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, report.abandoned, 1));
    cr_assert(eq(int, s.completions, 0));
    cr_assert(eq(int, s.releases, 1)); /* returned before the lease expires */
}

Test(agent, a_job_that_could_not_be_ended_is_ended_at_the_next_start)
{
    pfc_agent_report report;
    pfc_err err = { 0 };
    char *first;

    offer_job("measure: echo 3\n", 60);
    s.complete_status = 503;
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, s.runs, 1));
    cr_assert(gt(int, s.completions, 1));
    first = pfc_strdup(s.completed);
    s.complete_status = 0;
    s.completions = 0;
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, s.runs, 1)); /* measured once */
    want_completed("\"status\":\"done\"");
    cr_assert(eq(str, s.completed, first));
    cr_assert(ne(str, s.asked[1], s.asked[0]));
    free(first);
}

Test(agent, the_next_start_asks_under_the_lease_whose_answer_was_lost)
{
    pfc_agent_report report;
    pfc_err err = { 0 };

    s.lease_status = 500; /* the runner cannot know whether a job was leased */
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_EUNAVAIL));
    cr_assert(eq(sz, strlen(s.asked[0]), 32));
    cr_assert(eq(str, s.asked[1], s.asked[0]));
    cr_assert(eq(int, s.leases, 5));
    cr_assert(eq(i64, s.numbers[0], 1));
    cr_assert(eq(i64, s.numbers[1], 5));
    s.lease_status = 0;
    s.asked[1][0] = '\0';
    for (int start = 0; start < 2; start++) {
        cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(str, s.asked[1], s.asked[0]));
    }
    cr_assert(not(s.falls)); /* one that is late is known for that */
}

Test(agent, a_server_that_knows_no_numbers_of_questions_is_asked_without)
{
    pfc_agent_report report;
    pfc_err err = { 0 };

    s.unnumbered = true;
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, s.leases, 2));
    cr_assert(eq(i64, s.numbers[1], 0));
    cr_assert(eq(str, s.asked[1], s.asked[0]));
}

/* A work folder that was put back has numbers that were used already. */
Test(agent, whose_questions_are_late_takes_another_name)
{
    pfc_agent_report report;
    pfc_err err = { 0 };

    s.lease_status = 409;
    cr_assert(eq(int, run_agent(true, &report, &err), PFC_EUNAVAIL));
    cr_assert(ge(int, s.leases, 2));
    cr_assert(ne(str, s.asked[1], s.asked[0]));
    cr_assert(eq(i64, s.numbers[1], 1));
}

typedef struct second {
    pfc_code code;
    pfc_err err;
} second;

static void try_second(const stand_in_req *req, pfc_buf *out, void *arg)
{
    second *two = arg;
    pfc_agent_report report;

    if (strncmp(req->path, "/api/v1/jobs/lease?wait=", 24) == 0)
        two->code = run_agent(true, &report, &two->err);
    pfc_buf_puts(out, "HTTP/1.1 204 None\r\nConnection: close\r\n\r\n");
}

Test(agent, one_runner_a_work_folder)
{
    pfc_agent_report report;
    second two = { .code = PFC_OK };
    stand_in other;
    pfc_agent_opts opts = { .token = "t", .dir = work, .once = true, .stop_fd = -1 };
    pfc_err err = { 0 };

    stand_in_start(&other, try_second, &two); /* starts the second while the first asks for a job */
    opts.url = other.url;
    cr_assert(eq(int, pfc_agent_run(&opts, &report, &err), PFC_OK), "%s", err.msg);
    stand_in_stop(&other);
    cr_assert(eq(int, two.code, PFC_ECONFLICT), "%s", two.err.msg);
    cr_assert(ne(ptr, strstr(two.err.msg, "another runner"), NULL), "%s", two.err.msg);
}

Test(agent, a_build_is_reported_once_and_its_object_code_is_in_the_run)
{
    pfc_agent_report report;
    pfc_err err = { 0 };

    fixture_write(&f, "k.h", "#include <stdio.h>\n");
    fixture_write(&f, "k.c", "#include \"k.h\"\nint main(void) { return puts(\"12.5\") < 0; }\n");
    offer_job("project: demo\nbuild: cc -MD -c k.c -o k.o && cc k.o -o bench\nmeasure: ./bench\n"
              "metric: gemm_tflops\npaths: [\"k.*\"]\n",
              60);
    s.keep_leasing = true;
    for (s.runs = 0; s.runs < 2;) /* each round ends with a run, or fails here */
        cr_assert(run_agent(true, &report, &err) == PFC_OK && report.done == 1, "%s", err.msg);
    cr_assert(ne(ptr, strstr(s.sources, "\"files\":[\"k.c\",\"k.h\"]"), NULL), "%s", s.sources);
    cr_assert(ne(ptr, strstr(s.sources, "\"globs\":[\"k.*\"]"), NULL), "%s", s.sources);
    cr_assert(eq(sz, strlen(pfc_labels_get(&s.run->measurements[0].extra, "object")), 64));
}
