/*
 * The bot's loop: deliveries, then one look at a pull request or at a group with an issue.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "server/bot/internal.h"
#include "server/bot/issues.h"

#define RETRY_MAX_S   3600.0
#define ISSUE_POLL_S  60.0  /* between two looks at a group whose issue is open */
#define CLOSED_POLL_S 600.0 /* ... is closed */

struct pfc_bot {
    pfc_db *db;
    pfc_bot_setups *setups;
    pfc_bot_setup *setup;                      /* held; NULL: none yet */
    pfc_forge *forges[PFC_FORGE_MAX_ACCOUNTS]; /* of its accounts; opened when first used */
    atomic_bool stopping;
};

pfc_bot *pfc_bot_new(pfc_db *db, pfc_bot_setups *setups)
{
    pfc_bot *b = pfc_calloc(1, sizeof(*b));

    b->db = db;
    b->setups = setups;
    return b;
}

/* Without the clients of its accounts. */
static void let_go(pfc_bot *b)
{
    for (size_t i = 0; i < PFC_FORGE_MAX_ACCOUNTS; i++) {
        pfc_forge_close(b->forges[i]);
        b->forges[i] = NULL;
    }
    pfc_bot_setup_release(b->setup);
    b->setup = NULL;
}

void pfc_bot_close(pfc_bot *b)
{
    if (!b)
        return;
    let_go(b);
    free(b);
}

/* Between two looks. */
static void renew_setup(pfc_bot *b)
{
    pfc_bot_setup *now = pfc_bot_setups_hold(b->setups);

    if (now == b->setup) {
        pfc_bot_setup_release(now);
        return;
    }
    let_go(b);
    b->setup = now;
}

void pfc_bot_stop(pfc_bot *b)
{
    atomic_store(&b->stopping, true);
}

static bool is_stopping(void *arg)
{
    pfc_bot *b = arg;

    return atomic_load(&b->stopping);
}

/* ---- deliveries ---- */

static const char *project_of(void *arg, const char *account)
{
    const pfc_bot *b = arg;
    const pfc_forge_account *a = pfc_forge_account_named(&b->setup->accounts, account);

    /* An account that was removed since: its deliveries concern no project. */
    return a ? a->project : "/";
}

static pfc_code work_off(pfc_bot *b, pfc_err *err)
{
    size_t done = 1;
    pfc_code code = PFC_OK;

    while (!code && done && !atomic_load(&b->stopping))
        code = pfc_webhooks_apply(b->db, project_of, b, &done, err);
    return code;
}

/* ---- one look ---- */

static pfc_code open_forge(pfc_bot *b, const char *forge, const char *project, pfc_forge **out,
                           pfc_err *err)
{
    pfc_forge_kind kind = PFC_FORGE_GITHUB;
    const pfc_forge_account *a;
    pfc_forge **slot;
    pfc_forge_opts opts;
    pfc_code code = pfc_forge_kind_parse(forge, &kind, err);

    if (code)
        return code;
    a = pfc_forge_account_for(&b->setup->accounts, kind, project);
    if (!a)
        return pfc_err_set(err, PFC_EDENIED,
                           "no token for %s is set: nothing can be read or posted there", forge);
    slot = &b->forges[a - b->setup->accounts.items];
    opts = (pfc_forge_opts){ .kind = kind,
                             .api_url = a->url,
                             .token = a->token,
                             .app_id = a->app_id,
                             .app_key_pem = a->app_key,
                             .installation = a->installation,
                             .cancelled = is_stopping,
                             .cancelled_arg = b };
    if (!*slot)
        code = pfc_forge_open(&opts, slot, err);
    *out = *slot;
    return code;
}

