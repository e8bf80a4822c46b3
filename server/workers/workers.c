/*
 * The background threads. The keeper listens for the database's events, wakes the detectors, and
 * returns jobs with expired leases to the queue. The upkeep thread does long work without a
 * deadline (upkeep.c). The messenger sends notices. Detectors take
 * jobs until the queue is empty, then sleep.
 */
#include "server/workers/workers.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "server/services/bisect/bisect.h"
#include "server/services/bot/bot.h"
#include "server/services/detect/detect.h"
#include "server/services/history/history.h"
#include "server/services/ingest/ingest.h"
#include "server/services/queue/fleet.h"
#include "server/services/queue/queue.h"
#include "server/services/queue/reruns.h"
#include "server/services/queue/schedules.h"
#include "server/services/suppressions/suppressions.h"
#include "server/workers/upkeep.h"

#define MAX_DETECTORS      64
#define EXPIRE_EVERY_NS    (5 * PFC_NS_PER_S)
#define FAULTS_EVERY_NS    (30 * PFC_NS_PER_S)
#define STALLED_EVERY_NS   (3600 * PFC_NS_PER_S)
#define BACKFILL_EVERY_NS  (60 * PFC_NS_PER_S)
#define BACKFILL_NARROWEST 4 /* commits; a bisection searches narrower ranges on request */

enum {
    KEEPER,
    MESSENGER,
    FIRST_DETECTOR
}; /* entries of thread_health; upkeep has none, because a month may take hours, nor has the bot,
      because a forge may be slow */

struct pfc_workers {
    pfc_db *db;
    pfc_thread_health *thread_health, own_health; /* thread_health: the caller's, or own_health */
    atomic_size_t next_detector;
    unsigned idle_ms;
    int64_t expire_ns; /* between two checks of the leases */
    pfc_backfill_opts backfill;
    pfc_fault_limits faults;
    pfc_retention retention; /* guarded by lock */
    pfc_listener *listener;
    pthread_t keeper, messenger, upkeep, looker;
    bool keeper_runs, messenger_runs, upkeep_runs, looker_runs;
    pfc_bot *bot;
    pfc_notifier *notifier; /* used by the messenger; NULL: none; set under lock */
    pfc_notifier *next;     /* replaces it; guarded by lock */
    bool renew;             /* `next` is set, even to NULL; guarded by lock */
    pthread_t detectors[MAX_DETECTORS];
    size_t detectors_len;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    uint64_t events; /* guarded by lock: number of wake-ups, so that a detector misses none */
    bool stopping;   /* guarded by lock */
};

static bool is_stopping(pfc_workers *w)
{
    bool stopping;

    pthread_mutex_lock(&w->lock);
    stopping = w->stopping;
    pthread_mutex_unlock(&w->lock);
    return stopping;
}

