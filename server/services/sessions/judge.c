/*
 * Judging a session from its stored visits: see judge.h.
 */
#include "server/services/sessions/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/config/conf.h"
#include "core/stats/comparison_family.h"
#include "server/repo/sql/session_judge.h"
#include "server/services/detect/detect.h"
#include "server/services/sessions/fits.h"

/* ---- builds ---- */

static pfc_code load_builds(pfc_tx *tx, const char *session, pfc_session_judgement *j, pfc_err *err)
{
    pfc_sql_session_builds_rows rows = { 0 };
    pfc_code code = pfc_sql_session_builds(
        tx,
        &(pfc_sql_session_builds_args){
            .project_id = j->project_id, .session = session, .limit = PFC_BLOCKS_MAX_BUILDS },
        &rows, err);

    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no run of that session is stored");
    if (!code) {
        j->builds_len = rows.len;
        j->builds = pfc_calloc(j->builds_len, sizeof(*j->builds));
        j->session = rows.items[0].session;
        j->branch = rows.items[0].branch;
        j->base = j->anchor = j->builds_len;
    }
    for (size_t i = 0; !code && i < rows.len; i++) {
        const pfc_sql_session_builds_row *row = &rows.items[i];

        j->builds[i] = (pfc_session_build){ .commit_id = row->commit_id,
                                            .position = row->position,
                                            .commit = row->commit,
                                            .known = row->known };
        if (row->is_base)
            j->base = i;
        if (row->is_anchor)
            j->anchor = i;
    }
    pfc_rows_keep_texts(&rows, &j->builds_hold);
    return code;
}

static size_t build_of(const pfc_session_judgement *j, int64_t commit_id)
{
    size_t i = 0;

    while (i < j->builds_len && j->builds[i].commit_id != commit_id)
        i++;
    return i;
}

/* ---- visits ---- */

/* The visits of one series. */
typedef struct visits {
    pfc_visit *items;
    size_t len, cap;
} visits;

/* Adds one visit per launch: the median of its samples, if above zero: others have no ratio. */
static void add_visits(const pfc_sql_session_visits_row *row, uint32_t build, visits *v)
{
    double *samples = NULL;
    uint32_t *blocks = NULL, *block = NULL, *position = NULL;
    size_t samples_len = 0, len = 0, block_len = 0, position_len = 0;

    pfc_array_f64s(row->samples, &samples, &samples_len);
    pfc_array_u32s(row->blocks, &blocks, &len);
    pfc_array_u32s(row->visit_blocks, &block, &block_len);
    pfc_array_u32s(row->visit_positions, &position, &position_len);
    for (size_t i = 0, at = 0; i < PFC_MIN(len, PFC_MIN(block_len, position_len)); i++) {
        const size_t n = PFC_MIN((size_t)blocks[i], samples_len - at);
        const double value = n ? pfc_stats_median(samples + at, n) : 0;

        at += n;
        if (!(value > 0) || !isfinite(value) || v->len == PFC_BLOCKS_MAX_VISITS)
            continue;
        v->items = pfc_grow(v->items, v->len, &v->cap, sizeof(*v->items));
        v->items[v->len++] = (pfc_visit){
            .build = build, .block = block[i], .position = position[i], .value = value
        };
    }
    free(position);
    free(block);
    free(blocks);
    free(samples);
}

/* ---- boundaries ---- */

/* Does a live change point of the series lie in (from, to], so that the session measured its two
 * sides? Not where only the anchor happens to lie before it. */
static bool holds_candidate(const pfc_session_judgement *j,
                            const pfc_sql_session_changes_rows *changes, int64_t series,
                            const pfc_boundary *b)
{
    const int64_t from = j->builds[b->from].position, to = j->builds[b->to].position;

    for (size_t i = 0; i < changes->len; i++) {
        const pfc_sql_session_changes_row *change = &changes->items[i];

        if (change->series_id != series || change->position_high <= from ||
            change->position_low > to)
            continue;
        if (from >= change->position_low - 1 || (b->from != j->anchor && b->to != j->base))
            return true;
    }
    return false;
}

