/* Control groups: a folder stands for the hierarchy and shows each file; then the kernel's own. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/parse.h"
#include "runner/workspace/workspace_priv.h"

#include "tests/check/check.h"

static char *base;

static void setup(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_temp_dir("perfci-cgroup", &base, &err), PFC_OK), "%s", err.msg);
}

static void teardown(void)
{
    cr_expect(eq(int, pfc_fs_remove_tree(base, NULL), PFC_OK));
    free(base);
}

TestSuite(cgroup, .init = setup, .fini = teardown, .timeout = 600);

static void put(const char *folder, const char *name, const char *text)
{
    char *path = pfc_fs_join(folder, name);

    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0644, NULL), PFC_OK));
    free(path);
}

static void want(const char *folder, const char *name, const char *expected)
{
    char *path = pfc_fs_join(folder, name), *text = NULL;
    size_t len = 0;

    cr_assert(eq(int, pfc_fs_read(path, 4096, &text, &len, NULL), PFC_OK), "%s", path);
    cr_expect(eq(str, text, (char *)expected), "%s", name);
    free(text);
    free(path);
}

static pfc_cgroups *open_groups(const char *controllers, const char *enabled)
{
    pfc_cgroups *groups = NULL;
    pfc_err err = { 0 };

    put(base, "cgroup.controllers", controllers);
    put(base, "cgroup.subtree_control", enabled);
    cr_assert(eq(int, pfc_cgroups_open(base, &groups, &err), PFC_OK), "%s", err.msg);
    return groups;
}

static unsigned long long pid_namespace(void)
{
    struct stat st;

    cr_assert(eq(int, stat("/proc/self/ns/pid", &st), 0));
    return (unsigned long long)st.st_ino;
}

/* The files that the kernel would make in the first group of this process. */
static char *make_first(void)
{
    static const char *const files[][2] = { { "cgroup.procs", "" },
                                            { "cgroup.kill", "" },
                                            { "cgroup.events", "populated 0\nfrozen 0\n" },
                                            { "memory.max", "max\n" },
                                            { "memory.swap.max", "max\n" },
                                            { "memory.oom.group", "0\n" },
                                            { "memory.events", "low 0\noom 1\noom_kill 1\n" },
                                            { "pids.max", "max\n" },
                                            { "pids.events", "max 3\n" } };
    char *group = pfc_format("%s/perfci-job-%llu-%d-0", base, pid_namespace(), (int)getpid());

    cr_assert(eq(int, pfc_fs_mkdirs(group, 0755, NULL), PFC_OK));
    for (size_t i = 0; i < PFC_ARRAY_LEN(files); i++)
        put(group, files[i][0], files[i][1]);
    return group;
}

