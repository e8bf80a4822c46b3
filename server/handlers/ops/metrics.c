/* GET /metrics: OpenMetrics 1.0, or the older Prometheus text format when the client prefers it. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "server/handlers/handlers.h"
#include "server/services/ingest/ingest.h"

#define OPENMETRICS "application/openmetrics-text"
#define OPEN_TYPE   OPENMETRICS "; version=1.0.0; charset=utf-8"
#define TEXT_TYPE   "text/plain; version=0.0.4; charset=utf-8"
#define MAX_BYTES   (4u * 1024 * 1024)
#define TIMEOUT_NS  (3 * PFC_NS_PER_S) /* a read that takes longer counts as a failure */

static void put_gauge(pfc_buf *out, const char *name, const char *help, double value)
{
    pfc_buf_printf(out, "# TYPE %s gauge\n# HELP %s %s\n%s %.15g\n", name, name, help, name, value);
}

static void put_counter(pfc_buf *out, const char *name, const char *help, double value)
{
    pfc_buf_printf(out, "# TYPE %s counter\n# HELP %s %s\n%s_total %.15g\n", name, name, help, name,
                   value);
}

/* ---- this server ---- */

static double seconds_of(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

/* Open file descriptors by /proc/self/fd, without the one of the listing; -1: not readable. */
static double open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    double n = -1;

    if (!dir)
        return n;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        n += entry->d_name[0] != '.';
    (void)closedir(dir);
    return n;
}

/* The names of the Prometheus client libraries, so that existing dashboards work. */
static void put_process(pfc_buf *out)
{
    struct rusage used = { 0 };
    struct rlimit files = { 0 };
    unsigned long long resident = 0;
    char *text = NULL;
    size_t len = 0;

    (void)getrusage(RUSAGE_SELF, &used);
    put_counter(out, "process_cpu_seconds", "Processor time of this server.",
                seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime));
    if (pfc_fs_read("/proc/self/statm", 4096, &text, &len, NULL) == PFC_OK &&
        sscanf(text, "%*u %llu", &resident) == 1)
        put_gauge(out, "process_resident_memory_bytes", "Resident memory.",
                  (double)resident * (double)sysconf(_SC_PAGESIZE));
    free(text);
    put_gauge(out, "process_open_fds", "Open files and sockets.", open_files());
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        put_gauge(out, "process_max_fds", "Limit of open files and sockets.",
                  (double)files.rlim_cur);
}

static void put_own(pfc_app *app, pfc_buf *out)
{
    const pfc_thread_health *health = &app->thread_health;
    pfc_db_counts pool = { 0 };
    pfc_writer_counts writer = { 0 };
    pfc_kept_figures kept;

    pfc_db_figures(app->db, &pool);
    put_gauge(out, "perfci_pool_connections", "Database connections of this server.",
              (double)pool.connections);
    put_gauge(out, "perfci_pool_busy", "Connections in use.", (double)pool.busy);
    put_counter(out, "perfci_pool_waits", "Requests that waited for a connection.",
                (double)pool.waits);
    put_counter(out, "perfci_pool_refused", "Requests that timed out waiting for a connection.",
                (double)pool.refused);
    put_counter(out, "perfci_log_lines_lost", "Log lines dropped because stderr was not read.",
                (double)pfc_log_lost());
    put_gauge(out, "perfci_workers_silent_seconds",
              "Time since the least recent sign of life of a worker thread.",
              pfc_thread_health_silent_s(health));
    put_counter(out, "perfci_detection_batches", "Batches of runs that were judged.",
                (double)atomic_load(&health->judged));
    put_counter(out, "perfci_detection_points", "New points of series that were judged.",
                (double)atomic_load(&health->points));
    put_counter(out, "perfci_detection_series", "Series that were judged, each once a batch.",
                (double)atomic_load(&health->series));
    put_counter(out, "perfci_detection_series_passed",
                "Series that were judged by their new points alone, without their history.",
                (double)atomic_load(&health->passed));
    put_counter(out, "perfci_detection_failures",
                "Batches of runs that failed, or had to be retried.",
                (double)atomic_load(&health->not_judged));
    put_counter(out, "perfci_leases_expired", "Jobs whose lease expired without a heartbeat.",
                (double)atomic_load(&health->expired));
    pfc_kept_count(app->kept, &kept);
    put_gauge(out, "perfci_kept_bytes", "Memory of answers that are kept, plain and compressed.",
              (double)kept.bytes);
    put_counter(out, "perfci_kept_found", "Requests answered by a kept answer.",
                (double)kept.found);
    put_counter(out, "perfci_kept_built", "Answers that were built and kept.", (double)kept.built);
    put_process(out);
    /* The writer starts after the schema is in place. */
    if (!atomic_load(&app->ready) || !app->writer)
        return;
    pfc_writer_figures(app->writer, &writer);
    put_gauge(out, "perfci_ingest_waiting", "Runs that wait to be stored.", (double)writer.waiting);
    put_gauge(out, "perfci_ingest_room", "Limit of waiting runs, from the current storage rate.",
              (double)writer.room);
    put_counter(out, "perfci_ingest_groups", "Transactions that stored several runs at once.",
                (double)writer.groups);
    put_counter(out, "perfci_ingest_grouped", "Runs stored in such groups.",
                (double)writer.grouped);
    put_counter(out, "perfci_ingest_alone", "Runs that needed a transaction of their own.",
                (double)writer.alone);
}

