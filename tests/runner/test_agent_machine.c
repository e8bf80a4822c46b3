/* The machine of a runner: one measurement at a time, and no pull requests without isolation. */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "runner/agent/agent.h"
#include "runner/agent/machine_lock.h"
#include "runner/sandbox/sandbox.h"

#include "tests/check/check.h"
#include "tests/core/git/fixture.h"
#include "tests/core/http/stand_in.h"

#define YAML "build: cp value built\nmeasure: cat built\nmetric: speed\nunit: s\nbetter: lower\n"

static fixture f;
static char *machine_lock, *job;
static const char *wait_quiet;
static stand_in server;
static int stop_pipe[2];
static atomic_int beats, leases;
static atomic_bool released;
static bool stop_at_beat, waited, run_too_early, run_marked, by_name;
static int runs, releases;
static char ended[1024];

static void serve(const stand_in_req *req, pfc_buf *out, void *arg)
{
    (void)arg;
    if (strncmp(req->path, "/api/v1/jobs/lease", 18) == 0 && atomic_fetch_add(&leases, 1) == 0) {
        stand_in_json(out, 200, job);
        return;
    }
    if (strcmp(req->path, "/api/v1/runs") == 0) {
        runs++;
        run_too_early = run_too_early || !atomic_load(&released);
        run_marked = strstr(req->body, "\"unsandboxed\":true") != NULL;
    } else if (strcmp(req->path, "/api/v1/jobs/17/heartbeat") == 0) {
        waited = waited || strstr(req->body, "waiting for another runner of this machine");
        atomic_fetch_add(&beats, 1);
        if (stop_at_beat)
            (void)!write(stop_pipe[1], "x", 1);
    } else if (strcmp(req->path, "/api/v1/jobs/17/complete") == 0) {
        (void)snprintf(ended, sizeof(ended), "%.*s", (int)req->body_len, req->body);
    } else if (strcmp(req->path, "/api/v1/jobs/17/release") == 0) {
        releases++;
    }
    stand_in_json(out, 200, "{}");
}

static void setup(void)
{
    fixture_init(&f);
    machine_lock = pfc_fs_join(f.dir, "machine.lock");
    cr_assert(eq(int, pipe(stop_pipe), 0));
    stand_in_start(&server, serve, NULL);
}

static void teardown(void)
{
    stand_in_stop(&server);
    close(stop_pipe[0]);
    close(stop_pipe[1]);
    free(job);
    free(machine_lock);
    fixture_clear(&f);
}

TestSuite(agent_machine, .init = setup, .fini = teardown, .timeout = 600);

static void offer(const char *kind, double lease_s)
{
    char *id;

    fixture_write(&f, "perfci.yaml", YAML);
    id = fixture_commit(&f, "value", "12.5\n", "measure me");
    job = pfc_format("{\"job\": {\"id\": 17, \"lease\": \"secret\", \"fence\": 1, \"lease_s\": %g, "
                     "\"kind\": \"%s\", \"project\": \"demo\", \"commit\": \"%s\", "
                     "\"branch\": \"main\", \"source\": \"%s\"}}",
                     lease_s, kind, id, f.repo);
    free(id);
}

static void run_agent(bool once, pfc_sandbox_mode sandbox, pfc_agent_report *report)
{
    char *work = pfc_fs_join(f.dir, "work");
    const pfc_agent_opts opts = { .url = server.url,
                                  .token = "pfc_token",
                                  .dir = work,
                                  .name = "tester",
                                  .machine_class = "lab",
                                  .once = once,
                                  .sandbox = sandbox,
                                  .machine_lock = machine_lock,
                                  .wait_quiet = wait_quiet,
                                  .poll_s = 1.0,
                                  .stop_fd = stop_pipe[0],
                                  .seed = 1,
                                  .backoff_s = 0.01 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_agent_run(&opts, report, &err), PFC_OK), "%s", err.msg);
    free(work);
}

static int take_lock(void)
{
    const int fd = open(machine_lock, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);

    cr_assert(eq(int, flock(fd, LOCK_EX), 0));
    return fd;
}

/* The other part of the lock: the name that machine_lock.h describes. */
static int take_name(void)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    char hash[PFC_SHA256_HEX];
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int len;

    pfc_sha256_hex(machine_lock, strlen(machine_lock), hash);
    len = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "perfci-measure-%.16s", hash);
    cr_assert(eq(int,
                 bind(fd, (struct sockaddr *)&at,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) + (socklen_t)len),
                 0));
    return fd;
}

