/*
 * perfci-server: listens, brings the schema up to date, relays the database's events to those who
 * wait, and stops in order.
 *
 * It listens before the database answers, so that a taken port is told at once and /healthz says
 * that the process lives; everything else is 503 until the schema is in place.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/process/proc_memory.h"
#include "server/handlers/handlers.h"
#include "server/manager.h"
#include "server/running.h"

#define STOP_GRACE_S 6 /* and 2 for what is cut off then */
#define CUT_AFTER_S  8 /* of stopping: over within 10 s, whatever clients and database do */
#define STATUS_CUT   5
#define RETRY_MS     500
#define RETRY_MAX_MS 4000
#define JOIN_MS      1000
#define JOIN_STEP_MS 5
#define WRITERS      2
#define READERS      2
#define KEPT_BYTES   (64u * 1024 * 1024) /* of freed memory, for the next crowd */
#define CACHE_TTL_S  4 /* a revoked token ends within 5 s, should word of it be lost */
#define SILENT_MAX_S 10
#define STUCK_MAX_S                                                                                \
    60 /* statements end after 10 s, and so do the handlers that make a few of them */

/* ---- signals ---- */

static void our_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
}

/* Asked a second time: whoever waits for the end waits no longer. What was answered is committed, and
 * what was not is sent again by its client. */
static void stop_at_once(void)
{
    pfc_log(PFC_WARN, "stopping at once: a second signal");
    _exit(STATUS_CUT);
}

/* The next signal; 0: none came within CUT_AFTER_S. */
static int next_signal(const sigset_t *set, bool within)
{
    const struct timespec most = { .tv_sec = CUT_AFTER_S };
    int signal_number = 0;

    if (!within)
        (void)sigwait(set, &signal_number);
    else
        do
            signal_number = sigtimedwait(set, NULL, &most);
        while (signal_number < 0 && errno == EINTR);
    return PFC_MAX(signal_number, 0);
}

/* What still waits for the database at the end of the grace, or while nothing is ready anyway, is not
 * waited for: a database that hangs must not make the server hang. */
static void cut_database(server *s)
{
    pfc_log(PFC_WARN, "stopping: what waits for the database is cut off");
    pfc_db_abort(s->app.db);
}

static void *signals_main(void *arg)
{
    server *s = arg;
    sigset_t set;
    bool stopping = false, cut = false;

    our_signals(&set);
    for (;;) {
        const int signal_number = next_signal(&set, stopping && !cut);

        if (atomic_load(&s->over))
            return NULL;
        if (signal_number == SIGHUP) {
            atomic_store(&s->reload, true);
        } else if (signal_number && stopping) {
            stop_at_once();
        } else if (signal_number) {
            atomic_store(&s->stop, true);
            stopping = true;
        }
        pfc_listener_wake(s->listener);
        if (stopping && !cut && (!signal_number || !atomic_load(&s->app.ready))) {
            cut = true;
            cut_database(s);
        }
    }
}

/* Before any thread: all inherit the mask, and one waits for the signals. */
static pfc_code start_signals(server *s, pfc_err *err)
{
    sigset_t set;

    our_signals(&set);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&s->signals, NULL, signals_main, s) != 0)
        return pfc_err_set(err, PFC_EIO, "no thread for the signals");
    s->signals_running = true;
    return PFC_OK;
}

/* Waits between two tries, ended early by a signal. */
static void pause_ms(server *s, int ms)
{
    for (int waited = 0; waited < ms && !atomic_load(&s->stop); waited += 50)
        pfc_clock_sleep_ns(50 * PFC_NS_PER_MS);
}

/* It may be at the database, which may hang; then it is left where it is. */
static void end_signals(server *s)
{
    /* Not pthread_clockjoin_np: ThreadSanitizer does not know it, and calls the thread lost. */
    for (int waited = 0; waited < JOIN_MS; waited += JOIN_STEP_MS) {
        if (pthread_tryjoin_np(s->signals, NULL) == 0)
            return;
        pfc_clock_sleep_ns(JOIN_STEP_MS * PFC_NS_PER_MS);
    }
    (void)pthread_detach(s->signals);
}

/* ---- start ---- */

