/*
 * The private PostgreSQL cluster of a data folder.
 *
 * It listens on a Unix socket alone, in a folder of mode 0700, and asks the kernel who is calling
 * (peer): only the user who started it, and the user it runs as, come in.
 *
 * PostgreSQL refuses to run as root. Started by root it therefore runs as `postgres` (the account
 * that the distribution's package makes), or `nobody` where that is missing, and owns its cluster
 * and socket folders alone. Such a user must be able to reach them; where the data folder lies
 * below a closed one (/root), the cluster goes to /var/lib/perfci instead.
 *
 * Any PostgreSQL from 15 to 18 will do: a new cluster is made by the newest that is installed, and
 * an existing one is run by the version that made it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/local/postgres_host.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/parse.h"
#include "core/base/process/pgbin.h"
#include "core/base/process/proc.h"
#include "core/base/rng.h"
#include "core/http/client.h"

#define SOCKET_NAME      "/.s.PGSQL.5432"
#define SOCKET_MAX_BYTES 107 /* sockaddr_un.sun_path, without its terminator */

enum { START_TIMEOUT_S = 60, STOP_TIMEOUT_S = 60, POLL_MS = 20 };

/* ---- places ---- */

static pfc_code choose_cluster(pfc_stack *stack, const pfc_host *host, const pfc_cli *cli,
                               pfc_err *err)
{
    char id[33];
    pfc_code code;

    if (stack->cluster)
        return PFC_OK;
    if (!host->other || pfc_host_reaches(stack->data, host)) {
        stack->cluster = pfc_stack_path(stack, "pg");
        return PFC_OK;
    }
    code = pfc_fs_mkdirs(PFC_STACK_FAR_ROOT, 0711, err);
    if (code)
        return pfc_err_wrap(err, "user %s cannot reach %.200s", host->user, stack->data);
    pfc_random_id(id);
    stack->cluster = pfc_format(PFC_STACK_FAR_ROOT "/pg-%.12s", id);
    pfc_cli_note(cli, "user %s cannot reach %s: the database goes to %s", host->user, stack->data,
                 stack->cluster);
    return PFC_OK;
}

static pfc_code choose_socket(pfc_stack *stack, const pfc_host *host, pfc_err *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char hash[PFC_SHA256_HEX];

    free(stack->socket);
    stack->socket = pfc_stack_path(stack, "run");
    if (strlen(stack->socket) + strlen(SOCKET_NAME) > SOCKET_MAX_BYTES ||
        (host->other && !pfc_host_reaches(stack->data, host))) {
        free(stack->socket);
        pfc_sha256_hex(stack->data, strlen(stack->data), hash);
        if (!host->other && runtime && strlen(runtime) < 60 && pfc_fs_is_dir(runtime))
            stack->socket = pfc_format("%s/pfc-%.12s", runtime, hash);
        else
            stack->socket = pfc_format("/tmp/pfc-%u-%.12s", (unsigned)host->uid, hash);
    }
    return pfc_host_folder(stack->socket, host, err);
}

/* ---- settings ---- */

/* 'text' for postgresql.conf: quotes and backslashes doubled. */
static void put_quoted(pfc_buf *out, const char *text)
{
    pfc_buf_putc(out, '\'');
    for (const char *p = text; *p; p++) {
        if (*p == '\'' || *p == '\\')
            pfc_buf_putc(out, *p);
        pfc_buf_putc(out, *p);
    }
    pfc_buf_puts(out, "'\n");
}

static pfc_code write_owned(const char *folder, const char *name, const pfc_buf *text,
                            const pfc_host *host, pfc_err *err)
{
    char *path = pfc_fs_join(folder, name);
    pfc_code code = pfc_buf_check(text, name, err);

    if (!code)
        code = pfc_fs_write_atomic(path, pfc_buf_text(text), text->len, 0600, err);
    if (!code && host->other && chown(path, host->uid, host->gid))
        code = pfc_err_set(err, PFC_EIO, "%.300s: %s", path, strerror(errno));
    free(path);
    return code;
}