Test(cgroup, memory_and_processes_are_limited_where_the_kernel_offers_it)
{
    pfc_cgroups *groups = open_groups("cpuset cpu io memory pids\n", "");
    char *first = make_first();
    pfc_proc_result res = { 0 };
    pfc_cgroup group;
    pfc_err err = { 0 };

    cr_expect(
        eq(str, (char *)pfc_cgroups_description(groups), "cgroup v2: memory, processes, kill"));
    want(base, "cgroup.subtree_control", "+memory +pids");
    cr_assert(eq(int, pfc_cgroup_begin(groups, 1073741824, 4096, &group, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(str, group.path, first));
    /* Over what was there: "max\n" has as many bytes as are overwritten, or fewer. */
    want(first, "memory.max", "1073741824");
    want(first, "pids.max", "4096");
    want(first, "memory.swap.max", "0ax\n");
    want(first, "memory.oom.group", "1\n");
    cr_assert(eq(int, (int)write(group.procs_fd, "0", 1), 1));
    want(first, "cgroup.procs", "0");
    pfc_cgroup_end(&group, &res);
    cr_expect(res.over_memory); /* memory.events says so */
    cr_expect(eq(u64, res.process_limit, 4096));
    want(first, "cgroup.kill", "1");
    pfc_cgroups_close(groups);
    free(first);
}

Test(cgroup, what_is_missing_is_left_out)
{
    static const struct {
        const char *controllers, *enabled, *written, *description;
    } rows[] = {
        { "", "", "", "cgroup v2: kill" },
        { "cpu io\n", "cpu", "cpu", "cgroup v2: kill" },
        { "pids\n", "", "+pids", "cgroup v2: processes, kill" },
        { "memory\n", "memory\n", "memory\n", "cgroup v2: memory, kill" },
        { "memoryx xpids\n", "", "", "cgroup v2: kill" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_cgroups *groups = open_groups(rows[i].controllers, rows[i].enabled);

        cr_expect(eq(str, (char *)pfc_cgroups_description(groups), (char *)rows[i].description));
        want(base, "cgroup.subtree_control", rows[i].written);
        pfc_cgroups_close(groups);
    }
}

/* The controller is missing, so the limit is not held, whatever the files say. */
Test(cgroup, a_limit_that_is_not_held_is_not_reported)
{
    pfc_cgroups *groups = open_groups("memory\n", "memory\n");
    char *first = make_first();
    pfc_proc_result res = { 0 };
    pfc_cgroup group;
    pfc_err err = { 0 };

    put(first, "memory.events", "low 0\noom 1\noom_kill 0\n");
    cr_assert(eq(int, pfc_cgroup_begin(groups, 0, 4096, &group, &err), PFC_OK), "%s", err.msg);
    pfc_cgroup_end(&group, &res);
    cr_expect(not(res.over_memory));
    cr_expect(eq(u64, res.process_limit, 0));
    pfc_cgroups_close(groups);
    free(first);
}

Test(cgroup, without_a_hierarchy_there_is_one_sentence)
{
    char *missing = pfc_fs_join(base, "nowhere");
    pfc_cgroups *groups = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_cgroups_open(missing, &groups, &err), PFC_EUNAVAIL));
    cr_assert(eq(ptr, groups, NULL));
    cr_assert(ne(ptr, strstr(err.msg, "no control group can be made: "), NULL), "%s", err.msg);
    cr_assert(ne(ptr, strstr(err.msg, "No such file or directory"), NULL), "%s", err.msg);
    free(missing);
}

/* A process id that is free again. */
static int ended_process(void)
{
    const pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    cr_assert(eq(int, waitpid(pid, NULL, 0), pid));
    return (int)pid;
}

Test(cgroup, groups_of_a_killed_runner_are_removed)
{
    const int dead = ended_process();
    const unsigned long long space = pid_namespace();
    char *stale = pfc_format("%s/perfci-job-%llu-%d-3", base, space, dead);
    char *moved = pfc_format("%s/perfci-runner-%llu-%d", base, space, dead);
    char *alive = pfc_format("%s/perfci-job-%llu-%d-3", base, space, (int)getppid());

    cr_assert(eq(int, mkdir(stale, 0755) | mkdir(moved, 0755) | mkdir(alive, 0755), 0));
    pfc_cgroups_close(open_groups("", ""));
    cr_expect(not(pfc_fs_exists(stale)));
    cr_expect(not(pfc_fs_exists(moved)));
    cr_expect(pfc_fs_exists(alive));
    free(stale);
    free(moved);
    free(alive);
}

/* A group of another PID namespace, last changed some seconds ago. */
static char *make_foreign(int number, const char *events, time_t age_s)
{
    char *group =
        pfc_format("%s/perfci-job-%llu-%d-%d", base, pid_namespace() + 1, ended_process(), number);
    struct timespec times[2] = { { .tv_sec = time(NULL) - age_s }, { 0 } };

    times[1] = times[0];
    cr_assert(eq(int, mkdir(group, 0755), 0));
    if (events)
        put(group, "cgroup.events", events);
    cr_assert(eq(int, utimensat(AT_FDCWD, group, times, 0), 0));
    return group;
}

/* A process id says nothing there: that its runner has ended can't be concluded from it. */
Test(cgroup, groups_of_another_pid_namespace_are_left_while_they_may_be_in_use)
{
    char *used = make_foreign(0, "populated 1\nfrozen 0\n", 3600);
    char *fresh = make_foreign(1, NULL, 30);
    char *unused = make_foreign(2, NULL, 120);

    pfc_cgroups_close(open_groups("", ""));
    cr_expect(pfc_fs_exists(used));
    cr_expect(pfc_fs_exists(fresh));
    cr_expect(not(pfc_fs_exists(unused)));
    free(used);
    free(fresh);
    free(unused);
}

/* ---- the kernel's own ---- */

static pfc_cgroups *open_real(void)
{
    pfc_cgroups *groups = NULL;
    pfc_err err = { 0 };

    if (pfc_cgroups_open(NULL, &groups, &err) == PFC_EUNAVAIL)
        cr_skip_test("this machine offers no control group: %s", err.msg);
    cr_assert(ne(ptr, groups, NULL), "%s", err.msg);
    return groups;
}

static void run(pfc_cgroups *groups, const char *script, pfc_proc_result *res)
{
    const pfc_command command = {
        .text = script, .dir = base, .cgroups = groups, .timeout_s = 60, .max_output_bytes = 4096
    };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_command_run(&command, res, &err), PFC_OK), "%s", err.msg);
}

