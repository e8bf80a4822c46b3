/*
 * Broken benchmarks: one alert a benchmark, backend and machine class, "broken since COMMIT", which
 * closes when a later commit is measured again. Only the order of commits decides, not the order in which
 * results arrive: every time, the whole state is read and the alert is set to match it.
 */
#include "server/services/internal.h"

#define REASON_BYTES 400

typedef struct looking {
    int64_t project_id;
    const char *branch;
    const int64_t *runs;
    size_t runs_len;
    bool whole;
} looking;

/* How a benchmark is now. */
typedef struct state {
    int64_t series_id; /* 0: never measured on the branch, so that there is nothing that broke */
    bool seen;         /* it was broken somewhere on the line */
    int64_t since, low, undone; /* commits; since 0: it is not broken */
    const char *reason;
} state;

/* The alert that stands, if any. */
typedef struct standing {
    int64_t id, commit_id, alert_id;
    bool ended;
    const char *state, *last_actor;
} standing;

static state read_state(const pfc_res *res)
{
    state s = { .series_id = pfc_res_i64(res, 0, pfc_res_column(res, "series_id")),
                .seen = pfc_res_bool(res, 0, pfc_res_column(res, "seen")),
                .since = pfc_res_i64(res, 0, pfc_res_column(res, "since_commit_id")),
                .low = pfc_res_i64(res, 0, pfc_res_column(res, "low_commit_id")),
                .undone = pfc_res_i64(res, 0, pfc_res_column(res, "undone_commit_id")),
                .reason = pfc_res_text(res, 0, pfc_res_column(res, "reason")) };

    if (!s.low)
        s.low = s.since;
    return s;
}

/* The alert that is still open; else the newest closed alert for the same commit, which is then reopened. */
static bool find_standing(const pfc_res *res, int64_t since, standing *out)
{
    bool found = false;

    for (size_t i = 0; i < pfc_res_rows(res); i++) {
        const standing s = {
            .id = pfc_res_i64(res, i, pfc_res_column(res, "id")),
            .commit_id = pfc_res_i64(res, i, pfc_res_column(res, "commit_id")),
            .alert_id = pfc_res_i64(res, i, pfc_res_column(res, "alert_id")),
            .ended = pfc_res_bool(res, i, pfc_res_column(res, "ended")),
            .state = pfc_res_text(res, i, pfc_res_column(res, "state")),
            .last_actor = pfc_res_text(res, i, pfc_res_column(res, "last_actor")),
        };

        if (s.ended && (s.commit_id != since || (found && !out->ended)))
            continue;
        *out = s;
        found = true;
    }
    return found;
}

static pfc_code open_alert(pfc_tx *tx, int64_t project_id, int64_t series_id, int64_t change_id,
                           const char *reason, pfc_err *err)
{
    char text[REASON_BYTES];
    pfc_args args = { 0 };
    int64_t id = 0;
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, change_id);
    pfc_args_i64(&args, series_id);
    code = pfc_query_id(tx, "alert_open", &args, &id, err);
    if (code || !id)
        return code;
    (void)snprintf(text, sizeof(text), "broken: %s", reason ? reason : "");
    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, id);
    pfc_args_text(&args, "detector");
    pfc_args_text(&args, NULL);
    pfc_args_text(&args, "untriaged");
    pfc_args_text(&args, text);
    code = pfc_tx_query(tx, "alert_event_insert", &args, NULL, err);
    if (code)
        return code;
    pfc_args_i64(&args, id);
    return pfc_tx_query(tx, "alert_notify", &args, NULL, err);
}

static pfc_code put(pfc_tx *tx, int64_t project_id, const state *now, const standing *old,
                    pfc_err *err)
{
    pfc_args args = { 0 };
    int64_t id = 0;
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_id(&args, old ? old->id : 0);
    pfc_args_i64(&args, now->series_id);
    pfc_args_i64(&args, now->low);
    pfc_args_i64(&args, now->since);
    pfc_args_text(&args, now->reason);
    code = pfc_query_id(tx, "broken_put", &args, &id, err);
    if (code || !old || !old->alert_id)
        return code ? code : open_alert(tx, project_id, now->series_id, id, now->reason, err);
    if (old->ended && pfc_streq(old->state, "verified_fixed"))
        return pfc_alert_follow(
            tx, project_id, old->alert_id, old->state, true,
            &(pfc_alert_change){ .state = "untriaged", .reason = "it is broken again" }, err);
    return PFC_OK;
}

