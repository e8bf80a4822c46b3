/*
 * Bisections over the commits of a pull request: on a branch of their own, by jobs that a runner
 * isolates, with the settings of the base branch.
 */
#include <math.h>
#include <string.h>

#include "core/base/log.h"
#include "server/services/bot/bot.h"
#include "server/services/history/history.h"
#include "server/services/queue/queue.h"

/* One branch for each comment: a repeated start finds what it has started. */
static char *branch_of(const pfc_pull *pull, int64_t comment_id)
{
    return pfc_format("pull/%lld/bisect/%lld", (long long)pull->number, (long long)comment_id);
}

typedef struct placing {
    const pfc_pull *pull;
    const pfc_pull_search *search;
    const char *branch;
    int64_t comment_id, bisection_id;
} placing;

static pfc_code find_started(pfc_tx *tx, void *into, pfc_err *err)
{
    placing *p = into;

    p->bisection_id = 0;
    return pfc_sql_pull_bisection_branch(
        tx,
        &(pfc_sql_pull_bisection_branch_args){ .project_id = p->pull->project_id,
                                               .branch = p->branch },
        &p->bisection_id, err);
}

static pfc_code place_line(pfc_tx *tx, void *into, pfc_err *err)
{
    const placing *p = into;

    return pfc_commits_append(tx, p->pull->project_id, p->branch, p->search->line,
                              p->search->line_len, err);
}

static pfc_code record(pfc_tx *tx, void *into, pfc_err *err)
{
    const placing *p = into;

    return pfc_sql_pull_bisection_put(
        tx,
        &(pfc_sql_pull_bisection_put_args){ .project_id = p->pull->project_id,
                                            .bisection_id = p->bisection_id,
                                            .number = p->pull->number,
                                            .comment_id = p->comment_id,
                                            .head_sha = p->pull->head_sha },
        err);
}

static pfc_code start(pfc_db *db, const char *actor, const placing *p, pfc_bisections *out,
                      pfc_err *err)
{
    const pfc_pull_search *s = p->search;
    const double step = fabs(log1p(fmax(s->rel_change, -0.999)));
    const pfc_bisection_order order = {
        .metric = s->metric,
        .benchmark = s->benchmark,
        .backend = s->backend,
        .machine_class = p->pull->machine_class,
        .branch = p->branch,
        .good = s->line[0],
        .bad = s->line[s->line_len - 1],
        .options = { .priority = pfc_job_priority("bisect"),
                     .margin_rel = isfinite(step) ? fmin(step / 2, 1.0) : 0,
                     .settings_branch = p->pull->base_branch,
                     .stranger = true },
    };
    pfc_bisection_cost cost = { 0 };

    return pfc_bisection_start(db, actor, p->pull->project_id, &order, false, &cost, out, err);
}

pfc_code pfc_pull_bisect(pfc_db *db, const char *actor, const pfc_pull *pull, int64_t comment_id,
                         const pfc_pull_search *search, int64_t *id, pfc_err *err)
{
    char *branch = branch_of(pull, comment_id);
    placing p = { .pull = pull, .search = search, .branch = branch, .comment_id = comment_id };
    pfc_bisections started = { 0 };
    pfc_code code = pfc_db_write(db, find_started, &p, err);

    if (!code && !p.bisection_id) {
        code = pfc_db_write(db, place_line, &p, err);
        if (!code)
            code = start(db, actor, &p, &started, err);
        if (!code)
            p.bisection_id = started.items[0].id;
    }
    if (!code)
        code = pfc_db_write(db, record, &p, err);
    if (!code)
        *id = p.bisection_id;
    pfc_rows_clear(&started);
    free(branch);
    return code;
}

pfc_code pfc_pull_bisections_open(pfc_db *db, const pfc_pull_key *key, pfc_pull_bisections *out,
                                  pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code =
            pfc_sql_pull_bisections_open(tx,
                                         &(pfc_sql_pull_bisections_open_args){
                                             .project_id = key->project_id, .number = key->number },
                                         out, err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_pull_bisection_said(pfc_db *db, const pfc_pull_key *key, int64_t id, const char *said,
                                 pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_pull_bisection_said(
            tx,
            &(pfc_sql_pull_bisection_said_args){
                .project_id = key->project_id, .bisection_id = id, .said = said },
            err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_pull_bisections_supersede(pfc_db *db, const pfc_pull_key *key, const char *head,
                                       pfc_err *err)
{
    pfc_pull_bisections open = { 0 };
    pfc_code code = pfc_pull_bisections_open(db, key, &open, err);

    for (size_t i = 0; !code && i < open.len; i++) {
        const pfc_pull_bisection *b = &open.items[i];
        pfc_bisections ended = { 0 };
        pfc_err why = { 0 };

        if (!pfc_streq(b->now, "running") || pfc_streq(b->head_sha, head))
            continue;
        /* It may have ended by now. */
        if (pfc_bisection_cancel(db, "bot", b->bisection_id, &ended, &why) != PFC_OK)
            pfc_log(PFC_INFO, "superseded_bisection_not_cancelled", "bisection", b->bisection_id,
                    "reason", (const char *)why.msg);
        pfc_rows_clear(&ended);
    }
    pfc_rows_clear(&open);
    return code;
}