/* ---- the database ---- */

/* Called without the lock; returns with it held. */
static void refresh(pfc_app *app)
{
    pfc_snapshot *s = &app->snapshot;
    pfc_figures figures = { 0 };
    pfc_job_counts jobs = { 0 }, old;
    pfc_fleet_figures fleet = { 0 };
    const bool up = pfc_figures_get(app->db, 0, &figures, NULL) == PFC_OK &&
                    pfc_fleet_figures_get(app->db, &fleet, NULL) == PFC_OK &&
                    pfc_standbys_look(app->db, &app->thread_health.unsynced, NULL) == PFC_OK &&
                    pfc_job_counts_get(app->db, &jobs, NULL) == PFC_OK;

    pthread_mutex_lock(&s->gate.lock);
    old = s->jobs;
    s->jobs = jobs;
    s->figures = figures;
    s->fleet = fleet;
    s->up = up;
    pfc_refresh_end(&s->gate);
    pfc_rows_clear(&old);
}

/* The schema defines the kinds and states, so the number of series is bounded. */
static void put_jobs(const pfc_job_counts *jobs, pfc_buf *out)
{
    pfc_buf_puts(out, "# TYPE perfci_jobs gauge\n# HELP perfci_jobs Open jobs.\n");
    for (size_t i = 0; i < jobs->len; i++)
        pfc_buf_printf(out, "perfci_jobs{kind=\"%s\",state=\"%s\"} %lld\n", jobs->items[i].kind,
                       jobs->items[i].state, (long long)jobs->items[i].jobs);
    pfc_buf_puts(out, "# TYPE perfci_jobs_oldest_seconds gauge\n"
                      "# UNIT perfci_jobs_oldest_seconds seconds\n"
                      "# HELP perfci_jobs_oldest_seconds Age of the oldest of them.\n");
    for (size_t i = 0; i < jobs->len; i++)
        pfc_buf_printf(out, "perfci_jobs_oldest_seconds{kind=\"%s\",state=\"%s\"} %.15g\n",
                       jobs->items[i].kind, jobs->items[i].state, jobs->items[i].oldest_s);
}

static void put_up(bool up, pfc_buf *out)
{
    put_gauge(out, "perfci_database_up", "1 when the last read of the database succeeded.", up);
}

static void put_figures(const pfc_snapshot *s, int64_t unsynced, pfc_buf *out)
{
    const pfc_figures *f = &s->figures;

    put_up(s->up, out);
    if (!s->up)
        return;
    put_gauge(out, "perfci_runs", "Runs stored.", (double)f->runs);
    put_gauge(out, "perfci_measurements", "Measurements stored.", (double)f->measurements);
    put_gauge(out, "perfci_series", "Series stored.", (double)f->series);
    put_gauge(out, "perfci_alerts_open",
              "Alerts that are untriaged, acknowledged or under investigation.",
              (double)f->alerts_open);
    put_gauge(out, "perfci_jobs_queued", "Jobs that wait for a runner.", (double)f->jobs_queued);
    put_gauge(out, "perfci_jobs_leased", "Jobs that are leased to a runner.",
              (double)f->jobs_leased);
    put_gauge(out, "perfci_notices_open", "Notices with unfinished deliveries.",
              (double)f->notices_open);
    put_gauge(out, "perfci_notices_dead", "Deliveries that failed for good.",
              (double)f->notices_dead);
    put_gauge(out, "perfci_runners", "Runners seen within five minutes.", (double)f->runners);
    put_gauge(out, "perfci_runners_alarmed", "Runners whose spool or disk needs attention.",
              (double)s->fleet.alarms);
    put_gauge(out, "perfci_spool_documents", "Results that wait on runners to be uploaded.",
              (double)s->fleet.documents);
    put_gauge(out, "perfci_spool_oldest_seconds",
              "Age of the oldest result that waits on a runner.", s->fleet.oldest_s);
    if (isfinite(s->fleet.disk_free_bytes))
        put_gauge(out, "perfci_runners_disk_free_bytes",
                  "Least free disk of a runner that reported.", s->fleet.disk_free_bytes);
    put_gauge(out, "perfci_detection_lag_seconds", "Age of the oldest run that is not judged yet.",
              f->detection_lag_s);
    put_gauge(out, "perfci_database_standbys_unsynced",
              "Standbys that no commit waits for: a fail-over may lose acknowledged results.",
              (double)unsynced);
    put_jobs(&s->jobs, out);
}

