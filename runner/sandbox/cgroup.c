#include "runner/sandbox/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"

/* Then the runner's PID namespace, "-", its process id; a job's group: "-" and a number. Containers
 * may share a group, and a process id says nothing outside its namespace. */
#define JOB_PREFIX    "perfci-job-"
#define RUNNER_PREFIX "perfci-runner-"
#define MAX_FILE      (64u * 1024)
#define EMPTY_S       5  /* that the kernel has to end the processes of a group */
#define UNUSED_S      60 /* a group without process that is older belongs to no runner */

struct pfc_cgroups {
    char *base;
    char *own; /* the group that this process moved into; NULL: it did not move */
    bool memory, pids;
    bool enabled; /* the controllers were enabled by this process */
    unsigned long long pid_namespace;
    unsigned next;
    char description[80];
};

/* ---- files of the hierarchy ---- */

static int put(const char *folder, const char *file, const char *text)
{
    char *path = pfc_fs_join(folder, file);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const ssize_t len = (ssize_t)strlen(text);
    int failed = fd < 0 ? errno : 0;

    if (!failed && write(fd, text, (size_t)len) != len)
        failed = errno ? errno : EIO;
    if (fd >= 0)
        close(fd);
    free(path);
    return failed;
}

/* Returns whether the kernel took it. */
static bool put_number(const char *folder, const char *file, uint64_t value)
{
    char text[32];
    int failed;

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    failed = put(folder, file, text);
    if (failed)
        pfc_log(PFC_WARN, "cgroup_limit_not_set", "group", folder, "file", file, "reason",
                strerror(failed));
    return !failed;
}

/* The caller frees the text; NULL when it cannot be read. */
static char *get(const char *folder, const char *file)
{
    char *path = pfc_fs_join(folder, file);
    char *text = NULL;
    size_t len = 0;

    if (pfc_fs_read(path, MAX_FILE, &text, &len, NULL) != PFC_OK)
        text = NULL;
    free(path);
    return text;
}

static bool has_word(const char *text, const char *word)
{
    const size_t len = strlen(word);

    for (const char *at = text; at && (at = strstr(at, word)) != NULL; at += len)
        if ((at == text || at[-1] == ' ') && strchr(" \n", at[len]))
            return true;
    return false;
}

/* The number behind "name " at the start of a line, or 0. */
static unsigned long long number_of(const char *text, const char *name)
{
    const size_t len = strlen(name);

    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, len) == 0 && line[len] == ' ')
            return strtoull(line + len + 1, NULL, 10);
    return 0;
}

/* ---- ending a group ---- */

static bool is_populated(const char *group)
{
    char *events = get(group, "cgroup.events");
    const bool populated = number_of(events, "populated") != 0;

    free(events);
    return populated;
}

/* cgroup.kill exists since Linux 5.14; before, each process is ended, also those that start
 * meanwhile, because the caller repeats this until the group is empty. */
static void kill_all(const char *group)
{
    char *procs;

    if (put(group, "cgroup.kill", "1") == 0)
        return;
    procs = get(group, "cgroup.procs");
    for (char *line = procs; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strtol(line, NULL, 10) > 1)
            (void)kill((pid_t)strtol(line, NULL, 10), SIGKILL);
    free(procs);
}

static void end_group(const char *group)
{
    const int64_t until = pfc_clock_ns() + EMPTY_S * PFC_NS_PER_S;
    const struct timespec pause = { .tv_nsec = PFC_NS_PER_MS };

    kill_all(group);
    while (is_populated(group) && pfc_clock_ns() < until) {
        (void)nanosleep(&pause, NULL);
        kill_all(group);
    }
    if (rmdir(group) != 0 && errno != ENOENT)
        pfc_log(PFC_WARN, "cgroup_left", "group", group, "reason", strerror(errno));
}

/* The number of this process's PID namespace; 0 when the kernel does not say. */
static unsigned long long pid_namespace(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? (unsigned long long)st.st_ino : 0;
}

/* Whether no process has been in a group for UNUSED_S. One that is in use has none only between its
 * creation and the start of its command. */
static bool is_unused(const char *group)
{
    struct stat st;

    return stat(group, &st) == 0 && time(NULL) - st.st_mtime > UNUSED_S && !is_populated(group);
}

