/* perfci-sandbox: the requests that it takes, its mounts, and its reports of a command's end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "runner/sandbox/launch.h"
#include "runner/workspace/workspace_priv.h"

#include "tests/check/check.h"
#include "tests/runner/launcher.h"

static char *dir, *tree;
static pfc_launch_request request;
static pfc_test_launcher launcher;
static pfc_sandbox *sandbox;

static void open_world(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_temp_dir("perfci-launcher", &dir, &err), PFC_OK), "%s", err.msg);
    tree = pfc_fs_join(dir, "cache-tree");
    cr_assert(eq(int, pfc_fs_mkdirs(tree, 0755, &err), PFC_OK));
}

static void close_world(void)
{
    pfc_sandbox_close(sandbox);
    pfc_test_launcher_stop(&launcher);
    cr_expect(eq(int, pfc_fs_remove_tree(dir, NULL), PFC_OK));
    free(dir);
    free(tree);
}

/* Words are divided by '|' here. */
static pfc_code parse(const char *words, pfc_err *err)
{
    const size_t len = strlen(words) + 1;

    *err = (pfc_err){ 0 };
    memcpy(request.text, words, len);
    for (char *at = request.text; (at = strchr(at, '|')) != NULL;)
        *at++ = '\0';
    return pfc_launch_parse(&request, len, err);
}

static pfc_code allowed(const char *how, const char *path, pfc_err *err)
{
    const pfc_launch_rules rules = { .work = dir };
    char *words = pfc_format("%s|%s|--cwd|/tmp|--|true", how, path);

    cr_assert(eq(int, parse(words, err), PFC_OK), "%s", err->msg);
    free(words);
    return pfc_launch_allowed(&rules, &request, err);
}

TestSuite(launcher, .init = open_world, .fini = close_world, .timeout = 300);

Test(launcher, a_request_is_read)
{
    pfc_err err;

    cr_assert(eq(int,
                 parse("--network|--memory|64M|--rw|/a|--ro|/b|--env|A=1|--env|B=|--cwd|/a|--|sh|-c"
                       "|exit 3",
                       &err),
                 PFC_OK),
              "%s", err.msg);
    cr_expect(request.command.network);
    cr_expect(eq(u64, request.command.memory_bytes, (uint64_t)64 << 20));
    cr_expect(eq(sz, request.command.mounts_len, 2));
    cr_expect(eq(str, (char *)(uintptr_t)request.command.mounts[0].path, "/a"));
    cr_expect(request.command.mounts[0].writable);
    cr_expect(eq(str, (char *)(uintptr_t)request.command.mounts[1].path, "/b"));
    cr_expect(not(request.command.mounts[1].writable));
    cr_expect(eq(str, (char *)(uintptr_t)request.env[0], "A=1"));
    cr_expect(eq(str, (char *)(uintptr_t)request.env[1], "B="));
    cr_expect(eq(ptr, (void *)(uintptr_t)request.env[2], NULL));
    cr_expect(eq(str, (char *)(uintptr_t)request.command.cwd, "/a"));
    cr_expect(eq(str, (char *)(uintptr_t)request.argv[2], "exit 3"));
    cr_expect(eq(ptr, (void *)(uintptr_t)request.argv[3], NULL));
}

Test(launcher, a_malformed_request_is_refused)
{
    static const char *const wrong[] = {
        "",
        "--cwd|/tmp",
        "--cwd|/tmp|--",
        "--|true",
        "--cwd",
        "--rw",
        "--rw|relative|--cwd|/tmp|--|true",
        "--ro||--cwd|/tmp|--|true",
        "--env|NAME|--cwd|/tmp|--|true",
        "--env|=x|--cwd|/tmp|--|true",
        "--memory|much|--cwd|/tmp|--|true",
        "--seccomp|9|--cwd|/tmp|--|true",
        "--cwd|tmp|--|true",
        "--rw|/1|--rw|/2|--rw|/3|--rw|/4|--rw|/5|--rw|/6|--rw|/7|--rw|/8|--rw|/9|--cwd|/|--|true",
    };
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(wrong); i++)
        cr_expect(eq(int, parse(wrong[i], &err), PFC_EINVAL), "%s: %s", wrong[i], err.msg);
    memcpy(request.text, "--cwd", 5); /* no NUL at its end */
    cr_expect(eq(int, pfc_launch_parse(&request, 5, &err), PFC_EINVAL));
    cr_expect(eq(int, pfc_launch_parse(&request, 0, &err), PFC_EINVAL));
    cr_expect(eq(int, pfc_launch_parse(&request, sizeof(request.text) + 1, &err), PFC_EINVAL));
}