/* The file is written at every start, because the socket moves with the data folder. */
static pfc_code write_settings(const pfc_stack *stack, const pfc_host *host, pfc_err *err)
{
    const char *volatile_stack = getenv("PERFCI_UP_VOLATILE");
    pfc_buf text;
    pfc_code code;

    pfc_buf_init(&text, 64 * 1024);
    pfc_buf_puts(&text, "listen_addresses = ''\n"
                        "port = 5432\n"
                        "unix_socket_permissions = 0700\n"
                        "max_connections = 60\n"
                        "shared_buffers = '128MB'\n"
                        "wal_compression = on\n"
                        "log_min_messages = warning\n"
                        "log_line_prefix = '%m [%p] '\n"
                        "logging_collector = off\n");
    pfc_buf_puts(&text, "unix_socket_directories = ");
    put_quoted(&text, stack->socket);
    /* For stacks that are thrown away, such as a test's: a crash of the machine may lose them. A
     * killed process may not: what was committed has been written, to the kernel at least. */
    if (volatile_stack && pfc_streq(volatile_stack, "1"))
        pfc_buf_puts(&text, "fsync = off\nfull_page_writes = off\n");
    code = write_owned(stack->cluster, "perfci.conf", &text, host, err);
    pfc_buf_reset(&text);
    if (!code) {
        pfc_buf_puts(&text, "local all all peer map=perfci\n");
        code = write_owned(stack->cluster, "pg_hba.conf", &text, host, err);
    }
    pfc_buf_reset(&text);
    if (!code) {
        pfc_buf_printf(&text, "perfci \"%s\" perfci\nperfci \"%s\" perfci\n", host->user,
                       host->caller);
        code = write_owned(stack->cluster, "pg_ident.conf", &text, host, err);
    }
    pfc_buf_clear(&text);
    return code;
}

/* ---- making and starting ---- */

/* Beside its place first and renamed when complete, so that an interrupted initdb leaves nothing
 * that looks like a cluster. */
static pfc_code make_cluster(pfc_stack *stack, const pfc_host *host, pfc_err *err)
{
    const char *volatile_stack = getenv("PERFCI_UP_VOLATILE");
    char *fresh = pfc_format("%s.new", stack->cluster);
    char *conf = pfc_fs_join(fresh, "postgresql.conf");
    const char *args[] = { "-D",
                           fresh,
                           "-U",
                           "perfci",
                           "-A",
                           "peer",
                           "-E",
                           "UTF8",
                           "--locale=C.UTF-8",
                           "--no-instructions",
                           volatile_stack && *volatile_stack ? "--no-sync" : NULL,
                           NULL };
    static const char include[] = "\ninclude 'perfci.conf'\n";
    pfc_code code;
    int fd = -1;

    code = pfc_fs_remove_tree(fresh, err);
    if (!code)
        code = pfc_host_folder(fresh, host, err);
    if (!code)
        code = pfc_host_run(host, "initdb", args, 0, NULL, err);
    if (code)
        goto done;
    fd = open(conf, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0 || write(fd, include, sizeof(include) - 1) != (ssize_t)sizeof(include) - 1 ||
        fsync(fd)) {
        code = pfc_err_set(err, PFC_EIO, "%.300s: %s", conf, strerror(errno));
        goto done;
    }
    if (rename(fresh, stack->cluster))
        code = pfc_err_set(err, PFC_EIO, "%.300s: %s", stack->cluster, strerror(errno));

done:
    if (fd >= 0)
        close(fd);
    free(conf);
    free(fresh);
    return code;
}

/* The process on the first line of postmaster.pid, 0 when there is none. */
static pid_t postmaster_pid(const pfc_stack *stack)
{
    char *path = pfc_fs_join(stack->cluster, "postmaster.pid");
    char *text = NULL;
    size_t len = 0;
    int64_t pid = 0;

    if (!pfc_fs_read(path, 4096, &text, &len, NULL)) {
        text[strcspn(text, "\n")] = '\0';
        if (pfc_parse_i64(text, 1, INT32_MAX, "pid", &pid, NULL))
            pid = 0;
    }
    free(text);
    free(path);
    return (pid_t)pid;
}