/* Reads the present state from the forge when something happened or the last answer is old. */
static pfc_code refresh(pfc_bot *b, pfc_look *look, pfc_err *err)
{
    const pfc_pull *p = &look->pulls.items[0];
    pfc_forge_pull pull = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code;

    if (p->seq == p->seen_seq && p->age_s < b->setup->poll_s)
        return PFC_OK;
    code = pfc_forge_pull_get(look->forge, p->repo, p->number, &pull, err);
    if (!code && pull.head_commit && strlen(pull.head_commit) != 40)
        code = pfc_err_set(err, PFC_EINVAL, "the head \"%.64s\" is no id of 40 digits",
                           pull.head_commit);
    if (!code)
        code = pfc_tx_begin(&tx, look->db, PFC_TX_AUTO, err);
    if (!code)
        code = pfc_sql_pull_seen(
            tx,
            &(pfc_sql_pull_seen_args){ .project_id = p->project_id,
                                       .number = p->number,
                                       .title = pull.title ? pull.title : "",
                                       .author = pull.author ? pull.author : "",
                                       .url = pull.url ? pull.url : "",
                                       .head_sha = pull.head_commit,
                                       .base_branch = pull.base_branch,
                                       .merge_base =
                                           pull.merge_base ? pull.merge_base : pull.base_commit,
                                       .fork = pull.fork,
                                       .draft = pull.draft,
                                       .open = pull.open },
            err);
    pfc_tx_free(tx);
    pfc_forge_pull_clear(&pull);
    return code ? code : pfc_look_load(look, err);
}

static bool is_allowed(const pfc_pull *p)
{
    return !p->fork || pfc_streq(p->allowed_sha, p->head_sha);
}

/* A new head replaces the older one's measurement. */
static pfc_code measure(pfc_look *look, pfc_err *err)
{
    const pfc_pull *p = &look->pulls.items[0];
    pfc_code code = pfc_pull_supersede(look->db, &look->key, p->open ? p->head_sha : NULL, err);

    if (code || !p->open || p->draft || !p->head_sha || !p->merge_base || look->newest.len ||
        !is_allowed(p))
        return code;
    code = pfc_pull_measure(look->db, "bot", p, NULL, false, err);
    return code ? code : pfc_look_load(look, err);
}

static pfc_code run_look(pfc_bot *b, pfc_look *look, pfc_err *err)
{
    pfc_code code = pfc_look_load(look, err);

    if (!code && !look->pulls.items[0].forge) {
        look->again_s = HUGE_VAL; /* the project's link was removed */
        return PFC_OK;
    }
    if (!code)
        code = open_forge(b, look->pulls.items[0].forge, look->pulls.items[0].project, &look->forge,
                          err);
    if (!code)
        code = refresh(b, look, err);
    if (!code)
        code = pfc_look_obey(look, err);
    if (!code)
        code = measure(look, err);
    if (!code)
        code = pfc_look_judge(look, err);
    if (!code)
        code = pfc_look_publish(look, err);
    if (!code)
        code = pfc_look_follow(look, err);
    return code;
}

/* ---- when to look again ---- */

static double pause_s(const pfc_bot *b, const pfc_forge *forge, int64_t tries)
{
    const double wait_s = forge ? pfc_forge_wait_s(forge) : 0;

    return fmax(wait_s, fmin(ldexp(b->setup->retry_s, (int)PFC_MIN(tries - 1, 20)), RETRY_MAX_S));
}

static pfc_code finish(pfc_bot *b, pfc_look *look, int64_t seq, int64_t tries, pfc_code result,
                       const pfc_err *why, pfc_err *err)
{
    const pfc_pull *p = look->pulls.len ? &look->pulls.items[0] : NULL;
    double after_s = fmin(look->again_s, p && p->open ? b->setup->poll_s : HUGE_VAL);
    pfc_tx *tx = NULL;
    pfc_code code;

    tries = result ? tries + 1 : 0;
    if (result) {
        after_s = pause_s(b, look->forge, tries);
        pfc_log(PFC_WARN, "pull_request_look_failed", "project", look->key.project_id, "number",
                look->key.number, "try", tries, "again_s", after_s, "reason",
                (const char *)why->msg);
    }
    code = pfc_tx_begin(&tx, look->db, PFC_TX_AUTO, err);
    if (!code)
        code = pfc_sql_pull_later(tx,
                                  &(pfc_sql_pull_later_args){ .project_id = look->key.project_id,
                                                              .number = look->key.number,
                                                              .seq = seq,
                                                              .after_s = after_s,
                                                              .tries = tries,
                                                              .trouble = result ? why->msg : NULL },
                                  err);
    pfc_tx_free(tx);
    return code;
}

