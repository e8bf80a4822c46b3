/* Every probe of escapes.txt, as a job of the runner; and that nothing of a job survives it. With
 * PERFCI_TEST_LAUNCHER the commands are started by perfci-sandbox. */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "runner/workspace/workspace_priv.h"

#include "tests/check/check.h"
#include "tests/runner/launcher.h"

#define PLANTED "perfci-planted-secret"

static char *dir, *tree, *other;
static pfc_sandbox *sandbox;
static pfc_test_launcher launcher;
static int listener = -1, named = -1, hidden = -1;
static unsigned short port;
static int shared_key; /* of a segment of System V memory */

static char *put(const char *folder, const char *name, const char *text, unsigned mode)
{
    char *path = pfc_fs_join(folder, name);
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), mode, &err), PFC_OK), "%s",
              err.msg);
    return path;
}

static int unix_listener(const char *path, bool abstract)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    const size_t len = strlen(path);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    memcpy(at.sun_path + (abstract ? 1 : 0), path, len);
    cr_assert(eq(int,
                 bind(fd, (struct sockaddr *)&at,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1)),
                 0));
    cr_assert(eq(int, listen(fd, 8), 0));
    return fd;
}

static void open_world(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(at);
    pfc_err err = { 0 };
    pfc_sandbox_opts opts = { 0 };

    cr_assert(eq(int, pfc_fs_temp_dir("perfci-escapes", &dir, &err), PFC_OK), "%s", err.msg);
    tree = pfc_fs_join(dir, "cache-tree");
    other = pfc_fs_join(dir, "other");
    cr_assert(eq(int, pfc_fs_mkdirs(tree, 0755, &err), PFC_OK));
    cr_assert(eq(int, pfc_fs_mkdirs(other, 0755, &err), PFC_OK));
    free(put(tree, "file", "own\n", 0644));
    free(put(other, "file", "other\n", 0644));
    listener = socket(AF_INET, SOCK_STREAM, 0); /* without close-on-exec, as a library's may be */
    cr_assert(eq(int, bind(listener, (struct sockaddr *)&at, sizeof(at)), 0));
    cr_assert(eq(int, listen(listener, 8), 0));
    cr_assert(eq(int, getsockname(listener, (struct sockaddr *)&at, &len), 0));
    port = ntohs(at.sin_port);
    setenv("DEPLOY_KEY", PLANTED, 1);
    setenv("NPM_AUTH", PLANTED, 1);
    setenv("AWS_ACCESS_KEY_ID", PLANTED, 1);
    setenv("SSH_AUTH_SOCK", PLANTED, 1);
    opts.dir = dir;
    if (getenv("PERFCI_TEST_LAUNCHER")) {
        launcher = pfc_test_launcher_start(dir);
        opts.socket = launcher.socket;
        opts.starter = launcher.program;
    }
    if (pfc_sandbox_open(&opts, &sandbox, &err) == PFC_EUNAVAIL)
        cr_skip_test("this machine cannot isolate jobs: %s", err.msg);
    cr_assert(ne(ptr, sandbox, NULL), "%s", err.msg);
    cr_assert(eq(int, pfc_sandbox_own(sandbox, tree, &err), PFC_OK), "%s", err.msg);
}

static void close_world(void)
{
    pfc_sandbox_close(sandbox);
    pfc_test_launcher_stop(&launcher);
    if (dir)
        cr_expect(eq(int, pfc_fs_remove_tree(dir, NULL), PFC_OK));
    close(listener);
    free(dir);
    free(tree);
    free(other);
}

static void run_job(const char *script, double timeout_s, pfc_proc_result *res)
{
    const pfc_command command = { .text = script,
                                  .dir = tree,
                                  .sandbox = sandbox,
                                  .timeout_s = timeout_s,
                                  .max_output_bytes = 1 << 20 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_command_run(&command, res, &err), PFC_OK), "%s", err.msg);
}

static char *prologue(const char *secret, const char *open, const char *socket_path,
                      const char *abstract)
{
    return pfc_format("export SECRET=%s OPEN=%s OTHER=%s TREE=%s PORT=%u SOCKET=%s ABSTRACT=%s "
                      "AGENT=%d UID_IS_ROOT=%d SHARED=%d\n",
                      secret, open, other, tree, port, socket_path, abstract, (int)getpid(),
                      geteuid() == 0, shared_key);
}

TestSuite(escapes, .init = open_world, .fini = close_world, .timeout = 600);

