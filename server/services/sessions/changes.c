/*
 * From the boundaries of a session to change points: see changes.h.
 */
#include "server/services/sessions/changes.h"

#include <math.h>
#include <stdlib.h>

#include "server/repo/documents/session.h"
#include "server/repo/sql/jobs.h"
#include "server/repo/sql/session_judge.h"
#include "server/services/alerts/alerts.h"
#include "server/services/alerts/withheld.h"
#include "server/services/detect/known_changes.h"
#include "server/services/sessions/judge.h"

#define UNDONE_SHARE 0.75 /* of a regression that must have come back, as in detect/judge.c */

/* One series of the session, while its boundaries are applied. */
typedef struct applying {
    pfc_tx *tx;
    const pfc_session_judgement *j;
    const pfc_session_series *series;
    double received_at; /* the session */
    pfc_known *items;
    size_t items_len;
    pfc_withheld_list *withheld;
} applying;

/* ---- places ---- */

/* The commits that a boundary may blame. */
typedef struct place {
    int64_t low, high;
} place;

static place place_of(const applying *a, const pfc_session_boundary *b)
{
    return (place){ .low = a->j->builds[b->b->place_from].position + 1,
                    .high = a->j->builds[b->b->place_to].position };
}

static char *evidence_of(const applying *a, const pfc_session_boundary *b)
{
    const pfc_boundary *e = b->b;

    return pfc_blocks_evidence_text(
        &(pfc_blocks_evidence){ .session = a->j->session,
                                .against = a->j->builds[e->from].commit,
                                .commit = a->j->builds[e->to].commit,
                                .place_after = a->j->builds[e->place_from].commit,
                                .place_until = a->j->builds[e->place_to].commit,
                                .test = pfc_session_test_name(b),
                                .different = b->verdict == PFC_VERDICT_DIFFERENT,
                                .rounds = e->rounds,
                                .rel_low = e->rel_low,
                                .rel_high = e->rel_high,
                                .margin = a->series->margin,
                                .p = e->p,
                                .p_adjusted = b->p_adjusted });
}

/* ---- different ---- */

static const char *why_withheld(const applying *a, const pfc_session_boundary *b)
{
    if (!b->regression)
        return PFC_WITHHELD_IMPROVEMENT;
    return a->series->judged ? NULL : PFC_WITHHELD_RULE_OFF;
}

static pfc_code put_change(const applying *a, const pfc_session_boundary *b, const pfc_known *old,
                           pfc_err *err)
{
    const pfc_boundary *e = b->b;
    const place at = place_of(a, b);
    const double before = a->series->fit.levels[e->from].median;
    char *evidence = evidence_of(a, b);
    int64_t id = 0;
    pfc_code code;

    code = pfc_sql_change_point_decide(
        a->tx,
        &(pfc_sql_change_point_decide_args){
            .project_id = a->j->project_id,
            .id = old ? old->id : 0,
            .series_id = a->series->id,
            .branch = a->j->branch,
            .commit_id = a->j->builds[e->to].commit_id,
            .position_low = at.low,
            .before = before,
            .after = before * (1 + e->rel_change),
            .rel_change = e->rel_change,
            .rel_low = isfinite(e->rel_low) ? e->rel_low : e->rel_change,
            .rel_high = isfinite(e->rel_high) ? e->rel_high : e->rel_change,
            .p = isfinite(e->p) ? PFC_MAX(e->p, PFC_P_MIN) : PFC_P_MIN,
            .regression = b->regression,
            .withheld = why_withheld(a, b),
            .evidence_json = evidence,
            .position_high = at.high },
        &id, err);
    free(evidence);
    return code;
}

/* Blocks are new evidence: an alert that went away before they were measured is opened again. */
static pfc_code follow_different(const applying *a, const pfc_known *old, pfc_err *err)
{
    static const pfc_alert_change again = { .state = "untriaged",
                                            .reason =
                                                "measured again in blocks: the change is there" };
    pfc_code code = PFC_OK;

    if (a->received_at > old->last_event_at && pfc_known_own(old, "noise"))
        code = pfc_alert_follow(a->tx, a->j->project_id, old->alert_id, "noise", true, &again, err);
    return code ? code : pfc_alert_regroup(a->tx, a->j->project_id, old->alert_id, true, err);
}

static pfc_code apply_different(const applying *a, const pfc_session_boundary *b, pfc_err *err)
{
    const place at = place_of(a, b);
    pfc_known *old =
        pfc_known_match(a->items, a->items_len, at.high, at.low, at.high, b->regression);
    pfc_code code;

    if (old) {
        old->used = true;
        /* An earlier session found a narrower range. */
        if (old->blocks && !old->gone && !pfc_streq(old->session, a->j->session) &&
            (at.low < old->low || at.high > old->high))
            return PFC_OK;
    }
    code = put_change(a, b, old, err);
    if (!code && old && old->alert_id)
        code = follow_different(a, old, err);
    return code;
}

