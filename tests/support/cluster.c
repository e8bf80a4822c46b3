/*
 * The private cluster and its guard.
 *
 * The guard is a fork that owns the postmaster. It reads commands from a pipe; the end of that pipe
 * is the end of the test program, and then it stops the postmaster and removes the folder. So a
 * test that crashes or runs into its time-out leaves nothing behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/process/pgbin.h"

#include "tests/support/prepared.h"
#include "tests/support/support.h"

#define START_S      300 /* a busy machine is no reason to fail */
#define MAX_ARGS     32
/* Free for all that runs beside it, too: a program of eighty tests fills 1 GiB. */
#define MEMORY_BYTES (UINT64_C(6) << 30)

struct pfc_cluster {
    char dir[32]; /* short: the path of a socket has at most 107 bytes */
    pfc_pg pg;
    uid_t uid; /* whom the server runs as; 0: as we are */
    gid_t gid;
    int command_fd, answer_fd;
    pid_t guard;
    bool is_prepared; /* has PFC_CLUSTER_TEMPLATE and the database "main" */
};

/*
 * Memory where the machine has enough of it, else the disk: a database is 600 small files, which a
 * file system on disk takes longer to create than PostgreSQL to fill. A test that wants what it
 * committed to be on disk gets the disk.
 */
static const char *place(void)
{
    struct statvfs memory;
    uint64_t free_bytes = 0;
    char *text = NULL;
    size_t len = 0;

    if (getenv("PERFCI_TEST_FSYNC") || statvfs("/dev/shm", &memory) ||
        (uint64_t)memory.f_bavail * memory.f_frsize < MEMORY_BYTES)
        return "/tmp";
    if (pfc_fs_read("/proc/meminfo", 65536, &text, &len, NULL) == PFC_OK) {
        const char *line = strstr(text, "MemAvailable:");

        free_bytes = line ? 1024 * strtoull(line + strlen("MemAvailable:"), NULL, 10) : 0;
        free(text);
    }
    return free_bytes < MEMORY_BYTES ? "/tmp" : "/dev/shm";
}

static pfc_code find_user(pfc_cluster *c, pfc_err *err)
{
    const struct passwd *user;

    if (geteuid() != 0)
        return PFC_OK;
    user = getpwnam("postgres");
    if (!user)
        user = getpwnam("nobody");
    if (!user)
        return pfc_err_set(err, PFC_ENOTFOUND,
                           "neither of the users \"postgres\" and \"nobody\" exists");
    c->uid = user->pw_uid;
    c->gid = user->pw_gid;
    return PFC_OK;
}

/* In the child: becomes the server's user in the cluster's folder, output to a file, and execs. */
static void become(const pfc_cluster *c, const char *const argv[], const char *log)
{
    char program[300]; /* pg.bin and a name */
    const char *args[MAX_ARGS] = { program };
    sigset_t none;
    int fd;

    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (c->uid && (setgroups(0, NULL) || setgid(c->gid) || setuid(c->uid)))
        _exit(126);
    /* After setuid, which clears it. */
    (void)prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (chdir(c->dir))
        _exit(126);
    fd = open("/dev/null", O_RDONLY);
    (void)dup2(fd, STDIN_FILENO);
    fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0)
        _exit(126);
    (void)dup2(fd, STDOUT_FILENO);
    (void)dup2(fd, STDERR_FILENO);
    (void)setenv("LC_ALL", "C", 1);
    (void)unsetenv("LD_PRELOAD"); /* a sanitizer's runtime is for us, not for PostgreSQL */
    (void)snprintf(program, sizeof(program), "%s/%s", c->pg.bin, argv[0]);
    /* By its whole name: initdb looks for its companions beside itself, and by a bare name on PATH.
     */
    for (size_t i = 1; argv[i] && i < MAX_ARGS - 1; i++)
        args[i] = argv[i];
    (void)execv(program, (char *const *)(uintptr_t)args);
    _exit(127);
}

