/* Changes of groups: triage of several at once, splits and merges. */
#include <stdlib.h>
#include <string.h>

#include "server/repo/sql/alerts.h"
#include "server/repo/sql/groups.h"
#include "server/services/alerts/alerts.h"
#include "server/services/detect/detect.h"
#include "server/services/groups/groups.h"
#include "server/services/service.h"

static const char *const open_states[] = { "untriaged", "acknowledged", "investigating" };

static bool is_open(const char *state)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(open_states); i++) {
        if (pfc_streq(open_states[i], state))
            return true;
    }
    return false;
}

/* Locks the branches of the groups in the order in which every writer locks them. */
static pfc_code lock_branches(pfc_tx *tx, const pfc_sql_alert_group_projects_rows *places,
                              pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < places->len; i++) {
        const pfc_sql_alert_group_projects_row *p = &places->items[i];

        if (i == 0 || p->project_id != p[-1].project_id || !pfc_streq(p->branch, p[-1].branch))
            code = pfc_branch_lock(tx, p->project_id, p->branch, err);
    }
    return code;
}

/* The groups of a change with their alerts, which are locked. */
typedef struct locked {
    pfc_sql_alert_group_projects_rows places;
    pfc_sql_alert_group_lock_rows alerts;
    pfc_sql_alert_group_states_rows states;
} locked;

static void locked_clear(locked *l)
{
    pfc_rows_clear(&l->places);
    pfc_rows_clear(&l->alerts);
    pfc_rows_clear(&l->states);
}

static const pfc_sql_alert_group_states_row *state_of(const locked *l, int64_t id)
{
    for (size_t i = 0; i < l->states.len; i++) {
        if (l->states.items[i].id == id)
            return &l->states.items[i];
    }
    return NULL;
}

static pfc_code lock_groups(pfc_tx *tx, const int64_t *ids, size_t len, locked *out, pfc_err *err)
{
    pfc_code code = pfc_sql_alert_group_projects(
        tx, &(pfc_sql_alert_group_projects_args){ .ids = ids, .ids_len = len }, &out->places, err);

    if (!code)
        code = lock_branches(tx, &out->places, err);
    if (!code)
        code = pfc_sql_alert_group_lock(
            tx, &(pfc_sql_alert_group_lock_args){ .ids = ids, .ids_len = len }, &out->alerts, err);
    if (!code)
        code = pfc_sql_alert_group_states(
            tx, &(pfc_sql_alert_group_states_args){ .ids = ids, .ids_len = len }, &out->states,
            err);
    for (size_t i = 0; !code && i < len; i++) {
        if (!state_of(out, ids[i]))
            code = pfc_err_set(err, PFC_ENOTFOUND, "no such group");
    }
    return code;
}

static pfc_code audit(pfc_tx *tx, const char *actor, const char *action, int64_t project_id,
                      int64_t id, const char *detail, pfc_err *err)
{
    char *what = pfc_format("group %lld", (long long)id);
    pfc_code code = pfc_audit_add(tx, actor, action, project_id, what, detail, err);

    free(what);
    return code;
}

/* A note in the history of an alert, whose state stays. */
static pfc_code note(pfc_tx *tx, const char *actor, const pfc_sql_alert_group_lock_row *alert,
                     const char *text, pfc_err *err)
{
    pfc_code code = pfc_sql_alert_event_insert(
        tx,
        &(pfc_sql_alert_event_insert_args){ .project_id = alert->project_id,
                                            .alert_id = alert->id,
                                            .actor = actor,
                                            .from = alert->state,
                                            .to = alert->state,
                                            .reason = text },
        err);

    if (!code)
        code = pfc_sql_alert_notify(tx, &(pfc_sql_alert_notify_args){ .alert_id = alert->id }, err);
    return code;
}

/* ---- triage ---- */

typedef struct updating {
    const char *actor;
    const pfc_group_change *change;
    size_t alerts; /* out */
} updating;

