/* Chooses the series, and brings their points into columns. */
#include "server/services/plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/select/select.h"
#include "server/services/plot/plot_priv.h"

/* The input, the state and the result of one read transaction. */
typedef struct reading {
    int64_t project_id;
    const pfc_plot_opts *opts;
    const pfc_select *select;
    pfc_plot *plot;
    pfc_plot_member *members; /* by id */
    size_t *line_of;          /* of each member */
    size_t len;
    pfc_packed_points *points; /* of each line, within the bounds */
    pfc_window_bounds bounds;
    int64_t relative; /* position; 0: none */
} reading;

static void reading_clear(reading *r)
{
    for (size_t i = 0; r->points && i < r->plot->len; i++)
        free(r->points[i].items);
    free(r->points);
    free(r->line_of);
    pfc_plot_members_free(r->members, r->len);
    r->members = NULL;
    r->line_of = NULL;
    r->points = NULL;
    r->len = 0;
    pfc_plot_clear(r->plot);
}

/* ---- choosing ---- */

/* The line of a series; a new one if there is none yet; SIZE_MAX over the limit. A group is of one
 * class of machines: a mean over several would have a value only where all of them have measured,
 * and would mix their levels. */
static size_t line_of(reading *r, size_t row)
{
    pfc_plot *p = r->plot;
    const pfc_plot_series *s = &p->candidates.rows.items[row];
    const char *key = r->opts->group ? pfc_plot_field(&p->candidates, row, r->opts->group) : NULL;
    pfc_plot_line *line;

    for (size_t i = 0; r->opts->group && i < p->len; i++) {
        line = &p->lines[i];
        if (pfc_streq(line->key, key) && pfc_streq(line->series->metric, s->metric) &&
            pfc_streq(line->series->unit, s->unit) &&
            pfc_streq(line->series->machine_class, s->machine_class) &&
            line->series->higher_is_better == s->higher_is_better)
            return i;
    }
    if (p->len == PFC_PLOT_MAX_LINES)
        return SIZE_MAX;
    line = &p->lines[p->len];
    line->series = s;
    line->params_json = r->opts->group ? NULL : s->params_json;
    line->key = pfc_strdup(key);
    line->base = (double)NAN;
    return p->len++;
}

static pfc_code choose(reading *r, pfc_err *err)
{
    pfc_plot *p = r->plot;
    const size_t all = p->candidates.rows.len;
    int64_t points = 0;

    p->lines = pfc_calloc(PFC_PLOT_MAX_LINES, sizeof(*p->lines));
    r->members = pfc_calloc(all, sizeof(*r->members));
    r->line_of = pfc_calloc(all, sizeof(*r->line_of));
    for (size_t row = 0; row < all; row++) {
        size_t line;

        if (!pfc_plot_selects(&p->candidates, row, r->select))
            continue;
        p->matched++;
        line = line_of(r, row);
        if (line == SIZE_MAX) {
            p->left_out++;
            continue;
        }
        points += p->candidates.rows.items[row].points;
        p->lines[line].members++;
        r->line_of[r->len] = line;
        r->members[r->len++].row = row;
    }
    if (r->len > PFC_PLOT_MAX_SERIES)
        return pfc_err_set_field(err, PFC_ETOOBIG, "select",
                                 "select: %zu series, expected at most %d in all groups", r->len,
                                 PFC_PLOT_MAX_SERIES);
    return pfc_plot_check_points(points, err);
}

/* ---- lines ---- */

static bool inside(const reading *r, int64_t position, double time)
{
    const pfc_packed_point at = { .position = position, .time = time };

    return pfc_packed_inside(&at, &r->bounds);
}

/* The newest value at or before the position. */
static double value_before(const pfc_packed_points *points, int64_t position)
{
    double value = (double)NAN;

    for (size_t i = 0; i < points->len && points->items[i].position <= position; i++)
        value = points->items[i].median;
    return value;
}

