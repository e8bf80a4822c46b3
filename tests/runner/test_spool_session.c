/* A session in the spool: its runs and its own document arrive in order, each once, or wait
 * together. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/log.h"

#include "tests/check/check.h"
#include "tests/runner/spool_ground.h"

#define SESSION "5e551011000000000000000000000001"

/* Documents in the order received: the last digit of a run's id, "S" for the session; and the
 * answer to one. */
static struct {
    char came[64];
    char odd; /* which of them; 0: none */
    int odd_status;
    char *session;
} s;

static void serve(const stand_in_req *req, pfc_buf *out, void *arg)
{
    const char *id = strstr(req->body, "\"id\":\"");
    char what = '?';

    (void)arg;
    if (strcmp(req->path, "/api/v1/runs") == 0 && id) {
        what = id[6 + 31];
    } else if (strcmp(req->path, "/api/v1/projects/demo/sessions") == 0) {
        what = 'S';
        free(s.session);
        s.session = pfc_strndup(req->body, req->body_len);
    }
    s.came[strlen(s.came)] = what;
    if (what == s.odd)
        stand_in_json(out, s.odd_status, "{\"error\": {\"message\": \"not this one\"}}");
    else
        stand_in_json(out, 201, "{}");
}

static pfc_code upload(pfc_spool_report *report, pfc_err *err)
{
    pfc_http_opts opts = { 0 };
    stand_in server;
    pfc_http *http = NULL;
    pfc_code code;

    memset(s.came, 0, sizeof(s.came));
    stand_in_start(&server, serve, NULL);
    opts.url = server.url;
    cr_assert(eq(int, pfc_http_new(&opts, &http, err), PFC_OK));
    code = pfc_spool_upload(spool, http, report, err);
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

static void fini(void)
{
    free(s.session);
    ground_clear();
}

TestSuite(spool_session, .init = init, .fini = fini);

static void add_session(void)
{
    json_t *doc = json_pack("{s:s, s:i}", "id", SESSION, "blocks", 4);
    pfc_run *runs[3];
    pfc_err err = { 0 };
    const pfc_session_set set = {
        .id = SESSION, .project = "demo", .session = doc, .runs = runs, .len = 3
    };

    for (unsigned i = 0; i < 3; i++)
        runs[i] = make_run(i + 1, 1);
    cr_assert(eq(int, pfc_spool_add_session(spool, &set, &err), PFC_OK), "%s", err.msg);
    for (unsigned i = 0; i < 3; i++)
        pfc_run_free(runs[i]);
    json_decref(doc);
}

static pfc_spool_fate look(char reason[PFC_ERR_MAX])
{
    return pfc_spool_look(spool, SESSION, reason);
}

Test(spool_session, the_runs_come_first_and_each_once)
{
    char reason[PFC_ERR_MAX];
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_session();
    cr_assert(eq(sz, files_in(dir), 4));
    cr_assert(eq(int, look(reason), PFC_SPOOL_WAITS));
    cr_assert(eq(int, upload(&report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, s.came, "123S"));
    cr_assert(eq(str, s.session, "{\"id\":\"" SESSION "\",\"blocks\":4}"));
    cr_assert(eq(sz, report.uploaded, 4));
    cr_assert(eq(int, look(reason), PFC_SPOOL_GONE));
    cr_assert(eq(int, upload(&report, &err), PFC_OK));
    cr_assert(eq(str, s.came, ""));
}

/* The server stops after it stored the second run. These two runs are not sent again, and the
 * session document is sent last. */
Test(spool_session, an_interrupted_upload_goes_on_where_it_was)
{
    char reason[PFC_ERR_MAX];
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_session();
    s.odd = '3';
    s.odd_status = 503;
    cr_assert(eq(int, upload(&report, &err), PFC_EUNAVAIL));
    cr_assert(eq(str, s.came, "123"));
    cr_assert(eq(int, look(reason), PFC_SPOOL_WAITS));
    pfc_spool_close(spool);
    open_spool(); /* a new process */
    s.odd = 0;
    cr_assert(eq(int, upload(&report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, s.came, "3S"));
}

/* A session whose run is not stored yet would be judged without it. */
Test(spool_session, the_session_waits_for_a_run_that_the_server_has_an_error_with)
{
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_session();
    s.odd = '2';
    s.odd_status = 500;
    cr_assert(eq(int, upload(&report, &err), PFC_EUNAVAIL));
    cr_assert(eq(str, s.came, "12"));
    s.odd = 0;
    cr_assert(eq(int, upload(&report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, s.came, "23S"));
}

Test(spool_session, a_refused_document_is_reported_of_the_session)
{
    char reason[PFC_ERR_MAX] = "";
    pfc_spool_report report;
    pfc_err err = { 0 };

    add_session();
    s.odd = 'S';
    s.odd_status = 400;
    cr_assert(eq(int, upload(&report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, s.came, "123S"));
    cr_assert(eq(sz, report.rejected, 1));
    cr_assert(eq(int, look(reason), PFC_SPOOL_REJECTED));
    cr_assert(ne(ptr, strstr(reason, "not this one"), NULL), "%s", reason);
}

/* Killed while it was written: the last part is not there. */
Test(spool_session, half_a_session_is_none)
{
    struct dirent **names;
    pfc_spool_report report;
    pfc_err err = { 0 };
    char *last;
    int n;

    add_session();
    n = scandir(dir, &names, NULL, alphasort);
    cr_assert(n > 0);
    while (n > 0 && names[n - 1]->d_name[0] != '0')
        free(names[--n]);
    last = pfc_fs_join(dir, names[n - 1]->d_name);
    cr_assert(ne(ptr, strstr(last, "-003s."), NULL), "%s", last);
    cr_assert(eq(int, unlink(last), 0));
    pfc_spool_close(spool);
    open_spool();
    cr_assert(eq(sz, files_in(dir), 0));
    cr_assert(eq(int, upload(&report, &err), PFC_OK));
    cr_assert(eq(str, s.came, ""));
    free(last);
    while (n > 0)
        free(names[--n]);
    free(names);
}