static pfc_code check_seen(const locked *l, const pfc_group_change *change, pfc_err *err)
{
    for (size_t i = 0; i < change->len; i++) {
        const pfc_group_seen *seen = &change->groups[i];
        const pfc_sql_alert_group_states_row *now = state_of(l, seen->id);

        if (seen->state && !pfc_streq(seen->state, now->state))
            return pfc_err_set_field(
                err, PFC_ECONFLICT, "seen",
                "seen: group %lld is now %s, expected %.40s; read it again", (long long)seen->id,
                now->state, seen->state);
    }
    return PFC_OK;
}

static pfc_code assign(pfc_tx *tx, const updating *u, const pfc_sql_alert_group_lock_row *alert,
                       pfc_err *err)
{
    const char *to = u->change->assignee;
    pfc_code code = pfc_sql_alert_group_assign(
        tx,
        &(pfc_sql_alert_group_assign_args){
            .project_id = alert->project_id, .alert_id = alert->id, .assignee = to },
        err);

    /* A history can be read without a token where reading is public: only the audit log has the
     * name of the assignee. */
    return code ? code : note(tx, u->actor, alert, *to ? "assigned" : "no longer assigned", err);
}

/* An alert of a group: its new state, if it gets one, and its assignee. */
static pfc_code update_alert(pfc_tx *tx, updating *u, const locked *l,
                             const pfc_sql_alert_group_lock_row *alert, pfc_err *err)
{
    const pfc_group_change *c = u->change;
    const bool moves = c->state && (is_open(alert->state) || !state_of(l, alert->group_id)->open);
    const bool given = c->assignee && !pfc_streq(c->assignee, alert->assignee);
    const pfc_alert_change change = { .state = c->state, .reason = c->reason, .accept = c->accept };
    pfc_code code = PFC_OK;

    if (given)
        code = assign(tx, u, alert, err);
    if (!code && moves)
        code = pfc_alert_apply(tx, u->actor, alert->project_id, alert->id, alert->state, &change,
                               err);
    else if (!code && !c->state && c->reason && *c->reason)
        code = note(tx, u->actor, alert, c->reason, err);
    u->alerts += moves || given;
    return code;
}

static pfc_code update(pfc_tx *tx, void *into, pfc_err *err)
{
    updating *u = into;
    const pfc_group_change *c = u->change;
    int64_t *ids = pfc_calloc(c->len + 1, sizeof(*ids));
    locked l = { 0 };
    pfc_code code;

    u->alerts = 0;
    for (size_t i = 0; i < c->len; i++)
        ids[i] = c->groups[i].id;
    code = lock_groups(tx, ids, c->len, &l, err);
    if (!code)
        code = check_seen(&l, c, err);
    for (size_t i = 0; !code && i < l.alerts.len; i++)
        code = update_alert(tx, u, &l, &l.alerts.items[i], err);
    for (size_t i = 0; !code && i < l.states.len; i++) {
        if (c->state)
            code = audit(tx, u->actor, c->accept ? "accept" : "triage",
                         l.states.items[i].project_id, l.states.items[i].id, c->state, err);
        if (!code && c->assignee)
            code = audit(tx, u->actor, "assign", l.states.items[i].project_id,
                         l.states.items[i].id, c->assignee, err);
    }
    locked_clear(&l);
    free(ids);
    return code;
}

static pfc_code check_change(const pfc_group_change *c, pfc_err *err)
{
    if (c->len < 1 || c->len > PFC_GROUPS_MAX)
        return pfc_err_set_field(err, PFC_EINVAL, "groups",
                                 "groups: expected 1 to %d of them, got %zu", PFC_GROUPS_MAX,
                                 c->len);
    for (size_t i = 0; i < c->len; i++) {
        for (size_t k = 0; k < i; k++) {
            if (c->groups[k].id == c->groups[i].id)
                return pfc_err_set_field(err, PFC_EINVAL, "groups",
                                         "groups: group %lld is named twice",
                                         (long long)c->groups[i].id);
        }
    }
    if (c->state && !pfc_alert_state_known(c->state))
        return pfc_err_set_field(err, PFC_EINVAL, "state", "state: \"%.40s\" is not one of them",
                                 c->state);
    if (c->assignee && strlen(c->assignee) > PFC_ASSIGNEE_MAX)
        return pfc_err_set_field(err, PFC_EINVAL, "assignee",
                                 "assignee: expected at most %d bytes, got %zu", PFC_ASSIGNEE_MAX,
                                 strlen(c->assignee));
    if (!c->state && !c->assignee)
        return pfc_err_set_field(err, PFC_EINVAL, "state",
                                 "state: nothing to change; give a state or an assignee");
    return PFC_OK;
}