static pfc_code next_pull(pfc_bot *b, double *due_s, pfc_err *err)
{
    pfc_look look = { .bot = b, .db = b->db, .again_s = HUGE_VAL };
    pfc_tx *lock = NULL;
    pfc_err why = { 0 };
    int64_t seq = 0, tries = 0;
    pfc_code code, result;

    look.link = b->setup->link;
    code = pfc_pull_take(b->db, &lock, &look.key, due_s, err);
    if (code)
        return code;
    result = pfc_look_load(&look, &why);
    if (!result) {
        seq = look.pulls.items[0].seq;
        tries = look.pulls.items[0].tries;
        look.stirred = seq != look.pulls.items[0].seen_seq;
        result = run_look(b, &look, &why);
    }
    if (atomic_load(&b->stopping) && result)
        code = pfc_err_set(err, PFC_EUNAVAIL, "stopping"); /* the look stays due */
    else
        code = finish(b, &look, seq, tries, result, &why, err);
    pfc_look_clear(&look);
    pfc_tx_free(lock);
    return code;
}

/* ---- issues of groups ---- */

static pfc_code finish_issue(pfc_bot *b, const pfc_forge *forge, const pfc_group_issue *issue,
                             pfc_code result, const pfc_err *why, pfc_err *err)
{
    const int64_t tries = result ? issue->tries + 1 : 0;
    double after_s =
        fmin(b->setup->poll_s, pfc_streq(issue->state, "closed") ? CLOSED_POLL_S : ISSUE_POLL_S);

    if (result) {
        after_s = pause_s(b, forge, tries);
        pfc_log(PFC_WARN, "group_issue_failed", "project", issue->project, "group", issue->group_id,
                "try", tries, "again_s", after_s, "reason", (const char *)why->msg);
    }
    return pfc_group_issue_later(b->db, issue, after_s, tries, result ? why->msg : NULL, err);
}

static pfc_code next_issue(pfc_bot *b, double *due_s, pfc_err *err)
{
    pfc_group_issues row = { 0 };
    pfc_forge *forge = NULL;
    pfc_tx *lock = NULL;
    pfc_err why = { 0 };
    pfc_code code = pfc_group_issue_take(b->db, &lock, &row, due_s, err), result;

    if (!code) {
        result = open_forge(b, row.items[0].forge, row.items[0].project, &forge, &why);
        if (!result)
            result = pfc_group_issue_look(b->db, forge, row.items, b->setup->link, &why);
        if (atomic_load(&b->stopping) && result)
            code = pfc_err_set(err, PFC_EUNAVAIL, "stopping"); /* the look stays due */
        else
            code = finish_issue(b, forge, row.items, result, &why, err);
    }
    pfc_rows_clear(&row);
    pfc_tx_free(lock);
    return code;
}

/* ---- the loop ---- */

pfc_code pfc_bot_next(pfc_bot *b, double *due_s, pfc_err *err)
{
    double issue_due_s = HUGE_VAL;
    pfc_code code;

    *due_s = HUGE_VAL;
    renew_setup(b);
    if (b->setup->accounts.len == 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "there is no account at a forge");
    code = work_off(b, err);
    if (!code)
        code = next_pull(b, due_s, err);
    if (code != PFC_ENOTFOUND)
        return code;
    code = next_issue(b, &issue_due_s, err);
    *due_s = fmin(*due_s, issue_due_s);
    return code;
}
