/* bubblewrap's command line, built for each command; namespaces and mounts are bubblewrap's work.
 */
#define _XOPEN_SOURCE 700 /* nftw */
#include "runner/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "runner/sandbox/sandbox_priv.h"
#include "runner/sandbox/seccomp.h"

#define PROBE_TIMEOUT_S 20.0
#define REAP_S          2  /* that the kernel has to end the processes of a namespace */
#define OPEN_FOLDERS    16 /* of nftw at a time */

extern char **environ;

/* ---- arguments ---- */

void pfc_words_add_owned(pfc_words *a, char *text)
{
    if (a->len + 1 >= PFC_WORDS_MAX) {
        a->full = true;
        free(text);
        return;
    }
    a->items[a->len++] = text;
}

void pfc_words_add(pfc_words *a, const char *text)
{
    pfc_words_add_owned(a, pfc_strdup(text));
}

void pfc_words_add2(pfc_words *a, const char *flag, const char *value)
{
    pfc_words_add(a, flag);
    pfc_words_add(a, value);
}

static void add3(pfc_words *a, const char *flag, const char *from, const char *to)
{
    pfc_words_add2(a, flag, from);
    pfc_words_add(a, to);
}

/* bubblewrap makes the folders above a mount for root alone; the job's uid must get through them.
 */
static void add_parents(pfc_words *a, const char *path)
{
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        pfc_words_add2(a, "--perms", "0755");
        pfc_words_add(a, "--dir");
        pfc_words_add_owned(a, pfc_strndup(path, (size_t)(slash - path)));
    }
}

static void free_args(char **items)
{
    for (size_t i = 0; items && items[i]; i++)
        free(items[i]);
    free(items);
}

/* ---- what every command sees ---- */

static void add_namespaces(const pfc_sandbox *s, bool network, pfc_words *a)
{
    static const char *const each[] = { "--unshare-pid", "--unshare-ipc", "--die-with-parent",
                                        "--new-session" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(each); i++)
        pfc_words_add(a, each[i]);
    if (!network)
        pfc_words_add(a, "--unshare-net");
    if (!s->few_namespaces) {
        pfc_words_add(a, "--unshare-uts");
        pfc_words_add(a, "--unshare-cgroup-try");
        pfc_words_add2(a, "--hostname", "perfci-job");
    }
    pfc_words_add2(a, "--cap-drop", "ALL");
    if (s->root) { /* what setpriv needs to drop the uid and these themselves */
        pfc_words_add2(a, "--cap-add", "CAP_SETUID");
        pfc_words_add2(a, "--cap-add", "CAP_SETGID");
        pfc_words_add2(a, "--cap-add", "CAP_SETPCAP");
    } else {
        pfc_words_add(a, "--unshare-user");
        pfc_words_add(a, "--disable-userns");
    }
}

