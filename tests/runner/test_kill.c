/* The real program, killed without warning at the worst moment: after the measurement, before the
 * server has it. */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/process/proc.h"
#include "core/wire/wire.h"

#include "tests/check/check.h"
#include "tests/core/git/fixture.h"
#include "tests/core/http/stand_in.h"

#define PATIENCE_S 600.0

static fixture f;
static stand_in server;
static char *job;
static atomic_int runner_pid; /* killed when it uploads; 0: it may live */
static atomic_int leases;
static char sent_ids[2][33]; /* written by the server's thread before the runner's end is seen */
static atomic_int sent;

static void serve(const stand_in_req *req, pfc_buf *out, void *arg)
{
    pfc_run *run = NULL;
    int pid = atomic_load(&runner_pid);

    (void)arg;
    if (strncmp(req->path, "/api/v1/jobs/lease?wait=", 24) == 0) {
        if (atomic_fetch_add(&leases, 1) == 0)
            stand_in_json(out, 200, job);
        else
            pfc_buf_puts(out, "HTTP/1.1 204 None\r\nConnection: close\r\n\r\n");
    } else if (strcmp(req->path, "/api/v1/runs") == 0) {
        if (atomic_load(&sent) < 2 &&
            pfc_run_from_json(req->body, req->body_len, &run, NULL) == PFC_OK) {
            (void)snprintf(sent_ids[atomic_load(&sent)], 33, "%s", run->id);
            atomic_fetch_add(&sent, 1);
        }
        pfc_run_free(run);
        if (pid > 0)
            (void)kill(pid, SIGKILL); /* and no answer */
        else
            stand_in_json(out, 200, "{\"run_id\": 5}");
    } else {
        stand_in_json(out, 200, "{}");
    }
}

static pid_t start_runner(const char *work, const char *token)
{
    char *program = pfc_fs_join(PFC_TEST_BIN, "perfci-runner");
    char *log = pfc_fs_join(f.dir, "runner.log");
    const char *const argv[] = { program, "--url",  server.url, "--token-file", token, "--work",
                                 work,    "--once", NULL };
    const pfc_proc_spawn_opts opts = { .argv = argv, .log_path = log };
    pid_t pid = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_proc_spawn(&opts, &pid, &err), PFC_OK), "%s", err.msg);
    free(program);
    free(log);
    return pid;
}

static pfc_proc_result wait_for(pid_t pid)
{
    pfc_proc_result res = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_proc_wait(pid, PATIENCE_S, &res, &err), PFC_OK), "%s", err.msg);
    return res;
}

Test(kill, a_measured_run_survives_the_runner)
{
    char *work, *token, *id, *go;
    pfc_proc_result res;
    pfc_err err = { 0 };

    fixture_init(&f);
    work = pfc_fs_join(f.dir, "work");
    token = pfc_fs_join(f.dir, "token");
    cr_assert(eq(int, pfc_fs_write_atomic(token, "pfc_x\n", 6, 0600, &err), PFC_OK));
    /* The measurement waits for this file, so that the process id is known before the upload. */
    go = pfc_fs_join(f.dir, "go");
    setenv("GO_FILE", go, 1);
    fixture_write(&f, "perfci.yaml",
                  "measure: 'while test ! -e $GO_FILE; do sleep 0.05; done; echo 2.5'\n");
    id = fixture_commit(&f, "a.c", "int a;\n", "one");
    job = pfc_format("{\"job\": {\"id\": 17, \"lease\": \"secret\", \"project\": \"demo\", "
                     "\"commit\": \"%s\", \"branch\": \"main\", \"source\": \"%s\"}}",
                     id, f.repo);
    stand_in_start(&server, serve, NULL);

    atomic_store(&runner_pid, (int)start_runner(work, token));
    cr_assert(eq(int, pfc_fs_write_atomic(go, "", 0, 0600, &err), PFC_OK));
    res = wait_for(atomic_load(&runner_pid));
    cr_assert(eq(int, res.signal, SIGKILL));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, atomic_load(&sent), 1));

    atomic_store(&runner_pid, 0);
    res = wait_for(start_runner(work, token));
    cr_assert(eq(int, res.exit_status, 0));
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, atomic_load(&sent), 2));
    cr_assert(eq(str, sent_ids[1], sent_ids[0])); /* the same run: counted once */

    stand_in_stop(&server);
    free(work);
    free(token);
    free(id);
    free(go);
    free(job);
    fixture_clear(&f);
}

Test(kill, wrong_usage_is_reported_with_status_2)
{
    char *program = pfc_fs_join(PFC_TEST_BIN, "perfci-runner");
    const char *const no_work[] = { program, NULL };
    const char *const bad_url[] = { program, "--url", "ftp://x", "--work", "w", NULL };
    const char *const help[] = { program, "--help", NULL };
    const struct {
        const char *const *argv;
        int status;
        const char *words;
    } cases[] = { { no_work, 2, "--work DIR is missing" },
                  { bad_url, 2, "expected http://" },
                  { help, 0, "" } };
    const char *const env[] = { "PERFCI_TOKEN=pfc_x", NULL };

    fixture_init(&f);
    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        const pfc_proc_opts opts = {
            .argv = cases[i].argv, .env = env, .cwd = f.dir, .timeout_s = PATIENCE_S
        };
        pfc_proc_result res;
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_proc_run(&opts, &res, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, res.exit_status, cases[i].status), "%s", pfc_buf_text(&res.err));
        cr_assert(ne(ptr, strstr(pfc_buf_text(&res.err), cases[i].words), NULL), "%s",
                  pfc_buf_text(&res.err));
        pfc_proc_result_clear(&res);
    }
    free(program);
    fixture_clear(&f);
}