static pfc_code gate(pfc_app *app, pfc_err *err)
{
    if (atomic_load(&app->ready))
        return PFC_OK;
    return pfc_err_set(err, PFC_EUNAVAIL, "the service is starting: its database is not ready yet");
}

static pfc_code write_url(const server *s, const char *name, const char *url, pfc_err *err)
{
    char *path = pfc_fs_join(s->settings.data, name);
    char *text = pfc_format("%s\n", url);
    pfc_code code = pfc_fs_write_atomic(path, text, strlen(text), 0644, err);

    free(text);
    free(path);
    return code;
}

static pfc_code write_endpoint(const server *s, pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (!s->settings.data)
        return PFC_OK;
    if (pfc_fs_mkdirs(s->settings.data, 0700, err) != PFC_OK)
        return pfc_err_wrap(err, "--data");
    /* Who waits for the first finds the second, too. */
    if (!code && pfc_httpd_ops_url(s->app.http)[0])
        code = write_url(s, "ops-endpoint", pfc_httpd_ops_url(s->app.http), err);
    if (!code)
        code = write_url(s, "endpoint", pfc_httpd_url(s->app.http), err);
    return code;
}

static pfc_code start_http(server *s, pfc_err *err)
{
    char *cert = NULL, *key = NULL, *docs = pfc_httpd_docs_dir(s->settings.docs);
    pfc_httpd_opts opts = {
        .listen = s->settings.listen,
        .listen_fd = s->listen_fd,
        .ops_listen = s->settings.ops_listen,
        .ops_fd = s->ops_fd,
        .rate_address = (double)s->settings.rate_address,
        .rate_token = (double)s->settings.rate_token,
        .connections = (unsigned)s->settings.connections,
        .connections_each = (unsigned)s->settings.connections_each,
        .trusted = s->settings.trusted,
        .threads = (unsigned)s->settings.threads,
        .request_timeout_s = s->settings.request_timeout_s,
        .public_read = s->settings.public_read,
        .docs = docs,
        .plain_far = s->settings.plain_http,
        .routes = pfc_routes,
        .routes_len = pfc_routes_len,
        .check = pfc_app_check_token,
        .gate = gate,
        .app = &s->app,
    };
    pfc_code code = server_read_tls(s, &cert, &key, err);

    opts.tls_cert = cert;
    opts.tls_key = key;
    if (!code)
        code = pfc_httpd_start(&opts, &s->app.http, err);
    free(cert);
    free(docs);
    server_wipe(key);
    if (code)
        return code;
    pfc_log(PFC_INFO, "listening", "url", pfc_httpd_url(s->app.http), "operations",
            pfc_httpd_ops_url(s->app.http), "version", PFC_VERSION);
    return write_endpoint(s, err);
}

/* A step of the start that needs the database; one that is away, or takes no writes because it is yet
 * to be promoted, is waited for. */
static pfc_code when_there(server *s, pfc_code (*step)(server *, pfc_err *), pfc_err *err)
{
    int64_t begun_ns = pfc_clock_ns(), took_ms;
    const int64_t end_ns = begun_ns + (int64_t)(s->settings.database_wait_s * 1e9);
    bool told = false;
    pfc_code code;

    for (; (code = step(s, err)) != PFC_OK; begun_ns = pfc_clock_ns()) {
        if ((code != PFC_EUNAVAIL && code != PFC_ETIMEOUT) || pfc_clock_ns() >= end_ns ||
            pfc_db_forgets(s->app.db))
            return code;
        if (atomic_load(&s->stop))
            return PFC_OK;
        if (!told)
            pfc_log(PFC_WARN, "database away, waiting", "reason",
                    (const char *)(err ? err->msg : ""), "wait_s", s->settings.database_wait_s);
        told = true;
        /* Others wait while a migration waits for a table: for a third of the time at most. */
        took_ms = (pfc_clock_ns() - begun_ns) / PFC_NS_PER_MS;
        pause_ms(s, (int)PFC_MIN(PFC_MAX(RETRY_MS, 2 * took_ms), RETRY_MAX_MS));
    }
    return PFC_OK;
}