static void keep_inside(const reading *r, pfc_packed_points *points)
{
    size_t kept = 0;

    for (size_t i = 0; i < points->len; i++)
        if (pfc_packed_inside(&points->items[i], &r->bounds))
            points->items[kept++] = points->items[i];
    points->len = kept;
}

/* Positions without a time: a bound by time does not restrict them. */
static size_t count_inside(const reading *r, const pfc_plot_positions *positions)
{
    size_t n = 0;

    for (size_t i = 0; i < positions->len; i++)
        n += inside(r, positions->items[i], (double)NAN);
    return n;
}

/* The points of one line, of which these are the members. */
static void make_points(reading *r, size_t line, const pfc_packed_points *const *members)
{
    pfc_plot_line *l = &r->plot->lines[line];
    pfc_packed_points *points = &r->points[line];
    pfc_plot_positions partial = { 0 };

    pfc_plot_geomean(members, l->members, points, &partial);
    l->partial = count_inside(r, &partial);
    free(partial.items);
}

static void make_lines(reading *r)
{
    pfc_plot *p = r->plot;
    const pfc_packed_points **members = pfc_calloc(r->len, sizeof(*members));

    r->points = pfc_calloc(p->len, sizeof(*r->points));
    for (size_t line = 0; line < p->len; line++) {
        pfc_plot_line *l = &p->lines[line];
        size_t n = 0;

        for (size_t i = 0; i < r->len; i++) {
            if (r->line_of[i] != line)
                continue;
            members[n++] = &r->members[i].points;
            l->moved += count_inside(r, &r->members[i].moved);
            if (!r->opts->group) { /* its own points, all results of each commit */
                r->points[line] = r->members[i].points;
                r->members[i].points = (pfc_packed_points){ 0 };
            }
        }
        if (r->opts->group)
            make_points(r, line, members);
        if (r->relative)
            l->base = value_before(&r->points[line], r->relative);
        keep_inside(r, &r->points[line]);
        l->points = r->points[line].len;
    }
    free(members);
}

/* ---- columns ---- */

static size_t line_of_series(const reading *r, int64_t id)
{
    for (size_t i = 0; i < r->len; i++)
        if (r->plot->candidates.rows.items[r->members[i].row].id == id)
            return r->line_of[i];
    return 0;
}

/* Columns at most; a line has at least one. */
static size_t most_columns(const pfc_plot_opts *o, size_t lines)
{
    const size_t asked = o->columns ? (size_t)o->columns : PFC_PLOT_COLUMNS;

    return o->cells && lines ? PFC_MIN(asked, PFC_MAX(1, (size_t)o->cells / lines)) : asked;
}

static pfc_code mark_axis(const reading *r, pfc_plot_axis *axis, pfc_err *err)
{
    const pfc_plot *p = r->plot;
    int64_t last = 0;
    pfc_code code;

    for (size_t i = 0; i < p->len; i++)
        if (r->points[i].len)
            last = PFC_MAX(last, r->points[i].items[r->points[i].len - 1].position);
    for (size_t i = 0; i < p->broken.len; i++)
        last = PFC_MAX(last, p->broken.items[i].position);
    code = pfc_plot_axis_init(axis, last, err);
    if (code)
        return code;
    for (size_t i = 0; i < p->len; i++)
        for (size_t k = 0; k < r->points[i].len; k++)
            pfc_plot_axis_mark(axis, r->points[i].items[k].position);
    for (size_t i = 0; i < p->broken.len; i++)
        if (inside(r, p->broken.items[i].position, p->broken.items[i].time))
            pfc_plot_axis_mark(axis, p->broken.items[i].position);
    pfc_plot_axis_finish(axis, most_columns(r->opts, p->len));
    return PFC_OK;
}

