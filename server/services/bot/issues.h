/*
 * Issues at the forge for alert groups: one for a group, made on a person's request, then kept
 * equal to the group. The request is stored; the bot (server/bot/bot.h) makes the calls.
 * service.h has the general rules.
 *
 * Looks at one group exclude each other by an advisory lock that lasts as long as the transaction
 * that took it.
 */
#ifndef PFC_SERVER_SERVICES_BOT_ISSUES_H
#define PFC_SERVER_SERVICES_BOT_ISSUES_H

#include "server/repo/sql/group_issues.h"
#include "server/services/service.h"

/** state: "waiting" (to be made), "open", "closed", "gone" (deleted at the forge). number 0: not
 *  made yet. */
typedef pfc_sql_group_issue_get_row pfc_group_issue;
typedef pfc_sql_group_issue_get_rows pfc_group_issues;

/** Asks for the issue of a group, in the repository that the project is linked to. A repeated call
 *  has the group looked at again, and the issue made again where it was deleted at the forge.
 *  PFC_ENOTFOUND: no such group; PFC_ECONFLICT: the project is linked to no repository. */
pfc_code pfc_group_issue_ask(pfc_db *db, const char *actor, int64_t group_id,
                             pfc_err *err) PFC_MUSTCHECK;

/** Takes the lock of a group whose issue is due; *out: one row. The lock lasts until *lock is
 *  freed. PFC_ENOTFOUND: none is due, or other servers look at them; *due_s: seconds until the next
 *  one is, INFINITY: none. */
pfc_code pfc_group_issue_take(pfc_db *db, pfc_tx **lock, pfc_group_issues *out, double *due_s,
                              pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_group_issue_posted {
    int64_t number;
    const char *url;
    bool open;
    const char *hash; /* of title, text and state, as posted; NULL: post it again */
} pfc_group_issue_posted;

/** Stores the state of the issue at the forge. */
pfc_code pfc_group_issue_note(pfc_db *db, const pfc_group_issue *issue,
                              const pfc_group_issue_posted *posted, pfc_err *err) PFC_MUSTCHECK;
/** The issue was deleted at the forge. */
pfc_code pfc_group_issue_gone(pfc_db *db, const pfc_group_issue *issue, pfc_err *err) PFC_MUSTCHECK;
/** Ends a look: the next one is after so many seconds. trouble: why this one failed; NULL: it did
 *  not. tries: failed looks in a row. */
pfc_code pfc_group_issue_later(pfc_db *db, const pfc_group_issue *issue, double after_s,
                               int64_t tries, const char *trouble, pfc_err *err) PFC_MUSTCHECK;

#endif
