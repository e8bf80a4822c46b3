/*
 * perfci up: starts all parts of the embedded service that do not run yet: all of them, none, or
 * those that a kill -9 ended.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/local/stack.h"
#include "cli/output/output.h"
#include "core/base/clock.h"
#include "core/base/config/conf.h"
#include "core/base/fs.h"
#include "core/base/process/proc.h"
#include "core/http/client.h"

enum {
    DEFAULT_PORT = 7420,
    PORT_WAIT_S = 5,
    LOCK_S = 120,
    READY_S = 120,
    POLL_MS = 50,
    WATCH_MS = 200
};

typedef struct up {
    pfc_cli *cli;
    pfc_stack stack;
    const char *data;
    int64_t port; /* -1: not asked for */
    bool detach;
    bool no_runner;
    bool first;   /* no service was started in this folder */
    bool started; /* we started something: on failure we stop it again */
    char *bin;    /* folder of the programs */
} up;

static const pfc_option options[] = {
    PFC_OPT_INTEGER("port", "N", up, port, 0, 65535, "Port on 127.0.0.1; 0: any free one",
                    .fallback = "7420"),
    PFC_OPT_TEXT("data", "DIR", up, data, "Data folder", .fallback = "$XDG_DATA_HOME/perfci"),
    PFC_OPT_FLAG("detach", up, detach,
                 "Return when the service is ready, instead of staying with it"),
    PFC_OPT_FLAG("no-runner", up, no_runner, "Start no runner on this machine"),
    { 0 },
};

static const char up_doc[] =
    "Starts the service on this machine: a private PostgreSQL, the server, one runner."
    "\vStays until Ctrl-C (or `perfci down` elsewhere), then stops all of them; with --detach it "
    "returns as soon as the service is ready. Called again it says that the service runs, or "
    "starts again whatever member is missing. Logs are in DIR/logs; DIR/endpoint.json and "
    "DIR/admin.token are what the other commands read.\n"
    "\n"
    "Examples:\n"
    "  perfci up\n"
    "  perfci up --detach --port 8000 --data /srv/perfci\n"
    "  PERFCI_GITHUB_WEBHOOK_SECRET_FILE=hook.secret perfci up --detach\n";

/* Whether the port can be listened on; 0 is replaced by one that can. SO_REUSEADDR, as the server
 * sets it: connections of a server just stopped are no obstacle, a listening one is. */