pfc_code pfc_groups_update(pfc_db *db, const char *actor, const pfc_group_change *change,
                           size_t *alerts, pfc_err *err)
{
    updating u = { .actor = actor, .change = change };
    pfc_code code = check_change(change, err);

    if (!code)
        code = pfc_db_write(db, update, &u, err);
    if (!code)
        *alerts = u.alerts;
    return code;
}

/* ---- split and merge ---- */

typedef struct placing {
    const char *actor, *reason;
    const int64_t *ids; /* of the groups; a merge: the first stays */
    size_t len;
    const int64_t *alerts; /* of a split; NULL: a merge */
    size_t alerts_len;
    int64_t into;          /* out: the group that the alerts are in now */
    int64_t project_id;    /* out, with the next: what to group again */
    char *branch;
    pfc_detector detector;
} placing;

static bool is_named(const int64_t *list, size_t len, int64_t id)
{
    for (size_t i = 0; i < len; i++) {
        if (list[i] == id)
            return true;
    }
    return false;
}

/* The alerts that move, which the caller frees. */
static pfc_code choose(const placing *p, const locked *l, int64_t **moved, size_t *len,
                       pfc_err *err)
{
    size_t n = 0;

    *moved = pfc_calloc(l->alerts.len + 1, sizeof(**moved));
    for (size_t i = 0; i < l->alerts.len; i++) {
        const pfc_sql_alert_group_lock_row *a = &l->alerts.items[i];

        /* A merge places the alerts of the group that stays, too: the detector must not take them
         * out again. */
        if (!p->alerts || is_named(p->alerts, p->alerts_len, a->id))
            (*moved)[n++] = a->id;
    }
    *len = n;
    if (!p->alerts)
        return PFC_OK;
    if (n != p->alerts_len)
        return pfc_err_set_field(err, PFC_EINVAL, "alerts",
                                 "alerts: %zu of the %zu named alerts are in group %lld", n,
                                 p->alerts_len, (long long)p->ids[0]);
    if (n == l->alerts.len)
        return pfc_err_set_field(err, PFC_EINVAL, "alerts",
                                 "alerts: at least one alert must stay in group %lld",
                                 (long long)p->ids[0]);
    return PFC_OK;
}

static pfc_code one_branch(const locked *l, placing *p, pfc_err *err)
{
    const pfc_sql_alert_group_projects_row *first = l->places.items;

    for (size_t i = 1; i < l->places.len; i++) {
        if (first[i].project_id != first->project_id || !pfc_streq(first[i].branch, first->branch))
            return pfc_err_set_field(err, PFC_EINVAL, "groups",
                                     "groups: expected groups of one project and branch");
    }
    free(p->branch);
    p->branch = pfc_strdup(first->branch);
    p->project_id = first->project_id;
    return PFC_OK;
}

/* Says in the history of every alert that moves from where it comes. */
static pfc_code note_moved(pfc_tx *tx, const placing *p, const locked *l, const int64_t *moved,
                           size_t len, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < l->alerts.len; i++) {
        const pfc_sql_alert_group_lock_row *a = &l->alerts.items[i];
        char *text;

        if (a->group_id == p->into || !is_named(moved, len, a->id))
            continue;
        text = pfc_format("moved from group %lld to group %lld%s%s", (long long)a->group_id,
                          (long long)p->into, p->reason && *p->reason ? ": " : "",
                          p->reason ? p->reason : "");
        code = note(tx, p->actor, a, text, err);
        free(text);
    }
    return code;
}

