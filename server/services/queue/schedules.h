/*
 * Schedules of a project and their nights. A schedule that is due starts a night: one job for the
 * branch's new commits that the service knows (posted by clients, or pushed to the linked
 * repository), in blocks on their newest measured predecessor. Without a new commit the night ends
 * at once. A night that is due while an earlier one of its schedule runs is skipped. After the
 * service was down, a schedule fires once, however often it was due.
 *
 * Due times: core/schedule/schedule.h. Thread-safe; any number of servers may fire schedules of one
 * database, each due time is worked on once. General rules: server/services/service.h.
 */
#ifndef PFC_SERVER_SERVICES_QUEUE_SCHEDULES_H
#define PFC_SERVER_SERVICES_QUEUE_SCHEDULES_H

#include "core/schedule/schedule.h"
#include "core/wire/wire.h"
#include "server/repo/sql/schedules.h"
#include "server/services/service.h"

#define PFC_SCHEDULES_MAX        100 /* of a project */
#define PFC_SCHEDULE_ZONE        "UTC"
#define PFC_SCHEDULE_MAX_COMMITS 60 /* by default; at most PFC_JOB_MAX_COMMITS */
#define PFC_SCHEDULE_BUDGET_S    1800.0

typedef struct pfc_schedule_spec {
    const char *name;            /* a slug */
    const char *cron;            /* expression, see core/schedule/schedule.h */
    const char *zone;            /* IANA name; NULL: UTC */
    const char *branch;          /* NULL: the project's */
    const char *suite;           /* NULL: as the branch's perfci.yaml says */
    const char *const *backends; /* empty: all */
    size_t backends_len;
    const pfc_labels *labels; /* that the runner must have; NULL: any */
    int64_t max_commits;      /* newest new commits of a night; 0: PFC_SCHEDULE_MAX_COMMITS */
    double budget_s;          /* measuring time of a night; 0: PFC_SCHEDULE_BUDGET_S */
    bool enabled;
} pfc_schedule_spec;

typedef pfc_sql_schedules_list_row pfc_schedule;
typedef pfc_sql_schedules_list_rows pfc_schedules;
typedef pfc_sql_nights_list_row pfc_scheduled_night;
typedef pfc_sql_nights_list_rows pfc_scheduled_nights;

/** All schedules of a project, by name. */
pfc_code pfc_schedules_all(pfc_db *db, int64_t project_id, pfc_schedules *out,
                           pfc_err *err) PFC_MUSTCHECK;
/** One row. PFC_ENOTFOUND: no such schedule. */
pfc_code pfc_schedule_get(pfc_db *db, int64_t project_id, const char *name, pfc_schedules *out,
                          pfc_err *err) PFC_MUSTCHECK;
/** Stores a new schedule. PFC_EINVAL with the field: cron, zone, ...; also for one that never
 *  fires. PFC_EUNAVAIL: the server's machine has no time zone data. PFC_ECONFLICT: the name is
 *  taken, or the project has PFC_SCHEDULES_MAX. */
pfc_code pfc_schedule_add(pfc_db *db, const char *actor, int64_t project_id,
                          const pfc_schedule_spec *spec, pfc_err *err) PFC_MUSTCHECK;
/** Replaces the settings of schedule spec->name; it is due next by the new ones. PFC_ENOTFOUND. */
pfc_code pfc_schedule_change(pfc_db *db, const char *actor, int64_t project_id,
                             const pfc_schedule_spec *spec, pfc_err *err) PFC_MUSTCHECK;
/** Removes a schedule and the record of its nights; a job that runs goes on. PFC_ENOTFOUND. */
pfc_code pfc_schedule_remove(pfc_db *db, const char *actor, int64_t project_id, const char *name,
                             pfc_err *err) PFC_MUSTCHECK;
/** Starts a night now, also of a disabled schedule; the next due time stays. *night: its number.
 *  PFC_ENOTFOUND; PFC_ECONFLICT: a night of it runs. */
pfc_code pfc_schedule_run(pfc_db *db, const char *actor, int64_t project_id, const char *name,
                          int64_t *night, pfc_err *err) PFC_MUSTCHECK;
/** Nights of a schedule, newest first; id 0: all. PFC_ENOTFOUND: no such schedule. */
pfc_code pfc_nights_list(pfc_db *db, int64_t project_id, const char *name, int64_t id,
                         pfc_page page, pfc_scheduled_nights *out, pfc_err *err) PFC_MUSTCHECK;

/* ---- for the workers ---- */

/** A schedule that fired. */
typedef struct pfc_fired {
    int64_t night, job_id;     /* job 0: none */
    char state[16];            /* running, skipped, nothing, failed */
    char why[256];             /* "": none */
    char trouble[PFC_ERR_MAX]; /* why the next due time is unknown; "": it is known */
} pfc_fired;

/** Ends nights whose job has ended, and fires the schedule that has been due longest.
 *  PFC_ENOTFOUND: none is due. zone_dir NULL: the system's time zone data. */
pfc_code pfc_schedules_fire(pfc_db *db, const char *zone_dir, pfc_fired *out,
                            pfc_err *err) PFC_MUSTCHECK;
/** Removes the record of nights older than `days`. */
pfc_code pfc_nights_prune(pfc_db *db, int days, pfc_err *err) PFC_MUSTCHECK;

#endif