static void add_system(const pfc_sandbox *s, pfc_words *a)
{
    /* Folders that are symbolic links into /usr on a merged system, else folders of their own. */
    static const char *const merged[] = { "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32" };
    /* These hold no secret; /etc/shadow, /etc/ssh and /etc/perfci must not be mounted. */
    static const char *const etc[] = {
        "/etc/alternatives",    "/etc/ld.so.cache", "/etc/ld.so.conf",    "/etc/ld.so.conf.d",
        "/etc/ssl/certs",       "/etc/localtime",   "/etc/python3",       "/etc/python3.11",
        "/etc/java-17-openjdk", "/etc/OpenCL",      "/etc/vulkan",        "/etc/magic",
        "/etc/protocols",       "/etc/services",    "/etc/nsswitch.conf", "/etc/debian_version",
        "/etc/os-release",      "/etc/default/nss"
    };
    static const char *const devices[] = { "/dev/dri",        "/dev/kfd",
                                           "/dev/nvidia0",    "/dev/nvidiactl",
                                           "/dev/nvidia-uvm", "/dev/nvidia-modeset",
                                           "/dev/nvidia1",    "/dev/nvidia2",
                                           "/dev/nvidia3",    "/dev/nvidia-uvm-tools" };

    add3(a, "--ro-bind", "/usr", "/usr");
    for (size_t i = 0; i < PFC_ARRAY_LEN(merged); i++) {
        char target[PFC_PATH_MAX];
        const ssize_t len = readlink(merged[i], target, sizeof(target) - 1);

        if (len > 0) {
            target[len] = '\0';
            add3(a, "--symlink", target, merged[i]);
        } else {
            add3(a, "--ro-bind-try", merged[i], merged[i]);
        }
    }
    add_parents(a, "/etc/");
    for (size_t i = 0; i < PFC_ARRAY_LEN(etc); i++)
        add3(a, "--ro-bind-try", etc[i], etc[i]);
    for (const char *const *name = (const char *const[]){ "passwd", "group", "hosts", NULL }; *name;
         name++) {
        char *from = pfc_fs_join(s->etc, *name);

        pfc_words_add2(a, "--ro-bind", from);
        pfc_words_add_owned(a, pfc_fs_join("/etc", *name));
        free(from);
    }
    add3(a, "--ro-bind-try", "/sys", "/sys"); /* the CPU's description and hwloc's */
    pfc_words_add2(a, "--proc", "/proc");
    pfc_words_add2(a, "--dev", "/dev");
    for (size_t i = 0; i < PFC_ARRAY_LEN(devices); i++)
        add3(a, "--dev-bind-try", devices[i], devices[i]);
    pfc_words_add2(a, "--perms", "1777");
    pfc_words_add2(a, "--tmpfs", "/dev/shm");
    for (size_t i = 0; s->read_only[i]; i++) {
        add_parents(a, s->read_only[i]);
        add3(a, "--ro-bind-try", s->read_only[i], s->read_only[i]);
    }
    pfc_words_add(a, "--perms");
    pfc_words_add2(a, "1777", "--size");
    pfc_words_add_owned(a, pfc_format("%llu", (unsigned long long)PFC_SANDBOX_TMP_BYTES));
    pfc_words_add2(a, "--tmpfs", "/tmp");
}

/* ---- environment ---- */

bool pfc_sandbox_passes(const pfc_sandbox *s, const char *name)
{
    static const char *const names[] = { "PATH", "LANG", "LANGUAGE", "TZ", "PERFCI_MEMORY_LIMIT" };

    if (strncmp(name, "LC_", 3) == 0)
        return true;
    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (size_t i = 0; s->variables[i]; i++)
        if (strcmp(name, s->variables[i]) == 0)
            return true;
    return false;
}

static void set_variable(pfc_words *a, const char *assignment)
{
    const size_t len = strcspn(assignment, "=");

    if (assignment[len] != '=') /* a bare name removes: nothing is there */
        return;
    pfc_words_add(a, "--setenv");
    pfc_words_add_owned(a, pfc_strndup(assignment, len));
    pfc_words_add(a, assignment + len + 1);
}

static void add_environment(const pfc_sandbox *s, const char *const *more, pfc_words *a)
{
    pfc_words_add(a, "--clearenv");
    for (size_t i = 0; environ[i]; i++) {
        char *name = pfc_strndup(environ[i], strcspn(environ[i], "="));

        if (pfc_sandbox_passes(s, name))
            set_variable(a, environ[i]);
        free(name);
    }
    set_variable(a, "HOME=/tmp");
    set_variable(a, "TMPDIR=/tmp");
    set_variable(a, "USER=perfci-job");
    set_variable(a, "LOGNAME=perfci-job");
    for (size_t i = 0; more && more[i]; i++)
        set_variable(a, more[i]);
}

/* ---- the command ---- */

/* A hard limit is only ever lowered: raising it is a privilege that the sandbox has not. */
static void add_limit(pfc_words *a, const char *name, __rlimit_resource_t what, uint64_t value)
{
    struct rlimit now;

    if (getrlimit(what, &now) == 0 && now.rlim_max < value)
        value = now.rlim_max;
    pfc_words_add_owned(a, pfc_format("--%s=%llu:%llu", name, (unsigned long long)value,
                                      (unsigned long long)value));
}