static pfc_code migrate(server *s, pfc_err *err)
{
    int version = 0;
    pfc_code code = pfc_db_migrate(s->app.db, &version, err);

    if (code)
        return code;
    atomic_store(&s->app.schema_version, version);
    pfc_log(PFC_INFO, "schema in place", "version", version);
    return PFC_OK;
}

/* Is the file's first line a token that works? */
static bool token_file_works(server *s, const char *path)
{
    pfc_principal who = { 0 };
    char *text = NULL;
    size_t len = 0;
    bool works = false;

    if (pfc_fs_read(path, 4096, &text, &len, NULL) == PFC_OK) {
        text[strcspn(text, "\r\n")] = '\0';
        works = pfc_token_verify(s->app.db, text, &who, NULL) == PFC_OK &&
                (who.scopes & PFC_SCOPE_ADMIN) && who.project_id == 0;
    }
    free(text);
    return works;
}

static pfc_code bootstrap_token(server *s, pfc_err *err)
{
    const char *path = s->settings.bootstrap_token;
    char secret[PFC_TOKEN_TEXT] = "";
    char *line;
    int64_t id = 0;
    pfc_code code;

    if (!path || token_file_works(s, path))
        return PFC_OK;
    code = pfc_token_create(s->app.db, "perfci-server", "bootstrap", PFC_SCOPE_ALL, 0, 0, &id,
                            secret, err);
    if (code)
        return code;
    line = pfc_format("%s\n", secret);
    code = pfc_fs_write_atomic(path, line, strlen(line), 0600, err);
    free(line);
    if (!code) {
        pfc_log(PFC_INFO, "admin token written", "file", path, "token_id", id);
        return PFC_OK;
    }
    /* One that nobody can use: each start would leave another. */
    if (pfc_token_revoke(s->app.db, "perfci-server", id, NULL) != PFC_OK)
        pfc_log(PFC_WARN, "a token that nobody has is left: revoke it", "token_id", id);
    return pfc_err_wrap(err, "--bootstrap-token-file");
}

static void on_stored(void *context, const uint64_t *tags, size_t len)
{
    const server *s = context;

    pfc_httpd_resume(s->app.http, tags, len);
}

static pfc_code start_writer(server *s, pfc_err *err)
{
    const pfc_writer_opts opts = {
        .db = s->app.db, .threads = WRITERS, .readers = READERS, .done = on_stored, .context = s
    };

    return pfc_writer_start(&s->app.writer, &opts, err);
}

/* Events are heard on connections that no pooler may hand to others. */
static const char *events_url(const server *s)
{
    return s->settings.direct_database ? s->settings.direct_database : s->settings.database;
}

static pfc_code start_workers(server *s, pfc_err *err)
{
    const pfc_workers_opts opts = {
        .db = s->app.db,
        .url = events_url(s),
        .detectors = (unsigned)s->settings.workers,
        .lease_s = s->settings.lease_s,
        .raw_months = (int)s->settings.raw_months,
        .day_months = (int)s->settings.day_months,
        .backfill_delay_s = s->settings.backfill_delay_s,
        .backfill_budget = s->settings.backfill_budget,
        .notifier = s->notifier,
        .pulse = &s->app.pulse,
    };

    if (s->settings.workers == 0)
        return PFC_OK;
    s->notifier = NULL; /* the workers' */
    return pfc_workers_start(&s->workers, &opts, err);
}

/* Before the service says that it is ready: what happens from then on must not go unheard. */
static void start_listening(server *s)
{
    char event[PFC_EVENT_MAX];
    pfc_err err = { 0 };
    pfc_code code = pfc_listener_next(s->listener, 0, event, &err);

    /* relay_events tries again; nobody has waited yet, so an event that is here already is no loss. */
    if (code != PFC_OK && code != PFC_ETIMEOUT)
        pfc_log(PFC_WARN, "events of the database not heard yet", "reason", (const char *)err.msg);
}

/* What hangs, or NULL: locks, all threads that answer, this server's own work, the main thread, or what is
 * to be stored. Each is asked of the one that does the work, so none can be told for another. */
