/* Documents are sent with the token of the lease under which they were measured. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/log.h"

#include "tests/check/check.h"
#include "tests/runner/spool_ground.h"

static void init(void)
{
    ground_init();
    pfc_spool_backoff(spool, 0.0);
    pfc_log_set_level(PFC_OFF);
}

TestSuite(spool_token, .init = init, .fini = ground_clear);

/* Accepts the tokens of `takes`, and remembers all: "a>1 b>2". */
typedef struct gate {
    const char *takes;
    int otherwise; /* status for other tokens */
    const char *body;
    char calls[512];
} gate;

static void answer(const stand_in_req *req, pfc_buf *out, void *arg)
{
    gate *g = arg;
    const char *at = strstr(req->headers, "Authorization: Bearer ");
    pfc_run *run = NULL;
    pfc_err err = { 0 };
    char token[32] = "";
    size_t len = strlen(g->calls);

    (void)snprintf(token, sizeof(token), "%.*s", at ? (int)strcspn(at + 22, "\r") : 0,
                   at ? at + 22 : "");
    cr_assert(eq(int, pfc_run_from_json(req->body, req->body_len, &run, &err), PFC_OK));
    (void)snprintf(g->calls + len, sizeof(g->calls) - len, "%s%s>%c", len ? " " : "", token,
                   run->id[31]);
    pfc_run_free(run);
    stand_in_json(out, strstr(g->takes, token) ? 201 : g->otherwise, g->body ? g->body : "{}");
}

static pfc_code upload(gate *g, pfc_spool_report *report, pfc_err *err)
{
    stand_in server;
    pfc_http_opts opts = { .token = "own" };
    pfc_http *http = NULL;
    pfc_code code;

    stand_in_start(&server, answer, g);
    opts.url = server.url;
    cr_assert(eq(int, pfc_http_new(&opts, &http, err), PFC_OK), "%s", err->msg);
    code = pfc_spool_upload(spool, http, report, err);
    pfc_http_free(http);
    stand_in_stop(&server);
    return code;
}

static void add_under(const char *token, unsigned number)
{
    pfc_err err = { 0 };

    pfc_spool_lease_token(spool, token);
    cr_assert(eq(int, add(number, 1, &err), PFC_OK), "%s", err.msg);
}

static void reopen(void)
{
    pfc_spool_close(spool);
    open_spool();
    pfc_spool_backoff(spool, 0.0);
}

Test(spool_token, each_document_has_that_of_its_lease_after_a_kill_too)
{
    gate g = { .takes = "alpha beta own", .otherwise = 401 };
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_under("alpha", 1);
    add_under("beta", 2);
    add_under(NULL, 3);
    reopen();
    cr_assert(eq(int, upload(&g, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, g.calls, (char *)"alpha>1 beta>2 own>3"));
}

Test(spool_token, after_the_servers_refusal_the_runners_own_is_tried)
{
    gate g = { .takes = "own", .otherwise = 401 };
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_under("alpha", 1);
    cr_assert(eq(int, upload(&g, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, g.calls, (char *)"alpha>1 own>1"));
}

Test(spool_token, a_result_that_no_token_stores_stays)
{
    gate g = { .takes = "none", .otherwise = 401 };
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_under("alpha", 1);
    cr_assert(eq(int, upload(&g, &report, &err), PFC_EDENIED), "%s", err.msg);
    cr_assert(eq(sz, report.waiting, 1));
    cr_assert(eq(sz, report.rejected, 0));
}

Test(spool_token, a_result_of_another_job_is_moved_aside_and_stops_no_other)
{
    gate g = { .takes = "beta",
               .otherwise = 403,
               .body =
                   "{\"error\": {\"message\": \"not of its commits\", \"field\": \"commit\"}}" };
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_under("alpha", 1);
    add_under("beta", 2);
    cr_assert(eq(int, upload(&g, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, g.calls, (char *)"alpha>1 beta>2"));
    cr_assert(eq(sz, report.rejected, 1));
    cr_assert(eq(sz, report.uploaded, 1));
}

static void age(const char *id, int days)
{
    char *path = pfc_format("%s/tokens/%s", dir, id);
    const struct timespec at = { .tv_sec = time(NULL) - days * 86400 };

    cr_assert(eq(int, utimensat(AT_FDCWD, path, (const struct timespec[]){ at, at }, 0), 0));
    free(path);
}

Test(spool_token, files_of_tokens_are_private_and_removed_a_day_after_they_expire)
{
    char id[33], *tokens = pfc_fs_join(dir, "tokens"), *path;
    struct stat st;

    add_under("alpha", 1);
    add_under("beta", 2);
    (void)snprintf(id, sizeof(id), "%032x", 1);
    path = pfc_fs_join(tokens, id);
    cr_assert(eq(int, stat(path, &st), 0));
    cr_assert(eq(int, (int)(st.st_mode & 0777), 0600));
    age(id, 7);
    reopen();
    cr_assert(eq(sz, files_in(tokens), 2));
    age(id, 9);
    reopen();
    cr_assert(eq(sz, files_in(tokens), 1));
    free(path);
    free(tokens);
}