/* Another runner of this machine, whose job ends when the first has shown twice that it waits. */
static void *other_runner(void *arg)
{
    const int fd = by_name ? take_name() : take_lock();

    (void)sem_post(arg);
    while (atomic_load(&beats) < 2)
        (void)usleep(1000);
    atomic_store(&released, true);
    close(fd);
    return NULL;
}

static void wait_for_other_runner(void)
{
    pfc_agent_report report;
    pthread_t other;
    sem_t held;

    offer("measure", 1); /* a heartbeat each third of a second */
    cr_assert(eq(int, sem_init(&held, 0, 0), 0));
    cr_assert(eq(int, pthread_create(&other, NULL, other_runner, &held), 0));
    (void)sem_wait(&held);
    run_agent(true, PFC_SANDBOX_OFF, &report);
    cr_assert(eq(int, pthread_join(other, NULL), 0));
    cr_assert(eq(sz, report.done, 1));
    cr_assert(eq(int, runs, 1));
    cr_assert_not(run_too_early);
    cr_assert(waited);
    (void)sem_destroy(&held);
}

Test(agent_machine, two_runners_of_a_machine_never_measure_at_once)
{
    wait_for_other_runner();
}

/* As in a container that has folders of its own: there is no file to share. */
Test(agent_machine, nor_do_they_without_a_file_in_common)
{
    free(machine_lock);
    machine_lock = pfc_fs_join(f.dir, "no such folder/machine.lock");
    by_name = true;
    wait_for_other_runner();
}

Test(agent_machine, a_runner_that_is_stopped_while_it_waits_gives_the_job_back)
{
    const int fd = take_lock();
    pfc_agent_report report;

    offer("measure", 1);
    stop_at_beat = true;
    run_agent(false, PFC_SANDBOX_OFF, &report);
    cr_assert(eq(int, releases, 1));
    cr_assert(eq(int, runs, 0));
    cr_assert(eq(sz, report.abandoned, 1));
    close(fd);
}

Test(agent_machine, the_lock_ends_with_the_job)
{
    pfc_agent_report report;
    int fd;

    atomic_store(&released, true);
    offer("measure", 60);
    run_agent(true, PFC_SANDBOX_OFF, &report);
    fd = open(machine_lock, O_RDONLY | O_CLOEXEC);
    cr_assert(ge(int, fd, 0));
    cr_assert(eq(int, flock(fd, LOCK_EX | LOCK_NB), 0));
    close(fd);
}

Test(agent_machine, a_pull_request_is_not_run_without_isolation)
{
    pfc_agent_report report;

    offer("pull_request", 60);
    run_agent(true, PFC_SANDBOX_OFF, &report);
    cr_assert(eq(sz, report.failed, 1));
    cr_assert(eq(int, runs, 0));
    cr_assert(ne(ptr, strstr(ended, "jobs of pull requests need isolation"), NULL), "%s", ended);
    cr_assert(ne(ptr, strstr(ended, "--sandbox off"), NULL), "%s", ended);
}

Test(agent_machine, a_run_without_isolation_carries_a_mark)
{
    pfc_agent_report report;

    offer("measure", 60);
    run_agent(true, PFC_SANDBOX_OFF, &report);
    cr_assert(eq(sz, report.done, 1));
    cr_assert(run_marked);
}

Test(agent_machine, an_isolated_run_carries_none)
{
    pfc_sandbox *sandbox = NULL;
    pfc_agent_report report;
    pfc_err err = { 0 };

    if (pfc_sandbox_open(&(pfc_sandbox_opts){ .dir = f.dir }, &sandbox, &err) != PFC_OK)
        cr_skip_test("this machine cannot isolate jobs: %s", err.msg);
    pfc_sandbox_close(sandbox);
    offer("measure", 60);
    run_agent(true, PFC_SANDBOX_REQUIRE, &report);
    cr_assert(eq(sz, report.done, 1));
    cr_assert(eq(int, runs, 1));
    cr_assert(not(run_marked));
}

/* There is no perfci-bench beside the tests to ask. */
Test(agent_machine, a_command_is_not_measured_if_quietness_cannot_be_checked)
{
    pfc_agent_report report;

    wait_quiet = "1s";
    offer("measure", 60);
    run_agent(true, PFC_SANDBOX_OFF, &report);
    cr_assert(eq(sz, report.failed, 1));
    cr_assert(eq(int, runs, 0));
    cr_assert(ne(ptr, strstr(ended, "cannot be asked whether it is quiet"), NULL), "%s", ended);
}