/* Only these states are closed automatically: a state such as noise or wont_fix is a person's decision. */
static pfc_code close_alert(pfc_tx *tx, int64_t project_id, const standing *old, const char *to,
                            const char *reason, pfc_err *err)
{
    static const char *const closable[] = { "untriaged", "acknowledged", "investigating", "fixed",
                                            "backed_out" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(closable); i++)
        if (old->alert_id && pfc_streq(old->state, closable[i]))
            return pfc_alert_follow(tx, project_id, old->alert_id, old->state, false,
                                    &(pfc_alert_change){ .state = to, .reason = reason }, err);
    return PFC_OK;
}

static pfc_code drop(pfc_tx *tx, int64_t project_id, const state *now, const standing *old,
                     pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_code code;

    pfc_args_i64(&args, project_id);
    if (!now->undone) { /* no commit of the branch has a broken result now */
        pfc_args_i64s(&args, &old->id, 1);
        code = pfc_tx_query(tx, "change_points_gone", &args, NULL, err);
        return code
                   ? code
                   : close_alert(tx, project_id, old, "noise",
                                 "went away: no commit of the branch has a broken result now", err);
    }
    pfc_args_i64(&args, old->id);
    pfc_args_i64(&args, now->undone);
    code = pfc_tx_query(tx, "change_point_undone", &args, NULL, err);
    return code ? code
                : close_alert(tx, project_id, old, "verified_fixed",
                              "a later commit measures again", err);
}

static pfc_code judge_key(pfc_tx *tx, const looking *l, const pfc_res *keys, size_t i, pfc_err *err)
{
    pfc_res *res = NULL, *alerts = NULL;
    pfc_args args = { 0 };
    standing old = { 0 };
    state now = { 0 };
    bool found = false;
    pfc_code code;

    pfc_args_i64(&args, l->project_id);
    pfc_args_text(&args, l->branch);
    for (int column = 0; column < 3; column++)
        pfc_args_text(&args, pfc_res_text(keys, i, column));
    code = pfc_tx_query(tx, "broken_state", &args, &res, err);
    if (!code)
        now = read_state(res);
    if (!code && now.series_id) {
        pfc_args_i64(&args, l->project_id);
        pfc_args_i64(&args, now.series_id);
        code = pfc_tx_query(tx, "broken_alerts", &args, &alerts, err);
        found = !code && find_standing(alerts, now.since, &old);
    }
    if (!code && now.series_id && now.since)
        code = put(tx, l->project_id, &now, found ? &old : NULL, err);
    else if (!code && found && !old.ended)
        code = drop(tx, l->project_id, &now, &old, err);
    pfc_res_free(alerts);
    pfc_res_free(res);
    return code;
}

static pfc_code judge_branch(pfc_tx *tx, void *into, pfc_err *err)
{
    const looking *l = into;
    pfc_args args = { 0 };
    pfc_res *keys = NULL;
    pfc_code code;

    code = pfc_branch_lock(tx, l->project_id, l->branch, err);
    if (!code) {
        pfc_args_i64(&args, l->project_id);
        pfc_args_text(&args, l->branch);
        pfc_args_i64s(&args, l->runs, l->runs_len);
        pfc_args_bool(&args, l->whole);
        code = pfc_tx_query(tx, "broken_keys", &args, &keys, err);
    }
    for (size_t i = 0; !code && i < pfc_res_rows(keys); i++)
        code = judge_key(tx, l, keys, i, err);
    if (!code && pfc_res_rows(keys)) {
        pfc_args_i64(&args, l->project_id);
        pfc_args_text(&args, l->branch);
        code = pfc_tx_query(tx, "broken_group", &args, NULL, err);
    }
    pfc_res_free(keys);
    return code;
}

static pfc_code list_branches(pfc_db *db, const looking *l, const char *const *branches,
                              size_t branches_len, pfc_res **out, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code) {
        pfc_args_i64(&args, l->project_id);
        pfc_args_i64s(&args, l->runs, l->runs_len);
        pfc_args_texts(&args, branches, branches_len);
        code = pfc_tx_query(tx, "broken_branches", &args, out, err);
    }
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_broken_judge(pfc_db *db, int64_t project_id, const int64_t *runs, size_t runs_len,
                          const char *const *branches, size_t branches_len, pfc_err *err)
{
    looking l = { .project_id = project_id, .runs = runs, .runs_len = runs_len };
    pfc_res *list = NULL;
    pfc_code code = list_branches(db, &l, branches, branches_len, &list, err);

    for (size_t i = 0; !code && i < pfc_res_rows(list); i++) {
        l.branch = pfc_res_text(list, i, 0);
        l.whole = pfc_res_bool(list, i, 1);
        code = pfc_db_write(db, judge_branch, &l, err);
        if (code)
            code = pfc_err_wrap(err, "broken benchmarks on %.80s", l.branch);
    }
    pfc_res_free(list);
    return code;
}