static void fill(reading *r, const pfc_plot_axis *axis)
{
    pfc_plot *p = r->plot;

    p->places = axis->places;
    for (size_t i = 0; i < p->len; i++) {
        pfc_plot_line *l = &p->lines[i];

        l->median = pfc_calloc(axis->columns, sizeof(float));
        l->low = pfc_calloc(axis->columns, sizeof(float));
        l->high = pfc_calloc(axis->columns, sizeof(float));
        pfc_plot_fill(axis, &r->points[i], l->median, l->low, l->high);
    }
    p->marks = pfc_calloc(p->broken.len, sizeof(*p->marks));
    for (size_t i = 0; i < p->broken.len; i++) {
        const pfc_sql_plot_broken_row *b = &p->broken.items[i];

        if (inside(r, b->position, b->time))
            p->marks[p->marks_len++] =
                (pfc_plot_mark){ .line = line_of_series(r, b->series_id),
                                 .column = pfc_plot_axis_column(axis, b->position),
                                 .reason = b->reason,
                                 .run_id = b->run_id,
                                 .position = b->position };
    }
}

static void add_samples(pfc_plot_line *l, size_t column, pfc_array_text samples)
{
    pfc_plot_samples s = { .column = column };

    pfc_array_f64s(samples, &s.values, &s.len);
    l->samples = pfc_grow(l->samples, l->samples_len, &l->samples_cap, sizeof(*l->samples));
    l->samples[l->samples_len++] = s;
}

/* Raw samples, while there are few points and every place has a column of its own. */
static pfc_code read_samples(pfc_tx *tx, reading *r, const pfc_plot_axis *axis, int64_t *ids,
                             pfc_err *err)
{
    pfc_plot *p = r->plot;
    pfc_sql_plot_samples_rows rows = { 0 };
    size_t points = 0;
    pfc_code code;

    for (size_t i = 0; i < p->len; i++)
        points += p->lines[i].points;
    p->samples = r->opts->samples && !r->opts->group && points <= PFC_PLOT_SAMPLE_POINTS &&
                 axis->columns == axis->places;
    if (!p->samples || points == 0)
        return PFC_OK;
    code = pfc_sql_plot_samples(tx,
                                &(pfc_sql_plot_samples_args){
                                    .project_id = r->project_id,
                                    .series_ids = ids,
                                    .series_ids_len = r->len,
                                    .branch = r->opts->branch,
                                    .position_from = axis->columns ? axis->newest[0] : 0,
                                    .position_to = axis->newest[axis->columns - 1],
                                    .limit = PFC_PLOT_SAMPLE_POINTS,
                                },
                                &rows, err);
    for (size_t i = 0; i < rows.len && !code; i++) {
        const int64_t position = rows.items[i].position;

        if (position < (int64_t)axis->span && axis->place[position])
            add_samples(&p->lines[line_of_series(r, rows.items[i].series_id)],
                        pfc_plot_axis_column(axis, position), rows.items[i].samples);
    }
    pfc_rows_clear(&rows);
    return code;
}

/* ---- reading ---- */

static pfc_code read_ends(pfc_tx *tx, reading *r, pfc_err *err)
{
    const pfc_plot_opts *o = r->opts;
    pfc_code code =
        pfc_window_bounds_read(tx, r->project_id, o->branch, o->from, o->to, &r->bounds, err);

    r->relative = 0;
    if (!code && o->relative)
        code = pfc_window_position(tx, r->project_id, o->branch, o->relative, "relative",
                                   &r->relative, err);
    return code;
}

