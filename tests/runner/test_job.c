/* Members of a job, answers to its lease, and its file on disk: each limit and each answer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "runner/job/job.h"

#include "tests/check/check.h"
#include "tests/runner/job_line.h"

#define HOUR_NS (3600 * PFC_NS_PER_S)

static pfc_err err;

static void quiet(void)
{
    pfc_log_set_level(PFC_OFF);
}

TestSuite(job, .init = quiet);

/* ---- documents ---- */

static char *repeated(const char *text, size_t times, const char *between)
{
    pfc_buf buf;
    char *out;

    pfc_buf_init(&buf, 1 << 22);
    for (size_t i = 0; i < times; i++)
        pfc_buf_printf(&buf, "%s%s", i ? between : "", text);
    out = pfc_strndup(pfc_buf_text(&buf), buf.len);
    pfc_buf_clear(&buf);
    return out;
}

/* {"job": ...} with the members that must be there, and `more` behind them. */
static pfc_code read_job(const char *more, pfc_leased_job *job)
{
    char *text = pfc_format("{\"job\": {\"id\": 7, \"lease\": \"L\", \"project\": \"p\", "
                            "\"commit\": \"c\"%s%s}}",
                            more[0] ? ", " : "", more);
    json_t *doc = NULL;
    pfc_code code;

    err = (pfc_err){ 0 };
    cr_assert(eq(int, pfc_json_parse(text, strlen(text), &doc, &err), PFC_OK), "%s", text);
    *job = (pfc_leased_job){ 0 };
    code = pfc_job_from_json(doc, job, &err);
    json_decref(doc);
    free(text);
    return code;
}

static void check_member(const char *member, pfc_code want)
{
    pfc_leased_job job;

    cr_assert(eq(int, read_job(member, &job), want), "%.80s: %s", member, err.msg);
    pfc_job_clear(&job);
}