/* Limits and the uid are set inside, by programs of the system: RLIMIT_NPROC would otherwise count
 * against the runner's own processes. */
static void add_limits(const pfc_sandbox *s, pfc_words *a)
{
    pfc_words_add(a, s->prlimit);
    pfc_words_add(a, "--core=0");
    add_limit(a, "nofile", RLIMIT_NOFILE, PFC_SANDBOX_MAX_OPEN);
    add_limit(a, "nproc", RLIMIT_NPROC, PFC_SANDBOX_MAX_THREADS);
    add_limit(a, "fsize", RLIMIT_FSIZE, PFC_SANDBOX_FILE_BYTES);
    if (!s->root)
        return;
    pfc_words_add(a, s->setpriv);
    pfc_words_add_owned(a, pfc_format("--reuid=%u", (unsigned)s->uid));
    pfc_words_add_owned(a, pfc_format("--regid=%u", (unsigned)s->uid));
    pfc_words_add(a, "--clear-groups");
    pfc_words_add(a, "--inh-caps=-all");
    pfc_words_add(a, "--ambient-caps=-all");
    pfc_words_add(a, "--bounding-set=-all");
    pfc_words_add(a, "--no-new-privs");
}

pfc_code pfc_sandbox_wrap(const pfc_sandbox *s, const pfc_sandbox_command *command,
                          pfc_sandbox_start *out, pfc_err *err)
{
    pfc_words a = { .items = pfc_calloc(PFC_WORDS_MAX, sizeof(char *)) };
    pfc_code code;

    if (s->socket) {
        free(a.items);
        return pfc_sandbox_wrap_remote(s, command, out, err);
    }
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* see reap */
    *out = (pfc_sandbox_start){ .argv = a.items, .keep_fd = -1 };
    code = pfc_seccomp_program(&out->keep_fd, err);
    if (code)
        goto done;
    pfc_words_add(&a, s->bwrap);
    add_namespaces(s, command->network, &a);
    add_system(s, &a);
    if (command->network)
        add3(&a, "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf");
    for (size_t i = 0; i < command->mounts_len; i++) {
        add_parents(&a, command->mounts[i].path);
        add3(&a, command->mounts[i].writable ? "--bind" : "--ro-bind", command->mounts[i].path,
             command->mounts[i].path);
    }
    /* the folders above the mounts must not be writable */
    pfc_words_add2(&a, "--remount-ro", "/");
    add_environment(s, command->env, &a);
    pfc_words_add2(&a, "--chdir", command->cwd);
    pfc_words_add(&a, "--seccomp");
    pfc_words_add_owned(&a, pfc_format("%d", out->keep_fd));
    pfc_words_add(&a, "--");
    add_limits(s, &a);
    pfc_words_add(&a, "--");
    for (size_t i = 0; command->argv[i]; i++)
        pfc_words_add(&a, command->argv[i]);
    if (a.full)
        code =
            pfc_err_set(err, PFC_ETOOBIG, "sandbox: expected at most %d arguments", PFC_WORDS_MAX);
done:
    if (code)
        pfc_sandbox_start_clear(out);
    return code;
}

/* bubblewrap ends with 128 + N where its command was ended by signal N, as a shell does. */
static void restore_signal(pfc_proc_result *res)
{
    if (res->exit_status > 128 && res->exit_status < 128 + 65) {
        res->signal = res->exit_status - 128;
        res->exit_status = -1;
    }
}

