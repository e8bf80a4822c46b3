/*
 * Opens alerts for changes: selects the confirmed regressions that get one, corrected for the
 * number of series tested, and groups those that one commit may have caused, or a machine
 * (machine_shift.c).
 */
#include "server/services/alerts/group.h"

#include <math.h>

#include "core/changepoint/changepoint.h"
#include "core/changepoint/fdr.h"
#include "server/repo/sql/alert_groups.h"
#include "server/repo/sql/alerts.h"
#include "server/repo/sql/groups.h"
#include "server/repo/sql/notices.h"
#include "server/repo/sql/shifts.h"
#include "server/services/alerts/alerts.h"
#include "server/services/alerts/group_summary.h"
#include "server/services/alerts/machine_shift.h"
#include "server/services/owners/owners.h"

#define EVIDENCE_MAX 200 /* alerts of a group whose evidence is read: more add nothing */
#define WIDEN_MAX    50  /* rounds in which the range is widened to whole groups */
/* A group has worsened when its worst effect has grown by five points of the old level, and by a
 * quarter: of a large effect, five points are within what more runs add to its estimate. */
#define WORSENED_POINTS 0.05
#define WORSENED_SHARE  0.25

static pfc_code read_members(grouping *g, bool *grew, pfc_err *err)
{
    pfc_sql_group_members_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_group_members(g->tx,
                                 &(pfc_sql_group_members_args){ .project_id = g->project_id,
                                                                .branch = g->branch,
                                                                .position_from = g->low,
                                                                .position_to = g->high },
                                 &rows, err);
    if (code)
        return code;
    free(g->members);
    free(g->items);
    g->len = rows.len;
    g->members = pfc_calloc(g->len, sizeof(*g->members));
    g->items = pfc_calloc(g->len, sizeof(pfc_clustered *));
    *grew = false;
    for (size_t i = 0; i < g->len; i++) {
        const pfc_sql_group_members_row *row = &rows.items[i];
        size_t places = (size_t)row->points;
        bool exact = row->exact;
        const pfc_change claim = { .p = row->p,
                                   .rel_change = row->rel_change,
                                   .rel_low = row->rel_low,
                                   .rel_high = row->rel_high };
        group_member *m = &g->members[i];

        *m = (group_member){
            .rel_change = claim.rel_change,
            .p = claim.p,
            .places = places,
            .id = row->id,
            .series_id = row->series_id,
            .commit_id = row->commit_id,
            .commit_low_id = row->commit_low_id,
            .commit_high_id = row->commit_high_id,
            .event_id = row->event_id,
            .untriaged = pfc_streq(row->own_state, "untriaged"),
            .infra = pfc_streq(row->own_state, "infrastructure"),
            .at = { .position = row->position,
                    .low = row->position_low,
                    .high = row->position_high,
                    .p = pfc_fdr_anywhere(&claim, places, exact) },
            .alert_id = row->alert_id,
            .group_id = row->group_id,
            .undone = row->undone,
            .identical = row->identical,
            .blocks = row->blocks,
            .waits = row->waits,
            .asked = row->asked,
            .placed = row->placed,
            .against = row->against,
            .commit_high = row->commit_high,
        };
        m->at.alerted =
            m->alert_id != 0 || m->blocks; /* its session has tested it together with the others */
        g->items[i] = &m->at;
        *grew |= m->at.low < g->low || m->at.high > g->high;
        g->low = PFC_MIN(g->low, m->at.low);
        g->high = PFC_MAX(g->high, m->at.high);
    }
    pfc_res_free(g->rows);
    pfc_rows_keep_texts(&rows, &g->rows);
    return PFC_OK;
}