Test(job, numbers_are_held_to_their_ranges)
{
    static const struct {
        const char *good, *bad;
    } rows[] = {
        { "\"lease_s\": 1", "\"lease_s\": 0.999" },
        { "\"lease_s\": 86400", "\"lease_s\": 86400.5" },
        { "\"fence\": 0", "\"fence\": -1" },
        { "\"fence\": 9007199254740991", "\"fence\": 9007199254740992" },
        { "\"task\": {\"layout\": 0}", "\"task\": {\"layout\": -1}" },
        { "\"task\": {\"layout\": 1000000}", "\"task\": {\"layout\": 1000001}" },
        { "\"task\": {\"launches\": 0}", "\"task\": {\"launches\": -1}" },
        { "\"task\": {\"launches\": 100}", "\"task\": {\"launches\": 101}" },
        { "\"task\": {\"pair_first\": true}", "\"task\": {\"pair_first\": 1}" },
        { "\"task\": {\"backends\": [\"a\"]}", "\"task\": {\"backends\": [1]}" },
        { "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"base\": \"b\", \"budget_s\": 0}}",
          "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"base\": \"b\", \"budget_s\": -1}}" },
        { "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"base\": \"b\", \"budget_s\": 86400}}",
          "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"base\": \"b\", \"budget_s\": 86401}}" },
        { "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"base\": \"b\", \"budget_s\": 1, "
          "\"margin\": 1}}",
          "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"base\": \"b\", \"budget_s\": 1, "
          "\"margin\": 1.01}}" },
        { "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"base\": \"b\", \"budget_s\": 1, "
          "\"margin\": 0}}",
          "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"base\": \"b\", \"budget_s\": 1, "
          "\"margin\": -0.01}}" },
        { "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"base\": \"b\", \"budget_s\": 1, "
          "\"rounds\": 200}}",
          "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"base\": \"b\", \"budget_s\": 1, "
          "\"rounds\": 201}}" },
        { "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"base\": \"b\", \"budget_s\": 1}}",
          "\"task\": {\"blocks\": {\"commits\": [], \"base\": \"b\", \"budget_s\": 1}}" },
        { "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"base\": \"b\", \"budget_s\": 1}}",
          "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"budget_s\": 1}}" },
        { "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"base\": \"b\", \"budget_s\": 1}}",
          "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"base\": \"b\"}}" },
        { "\"unknown\": 1", "\"task\": 1" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        check_member(rows[i].good, PFC_OK);
        check_member(rows[i].bad, PFC_EINVAL);
        cr_assert(ne(ptr, strstr(err.msg, "the server's job"), NULL), "%s", err.msg);
    }
}

/* Each text at its largest, and one byte more. */
Test(job, texts_are_held_to_their_lengths)
{
    static const struct {
        const char *before;
        size_t most;
        const char *after;
    } rows[] = {
        { "\"branch\": \"", 200, "\"" },
        { "\"source\": \"", 2048, "\"" },
        { "\"build\": \"", 65536, "\"" },
        { "\"measure\": \"", 65536, "\"" },
        { "\"suite\": \"", 4096, "\"" },
        { "\"task\": {\"metric\": \"", 200, "\"}" },
        { "\"task\": {\"benchmark\": \"", 200, "\"}" },
        { "\"task\": {\"backend\": \"", 200, "\"}" },
        { "\"task\": {\"pair\": \"", 1024, "\"}" },
        { "\"task\": {\"filter\": \"", 4096, "\"}" },
        { "\"task\": {\"blocks\": {\"commits\": [\"", 1024,
          "\"], \"base\": \"b\", \"budget_s\": 1}}" },
        { "\"task\": {\"blocks\": {\"commits\": [\"c\"], \"budget_s\": 1, \"base\": \"", 1024,
          "\"}}" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        for (size_t over = 0; over <= 1; over++) {
            char *text = repeated("x", rows[i].most + over, "");
            char *member = pfc_format("%s%s%s", rows[i].before, text, rows[i].after);

            check_member(member, over ? PFC_EINVAL : PFC_OK);
            free(member);
            free(text);
        }
    }
}

Test(job, lists_are_held_to_their_lengths)
{
    static const struct {
        const char *key;
        size_t most;
    } rows[] = { { "commits", 254 }, { "anchors", 16 }, { "known", 254 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        for (size_t over = 0; over <= 1; over++) {
            char *list = repeated("\"c\"", rows[i].most + over, ", ");
            char *member = pfc_format("\"task\": {\"blocks\": {%s\"base\": \"b\", \"budget_s\": 1, "
                                      "\"%s\": [%s]}}",
                                      i ? "\"commits\": [\"c\"], " : "", rows[i].key, list);

            check_member(member, over ? PFC_EINVAL : PFC_OK);
            free(member);
            free(list);
        }
    }
    check_member(
        "\"task\": {\"backends\": [\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\"]}",
        PFC_OK);
    check_member(
        "\"task\": {\"backends\": [\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", "
        "\"9\"]}",
        PFC_EINVAL);
}

Test(job, members_arrive_where_they_belong)
{
    pfc_leased_job job;

    cr_assert(eq(int,
                 read_job("\"fence\": 3, \"lease_s\": 90, \"branch\": \"main\", \"source\": \"s\", "
                          "\"build\": \"make\", \"measure\": \"./m\", \"suite\": \"quick\", "
                          "\"task\": {\"metric\": \"m\", \"benchmark\": \"b\", \"backend\": \"k\", "
                          "\"pair\": \"p2\", \"filter\": \"f\", \"config\": \"y\", "
                          "\"backends\": [\"k1\", \"k2\"], \"pair_first\": true, \"layout\": 4, "
                          "\"launches\": 6, \"blocks\": {\"commits\": [\"c1\", \"c2\"], "
                          "\"base\": \"c0\", \"anchors\": [\"a1\"], \"known\": [\"c1\"], "
                          "\"budget_s\": 70, \"margin\": 0.25, \"rounds\": 8}}",
                          &job),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(i64, job.id, 7));
    cr_assert(eq(i64, job.fence, 3));
    cr_assert(eq(dbl, job.lease_s, 90.0));
    cr_assert(eq(str, job.lease, "L"));
    cr_assert(eq(str, job.project, "p"));
    cr_assert(eq(str, job.commit, "c"));
    cr_assert(eq(str, job.branch, "main"));
    cr_assert(eq(str, job.source, "s"));
    cr_assert(eq(str, job.build, "make"));
    cr_assert(eq(str, job.measure, "./m"));
    cr_assert(eq(str, job.suite, "quick"));
    cr_assert(eq(str, job.task.metric, "m"));
    cr_assert(eq(str, job.task.benchmark, "b"));
    cr_assert(eq(str, job.task.backend, "k"));
    cr_assert(eq(str, job.task.pair, "p2"));
    cr_assert(eq(str, job.task.filter, "f"));
    cr_assert(eq(str, job.task.config, "y"));
    cr_assert(eq(sz, job.task.backends_len, 2));
    cr_assert(eq(str, job.task.backends[1], "k2"));
    cr_assert(job.task.pair_first);
    cr_assert(eq(i64, job.task.layout, 4));
    cr_assert(eq(i64, job.task.launches, 6));
    cr_assert(eq(sz, job.task.blocks->commits_len, 2));
    cr_assert(eq(str, job.task.blocks->commits[1], "c2"));
    cr_assert(eq(str, job.task.blocks->base, "c0"));
    cr_assert(eq(str, job.task.blocks->anchors[0], "a1"));
    cr_assert(eq(str, job.task.blocks->known[0], "c1"));
    cr_assert(eq(dbl, job.task.blocks->budget_s, 70.0));
    cr_assert(eq(dbl, job.task.blocks->margin, 0.25));
    cr_assert(eq(i64, job.task.blocks->rounds, 8));
    pfc_job_clear(&job);
    cr_assert(eq(int, read_job("", &job), PFC_OK), "%s", err.msg);
    cr_assert(eq(dbl, job.lease_s, 60.0));
    cr_assert(job.task.blocks == NULL);
    pfc_job_clear(&job);
}

/* ---- the lease ---- */

Test(job, a_heartbeat_says_whether_the_job_is_still_ours)
{
    static const struct {
        int status;
        const char *body;
        bool lost, cancelled;
    } rows[] = {
        { 200, "{}", false, false },
        { 200, "{\"cancel\": false}", false, false },
        { 200, "{\"cancel\": true}", false, true },
        { 200, "{\"cancel\": 1}", false, false },
        { 409, "{}", true, false },
        { 404, "{}", true, false },
        { 500, "{}", false, false },
        { 503, "{}", false, false },
        { 401, "{}", false, false },
        { 400, "{}", false, false },
        { 0, NULL, false, false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        clerk c = { .status = rows[i].status, .body = rows[i].body };
        pfc_leased_job job = { .id = 42, .lease = (char *)"secret", .lease_s = 10800.0 };
        pfc_lease lease = { .job = &job, .stop_fd = -1, .progress = "building" };
        int64_t before;
        line l;

        open_line(&l, &c);
        lease.http = l.http;
        /* Not before it is due. */
        lease.next_beat_ns = pfc_clock_ns() + HOUR_NS;
        cr_assert(not(pfc_lease_cancelled(&lease)));
        cr_assert(eq(int, c.calls, 0));
        before = lease.next_beat_ns = pfc_clock_ns();
        cr_assert(eq(int, pfc_lease_cancelled(&lease), rows[i].lost || rows[i].cancelled),
                  "row %zu", i);
        cr_assert(eq(int, c.calls, 1), "row %zu", i);
        cr_assert(eq(str, c.path, "/api/v1/jobs/42/heartbeat"));
        cr_assert(eq(str, c.request, "{\"lease\":\"secret\",\"progress\":\"building\"}"));
        cr_assert(eq(int, lease.lost, rows[i].lost), "row %zu", i);
        cr_assert(eq(int, lease.cancelled, rows[i].cancelled), "row %zu", i);
        cr_assert(not(lease.stopped));
        /* The next one is due in a third of the lease, here an hour. */
        cr_assert(ge(i64, lease.next_beat_ns - before, HOUR_NS));
        cr_assert(lt(i64, lease.next_beat_ns - before, HOUR_NS + HOUR_NS / 2));
        /* Without a lease there is nothing to keep. */
        lease.next_beat_ns = 0;
        cr_assert(eq(int, pfc_lease_cancelled(&lease), rows[i].lost || rows[i].cancelled));
        cr_assert(eq(int, c.calls, rows[i].lost || rows[i].cancelled ? 1 : 2), "row %zu", i);
        close_line(&l);
    }
}

Test(job, a_stop_ends_the_work_without_a_heartbeat)
{
    clerk c = { .status = 200 };
    pfc_leased_job job = { .id = 42, .lease = (char *)"secret", .lease_s = 60.0 };
    pfc_lease lease = { .job = &job };
    int ends[2];
    line l;

    cr_assert(eq(int, pipe(ends), 0));
    cr_assert(not(pfc_stop_wait(ends[0], 0.0)));
    cr_assert(not(pfc_stop_wait(-1, 0.0)));
    cr_assert(eq(int, (int)write(ends[1], "x", 1), 1));
    cr_assert(pfc_stop_wait(ends[0], 0.0));
    cr_assert(pfc_stop_wait(ends[0], 600.0)); /* at once, and again: the byte stays */
    open_line(&l, &c);
    lease.http = l.http;
    lease.stop_fd = ends[0];
    cr_assert(pfc_lease_cancelled(&lease));
    cr_assert(lease.stopped);
    cr_assert(eq(int, c.calls, 0));
    close_line(&l);
    close(ends[0]);
    close(ends[1]);
}

/* ---- questions ---- */

#define JOB "{\"job\": {\"id\": 5, \"lease\": \"L\", \"project\": \"p\", \"commit\": \"c\"}}"

Test(job, a_question_has_an_answer_for_each_status)
{
    static const struct {
        int status;
        const char *body;
        pfc_code code;
        bool leased;
    } rows[] = {
        { 200, JOB, PFC_OK, true },          { 204, NULL, PFC_OK, false },
        { 200, "{}", PFC_EINVAL, false },    { 200, "[", PFC_EINVAL, false },
        { 401, "{}", PFC_EDENIED, false },   { 403, "{}", PFC_EDENIED, false },
        { 409, "{}", PFC_ECONFLICT, false }, { 500, "{}", PFC_EUNAVAIL, false },
        { 503, "{}", PFC_EUNAVAIL, false },
    };
    pfc_machine machine = { .name = (char *)"host", .machine_class = (char *)"class" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        clerk c = { .status = rows[i].status, .body = rows[i].body };
        pfc_question q = { .lease = "00112233445566778899aabbccddeeff", .asked = 8 };
        pfc_leased_job job = { 0 };
        bool leased = true;
        line l;

        open_line(&l, &c);
        cr_assert(
            eq(int, pfc_job_ask(l.http, &machine, 12.0, &q, &job, &leased, &err), rows[i].code),
            "row %zu: %s", i, err.msg);
        cr_assert(eq(int, leased, rows[i].leased), "row %zu", i);
        cr_assert(eq(i64, q.asked, 9));
        cr_assert(eq(str, c.path, "/api/v1/jobs/lease?wait=12"));
        cr_assert(eq(str, c.request,
                     "{\"runner\":\"host\",\"machine_class\":\"class\",\"lease\":"
                     "\"00112233445566778899aabbccddeeff\",\"labels\":{\"tasks\":\"blocks\"},"
                     "\"asked\":9}"));
        pfc_job_clear(&job);
        close_line(&l);
    }
}

Test(job, a_server_without_numbers_of_questions_is_asked_once_more)
{
    clerk c = { .status = 200, .body = JOB, .refuse_asked = 1 };
    pfc_machine machine = { .name = (char *)"host", .machine_class = (char *)"class" };
    pfc_question q = { .lease = "00112233445566778899aabbccddeeff" };
    pfc_leased_job job = { 0 };
    bool leased = false;
    line l;

    open_line(&l, &c);
    cr_assert(eq(int, pfc_job_ask(l.http, &machine, 0.0, &q, &job, &leased, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(leased);
    cr_assert(q.unnumbered);
    cr_assert(eq(int, c.calls, 2));
    pfc_job_clear(&job);
    cr_assert(eq(int, pfc_job_ask(l.http, &machine, 0.0, &q, &job, &leased, &err), PFC_OK));
    cr_assert(eq(int, c.calls, 3));
    pfc_job_clear(&job);
    close_line(&l);
}

/* ---- verdicts ---- */

Test(job, a_verdict_is_sent_unchanged)
{
    static const struct {
        const char *status, *reason, *session;
        const char *request;
    } rows[] = {
        { "done", "", "",
          "{\"lease\":\"L\",\"status\":\"done\",\"run_ids\":[\"11111111111111111111111111111111\","
          "\"22222222222222222222222222222222\"]}" },
        { "failed", "why", "",
          "{\"lease\":\"L\",\"status\":\"failed\",\"reason\":\"why\",\"run_ids\":["
          "\"11111111111111111111111111111111\",\"22222222222222222222222222222222\"]}" },
        { "broken", "", "33333333333333333333333333333333",
          "{\"lease\":\"L\",\"status\":\"broken\",\"run_ids\":["
          "\"11111111111111111111111111111111\",\"22222222222222222222222222222222\"],"
          "\"session\":\"33333333333333333333333333333333\"}" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        clerk c = { .status = 200 };
        const pfc_leased_job job = { .id = 6, .lease = (char *)"L" };
        pfc_job_verdict v = { .status = rows[i].status };
        line l;

        pfc_job_verdict_add_run(&v, "11111111111111111111111111111111");
        pfc_job_verdict_add_run(&v, "22222222222222222222222222222222");
        (void)snprintf(v.reason, sizeof(v.reason), "%s", rows[i].reason);
        (void)snprintf(v.session, sizeof(v.session), "%s", rows[i].session);
        open_line(&l, &c);
        cr_assert(eq(int, pfc_job_complete(l.http, &job, &v, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(str, c.path, "/api/v1/jobs/6/complete"));
        cr_assert(eq(str, c.request, (char *)(uintptr_t)rows[i].request));
        cr_assert(eq(int, pfc_job_give_back(l.server.url, "pfc_x", &job, &err), PFC_OK));
        cr_assert(eq(str, c.path, "/api/v1/jobs/6/release"));
        cr_assert(eq(str, c.request, "{\"lease\":\"L\"}"));
        close_line(&l);
        pfc_job_verdict_clear(&v);
    }
}

Test(job, only_temporary_failures_are_sent_again)
{
    static const struct {
        int status;
        pfc_code code;
        bool unsettled;
    } rows[] = {
        { 200, PFC_OK, false },      { 404, PFC_ENOTFOUND, false }, { 409, PFC_ECONFLICT, false },
        { 400, PFC_EINVAL, false },  { 401, PFC_EDENIED, true },    { 403, PFC_EDENIED, true },
        { 500, PFC_EUNAVAIL, true }, { 503, PFC_EUNAVAIL, true },   { 429, PFC_EUNAVAIL, true },
        { 0, PFC_EUNAVAIL, true },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        clerk c = { .status = rows[i].status };
        const pfc_leased_job job = { .id = 6, .lease = (char *)"L" };
        pfc_job_verdict v = { .status = "done" };
        pfc_code code;
        line l;

        open_line(&l, &c);
        code = pfc_job_complete(l.http, &job, &v, &err);
        cr_assert(eq(int, code, rows[i].code), "%d: %s", rows[i].status, err.msg);
        cr_assert(eq(int, pfc_job_unsettled(code), rows[i].unsettled), "%d", rows[i].status);
        close_line(&l);
    }
}