static pfc_code read_results(pfc_tx *tx, reading *r, pfc_err *err)
{
    pfc_plot *p = r->plot;
    int64_t *ids = pfc_calloc(r->len, sizeof(*ids));
    pfc_plot_axis axis = { 0 };
    pfc_code code;

    for (size_t i = 0; i < r->len; i++)
        ids[i] = p->candidates.rows.items[r->members[i].row].id;
    code = pfc_plot_read_points(tx, r->project_id, r->opts->branch, &p->candidates, r->members,
                                r->len, err);
    if (!code)
        code = pfc_sql_plot_broken(tx,
                                   &(pfc_sql_plot_broken_args){ .project_id = r->project_id,
                                                                .series_ids = ids,
                                                                .series_ids_len = r->len,
                                                                .limit = PFC_PLOT_MAX_BROKEN },
                                   &p->broken, err);
    if (!code) {
        for (size_t i = 0; i < r->len; i++)
            p->read += r->members[i].points.len;
        make_lines(r);
        code = mark_axis(r, &axis, err);
    }
    if (!code) {
        fill(r, &axis);
        code = read_samples(tx, r, &axis, ids, err);
    }
    if (!code)
        code = pfc_sql_plot_commits(tx,
                                    &(pfc_sql_plot_commits_args){ .project_id = r->project_id,
                                                                  .branch = r->opts->branch,
                                                                  .positions = axis.newest,
                                                                  .positions_len = axis.columns },
                                    &p->columns, err);
    if (!code && p->columns.len != axis.columns)
        code = pfc_err_set(err, PFC_EBUG, "plot: %zu commits for %zu columns", p->columns.len,
                           axis.columns);
    pfc_plot_axis_clear(&axis);
    free(ids);
    return code;
}

static pfc_code read_plot(pfc_tx *tx, void *into, pfc_err *err)
{
    reading *r = into;
    pfc_code code;

    reading_clear(r);
    code = pfc_plot_version_read(tx, r->project_id, r->opts->branch, &r->plot->version, err);
    if (!code)
        code =
            pfc_plot_candidates_load(tx, r->project_id, r->opts->branch, &r->plot->candidates, err);
    if (!code && r->plot->candidates.rows.len == 0)
        code = pfc_tx_behind(tx, err);
    if (!code)
        code = read_ends(tx, r, err);
    if (!code) {
        pfc_plot_unknown(&r->plot->candidates, r->select, r->opts->group, &r->plot->unknown);
        code = choose(r, err);
    }
    return code ? code : read_results(tx, r, err);
}

pfc_code pfc_plot_read(pfc_db *db, int64_t project_id, const pfc_plot_opts *opts, pfc_plot *out,
                       pfc_err *err)
{
    pfc_select *select = NULL;
    pfc_plot plot = { 0 };
    reading r = { .project_id = project_id, .opts = opts, .plot = &plot };
    pfc_code code;

    if (opts->columns < 0 || opts->columns > PFC_PLOT_MAX_COLUMNS)
        return pfc_err_set_field(err, PFC_EINVAL, "points", "points: expected 1 to %d, got %d",
                                 PFC_PLOT_MAX_COLUMNS, opts->columns);
    if (opts->cells < 0 || opts->cells > PFC_PLOT_MAX_CELLS)
        return pfc_err_set_field(err, PFC_EINVAL, "cells", "cells: expected 1 to %d, got %d",
                                 PFC_PLOT_MAX_CELLS, opts->cells);
    code = pfc_select_parse(opts->select ? opts->select : "", &select, err);
    if (code)
        return code;
    r.select = select;
    code = pfc_db_read(db, read_plot, &r, err);
    if (!code) {
        *out = plot;
        plot = (pfc_plot){ .len = plot.len }; /* for the number of r.points */
    }
    reading_clear(&r);
    pfc_select_free(select);
    return code;
}

void pfc_plot_clear(pfc_plot *plot)
{
    for (size_t i = 0; plot->lines && i < plot->len; i++) {
        pfc_plot_line *l = &plot->lines[i];

        for (size_t k = 0; k < l->samples_len; k++)
            free(l->samples[k].values);
        free(l->samples);
        free(l->median);
        free(l->low);
        free(l->high);
        free(l->key);
    }
    free(plot->lines);
    free(plot->marks);
    free(plot->version);
    pfc_texts_clear(&plot->unknown);
    pfc_rows_clear(&plot->columns);
    pfc_rows_clear(&plot->broken);
    pfc_plot_candidates_clear(&plot->candidates);
    *plot = (pfc_plot){ 0 };
}
