/*
 * Changes that get no alert, and why: refused by the false discovery rate, in identical code, or to
 * be measured in blocks first.
 */
#include <stdlib.h>

#include "server/repo/sql/withheld.h"
#include "server/services/alerts/alerts.h"
#include "server/services/alerts/group.h"
#include "server/services/alerts/identical_code.h"

/* Benjamini-Hochberg: p exceeds the level's share for its rank in the cluster. */
void group_withhold(grouping *g, const group_member *m, size_t measured, double level)
{
    const double rate = g->stream.fdr > 0 ? g->stream.fdr : PFC_ALERT_FDR;
    size_t rank = 0, all = 0;

    for (size_t i = 0; i < g->len; i++) {
        if (g->members[i].at.cluster != m->at.cluster)
            continue;
        all++;
        rank += g->members[i].at.p <= m->at.p;
    }
    all = PFC_MAX(all, measured);
    pfc_withheld_add(&g->withheld, m->id, PFC_WITHHELD_FDR,
                     &(pfc_withheld_detail){ .p = m->p,
                                             .anywhere = m->at.p,
                                             .points = (double)m->places,
                                             .level = level * (double)rank / (double)all,
                                             .series = (double)all,
                                             .fdr = rate });
}

/* A change in identical code gets no alert; an open one is attributed to the machine. */
static pfc_code close_identical(grouping *g, group_member *m, const pfc_identical *found,
                                pfc_err *err)
{
    const pfc_alert_change change = { .state = "infrastructure",
                                      .reason = "identical object code" };
    pfc_code code = PFC_OK;

    pfc_withheld_add(&g->withheld, m->id, PFC_WITHHELD_IDENTICAL,
                     &(pfc_withheld_detail){ .against = found->against, .commit = found->commit });
    if (m->alert_id && m->untriaged)
        code = pfc_alert_follow(g->tx, g->project_id, m->alert_id, "untriaged", true, &change, err);
    if (!code && m->alert_id)
        code = pfc_sql_alert_ungroup(
            g->tx,
            &(pfc_sql_alert_ungroup_args){ .project_id = g->project_id, .alert_id = m->alert_id },
            err);
    return code;
}

static pfc_code reopen_different(grouping *g, const group_member *m, pfc_err *err)
{
    const pfc_alert_change change = { .state = "untriaged",
                                      .reason = "the object code is not identical" };

    return pfc_alert_follow(g->tx, g->project_id, m->alert_id, "infrastructure", true, &change,
                            err);
}

/* True if sessions measure the series, but only single measurements show the change so far: its two
 * sides must be measured in blocks before an alert is opened. */
static bool needs_blocks(const group_member *m)
{
    return m->waits && !m->blocks && !m->alert_id && m->against;
}

static void ask_for_blocks(grouping *g, const group_member *m)
{
    if (!m->asked)
        pfc_withheld_add(&g->withheld, m->id, PFC_WITHHELD_NEEDS_BLOCKS,
                         &(pfc_withheld_detail){ .against = m->against, .commit = m->commit_high });
}

/* The detector may decide: no person has changed its alert, and no machine explains it. */
static bool is_open_question(const group_member *m)
{
    return !m->alert_id || m->untriaged || (m->infra && !m->event_id);
}

pfc_code group_set_aside(grouping *g, pfc_err *err)
{
    int64_t *asked = pfc_calloc(g->len, sizeof(*asked));
    pfc_identical *found = NULL;
    size_t n = 0, found_len = 0, kept = 0;
    pfc_code code;

    for (size_t i = 0; i < g->len; i++) {
        if (is_open_question(&g->members[i]))
            asked[n++] = g->members[i].id;
    }
    code = pfc_identical_look(g->tx, g->project_id, g->branch, asked, n, &found, &found_len, err);
    for (size_t i = 0; !code && i < g->len; i++) {
        group_member *m = &g->members[i];
        size_t k = 0;

        while (k < found_len && found[k].change_id != m->id)
            k++;
        if (k < found_len) {
            code = close_identical(g, m, &found[k], err);
            continue;
        }
        if (needs_blocks(m)) {
            ask_for_blocks(g, m);
            continue;
        }
        if (m->identical && m->alert_id && m->infra && !m->event_id)
            code = reopen_different(g, m, err);
        g->members[kept++] = *m;
    }
    g->len = kept;
    for (size_t i = 0; i < g->len; i++)
        g->items[i] = &g->members[i].at;
    free(found);
    free(asked);
    return code;
}
