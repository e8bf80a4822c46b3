/*
 * Deliveries of webhooks: stored at once, worked on later.
 */
#include <string.h>

#include "server/services/bot/bot.h"
#include "server/services/history/history.h"

#define AT_ONCE 50 /* deliveries of one transaction */

static const char *const kinds[] = {
    [PFC_WEBHOOK_IGNORED] = "ignored",    [PFC_WEBHOOK_PING] = "ping",
    [PFC_WEBHOOK_PUSH] = "push",          [PFC_WEBHOOK_PULL] = "pull",
    [PFC_WEBHOOK_PULL_CLOSED] = "closed", [PFC_WEBHOOK_COMMENT] = "comment",
    [PFC_WEBHOOK_CHECK_AGAIN] = "again",  [PFC_WEBHOOK_INSTALLED] = "installed",
};

/* ---- storing ---- */

/* Why nothing is to be done; NULL: a worker looks at it. */
static const char *why_ignored(const pfc_webhook *w)
{
    switch (w->kind) {
    case PFC_WEBHOOK_IGNORED:
        return w->why ? w->why : "no use for this event";
    case PFC_WEBHOOK_PING:
        return "the forge tests the webhook";
    case PFC_WEBHOOK_INSTALLED:
        return "the installation is asked for by repository";
    case PFC_WEBHOOK_COMMENT:
        return w->sender_is_bot ? "a bot wrote the comment" : NULL;
    case PFC_WEBHOOK_PUSH:
    case PFC_WEBHOOK_PULL:
    case PFC_WEBHOOK_PULL_CLOSED:
    case PFC_WEBHOOK_CHECK_AGAIN:
        return NULL;
    }
    return NULL;
}

pfc_code pfc_webhook_store(pfc_db *db, pfc_forge_kind forge, const char *account,
                           const pfc_webhook_headers *headers, const pfc_webhook *w, bool *repeated,
                           pfc_err *err)
{
    const char *note = why_ignored(w);
    const bool comment = w->kind == PFC_WEBHOOK_COMMENT && !note;
    const bool push = w->kind == PFC_WEBHOOK_PUSH;
    int64_t number = w->pull_number, notified = 0;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (w->kind == PFC_WEBHOOK_PULL || w->kind == PFC_WEBHOOK_PULL_CLOSED)
        number = w->pull.number;
    if (!code)
        code = pfc_sql_delivery_insert(
            tx,
            &(pfc_sql_delivery_insert_args){ .forge = pfc_forge_kind_name(forge),
                                             .account = account,
                                             .delivery = headers->delivery,
                                             .event = headers->event ? headers->event : "",
                                             .kind = kinds[w->kind],
                                             .repo = w->repo ? w->repo : "",
                                             .sender = w->sender ? w->sender : "",
                                             .number = number,
                                             .sha = push                                 ? w->after
                                                    : w->kind == PFC_WEBHOOK_CHECK_AGAIN ? w->commit
                                                                                         : NULL,
                                             .comment_id = comment ? w->comment_id : 0,
                                             .comment_author = comment ? w->comment_author : NULL,
                                             .comment_body = comment ? w->comment_body : NULL,
                                             .branch = push ? w->branch : NULL,
                                             .state = note ? "ignored" : "new",
                                             .note = note ? note : "" },
            &notified, err);
    if (!code && notified == 0)
        code = pfc_tx_replicate(tx, err);
    pfc_tx_free(tx);
    if (!code)
        *repeated = notified == 0;
    return code;
}

/* ---- working on them ---- */

typedef struct applying {
    const char *(*project_of)(void *arg, const char *account);
    void *arg;
    size_t done;
} applying;

/* Result of one delivery. */
typedef struct outcome {
    int64_t project_id; /* the first one that it concerned; 0: none */
    const char *note;   /* why it was ignored; NULL: it was not */
    char text[PFC_ERR_MAX];
} outcome;

static const char *command_word(pfc_bot_command_kind kind)
{
    static const char *const words[] = {
        [PFC_BOT_BENCH] = "bench",   [PFC_BOT_BISECT] = "bisect",   [PFC_BOT_RERUN] = "rerun",
        [PFC_BOT_ACCEPT] = "accept", [PFC_BOT_WHY] = "why",         [PFC_BOT_HELP] = "help",
        [PFC_BOT_ALLOW] = "allow",   [PFC_BOT_UNKNOWN] = "unknown",
    };

    return words[kind];
}

static pfc_code put_command(pfc_tx *tx, int64_t project_id, int64_t number, int64_t comment_id,
                            const char *command, const char *argument, const char *author,
                            pfc_err *err)
{
    pfc_code code = pfc_sql_pull_touch(
        tx, &(pfc_sql_pull_touch_args){ .project_id = project_id, .number = number }, err);

    return code ? code
                : pfc_sql_pull_command_insert(
                      tx,
                      &(pfc_sql_pull_command_insert_args){ .project_id = project_id,
                                                           .number = number,
                                                           .comment_id = comment_id,
                                                           .command = command,
                                                           .argument = argument,
                                                           .author = author ? author : "" },
                      err);
}

/* A command with a wrong argument is answered, too: "invalid" with the sentence. */
static pfc_code apply_comment(pfc_tx *tx, const pfc_sql_deliveries_take_row *d, int64_t project_id,
                              outcome *out, pfc_err *err)
{
    pfc_bot_command command = { 0 };
    pfc_err why = { 0 };
    pfc_code code = pfc_bot_command_find(d->comment_body ? d->comment_body : "", &command, &why);

    if (code == PFC_ENOTFOUND) {
        out->note = "no command";
        code = PFC_OK;
    } else if (code == PFC_EINVAL) {
        code = put_command(tx, project_id, d->number, d->comment_id, "invalid", why.msg,
                           d->comment_author, err);
    } else if (!code) {
        code = put_command(tx, project_id, d->number, d->comment_id, command_word(command.kind),
                           command.argument, d->comment_author, err);
    } else {
        code = pfc_err_set(err, code, "%s", why.msg);
    }
    pfc_bot_command_clear(&command);
    return code;
}

