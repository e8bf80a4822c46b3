/* Children: output, input, deadlines, groups, limits. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/parse.h"
#include "core/base/process/proc.h"

#include "tests/check/check.h"

static pfc_proc_result run_shell(const char *script, pfc_proc_opts opts)
{
    const char *argv[] = { "sh", "-c", script, NULL };
    pfc_proc_result res;
    pfc_err err = { 0 };

    opts.argv = argv;
    cr_assert(eq(int, pfc_proc_run(&opts, &res, &err), PFC_OK), "%s", err.msg);
    return res;
}

Test(proc, output_and_status_are_collected_apart)
{
    pfc_proc_result res = run_shell("echo out; echo err >&2; exit 3", (pfc_proc_opts){ 0 });

    cr_assert(eq(str, (char *)pfc_buf_text(&res.out), "out\n"));
    cr_assert(eq(str, (char *)pfc_buf_text(&res.err), "err\n"));
    cr_assert(eq(int, res.exit_status, 3));
    cr_assert(eq(int, res.signal, 0));
    pfc_proc_result_clear(&res);
}

Test(proc, merged_output_keeps_its_order)
{
    pfc_proc_result res = run_shell("echo 1; echo 2 >&2; echo 3", (pfc_proc_opts){ .merge = true });

    cr_assert(eq(str, (char *)pfc_buf_text(&res.out), "1\n2\n3\n"));
    pfc_proc_result_clear(&res);
}

Test(proc, input_larger_than_a_pipe_goes_through)
{
    size_t len = 1 << 20;
    char *input = pfc_calloc(1, len);
    pfc_proc_result res;

    memset(input, 'x', len);
    res = run_shell("wc -c", (pfc_proc_opts){ .input = input, .input_len = len });
    cr_assert(eq(int, atoi(pfc_buf_text(&res.out)), 1 << 20));
    pfc_proc_result_clear(&res);
    res = run_shell("exit 0", (pfc_proc_opts){ .input = input, .input_len = len });
    cr_assert(eq(int, res.exit_status, 0), "a child that reads nothing must not end us");
    pfc_proc_result_clear(&res);
    free(input);
}

Test(proc, output_over_the_limit_is_dropped_and_said)
{
    pfc_proc_result res = run_shell("head -c 100000 /dev/zero | tr '\\0' x",
                                    (pfc_proc_opts){ .max_output_bytes = 1000 });

    cr_assert(res.truncated);
    cr_assert(eq(sz, res.out.len, 1000));
    cr_assert(eq(int, res.exit_status, 0));
    pfc_proc_result_clear(&res);
}

Test(proc, environment_is_added_replaced_and_removed)
{
    const char *env[] = { "PFC_A=1", "PFC_B", NULL };
    pfc_proc_result res;

    setenv("PFC_A", "old", 1);
    setenv("PFC_B", "old", 1);
    setenv("PFC_C", "kept", 1);
    res = run_shell("echo \"$PFC_A,${PFC_B-unset},$PFC_C\"", (pfc_proc_opts){ .env = env });
    cr_assert(eq(str, (char *)pfc_buf_text(&res.out), "1,unset,kept\n"));
    pfc_proc_result_clear(&res);
}

static bool gone(pid_t pid)
{
    struct pollfd one = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
    bool ended = one.fd < 0 || poll(&one, 1, 240000) == 1;

    if (one.fd >= 0)
        close(one.fd);
    return ended;
}

Test(proc, a_deadline_ends_it)
{
    pfc_proc_result res = run_shell("exec sleep 1000", (pfc_proc_opts){ .timeout_s = 0.3 });
    char what[100];

    cr_assert(res.timed_out);
    cr_assert(eq(int, res.signal, SIGTERM));
    pfc_proc_describe(&res, what, sizeof what);
    cr_assert_not_null(strstr(what, "time limit"));
    pfc_proc_result_clear(&res);
}

Test(proc, a_limit_of_processes_is_named_beside_the_end)
{
    char what[100];

    pfc_proc_describe(&(pfc_proc_result){ .exit_status = 2, .process_limit = 4096 }, what,
                      sizeof(what));
    cr_assert(eq(str, what, "exit status 2; it reached its limit of 4096 processes and threads"));
    pfc_proc_describe(&(pfc_proc_result){ .exit_status = 2, .process_limit = 4096 }, what, 10);
    cr_assert(eq(str, what, "exit stat"));
}

/* Stops a child when it has made the file $READY, however long a busy machine takes to get there.
 */
static bool is_ready(void *arg)
{
    return access(arg, F_OK) == 0;
}

static pfc_proc_result stop_when_ready(const char *script)
{
    char *dir = NULL;
    char *ready, *var;
    pfc_proc_result res;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_temp_dir("proc", &dir, &err), PFC_OK), "%s", err.msg);
    ready = pfc_fs_join(dir, "ready");
    var = pfc_format("READY=%s", ready);
    res = run_shell(script, (pfc_proc_opts){ .env = (const char *[]){ var, NULL },
                                             .cancelled = is_ready,
                                             .cancelled_arg = ready });
    cr_assert(res.was_cancelled);
    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK), "%s", err.msg);
    free(var);
    free(ready);
    free(dir);
    return res;
}