/* Widens the range to whole groups that a person has made: their alerts may be far apart. */
static pfc_code reach_placed(grouping *g, bool *grew, pfc_err *err)
{
    pfc_sql_alert_group_reach_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_alert_group_reach(g->tx,
                                     &(pfc_sql_alert_group_reach_args){ .project_id = g->project_id,
                                                                        .branch = g->branch,
                                                                        .position_from = g->low,
                                                                        .position_to = g->high },
                                     &rows, err);
    if (!code && rows.len) {
        *grew |= rows.items[0].position_low < g->low || rows.items[0].position_high > g->high;
        g->low = PFC_MIN(g->low, rows.items[0].position_low);
        g->high = PFC_MAX(g->high, rows.items[0].position_high);
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code open_alert(grouping *g, group_member *m, pfc_err *err)
{
    pfc_code code;

    code = pfc_sql_alert_open(g->tx,
                              &(pfc_sql_alert_open_args){ .project_id = g->project_id,
                                                          .change_point_id = m->id,
                                                          .series_id = m->series_id },
                              &m->alert_id, err);
    if (code || !m->alert_id)
        return code;
    code = pfc_sql_alert_event_insert(
        g->tx,
        &(pfc_sql_alert_event_insert_args){ .project_id = g->project_id,
                                            .alert_id = m->alert_id,
                                            .actor = "detector",
                                            .to = "untriaged",
                                            .reason = m->blocks ? "regression measured in blocks"
                                                                : "confirmed regression" },
        err);
    m->untriaged = !m->undone;
    if (!code && m->undone)
        return pfc_alert_apply(
            g->tx, "detector", g->project_id, m->alert_id, "untriaged",
            &(pfc_alert_change){ .state = "verified_fixed", .reason = PFC_WENT_AWAY }, err);
    if (!code && !m->event) /* else the machine's event is announced */
        code = pfc_sql_alert_notify(g->tx, &(pfc_sql_alert_notify_args){ .alert_id = m->alert_id },
                                    err);
    return code;
}

static bool is_taken(const grouping *g, int64_t group_id)
{
    for (size_t i = 0; i < g->taken_len; i++) {
        if (g->taken[i] == group_id)
            return true;
    }
    return false;
}

/* A group keeps its number while it keeps one of its alerts. If it was split, the first part keeps
 * the number and the other parts get new ones. */
static pfc_code number_of(grouping *g, size_t k, int64_t *id, pfc_err *err)
{
    *id = 0;
    for (size_t i = 0; i < g->len; i++) {
        const group_member *m = &g->members[i];

        if (m->at.cluster == k && m->at.keep && m->group_id && !is_taken(g, m->group_id) &&
            (!*id || m->group_id < *id))
            *id = m->group_id;
    }
    if (*id) {
        g->taken[g->taken_len++] = *id;
        return PFC_OK;
    }
    return pfc_sql_group_next(g->tx, id, err);
}

/* The change of a series in cluster k; NULL: it has none. */
static const group_member *hit_of(const grouping *g, size_t k, int64_t series_id)
{
    for (size_t i = 0; i < g->len; i++) {
        const group_member *m = &g->members[i];

        if (m->at.cluster == k && m->at.keep && m->series_id == series_id)
            return m;
    }
    return NULL;
}

static pfc_code write_group(grouping *g, size_t k, const pfc_sql_group_slices_rows *slices,
                            pfc_err *err)
{
    size_t measured = slices->len, hit = 0, n = 0;
    pfc_slice_series *series = pfc_calloc(measured + 1, sizeof(*series));
    pfc_labels *params = pfc_calloc(measured + 1, sizeof(*params));
    int64_t *ids = pfc_calloc(g->len, sizeof(*ids)), group_id = 0;
    char *summary = NULL;
    pfc_code code = number_of(g, k, &group_id, err);

    for (size_t i = 0; i < measured; i++) {
        const char *text = slices->items[i].params_json;
        const group_member *m = hit_of(g, k, slices->items[i].id);

        if (!code && text)
            code = pfc_labels_parse(text, &params[i], err);
        series[i] = (pfc_slice_series){
            .benchmark = slices->items[i].benchmark,
            .metric = slices->items[i].metric,
            .backend = slices->items[i].backend,
            .machine_class = slices->items[i].machine_class,
            .params = &params[i],
            .hit = m != NULL,
            .rel_change = m ? m->rel_change : (double)NAN,
            .headline = slices->items[i].headline,
        };
        hit += series[i].hit;
    }
    for (size_t i = 0; i < g->len; i++) {
        if (g->members[i].at.cluster == k && g->members[i].alert_id)
            ids[n++] = g->members[i].alert_id;
    }
    if (!code && measured) {
        summary = pfc_slice_summary(series, measured);
        code = pfc_sql_group_set(g->tx,
                                 &(pfc_sql_group_set_args){ .project_id = g->project_id,
                                                            .alert_ids = ids,
                                                            .alert_ids_len = n,
                                                            .group_id = group_id,
                                                            .series = (int64_t)hit,
                                                            .measured = (int64_t)measured,
                                                            .summary = summary },
                                 err);
        if (!code)
            code = pfc_sql_notice_group(g->tx,
                                        &(pfc_sql_notice_group_args){ .project_id = g->project_id,
                                                                      .alert_ids = ids,
                                                                      .alert_ids_len = n },
                                        err);
        if (!code)
            code =
                pfc_evidence_set(g->tx, g->project_id, ids, PFC_MIN(n, (size_t)EVIDENCE_MAX), err);
    }
    for (size_t i = 0; i < measured; i++)
        pfc_labels_clear(&params[i]);
    free(summary);
    free(ids);
    free(params);
    free(series);
    return code;
}

/* Marks an alert that a machine explains as infrastructure, and as a regression again when the
 * machine no longer explains it. A state that a person has set is kept. */
static pfc_code mark_machine(grouping *g, group_member *m, const char *sentence, pfc_err *err)
{
    pfc_alert_change change = { 0 };
    const char *from = m->infra ? "infrastructure" : "untriaged";
    pfc_code code = PFC_OK;

    if (m->event != m->event_id)
        code = pfc_sql_shift_alert(g->tx,
                                   &(pfc_sql_shift_alert_args){ .project_id = g->project_id,
                                                                .alert_ids = &m->alert_id,
                                                                .alert_ids_len = 1,
                                                                .event_id = m->event },
                                   err);
    if (m->event && m->untriaged)
        change = (pfc_alert_change){ .state = "infrastructure", .reason = sentence };
    if (!m->event && m->event_id && m->infra)
        change = (pfc_alert_change){ .state = "untriaged",
                                     .reason = "not the machine's: the commit's after all" };
    if (code || !change.state)
        return code;
    return pfc_alert_follow(g->tx, g->project_id, m->alert_id, from, true, &change, err);
}

/* Settles cluster k. A machine explains either all of it or none of it. */
static pfc_code settle_part(grouping *g, size_t k, const char *sentence, pfc_err *err)
{
    const int64_t position = pfc_cluster_position(g->items, g->len, k);
    int64_t *commits = pfc_calloc(g->len, sizeof(*commits));
    size_t n = 0, kept = 0;
    const double level = pfc_fdr_level(&g->stream, position);
    pfc_sql_group_slices_rows slices = { 0 };
    bool machines = false;
    pfc_code code;

    for (size_t i = 0; i < g->len; i++) {
        if (g->members[i].at.cluster == k)
            commits[n++] = g->members[i].commit_id;
    }
    code = pfc_sql_group_slices(g->tx,
                                &(pfc_sql_group_slices_args){ .project_id = g->project_id,
                                                              .branch = g->branch,
                                                              .commit_ids = commits,
                                                              .commit_ids_len = n },
                                &slices, err);
    if (!code)
        pfc_cluster_judge(g->items, g->len, k, slices.len, level);
    for (size_t i = 0; !code && i < g->len; i++) {
        group_member *m = &g->members[i];

        if (m->at.cluster == k && !m->at.keep)
            group_withhold(g, m, slices.len, level);
        if (m->at.cluster != k || !m->at.keep)
            continue;
        kept++;
        machines |= m->event != 0;
        if (!m->alert_id)
            code = open_alert(g, m, err);
        if (!code && m->alert_id)
            code = mark_machine(g, m, sentence, err);
    }
    if (kept && !machines) /* a machine's step accuses no commit */
        pfc_fdr_found(&g->stream, position);
    if (!code && kept)
        code = write_group(g, k, &slices, err);
    pfc_rows_clear(&slices);
    free(commits);
    return code;
}

/* Moves the members that a machine explains from cluster k to cluster `other`. */
static void part(grouping *g, size_t k, size_t other, const pfc_shift_event *event)
{
    for (size_t i = 0, at = 0; i < g->len; i++) {
        group_member *m = &g->members[i];

        if (m->at.cluster != k)
            continue;
        m->event = event->answer == PFC_SHIFT_UNKNOWN ? m->event_id : 0;
        if (event->id && event->belongs[at])
            m->event = event->id;
        if (m->blocks) /* blocks cancel the effect of the machine */
            m->event = 0;
        at++;
        if (m->event)
            m->at.cluster = other;
    }
}

/* Finds out whether a machine explains cluster k. Without evidence the alerts keep their state. */
static pfc_code ask_machine(grouping *g, size_t k, pfc_shift_event *event, pfc_err *err)
{
    int64_t *series = pfc_calloc(g->len, sizeof(*series));
    pfc_machine_shift_query ask = { .project_id = g->project_id,
                                    .branch = g->branch,
                                    .series = series };
    bool marked = false;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < g->len; i++) {
        const group_member *m = &g->members[i];

        if (m->at.cluster != k)
            continue;
        if (ask.len == 0) {
            ask.low = m->at.low;
            ask.high = m->at.high;
            ask.commit_id = m->commit_id;
            ask.commit_low_id = m->commit_low_id;
            ask.commit_high_id = m->commit_high_id;
        }
        ask.low = PFC_MAX(ask.low, m->at.low);
        ask.high = PFC_MIN(ask.high, m->at.high);
        marked |= m->event_id != 0;
        series[ask.len++] = m->series_id;
    }
    if (ask.len >= PFC_SHIFT_MIN_SERIES || marked)
        code = pfc_machine_shift_find(g->tx, &ask, event, err);
    free(series);
    return code;
}

static pfc_code tell_event(grouping *g, int64_t id, pfc_err *err)
{
    return pfc_sql_shift_notify(g->tx, &(pfc_sql_shift_notify_args){ .id = id }, err);
}

static pfc_code settle_cluster(grouping *g, size_t k, pfc_err *err)
{
    const size_t other = g->clusters_len++;
    pfc_shift_event event = { 0 };
    size_t commits = 0, machines = 0;
    pfc_code code = ask_machine(g, k, &event, err);

    if (!code)
        part(g, k, other, &event);
    for (size_t i = 0; i < g->len; i++) {
        commits += g->members[i].at.cluster == k;
        machines += g->members[i].at.cluster == other;
    }
    if (!code && commits)
        code = settle_part(g, k, NULL, err);
    if (!code && machines)
        code =
            settle_part(g, other, event.sentence ? event.sentence : "the machine moved here", err);
    if (!code && event.news)
        code = tell_event(g, event.id, err);
    pfc_shift_event_clear(&event);
    return code;
}

/* Ends the events that no longer explain an alert. */
static pfc_code end_events(grouping *g, pfc_err *err)
{
    pfc_sql_shift_settle_rows ended = { 0 };
    pfc_code code;

    code = pfc_sql_shift_settle(
        g->tx, &(pfc_sql_shift_settle_args){ .project_id = g->project_id, .branch = g->branch },
        &ended, err);
    for (size_t i = 0; !code && i < ended.len; i++)
        code = tell_event(g, ended.items[i].id, err);
    pfc_rows_clear(&ended);
    return code;
}

/* Reads the alerts before the range, as far back as the epoch of the stream of tests. */
static pfc_code read_found(grouping *g, pfc_err *err)
{
    pfc_sql_group_places_rows rows = { 0 };
    pfc_code code;

    g->stream.len = 0;
    code =
        pfc_sql_group_places(g->tx,
                             &(pfc_sql_group_places_args){ .project_id = g->project_id,
                                                           .branch = g->branch,
                                                           .position_from = pfc_fdr_epoch(g->low),
                                                           .position_to = g->low - 1 },
                             &rows, err);
    for (size_t i = 0; !code && i < rows.len; i++)
        pfc_fdr_found(&g->stream, rows.items[i].position);
    pfc_rows_clear(&rows);
    return code;
}

/* Reads one stretch of history, widened until every change lies inside. */
static pfc_code settle_range(grouping *g, pfc_err *err)
{
    bool grew = true;
    size_t *order, clusters;
    pfc_code code = PFC_OK;

    for (int round = 0; !code && grew && round < WIDEN_MAX; round++) {
        code = read_members(g, &grew, err);
        if (!code)
            code = reach_placed(g, &grew, err);
    }
    if (!code)
        code = read_found(g, err);
    if (!code)
        code = group_set_aside(g, err);
    if (code) {
        pfc_withheld_clear(&g->withheld);
        return code;
    }
    /* The rows come sharpest first. */
    clusters = g->clusters_len = group_keep_placed(g, pfc_clusters_make(g->items, g->len));
    g->taken = pfc_calloc(2 * clusters, sizeof(*g->taken)); /* each may fall into two */
    g->taken_len = 0;
    order = pfc_clusters_in_order(g->items, g->len, clusters);
    for (size_t k = 0; !code && k < clusters; k++)
        code = settle_cluster(g, order[k], err);
    if (!code)
        code = pfc_withheld_write(g->tx, g->project_id, &g->withheld, err);
    pfc_withheld_clear(&g->withheld);
    free(order);
    free(g->taken);
    g->taken = NULL;
    return code;
}

/* The arguments of pfc_alerts_open. */
typedef struct opening {
    int64_t project_id;
    const char *branch;
    double fdr;
} opening;

static pfc_code open_all(pfc_tx *tx, void *into, pfc_err *err)
{
    const opening *o = into;
    grouping g = { .tx = tx,
                   .project_id = o->project_id,
                   .branch = o->branch,
                   .stream = { .fdr = o->fdr },
                   .low = 1,
                   .high = 0 };
    pfc_sql_groups_wanted_rows wanted = { 0 };
    pfc_code code = pfc_branch_lock(tx, o->project_id, o->branch, err);

    if (!code)
        code = pfc_sql_groups_wanted(
            tx, &(pfc_sql_groups_wanted_args){ .project_id = o->project_id, .branch = o->branch },
            &wanted, err);
    for (size_t i = 0; !code && i < wanted.len; i++) {
        int64_t low = wanted.items[i].position_low;
        int64_t high = wanted.items[i].position_high;

        if (low >= g.low && high <= g.high)
            continue; /* settled with an earlier one */
        g.low = low;
        g.high = high;
        code = settle_range(&g, err);
    }
    if (!code)
        code = end_events(&g, err);
    if (!code)
        code = pfc_sql_alert_group_single(
            tx, &(pfc_sql_alert_group_single_args){ .project_id = o->project_id }, err);
    if (!code)
        code = pfc_sql_notices_worsened(
            tx,
            &(pfc_sql_notices_worsened_args){ .project_id = o->project_id,
                                              .branch = o->branch,
                                              .points = WORSENED_POINTS,
                                              .share = WORSENED_SHARE },
            err);
    if (!code)
        code = pfc_owners_settle(tx, o->project_id, o->branch, 0, err);
    pfc_fdr_stream_clear(&g.stream);
    free(g.members);
    free(g.items);
    pfc_res_free(g.rows);
    pfc_rows_clear(&wanted);
    return code;
}

pfc_code pfc_branch_lock(pfc_tx *tx, int64_t project_id, const char *branch, pfc_err *err)
{
    return pfc_sql_branch_lock(
        tx, &(pfc_sql_branch_lock_args){ .project_id = project_id, .branch = branch }, NULL, err);
}

pfc_code pfc_alerts_open(pfc_db *db, int64_t project_id, const char *branch, double fdr,
                         pfc_err *err)
{
    opening o = { .project_id = project_id, .branch = branch, .fdr = fdr };
    pfc_code code = pfc_db_write(db, open_all, &o, err);

    return code ? pfc_err_wrap(err, "opening alerts on %.80s", branch) : PFC_OK;
}