static pfc_code place(pfc_tx *tx, void *into, pfc_err *err)
{
    placing *p = into;
    locked l = { 0 };
    int64_t *moved = NULL;
    size_t moved_len = 0;
    char *detail = NULL;
    pfc_code code;

    pfc_detector_clear(&p->detector);
    p->into = p->ids[0];
    code = lock_groups(tx, p->ids, p->len, &l, err);
    if (!code)
        code = one_branch(&l, p, err);
    if (!code)
        code = choose(p, &l, &moved, &moved_len, err);
    if (!code && p->alerts)
        code = pfc_sql_group_next(tx, &p->into, err);
    if (!code)
        code = note_moved(tx, p, &l, moved, moved_len, err);
    if (!code)
        code = pfc_sql_alert_group_place(tx,
                                         &(pfc_sql_alert_group_place_args){
                                             .project_id = p->project_id,
                                             .alert_ids = moved,
                                             .alert_ids_len = moved_len,
                                             .group_id = p->into },
                                         err);
    if (!code)
        code = pfc_sql_alert_group_regroup(tx,
                                           &(pfc_sql_alert_group_regroup_args){
                                               .project_id = p->project_id,
                                               .ids = (const int64_t[]){ p->ids[0], p->into },
                                               .ids_len = 2 },
                                           err);
    for (size_t i = p->alerts ? 0 : 1; !code && i < p->len; i++) {
        detail = p->alerts ? pfc_format("%zu alerts to group %lld", moved_len, (long long)p->into)
                           : pfc_format("into group %lld", (long long)p->into);
        code = audit(tx, p->actor, p->alerts ? "split" : "merge", p->project_id, p->ids[i], detail,
                     err);
        free(detail);
    }
    if (!code)
        code = pfc_detector_load(tx, p->project_id, &p->detector, err);
    free(moved);
    locked_clear(&l);
    return code;
}

static pfc_code place_and_group(pfc_db *db, placing *p, pfc_err *err)
{
    pfc_code code = pfc_db_write(db, place, p, err);

    if (!code)
        code = pfc_alerts_open(db, p->project_id, p->branch, p->detector.fdr, err);
    pfc_detector_clear(&p->detector);
    free(p->branch);
    return code;
}

pfc_code pfc_group_split(pfc_db *db, const char *actor, int64_t id, const int64_t *alerts,
                         size_t len, const char *reason, int64_t *made, pfc_err *err)
{
    placing p = { .actor = actor,
                  .reason = reason,
                  .ids = &id,
                  .len = 1,
                  .alerts = alerts,
                  .alerts_len = len };
    pfc_code code;

    if (len < 1 || len > PFC_GROUP_SPLIT_MAX)
        return pfc_err_set_field(err, PFC_EINVAL, "alerts",
                                 "alerts: expected 1 to %d of them, got %zu", PFC_GROUP_SPLIT_MAX,
                                 len);
    code = place_and_group(db, &p, err);
    if (!code)
        *made = p.into;
    return code;
}

pfc_code pfc_groups_merge(pfc_db *db, const char *actor, int64_t into, const int64_t *ids,
                          size_t len, const char *reason, pfc_err *err)
{
    int64_t *all = pfc_calloc(len + 1, sizeof(*all));
    placing p = { .actor = actor, .reason = reason, .ids = all, .len = len + 1 };
    pfc_code code;

    all[0] = into;
    for (size_t i = 0; i < len; i++)
        all[i + 1] = ids[i];
    if (len < 1 || len >= PFC_GROUPS_MAX || is_named(ids, len, into))
        code = pfc_err_set_field(err, PFC_EINVAL, "groups",
                                 "groups: expected 1 to %d others than group %lld",
                                 PFC_GROUPS_MAX - 1, (long long)into);
    else
        code = place_and_group(db, &p, err);
    free(all);
    return code;
}
