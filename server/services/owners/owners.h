/*
 * Owners of the alerts of a project. The owner of an alert is that of its benchmark by the
 * project's own rules; else that of most files that the culprit, or without one the most likely
 * commit, has touched and the benchmark is built from, by the rules or the CODEOWNERS file of the
 * repository; else that of most files of the benchmark. The alerts of a group have one owner.
 * Thread-safe.
 */
#ifndef PFC_SERVER_SERVICES_OWNERS_OWNERS_H
#define PFC_SERVER_SERVICES_OWNERS_OWNERS_H

#include "core/owners/owners.h"
#include "server/repo/sql/owners.h"
#include "server/services/service.h"

typedef pfc_sql_owners_get_row pfc_owner_rules;
typedef pfc_sql_owners_get_rows pfc_owner_rules_list;

/** The rules and the stored CODEOWNERS file; none: the project has neither. Clear *out with
 *  pfc_rows_clear. */
pfc_code pfc_owner_rules_get(pfc_db *db, int64_t project_id, pfc_owner_rules_list *out,
                             pfc_err *err) PFC_MUSTCHECK;
/** Replaces the project's own rules (PFC_OWNERS_RULES) and finds the owners of its open alerts.
 *  PFC_EINVAL: an invalid rule, which the message names. */
pfc_code pfc_owner_rules_set(pfc_db *db, const char *actor, int64_t project_id, const char *rules,
                             pfc_err *err) PFC_MUSTCHECK;

/* The CODEOWNERS file of a commit. */
typedef struct pfc_codeowners_file {
    const char *commit; /* 40 digits */
    const char *path;   /* one of pfc_owners_places; NULL: the commit has no such file */
    const char *text;   /* at most PFC_OWNERS_MAX_TEXT bytes */
} pfc_codeowners_file;

typedef struct pfc_codeowners_stored {
    const char *reason;    /* why it was not stored; NULL: it was */
    size_t rules, skipped; /* of the file */
} pfc_codeowners_stored;

/** Replaces the stored file, unless the commit is not on the project's branch or is before the
 *  commit of the stored file: a measured branch or fork must not choose the receivers.
 *  PFC_EINVAL: an unknown path, or a text over its limits. */
pfc_code pfc_codeowners_store(pfc_db *db, const char *actor, int64_t project_id,
                              const pfc_codeowners_file *file, pfc_codeowners_stored *out,
                              pfc_err *err) PFC_MUSTCHECK;

/* ---- for the other services, not for handlers ---- */

/** Finds the owners that are due, of the branch (NULL: all) or the alert (0: all). The caller has
 *  inserted or changed the alerts in tx. */
pfc_code pfc_owners_settle(pfc_tx *tx, int64_t project_id, const char *branch, int64_t alert_id,
                           pfc_err *err) PFC_MUSTCHECK;

#endif