static pid_t launch(const pfc_cluster *c, const char *const argv[], const char *log)
{
    pid_t pid = fork();

    if (pid == 0)
        become(c, argv, log);
    return pid;
}

static pid_t launch_server(const pfc_cluster *c)
{
    /* Small for tests; what measures reading asks for as much as a service has. */
    const char *buffers = getenv("PERFCI_TEST_BUFFERS");
    /* A test of durability needs one. */
    const char *durable = getenv("PERFCI_TEST_FSYNC");
    char setting[64];
    const char *const argv[] = { "postgres",
                                 "-D",
                                 "data",
                                 "-k",
                                 c->dir,
                                 "-c",
                                 "listen_addresses=",
                                 "-c",
                                 durable ? "fsync=on" : "fsync=off",
                                 "-c",
                                 "full_page_writes=off",
                                 "-c",
                                 setting,
                                 "-c",
                                 "max_connections=100",
                                 "-c",
                                 "autovacuum=off",
                                 NULL };

    (void)snprintf(setting, sizeof(setting), "shared_buffers=%s", buffers ? buffers : "32MB");
    return launch(c, argv, "server.log");
}

static void end_server(pid_t *pid, int signal_number)
{
    if (*pid <= 0)
        return;
    (void)kill(*pid, signal_number);
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *pid = -1;
}

/* The guard's life: 'S' start, 'F' stop fast, 'I' stop at once; each answered by one byte. */
static void guard(const pfc_cluster *c, int commands, int answers)
{
    pid_t server = -1;
    char command;

    (void)signal(SIGINT, SIG_IGN); /* ^C is for the tests; we see their end */
    (void)signal(SIGPIPE, SIG_IGN);
    for (;;) {
        ssize_t n = read(commands, &command, 1);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        if (command == 'S')
            server = launch_server(c);
        else
            end_server(&server, command == 'F' ? SIGINT : SIGQUIT);
        if (write(answers, &command, 1) != 1)
            break;
    }
    end_server(&server, SIGQUIT);
    _exit(pfc_fs_remove_tree(c->dir, NULL) ? 1 : 0);
}