/* Is that process a postgres whose working folder is this cluster? */
static bool is_postmaster(const pfc_stack *stack, pid_t pid)
{
    char path[64];
    char target[PFC_PATH_MAX];
    pfc_member probe = { .name = "postgres" };
    ssize_t n;

    if (pid <= 0 || pfc_member_set(&probe, pid, NULL) || strcmp(probe.exe, "postgres") != 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%ld/cwd", (long)pid);
    n = readlink(path, target, sizeof(target) - 1);
    if (n <= 0)
        return false;
    target[n] = '\0';
    return strcmp(target, stack->cluster) == 0;
}

/* A kill -9 leaves the file behind. PostgreSQL clears it up itself unless the number has been given
 * to another process since, which it takes for a postmaster: that case is ours to tell apart. */
static void clear_stale_pid(const pfc_stack *stack)
{
    const pid_t pid = postmaster_pid(stack);

    if (pid > 0 && !is_postmaster(stack, pid)) {
        char *path = pfc_fs_join(stack->cluster, "postmaster.pid");

        unlink(path);
        free(path);
    }
}

static pfc_code log_file(const pfc_stack *stack, const pfc_host *host, char **out, pfc_err *err)
{
    /* Beside the cluster: logs/ belongs to us, and pg_ctl opens the file as its own user. */
    char *path = pfc_fs_join(stack->cluster, "postgres.log");
    char *link = pfc_stack_path(stack, "logs/postgres.log");
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    pfc_code code = PFC_OK;

    if (fd < 0 || (host->other && fchown(fd, host->uid, host->gid)))
        code = pfc_err_set(err, PFC_EIO, "%.300s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    unlink(link);
    if (!code && symlink(path, link))
        code = pfc_err_set(err, PFC_EIO, "%.300s: %s", link, strerror(errno));
    free(link);
    if (code)
        free(path);
    else
        *out = path;
    return code;
}

/* pg_ctl waits until the postmaster takes connections. After a kill -9 the old backends may hold
 * the shared memory for a moment longer, hence the repetition. */
static pfc_code start_postmaster(pfc_stack *stack, const pfc_host *host, pfc_err *err)
{
    const int64_t end = pfc_clock_ns() + START_TIMEOUT_S * PFC_NS_PER_S;
    char *log = NULL;
    pfc_code code = log_file(stack, host, &log, err);

    if (code)
        return code;
    for (;;) {
        const char *args[] = { "start", "-D", stack->cluster, "-l", log,
                               "-w",    "-t", "60",           "-s", NULL };

        clear_stale_pid(stack);
        code = pfc_host_run(host, "pg_ctl", args, 0, NULL, err);
        if (!code || pfc_clock_ns() >= end || pfc_cli_interrupted(NULL))
            break;
        pfc_clock_sleep_ns(10 * POLL_MS * PFC_NS_PER_MS);
    }
    if (code)
        pfc_err_wrap(err, "PostgreSQL does not start (see %.200s)", log);
    free(log);
    return code;
}

static pfc_code make_database(const pfc_stack *stack, const pfc_host *host, pfc_err *err)
{
    const char *look[] = {
        "-X",       "-h",     stack->socket,
        "-U",       "perfci", "-d",
        "postgres", "-Atc",   "SELECT 1 FROM pg_database WHERE datname = 'perfci'",
        NULL
    };
    const char *make[] = { "-X",       "-h",     stack->socket,
                           "-U",       "perfci", "-d",
                           "postgres", "-qc",    "CREATE DATABASE perfci",
                           NULL };
    pfc_buf out;
    pfc_code code;

    pfc_buf_init(&out, 64 * 1024);
    code = pfc_host_run(host, "psql", look, 0, &out, err);
    if (!code && strncmp(pfc_buf_text(&out), "1", 1) != 0)
        code = pfc_host_run(host, "psql", make, 0, NULL, err);
    pfc_buf_clear(&out);
    return code;
}

pfc_code pfc_cluster_start(pfc_stack *stack, const pfc_cli *cli, pfc_err *err)
{
    pfc_host host;
    pfc_code code;

    if (pfc_member_alive(&stack->postgres))
        return PFC_OK;
    stack->postgres.pid = 0;
    code = pfc_host_find(&host, err);
    if (!code)
        code = choose_cluster(stack, &host, cli, err);
    if (!code)
        code = choose_socket(stack, &host, err);
    if (!code)
        code = pfc_stack_save(stack, err); /* before there is anything that could be forgotten */
    if (!code)
        code = pfc_host_programs(stack, &host, err);
    if (!code && !pfc_fs_exists(stack->cluster)) {
        pfc_cli_note(cli, "making a private PostgreSQL %d cluster in %s", host.pg.major,
                     stack->cluster);
        code = make_cluster(stack, &host, err);
    }
    /* The server may run although the record does not name it, if `up` was killed between the start
     * and the record. */
    if (!code && !is_postmaster(stack, postmaster_pid(stack))) {
        code = write_settings(stack, &host, err);
        if (!code)
            code = start_postmaster(stack, &host, err);
    }
    if (!code)
        code = pfc_member_set(&stack->postgres, postmaster_pid(stack), err);
    if (!code)
        code = make_database(stack, &host, err);
    return code;
}

void pfc_cluster_stop(pfc_stack *stack)
{
    /* SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for sessions to end. */
    if (stack->cluster && !pfc_member_alive(&stack->postgres) &&
        is_postmaster(stack, postmaster_pid(stack)) &&
        pfc_member_set(&stack->postgres, postmaster_pid(stack), NULL))
        return;
    pfc_member_stop(&stack->postgres, SIGINT, STOP_TIMEOUT_S);
}

char *pfc_cluster_url(const pfc_stack *stack)
{
    char *host = pfc_http_escape(stack->socket);
    char *url = pfc_format("postgresql://perfci@/perfci?host=%s", host);

    free(host);
    return url;
}