Test(escapes, no_probe_gets_out_and_all_that_a_job_needs_works)
{
    char *secret = put(dir, "secret", PLANTED, 0600);
    char *open = put(dir, "open", PLANTED, 0644);
    char *socket_path = pfc_fs_join(dir, "socket");
    char *abstract = pfc_format("perfci-escapes-%d", (int)getpid());
    char *before = NULL;
    char *path = pfc_fs_join(PFC_TEST_SOURCE, "tests/runner/escapes.txt");
    size_t len = 0, probes = 0;
    int shared;
    char *text = NULL;
    pfc_err err = { 0 };

    shared_key = 0x50455243 + (int)getpid();
    shared = shmget(shared_key, 4096, IPC_CREAT | IPC_EXCL | 0666);
    cr_assert(ge(int, shared, 0));
    before = prologue(secret, open, socket_path, abstract);
    named = unix_listener(socket_path, false);
    hidden = unix_listener(abstract, true);
    cr_assert(eq(int, pfc_fs_read(path, 1 << 20, &text, &len, &err), PFC_OK), "%s", err.msg);
    for (char *at = strstr(text, "\n== "); at;) {
        char *end = strstr(at + 4, "\n== ");
        char *name = pfc_strndup(at + 4, strcspn(at + 4, "\n"));
        char *body = at + 4 + strlen(name);
        char *script =
            pfc_format("%s%.*s", before, (int)(end ? end - body : (long)strlen(body)), body);
        const bool must = strncmp(name, "must: ", 6) == 0;
        pfc_proc_result res;

        run_job(script, 60, &res);
        cr_expect(eq(int, res.exit_status == 0, must), "%s: status %d: %s%s", name, res.exit_status,
                  pfc_buf_text(&res.out), pfc_buf_text(&res.err));
        cr_expect(eq(ptr, strstr(pfc_buf_text(&res.out), PLANTED), NULL), "%s shows a secret",
                  name);
        cr_expect(eq(ptr, strstr(pfc_buf_text(&res.err), "bwrap:"), NULL), "%s: %s", name,
                  pfc_buf_text(&res.err));
        pfc_proc_result_clear(&res);
        probes++;
        free(script);
        free(name);
        at = end;
    }
    cr_assert(ge(sz, probes, 100));
    cr_assert(eq(int, shmctl(shared, IPC_RMID, NULL), 0));
    close(named);
    close(hidden);
    free(text);
    free(path);
    free(before);
    free(abstract);
    free(socket_path);
    free(open);
    free(secret);
}

/* In /tmp the folder above the tree is the sandbox's own: a file in it is not the machine's. */
Test(escapes, a_file_beside_the_tree_stays_in_the_sandbox)
{
    char *beside = pfc_fs_join(dir, "planted");
    pfc_proc_result res;

    run_job("echo x > ../planted; echo x > inside", 10, &res);
    pfc_proc_result_clear(&res);
    cr_assert(not(pfc_fs_exists(beside)));
    free(beside);
}

Test(escapes, what_a_job_started_ends_with_it)
{
    /* Its output is not ours: an open pipe would make the run wait for the survivor. */
    static const char script[] =
        "setsid sh -c 'while :; do echo beat >> beats; sleep 0.02; done' "
        "</dev/null >/dev/null 2>&1 & while [ ! -s beats ]; do sleep 0.01; done";
    static const char pause[] = "i=0; while [ $i -lt 20 ]; do i=$((i + 1)); sleep 0.02; done";
    char *beats = pfc_fs_join(tree, "beats");
    char *first = NULL, *second = NULL;
    size_t len[2] = { 0, 0 };
    pfc_proc_result res;

    run_job(script, 60, &res);
    cr_assert(eq(int, res.exit_status, 0), "%s", pfc_buf_text(&res.err));
    pfc_proc_result_clear(&res);
    run_job(pause, 60, &res); /* the kernel ends the namespace while bubblewrap returns */
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, pfc_fs_read(beats, 1 << 20, &first, &len[0], NULL), PFC_OK));
    run_job("i=0; while [ $i -lt 20 ]; do i=$((i + 1)); sleep 0.02; done", 60, &res);
    pfc_proc_result_clear(&res);
    cr_assert(eq(int, pfc_fs_read(beats, 1 << 20, &second, &len[1], NULL), PFC_OK));
    cr_assert(eq(sz, len[1], len[0]), "a process of the job went on after its end");
    free(first);
    free(second);
    free(beats);
}