static const char *what_hangs(server *s)
{
    const int64_t now_ns = pfc_clock_ns();
    pfc_writer_counts counts = { 0 };
    uint64_t done;

    pfc_writer_figures(s->app.writer, &counts);
    done = counts.grouped + counts.alone;
    if (counts.waiting == 0 || done != s->stored) {
        s->stored = done;
        s->stored_ns = now_ns;
    }
    if (pfc_httpd_silent_s(s->app.http) > SILENT_MAX_S)
        return "the clock of the connections";
    if (pfc_httpd_stuck_s(s->app.http) > STUCK_MAX_S)
        return "all threads that answer requests";
    if (pfc_pulse_silent_s(&s->app.pulse) > PFC_PULSE_SILENT_S)
        return "a worker";
    if ((double)(now_ns - atomic_load(&s->seen_ns)) * 1e-9 > STUCK_MAX_S)
        return "the thread that hears events";
    if ((double)(now_ns - s->stored_ns) * 1e-9 > STUCK_MAX_S)
        return "the storing of runs";
    return NULL;
}

/* For the watchdog's thread alone. */
static bool is_alive(void *context)
{
    server *s = context;
    const char *hangs = what_hangs(s);

    if (hangs && !s->hangs)
        pfc_log(PFC_ERROR, "the watchdog is not fed any more: it hangs", "what", hangs);
    s->hangs = hangs != NULL;
    return !hangs;
}

static pfc_code start(server *s, pfc_err *err)
{
    /* As many connections as may be asked for at once, so that no thread waits for another's. */
    const pfc_db_opts db = {
        .url = s->settings.database,
        .read_url = s->settings.read_database,
        .unprepared = !s->settings.prepare,
        .durable = !s->settings.unsafe,
        .connections =
            (unsigned)(s->settings.threads + s->settings.workers + WRITERS + READERS + 4),
    };
    pfc_code code;

    s->app.lease_s = s->settings.lease_s;
    s->app.sources = s->settings.sources;
    pthread_mutex_init(&s->app.snapshot.turn.lock, NULL);
    pthread_mutex_init(&s->app.seen_schema.turn.lock, NULL);
    s->app.cache = pfc_cache_new(CACHE_TTL_S);
    code = pfc_manager_sockets(&s->listen_fd, &s->ops_fd, err);
    if (!code)
        code = pfc_db_open(&s->app.db, &db, err);
    if (!code)
        code = server_open_notifier(&s->settings, s->app.db, &s->notifier, err);
    if (!code)
        code = pfc_listener_open(&s->listener, events_url(s), err);
    if (!code)
        code = start_signals(s, err);
    if (!code)
        code = start_http(s, err);
    if (!code)
        code = when_there(s, migrate, err);
    if (!code && !atomic_load(&s->stop))
        code = when_there(s, bootstrap_token, err);
    if (!code && !atomic_load(&s->stop))
        code = start_workers(s, err);
    if (!code && !atomic_load(&s->stop))
        code = start_writer(s, err);
    if (!code && !atomic_load(&s->stop)) {
        start_listening(s);
        s->stored_ns = pfc_clock_ns();
        atomic_store(&s->seen_ns, s->stored_ns);
        code = pfc_watchdog_start(&s->watchdog, is_alive, s, err);
    }
    if (!code && !atomic_load(&s->stop)) {
        char *status = pfc_format("answers at %s", pfc_httpd_url(s->app.http));

        atomic_store(&s->app.ready, true);
        pfc_log(PFC_INFO, "ready", "url", pfc_httpd_url(s->app.http));
        pfc_manager_ready(status);
        free(status);
    }
    return code;
}

/* ---- events ---- */