/* A killed runner left a group behind; who it was is in the name. Whether a runner of another PID
 * namespace lives can't be asked, so only a group that is unused is removed for it. */
static void remove_stale(const pfc_cgroups *g)
{
    DIR *folder = opendir(g->base);
    const struct dirent *found;

    while (folder && (found = readdir(folder)) != NULL) {
        unsigned long long space = 0;
        int pid = 0;
        char *group;

        if (sscanf(found->d_name, JOB_PREFIX "%llu-%d", &space, &pid) < 1 &&
            sscanf(found->d_name, RUNNER_PREFIX "%llu-%d", &space, &pid) < 1)
            continue;
        group = pfc_fs_join(g->base, found->d_name);
        if (space == g->pid_namespace) {
            if (pid > 1 && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
                end_group(group);
        } else if (is_unused(group))
            (void)rmdir(group);
        free(group);
    }
    if (folder)
        (void)closedir(folder);
}

/* ---- opening ---- */

/* Where cgroup v2 is mounted; caller frees; NULL: nowhere. Fields of a line of mountinfo: id,
 * parent, device, root, place, options, ..., "-", type. */
static char *find_mount(void)
{
    char *text = NULL, *rest = NULL, *found = NULL;
    size_t len = 0;

    if (pfc_fs_read("/proc/self/mountinfo", 4u * 1024 * 1024, &text, &len, NULL) != PFC_OK)
        return NULL;
    for (char *line = strtok_r(text, "\n", &rest); line && !found;
         line = strtok_r(NULL, "\n", &rest)) {
        char place[PFC_PATH_MAX];

        if (strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %*s %4095s", place) == 1)
            found = pfc_strdup(place);
    }
    free(text);
    return found;
}

static pfc_code find_base(char **out, pfc_err *err)
{
    char *mount = find_mount(), *text = NULL;
    size_t len = 0;
    const char *path;

    if (!mount)
        return pfc_err_set(err, PFC_EUNAVAIL, "cgroup v2 is not mounted");
    if (pfc_fs_read("/proc/self/cgroup", MAX_FILE, &text, &len, NULL) != PFC_OK) {
        free(mount);
        return pfc_err_set(err, PFC_EUNAVAIL, "/proc/self/cgroup cannot be read");
    }
    path = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
    if (path) {
        path += strcspn(path, "/");
        *out = pfc_format("%s%.*s", mount, (int)strcspn(path, "\n"), path);
    }
    free(mount);
    free(text);
    return path ? PFC_OK
                : pfc_err_set(err, PFC_EUNAVAIL, "this process is in no group of cgroup v2");
}

static pfc_code make_group(const char *path, pfc_err *err)
{
    /* A process that had our id left a group of that name behind. */
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        return pfc_err_set(err, PFC_EUNAVAIL, "no control group can be made: %s: %s", path,
                           strerror(errno));
    return PFC_OK;
}

/* Moves this process into a child group: a group cannot enable controllers for its children while
 * it has a process itself. */
static bool move_self(pfc_cgroups *g)
{
    char *own = pfc_format("%s/" RUNNER_PREFIX "%llu-%d", g->base, g->pid_namespace, (int)getpid());

    if (make_group(own, NULL) != PFC_OK || put(own, "cgroup.procs", "0") != 0) {
        (void)rmdir(own);
        free(own);
        return false;
    }
    g->own = own;
    return true;
}

static void move_back(pfc_cgroups *g)
{
    if (!g->own)
        return;
    if (put(g->base, "cgroup.procs", "0") == 0)
        (void)rmdir(g->own);
    free(g->own);
    g->own = NULL;
}

static void enable(pfc_cgroups *g, const char *controllers)
{
    const bool memory = has_word(controllers, "memory"), pids = has_word(controllers, "pids");
    char *now = get(g->base, "cgroup.subtree_control");
    char text[32];
    int failed = 0;

    (void)snprintf(text, sizeof(text), "%s%s%s", memory ? "+memory" : "", memory && pids ? " " : "",
                   pids ? "+pids" : "");
    if ((memory && !has_word(now, "memory")) || (pids && !has_word(now, "pids"))) {
        failed = put(g->base, "cgroup.subtree_control", text);
        if (failed == EBUSY && move_self(g)) {
            failed = put(g->base, "cgroup.subtree_control", text);
            if (failed)
                move_back(g);
        }
        g->enabled = !failed;
    }
    g->memory = memory && !failed;
    g->pids = pids && !failed;
    free(now);
}

pfc_code pfc_cgroups_open(const char *base, pfc_cgroups **out, pfc_err *err)
{
    pfc_cgroups *g = pfc_calloc(1, sizeof(*g));
    char *trial = NULL, *controllers;
    pfc_code code = PFC_OK;

    *out = NULL;
    g->base = base ? pfc_strdup(base) : NULL;
    g->pid_namespace = pid_namespace();
    if (!base)
        code = find_base(&g->base, err);
    if (!code) {
        remove_stale(g);
        trial =
            pfc_format("%s/" JOB_PREFIX "%llu-%d-trial", g->base, g->pid_namespace, (int)getpid());
        code = make_group(trial, err);
    }
    if (code) {
        free(trial);
        free(g->base);
        free(g);
        return code;
    }
    (void)rmdir(trial);
    free(trial);
    controllers = get(g->base, "cgroup.controllers");
    enable(g, controllers);
    free(controllers);
    (void)snprintf(g->description, sizeof(g->description), "cgroup v2: %s%skill",
                   g->memory ? "memory, " : "", g->pids ? "processes, " : "");
    *out = g;
    return PFC_OK;
}

void pfc_cgroups_close(pfc_cgroups *g)
{
    if (!g)
        return;
    if (g->enabled && g->memory)
        (void)put(g->base, "cgroup.subtree_control", "-memory");
    if (g->enabled && g->pids)
        (void)put(g->base, "cgroup.subtree_control", "-pids");
    move_back(g);
    free(g->base);
    free(g);
}

const char *pfc_cgroups_description(const pfc_cgroups *g)
{
    return g->description;
}

/* ---- the group of a command ---- */

pfc_code pfc_cgroup_begin(pfc_cgroups *g, uint64_t memory_bytes, uint64_t processes,
                          pfc_cgroup *out, pfc_err *err)
{
    char *path = pfc_format("%s/" JOB_PREFIX "%llu-%d-%u", g->base, g->pid_namespace, (int)getpid(),
                            g->next++);
    char *procs = pfc_fs_join(path, "cgroup.procs");
    pfc_code code = make_group(path, err);

    *out = (pfc_cgroup){ .procs_fd = -1 };
    if (!code && g->memory && memory_bytes) {
        (void)put_number(path, "memory.max", memory_bytes);
        (void)put(path, "memory.swap.max", "0"); /* absent in a kernel without swap */
        /* the kernel ends the whole group, because a command that lost one process could report a
         * wrong value */
        (void)put(path, "memory.oom.group", "1");
    }
    if (!code && g->pids && processes && put_number(path, "pids.max", processes))
        out->process_limit = processes;
    if (!code)
        out->procs_fd = open(procs, O_WRONLY | O_CLOEXEC);
    if (!code && out->procs_fd < 0)
        code = pfc_err_set(err, PFC_EIO, "control group %s: %s", path, strerror(errno));
    free(procs);
    if (code) {
        (void)rmdir(path);
        free(path);
        return code == PFC_EUNAVAIL ? PFC_EIO : code;
    }
    out->path = path;
    return PFC_OK;
}

/* Does the group's file of events count at least one event of this name? */
static bool has_event(const pfc_cgroup *group, const char *file, const char *name)
{
    char *events = get(group->path, file);
    const bool found = number_of(events, name) > 0;

    free(events);
    return found;
}

void pfc_cgroup_end(pfc_cgroup *group, pfc_proc_result *res)
{
    if (!group->path)
        return;
    (void)close(group->procs_fd);
    if (res) {
        res->over_memory = res->over_memory || has_event(group, "memory.events", "oom_kill");
        if (has_event(group, "pids.events", "max"))
            res->process_limit = group->process_limit;
    }
    end_group(group->path);
    free(group->path);
    *group = (pfc_cgroup){ .procs_fd = -1 };
}