static int64_t alert_at(const pfc_session_judgement *j, const pfc_sql_session_changes_rows *changes,
                        int64_t series, const pfc_boundary *b)
{
    for (size_t i = 0; i < changes->len; i++) {
        const pfc_sql_session_changes_row *change = &changes->items[i];

        if (change->series_id == series && change->own &&
            change->commit_id == j->builds[b->to].commit_id)
            return change->alert_id;
    }
    return 0;
}

static void pick_boundaries(const pfc_session_judgement *j,
                            const pfc_sql_session_changes_rows *changes, pfc_session_series *s)
{
    s->boundaries = pfc_calloc(s->fit.boundaries_len + 1, sizeof(*s->boundaries));
    for (size_t i = 0; i < s->fit.boundaries_len; i++) {
        const pfc_boundary *b = &s->fit.boundaries[i];
        const bool is_new = j->base < j->builds_len ? b->to > j->base : b->to != j->anchor;

        s->rounds = PFC_MAX(s->rounds, b->rounds);
        if ((!is_new || b->gap) && !holds_candidate(j, changes, s->id, b))
            continue;
        s->boundaries[s->boundaries_len++] = (pfc_session_boundary){
            .b = b,
            .p_adjusted = (double)NAN,
            .verdict = b->verdict,
            .within = !s->exact && pfc_boundary_within(b, s->night_margin),
            .regression = (b->rel_change > 0) != s->higher_is_better,
            .alert_id = alert_at(j, changes, s->id, b),
        };
    }
}

/* One family: all boundaries of all series of the session that were tested against noise. */
static void adjust(pfc_session_judgement *j)
{
    pfc_session_boundary **members;
    double *p, *adjusted;
    size_t n = 0, len = 0;

    for (size_t i = 0; i < j->series_len; i++)
        n += j->series[i].boundaries_len;
    members = pfc_calloc(n + 1, sizeof(*members));
    p = pfc_calloc(n + 1, sizeof(*p));
    adjusted = pfc_calloc(n + 1, sizeof(*adjusted));
    for (size_t i = 0; i < j->series_len; i++) {
        for (size_t k = 0; k < j->series[i].boundaries_len; k++) {
            pfc_session_boundary *b = &j->series[i].boundaries[k];

            if (j->series[i].exact || !isfinite(b->b->p))
                continue;
            p[len] = b->b->p;
            members[len++] = b;
        }
    }
    pfc_stats_fdr_adjust(p, len, adjusted);
    for (size_t i = 0; i < len; i++) {
        members[i]->p_adjusted = adjusted[i];
        if (members[i]->verdict == PFC_VERDICT_DIFFERENT && !(adjusted[i] <= PFC_BLOCKS_FDR))
            members[i]->verdict = PFC_VERDICT_INCONCLUSIVE;
    }
    free(adjusted);
    free(p);
    free(members);
}

/* ---- series ---- */

static pfc_code judge_series(const pfc_session_judgement *j,
                             const pfc_sql_session_changes_rows *changes, const visits *v,
                             pfc_session_series *s, pfc_err *err)
{
    bool gap[PFC_BLOCKS_MAX_BUILDS] = { false };
    const pfc_blocks_opts opts = {
        .builds = j->builds_len,
        .anchor = j->anchor < j->builds_len ? j->anchor
                  : j->base < j->builds_len ? j->base
                                            : 0,
        .first = PFC_MIN((size_t)1, j->builds_len),
        .apart = j->base < j->builds_len     ? j->base
                 : j->anchor < j->builds_len ? j->anchor + 1
                                             : 0,
        .gap = gap,
        .margin = s->margin,
        .exact = s->exact,
    };
    pfc_err why = { 0 };
    pfc_code code;

    for (size_t i = 0; i < j->builds_len; i++)
        gap[i] = j->builds[i].known && j->base < j->builds_len && i > j->base;
    code = pfc_session_fit(v->items, v->len, &opts, &s->fit, &why);
    /* Visits that contradict each other, such as two builds at one place, are no evidence. */
    if (code == PFC_EINVAL) {
        pfc_blocks_fit_clear(&s->fit);
        s->fit = (pfc_blocks_fit){ .noise_rel = (double)NAN };
        return PFC_OK;
    }
    if (code)
        return pfc_err_set(err, code, "%s", why.msg);
    pick_boundaries(j, changes, s);
    return PFC_OK;
}

