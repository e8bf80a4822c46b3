/* The job file that a runner keeps for the next process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "runner/job/job.h"

#include "tests/check/check.h"
#include "tests/runner/job_line.h"

static pfc_err err;
static char *dir;

static void make_dir(void)
{
    pfc_log_set_level(PFC_OFF);
    cr_assert(eq(int, pfc_fs_temp_dir("perfci-job", &dir, &err), PFC_OK), "%s", err.msg);
}

static void remove_dir(void)
{
    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK), "%s", err.msg);
    free(dir);
}

TestSuite(job_kept, .init = make_dir, .fini = remove_dir);

static void write_kept(const char *text)
{
    char *path = pfc_fs_join(dir, "job.json");

    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0600, &err), PFC_OK));
    free(path);
}

static char *read_kept(void)
{
    char *path = pfc_fs_join(dir, "job.json"), *text = NULL;
    size_t len = 0;

    cr_assert(eq(int, pfc_fs_read(path, 65536, &text, &len, &err), PFC_OK), "%s", err.msg);
    free(path);
    return text;
}

/* Settles what is kept; returns how many completions the server received. */
static int settle(clerk *c, pfc_question *q, pfc_code want)
{
    char *spool_dir = pfc_fs_join(dir, "spool");
    pfc_spool *spool = NULL;
    line l;

    cr_assert(eq(int, pfc_spool_open(spool_dir, &spool, &err), PFC_OK), "%s", err.msg);
    open_line(&l, c);
    cr_assert(eq(int, pfc_job_settle(l.http, dir, spool, q, &err), want), "%s", err.msg);
    close_line(&l);
    pfc_spool_close(spool);
    free(spool_dir);
    return c->calls;
}

Test(job_kept, a_verdict_is_reported_by_the_next_process_until_it_is_settled)
{
    const pfc_leased_job job = { .id = 17, .lease = (char *)"secret" };
    pfc_job_verdict v = { .status = "timed_out", .reason = "slow", .session = "s1" };
    clerk away = { .status = 503 }, there = { .status = 200 }, gone = { .status = 409 };
    pfc_question q = { 0 };
    char *text;

    pfc_job_verdict_add_run(&v, "11111111111111111111111111111111");
    cr_assert(eq(int, pfc_job_keep(dir, &job, &v, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, settle(&away, &q, PFC_EUNAVAIL), 1));
    cr_assert(eq(str, q.lease, ""));
    cr_assert(eq(int, settle(&there, &q, PFC_OK), 1));
    cr_assert(eq(str, there.path, "/api/v1/jobs/17/complete"));
    cr_assert(eq(str, there.request,
                 "{\"lease\":\"secret\",\"status\":\"timed_out\",\"reason\":\"slow\",\"run_ids\":["
                 "\"11111111111111111111111111111111\"],\"session\":\"s1\"}"));
    /* Told: what is kept now is a name for the next question. */
    cr_assert(eq(sz, strlen(q.lease), 32));
    cr_assert(eq(i64, q.asked, 0));
    text = read_kept();
    cr_assert(ne(ptr, strstr(text, q.lease), NULL), "%s", text);
    free(text);
    /* That it is no longer ours settles it as well. */
    cr_assert(eq(int, pfc_job_keep(dir, &job, &v, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, settle(&gone, &q, PFC_OK), 1));
    pfc_job_verdict_clear(&v);
}

/* Numbers go on 2^32 behind where the last process began; near the end of what JSON holds the lease
   gets another name. */
Test(job_kept, questions_go_on_where_no_one_has_been)
{
    static const struct {
        int64_t kept, asked;
    } rows[] = {
        { 0, INT64_C(1) << 32 },
        { 5, (INT64_C(1) << 32) + 5 },
        { PFC_WIRE_MAX_ID - (INT64_C(2) << 32), PFC_WIRE_MAX_ID - (INT64_C(1) << 32) },
        { PFC_WIRE_MAX_ID - (INT64_C(2) << 32) + 1, 0 },
        { PFC_WIRE_MAX_ID, 0 },
    };
    const char *const name = "00112233445566778899aabbccddeeff";

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        clerk c = { .status = 200 };
        pfc_question q = { 0 };
        char *text =
            pfc_format("{\"lease\": \"%s\", \"asked\": %lld}", name, (long long)rows[i].kept);

        write_kept(text);
        free(text);
        cr_assert(eq(int, settle(&c, &q, PFC_OK), 0));
        cr_assert(eq(i64, q.asked, rows[i].asked), "row %zu", i);
        cr_assert(eq(int, strcmp(q.lease, name) == 0, rows[i].asked != 0), "row %zu", i);
        text = pfc_format("\"asked\":%lld", (long long)rows[i].asked);
        {
            char *kept = read_kept();

            cr_assert(ne(ptr, strstr(kept, text), NULL), "row %zu: %s", i, kept);
            free(kept);
        }
        free(text);
    }
}

Test(job_kept, what_is_not_readable_is_forgotten)
{
    static const char *const rows[] = {
        "",
        "[]",
        "{\"asked\": 1}",
        "{\"lease\": \"short\"}",
        "{\"lease\": \"00112233445566778899aabbccddeeff0\"}",
        "{\"lease\": \"00112233445566778899aabbccddeeff\", \"asked\": -1}",
        "{\"lease\": \"00112233445566778899aabbccddeeff\", \"asked\": 9007199254740992}",
        "{\"lease\": \"L\", \"status\": \"done\", \"run_ids\": []}", /* of which job? */
        "{\"lease\": \"L\", \"id\": 0, \"status\": \"done\", \"run_ids\": []}",
        "{\"lease\": \"L\", \"id\": 5, \"status\": \"doing\", \"run_ids\": []}",
        "{\"lease\": \"L\", \"id\": 5, \"status\": \"done\", \"run_ids\": [\"1\"]}",
        "{\"lease\": \"L\", \"id\": 5, \"status\": \"done\", \"run_ids\": [7]}",
        "{\"lease\": \"L\", \"id\": 5, \"status\": \"done\", \"run_ids\": [], \"session\": "
        "\"00112233445566778899aabbccddeeff0\"}",
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        clerk c = { .status = 200 };
        pfc_question q = { 0 };

        write_kept(rows[i]);
        cr_assert(eq(int, settle(&c, &q, PFC_OK), 0), "row %zu", i);
        cr_assert(eq(sz, strlen(q.lease), 32), "row %zu", i);
        cr_assert(eq(i64, q.asked, 0), "row %zu", i);
    }
}

Test(job_kept, every_verdict_is_read_back)
{
    static const char *const words[] = { "done", "failed", "broken", "timed_out" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++) {
        clerk c = { .status = 200 };
        pfc_question q = { 0 };
        char *text = pfc_format("{\"lease\": \"L\", \"id\": 5, \"status\": \"%s\", \"run_ids\": "
                                "[\"11111111111111111111111111111111\"]}",
                                words[i]);
        char *want = pfc_format("\"status\":\"%s\"", words[i]);

        write_kept(text);
        cr_assert(eq(int, settle(&c, &q, PFC_OK), 1), "%s", words[i]);
        cr_assert(ne(ptr, strstr(c.request, want), NULL), "%s", c.request);
        free(text);
        free(want);
    }
}
