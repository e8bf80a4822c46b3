/* The work of upkeep.h, and how often it is done. */
#include "server/workers/upkeep.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "server/services/access/lease_tokens.h"
#include "server/services/bot/bot.h"
#include "server/services/history/history.h"
#include "server/services/queue/faults.h"
#include "server/services/queue/schedules.h"

#define PARTITIONS_EVERY_NS (6 * 3600 * PFC_NS_PER_S)
#define PARTITIONS_AGAIN_NS (60 * PFC_NS_PER_S) /* with a delay: each try blocks readers */
#define PRUNE_EVERY_NS      (3600 * PFC_NS_PER_S)
#define CHUNKS_EVERY_NS     (300 * PFC_NS_PER_S)
#define QUESTION_DAYS       2
#define NIGHT_DAYS          400
#define PRUNE_DAYS          30 /* statement store_checks knows */
#define PRUNE_LIMIT         5000

/* Partitions after the present one. More of them make a change of the width effective later. */
static int ahead_of(const char *width)
{
    return strcmp(width, "month") == 0 ? 1 : strcmp(width, "week") == 0 ? 2 : 7;
}

/* The width of new partitions: as the setting says, or with "auto" as the load needs it. */
static pfc_code choose_width(pfc_upkeep *u, const char *setting, const char **out, pfc_err *err)
{
    pfc_partition_width load = { 0 };
    pfc_code code = pfc_partition_width_choose(u->db, &load, err);

    if (code)
        return code;
    *out = strcmp(setting, "auto") == 0 || !setting[0] ? load.width : setting;
    if (strcmp(u->chosen, *out) != 0)
        pfc_log(PFC_INFO, "partition_width", "width", *out, "setting", setting, "index_bytes_a_day",
                load.index_bytes_a_day, "memory_bytes", load.memory_bytes);
    (void)snprintf(u->chosen, sizeof(u->chosen), "%s", *out);
    if (load.short_of_locks)
        pfc_log(PFC_WARN, "partitions_need_locks", "partitions", load.partitions, "hint",
                "raise max_locks_per_transaction, or choose a larger --partition-width");
    return PFC_OK;
}

static bool create_partitions(pfc_upkeep *u, const char *setting)
{
    int64_t moved = 0;
    const char *width = NULL;
    pfc_err err = { 0 };
    pfc_code code = choose_width(u, setting, &width, &err);

    if (!code)
        code = pfc_partitions_create(u->db, width, ahead_of(width), &moved, &err);
    if (moved)
        pfc_log(PFC_WARN, "measurements_moved_to_partition", "moved", moved);
    if (code)
        pfc_log(PFC_WARN, "partitions_not_created", "why", err.msg);
    return !code;
}

/* Thins one partition. False: none is due, or it failed. */
static bool thin_partition(pfc_upkeep *u, const pfc_retention *keep)
{
    pfc_retained done = { 0 };
    pfc_err err = { 0 };

    if (pfc_retention_step(u->db, keep, &done, &err) != PFC_OK) {
        pfc_log(PFC_WARN, "partition_not_thinned", "why", err.msg);
        return false;
    }
    if (done.since[0])
        pfc_log(PFC_INFO, "partition_thinned", "since", (const char *)done.since, "until",
                (const char *)done.until, "rows_before", done.rows_before, "rows_after",
                done.rows_after);
    return done.since[0] != '\0';
}

/* True: more of them may be due. */
static bool prune_jobs(pfc_upkeep *u)
{
    size_t pruned = 0;
    pfc_err err = { 0 };

    if (pfc_jobs_prune(u->db, PRUNE_DAYS, PRUNE_LIMIT, &pruned, &err) != PFC_OK)
        pfc_log(PFC_WARN, "jobs_not_pruned", "why", err.msg);
    if (pruned)
        pfc_log(PFC_INFO, "jobs_pruned", "jobs", pruned);
    return pruned == PRUNE_LIMIT;
}

static void prune_audit(pfc_upkeep *u, int months)
{
    int64_t pruned = 0;
    pfc_err err = { 0 };

    if (pfc_audit_prune(u->db, months, &pruned, &err) != PFC_OK)
        pfc_log(PFC_WARN, "audit_not_pruned", "why", err.msg, "pruned", pruned);
}

static void tidy_up(pfc_upkeep *u, int audit_months)
{
    pfc_err err = { 0 };
    size_t deliveries = PRUNE_LIMIT;

    if (pfc_lease_tokens_prune(u->db, &err) != PFC_OK)
        pfc_log(PFC_WARN, "lease_tokens_not_pruned", "reason", err.msg);
    if (pfc_questions_prune(u->db, QUESTION_DAYS, &err) != PFC_OK)
        pfc_log(PFC_WARN, "lease_requests_not_pruned", "why", err.msg);
    while (deliveries == PRUNE_LIMIT && !u->stops(u->context) && !err.code)
        if (pfc_webhooks_prune(u->db, PRUNE_DAYS, PRUNE_LIMIT, &deliveries, &err) != PFC_OK)
            pfc_log(PFC_WARN, "deliveries_not_pruned", "why", err.msg);
    if (pfc_faults_prune(u->db, NIGHT_DAYS, &err) != PFC_OK)
        pfc_log(PFC_WARN, "faults_not_pruned", "why", err.msg);
    if (pfc_nights_prune(u->db, NIGHT_DAYS, &err) != PFC_OK)
        pfc_log(PFC_WARN, "nights_not_pruned", "why", err.msg);
    if (pfc_tallies_fold(u->db, &err) != PFC_OK)
        pfc_log(PFC_WARN, "tallies_not_folded", "why", err.msg);
    prune_audit(u, audit_months);
}

/* Packs a few series. True: more may be due. */
static bool pack_series(pfc_upkeep *u)
{
    pfc_err err = { 0 };
    size_t built = 0;

    if (pfc_chunks_step(u->db, PFC_CHUNKS_QUIET_S, &u->cursor, &built, &err) != PFC_OK) {
        pfc_log(PFC_WARN, "series_not_packed", "why", err.msg);
        return false;
    }
    if (built)
        pfc_log(PFC_DEBUG, "series_packed", "series", built);
    return u->cursor != 0;
}

bool pfc_upkeep_step(pfc_upkeep *u, const pfc_retention *keep, int64_t now)
{
    bool worked = false;

    if (strcmp(u->width, keep->width) != 0)
        u->next_partitions = 0;
    if (now >= u->next_partitions) {
        (void)snprintf(u->width, sizeof(u->width), "%s", keep->width);
        if (!create_partitions(u, keep->width))
            u->next_partitions = now + PARTITIONS_AGAIN_NS;
        else if (!thin_partition(u, keep))
            u->next_partitions = now + PARTITIONS_EVERY_NS;
        worked = true;
    }
    if (now >= u->next_prune) {
        if (!prune_jobs(u)) {
            tidy_up(u, keep->audit_months);
            u->next_prune = now + PRUNE_EVERY_NS;
        }
        worked = true;
    }
    if (now >= u->next_chunks) {
        if (!pack_series(u))
            u->next_chunks = now + CHUNKS_EVERY_NS;
        worked = true;
    }
    return worked;
}