static void start_series(pfc_session_judgement *j, const pfc_sql_session_visits_row *row,
                         size_t *cap, const pfc_detector *detector)
{
    pfc_session_series *s;
    pfc_series_name name = { .branch = j->branch };
    pfc_detector_settings settings;

    j->series = pfc_grow(j->series, j->series_len, cap, sizeof(*j->series));
    s = &j->series[j->series_len++];
    *s = (pfc_session_series){
        .id = row->id,
        .benchmark = name.benchmark = row->benchmark,
        .metric = name.metric = row->metric,
        .backend = name.backend = row->backend,
        .machine_class = name.machine_class = row->machine_class,
        .unit = row->unit,
        .higher_is_better = row->higher_is_better,
        .exact = row->exact,
        .fit = { .noise_rel = (double)NAN },
    };
    settings = pfc_detector_for(detector, &name);
    s->judged = settings.judged;
    s->margin = settings.min_change > 0 ? settings.min_change : PFC_COMPARE_MARGIN;
    s->night_margin = settings.min_change > 0 ? settings.min_change : PFC_NIGHT_MARGIN;
}

static pfc_code judge_all(pfc_session_judgement *j, const pfc_sql_session_visits_rows *rows,
                          const pfc_sql_session_changes_rows *changes, const pfc_detector *detector,
                          pfc_err *err)
{
    visits v = { 0 };
    size_t cap = 0;
    pfc_code code = PFC_OK;

    /* The rows are in the order of series. */
    for (size_t i = 0; !code && i < rows->len; i++) {
        const pfc_sql_session_visits_row *row = &rows->items[i];
        const size_t build = build_of(j, row->commit_id);

        if (i == 0 || row->id != row[-1].id) {
            start_series(j, row, &cap, detector);
            v.len = 0;
        }
        if (build < j->builds_len)
            add_visits(row, (uint32_t)build, &v);
        if (i + 1 == rows->len || row[1].id != row->id)
            code = judge_series(j, changes, &v, &j->series[j->series_len - 1], err);
    }
    free(v.items);
    if (!code)
        adjust(j);
    return code;
}

pfc_code pfc_session_judge(pfc_tx *tx, int64_t project_id, const char *session,
                           pfc_session_judgement *out, pfc_err *err)
{
    pfc_detector detector = { 0 };
    pfc_sql_session_visits_rows visited = { 0 };
    pfc_sql_session_changes_rows changes = { 0 };
    pfc_code code;

    *out = (pfc_session_judgement){ .project_id = project_id };
    code = load_builds(tx, session, out, err);
    if (!code)
        code = pfc_sql_session_visits(tx,
                                      &(pfc_sql_session_visits_args){ .project_id = project_id,
                                                                      .session = session,
                                                                      .branch = out->branch },
                                      &visited, err);
    if (!code)
        code = pfc_sql_session_changes(tx,
                                       &(pfc_sql_session_changes_args){ .project_id = project_id,
                                                                        .session = session,
                                                                        .branch = out->branch },
                                       &changes, err);
    if (!code)
        code = pfc_detector_load(tx, project_id, &detector, err);
    if (!code)
        code = judge_all(out, &visited, &changes, &detector, err);
    pfc_detector_clear(&detector);
    pfc_rows_clear(&changes);
    pfc_rows_keep_texts(&visited, &out->series_hold);
    return code;
}

void pfc_session_judgement_clear(pfc_session_judgement *judgement)
{
    for (size_t i = 0; i < judgement->series_len; i++) {
        pfc_blocks_fit_clear(&judgement->series[i].fit);
        free(judgement->series[i].boundaries);
    }
    free(judgement->series);
    free(judgement->builds);
    pfc_res_free(judgement->builds_hold);
    pfc_res_free(judgement->series_hold);
    *judgement = (pfc_session_judgement){ 0 };
}

const char *pfc_session_verdict_name(const pfc_session_boundary *boundary)
{
    if (boundary->verdict == PFC_VERDICT_SAME)
        return "same";
    if (boundary->verdict == PFC_VERDICT_INCONCLUSIVE)
        return boundary->within ? "same" : "undecided";
    return boundary->regression ? "regression" : "improvement";
}

const char *pfc_session_test_name(const pfc_session_boundary *boundary)
{
    return boundary->b->by_order ? "order" : "pairs";
}