/* A request that arrives while another one reads gets the last figures, and perfci_database_up 0
 * when the read takes longer than TIMEOUT_NS: a database that hangs blocks one thread, and two
 * scrapes at once are no outage. */
static void put_database(pfc_app *app, pfc_buf *out)
{
    pfc_snapshot *s = &app->snapshot;

    pthread_mutex_lock(&s->gate.lock);
    if (pfc_refresh_begin(&s->gate)) {
        pthread_mutex_unlock(&s->gate.lock);
        refresh(app);
    }
    if (pfc_refresh_pending_ns(&s->gate) >= TIMEOUT_NS)
        put_up(false, out);
    else if (s->gate.end_ns) /* 0: no read has finished yet */
        put_figures(s, atomic_load(&app->thread_health.unsynced), out);
    pthread_mutex_unlock(&s->gate.lock);
}

/* ---- the older text ---- */

/* The older format names the sample, not its family, in TYPE and HELP, and has neither UNIT nor
 * EOF. */
static void put_plain_line(pfc_buf *out, const char *line, size_t len, const char **suffix)
{
    const size_t name = 7 + strcspn(line + 7, " ");

    if (len > 7 && strncmp(line, "# TYPE ", 7) == 0) {
        const bool info = strncmp(line + name, " info", 5) == 0;

        *suffix = info ? "_info" : strncmp(line + name, " counter", 8) == 0 ? "_total" : "";
        pfc_buf_append(out, line, name);
        pfc_buf_puts(out, *suffix);
        pfc_buf_puts(out, info ? " gauge\n" : "");
        if (!info)
            pfc_buf_append(out, line + name, len - name);
    } else if (len > 7 && strncmp(line, "# HELP ", 7) == 0) {
        pfc_buf_append(out, line, name);
        pfc_buf_puts(out, *suffix);
        pfc_buf_append(out, line + name, len - name);
    } else if (line[0] != '#') {
        pfc_buf_append(out, line, len);
    }
}

static void to_plain(const char *text, pfc_buf *out)
{
    const char *suffix = "";

    while (*text) {
        const size_t len = strcspn(text, "\n") + 1;

        put_plain_line(out, text, len, &suffix);
        text += len;
    }
}

/* Works without the database, too: perfci_database_up is 0 then. */
PFC_HANDLER(metrics)
{
    const bool plain =
        pfc_req_type_weight(req, "text/plain") > pfc_req_type_weight(req, OPENMETRICS);
    pfc_buf out, older;
    pfc_code code;

    pfc_buf_init(&out, MAX_BYTES);
    pfc_buf_init(&older, MAX_BYTES);
    pfc_buf_printf(&out,
                   "# TYPE perfci_build info\n# HELP perfci_build Version of the server.\n"
                   "perfci_build_info{version=\"%s\",schema=\"%d\"} 1\n",
                   PFC_VERSION, atomic_load(&app->schema_version));
    pfc_httpd_metrics(app->http, &out);
    put_own(app, &out);
    put_database(app, &out);
    pfc_buf_puts(&out, "# EOF\n");
    if (plain)
        to_plain(pfc_buf_text(&out), &older);
    code = pfc_buf_check(&out, "metrics", err);
    if (!code)
        code = pfc_reply_text(reply, 200, plain ? TEXT_TYPE : OPEN_TYPE,
                              pfc_buf_take(plain ? &older : &out));
    pfc_buf_clear(&out);
    pfc_buf_clear(&older);
    reply->cache = "no-store";
    return code;
}