/* ---- same, undecided, and no longer decided ---- */

static pfc_code put_gone(const applying *a, const pfc_known *k, const char *evidence,
                         const char *reason, pfc_err *err)
{
    const pfc_alert_change noise = { .state = "noise", .reason = reason };
    pfc_code code = PFC_OK;

    if (pfc_known_own(k, "untriaged") || pfc_known_own(k, "infrastructure"))
        code = pfc_alert_follow(a->tx, a->j->project_id, k->alert_id, k->alert_state, true, &noise,
                                err);
    if (!code && k->alert_id)
        code = pfc_alert_regroup(a->tx, a->j->project_id, k->alert_id, false, err);
    if (code)
        return code;
    return pfc_sql_change_point_refute(
        a->tx,
        &(pfc_sql_change_point_refute_args){
            .project_id = a->j->project_id, .id = k->id, .evidence_json = evidence },
        err);
}

/* No change between the two: removes change points of single measurements there. */
static pfc_code apply_same(const applying *a, const pfc_session_boundary *b, pfc_err *err)
{
    const place at = place_of(a, b);
    char *evidence = evidence_of(a, b);
    char *reason = pfc_format("measured in blocks: %+.1f to %+.1f %%, within the margin of %.3g %%",
                              100 * b->b->rel_low, 100 * b->b->rel_high, 100 * a->series->margin);
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < a->items_len; i++) {
        pfc_known *k = &a->items[i];

        if (k->used || k->gone || !pfc_known_at(k, at.low, at.high) ||
            (k->blocks && !pfc_streq(k->session, a->j->session)))
            continue;
        k->used = true;
        code = put_gone(a, k, evidence, reason, err);
    }
    free(reason);
    free(evidence);
    return code;
}

static void apply_undecided(const applying *a, const pfc_session_boundary *b)
{
    const pfc_boundary *e = b->b;
    const place at = place_of(a, b);

    for (size_t i = 0; i < a->items_len; i++) {
        const pfc_known *k = &a->items[i];

        if (k->used || k->gone || k->blocks || k->alert_id || !k->regression ||
            !pfc_known_at(k, at.low, at.high))
            continue;
        if (pfc_streq(k->withheld, PFC_WITHHELD_NEEDS_BLOCKS) ||
            pfc_streq(k->withheld, PFC_WITHHELD_BUDGET))
            pfc_withheld_add(
                a->withheld, k->id, PFC_WITHHELD_BUDGET,
                &(pfc_withheld_detail){ .against = a->j->builds[e->from].commit,
                                        .commit = a->j->builds[e->to].commit,
                                        .rounds = (double)e->rounds,
                                        .rel_low = isfinite(e->rel_low) ? e->rel_low : -1.0,
                                        .rel_high = isfinite(e->rel_high) ? e->rel_high : 1.0 });
    }
}

/* Removes changes that this session decided from a part of its runs and no longer supports. */
static pfc_code take_back(const applying *a, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < a->items_len; i++) {
        const pfc_known *k = &a->items[i];

        if (!k->used && !k->gone && k->blocks && pfc_streq(k->session, a->j->session))
            code = put_gone(a, k, NULL,
                            "went away: with all runs of the session, it is not decided", err);
    }
    return code;
}

/* ---- levels that came back ---- */

/* The first later change with blocks that reverts `k`; NULL: none. `items`: by position. */
static const pfc_known *brings_back(const pfc_known *items, size_t len, const pfc_known *k)
{
    double level = 1 + k->rel_change;

    for (size_t i = 0; i < len; i++) {
        const pfc_known *later = &items[i];

        if (later->gone || !later->blocks || later->position <= k->position)
            continue;
        level *= 1 + later->rel_change;
        if (!later->regression && (1 + k->rel_change - level) / k->rel_change >= UNDONE_SHARE)
            return later;
    }
    return NULL;
}

static int by_position(const void *a, const void *b)
{
    const pfc_known *x = a, *y = b;

    return (x->position > y->position) - (x->position < y->position);
}

static pfc_code load_known(pfc_tx *tx, const applying *a, pfc_sql_change_points_of_series_rows *out,
                           pfc_known **items, size_t *len, pfc_err *err)
{
    pfc_code code;

    code = pfc_sql_change_points_of_series(
        tx,
        &(pfc_sql_change_points_of_series_args){
            .project_id = a->j->project_id, .series_id = a->series->id, .branch = a->j->branch },
        out, err);
    if (code)
        return code;
    *len = out->len;
    *items = pfc_calloc(*len + 1, sizeof(**items));
    pfc_known_read(out, *items);
    return PFC_OK;
}