/* The grandchild's id is printed first; it must be gone with its parent's group. */
Test(proc, the_whole_group_is_ended)
{
    pfc_proc_result res = stop_when_ready("sleep 1000 & echo $!; : >\"$READY\"; wait");
    pid_t grandchild = (pid_t)atoi(pfc_buf_text(&res.out));

    cr_assert(gt(int, grandchild, 1));
    cr_assert(gone(grandchild));
    pfc_proc_result_clear(&res);
}

Test(proc, a_child_that_ignores_sigterm_is_killed)
{
    pfc_proc_result res =
        stop_when_ready("trap '' TERM; : >\"$READY\"; while :; do sleep 0.1; done");

    cr_assert(eq(int, res.signal, SIGKILL));
    pfc_proc_result_clear(&res);
}

static bool at_once(void *arg)
{
    (*(int *)arg)++;
    return true;
}

Test(proc, the_caller_can_stop_it)
{
    int asked = 0;
    pfc_proc_result res =
        run_shell("sleep 1000", (pfc_proc_opts){ .cancelled = at_once, .cancelled_arg = &asked });

    cr_assert(res.was_cancelled);
    cr_assert(ge(int, asked, 1));
    pfc_proc_result_clear(&res);
}

Test(proc, what_cannot_start_is_named)
{
    const char *missing[] = { "/no/such/program", NULL };
    const char *ok[] = { "true", NULL };
    pfc_proc_opts opts = { .argv = missing };
    pfc_proc_result res;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_proc_run(&opts, &res, &err), PFC_ENOTFOUND));
    cr_assert_not_null(strstr(err.msg, "/no/such/program"), "%s", err.msg);
    opts = (pfc_proc_opts){ .argv = ok, .cwd = "/no/such/folder" };
    cr_assert(eq(int, pfc_proc_run(&opts, &res, &err), PFC_ENOTFOUND));
    cr_assert_not_null(strstr(err.msg, "/no/such/folder"), "%s", err.msg);
}

Test(proc, a_spawned_child_answers_through_its_pipes_and_is_waited_for)
{
    const char *argv[] = { "cat", NULL };
    pfc_proc_result res;
    pfc_err err = { 0 };
    char answer[8] = { 0 };
    int in = -1;
    int out = -1;
    pid_t pid = 0;
    pfc_proc_spawn_opts opts = { .argv = argv, .stdin_fd = &in, .stdout_fd = &out };

    cr_assert(eq(int, pfc_proc_spawn(&opts, &pid, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_proc_wait(pid, 0.01, &res, &err), PFC_ETIMEOUT));
    cr_assert(eq(int, (int)write(in, "hello", 5), 5));
    close(in);
    cr_assert(eq(int, pfc_proc_wait(pid, 240, &res, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, res.exit_status, 0));
    cr_assert(eq(int, (int)read(out, answer, 5), 5));
    cr_assert(eq(str, answer, "hello"));
    close(out);
}

Test(proc, stop_ends_a_child_that_leads_its_group)
{
    const char *argv[] = { "sh", "-c", "sleep 1000 & wait", NULL };
    pfc_err err = { 0 };
    pid_t pid = 0;
    pfc_proc_spawn_opts opts = { .argv = argv, .detach = true };

    cr_assert(eq(int, pfc_proc_spawn(&opts, &pid, &err), PFC_OK), "%s", err.msg);
    pfc_proc_stop(pid, 30);
    cr_assert(gone(pid));
}

#define HOLD "python3 -c 'import time; x = b\"1\" * (48 << 20); time.sleep(1000)' & "

/* Neither of the two is over the limit, and the shell that started them holds next to nothing. */
Test(proc, memory_of_the_whole_family_is_limited)
{
    const int64_t started = pfc_clock_ns();
    pfc_proc_result res =
        run_shell(HOLD HOLD "wait", (pfc_proc_opts){ .tree_limit_bytes = 80 << 20 });
    char how[100];

    pfc_proc_describe(&res, how, sizeof(how));
    cr_assert(res.over_memory, "%s", how);
    cr_assert(eq(int, res.signal, SIGKILL));
    cr_assert(eq(str, how, "more memory than its limit of 80 MiB"));
    cr_assert(lt(dbl, (double)(pfc_clock_ns() - started) * 1e-9, 900.0), "it slept to its end");
    pfc_proc_result_clear(&res);
}

/* Forks share what they do not write: 100 MiB in four processes are 100 MiB. */
Test(proc, memory_that_is_shared_counts_once)
{
    const char *script = "exec python3 -c '\n"
                         "import os, time\n"
                         "x = b\"1\" * (100 << 20)\n"
                         "kids = [os.fork() for _ in range(2)]\n"
                         "time.sleep(0.5)\n"
                         "if all(kids): [os.wait() for _ in kids]\n"
                         "'";
    pfc_proc_result res =
        run_shell(script, (pfc_proc_opts){ .tree_limit_bytes = (uint64_t)250 << 20 });

    cr_assert(not(res.over_memory));
    cr_assert(eq(int, res.exit_status, 0));
    pfc_proc_result_clear(&res);
}

Test(proc, a_watched_child_is_the_first_to_go_when_memory_ends)
{
    pfc_proc_result res = run_shell("cat /proc/self/oom_score_adj",
                                    (pfc_proc_opts){ .tree_limit_bytes = (uint64_t)1 << 40 });

    cr_assert(eq(str, (char *)pfc_buf_text(&res.out), "800\n"));
    pfc_proc_result_clear(&res);
}
