/* Starts a child: from fork to exec. Between the two only async-signal-safe calls are made, because
 * another thread may hold a lock at the time of fork. */
#include "core/base/process/proc_start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

extern char **environ;

static size_t name_len(const char *assignment)
{
    return strcspn(assignment, "=");
}

static bool overridden(const char *entry, const char *const *changes)
{
    size_t len = name_len(entry);

    for (size_t i = 0; changes != NULL && changes[i] != NULL; i++)
        if (name_len(changes[i]) == len && strncmp(changes[i], entry, len) == 0)
            return true;
    return false;
}

char **pfc_proc_environment(const char *const *changes)
{
    size_t n = 0;
    size_t extra = 0;
    size_t len = 0;
    char **env;

    while (environ[n] != NULL)
        n++;
    while (changes != NULL && changes[extra] != NULL)
        extra++;
    env = pfc_calloc(n + extra + 1, sizeof *env);
    for (size_t i = 0; i < n; i++)
        if (!overridden(environ[i], changes))
            env[len++] = environ[i];
    for (size_t i = 0; i < extra; i++)
        if (strchr(changes[i], '=') != NULL)
            memcpy(&env[len++], &changes[i], sizeof env[0]);
    return env;
}

/* The child says why it could not start through a pipe that a successful exec closes. */
typedef struct start_fault {
    int number; /* errno */
    enum { FAULT_CWD, FAULT_EXEC, FAULT_SETUP } step;
} start_fault;

static void child_fail(int fd, int step)
{
    start_fault fault = { .number = errno };
    ssize_t done;

    memcpy(&fault.step, &step, sizeof fault.step);
    done = write(fd, &fault, sizeof fault);
    (void)done;
    _exit(127);
}

static pfc_code read_start_fault(int fd, const char *program, const char *cwd, pfc_err *err)
{
    start_fault fault;
    ssize_t got;

    do {
        got = read(fd, &fault, sizeof fault);
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof fault)
        return PFC_OK;
    if (fault.step == FAULT_CWD)
        return pfc_err_set(err, PFC_ENOTFOUND, "cannot start %.120s in folder %.200s: %s", program,
                           cwd, strerror(fault.number));
    return pfc_err_set(err, fault.number == ENOENT ? PFC_ENOTFOUND : PFC_EIO,
                       "cannot start %.200s: %s", program, strerror(fault.number));
}

static void limit(int what, uint64_t value)
{
    struct rlimit old;
    struct rlimit wanted = { .rlim_cur = value, .rlim_max = value };

    /* A limit is only lowered: raising it would need a privilege and would undo the caller's
     * limit. */
    if (getrlimit((__rlimit_resource_t)what, &old) == 0 && old.rlim_max < wanted.rlim_max)
        wanted.rlim_cur = wanted.rlim_max = old.rlim_max;
    setrlimit((__rlimit_resource_t)what, &wanted);
}

/* Raising it needs no privilege; async-signal-safe. */
static void volunteer_for_oom(void)
{
    /* The /proc files of a non-dumpable process belong to root, who alone could write them; exec
     * sets the flag again. */
    const int changed = prctl(PR_SET_DUMPABLE, 1);
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    ssize_t done = -1;

    if (fd >= 0) {
        done = write(fd, "800", 3);
        close(fd);
    }
    (void)changed, (void)done; /* without the file the kernel chooses by size */
}

/* Descriptors of libraries that did not set close-on-exec would be open in programs that we do not
 * trust. The pipe for start faults is close-on-exec already. Kernels before 5.11 do not know the
 * flag. */
static void close_others(int keep_fd, int fault_fd)
{
    const int lowest = 3;
    const long most = sysconf(_SC_OPEN_MAX);

    if (syscall(SYS_close_range, lowest, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
        for (int fd = lowest; fd < most; fd++)
            if (fd != fault_fd)
                (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (keep_fd >= lowest)
        (void)fcntl(keep_fd, F_SETFD, 0);
}

/* In the child, between fork and exec: async-signal-safe calls only. */
static void child_start(const pfc_proc_plan *plan, int fault_fd)
{
    sigset_t none;

    if (plan->detach)
        setsid();
    else if (plan->new_group)
        setpgid(0, 0);
    if (!plan->detach) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != plan->parent)
            _exit(127); /* the parent died before prctl asked for the signal */
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if ((plan->in_fd >= 0 && dup2(plan->in_fd, 0) < 0) ||
        (plan->out_fd >= 0 && dup2(plan->out_fd, 1) < 0) ||
        (plan->err_fd >= 0 && dup2(plan->err_fd, 2) < 0))
        child_fail(fault_fd, FAULT_SETUP);
    if (plan->join_fd > 0 && write(plan->join_fd, "0", 1) != 1)
        child_fail(fault_fd, FAULT_SETUP);
    close_others(plan->keep_fd, fault_fd);
    if (plan->cwd != NULL && chdir(plan->cwd) != 0)
        child_fail(fault_fd, FAULT_CWD);
    if (plan->cpu_limit_s > 0)
        limit(RLIMIT_CPU, (uint64_t)plan->cpu_limit_s + 1);
    if (plan->memory_limit_bytes > 0)
        limit(RLIMIT_AS, plan->memory_limit_bytes);
    if (plan->first_to_go)
        volunteer_for_oom();
    environ = plan->env;
    execvp(plan->argv[0], (char *const *)(uintptr_t)plan->argv);
    child_fail(fault_fd, FAULT_EXEC);
}

pfc_code pfc_proc_start(pfc_proc_plan *plan, pid_t *out, pfc_err *err)
{
    int fault[2];
    pfc_code code;
    pid_t pid;

    if (pipe2(fault, O_CLOEXEC) != 0)
        return pfc_err_set(err, PFC_EIO, "cannot start %.200s: %s", plan->argv[0], strerror(errno));
    plan->parent = getpid();
    pid = fork();
    if (pid == 0)
        child_start(plan, fault[1]);
    close(fault[1]);
    if (pid < 0) {
        close(fault[0]);
        return pfc_err_set(err, PFC_EIO, "cannot start %.200s: %s", plan->argv[0], strerror(errno));
    }
    /* Parent and child both set the group, so that it exists whichever runs first. */
    if (plan->new_group && !plan->detach)
        setpgid(pid, pid);
    code = read_start_fault(fault[0], plan->argv[0], plan->cwd, err);
    close(fault[0]);
    if (code != PFC_OK)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    else
        *out = pid;
    return code;
}