Test(launcher, mounts_are_folders_that_the_runner_gives_to_commands)
{
    char *temp = pfc_fs_join(dir, "tmp"), *spool = pfc_fs_join(dir, "spool");
    char *up = pfc_format("%s/../spool", tree), *link = pfc_fs_join(tree, "link");
    char *other = pfc_fs_join(dir, "cache-other"), *across = pfc_fs_join(tree, "across");
    char *real = pfc_format("%s-real", dir), *real_tree = pfc_format("%s-real/cache-tree", dir);
    char *beside = pfc_format("%s-other/cache-x", dir), *absent = pfc_fs_join(tree, "absent");
    pfc_err err;

    cr_assert(eq(int, pfc_fs_mkdirs(temp, 0700, &err), PFC_OK));
    cr_assert(eq(int, pfc_fs_mkdirs(spool, 0700, &err), PFC_OK));
    cr_assert(eq(int, symlink(spool, link), 0));
    cr_assert(eq(int, pfc_fs_mkdirs(other, 0700, &err), PFC_OK));
    cr_assert(eq(int, symlink(other, across), 0));
    cr_expect(eq(int, allowed("--rw", tree, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(int, allowed("--ro", tree, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(int, allowed("--rw", temp, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(int, allowed("--ro", "/usr/bin", &err), PFC_OK), "%s", err.msg);
    for (int writable = 0; writable < 2; writable++) {
        const char *const how = writable ? "--rw" : "--ro";

        cr_expect(eq(int, allowed(how, dir, &err), PFC_EDENIED));
        cr_expect(eq(int, allowed(how, spool, &err), PFC_EDENIED));
        cr_expect(eq(int, allowed(how, up, &err), PFC_EDENIED));
        cr_expect(eq(int, allowed(how, link, &err), PFC_EDENIED));
        cr_expect(eq(int, allowed(how, across, &err), PFC_EDENIED));
        cr_expect(eq(int, allowed(how, beside, &err), PFC_EDENIED));
        cr_expect(eq(int, allowed(how, absent, &err), PFC_EDENIED));
        cr_expect(eq(int, allowed(how, "/etc", &err), PFC_EDENIED));
        cr_expect(eq(int, allowed(how, "/usr/../etc", &err), PFC_EDENIED));
    }
    cr_expect(eq(int, allowed("--rw", "/usr/bin", &err), PFC_EDENIED));
    /* The work folder by a link, as systemd makes it: either name will do. */
    cr_assert(eq(int, rename(dir, real), 0));
    cr_assert(eq(int, symlink(real, dir), 0));
    cr_expect(eq(int, allowed("--rw", tree, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(int, allowed("--rw", real_tree, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(int, allowed("--rw", spool, &err), PFC_EDENIED));
    cr_expect(eq(int, allowed("--rw", link, &err), PFC_EDENIED));
    cr_assert(eq(int, unlink(dir), 0));
    cr_assert(eq(int, rename(real, dir), 0));
    free(other);
    free(across);
    free(real);
    free(real_tree);
    free(temp);
    free(spool);
    free(up);
    free(link);
    free(beside);
    free(absent);
}

Test(launcher, a_network_is_given_where_the_server_has_one)
{
    pfc_err err;

    cr_assert(eq(int, parse("--network|--cwd|/tmp|--|true", &err), PFC_OK));
    cr_expect(eq(int, pfc_launch_allowed(&(pfc_launch_rules){ .work = dir }, &request, &err),
                 PFC_EDENIED));
    cr_expect(
        eq(int,
           pfc_launch_allowed(&(pfc_launch_rules){ .work = dir, .network = true }, &request, &err),
           PFC_OK));
}

static void open_sandbox(bool by_launcher)
{
    pfc_sandbox_opts opts = { .dir = dir };
    pfc_err err = { 0 };

    if (by_launcher) {
        launcher = pfc_test_launcher_start(dir);
        opts.socket = launcher.socket;
        opts.starter = launcher.program;
    }
    if (pfc_sandbox_open(&opts, &sandbox, &err) == PFC_EUNAVAIL)
        cr_skip_test("this machine cannot isolate jobs: %s", err.msg);
    cr_assert(ne(ptr, sandbox, NULL), "%s", err.msg);
    cr_assert(eq(int, pfc_sandbox_own(sandbox, tree, &err), PFC_OK), "%s", err.msg);
}

static pfc_command command(const char *text)
{
    return (pfc_command){ .text = text, .dir = tree, .sandbox = sandbox, .timeout_s = 60 };
}

/* The time of the command, not of bubblewrap, and not of the program that waits for it. */
static void burn_in(bool by_launcher)
{
    pfc_command burn;
    pfc_proc_result res;
    pfc_err err = { 0 };

    open_sandbox(by_launcher);
    burn = command("python3 -c 'x = bytearray(64 << 20)\ns = 0\nfor i in range(3000000): s += i'; "
                   "exit 7");
    cr_assert(eq(int, pfc_command_run(&burn, &res, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(int, res.exit_status, 7), "%s", pfc_buf_text(&res.err));
    cr_expect(gt(dbl, res.cpu_seconds, 0.02));
    cr_expect(gt(u64, res.max_rss_bytes, (uint64_t)64 << 20));
    pfc_proc_result_clear(&res);
}

Test(launcher, what_a_command_used_is_reported)
{
    burn_in(true);
}

Test(launcher, what_a_command_used_is_known_without_a_launcher)
{
    burn_in(false);
}

static bool always(void *arg)
{
    (void)arg;
    return pfc_fs_exists(arg);
}

/* The runner gives up: when its call returns, no process of the command is left. */
Test(launcher, a_stopped_command_has_ended_when_the_call_returns)
{
    char *begun = pfc_fs_join(tree, "begun"), *lock = pfc_fs_join(tree, "lock");
    pfc_command endless, take;
    pfc_proc_result res;
    pfc_err err = { 0 };

    open_sandbox(true);
    endless = command("exec 9> lock; flock 9; echo x > begun; while :; do :; done");
    endless.cancelled = always;
    endless.cancelled_arg = begun;
    cr_assert(eq(int, pfc_command_run(&endless, &res, &err), PFC_OK), "%s", err.msg);
    cr_expect(res.was_cancelled);
    pfc_proc_result_clear(&res);
    take = command("exec 9> lock; flock --nonblock 9");
    cr_assert(eq(int, pfc_command_run(&take, &res, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(int, res.exit_status, 0), "a process of the stopped command holds its lock");
    pfc_proc_result_clear(&res);
    free(begun);
    free(lock);
}

Test(launcher, a_command_that_was_not_started_is_an_error_with_the_reason)
{
    pfc_command outside;
    pfc_proc_result res;
    pfc_err err = { 0 };

    open_sandbox(true);
    outside = command("true");
    outside.dir = "/etc";
    cr_assert(eq(int, pfc_command_run(&outside, &res, &err), PFC_EDENIED));
    cr_expect(ne(ptr, strstr(err.msg, "mounts no /etc"), NULL), "%s", err.msg);
    outside = command("true");
    cr_assert(eq(int, kill(launcher.pid, SIGKILL), 0));
    pfc_test_launcher_stop(&launcher);
    cr_assert(eq(int, pfc_command_run(&outside, &res, &err), PFC_EUNAVAIL), "%s", err.msg);
}

Test(launcher, without_a_server_there_is_no_sandbox)
{
    char *program = pfc_fs_join(PFC_TEST_BIN, "perfci-sandbox");
    char *nowhere = pfc_fs_join(dir, "nowhere");
    const pfc_sandbox_opts opts = { .dir = dir, .socket = nowhere, .starter = program };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_sandbox_open(&opts, &sandbox, &err), PFC_EUNAVAIL));
    cr_expect(ne(ptr, strstr(err.msg, nowhere), NULL), "%s", err.msg);
    free(program);
    free(nowhere);
}