/* Each process that can be made stays until the group ends. Without the limit, the loop would end
 * with "all". */
Test(cgroup, a_fork_bomb_ends_at_the_limit_of_its_group_and_the_reason_says_so)
{
    pfc_cgroups *groups = open_real();
    pfc_proc_result res;
    char how[200];

    if (!strstr(pfc_cgroups_description(groups), "processes")) {
        pfc_cgroups_close(groups);
        cr_skip_test("cgroup v2 has no controller \"pids\" for this process");
    }
    run(groups,
        "mkfifo wait; i=0; while [ $i -lt 5000 ]; do (read line < wait) & i=$((i + 1)); done; "
        "echo all",
        &res);
    pfc_proc_describe(&res, how, sizeof(how));
    cr_expect(eq(str, (char *)pfc_buf_text(&res.out), ""));
    cr_expect(ne(int, res.exit_status, 0));
    cr_expect(ne(ptr, strstr(how, "; it reached its limit of 4096 processes and threads"), NULL),
              "%s", how);
    pfc_proc_result_clear(&res);
    run(groups, "echo alone", &res); /* the bomb's processes no longer count */
    cr_expect(eq(str, (char *)pfc_buf_text(&res.out), "alone\n"));
    cr_expect(eq(u64, res.process_limit, 0));
    pfc_proc_result_clear(&res);
    pfc_cgroups_close(groups);
}

/* A process that has ended is a zombie (Z) until its parent asks, here the machine's first process.
 */
static bool has_ended(pid_t pid)
{
    char *path = pfc_format("/proc/%d/stat", (int)pid), *text = NULL;
    const char *state;
    size_t len = 0;
    bool ended = true;

    if (pfc_fs_read(path, 4096, &text, &len, NULL) == PFC_OK) {
        state = strrchr(text, ')');
        ended = state && (state[2] == 'Z' || state[2] == 'X');
    }
    free(text);
    free(path);
    return ended;
}

/* Its output is not ours: an open pipe would make the run wait for it. */
Test(cgroup, a_process_that_left_its_session_ends_with_its_command)
{
    pfc_cgroups *groups = open_real();
    pfc_proc_result res;
    int64_t pid = 0;

    run(groups,
        "setsid sh -c 'echo $$ > pid; exec sleep 1000' < /dev/null > /dev/null 2>&1 & "
        "while [ ! -s pid ]; do sleep 0.01; done; cat pid",
        &res);
    cr_assert(eq(int, res.exit_status, 0), "%s", pfc_buf_text(&res.err));
    pfc_buf_text(&res.out);
    res.out.data[strcspn(res.out.data, "\n")] = '\0';
    cr_assert(eq(int, pfc_parse_i64(res.out.data, 2, INT32_MAX, "pid", &pid, NULL), PFC_OK));
    cr_assert(has_ended((pid_t)pid));
    pfc_proc_result_clear(&res);
    pfc_cgroups_close(groups);
}

Test(cgroup, a_command_is_in_a_group_of_its_own_and_the_group_goes_with_it)
{
    pfc_cgroups *groups = open_real();
    pfc_proc_result res;
    char *name = pfc_format("perfci-job-%llu-%d-1", pid_namespace(), (int)getpid());

    for (int i = 0; i < 2; i++) {
        run(groups, "cat /proc/self/cgroup", &res);
        if (i == 1)
            cr_expect(ne(ptr, strstr(pfc_buf_text(&res.out), name), NULL), "%s",
                      pfc_buf_text(&res.out));
        pfc_proc_result_clear(&res);
    }
    run(groups,
        "find /sys/fs/cgroup -name 'perfci-job-*' 2> /dev/null | "
        "grep -c -- \"-$PPID-[01]$\"",
        &res);
    cr_expect(eq(str, (char *)pfc_buf_text(&res.out), "0\n"));
    pfc_proc_result_clear(&res);
    free(name);
    pfc_cgroups_close(groups);
}
