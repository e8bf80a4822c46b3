/*
 * Limits the attempts to connect while the database is away, and refuses a new connection that
 * leads to another cluster or to a former leader.
 *
 * While it cannot, one caller at a time tries to connect, and the others return the last error:
 * otherwise each request that is refused and sent again would log in on every node of a cluster
 * that elects its leader.
 */
#include <math.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "server/repo/connection/db_internal.h"

#define RETRY_AFTER_NS (50 * PFC_NS_PER_MS)
#define CLOCK_LIMIT_S  10.0 /* leases end within seconds */

void pfc_reach_init(pfc_reach *reach)
{
    *reach = (pfc_reach){ .failed_ns = 0 };
    pthread_mutex_init(&reach->lock, NULL);
}

void pfc_reach_destroy(pfc_reach *reach)
{
    pthread_mutex_destroy(&reach->lock);
}

pfc_code pfc_reach_begin(pfc_reach *reach, pfc_err *err)
{
    pfc_code code = PFC_OK;

    pthread_mutex_lock(&reach->lock);
    if (reach->failed_ns) {
        if (reach->trying || pfc_clock_ns() - reach->failed_ns < RETRY_AFTER_NS)
            code = pfc_err_set(err, reach->failed.code, "%s", reach->failed.msg);
        else
            reach->trying = true;
    }
    pthread_mutex_unlock(&reach->lock);
    return code;
}

void pfc_reach_end(pfc_reach *reach, const pfc_err *failed)
{
    pthread_mutex_lock(&reach->lock);
    reach->trying = false;
    reach->failed_ns = failed ? pfc_clock_ns() : 0;
    if (failed)
        reach->failed = *failed;
    pthread_mutex_unlock(&reach->lock);
}

/* One round trip; what the role may not read stays 0. */
static void look(PGconn *pg, pfc_primary *out, double *now_s)
{
    PGresult *res =
        PQexec(pg, "SELECT extract(epoch FROM pg_catalog.clock_timestamp()),"
                   " CASE WHEN pg_catalog.pg_is_in_recovery() THEN 0 ELSE ('x' || pg_catalog.left("
                   "pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::int"
                   " END, system_identifier FROM pg_catalog.pg_control_system()");

    *out = (pfc_primary){ 0 };
    if (PQresultStatus(res) == PGRES_TUPLES_OK && PQntuples(res) == 1) {
        *now_s = strtod(PQgetvalue(res, 0, 0), NULL);
        out->timeline = strtoll(PQgetvalue(res, 0, 1), NULL, 10);
        out->system = strtoll(PQgetvalue(res, 0, 2), NULL, 10);
    }
    PQclear(res);
}

/* Once when they begin to differ, once when they agree again. Guarded by the lock. */
static void compare_clocks(pfc_reach *reach, double ahead_s)
{
    const bool differs = fabs(ahead_s) > CLOCK_LIMIT_S;

    if (differs && !reach->clock_differs)
        pfc_log(PFC_WARN, "database_clock_differs", "ahead_s", ahead_s, "why",
                "leases and schedules count by the database's clock: synchronise the clocks of the "
                "nodes and of this machine, for example by chrony");
    if (!differs && reach->clock_differs)
        pfc_log(PFC_INFO, "database_clock_agrees");
    reach->clock_differs = differs;
}

pfc_code pfc_reach_compare(pfc_reach *reach, PGconn *pg, int64_t *timeline, pfc_err *err)
{
    pfc_primary place;
    double now_s = 0;
    pfc_code code = PFC_OK;

    look(pg, &place, &now_s);
    pthread_mutex_lock(&reach->lock);
    if (now_s > 0)
        compare_clocks(reach, now_s - pfc_clock_unix_s());
    if (place.system && reach->place.system && place.system != reach->place.system)
        code = pfc_err_set(
            err, PFC_EUNAVAIL,
            "database: it is of another cluster (system identifier %lld, expected %lld): correct "
            "the host list or the proxy, or restart the server if the database has moved",
            (long long)place.system, (long long)reach->place.system);
    else if (place.timeline && place.timeline < reach->place.timeline)
        code = pfc_err_set(
            err, PFC_EUNAVAIL,
            "database: two nodes take writes: this one is on timeline %lld, and timeline %lld was "
            "in use already: stop the former leader, then copy it again by patronictl reinit",
            (long long)place.timeline, (long long)reach->place.timeline);
    else {
        reach->place.system = place.system ? place.system : reach->place.system;
        reach->place.timeline = PFC_MAX(place.timeline, reach->place.timeline);
    }
    pthread_mutex_unlock(&reach->lock);
    *timeline = place.timeline;
    return code;
}

bool pfc_reach_is_former(pfc_reach *reach, int64_t timeline)
{
    bool former;

    pthread_mutex_lock(&reach->lock);
    former = timeline && timeline < reach->place.timeline;
    pthread_mutex_unlock(&reach->lock);
    return former;
}

static void look_up(const char *host)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    const int rc = getaddrinfo(host, NULL, &hints, &found);

    if (rc)
        pfc_log(PFC_WARN, "database_host_unknown", "host", host, "reason", gai_strerror(rc), "why",
                "the other hosts of the list are used: correct the list or the name service");
    else
        freeaddrinfo(found);
}

void pfc_db_look_up_hosts(const char *url)
{
    PQconninfoOption *info = PQconninfoParse(url, NULL);

    for (const PQconninfoOption *option = info; option && option->keyword; option++) {
        char *hosts, *rest = NULL;

        if (!pfc_streq(option->keyword, "host") || !option->val || !strchr(option->val, ','))
            continue;
        hosts = pfc_strdup(option->val);
        for (char *host = strtok_r(hosts, ",", &rest); host; host = strtok_r(NULL, ",", &rest)) {
            if (*host != '/' && *host != '@') /* not a folder of sockets */
                look_up(host);
        }
        free(hosts);
    }
    PQconninfoFree(info);
}
