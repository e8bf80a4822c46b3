/*
 * The identity of a process of the service, whether it still runs, and how it is stopped.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/local/stack.h"
#include "core/base/clock.h"
#include "core/base/fs.h"

enum { STATUS_MAX_BYTES = 64 * 1024, ENDING_MAX_S = 30, POLL_MS = 20 };

/* State letter, the kernel's flags and start time from /proc/PID/stat; false when there is no such
 * process. */
static bool read_stat(pid_t pid, char *state, uint64_t *flags, uint64_t *start_ticks)
{
    char path[64];
    char text[1024];
    const char *p;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    /* The name in parentheses may hold anything, so count from the last one: state is field 3,
     * flags are field 9, start time is field 22. */
    p = strrchr(text, ')');
    if (!p || p[1] != ' ')
        return false;
    *state = p[2];
    p += 2;
    for (int field = 3; field < 22 && p; field++) {
        if (field == 9)
            *flags = strtoull(p, NULL, 10);
        p = strchr(p + 1, ' ');
    }
    if (!p)
        return false;
    *start_ticks = strtoull(p + 1, NULL, 10);
    return true;
}

/* Base name of the program, also when its file was replaced since (" (deleted)"). */
static bool read_exe(pid_t pid, char *out, size_t cap)
{
    char path[64];
    char target[PFC_PATH_MAX];
    char *deleted;
    const char *slash;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%ld/exe", (long)pid);
    n = readlink(path, target, sizeof(target) - 1);
    if (n <= 0)
        return false;
    target[n] = '\0';
    deleted = strstr(target, " (deleted)");
    if (deleted)
        *deleted = '\0';
    slash = strrchr(target, '/');
    snprintf(out, cap, "%.63s", slash ? slash + 1 : target);
    return true;
}

static bool is_setpriv(const char *exe)
{
    const char *name = strrchr(exe, '/');

    return strcmp(name ? name + 1 : exe, "setpriv") == 0;
}

static bool pause_a_little(void)
{
    pfc_clock_sleep_ns(PFC_NS_PER_MS);
    return true;
}

pfc_code pfc_member_set(pfc_member *member, pid_t pid, pfc_err *err)
{
    char state = 0;
    uint64_t ticks = 0, flags = 0;
    char exe[sizeof(member->exe)];
    const int64_t end = pfc_clock_ns() + ENDING_MAX_S * PFC_NS_PER_S;
    bool there;

    /* setpriv becomes the program: its own name would make the member another one's. */
    do
        there = read_stat(pid, &state, &flags, &ticks) && state != 'Z' &&
                read_exe(pid, exe, sizeof(exe));
    while (there && is_setpriv(exe) && pfc_clock_ns() < end && pause_a_little());
    if (!there)
        return pfc_err_set(err, PFC_EUNAVAIL, "%s ended as soon as it was started", member->name);
    member->pid = pid;
    member->start_ticks = ticks;
    memcpy(member->exe, exe, sizeof(exe));
    return PFC_OK;
}

/* Returns true if SIGKILL was sent. On a busy machine or in a system call the process may still
 * exist for a while. */
static bool is_doomed(pid_t pid)
{
    static const char *const labels[] = { "\nSigPnd:", "\nShdPnd:" };
    char *path = pfc_format("/proc/%ld/status", (long)pid), *text = NULL;
    size_t len = 0;
    bool doomed = false;

    if (pfc_fs_read(path, STATUS_MAX_BYTES, &text, &len, NULL) != PFC_OK)
        text = NULL;
    for (size_t i = 0; text && i < PFC_ARRAY_LEN(labels); i++) {
        const char *at = strstr(text, labels[i]);

        doomed = doomed || (at && strtoull(at + strlen(labels[i]), NULL, 16) >> (SIGKILL - 1) & 1);
    }
    free(text);
    free(path);
    return doomed;
}

/* The process received the signal but has not ended yet. */
static bool is_exiting(uint64_t flags)
{
    return flags & 4; /* PF_EXITING of linux/sched.h, as /proc/PID/stat shows it */
}

static bool is_there(const pfc_member *member, bool *ending)
{
    char state = 0;
    uint64_t ticks = 0, flags = 0;
    char exe[sizeof(member->exe)];

    /* A child of ours that ended must not linger as a zombie; for others this does nothing. */
    waitpid(member->pid, NULL, WNOHANG);
    if (!read_stat(member->pid, &state, &flags, &ticks) || state == 'Z' || state == 'X' ||
        ticks != member->start_ticks)
        return false;
    *ending = is_exiting(flags) || is_doomed(member->pid);
    return *ending || (read_exe(member->pid, exe, sizeof(exe)) && strcmp(exe, member->exe) == 0);
}

bool pfc_member_alive(const pfc_member *member)
{
    const int64_t end = pfc_clock_ns() + ENDING_MAX_S * PFC_NS_PER_S;
    bool ending = false;

    while (member->pid > 0 && is_there(member, &ending)) {
        if (!ending || pfc_clock_ns() >= end)
            return true;
        pfc_clock_sleep_ns(POLL_MS * PFC_NS_PER_MS);
    }
    return false;
}

static bool wait_gone(const pfc_member *member, double timeout_s)
{
    const int64_t end = pfc_clock_ns() + (int64_t)(timeout_s * (double)PFC_NS_PER_S);

    while (pfc_member_alive(member)) {
        if (pfc_clock_ns() >= end)
            return false;
        pfc_clock_sleep_ns(POLL_MS * PFC_NS_PER_MS);
    }
    return true;
}

bool pfc_member_stop(pfc_member *member, int sig, double grace_s)
{
    bool killed = false;

    if (pfc_member_alive(member)) {
        kill(member->pid, sig);
        if (!wait_gone(member, grace_s)) {
            /* Each member leads a group of its own. */
            killed = true;
            kill(-member->pid, SIGKILL);
            kill(member->pid, SIGKILL);
            wait_gone(member, grace_s);
        }
    }
    member->pid = 0;
    return killed;
}
