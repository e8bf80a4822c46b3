/*
 * One look at an alert group that has an issue at the forge.
 */
#include "server/bot/issues.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/log.h"

/* The rows of a group that a look reads; no row: its alerts were moved. */
typedef struct group_rows {
    pfc_groups group;
    pfc_alerts lead, alerts;
    pfc_group_events events;
} group_rows;

static void rows_clear(group_rows *r)
{
    pfc_rows_clear(&r->group);
    pfc_rows_clear(&r->lead);
    pfc_rows_clear(&r->alerts);
    pfc_rows_clear(&r->events);
}

static pfc_code read_group(pfc_db *db, int64_t id, group_rows *out, pfc_err *err)
{
    pfc_code code = pfc_groups_get(db, id, &out->group, &out->lead, err);

    if (code == PFC_ENOTFOUND) {
        rows_clear(out);
        return PFC_OK;
    }
    if (!code)
        code = pfc_alerts_list(db, &(pfc_alert_filter){ .group_id = id },
                               (pfc_page){ .limit = PFC_LIST_MAX }, &out->alerts, err);
    if (!code)
        code = pfc_group_events_list(db, id, &out->events, err);
    return code;
}

static pfc_code write_words(pfc_db *db, const pfc_group_issue *issue, const char *key,
                            const char *link, pfc_group_issue_words *out, pfc_err *err)
{
    group_rows rows = { 0 };
    pfc_code code = read_group(db, issue->group_id, &rows, err);

    if (!code) {
        const bool known = rows.group.len && rows.lead.len;
        const pfc_group_issue_subject subject = {
            .key = key,
            .project = issue->project,
            .link = link,
            .group = known ? rows.group.items : NULL,
            .lead = known ? rows.lead.items : NULL,
            .alerts = &rows.alerts,
            .events = &rows.events,
        };

        pfc_group_issue_text(&subject, out);
    }
    rows_clear(&rows);
    return code;
}

/* ---- posting ---- */

typedef struct posting {
    pfc_db *db;
    pfc_forge *forge;
    const pfc_group_issue *issue;
    const char *key;
    const pfc_group_issue_words *words;
    char hash[PFC_SHA256_HEX];
    int64_t number;
    char *url;
} posting;

static pfc_code note(const posting *p, bool open, const char *hash, pfc_err *err)
{
    return pfc_group_issue_note(
        p->db, p->issue,
        &(pfc_group_issue_posted){ .number = p->number, .url = p->url, .open = open, .hash = hash },
        err);
}

static pfc_code call(posting *p, pfc_err *err)
{
    const pfc_forge_issue issue = { .title = p->words->title,
                                    .body = p->words->body,
                                    .open = p->words->open };

    free(p->url);
    p->url = NULL;
    return pfc_forge_issue_put(p->forge, p->issue->repo, &issue, &p->number, &p->url, err);
}

static pfc_code edit(posting *p, pfc_err *err)
{
    pfc_code code = call(p, err);

    if (code == PFC_ENOTFOUND) {
        pfc_log(PFC_WARN, "group_issue_gone", "project", p->issue->project, "group",
                p->issue->group_id, "number", p->number);
        return pfc_group_issue_gone(p->db, p->issue, err);
    }
    return code ? code : note(p, p->words->open, p->hash, err);
}

/* A look that ended between the call and its record has left an issue: it is found by its marker. A
 * new issue is open, whatever the group's state is. */
static pfc_code make(posting *p, pfc_err *err)
{
    pfc_code code = pfc_forge_issue_find(p->forge, p->issue->repo, p->key,
                                         (int64_t)p->issue->asked_at, &p->number, &p->url, err);
    const bool found = p->number != 0;

    if (!code && !found)
        code = call(p, err);
    if (!code)
        code = note(p, true, !found && p->words->open ? p->hash : NULL, err);
    if (!code)
        pfc_log(PFC_INFO, "group_issue_made", "project", p->issue->project, "group",
                p->issue->group_id, "number", p->number, "found", found);
    if (code || (!found && p->words->open))
        return code;
    return edit(p, err);
}

pfc_code pfc_group_issue_look(pfc_db *db, pfc_forge *forge, const pfc_group_issue *issue,
                              const char *link, pfc_err *err)
{
    pfc_group_issue_words words = { 0 };
    posting p = {
        .db = db, .forge = forge, .issue = issue, .words = &words, .number = issue->number
    };
    char *key = pfc_format("group-%lld-%s", (long long)issue->group_id, issue->project);
    char *all = NULL;
    pfc_code code = write_words(db, issue, key, link, &words, err);

    p.key = key;
    if (!code) {
        all = pfc_format("%d %s\n%s", (int)words.open, words.title, words.body);
        pfc_sha256_hex(all, strlen(all), p.hash);
    }
    if (!code && !pfc_streq(p.hash, issue->hash))
        code = p.number ? edit(&p, err) : make(&p, err);
    pfc_group_issue_words_clear(&words);
    free(p.url);
    free(all);
    free(key);
    return code;
}