static double seconds(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* bubblewrap ends without a wait for the first process of the namespace, which this process then
 * inherits (PR_SET_CHILD_SUBREAPER): what the command used is known from there, and all of its
 * processes have ended when it has. */
static void reap(pfc_proc_result *res)
{
    const struct timespec pause = { .tv_nsec = PFC_NS_PER_MS };
    const int64_t until = pfc_clock_ns() + REAP_S * PFC_NS_PER_S;
    struct rusage used;
    pid_t pid;

    while ((pid = wait4(-1, NULL, WNOHANG, &used)) > 0 || (pid == 0 && pfc_clock_ns() < until)) {
        if (pid == 0) {
            (void)nanosleep(&pause, NULL);
            continue;
        }
        res->cpu_seconds += seconds(&used.ru_utime) + seconds(&used.ru_stime);
        if ((uint64_t)used.ru_maxrss * 1024 > res->max_rss_bytes)
            res->max_rss_bytes = (uint64_t)used.ru_maxrss * 1024;
    }
}

pfc_code pfc_sandbox_ended(const pfc_sandbox_start *start, pfc_proc_result *res, pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (start->reported)
        code = pfc_sandbox_read_report(start, res, err);
    else
        reap(res);
    if (!code)
        restore_signal(res);
    return code;
}

void pfc_sandbox_start_clear(pfc_sandbox_start *start)
{
    free_args(start->argv);
    if (start->keep_fd >= 0)
        close(start->keep_fd);
    *start = (pfc_sandbox_start){ .keep_fd = -1 };
}

/* ---- opening ---- */

static char *find_program(const char *name)
{
    static const char *const folders[] = { "/usr/bin", "/bin", "/usr/sbin", "/usr/local/bin" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(folders); i++) {
        char *path = pfc_fs_join(folders[i], name);

        if (access(path, X_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

/* perfci-sandbox is beside this program, as perfci-bench is. */
static pfc_code find_starter(pfc_sandbox *s, const pfc_sandbox_opts *opts, pfc_err *err)
{
    char *dir = NULL;
    pfc_code code = opts->starter ? PFC_OK : pfc_fs_program_dir(&dir, err);

    if (code)
        return code;
    s->socket = pfc_strdup(opts->socket);
    s->starter = opts->starter ? pfc_strdup(opts->starter) : pfc_fs_join(dir, "perfci-sandbox");
    if (access(s->starter, X_OK) != 0)
        code = pfc_err_set(err, PFC_EUNAVAIL, "%s: %s", s->starter, strerror(errno));
    free(dir);
    return code;
}

static pfc_code find_programs(pfc_sandbox *s, pfc_err *err)
{
    s->bwrap = find_program("bwrap");
    s->setpriv = find_program("setpriv");
    s->prlimit = find_program("prlimit");
    if (!s->bwrap) {
        pfc_err_set(err, PFC_EUNAVAIL, "bubblewrap (bwrap) is not installed");
        return pfc_err_hint(err, "on Debian: apt install bubblewrap");
    }
    if (!s->setpriv || !s->prlimit)
        return pfc_err_set(err, PFC_EUNAVAIL, "%s of util-linux is not installed",
                           s->setpriv ? "prlimit" : "setpriv");
    return PFC_OK;
}

/* Programs ask for the name and the home of their uid; the machine's own accounts are not theirs to
 * know. */
static pfc_code write_accounts(pfc_sandbox *s, const char *dir, pfc_err *err)
{
    const unsigned uid = (unsigned)s->uid;
    char *const texts[] = {
        pfc_format("root:x:0:0:root:/root:/usr/sbin/nologin\n"
                   "perfci-job:x:%u:%u:perfci job:/tmp:/bin/sh\n",
                   uid, (unsigned)(s->root ? uid : getgid())),
        pfc_format("root:x:0:\nperfci-job:x:%u:\n", (unsigned)(s->root ? uid : getgid())),
        pfc_strdup("127.0.0.1 localhost perfci-job\n::1 localhost\n"),
    };
    static const char *const names[] = { "passwd", "group", "hosts" };
    pfc_code code;

    s->etc = pfc_fs_join(dir, "sandbox-etc");
    code = pfc_fs_mkdirs(s->etc, 0755, err);
    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++) {
        char *path = pfc_fs_join(s->etc, names[i]);

        if (!code)
            code = pfc_fs_write_atomic(path, texts[i], strlen(texts[i]), 0644, err);
        free(path);
        free(texts[i]);
    }
    return code;
}

static pfc_code copy_names(const char *const *from, const char *what, char **to, pfc_err *err)
{
    size_t n = 0;

    for (; from && from[n]; n++) {
        if (n == PFC_SANDBOX_MAX_PATHS)
            return pfc_err_set(err, PFC_EINVAL, "%s: expected at most %d", what,
                               PFC_SANDBOX_MAX_PATHS);
        to[n] = pfc_strdup(from[n]);
    }
    return PFC_OK;
}

/* Tests whether a command starts, and as which user, because a kernel may allow only some of the
 * namespaces. */
static pfc_code probe(const pfc_sandbox *s, pfc_err *err)
{
    const char *const argv[] = { "/bin/sh", "-c", "id -u && exec cat /proc/1/comm", NULL };
    const pfc_sandbox_command command = { .argv = argv, .cwd = "/tmp" };
    pfc_sandbox_start start;
    pfc_proc_result res;
    pfc_code code = pfc_sandbox_wrap(s, &command, &start, err);
    pfc_proc_opts opts = { .timeout_s = PROBE_TIMEOUT_S };
    char *expected = pfc_format("%u\nbwrap\n", (unsigned)s->uid);

    if (!code) {
        opts.argv = (const char *const *)start.argv;
        opts.inherit_fd = start.keep_fd;
        code = pfc_proc_run(&opts, &res, err);
        if (!code) {
            code = pfc_sandbox_ended(&start, &res, err);
            if (!code && (res.exit_status != 0 || !pfc_streq(pfc_buf_text(&res.out), expected))) {
                const char *said = res.err.len ? pfc_buf_text(&res.err) : "no output";

                code =
                    pfc_err_set(err, PFC_EUNAVAIL, "bubblewrap cannot isolate a command here: %.*s",
                                (int)strcspn(said, "\n"), said);
            }
            pfc_proc_result_clear(&res);
        }
        pfc_sandbox_start_clear(&start);
    }
    free(expected);
    return code;
}

pfc_code pfc_sandbox_open(const pfc_sandbox_opts *opts, pfc_sandbox **out, pfc_err *err)
{
    pfc_sandbox *s = pfc_calloc(1, sizeof(*s));
    pfc_code code;

    *out = NULL;
    s->root = geteuid() == 0;
    s->uid = !s->root ? geteuid() : opts->job_uid ? opts->job_uid : PFC_SANDBOX_JOB_UID;
    s->few_namespaces = opts->few_namespaces;
    code = opts->socket ? find_starter(s, opts, err) : find_programs(s, err);
    if (!code)
        code = copy_names(opts->read_only, "read-only folders", s->read_only, err);
    if (!code)
        code = copy_names(opts->variables, "variables", s->variables, err);
    if (!code && !s->socket)
        code = write_accounts(s, opts->dir, err);
    if (!code)
        code = probe(s, err);
    if (code) {
        pfc_sandbox_close(s);
        return code;
    }
    (void)snprintf(s->description, sizeof(s->description), "bubblewrap%s, uid %u",
                   s->socket ? " by perfci-sandbox" : "", (unsigned)s->uid);
    *out = s;
    return PFC_OK;
}

void pfc_sandbox_close(pfc_sandbox *s)
{
    if (!s)
        return;
    for (size_t i = 0; s->read_only[i]; i++)
        free(s->read_only[i]);
    for (size_t i = 0; s->variables[i]; i++)
        free(s->variables[i]);
    free(s->bwrap);
    free(s->setpriv);
    free(s->prlimit);
    free(s->etc);
    free(s->socket);
    free(s->starter);
    free(s);
}

const char *pfc_sandbox_description(const pfc_sandbox *s)
{
    return s->description;
}

/* ---- ownership ---- */

static _Thread_local uid_t owner; /* nftw passes no argument to its callback */

static int give(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)at;
    return kind == FTW_NS || lchown(path, owner, owner) != 0 ? -1 : 0;
}

pfc_code pfc_sandbox_own(const pfc_sandbox *s, const char *path, pfc_err *err)
{
    if (!s->root)
        return PFC_OK;
    owner = s->uid;
    if (nftw(path, give, OPEN_FOLDERS, FTW_PHYS | FTW_MOUNT) != 0)
        return pfc_err_set(err, PFC_EIO, "owner of %s: %s", path, strerror(errno));
    return PFC_OK;
}