Test(escapes, a_build_may_be_given_the_network)
{
    static const char probe[] = "python3 -c 'import socket; "
                                "socket.create_connection((\"127.0.0.1\", %u), 3)'";
    char *script = pfc_format(probe, port);

    for (int with = 0; with < 2; with++) {
        const pfc_command command = {
            .text = script, .dir = tree, .sandbox = sandbox, .network = with == 1, .timeout_s = 60
        };
        pfc_proc_result res;
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_command_run(&command, &res, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, res.exit_status == 0, with == 1), "%s", pfc_buf_text(&res.err));
        pfc_proc_result_clear(&res);
    }
    free(script);
}

/* Each in its own folder of the sandbox: memory, /tmp, System V memory, message queues. */
Test(escapes, nothing_is_left_for_the_next_job)
{
    static const char leave[] =
        "echo x > /dev/shm/left && echo x > /tmp/left && mkfifo /tmp/fifo && "
        "ipcmk -M 4096 -Q -S 1 && test \"$(ipcs | grep -c ^0x)\" = 3";
    static const char look[] = "test -e /dev/shm/left -o -e /tmp/left -o -e /tmp/fifo || "
                               "test \"$(ipcs | grep -c ^0x)\" != 0";
    pfc_proc_result res;

    run_job(leave, 60, &res);
    cr_assert(eq(int, res.exit_status, 0), "%s", pfc_buf_text(&res.err));
    pfc_proc_result_clear(&res);
    run_job(look, 60, &res);
    cr_assert(eq(int, res.exit_status, 1), "%s%s", pfc_buf_text(&res.out), pfc_buf_text(&res.err));
    pfc_proc_result_clear(&res);
}

Test(escapes, bombs_end_at_their_limit)
{
    pfc_proc_result res;

    /* Each process leaves its session, and doubles until none can be made. */
    run_job("cat > bomb.sh <<'END'\n"
            "setsid sh bomb.sh & setsid sh bomb.sh & wait\nEND\n"
            "(sh bomb.sh; echo all) > /dev/null 2>&1",
            3, &res);
    cr_assert(res.timed_out || res.exit_status != 0);
    pfc_proc_result_clear(&res);
    run_job("ls -d /proc/[0-9]* | wc -l", 60, &res); /* all of them are gone */
    cr_assert(lt(int, atoi(pfc_buf_text(&res.out)), 12), "%s", pfc_buf_text(&res.out));
    pfc_proc_result_clear(&res);

    /* Processes: the loop would end well without the limit. A busy machine needs minutes for the
     * 4096 of the limit, and none of them may end before. */
    run_job("i=0; while [ $i -lt 6000 ]; do sleep 900 & i=$((i + 1)); done; echo all", 600, &res);
    cr_assert(ne(ptr, strstr(pfc_buf_text(&res.err), "Cannot fork"), NULL), "%s",
              pfc_buf_text(&res.err));
    cr_assert(eq(str, (char *)(uintptr_t)pfc_buf_text(&res.out), ""));
    cr_assert(ne(int, res.exit_status, 0));
    pfc_proc_result_clear(&res);
    setenv("PERFCI_MEMORY_LIMIT", "256M", 1);
    /* It keeps what it took, since without a memory controller the runner looks now and then. */
    run_job("python3 -c 'import time\nx = bytearray(1 << 31)\n"
            "for i in range(0, 1 << 31, 4096): x[i] = 1\n"
            "time.sleep(900)'",
            600, &res);
    cr_assert(eq(int, res.over_memory, true), "exit status %d, signal %d after %.1f s: %s",
              res.exit_status, res.signal, res.seconds, pfc_buf_text(&res.err));
    pfc_proc_result_clear(&res);
    unsetenv("PERFCI_MEMORY_LIMIT");
    run_job("yes", 2, &res); /* output */
    cr_assert(eq(int, res.truncated, true));
    cr_assert(le(sz, res.out.len, (size_t)1 << 20));
    pfc_proc_result_clear(&res);
}

Test(escapes, a_signal_of_the_command_is_seen)
{
    pfc_proc_result res;

    run_job("kill -SEGV $$", 10, &res);
    cr_assert(eq(int, res.signal, SIGSEGV));
    pfc_proc_result_clear(&res);
    run_job("exit 125", 10, &res);
    cr_assert(eq(int, res.exit_status, 125));
    cr_assert(eq(int, res.signal, 0));
    pfc_proc_result_clear(&res);
}