static pfc_code probe_port(int *port, pfc_err *err)
{
    struct sockaddr_in addr = { .sin_family = AF_INET,
                                .sin_port = htons((uint16_t)*port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(addr);
    const int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pfc_code code = PFC_OK;

    if (fd < 0)
        return pfc_err_set(err, PFC_EIO, "no socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&addr, len) || listen(fd, 1) ||
        getsockname(fd, (struct sockaddr *)&addr, &len)) {
        if (errno == EADDRINUSE)
            code = pfc_err_set(err, PFC_EUNAVAIL,
                               "port %d of 127.0.0.1 is in use by another program", *port);
        else
            code = pfc_err_set(err, PFC_EUNAVAIL, "cannot listen on 127.0.0.1:%d: %s", *port,
                               strerror(errno));
        code = pfc_err_hint(err, "choose another port with --port N; --port 0 takes a free one");
    } else {
        *port = ntohs(addr.sin_port);
    }
    close(fd);
    return code;
}

static pfc_code settle_port(up *u, pfc_err *err)
{
    int port = u->port >= 0 ? (int)u->port : u->stack.port ? u->stack.port : DEFAULT_PORT;
    const int64_t end_ns = pfc_clock_ns() + PORT_WAIT_S * PFC_NS_PER_S;
    pfc_code code = probe_port(&port, err);

    /* A server of ours that was killed a moment ago holds it until its last thread is gone. */
    while (code && port == u->stack.port && pfc_clock_ns() < end_ns) {
        pfc_clock_sleep_ns(POLL_MS * PFC_NS_PER_MS);
        code = probe_port(&port, err);
    }
    if (code)
        return code;
    u->stack.port = port;
    free(u->stack.url);
    u->stack.url = pfc_format("http://127.0.0.1:%d", port);
    return PFC_OK;
}

/* Starts bin/PROGRAM as a member with its log; the member is recorded at once, so that whatever
 * happens next, `down` finds it. */
static pfc_code start_member(up *u, pfc_member *member, const char *const *argv,
                             const char *const *env, pfc_err *err)
{
    char *log = pfc_format("%s/logs/%s.log", u->stack.data, member->name);
    const pfc_proc_spawn_opts opts = {
        .argv = argv, .env = env, .cwd = u->stack.data, .log_path = log, .detach = true
    };
    pid_t pid = 0;
    pfc_code code;

    u->started = true;
    code = pfc_proc_spawn(&opts, &pid, err);
    if (!code)
        code = pfc_member_set(member, pid, err);
    if (!code)
        code = pfc_stack_save(&u->stack, err);
    free(log);
    return code;
}

enum { SETPRIV_WORDS = 5, RUNNER_WORDS = 7 };

static pfc_code start_server(up *u, pfc_err *err)
{
    /* libpq reads these; the cluster is named by the URL alone. */
    static const char *const bare[] = { "PGHOST",     "PGPORT",     "PGUSER",       "PGDATABASE",
                                        "PGPASSWORD", "PGSERVICE",  "PGPASSFILE",   "PGOPTIONS",
                                        "PGSSLMODE",  "PGHOSTADDR", "PERFCI_TOKEN", NULL };
    static const char *const open[] = { "PGHOST",     "PGPORT",       "PGUSER",
                                        "PGDATABASE", "PGPASSWORD",   "PGSERVICE",
                                        "PGPASSFILE", "PGOPTIONS",    "PGSSLMODE",
                                        "PGHOSTADDR", "PERFCI_TOKEN", "PERFCI_PUBLIC_READ=1",
                                        NULL };
    char *program = pfc_fs_join(u->bin, "perfci-server");
    char *listen_at = pfc_format("127.0.0.1:%d", u->stack.port);
    char *database = pfc_cluster_url(&u->stack);
    char *token = pfc_stack_path(&u->stack, "admin.token");
    /* As root, the server keeps one power of root: to enter the folder of PostgreSQL's socket. */
    const char *argv[] = { "setpriv",
                           "--no-new-privs",
                           "--bounding-set=-all,+dac_override",
                           "--inh-caps=-all",
                           "--",
                           program,
                           "--listen",
                           listen_at,
                           "--database",
                           database,
                           "--data",
                           u->stack.data,
                           "--bootstrap-token-file",
                           token,
                           NULL };
    const char *const *words = geteuid() == 0 ? argv : argv + SETPRIV_WORDS;
    const char *volatile_stack = getenv("PERFCI_UP_VOLATILE");
    pfc_code code;

    if (volatile_stack && strcmp(volatile_stack, "1") == 0)
        (void)setenv("PERFCI_DATABASE_UNSAFE", "1", 1); /* fsync is off: postgres.c */
    /* Only this machine can connect, so that reading needs no token unless PERFCI_PUBLIC_READ says
     * otherwise. */
    code =
        start_member(u, &u->stack.server, words, getenv("PERFCI_PUBLIC_READ") ? bare : open, err);
    free(token);
    free(database);
    free(listen_at);
    free(program);
    return code;
}

static pfc_code wait_ready(up *u, pfc_err *err)
{
    const int64_t end = pfc_clock_ns() + READY_S * PFC_NS_PER_S;
    char why[PFC_ERR_MAX] = "";

    while (!pfc_stack_ready(&u->stack, why)) {
        if (pfc_cli_interrupted(NULL))
            return pfc_err_set(err, PFC_ECONFLICT, "interrupted");
        if (!pfc_member_alive(&u->stack.server)) {
            char *tail = pfc_stack_log_tail(&u->stack, "server");

            pfc_out_err("%s", tail);
            free(tail);
            return pfc_err_set(err, PFC_EUNAVAIL,
                               "perfci-server ended while starting; its log is %.200s/logs/"
                               "server.log",
                               u->stack.data);
        }
        if (pfc_clock_ns() >= end)
            return pfc_err_set(err, PFC_ETIMEOUT, "the server is not ready within %d s: %.200s",
                               READY_S, why);
        pfc_clock_sleep_ns(POLL_MS * PFC_NS_PER_MS);
    }
    return PFC_OK;
}

static pfc_code read_token(const up *u, const char *name, char **out, pfc_err *err)
{
    char *path = pfc_stack_path(&u->stack, name);
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, 4096, out, &len, err);

    if (!code)
        (*out)[strcspn(*out, "\r\n")] = '\0';
    free(path);
    return code;
}

static pfc_code make_runner_token(up *u, pfc_err *err)
{
    char *path = pfc_stack_path(&u->stack, "runner.token");
    char *token = NULL;
    char *admin = NULL;
    pfc_http *http = NULL;
    json_t *body = NULL;
    json_t *answer = NULL;
    pfc_http_opts opts = { .url = u->stack.url };
    pfc_code code = PFC_OK;

    /* A new cluster holds none of the old tokens. */
    if (pfc_stack_runner_token(&u->stack) == PFC_OK)
        goto done;
    code = read_token(u, "admin.token", &admin, err);
    if (code)
        goto done;
    opts.token = admin;
    code = pfc_http_new(&opts, &http, err);
    if (code)
        goto done;
    body = json_pack("{s:s,s:[s]}", "name", "runner of perfci up", "scopes", "runner");
    code = pfc_http_json(http, "POST", "/api/v1/tokens", body, NULL, &answer, err);
    if (code)
        goto done;
    token = pfc_strdup(json_string_value(json_object_get(answer, "token")));
    if (!token) {
        code = pfc_err_set(err, PFC_EUNAVAIL, "the server answers no token to POST /tokens");
        goto done;
    }
    code = pfc_fs_write_atomic(path, token, strlen(token), 0600, err);

done:
    json_decref(answer);
    json_decref(body);
    pfc_http_free(http);
    free(admin);
    free(token);
    free(path);
    return code;
}

static pfc_code start_runner(up *u, pfc_err *err)
{
    /* The runner executes foreign code, so it must not inherit a secret. */
    static const char *const env[] = { "PERFCI_TOKEN",
                                       "PERFCI_TOKEN_FILE",
                                       "PERFCI_GITHUB_WEBHOOK_SECRET",
                                       "PERFCI_GITHUB_TOKEN",
                                       "PERFCI_GITHUB_APP_KEY",
                                       "PERFCI_GITHUB_OLD_WEBHOOK_SECRET",
                                       "PERFCI_GITLAB_OLD_WEBHOOK_SECRET",
                                       "PERFCI_GITEA_OLD_WEBHOOK_SECRET",
                                       "PERFCI_GITLAB_WEBHOOK_SECRET",
                                       "PERFCI_GITLAB_TOKEN",
                                       "PERFCI_GITEA_WEBHOOK_SECRET",
                                       "PERFCI_GITEA_TOKEN",
                                       "GITHUB_TOKEN",
                                       "PERFCI_DATABASE_URL",
                                       "PERFCI_DATABASE_READ_URL",
                                       "PERFCI_DATABASE_DIRECT_URL",
                                       NULL };
    char *program = pfc_fs_join(u->bin, "perfci-runner");
    char *token = pfc_stack_path(&u->stack, "runner.token");
    char *work = pfc_stack_path(&u->stack, "runner");
    const char *argv[] = { program,  "--url", u->stack.url, "--token-file", token,
                           "--work", work,    NULL,         NULL,           NULL };
    pfc_code code = make_runner_token(u, err);

    /* Without a sandbox, jobs would run as root, unless the variable allows it. */
    if (geteuid() == 0 && !getenv("PERFCI_SANDBOX")) {
        argv[RUNNER_WORDS] = "--sandbox";
        argv[RUNNER_WORDS + 1] = "require";
    }
    if (!code)
        code = start_member(u, &u->stack.runner, argv, env, err);
    free(work);
    free(token);
    free(program);
    return code;
}

/* A runner whose token was revoked or has expired would continue to run without receiving a job. */
static pfc_code mend_runner(up *u, pfc_err *err)
{
    pfc_stack *s = &u->stack;

    if (u->no_runner || !pfc_member_alive(&s->runner) || pfc_stack_runner_token(s) != PFC_EDENIED)
        return PFC_OK;
    pfc_cli_note(u->cli, "the runner's token is refused: restarting it with a new one");
    pfc_member_stop(&s->runner, SIGTERM, 10);
    return start_runner(u, err);
}

static pfc_code write_endpoint(const up *u, pfc_err *err)
{
    char *path = pfc_stack_path(&u->stack, "endpoint.json");
    json_t *doc = json_pack("{s:s,s:s}", "url", u->stack.url, "data", u->stack.data);
    char *text = json_dumps(doc, JSON_COMPACT);
    pfc_code code = pfc_fs_write_atomic(path, text, strlen(text), 0644, err);

    free(text);
    json_decref(doc);
    free(path);
    return code;
}

/* Starts what is missing. A server without its cluster, or a runner without its server, is
 * restarted at once instead of after its own timeout. */
static pfc_code bring_up(up *u, pfc_err *err)
{
    pfc_stack *s = &u->stack;
    char *logs = pfc_stack_path(s, "logs");
    pfc_code code = pfc_fs_mkdirs(logs, 0700, err);

    free(logs);
    if (!code && !pfc_member_alive(&s->postgres)) {
        pfc_member_stop(&s->runner, SIGTERM, 10);
        pfc_member_stop(&s->server, SIGTERM, 10);
    }
    /* The port is tested before the cluster is started, so that a port in use is reported at
     * once. */
    if (!code && !pfc_member_alive(&s->server))
        code = settle_port(u, err);
    if (!code && !pfc_member_alive(&s->postgres)) {
        u->started = true;
        code = pfc_cluster_start(s, u->cli, err);
        if (!code)
            code = pfc_stack_save(s, err);
        if (!code)
            code = pfc_cluster_write(s, err);
    }
    if (!code && !pfc_member_alive(&s->server))
        code = start_server(u, err);
    if (!code)
        code = wait_ready(u, err);
    if (!code)
        code = mend_runner(u, err);
    if (!code && !u->no_runner && !pfc_member_alive(&s->runner))
        code = start_runner(u, err);
    if (!code)
        code = write_endpoint(u, err);
    return code;
}

/* All members run, and yet writes fail or will: PostgreSQL's files were replaced under it, or its
 * settings read again. Then it is stopped, and with it what is connected to it; *healing says so.
 */
static pfc_code stop_what_is_stale(up *u, bool ready, bool *healing, pfc_err *err)
{
    pfc_stack *s = &u->stack;
    pfc_err why = { 0 };
    pfc_code code;

    if (!pfc_member_alive(&s->postgres))
        return PFC_OK;
    if (pfc_cluster_replaced(s))
        (void)pfc_err_set(&why, PFC_EUNAVAIL,
                          "PostgreSQL's programs were replaced while it ran (a package upgrade)");
    else if (ready || pfc_cluster_write(s, &why) == PFC_OK)
        return PFC_OK;
    code = pfc_cluster_restartable(s, err);
    if (code)
        return pfc_err_wrap(err, "%.150s; it cannot be restarted", why.msg);
    pfc_cli_note(u->cli, "%s: restarting PostgreSQL and the server", why.msg);
    u->started = true;
    *healing = true;
    return pfc_stack_stop(s, u->cli, err);
}

static bool all_run(const up *u)
{
    char why[PFC_ERR_MAX];

    return pfc_member_alive(&u->stack.postgres) && pfc_member_alive(&u->stack.server) &&
           (u->no_runner || pfc_member_alive(&u->stack.runner)) && pfc_stack_ready(&u->stack, why);
}

/* On stdout, because it is the result: where the service is. */
static void tell(const up *u, bool was_running)
{
    if (u->cli->json)
        pfc_cli_print_json(json_pack("{s:s,s:i,s:s,s:b}", "url", u->stack.url, "port",
                                     u->stack.port, "data", u->stack.data, "already_running",
                                     was_running));
    else
        pfc_out("perfci %s at %s\n", was_running ? "is already running" : "is running",
                u->stack.url);
    fflush(stdout);
}

/* The first member that does not run; NULL: all do. */
static const pfc_member *fallen_member(const pfc_stack *s)
{
    if (!pfc_member_alive(&s->postgres))
        return &s->postgres;
    if (!pfc_member_alive(&s->server))
        return &s->server;
    return s->runner.pid && !pfc_member_alive(&s->runner) ? &s->runner : NULL;
}

/* In the foreground: until a signal, until `down` elsewhere, or until a member ends. */
static int stay(up *u)
{
    pfc_stack *s = &u->stack;
    pfc_err err = { 0 };
    const pfc_member *fallen = NULL;
    const char *name;
    int status = PFC_EXIT_OK;

    pfc_cli_note(u->cli, "Ctrl-C stops it; logs are in %s/logs", s->data);
    do {
        pfc_stack_unlock(s);
        while (!pfc_cli_interrupted(NULL) && !fallen) {
            pfc_clock_sleep_ns(WATCH_MS * PFC_NS_PER_MS);
            fallen = fallen_member(s);
        }
        name = fallen ? fallen->name : NULL;
        if (pfc_stack_lock(s, LOCK_S, &err)) {
            pfc_cli_fail(u->cli, &err);
            return PFC_EXIT_INFRA;
        }
        /* Another `perfci up` may have replaced it. */
        fallen = fallen_member(s);
    } while (name && !fallen);
    if (name && !s->postgres.pid && !s->server.pid) {
        pfc_cli_note(u->cli, "stopped by another command");
        return PFC_EXIT_OK;
    }
    if (name) {
        pfc_cli_warn(u->cli, "%s ended unexpectedly (%s/logs/%s.log); stopping the rest", name,
                     s->data, name);
        status = PFC_EXIT_INFRA;
    } else {
        pfc_cli_note(u->cli, "stopping");
    }
    if (pfc_stack_stop(s, u->cli, &err))
        status = pfc_cli_fail(u->cli, &err);
    return status;
}

/* If the first start fails before the database exists, everything that it made is removed. */
static void forget_first_start(up *u)
{
    json_t *removed = json_array();
    size_t left = 0;

    if (u->first && !(u->stack.cluster && pfc_fs_exists(u->stack.cluster)) &&
        pfc_stack_delete(&u->stack, removed, &left, NULL))
        pfc_cli_warn(u->cli, "%s is not empty", u->stack.data);
    json_decref(removed);
}

static bool never_started(const pfc_stack *stack)
{
    char *record = pfc_stack_path(stack, "stack.json");
    const bool never = !pfc_fs_exists(record);

    free(record);
    return never;
}

static int cmd_up(pfc_cli *cli, int argc, char **argv)
{
    up u = { .cli = cli, .port = -1, .stack.lock_fd = -1 };
    pfc_err err = { 0 };
    int status = PFC_EXIT_OK;
    bool was_running;
    bool healing = false;

    pfc_cli_parse(cli, &pfc_cmd_up, argc, argv, &u);
    pfc_cli_catch_signals();
    if (pfc_fs_program_dir(&u.bin, &err) || pfc_stack_open(&u.stack, u.data, true, &err) ||
        pfc_stack_trusted(&u.stack, &err) || pfc_stack_lock(&u.stack, LOCK_S, &err)) {
        status = pfc_cli_fail(cli, &err);
        goto done;
    }
    u.first = never_started(&u.stack);
    was_running = all_run(&u);
    if (was_running && u.port > 0 && u.port != u.stack.port) {
        pfc_cli_warn(cli, "it already runs on port %d; stop it with `perfci down` first",
                     u.stack.port);
        status = PFC_EXIT_USAGE;
        goto done;
    }
    if (stop_what_is_stale(&u, was_running, &healing, &err) ||
        (!was_running || healing ? bring_up(&u, &err) : mend_runner(&u, &err))) {
        status = pfc_cli_fail(cli, &err);
        /* A service without one of its parts would accept jobs that it cannot finish, so the rest
         * is stopped. */
        if (u.started && pfc_stack_stop(&u.stack, cli, &err))
            pfc_cli_fail(cli, &err);
        forget_first_start(&u);
        status = status == PFC_EXIT_USAGE ? PFC_EXIT_INFRA : status;
        goto done;
    }
    was_running = was_running && !healing;
    tell(&u, was_running);
    if (!was_running && !u.detach)
        status = stay(&u);

done:
    pfc_stack_close(&u.stack);
    free(u.bin);
    return status;
}

const pfc_subcommand pfc_cmd_up = {
    .name = "up",
    .summary = "start the service: private PostgreSQL, server, runner",
    .run = cmd_up,
    .options = options,
    .doc = up_doc,
};
