/*
 * Suspects of an alert: reads the stored data about its range, and ranks the suspects by
 * core/suspects.
 */
#include "server/repo/sql/suspects.h"

#include <math.h>

#include "server/repo/sql/series.h"
#include "server/services/alerts/identical_code.h"
#include "server/services/alerts/kinds.h"
#include "server/services/bisect/bisect.h"
#include "server/services/service.h"

#define CONTEXT 20 /* positions read before and after the range */

/* The data that the ranking points into. */
typedef struct gathered {
    pfc_suspect_commit *commits;
    pfc_texts *paths; /* of each commit */
    double *place;
    pfc_suspect_sources *sources;
    pfc_texts *files;
    size_t sources_len;
    pfc_texts globs;
    char **runtime; /* globs of files that are read at run time */
    size_t runtime_len;
    pfc_suspect_past *past;
    size_t past_len;
    pfc_sql_suspects_series_rows series;
    pfc_sql_suspects_sources_rows source_rows;
    pfc_sql_suspects_past_rows past_rows;
    size_t exact_moved, exact_still;
} gathered;

static void gathered_clear(gathered *g, size_t commits)
{
    for (size_t i = 0; g->paths && i < commits; i++)
        pfc_texts_clear(&g->paths[i]);
    for (size_t i = 0; g->files && i < g->sources_len; i++)
        pfc_texts_clear(&g->files[i]);
    pfc_texts_clear(&g->globs);
    pfc_texts_free(g->runtime, g->runtime_len);
    free(g->paths);
    free(g->files);
    free(g->commits);
    free(g->place);
    free(g->sources);
    free(g->past);
    pfc_rows_clear(&g->series);
    pfc_rows_clear(&g->source_rows);
    pfc_rows_clear(&g->past_rows);
    *g = (gathered){ 0 };
}

/* ---- the series: place, identical code, boundaries ---- */

typedef struct range {
    int64_t first, last;
    const pfc_alert *alert;
} range;

static pfc_code load_points(pfc_tx *tx, const range *r, int64_t series_id,
                            pfc_sql_suspects_points_rows *out, pfc_err *err)
{
    return pfc_sql_suspects_points(
        tx,
        &(pfc_sql_suspects_points_args){ .project_id = r->alert->project_id,
                                         .series_id = series_id,
                                         .branch = r->alert->branch,
                                         .position_from = r->first - CONTEXT,
                                         .position_to = r->last + CONTEXT },
        out, err);
}

/* The series of one group have one cause: their likelihoods multiply. */
static void add_place(const range *r, const pfc_sql_suspects_series_row *series,
                      const pfc_sql_suspects_points_rows *points, double *place)
{
    const size_t n = points->len, len = (size_t)(r->last - r->first + 1);
    pfc_suspect_point *list = pfc_calloc(n + 1, sizeof(*list));
    double *own = pfc_calloc(len, sizeof(*own));
    const double noise = series->noise_rel;

    for (size_t i = 0; i < n; i++)
        list[i] = (pfc_suspect_point){ points->items[i].position, points->items[i].median };
    pfc_suspects_place(list, n, series->before, series->after, isfinite(noise) ? noise : 0.02,
                       r->first, len, own);
    for (size_t k = 0; k < len; k++)
        place[k] += own[k];
    free(own);
    free(list);
}

/* The object code of the commit whose points begin at *at; advances *at to the next commit. NULL:
 * unknown, or its runs differ. */
static const char *code_of(const pfc_sql_suspects_points_rows *points, size_t *at)
{
    const int64_t position = points->items[*at].position;
    const char *code = NULL;
    bool differ = false;

    for (; *at < points->len && points->items[*at].position == position; (*at)++) {
        const char *own = points->items[*at].object;

        differ |= code && own && strcmp(code, own) != 0;
        code = own ? own : code;
    }
    return differ ? NULL : code;
}

/* Equal object code at two neighbouring measured commits rules out every commit after the first
 * one. */