static pfc_code apply_again(pfc_tx *tx, const pfc_sql_deliveries_take_row *d, int64_t project_id,
                            outcome *out, pfc_err *err)
{
    pfc_sql_pulls_of_head_rows pulls = { 0 };
    pfc_code code = pfc_sql_pulls_of_head(
        tx, &(pfc_sql_pulls_of_head_args){ .project_id = project_id, .sha = d->sha ? d->sha : "" },
        &pulls, err);

    if (!code && pulls.len == 0)
        out->note = "no open pull request has this head";
    for (size_t i = 0; !code && i < pulls.len; i++)
        code = put_command(tx, project_id, pulls.items[i].number, -d->id, "rerun", NULL, d->sender,
                           err);
    pfc_rows_clear(&pulls);
    return code;
}

/* The new head of a branch that is measured. Parents are not in a push, so the commit is placed at
 * the end of the branch until a client posts it with them. */
static pfc_code apply_push(pfc_tx *tx, const pfc_sql_deliveries_take_row *d, int64_t project_id,
                           outcome *out, pfc_err *err)
{
    bool measured = false;
    int64_t id = 0;
    pfc_code code = pfc_sql_branch_measured(
        tx, &(pfc_sql_branch_measured_args){ .project_id = project_id, .branch = d->branch },
        &measured, err);

    if (!code && !measured) {
        (void)snprintf(out->text, sizeof(out->text),
                       "branch %.200s is neither the project's nor a schedule's", d->branch);
        out->note = out->text;
        return PFC_OK;
    }
    return code ? code
                : pfc_commit_ensure(tx, project_id, d->branch, d->sha, d->received_at, &id, err);
}

static pfc_code apply_to(pfc_tx *tx, const pfc_sql_deliveries_take_row *d, int64_t project_id,
                         outcome *out, pfc_err *err)
{
    if (strcmp(d->kind, "comment") == 0)
        return apply_comment(tx, d, project_id, out, err);
    if (strcmp(d->kind, "again") == 0)
        return apply_again(tx, d, project_id, out, err);
    if (strcmp(d->kind, "push") == 0)
        return apply_push(tx, d, project_id, out, err);
    return pfc_sql_pull_touch(
        tx, &(pfc_sql_pull_touch_args){ .project_id = project_id, .number = d->number }, err);
}

static pfc_code apply_one(pfc_tx *tx, const applying *a, const pfc_sql_deliveries_take_row *d,
                          pfc_err *err)
{
    const char *only = a->project_of(a->arg, d->account);
    pfc_sql_delivery_projects_rows projects = { 0 };
    outcome out = { 0 };
    pfc_code code = pfc_sql_delivery_projects(
        tx, &(pfc_sql_delivery_projects_args){ .forge = d->forge, .repo = d->repo }, &projects,
        err);

    (void)snprintf(out.text, sizeof(out.text), "no project is linked to %.300s", d->repo);
    out.note = out.text;
    for (size_t i = 0; !code && i < projects.len; i++) {
        if (only && only[0] && strcmp(only, projects.items[i].project) != 0)
            continue; /* the secret is another project's */
        if (!out.project_id) {
            out.project_id = projects.items[i].project_id;
            out.note = NULL;
        }
        code = apply_to(tx, d, projects.items[i].project_id, &out, err);
    }
    if (!code)
        code = pfc_sql_delivery_finish(
            tx,
            &(pfc_sql_delivery_finish_args){ .id = d->id,
                                             .project_id = out.project_id,
                                             .state = out.note ? "ignored" : "done",
                                             .note = out.note ? out.note : "" },
            err);
    pfc_rows_clear(&projects);
    return code;
}

static pfc_code apply_all(pfc_tx *tx, void *into, pfc_err *err)
{
    applying *a = into;
    pfc_sql_deliveries_take_rows rows = { 0 };
    pfc_code code = pfc_sql_deliveries_take(tx, &(pfc_sql_deliveries_take_args){ .limit = AT_ONCE },
                                            &rows, err);

    a->done = rows.len;
    for (size_t i = 0; !code && i < rows.len; i++)
        code = apply_one(tx, a, &rows.items[i], err);
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_webhooks_apply(pfc_db *db, const char *(*project_of)(void *arg, const char *account),
                            void *arg, size_t *done, pfc_err *err)
{
    applying a = { .project_of = project_of, .arg = arg };
    pfc_code code = pfc_db_write(db, apply_all, &a, err);

    *done = code ? 0 : a.done;
    return code;
}

/* ---- lists ---- */

pfc_code pfc_webhooks_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_webhook_rows *out,
                           pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_deliveries_list(
            tx,
            &(pfc_sql_deliveries_list_args){
                .project_id = project_id, .cursor = page.cursor, .limit = pfc_page_fetch(page) },
            out, err);
    pfc_tx_free(tx);
    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}

pfc_code pfc_webhooks_prune(pfc_db *db, int days, size_t limit, size_t *pruned, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_deliveries_prune(
            tx, &(pfc_sql_deliveries_prune_args){ .days = days, .limit = (int64_t)limit }, pruned,
            err);
    pfc_tx_free(tx);
    return code;
}
