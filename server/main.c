/*
 * perfci-server: listens, migrates the schema, relays the database's events to waiting requests and
 * event streams, and stops in order.
 *
 * It listens before the database answers, so that a port in use is reported at once and /healthz
 * answers while the server starts; every other route answers 503 until the schema is in place.
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
#include "server/services/access/access.h"
#include "server/services/ingest/ingest.h"
#include "server/services/traces/traces.h"

#define STOP_GRACE_S 6 /* and 2 s for the requests that are cut off then */
#define CUT_AFTER_S                                                                                \
    8 /* after the first signal: stops within 10 s, whatever clients and database do */
#define STATUS_CUT   5
#define RETRY_MS     500
#define RETRY_MAX_MS 4000
#define JOIN_MS      1000
#define JOIN_STEP_MS 5
#define WRITERS      2
#define READERS      2
#define KEPT_BYTES   (64u * 1024 * 1024) /* of freed memory, kept for the next burst of requests */
#define PLOTS_BYTES  ((size_t)64 << 20)  /* of kept answers, see http/kept.h */
#define CACHE_TTL_S  4 /* a revoked token ends within 5 s even when the database's event is lost */
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

/* On the second signal. Every answered request is committed; clients repeat the others. */
static void stop_at_once(void)
{
    pfc_log(PFC_WARN, "stopping_at_once");
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

/* Cancels the statements that are still running at the end of the grace, or while the server is not
 * ready yet: a database that hangs must not keep the server from stopping. */
static void cut_database(server *s)
{
    pfc_log(PFC_WARN, "stopping_statements_cancelled");
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
    /* Written first: a program that waits for `endpoint` then finds this one, too. */
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
        .waiting_each = (unsigned)s->settings.waiting_each,
        .uploads_each = (unsigned)s->settings.uploads_each,
        .hosts = s->settings.hosts,
        .public_url = s->settings.public_url,
        .trusted = s->settings.trusted,
        .threads = (unsigned)s->settings.threads,
        .request_timeout_s = s->settings.request_timeout_s,
        .public_read = s->settings.public_read,
        .docs = docs,
        .allow_plain = s->settings.plain_http,
        .routes = pfc_routes,
        .routes_len = pfc_routes_len,
        .check = pfc_app_check_token,
        .session = pfc_app_check_session,
        .gate = gate,
        .refused = pfc_app_refused,
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

/* Runs a step of the start that needs the database. Retries while the database is unreachable, or
 * read-only because it is not promoted yet. */
static pfc_code when_there(server *s, pfc_code (*step)(server *, pfc_err *), pfc_err *err)
{
    int64_t begun_ns = pfc_clock_ns(), took_ms;
    const int64_t end_ns = begun_ns + (int64_t)(s->settings.database_wait_s * 1e9);
    bool logged = false;
    pfc_code code;

    for (; (code = step(s, err)) != PFC_OK; begun_ns = pfc_clock_ns()) {
        if ((code != PFC_EUNAVAIL && code != PFC_ETIMEOUT) || pfc_clock_ns() >= end_ns ||
            pfc_db_forgets(s->app.db))
            return code;
        if (atomic_load(&s->stop))
            return PFC_OK;
        if (!logged)
            pfc_log(PFC_WARN, "database_unavailable_waiting", "reason",
                    (const char *)(err ? err->msg : ""), "wait_s", s->settings.database_wait_s);
        logged = true;
        /* While a migration waits for a table lock, other sessions queue behind it: wait for at
         * most a third of the time. */
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
    pfc_log(PFC_INFO, "schema_ready", "version", version);
    return PFC_OK;
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

/* LISTEN needs a session of its own, which a pooler in transaction mode does not provide. */
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
        .keep = server_retention(&s->settings),
        .backfill_delay_s = s->settings.backfill_delay_s,
        .backfill_budget = s->settings.backfill_budget,
        .faults = { s->settings.missed_night_s, s->settings.silent_runner_s,
                    s->settings.stalled_nights },
        .notifier = s->notifier,
        .bot = s->bot,
        .thread_health = &s->app.thread_health,
    };

    if (s->settings.workers == 0)
        return PFC_OK;
    s->notifier = NULL; /* the workers' */
    return pfc_workers_start(&s->workers, &opts, err);
}

/* Called before the service reports that it is ready: later events must not be missed. */
static void start_listening(server *s)
{
    char event[PFC_EVENT_MAX];
    pfc_err err = { 0 };
    pfc_code code = pfc_listener_next(s->listener, 0, event, &err);

    /* relay_events retries. No request waits yet, so an event that this call reads may be dropped.
     */
    if (code != PFC_OK && code != PFC_ETIMEOUT)
        pfc_log(PFC_WARN, "database_events_not_received", "reason", (const char *)err.msg);
}

/* Names the part of the server that makes no progress; NULL: all do. Each part records its own
 * progress, so that no thread can report for another. */
static const char *stalled_part(server *s)
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
        return "connection_timer";
    if (pfc_httpd_stuck_s(s->app.http) > STUCK_MAX_S)
        return "http_threads";
    if (pfc_thread_health_silent_s(&s->app.thread_health) > PFC_THREAD_HEALTH_SILENT_S)
        return "worker";
    if ((double)(now_ns - atomic_load(&s->seen_ns)) * 1e-9 > STUCK_MAX_S)
        return "main_loop";
    if ((double)(now_ns - s->stored_ns) * 1e-9 > STUCK_MAX_S)
        return "run_writer";
    return NULL;
}

/* Called by the watchdog's thread only. */
static bool is_alive(void *context)
{
    server *s = context;
    const char *stalled = stalled_part(s);

    if (stalled && !s->hangs)
        pfc_log(PFC_ERROR, "watchdog_missed", "part", stalled);
    s->hangs = stalled != NULL;
    return !stalled;
}

static pfc_code start(server *s, pfc_err *err)
{
    /* One connection for each thread that uses the database, so that none waits for another's; the
     * bot's thread has two. */
    const pfc_db_opts db = {
        .url = s->settings.database,
        .read_url = s->settings.read_database,
        .unprepared = !s->settings.prepare,
        .durable = !s->settings.unsafe,
        .connections =
            (unsigned)(s->settings.threads + s->settings.workers + WRITERS + READERS + 6),
    };
    pfc_code code;

    s->app.lease_s = s->settings.lease_s;
    s->app.sources = s->settings.sources;
    pthread_mutex_init(&s->app.snapshot.gate.lock, NULL);
    pthread_mutex_init(&s->app.seen_schema.gate.lock, NULL);
    s->app.cache = pfc_cache_new(CACHE_TTL_S);
    s->app.traces = pfc_trace_views_new();
    s->app.kept = pfc_kept_new(PLOTS_BYTES);
    code = pfc_manager_sockets(&s->listen_fd, &s->ops_fd, err);
    if (!code)
        code = pfc_db_open(&s->app.db, &db, err);
    if (!code)
        code = server_open_notifier(&s->settings, s->app.db, &s->notifier, err);
    if (!code)
        code = server_open_bot(s, err);
    if (!code)
        code = pfc_listener_open(&s->listener, events_url(s), err);
    if (!code)
        code = start_signals(s, err);
    if (!code)
        code = start_http(s, err);
    if (!code) {
        pfc_db_look_up_hosts(db.url);
        if (db.read_url)
            pfc_db_look_up_hosts(db.read_url);
        code = when_there(s, migrate, err);
    }
    if (!code && !atomic_load(&s->stop))
        code = when_there(s, server_bootstrap_token, err);
    if (!code && !atomic_load(&s->stop))
        code = start_workers(s, err);
    if (!code && !atomic_load(&s->stop))
        code = start_writer(s, err);
    if (!code && !atomic_load(&s->stop))
        code = pfc_refusals_start(&s->app.refusals, s->app.db, err);
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

/* Runs until the server stops. After a lost connection all waiting requests run again, because
 * events may have been missed. */
static void relay_events(server *s)
{
    char event[PFC_EVENT_MAX];
    bool down = false, trusted = false;

    while (!atomic_load(&s->stop)) {
        pfc_err err = { 0 };
        pfc_code code = pfc_listener_next(s->listener, 5000, event, &err);
        bool listening = code == PFC_OK || code == PFC_ETIMEOUT;

        atomic_store(&s->seen_ns, pfc_clock_ns());
        if (atomic_exchange(&s->reload, false))
            server_reload(s);
        if (listening != trusted)
            pfc_cache_trust(s->app.cache, listening);
        trusted = listening;
        if (listening) {
            if (down) {
                pfc_log(PFC_INFO, "database_available");
                pfc_httpd_wake_all(s->app.http);
                pfc_httpd_end_streams(s->app.http, 0);
            }
            down = false;
            if (code == PFC_OK)
                server_relay(s, event);
            else if (pfc_memory_give_back(KEPT_BYTES)) /* no event for a while */
                pfc_log(PFC_DEBUG, "memory_returned");
            continue;
        }
        if (!down)
            pfc_log(PFC_WARN, "database_unavailable", "reason", (const char *)err.msg);
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
    pfc_bot_close(s->bot);
    /* After HTTP, which waits for the runs that are being stored. */
    pfc_writer_stop(s->app.writer);
    if (s->signals_running) {
        atomic_store(&s->over, true);
        (void)pthread_kill(s->signals, SIGTERM);
        end_signals(s);
    }
    pfc_httpd_free(s->app.http);
    pfc_refusals_stop(s->app.refusals);
    if (s->listener)
        pfc_listener_close(s->listener);
    pfc_db_close(s->app.db);
    pfc_bot_setups_free(s->setups);
    pfc_cache_free(s->app.cache);
    pfc_trace_views_free(s->app.traces);
    pfc_kept_free(s->app.kept);
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
        pfc_log(PFC_INFO, "role_granted", "role", s->settings.server_role);
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