static pfc_code settle_undone(const applying *a, pfc_err *err)
{
    pfc_sql_change_points_of_series_rows rows = { 0 };
    pfc_known *items = NULL;
    size_t len = 0;
    pfc_code code = load_known(a->tx, a, &rows, &items, &len, err);

    if (!code)
        qsort(items, len, sizeof(*items), by_position);
    for (size_t i = 0; !code && i < len; i++) {
        const pfc_known *k = &items[i];
        const pfc_known *later = NULL;
        char *back = NULL;

        if (k->gone || !k->blocks || !k->regression)
            continue;
        later = brings_back(items, len, k);
        if ((later != NULL) == k->undone)
            continue;
        code = pfc_sql_change_point_undone_by(
            a->tx,
            &(pfc_sql_change_point_undone_by_args){ .project_id = a->j->project_id,
                                                    .id = k->id,
                                                    .undone_by_id = later ? later->id : 0 },
            err);
        if (later)
            back = pfc_format("%s: %+.1f %%, then %+.1f %%, both measured in blocks", PFC_WENT_AWAY,
                              100 * k->rel_change, 100 * later->rel_change);
        if (!code && k->alert_id)
            code = pfc_known_follow(a->tx, a->j->project_id, k, true, back, err);
        free(back);
    }
    free(items);
    pfc_rows_clear(&rows);
    return code;
}

/* ---- the session ---- */

static pfc_code apply_series(applying *a, pfc_err *err)
{
    pfc_sql_change_points_of_series_rows rows = { 0 };
    pfc_code code = load_known(a->tx, a, &rows, &a->items, &a->items_len, err);

    for (size_t i = 0; !code && i < a->series->boundaries_len; i++) {
        if (a->series->boundaries[i].verdict == PFC_VERDICT_DIFFERENT)
            code = apply_different(a, &a->series->boundaries[i], err);
    }
    for (size_t i = 0; !code && i < a->series->boundaries_len; i++) {
        if (a->series->boundaries[i].verdict == PFC_VERDICT_SAME)
            code = apply_same(a, &a->series->boundaries[i], err);
        else if (a->series->boundaries[i].verdict == PFC_VERDICT_INCONCLUSIVE)
            apply_undecided(a, &a->series->boundaries[i]);
    }
    if (!code)
        code = take_back(a, err);
    if (!code)
        code = settle_undone(a, err);
    free(a->items);
    a->items = NULL;
    pfc_rows_clear(&rows);
    return code;
}

/* The arguments of pfc_session_apply. */
typedef struct asked {
    int64_t project_id;
    const char *session;
} asked;

/* Locks the branch first, as every transaction that writes alerts of several series does, then the
 * series in the order of their ids. One order prevents deadlocks. */
static pfc_code lock(pfc_tx *tx, const asked *q, double *received_at, pfc_err *err)
{
    pfc_sql_session_when_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_session_when(
        tx, &(pfc_sql_session_when_args){ .project_id = q->project_id, .session = q->session },
        &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such session");
    if (!code)
        code = pfc_branch_lock(tx, q->project_id, rows.items[0].branch, err);
    if (!code)
        *received_at = rows.items[0].extract;
    pfc_rows_clear(&rows);
    if (code)
        return code;
    code = pfc_sql_session_series_lock(
        tx,
        &(pfc_sql_session_series_lock_args){ .project_id = q->project_id, .session = q->session },
        NULL, err);
    if (code)
        return code;
    return pfc_sql_session_series_mark(
        tx,
        &(pfc_sql_session_series_mark_args){ .project_id = q->project_id, .session = q->session },
        err);
}

static pfc_code apply(pfc_tx *tx, void *into, pfc_err *err)
{
    const asked *q = into;
    pfc_session_judgement j = { 0 };
    pfc_withheld_list withheld = { 0 };
    double received_at = 0;
    pfc_code code = lock(tx, q, &received_at, err);

    if (!code)
        code = pfc_session_judge(tx, q->project_id, q->session, &j, err);
    for (size_t i = 0; !code && i < j.series_len; i++) {
        applying a = { .tx = tx,
                       .j = &j,
                       .series = &j.series[i],
                       .received_at = received_at,
                       .withheld = &withheld };

        code = apply_series(&a, err);
    }
    if (!code)
        code = pfc_withheld_write(tx, q->project_id, &withheld, err);
    pfc_withheld_clear(&withheld);
    pfc_session_judgement_clear(&j);
    return code;
}

pfc_code pfc_session_apply(pfc_db *db, int64_t project_id, const char *session, pfc_err *err)
{
    asked q = { project_id, session };
    pfc_code code = pfc_db_write(db, apply, &q, err);

    return code ? pfc_err_wrap(err, "judging session %.32s", session) : PFC_OK;
}

/* ---- candidates ---- */

pfc_code pfc_candidates_list(pfc_db *db, int64_t project_id, const char *branch,
                             const char *machine_class, int limit, pfc_candidates *out,
                             pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code =
            pfc_sql_candidates_list(tx,
                                    &(pfc_sql_candidates_list_args){ .project_id = project_id,
                                                                     .branch = branch,
                                                                     .machine_class = machine_class,
                                                                     .limit = limit },
                                    out, err);
    pfc_tx_free(tx);
    return code;
}