static void clear_identical(const range *r, const pfc_sql_suspects_points_rows *points,
                            const pfc_alert_commits *commits, gathered *g)
{
    const char *before = NULL;
    int64_t from = 0;

    for (size_t i = 0; i < points->len;) {
        const int64_t to = points->items[i].position;
        const char *now = code_of(points, &i);
        const bool same = before && now && strcmp(before, now) == 0 && to >= r->first;

        for (size_t k = 0; same && k < commits->len; k++)
            if (commits->items[k].position > from && commits->items[k].position <= to)
                g->commits[k].identical = true;
        before = now;
        from = to;
    }
}

static bool seen_in(const pfc_sql_suspects_points_rows *points, const char *hash, size_t from,
                    size_t to)
{
    for (size_t i = from; i < to; i++)
        if (pfc_streq(points->items[i].fingerprint, hash))
            return true;
    return false;
}

/* A boundary parts the points: no fingerprint from before it comes again. Runners that take turns
 * make none. */
static bool parts(const pfc_sql_suspects_points_rows *points, size_t at)
{
    if (pfc_streq(points->items[at - 1].fingerprint, points->items[at].fingerprint))
        return false;
    for (size_t i = 0; i < at; i++)
        if (seen_in(points, points->items[i].fingerprint, at, points->len))
            return false;
    return true;
}

pfc_code pfc_machine_fingerprint(pfc_tx *tx, int64_t machine_id, pfc_labels *out, pfc_err *err)
{
    pfc_sql_machine_fingerprints_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_machine_fingerprints(
        tx,
        &(pfc_sql_machine_fingerprints_args){ .machine_ids = &machine_id, .machine_ids_len = 1 },
        &rows, err);
    if (!code && rows.len)
        code = pfc_labels_parse(rows.items[0].fingerprint_json, out, err);
    pfc_rows_clear(&rows);
    return code;
}

static char *copy_entry(const pfc_labels *fingerprint, const char *name)
{
    const char *text = pfc_labels_get(fingerprint, name);

    return text ? pfc_strdup(text) : NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All entries of a kind. */
static void add_fields(const pfc_labels *before, const pfc_labels *now, char *const *names,
                       size_t len, int kind, pfc_boundary_fields *out)
{
    for (size_t i = 0; i < len; i++)
        if ((int)pfc_suspect_kind_of_field(names[i]) == kind)
            pfc_boundary_fields_add(out, names[i], pfc_labels_get(before, names[i]),
                                    pfc_labels_get(now, names[i]));
}

static bool is_same_code(const pfc_sql_suspects_points_rows *points, size_t at)
{
    const char *a = points->items[at - 1].object, *b = points->items[at].object;

    return a && b && strcmp(a, b) == 0;
}

/* One suspect a kind: an upgrade of a compiler changes several entries at once. */
static void add_boundaries(const pfc_labels *before, const pfc_labels *now, double place,
                           bool same_code, pfc_alert_ranking *out)
{
    char **names = NULL;
    size_t len = 0;

    pfc_fingerprint_diff(before, now, PFC_FINGERPRINT_VALUES, &names, &len);
    if (len > 1)
        qsort(names, len, sizeof(char *), by_name); /* the database keeps them in no order */
    for (int kind = PFC_SUSPECT_IS_TOOLCHAIN; kind <= PFC_SUSPECT_IS_MACHINE; kind++) {
        for (size_t i = 0; i < len; i++) {
            pfc_suspect_boundary *b;

            if ((int)pfc_suspect_kind_of_field(names[i]) != kind)
                continue;
            if (out->boundaries_len == PFC_RANKING_MAX_BOUNDARIES)
                break;
            b = &out->boundaries[out->boundaries_len++];
            b->field = pfc_strdup(names[i]);
            b->before = copy_entry(before, names[i]);
            b->now = copy_entry(now, names[i]);
            b->place = place;
            b->same_code = same_code;
            add_fields(before, now, names, len, kind, &out->boundary_fields[b - out->boundaries]);
            break;
        }
    }
    pfc_texts_free(names, len);
}

static pfc_code find_boundaries(pfc_tx *tx, const range *r,
                                const pfc_sql_suspects_points_rows *points, const double *place,
                                pfc_alert_ranking *out, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 1; !code && i < points->len; i++) {
        const int64_t position = points->items[i].position;
        pfc_labels before = { 0 }, now = { 0 };

        if (position < r->first || position > r->last || !parts(points, i))
            continue;
        code = pfc_machine_fingerprint(tx, points->items[i - 1].machine_id, &before, err);
        if (!code)
            code = pfc_machine_fingerprint(tx, points->items[i].machine_id, &now, err);
        if (!code)
            add_boundaries(&before, &now, place[position - r->first], is_same_code(points, i), out);
        pfc_labels_clear(&before);
        pfc_labels_clear(&now);
    }
    return code;
}