/* Until told to stop. After a gap all who wait look again: news may have been missed. */
static void relay_events(server *s)
{
    char event[PFC_EVENT_MAX];
    bool down = false, heard = false;

    while (!atomic_load(&s->stop)) {
        pfc_err err = { 0 };
        pfc_code code = pfc_listener_next(s->listener, 5000, event, &err);
        bool hears = code == PFC_OK || code == PFC_ETIMEOUT;

        atomic_store(&s->seen_ns, pfc_clock_ns());
        if (atomic_exchange(&s->reload, false))
            server_reload(s);
        if (hears != heard)
            pfc_cache_trust(s->app.cache, hears);
        heard = hears;
        if (hears) {
            if (down) {
                pfc_log(PFC_INFO, "database back");
                pfc_httpd_wake_all(s->app.http);
                pfc_httpd_end_streams(s->app.http, 0);
            }
            down = false;
            if (code == PFC_OK)
                server_relay(s, event);
            else if (pfc_memory_give_back(KEPT_BYTES)) /* nothing has happened for a while */
                pfc_log(PFC_DEBUG, "memory given back");
            continue;
        }
        if (!down)
            pfc_log(PFC_WARN, "database away", "reason", (const char *)err.msg);
        down = true;
        pause_ms(s, RETRY_MS);
    }
}

/* ---- stop ---- */

static void stop(server *s)
{
    pfc_manager_stopping();
    pfc_watchdog_stop(s->watchdog);
    pfc_workers_halt(s->workers);
    if (s->app.http) {
        pfc_log(PFC_INFO, "stopping");
        pfc_httpd_stop(s->app.http, STOP_GRACE_S);
    }
    pfc_workers_stop(s->workers);
    pfc_notifier_close(s->notifier);
    /* After HTTP, which waits for the answers of what is being stored. */
    pfc_writer_stop(s->app.writer);
    if (s->signals_running) {
        atomic_store(&s->over, true);
        (void)pthread_kill(s->signals, SIGTERM);
        end_signals(s);
    }
    pfc_httpd_free(s->app.http);
    if (s->listener)
        pfc_listener_close(s->listener);
    pfc_db_close(s->app.db);
    pfc_cache_free(s->app.cache);
    pfc_rows_clear(&s->app.snapshot.jobs);
    free(atomic_load(&s->app.description));
    pfc_server_settings_clear(&s->settings);
}

/* --migrate: nothing is served. */
static pfc_code grant(server *s, pfc_err *err)
{
    return pfc_db_grant(s->app.db, s->settings.server_role, err);
}

static pfc_code migrate_alone(server *s, pfc_err *err)
{
    const pfc_db_opts db = { .url = s->settings.database,
                             .unprepared = !s->settings.prepare,
                             .connections = 1 };
    pfc_code code = pfc_db_open(&s->app.db, &db, err);

    if (!code)
        code = when_there(s, migrate, err);
    if (!code && s->settings.server_role)
        code = when_there(s, grant, err);
    if (!code && s->settings.server_role)
        pfc_log(PFC_INFO, "role may serve", "role", s->settings.server_role);
    return code;
}

/* --openapi. */
static int print_description(void)
{
    json_t *description = pfc_openapi(pfc_routes, pfc_routes_len);
    int failed = json_dumpf(description, stdout, JSON_INDENT(1)) != 0;

    json_decref(description);
    failed |= fputc('\n', stdout) == EOF || fflush(stdout) != 0;
    return failed ? 5 : 0;
}

int main(int argc, char **argv)
{
    static server s;
    pfc_err err = { 0 };
    pfc_code code;
    int status;

    pfc_fs_open_standard();
    pfc_log_set_program("perfci-server");
    pfc_log_never_wait();
    code = pfc_server_settings_read(argc, argv, &s.settings, &err);
    if (code || s.settings.done) {
        if (code)
            fprintf(stderr, "perfci-server: %s\n", err.msg);
        pfc_server_settings_clear(&s.settings);
        return code ? 2 : 0;
    }
    if (s.settings.openapi) {
        status = print_description();
        pfc_server_settings_clear(&s.settings);
        return status;
    }
    pfc_log_set_level(s.settings.log_level);

    code = s.settings.migrate ? migrate_alone(&s, &err) : start(&s, &err);
    if (!code && !s.settings.migrate)
        relay_events(&s);
    stop(&s);
    status = code ? 5 : 0;
    if (code == PFC_EINVAL || code == PFC_EDENIED || code == PFC_ENOTFOUND)
        status = 2; /* a setting, or a file that one names */
    if (code)
        fprintf(stderr, "perfci-server: %s\n", err.msg);
    else
        pfc_log(PFC_INFO, "stopped");
    return status;
}
