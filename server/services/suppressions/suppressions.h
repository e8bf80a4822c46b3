/*
 * Suppression rules: each hides the open alerts that its matcher fits, for at most 90 days. A
 * hidden alert stays as it is: judged, grouped and open to triage. Its notices are stored, and
 * withheld from receivers, clients of the outbox and the feed. When no active rule fits the alert,
 * because the rule ended or the change grew beyond the rule's size, the alert is shown again and
 * its notices are released. The alerts that a rule has hidden stay on record.
 *
 * The oldest of several rules that fit hides the alert. A new alert is hidden in the statement that
 * opens it, and its notice by a trigger (migration 0062), so that no receiver gets it between two
 * passes of pfc_suppressions_settle. General rules: server/services/service.h.
 */
#ifndef PFC_SERVER_SERVICES_SUPPRESSIONS_SUPPRESSIONS_H
#define PFC_SERVER_SERVICES_SUPPRESSIONS_SUPPRESSIONS_H

#include "core/wire/wire.h"
#include "server/repo/sql/suppressions.h"
#include "server/services/service.h"

#define PFC_SUPPRESSIONS_MAX         200 /* active rules of a project */
#define PFC_SUPPRESSION_MAX_DAYS     90
#define PFC_SUPPRESSION_MAX_STARS    8 /* '*' in one glob: each multiplies the time of a match */
#define PFC_SUPPRESSION_PREVIEW_ROWS 100

/** Which alerts a rule hides: those that fit every member that is set. At least one is. */
typedef struct pfc_suppression_matcher {
    /* Globs of '*' (any text) and '?' (one character) for the whole name; NULL: any. */
    const char *benchmark, *backend, *machine_class, *metric;
    const pfc_labels *params; /* of the benchmark; values are globs, too; NULL: any */
    const char *direction;    /* of the value: "up" or "down"; NULL: both */
    double max_change;        /* hides relative changes below it, 0.05 = 5 %; NAN: any size */
} pfc_suppression_matcher;

typedef struct pfc_suppression_spec {
    pfc_suppression_matcher matcher;
    const char *owner;  /* who answers for it */
    const char *reason; /* why the alerts may be hidden */
    int64_t days;       /* until it expires, 1 to PFC_SUPPRESSION_MAX_DAYS */
} pfc_suppression_spec;

typedef pfc_sql_suppressions_list_row pfc_suppression;
typedef pfc_sql_suppressions_list_rows pfc_suppressions;
/** hidden_at NAN: of a preview. released_at NAN: still hidden. */
typedef pfc_sql_suppressed_alert_row pfc_suppressed_alert;
typedef pfc_sql_suppressed_alert_rows pfc_suppressed_alerts;
/** open: open alerts; visible: those of them that no rule hides yet; past: alerts of the last 90
 *  days, open or closed, among the newest 2,000; series: of the project, whatever their changes. */
typedef pfc_sql_suppression_counts_row pfc_suppression_counts;

/** Stores a rule and hides the alerts that it fits. PFC_EINVAL with the field; PFC_ECONFLICT: the
 *  project has PFC_SUPPRESSIONS_MAX active rules. */
pfc_code pfc_suppression_add(pfc_db *db, const char *actor, int64_t project_id,
                             const pfc_suppression_spec *spec, int64_t *id,
                             pfc_err *err) PFC_MUSTCHECK;
/** Ends a rule before its time and shows the alerts that only it hid; an ended rule stays as it is.
 *  PFC_ENOTFOUND: no such rule. */
pfc_code pfc_suppression_end(pfc_db *db, const char *actor, int64_t project_id, int64_t id,
                             pfc_err *err) PFC_MUSTCHECK;
/** Rules of the project, newest first; ended: also those that have ended. */
pfc_code pfc_suppressions_page(pfc_db *db, int64_t project_id, bool ended, pfc_page page,
                               pfc_suppressions *out, pfc_err *err) PFC_MUSTCHECK;
/** One row. PFC_ENOTFOUND: no such rule. */
pfc_code pfc_suppression_get(pfc_db *db, int64_t project_id, int64_t id, pfc_suppressions *out,
                             pfc_err *err) PFC_MUSTCHECK;
/** The alerts that a rule has hidden, newest first. */
pfc_code pfc_suppressed_page(pfc_db *db, int64_t project_id, int64_t id, pfc_page page,
                             pfc_suppressed_alerts *out, pfc_err *err) PFC_MUSTCHECK;
/** The alerts that a rule with this matcher would hide; changes nothing. *rows: the newest of the
 *  open alerts, at most PFC_SUPPRESSION_PREVIEW_ROWS. PFC_EINVAL with the field. */
pfc_code pfc_suppression_try(pfc_db *db, int64_t project_id, const pfc_suppression_matcher *matcher,
                             pfc_suppression_counts *counts, pfc_suppressed_alerts *rows,
                             pfc_err *err) PFC_MUSTCHECK;

/* ---- for the workers ---- */

/** The changes of one pass. events: sent to listeners. */
typedef pfc_sql_suppressions_settle_row pfc_suppressions_settled;

/** Ends rules whose time is over, and hides and shows alerts by the rules that are active now.
 *  Idempotent; any number of servers may call it. */
pfc_code pfc_suppressions_settle(pfc_db *db, pfc_suppressions_settled *out,
                                 pfc_err *err) PFC_MUSTCHECK;

#endif