static pfc_code read_series(pfc_tx *tx, const range *r, gathered *g, pfc_alert_ranking *out,
                            pfc_err *err)
{
    const size_t len = (size_t)(r->last - r->first + 1);
    pfc_sql_suspects_points_rows own = { 0 };
    pfc_code code;

    g->place = pfc_calloc(len, sizeof(double));
    code = pfc_sql_suspects_series(tx, &(pfc_sql_suspects_series_args){ .alert_id = r->alert->id },
                                   &g->series, err);
    if (!code && g->series.len == 0)
        code = pfc_tx_behind(tx, err);
    for (size_t i = 0; !code && i < g->series.len; i++) {
        const pfc_sql_suspects_series_row *series = &g->series.items[i];
        pfc_sql_suspects_points_rows points = { 0 };

        code = load_points(tx, r, series->series_id, &points, err);
        if (!code) {
            add_place(r, series, &points, g->place);
            out->series++;
        }
        if (i == 0)
            own = points;
        else
            pfc_rows_clear(&points);
    }
    if (!code && g->series.len) {
        double best = -INFINITY;

        for (size_t k = 0; k < len; k++)
            best = fmax(best, g->place[k]);
        for (size_t k = 0; k < len; k++)
            g->place[k] -= best;
        clear_identical(r, &own, &out->commits, g);
        code = find_boundaries(tx, r, &own, g->place, out, err);
    }
    pfc_rows_clear(&own);
    return code;
}

/* ---- the commits and what is known of their paths ---- */

static void read_commits(gathered *g, const pfc_alert_commits *commits)
{
    g->commits = pfc_calloc(commits->len, sizeof(g->commits[0]));
    g->paths = pfc_calloc(commits->len, sizeof(g->paths[0]));
    for (size_t i = 0; i < commits->len; i++) {
        const pfc_alert_commit *c = &commits->items[i];

        pfc_array_texts(c->paths, &g->paths[i]);
        g->commits[i] = (pfc_suspect_commit){ .subject = c->subject,
                                              .paths = (const char *const *)g->paths[i].items,
                                              .paths_len = g->paths[i].len,
                                              .paths_known = g->paths[i].len > 0 };
    }
}

