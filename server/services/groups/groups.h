/*
 * Groups of alerts as the unit of triage: lists with their figures, changes of several groups at
 * once, splits and merges. Every alert is in a group (alerts/group.c). A group has no row of its
 * own: its figures are those of its alerts.
 *
 * The state of a group is the least advanced state of its alerts: untriaged, acknowledged,
 * investigating, fixed, backed_out, verified_fixed, wont_fix, noise, infrastructure, duplicate. Its
 * worth is the highest one of its alerts (migration 0015): smallest plausible effect, as a
 * logarithm, × corroboration × root of the number of series. Alerts that a suppression rule hides
 * count for state and worth only where every alert of the group is hidden.
 */
#ifndef PFC_SERVER_SERVICES_GROUPS_GROUPS_H
#define PFC_SERVER_SERVICES_GROUPS_GROUPS_H

#include "server/repo/sql/alert_groups.h"
#include "server/repo/tables/repo.h"

#define PFC_GROUPS_MAX       100 /* groups in one change */
#define PFC_GROUP_SPLIT_MAX  1000
#define PFC_GROUP_EVENTS_MAX 200
#define PFC_ASSIGNEE_MAX     100 /* bytes */

typedef pfc_sql_alert_group_list_row pfc_group;
typedef pfc_sql_alert_group_list_rows pfc_groups;
typedef pfc_sql_alert_group_events_row pfc_group_event;
typedef pfc_sql_alert_group_events_rows pfc_group_events;

typedef struct pfc_group_filter {
    int64_t project_id; /* 0: any */
    const int64_t *ids; /* NULL: any */
    size_t ids_len;
    const char *state;         /* NULL: any; "open": visible and not closed */
    const char *assignee;      /* NULL: any; "": groups without one */
    const char *kernel;        /* a benchmark's name, or its first parts; NULL: any */
    const char *backend;       /* NULL: any, like the rest */
    const char *machine_class; /* ... */
    const char *owner;         /* one of the names of an alert; "none": alerts without */
    const char *words;         /* all occur in the names of a series or in the summary */
    pfc_maybe back;            /* whether the level of every alert is back */
    bool by_worth;             /* else the newest first */
} pfc_group_filter;

/** One page. *leads: for every group its alert with the highest worth (lead_id), in any order.
 *  A cursor is the id of the last group of the page before, and valid with the same filter. */
pfc_code pfc_groups_list(pfc_db *db, const pfc_group_filter *filter, pfc_page page, pfc_groups *out,
                         pfc_alerts *leads, pfc_err *err) PFC_MUSTCHECK;
/** Exactly one; PFC_ENOTFOUND. Clear *out and *leads in every case. */
pfc_code pfc_groups_get(pfc_db *db, int64_t id, pfc_groups *out, pfc_alerts *leads,
                        pfc_err *err) PFC_MUSTCHECK;
/** The events of the alerts of a group, newest first; equal events of several alerts once. */
pfc_code pfc_group_events_list(pfc_db *db, int64_t id, pfc_group_events *out,
                               pfc_err *err) PFC_MUSTCHECK;

/** An improvement: the series that became better at one commit. It has no alerts, no state and no
 *  stored id; id is that of its newest change and serves as cursor. */
typedef pfc_sql_alert_group_improvements_row pfc_improvement;
typedef struct pfc_improvements {
    pfc_sql_alert_group_improvements_rows rows;
    char **summaries; /* of each row, as of pfc_slice_summary; owned */
} pfc_improvements;

/** Newest first; of the filter, project and names count. Clear *out in every case. */
pfc_code pfc_improvements_list(pfc_db *db, const pfc_group_filter *filter, pfc_page page,
                               pfc_improvements *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_improvements_clear(pfc_improvements *list);

/* ---- changes ---- */

typedef struct pfc_group_seen {
    int64_t id;
    const char *state; /* of the group when the caller read it; NULL: any */
} pfc_group_seen;

typedef struct pfc_group_change {
    const pfc_group_seen *groups; /* 1..PFC_GROUPS_MAX, different ones */
    size_t len;
    const char *state;    /* NULL: unchanged */
    const char *reason;   /* for the history */
    const char *assignee; /* NULL: unchanged; "": none; at most PFC_ASSIGNEE_MAX bytes */
    bool accept;          /* accept the new levels as baselines; requires state wont_fix */
} pfc_group_change;

/** Changes all of the groups, or none. A new state applies to the open alerts of a group, or to all
 *  of its alerts when none is open: a change of what is left to triage must not reopen what is
 *  closed.
 *  PFC_ENOTFOUND: no such group; PFC_ECONFLICT: a group is no longer in the state that was seen, or
 *  the state machine has no such transition; PFC_EINVAL. *alerts: how many changed. */
pfc_code pfc_groups_update(pfc_db *db, const char *actor, const pfc_group_change *change,
                           size_t *alerts, pfc_err *err) PFC_MUSTCHECK;

/** Moves alerts of a group into a new one, and keeps them there. At least one alert must stay.
 *  Both groups get new summaries. *made: the new group. PFC_ENOTFOUND, PFC_EINVAL. */
pfc_code pfc_group_split(pfc_db *db, const char *actor, int64_t id, const int64_t *alerts,
                         size_t len, const char *reason, int64_t *made, pfc_err *err) PFC_MUSTCHECK;
/** Moves all alerts of the groups `ids` into group `into` and keeps them there. All are of one
 *  project and branch, else PFC_EINVAL; PFC_ENOTFOUND. */
pfc_code pfc_groups_merge(pfc_db *db, const char *actor, int64_t into, const int64_t *ids,
                          size_t len, const char *reason, pfc_err *err) PFC_MUSTCHECK;

#endif
