/*
 * Issues of alert groups at the forge: the text, and one look at a group. Private to this folder.
 */
#ifndef PFC_SERVER_BOT_ISSUES_H
#define PFC_SERVER_BOT_ISSUES_H

#include "core/forge/provider.h"
#include "server/services/bot/issues.h"
#include "server/services/groups/groups.h"

#define PFC_GROUP_ISSUE_KEY_MAX 128

typedef struct pfc_group_issue_subject {
    const char *key;          /* of the marker */
    const char *project;      /* its name */
    const char *link;         /* of the dashboard, without a slash at its end; NULL: none */
    const pfc_group *group;   /* NULL: its alerts were moved to other groups, the rest is unused */
    const pfc_alert *lead;    /* the alert with the highest worth */
    const pfc_alerts *alerts; /* of the group */
    const pfc_group_events *events; /* newest first */
} pfc_group_issue_subject;

typedef struct pfc_group_issue_words {
    char *title; /* plain text, at most 200 bytes */
    char *body;  /* Markdown below PFC_COMMENT_MAX_BYTES; begins with the marker */
    bool open;   /* whether the group is open */
} pfc_group_issue_words;

/** Pure: equal subjects have equal words. Everything from outside is escaped; no name of a person
 * is in it. */
void pfc_group_issue_text(const pfc_group_issue_subject *subject, pfc_group_issue_words *out);
/** Accepts zeroed ones. */
void pfc_group_issue_words_clear(pfc_group_issue_words *words);

/** Makes the issue at the forge equal to the group: creates it, edits, closes or opens it. No call
 *  is made where nothing changed. The forge's failures are those of core/forge/provider.h. */
pfc_code pfc_group_issue_look(pfc_db *db, pfc_forge *forge, const pfc_group_issue *issue,
                              const char *link, pfc_err *err) PFC_MUSTCHECK;

#endif