static pfc_code read_sources(pfc_tx *tx, const pfc_alert *alert, gathered *g, pfc_err *err)
{
    const size_t n = g->series.len;
    const char **moved = pfc_calloc(n + 1, sizeof(char *));
    pfc_code code;

    for (size_t i = 0; i < n; i++)
        moved[i] = g->series.items[i].benchmark;
    code =
        pfc_sql_suspects_sources(tx,
                                 &(pfc_sql_suspects_sources_args){ .project_id = alert->project_id,
                                                                   .benchmark = alert->benchmark,
                                                                   .moved = moved,
                                                                   .moved_len = n },
                                 &g->source_rows, err);
    free(moved);
    g->sources = pfc_calloc(g->source_rows.len + 1, sizeof(g->sources[0]));
    g->files = pfc_calloc(g->source_rows.len + 1, sizeof(g->files[0]));
    for (size_t i = 0; !code && i < g->source_rows.len; i++) {
        const pfc_sql_suspects_sources_row *row = &g->source_rows.items[i];
        const bool all = strcmp(row->benchmark, "*") == 0;
        pfc_texts *files = &g->files[g->sources_len];

        if (all && g->sources_len)
            continue; /* it has a row of its own */
        pfc_array_texts(row->files, files);
        if (i == 0 && (all || row->own))
            pfc_array_texts(row->globs, &g->globs);
        if (files->len == 0) {
            pfc_texts_clear(files);
            continue;
        }
        /* Without files of its own nothing can be said about the others' either. */
        if (g->sources_len == 0 && !all && !row->own) {
            pfc_texts_clear(files);
            break;
        }
        g->sources[g->sources_len++] = (pfc_suspect_sources){
            .benchmark = row->benchmark,
            .files = (const char *const *)files->items,
            .len = files->len,
            .moved = g->sources_len == 0 || row->moved,
        };
    }
    return code;
}

/* Of the commits in identical code, those that touch what is read while the program runs. */
static pfc_code read_runtime(pfc_tx *tx, const pfc_alert *alert, gathered *g, size_t commits,
                             pfc_err *err)
{
    pfc_code code = pfc_runtime_files(tx, alert->project_id, alert->benchmark, &g->runtime,
                                      &g->runtime_len, err);

    for (size_t i = 0; !code && g->runtime_len && i < commits; i++)
        for (size_t k = 0; k < g->paths[i].len && !g->commits[i].runtime; k++)
            if (pfc_path_fits(g->paths[i].items[k], g->runtime, g->runtime_len))
                g->commits[i].runtime = g->paths[i].items[k];
    return code;
}

static pfc_code read_past(pfc_tx *tx, const pfc_alert *alert, gathered *g, size_t commits,
                          pfc_err *err)
{
    const char **paths = NULL;
    size_t len = 0, cap = 0;
    pfc_code code;

    for (size_t i = 0; i < commits; i++)
        for (size_t k = 0; k < g->paths[i].len; k++) {
            paths = pfc_grow(paths, len, &cap, sizeof(*paths));
            paths[len++] = g->paths[i].items[k];
        }
    code = pfc_sql_suspects_past(tx,
                                 &(pfc_sql_suspects_past_args){ .project_id = alert->project_id,
                                                                .paths = paths,
                                                                .paths_len = len,
                                                                .alert_id = alert->id },
                                 &g->past_rows, err);
    free((void *)paths);
    if (code)
        return code;
    g->past_len = g->past_rows.len;
    g->past = pfc_calloc(g->past_len + 1, sizeof(g->past[0]));
    for (size_t i = 0; i < g->past_len; i++)
        g->past[i] = (pfc_suspect_past){ g->past_rows.items[i].path, g->past_rows.items[i].guilty,
                                         g->past_rows.items[i].seen };
    return PFC_OK;
}

static pfc_code read_exact(pfc_tx *tx, const pfc_alert *alert, gathered *g, pfc_err *err)
{
    pfc_sql_suspects_exact_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_suspects_exact(tx, &(pfc_sql_suspects_exact_args){ .alert_id = alert->id },
                                  &rows, err);
    if (!code && rows.len) {
        g->exact_moved = (size_t)rows.items[0].moved;
        g->exact_still = (size_t)rows.items[0].still;
    }
    pfc_rows_clear(&rows);
    return code;
}

/* ---- all of it ---- */

