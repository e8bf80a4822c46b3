/* Traces in the spool: after their run, each once, and none of them costs the run. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/log.h"

#include "tests/check/check.h"
#include "tests/runner/spool_ground.h"

/* Requests in order: R for the run, the last letter of the benchmark for a trace. */
static struct {
    char came[64];
    char body[64]; /* of the last trace */
    char path[1100];
    int trace_status;
} s;

static void serve(const stand_in_req *req, pfc_buf *out, void *arg)
{
    char what = 'R';

    (void)arg;
    if (strstr(req->path, "/traces")) {
        what = req->path[strlen(req->path) - 1];
        (void)snprintf(s.path, sizeof(s.path), "%s", req->path);
        (void)snprintf(s.body, sizeof(s.body), "%.*s", (int)req->body_len, req->body);
        cr_expect(ne(ptr, strstr(req->headers, "application/octet-stream"), NULL));
    }
    s.came[strlen(s.came)] = what;
    if (what != 'R' && s.trace_status)
        stand_in_json(out, s.trace_status, "{\"error\": {\"message\": \"no trace\"}}");
    else
        stand_in_json(out, 201, "{}");
}

static pfc_code upload(pfc_spool_report *report)
{
    pfc_http_opts opts = { 0 };
    stand_in server;
    pfc_http *http = NULL;
    pfc_err err = { 0 };
    pfc_code code;

    memset(s.came, 0, sizeof(s.came));
    stand_in_start(&server, serve, NULL);
    opts.url = server.url;
    cr_assert(eq(int, pfc_http_new(&opts, &http, &err), PFC_OK));
    code = pfc_spool_upload(spool, http, report, &err);
    pfc_http_free(http);
    stand_in_stop(&server);
    return code;
}

static void init(void)
{
    ground_init();
    pfc_spool_backoff(spool, 0.0);
    pfc_log_set_level(PFC_OFF);
    memset(&s, 0, sizeof(s));
}

TestSuite(spool_traces, .init = init, .fini = ground_clear);

#define ID "00000000000000000000000000000004"

static pfc_spool_fate look(void)
{
    char reason[PFC_ERR_MAX];

    return pfc_spool_look(spool, ID, reason);
}

static void add_traced(void)
{
    char benchmarks[2][12] = { "gemm/a b", "gemm/c" }, bytes[2][4] = { "x\ny", "zz" };
    pfc_run_trace traces[2] = { { benchmarks[0], NULL, bytes[0], 3 },
                                { benchmarks[1], NULL, bytes[1], 2 } };
    pfc_run *run = make_run(4, 1);
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_spool_add_traced(spool, run, traces, 2, &err), PFC_OK), "%s", err.msg);
    pfc_run_free(run);
}

Test(spool_traces, they_follow_their_run_with_their_bytes)
{
    pfc_spool_report report;

    add_traced();
    cr_assert(eq(sz, files_in(dir), 3));
    cr_assert(eq(int, upload(&report), PFC_OK));
    cr_assert(eq(str, s.came, "Rbc"));
    cr_assert(eq(str, s.path, "/api/v1/runs/" ID "/traces?benchmark=gemm%2Fc"));
    cr_assert(eq(str, s.body, "zz"));
    cr_assert(eq(sz, report.uploaded, 3));
    cr_assert(eq(int, look(), PFC_SPOOL_GONE));
}

/* Also by a server that has no such path. */
Test(spool_traces, a_refused_trace_is_dropped_and_the_run_is_stored)
{
    static const int refusals[] = { 400, 404, 409 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(refusals); i++) {
        pfc_spool_report report;

        s.trace_status = refusals[i];
        add_traced();
        cr_assert(eq(int, upload(&report), PFC_OK));
        cr_assert(eq(str, s.came, "Rbc"));
        cr_assert(eq(sz, report.rejected, 0));
        cr_assert(eq(sz, files_in(dir), 0));
        cr_assert(eq(sz, files_in(rejected), 0));
        cr_assert(eq(int, look(), PFC_SPOOL_GONE));
    }
}

Test(spool_traces, a_trace_that_waits_keeps_no_job_open)
{
    pfc_spool_report report;

    s.trace_status = 503;
    add_traced();
    cr_assert(ne(int, upload(&report), PFC_OK));
    cr_assert(eq(str, s.came, "Rb"));
    cr_assert(eq(sz, report.waiting, 2));
    cr_assert(eq(int, look(), PFC_SPOOL_GONE));
    s.trace_status = 0;
    cr_assert(eq(int, upload(&report), PFC_OK));
    cr_assert(eq(str, s.came, "bc"));
}

/* Removes the newest file of the folder. */
static void lose_last(void)
{
    struct dirent **names = NULL;
    int n = scandir(dir, &names, NULL, alphasort);
    char *last = NULL;

    for (int i = 0; i < n; i++) {
        if (strstr(names[i]->d_name, ".json")) {
            free(last);
            last = pfc_fs_join(dir, names[i]->d_name);
        }
        free(names[i]);
    }
    free(names);
    cr_assert(eq(int, unlink(last), 0));
    free(last);
}

/* Killed between two of the files: the job is measured again. */
Test(spool_traces, a_run_without_its_last_trace_is_no_run)
{
    pfc_spool_report report;

    add_traced();
    lose_last();
    pfc_spool_close(spool);
    open_spool();
    cr_assert(eq(sz, files_in(dir), 0));
    cr_assert(eq(int, upload(&report), PFC_OK));
    cr_assert(eq(str, s.came, ""));
}