static void wake_all(pfc_workers *w)
{
    pthread_mutex_lock(&w->lock);
    w->events++;
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

/* Sleeps until there is an event after *seen, the end, or wait_ms passed. */
static void wait_for_work(pfc_workers *w, uint64_t *seen, unsigned wait_ms)
{
    struct timespec until;
    int rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(wait_ms / 1000);
    until.tv_nsec += (long)(wait_ms % 1000) * (long)PFC_NS_PER_MS;
    if (until.tv_nsec >= PFC_NS_PER_S) {
        until.tv_sec++;
        until.tv_nsec -= (long)PFC_NS_PER_S;
    }
    pthread_mutex_lock(&w->lock);
    while (!w->stopping && w->events == *seen && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&w->wake, &w->lock, &until);
    *seen = w->events;
    pthread_mutex_unlock(&w->lock);
}

/* True when more work may be queued. A job that failed for good is marked failed and not taken
 * again, so that the next one can be tried. */
static bool go_on(pfc_code code, const char *what, const pfc_err *err)
{
    if (code == PFC_EUNAVAIL || code == PFC_ETIMEOUT)
        pfc_log(PFC_WARN, "work_delayed", "work", what, "why", err->msg);
    else if (code && code != PFC_ENOTFOUND)
        pfc_log(PFC_ERROR, "work_failed", "work", what, "why", err->msg);
    return code != PFC_ENOTFOUND && code != PFC_EUNAVAIL && code != PFC_ETIMEOUT;
}

static void *detector_main(void *arg)
{
    pfc_workers *w = arg;
    const size_t me = FIRST_DETECTOR + atomic_fetch_add(&w->next_detector, 1);
    uint64_t seen = 0;

    while (!is_stopping(w)) {
        pfc_err err = { 0 };
        pfc_detected judged = { 0 };
        pfc_code code;
        bool more;

        pfc_thread_health_beat(w->thread_health, me);
        code = pfc_detect_next(w->db, &judged, &err);
        more = go_on(code, "detection", &err);
        if (code != PFC_ENOTFOUND)
            atomic_fetch_add(code ? &w->thread_health->not_judged : &w->thread_health->judged, 1);
        atomic_fetch_add(&w->thread_health->points, judged.points);
        atomic_fetch_add(&w->thread_health->series, judged.series);
        atomic_fetch_add(&w->thread_health->passed, judged.passed);

        /* One step after each batch: bisections must not wait until all stored runs are judged. */
        code = pfc_bisections_advance(w->db, &err);
        more |= go_on(code, "bisection", &err);
        code = pfc_verifications_advance(w->db, &err);
        more |= go_on(code, "verification", &err);
        if (!more)
            wait_for_work(w, &seen, w->idle_ms);
    }
    pfc_thread_health_end(w->thread_health, me);
    return NULL;
}

/* Called between two deliveries. */
static pfc_notifier *current_notifier(pfc_workers *w)
{
    pfc_notifier *old = NULL, *now;

    pthread_mutex_lock(&w->lock);
    if (w->renew) {
        old = w->notifier;
        w->notifier = w->next;
        w->next = NULL;
        w->renew = false;
        if (w->stopping && w->notifier)
            pfc_notifier_stop(w->notifier);
    }
    now = w->notifier;
    pthread_mutex_unlock(&w->lock);
    pfc_notifier_close(old);
    return now;
}

void pfc_workers_retune(pfc_workers *w, pfc_notifier *notifier, const pfc_retention *keep)
{
    pfc_notifier *unused;

    pthread_mutex_lock(&w->lock);
    w->retention = *keep;
    unused = w->next;
    w->next = notifier;
    w->renew = true;
    pthread_mutex_unlock(&w->lock);
    pfc_notifier_close(unused);
    wake_all(w);
}

/* Deliveries run one after another in a thread of their own: a slow receiver delays only other
 * deliveries. */
static void *messenger_main(void *arg)
{
    pfc_workers *w = arg;
    uint64_t seen = 0;

    while (!is_stopping(w)) {
        pfc_err err = { 0 };
        double due_s = INFINITY;
        pfc_notifier *notifier = current_notifier(w);

        pfc_thread_health_beat(w->thread_health, MESSENGER);
        if (!notifier || !go_on(pfc_notify_next(notifier, &due_s, &err), "notices", &err))
            wait_for_work(w, &seen, (unsigned)fmin(w->idle_ms, 1 + 1000 * due_s));
    }
    pfc_thread_health_end(w->thread_health, MESSENGER);
    return NULL;
}

/* Pull requests are looked at one after another. */
static void *looker_main(void *arg)
{
    pfc_workers *w = arg;
    uint64_t seen = 0;

    while (!is_stopping(w)) {
        pfc_err err = { 0 };
        double due_s = INFINITY;

        if (!go_on(pfc_bot_next(w->bot, &due_s, &err), "pull requests", &err))
            wait_for_work(w, &seen, (unsigned)fmin(w->idle_ms, 1 + 1000 * due_s));
    }
    return NULL;
}

/* True for events that mean work: runs to judge, bisections and their jobs, notices, webhooks and
 * jobs of pull requests, issues that were asked for. */
static bool means_work(const char *event)
{
    static const char *const words[] = { "\"detect\"",   "\"bisection\"",    "\"bisect\"",
                                         "\"verify\"",   "\"notice\"",       "\"notify\"",
                                         "\"delivery\"", "\"pull_request\"", "\"issue\"" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++)
        if (strstr(event, words[i]))
            return true;
    return false;
}

static pfc_retention retention_now(pfc_workers *w)
{
    pfc_retention out;

    pthread_mutex_lock(&w->lock);
    out = w->retention;
    pthread_mutex_unlock(&w->lock);
    return out;
}

/* Queues one commit in the middle of a range; the next call takes another range, within the budget.
 */
static void backfill(pfc_workers *w)
{
    int64_t job = 0;
    pfc_err err = { 0 };
    pfc_code code;

    if (w->backfill.budget == 0)
        return;
    code = pfc_backfill_next(w->db, &w->backfill, &job, &err);

    if (code == PFC_OK)
        pfc_log(PFC_INFO, "backfill_queued", "job", job);
    else if (code != PFC_ENOTFOUND)
        pfc_log(PFC_WARN, "backfill_failed", "why", err.msg);
}

/* Starts the nights that are due. */
static void fire_schedules(pfc_workers *w)
{
    pfc_code code = PFC_OK;

    while (!code && !is_stopping(w)) {
        pfc_err err = { 0 };
        pfc_fired fired;

        code = pfc_schedules_fire(w->db, NULL, &fired, &err);
        if (code && code != PFC_ENOTFOUND)
            pfc_log(PFC_WARN, "schedules_not_fired", "why", err.msg);
        if (code)
            return;
        if (fired.night)
            pfc_log(PFC_INFO, "night_started", "night", fired.night, "state",
                    (const char *)fired.state, "job", fired.job_id, "why", (const char *)fired.why);
        if (fired.trouble[0])
            pfc_log(PFC_ERROR, "schedule_has_no_next_time", "why", (const char *)fired.trouble);
    }
}

typedef pfc_code (*look_fn)(pfc_db *db, const pfc_fault_limits *limits, pfc_fault_counts *counts,
                            pfc_err *err);

static void settle_suppressions(pfc_workers *w)
{
    pfc_suppressions_settled settled = { 0 };
    pfc_err err = { 0 };

    if (pfc_suppressions_settle(w->db, &settled, &err) != PFC_OK)
        pfc_log(PFC_WARN, "suppressions_not_settled", "why", err.msg);
    if (settled.hidden || settled.shown || settled.ended)
        pfc_log(PFC_INFO, "suppressions_settled", "hidden", settled.hidden, "shown", settled.shown,
                "ended", settled.ended);
}

static void look_for_faults(pfc_workers *w, look_fn look)
{
    pfc_fault_counts counts = { 0 };
    pfc_err err = { 0 };

    if (look(w->db, &w->faults, &counts, &err) != PFC_OK)
        pfc_log(PFC_WARN, "faults_not_looked_for", "why", err.msg);
    if (counts.opened || counts.ended)
        pfc_log(PFC_INFO, "faults_changed", "opened", counts.opened, "ended", counts.ended);
}

typedef struct keeping {
    int64_t next_expire, next_backfill, next_faults;
} keeping;

/* Returns the milliseconds until the next call. */
static int run_due(pfc_workers *w, keeping *h)
{
    int64_t now = pfc_clock_ns();
    pfc_err err = { 0 };
    size_t expired = 0, reruns = 0, hidden = 0;

    if (now >= h->next_backfill) {
        backfill(w);
        h->next_backfill = now + BACKFILL_EVERY_NS;
    }
    if (now >= h->next_faults) {
        look_for_faults(w, pfc_faults_look);
        h->next_faults = now + FAULTS_EVERY_NS;
    }
    if (now >= h->next_expire) {
        if (pfc_jobs_expire(w->db, &expired, &err) != PFC_OK)
            pfc_log(PFC_WARN, "leases_not_checked", "why", err.msg);
        else if (expired) {
            atomic_fetch_add(&w->thread_health->expired, expired);
            pfc_log(PFC_INFO, "leases_expired", "jobs", expired);
        }
        if (pfc_reruns_decide(w->db, &reruns, &err) != PFC_OK)
            pfc_log(PFC_WARN, "reruns_not_decided", "why", err.msg);
        else if (reruns)
            pfc_log(PFC_INFO, "reruns_queued", "jobs", reruns);
        if (pfc_quarantines_sweep(w->db, &hidden, &err) != PFC_OK)
            pfc_log(PFC_WARN, "quarantines_not_swept", "why", err.msg);
        else if (hidden)
            pfc_log(PFC_INFO, "results_hidden", "branches", hidden);
        fire_schedules(w);
        (void)!pfc_standbys_look(w->db, &w->thread_health->unsynced, &err);
        settle_suppressions(w);
        h->next_expire = now + w->expire_ns;
    }
    return (int)(w->expire_ns / PFC_NS_PER_MS);
}

static bool stops(void *workers)
{
    return is_stopping(workers);
}

/* Not in the keeper: thinning a month of millions of rows must not delay leases and events. */
static void *upkeep_main(void *arg)
{
    pfc_workers *w = arg;
    pfc_upkeep upkeep = { .db = w->db, .stops = stops, .context = w };
    int64_t next_stalled = 0;
    uint64_t seen = 0;

    while (!is_stopping(w)) {
        const int64_t now = pfc_clock_ns();
        const pfc_retention keep = retention_now(w);
        const bool more = pfc_upkeep_step(&upkeep, &keep, now);
        const bool stalled = now >= next_stalled;

        if (stalled) {
            look_for_faults(w, pfc_faults_look_at_series);
            next_stalled = now + STALLED_EVERY_NS;
        }
        if (!more && !stalled)
            wait_for_work(w, &seen, w->idle_ms);
    }
    return NULL;
}

static void *keeper_main(void *arg)
{
    pfc_workers *w = arg;
    keeping h = { 0 };
    char event[PFC_EVENT_MAX];
    bool down = false;

    while (!is_stopping(w)) {
        pfc_err err = { 0 };
        pfc_code code;

        pfc_thread_health_beat(w->thread_health, KEEPER);
        code = pfc_listener_next(w->listener, run_due(w, &h), event, &err);
        if (code == PFC_EUNAVAIL && !down)
            pfc_log(PFC_WARN, "database_unavailable", "why", err.msg);
        if (code != PFC_EUNAVAIL && down)
            pfc_log(PFC_INFO, "database_available");
        down = code == PFC_EUNAVAIL;
        /* A time-out can hide a reconnect, before which events were lost. */
        if (code == PFC_ETIMEOUT || (code == PFC_OK && means_work(event)))
            wake_all(w);
    }
    pfc_thread_health_end(w->thread_health, KEEPER);
    return NULL;
}

pfc_code pfc_workers_start(pfc_workers **out, const pfc_workers_opts *opts, pfc_err *err)
{
    size_t detectors = opts->detectors ? opts->detectors : 1;
    pthread_condattr_t attr;
    pfc_workers *w;
    pfc_code code;

    if (detectors > MAX_DETECTORS)
        return pfc_err_set(err, PFC_EINVAL, "workers: expected at most %d detectors, got %zu",
                           MAX_DETECTORS, detectors);
    w = pfc_alloc(sizeof(*w));
    w->db = opts->db;
    w->thread_health = opts->thread_health ? opts->thread_health : &w->own_health;
    w->idle_ms = opts->idle_ms ? opts->idle_ms : 5000;
    w->expire_ns = PFC_MIN(EXPIRE_EVERY_NS, (int64_t)w->idle_ms * PFC_NS_PER_MS);
    if (opts->lease_s > 0)
        w->expire_ns = PFC_MIN(w->expire_ns, (int64_t)(opts->lease_s / 4 * 1e9));
    w->retention = opts->keep;
    w->backfill = (pfc_backfill_opts){ .delay_s = opts->backfill_delay_s,
                                       .budget = opts->backfill_budget,
                                       .narrowest = BACKFILL_NARROWEST };
    w->faults = opts->faults;
    w->notifier = opts->notifier;
    w->bot = opts->bot;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    code = pfc_listener_open(&w->listener, opts->url, err);
    if (!code && pthread_create(&w->keeper, NULL, keeper_main, w))
        code = pfc_err_set(err, PFC_EUNAVAIL, "workers: cannot start a thread");
    w->keeper_runs = !code;
    if (!code && pthread_create(&w->messenger, NULL, messenger_main, w))
        code = pfc_err_set(err, PFC_EUNAVAIL, "workers: cannot start a thread");
    w->messenger_runs = !code;
    if (!code && pthread_create(&w->upkeep, NULL, upkeep_main, w))
        code = pfc_err_set(err, PFC_EUNAVAIL, "workers: cannot start a thread");
    w->upkeep_runs = !code;
    if (!code && w->bot && pthread_create(&w->looker, NULL, looker_main, w))
        code = pfc_err_set(err, PFC_EUNAVAIL, "workers: cannot start a thread");
    w->looker_runs = !code && w->bot;
    while (!code && w->detectors_len < detectors) {
        if (pthread_create(&w->detectors[w->detectors_len], NULL, detector_main, w))
            code = pfc_err_set(err, PFC_EUNAVAIL, "workers: cannot start a thread");
        else
            w->detectors_len++;
    }
    if (code)
        pfc_workers_stop(w);
    else
        *out = w;
    return code;
}

void pfc_workers_halt(pfc_workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_broadcast(&w->wake);
    if (w->notifier)
        pfc_notifier_stop(w->notifier);
    if (w->bot)
        pfc_bot_stop(w->bot);
    pthread_mutex_unlock(&w->lock);
    if (w->listener)
        pfc_listener_wake(w->listener);
}

void pfc_workers_stop(pfc_workers *w)
{
    if (!w)
        return;
    pfc_workers_halt(w);
    if (w->keeper_runs)
        (void)pthread_join(w->keeper, NULL);
    if (w->messenger_runs)
        (void)pthread_join(w->messenger, NULL);
    if (w->upkeep_runs)
        (void)pthread_join(w->upkeep, NULL);
    if (w->looker_runs)
        (void)pthread_join(w->looker, NULL);
    for (size_t i = 0; i < w->detectors_len; i++)
        (void)pthread_join(w->detectors[i], NULL);
    pfc_notifier_close(w->notifier);
    pfc_notifier_close(w->next);
    pfc_listener_close(w->listener);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