static pfc_code gather(pfc_tx *tx, const range *r, gathered *g, pfc_alert_ranking *out,
                       pfc_err *err)
{
    pfc_code code;

    read_commits(g, &out->commits);
    code = read_series(tx, r, g, out, err);
    if (!code)
        code = read_sources(tx, r->alert, g, err);
    if (!code)
        code = read_runtime(tx, r->alert, g, out->commits.len, err);
    if (!code)
        code = read_past(tx, r->alert, g, out->commits.len, err);
    if (!code)
        code = read_exact(tx, r->alert, g, err);
    return code;
}

static pfc_code rank(const range *r, bool places, gathered *g, pfc_alert_ranking *out, pfc_err *err)
{
    const pfc_suspect_case c = {
        .benchmark = r->alert->benchmark,
        .backend = r->alert->backend,
        .metric = r->alert->metric,
        .commits = g->commits,
        .len = out->commits.len,
        .globs = g->globs.items,
        .globs_len = g->globs.len,
        .sources = g->sources,
        .sources_len = g->sources_len,
        .past = g->past,
        .past_len = g->past_len,
        .boundaries = out->boundaries,
        .boundaries_len = out->boundaries_len,
        .exact_moved = g->exact_moved,
        .exact_still = g->exact_still,
    };

    for (size_t i = 0; i < out->commits.len; i++)
        g->commits[i].place = places ? g->place[out->commits.items[i].position - r->first] : 0;
    out->sources = g->sources_len ? g->sources[0].len : 0;
    return pfc_suspects_rank(&c, &out->suspects, err);
}

static void boundaries_clear(pfc_alert_ranking *ranking)
{
    for (size_t i = 0; i < ranking->boundaries_len; i++) {
        pfc_suspect_boundary *b = &ranking->boundaries[i];

        free((char *)(uintptr_t)b->field);
        free((char *)(uintptr_t)b->before);
        free((char *)(uintptr_t)b->now);
        pfc_boundary_fields_clear(&ranking->boundary_fields[i]);
    }
    ranking->boundaries_len = 0;
}

void pfc_alert_ranking_clear(pfc_alert_ranking *ranking)
{
    boundaries_clear(ranking);
    pfc_suspects_clear(&ranking->suspects);
    pfc_rows_clear(&ranking->commits);
    pfc_rows_clear(&ranking->alert);
    *ranking = (pfc_alert_ranking){ 0 };
}

/* The data of one snapshot. */
typedef struct reading {
    range r;
    gathered g;
    pfc_alert_ranking *ranking;
} reading;

static pfc_code read_evidence(pfc_tx *tx, void *into, pfc_err *err)
{
    reading *all = into;

    gathered_clear(&all->g, all->ranking->commits.len);
    boundaries_clear(all->ranking);
    return gather(tx, &all->r, &all->g, all->ranking, err);
}

pfc_code pfc_alert_rank_by(pfc_db *db, int64_t alert_id, bool places, pfc_alert_ranking *out,
                           pfc_err *err)
{
    pfc_alert_ranking ranking = { 0 };
    reading all = { .ranking = &ranking };
    pfc_code code = pfc_alerts_get(db, alert_id, &ranking.alert, err);

    /* A drift has no suspects. */
    if (!code && !pfc_alert_is_drift(&ranking.alert.items[0]))
        code = pfc_alert_commits_list(db, alert_id, &ranking.commits, err);
    if (!code && ranking.commits.len) {
        all.r = (range){ .first = ranking.commits.items[0].position,
                         .last = ranking.commits.items[ranking.commits.len - 1].position,
                         .alert = &ranking.alert.items[0] };
        code = pfc_db_read(db, read_evidence, &all, err);
        if (!code)
            code = rank(&all.r, places, &all.g, &ranking, err);
        gathered_clear(&all.g, ranking.commits.len);
    }
    if (code)
        pfc_alert_ranking_clear(&ranking);
    else
        *out = ranking;
    return code;
}

pfc_code pfc_alert_rank(pfc_db *db, int64_t alert_id, pfc_alert_ranking *out, pfc_err *err)
{
    return pfc_alert_rank_by(db, alert_id, true, out, err);
}