static pfc_code start_guard(pfc_cluster *c, pfc_err *err)
{
    int commands[2], answers[2];

    if (pipe2(commands, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
        return pfc_err_set(err, PFC_EIO, "cluster: pipe: %s", strerror(errno));
    c->guard = fork();
    if (c->guard < 0)
        return pfc_err_set(err, PFC_EIO, "cluster: fork: %s", strerror(errno));
    if (c->guard == 0) {
        (void)setpgid(0, 0); /* what stops the tests' group must let the guard clean up */
        (void)close(commands[1]);
        (void)close(answers[0]);
        guard(c, commands[0], answers[1]);
    }
    (void)close(commands[0]);
    (void)close(answers[1]);
    c->command_fd = commands[1];
    c->answer_fd = answers[0];
    return PFC_OK;
}

static pfc_code order(pfc_cluster *c, char command, pfc_err *err)
{
    char answer = 0;

    if (write(c->command_fd, &command, 1) != 1 || read(c->answer_fd, &answer, 1) != 1)
        return pfc_err_set(err, PFC_EIO, "cluster: its guard has gone");
    return PFC_OK;
}

static pfc_code wait_ready(const pfc_cluster *c, pfc_err *err)
{
    int64_t until = pfc_clock_ns() + START_S * PFC_NS_PER_S;
    char *url = pfc_cluster_url(c, "postgres");
    bool ready = false;

    while (!ready && pfc_clock_ns() < until) {
        ready = PQping(url) == PQPING_OK;
        if (!ready)
            pfc_clock_sleep_ns(20 * PFC_NS_PER_MS);
    }
    free(url);
    return ready ? PFC_OK
                 : pfc_err_set(err, PFC_ETIMEOUT, "cluster: not ready within %d s", START_S);
}

static pfc_code init_data(pfc_cluster *c, pfc_err *err)
{
    const char *const argv[] = { "initdb", "-D",   "data",       "-U",
                                 "perfci", "-A",   "trust",      "--no-sync",
                                 "-E",     "UTF8", "--locale=C", "--no-instructions",
                                 NULL };
    char *data = pfc_fs_join(c->dir, "data");
    pid_t pid;
    int status = 0;

    c->is_prepared = pfc_prepared_copy(c->pg.major, data);
    free(data);
    if (c->is_prepared)
        return PFC_OK;
    pid = launch(c, argv, "initdb.log");
    if (pid < 0)
        return pfc_err_set(err, PFC_EIO, "cluster: fork: %s", strerror(errno));
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return pfc_err_set(err, PFC_EIO, "cluster: initdb: %s", strerror(errno));
    }
    if (status != 0) {
        char *path = pfc_fs_join(c->dir, "initdb.log");
        char *text = NULL;
        size_t len = 0;

        if (pfc_fs_read(path, 65536, &text, &len, NULL) == PFC_OK)
            (void)fputs(text, stderr);
        free(path);
        free(text);
        return pfc_err_set(err, PFC_EIO, "cluster: initdb ended with status %d", status);
    }
    return PFC_OK;
}

pfc_code pfc_cluster_start(pfc_cluster **out, pfc_err *err)
{
    pfc_cluster *c = pfc_alloc(sizeof(*c));
    pfc_code code;

    c->command_fd = c->answer_fd = -1;
    code = pfc_pg_find(0, &c->pg, err);
    if (!code)
        code = find_user(c, err);
    if (code)
        goto done;
    (void)snprintf(c->dir, sizeof(c->dir), "%s/pfc-XXXXXX", place());
    if (!mkdtemp(c->dir) || (c->uid && chown(c->dir, c->uid, c->gid))) {
        code = pfc_err_set(err, PFC_EIO, "cluster: %s: %s", c->dir, strerror(errno));
        goto done;
    }
    code = start_guard(c, err);
    if (!code)
        code = init_data(c, err);
    if (!code)
        code = order(c, 'S', err);
    if (!code)
        code = wait_ready(c, err);

done:
    if (code) {
        pfc_cluster_free(c);
        return code;
    }
    *out = c;
    return PFC_OK;
}

char *pfc_cluster_url(const pfc_cluster *cluster, const char *database)
{
    return pfc_format("host=%s user=perfci dbname=%s connect_timeout=60", cluster->dir, database);
}

bool pfc_cluster_is_prepared(const pfc_cluster *cluster)
{
    return cluster->is_prepared;
}

pfc_code pfc_cluster_keep(pfc_cluster *cluster, const char *folder, pfc_err *err)
{
    char *data = pfc_fs_join(cluster->dir, "data");
    pfc_code code = pfc_cluster_halt(cluster, true, err);

    if (!code)
        code = pfc_prepared_keep(data, folder, err);
    free(data);
    return code;
}

pfc_code pfc_cluster_halt(pfc_cluster *cluster, bool fast, pfc_err *err)
{
    return order(cluster, fast ? 'F' : 'I', err);
}

pfc_code pfc_cluster_resume(pfc_cluster *cluster, pfc_err *err)
{
    pfc_code code = order(cluster, 'S', err);

    return code ? code : wait_ready(cluster, err);
}

void pfc_cluster_free(pfc_cluster *cluster)
{
    if (!cluster)
        return;
    if (cluster->command_fd >= 0) {
        char end;

        (void)close(cluster->command_fd);
        /* The guard's end closes the pipe; who reaps it does not matter. */
        while (read(cluster->answer_fd, &end, 1) > 0)
            ;
        (void)close(cluster->answer_fd);
        (void)waitpid(cluster->guard, NULL, 0);
    }
    free(cluster);
}
