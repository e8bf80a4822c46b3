/* Reads the results of the chosen benchmarks at two commits, and the ceilings that held. */
#include "server/services/plot/roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/repo/sql/roofline.h"
#include "server/services/plot/plot_priv.h"

#define SETS_OF_A_CLASS 4 /* runs with ceilings, newest first; others state none for a backend */

enum { SIDE_A, SIDE_B, SIDES };

/* The input, the state and the result of one read transaction. */
typedef struct reading {
    int64_t project_id;
    const pfc_roofline_opts *opts;
    const pfc_select *select;
    pfc_roofline *out;
    int64_t positions[SIDES]; /* 0: not asked for */
    size_t *chosen;           /* rows of the candidates, by benchmark, backend and class */
    size_t chosen_len;
    pfc_plot_member *members; /* times, by id */
    size_t members_len;
} reading;

static void reading_clear(reading *r)
{
    free(r->chosen);
    pfc_plot_members_free(r->members, r->members_len);
    r->chosen = NULL;
    r->members = NULL;
    r->chosen_len = r->members_len = 0;
    pfc_roofline_clear(r->out);
}

/* ---- choosing ---- */

static int by_benchmark(const pfc_plot_series *x, const pfc_plot_series *y)
{
    int order = strcmp(x->benchmark, y->benchmark);

    if (order == 0)
        order = strcmp(x->backend, y->backend);
    return order ? order : strcmp(x->machine_class, y->machine_class);
}

static int by_name(const void *a, const void *b, void *context)
{
    const pfc_plot_series *items = context;
    const pfc_plot_series *x = &items[*(const size_t *)a], *y = &items[*(const size_t *)b];
    const int order = by_benchmark(x, y);

    return order ? order : strcmp(x->metric, y->metric);
}

static bool is_time(const pfc_plot_series *s)
{
    return !s->higher_is_better && pfc_roofline_seconds(s->unit) > 0;
}

static bool is_wanted(const char *filter, const char *value)
{
    return !filter || strcmp(filter, value) == 0;
}

static pfc_code choose(reading *r, pfc_err *err)
{
    pfc_plot_candidates *c = &r->out->candidates;
    int64_t points = 0;

    r->chosen = pfc_calloc(c->rows.len, sizeof(*r->chosen));
    r->members = pfc_calloc(c->rows.len, sizeof(*r->members));
    for (size_t i = 0; i < c->rows.len; i++) {
        const pfc_plot_series *s = &c->rows.items[i];

        if (!is_wanted(r->opts->machine_class, s->machine_class) ||
            !is_wanted(r->opts->backend, s->backend) || !pfc_plot_selects(c, i, r->select))
            continue;
        r->chosen[r->chosen_len++] = i;
        if (!is_time(s))
            continue;
        points += s->points;
        r->members[r->members_len++].row = i;
    }
    qsort_r(r->chosen, r->chosen_len, sizeof(*r->chosen), by_name, c->rows.items);
    if (r->members_len > PFC_PLOT_MAX_SERIES)
        return pfc_err_set_field(err, PFC_ETOOBIG, "select",
                                 "select: %zu series of times, expected at most %d", r->members_len,
                                 PFC_PLOT_MAX_SERIES);
    return pfc_plot_check_points(points, err);
}

/* ---- results ---- */

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median_of(const pfc_packed_point *points, size_t len)
{
    double *values = pfc_calloc(len, sizeof(*values));
    double median;

    for (size_t i = 0; i < len; i++)
        values[i] = points[i].median;
    qsort(values, len, sizeof(*values), by_value);
    median = (values[(len - 1) / 2] + values[len / 2]) / 2;
    free(values);
    return median;
}

/* The results at the newest commit at or before the position; 0: of the branch. */
static pfc_roofline_point point_at(const pfc_packed_points *points, int64_t position)
{
    pfc_roofline_point out = { .operations = (double)NAN,
                               .bytes = (double)NAN,
                               .intensity = (double)NAN,
                               .rate = (double)NAN,
                               .limit = (double)NAN,
                               .compute = SIZE_MAX,
                               .memory = SIZE_MAX };
    size_t end = points->len, begin;

    while (position && end > 0 && points->items[end - 1].position > position)
        end--;
    if (end == 0)
        return out;
    begin = end - 1;
    while (begin > 0 && points->items[begin - 1].position == points->items[end - 1].position)
        begin--;
    out.run_id = points->items[end - 1].run_id;
    out.position = points->items[end - 1].position;
    out.value = median_of(&points->items[begin], end - begin);
    return out;
}

static pfc_roofline_point *side_of(pfc_roofline_row *row, int side)
{
    return side == SIDE_A ? &row->a : &row->b;
}

static void take_work(pfc_roofline *out, const pfc_sql_roofline_work_row *w)
{
    for (size_t i = 0; i < out->len; i++) {
        for (int side = 0; side < SIDES; side++) {
            pfc_roofline_point *p = side_of(&out->rows[i], side);

            if (out->rows[i].series->id != w->series_id || p->run_id != w->run_id)
                continue;
            p->operations = w->operations;
            p->bytes = w->bytes;
            p->intensity = w->operations / w->bytes;
            p->rate = w->operations / (p->value * pfc_roofline_seconds(out->rows[i].series->unit));
        }
    }
}

static pfc_code read_work(pfc_tx *tx, reading *r, pfc_err *err)
{
    pfc_roofline *out = r->out;
    int64_t *series = pfc_calloc(SIDES * out->len, sizeof(*series));
    int64_t *runs = pfc_calloc(SIDES * out->len, sizeof(*runs));
    pfc_sql_roofline_work_rows rows = { 0 };
    size_t len = 0;
    pfc_code code;

    for (size_t i = 0; i < out->len; i++) {
        for (int side = 0; side < SIDES; side++) {
            const int64_t run_id = side_of(&out->rows[i], side)->run_id;

            if (run_id == 0 || (side == SIDE_B && run_id == out->rows[i].a.run_id))
                continue;
            series[len] = out->rows[i].series->id;
            runs[len++] = run_id;
        }
    }
    code = pfc_sql_roofline_work(
        tx,
        &(pfc_sql_roofline_work_args){
            .project_id = r->project_id, .series_ids = series, .run_ids = runs, .len = len },
        &rows, err);
    for (size_t i = 0; i < rows.len && !code; i++)
        take_work(out, &rows.items[i]);
    pfc_rows_clear(&rows);
    free(series);
    free(runs);
    return code;
}

/* A row for each time; read_work and take_missing remove those without a place. */
static void make_rows(reading *r)
{
    pfc_roofline *out = r->out;

    out->rows = pfc_calloc(r->members_len, sizeof(*out->rows));
    for (size_t i = 0; i < r->members_len; i++) {
        pfc_roofline_row *row = &out->rows[out->len++];

        row->series = &out->candidates.rows.items[r->members[i].row];
        row->a = point_at(r->positions[SIDE_A] ? &r->members[i].points : &(pfc_packed_points){ 0 },
                          r->positions[SIDE_A]);
        row->b = point_at(&r->members[i].points, r->positions[SIDE_B]);
    }
}

/* ---- what has no place ---- */

static bool is_placed(const pfc_roofline_row *row)
{
    return isfinite(row->b.intensity) && isfinite(row->b.rate);
}

static pfc_roofline_reason reason_of(const pfc_roofline_row *row)
{
    if (!row)
        return PFC_ROOFLINE_NO_TIME;
    if (row->b.run_id == 0)
        return PFC_ROOFLINE_NO_RESULT;
    if (isnan(row->b.operations) && isnan(row->b.bytes))
        return PFC_ROOFLINE_NO_WORK;
    return isnan(row->b.operations) ? PFC_ROOFLINE_NO_OPERATIONS : PFC_ROOFLINE_NO_BYTES;
}

static pfc_roofline_row *row_of(pfc_roofline *out, const pfc_plot_series *s)
{
    size_t low = 0, high = out->len;

    while (low < high) { /* by id, as the candidates */
        const size_t mid = low + (high - low) / 2;

        if (out->rows[mid].series->id < s->id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < out->len && out->rows[low].series == s ? &out->rows[low] : NULL;
}

/* One benchmark, whose series are chosen[begin..end): its placed rows, or why it has none. */
static size_t take_benchmark(reading *r, size_t begin, size_t end, pfc_roofline_row *placed)
{
    pfc_roofline *out = r->out;
    const pfc_plot_series *items = out->candidates.rows.items;
    const pfc_roofline_row *best = NULL;
    size_t n = 0;

    for (size_t i = begin; i < end; i++) {
        const pfc_roofline_row *row = row_of(out, &items[r->chosen[i]]);

        if (row && is_placed(row))
            placed[n++] = *row;
        else if (row && (!best || reason_of(row) > reason_of(best)))
            best = row;
    }
    out->matched++;
    if (n > 0)
        return n;
    if (out->missing_len == PFC_ROOFLINE_MAX_UNKNOWN) {
        out->left_out++;
        return 0;
    }
    out->missing[out->missing_len++] =
        (pfc_roofline_unknown){ .series = best ? best->series : &items[r->chosen[begin]],
                                .reason = reason_of(best) };
    return 0;
}

static void sort_out(reading *r)
{
    pfc_roofline *out = r->out;
    const pfc_plot_series *items = out->candidates.rows.items;
    pfc_roofline_row *placed = pfc_calloc(out->len, sizeof(*placed));
    size_t len = 0;

    out->missing = pfc_calloc(PFC_ROOFLINE_MAX_UNKNOWN, sizeof(*out->missing));
    for (size_t begin = 0, end; begin < r->chosen_len; begin = end) {
        end = begin + 1;
        while (end < r->chosen_len &&
               by_benchmark(&items[r->chosen[begin]], &items[r->chosen[end]]) == 0)
            end++;
        len += take_benchmark(r, begin, end, placed + len);
    }
    free(out->rows);
    out->rows = placed;
    out->len = len;
}

/* ---- ceilings ---- */

static pfc_code set_of(pfc_roofline *out, const pfc_sql_roofline_ceilings_row *row, size_t *at,
                       pfc_err *err)
{
    pfc_roofline_set *set;

    for (*at = 0; *at < out->sets_len; ++*at)
        if (out->sets[*at].run_id == row->run_id)
            return PFC_OK;
    out->sets = pfc_grow(out->sets, out->sets_len, &out->sets_cap, sizeof(*out->sets));
    set = &out->sets[out->sets_len++];
    *set = (pfc_roofline_set){ .machine_class = pfc_strdup(row->machine_class),
                               .run_id = row->run_id,
                               .started_at = row->started_at,
                               .run = pfc_run_new() };
    return pfc_run_ceilings_parse(row->ceilings_json, set->run, err);
}

/* The number of this ceiling in the list, to which it is added when it is not there. */
static size_t list_ceiling(pfc_roofline *out, const pfc_roofline_set *set, size_t index)
{
    const pfc_run_ceiling *c = &set->run->ceilings[index];

    for (size_t i = 0; i < out->ceilings_len; i++)
        if (out->ceilings[i].ceiling == c)
            return i;
    out->ceilings =
        pfc_grow(out->ceilings, out->ceilings_len, &out->ceilings_cap, sizeof(*out->ceilings));
    out->ceilings[out->ceilings_len] =
        (pfc_roofline_ceiling){ .ceiling = c,
                                .machine_class = set->machine_class,
                                .run_id = set->run_id,
                                .at = c->at > 0 ? c->at : set->started_at };
    return out->ceilings_len++;
}

static void limit_by(pfc_roofline *out, const pfc_roofline_set *set, const char *backend,
                     const char *dtype, pfc_roofline_point *p)
{
    const pfc_run *run = set->run;
    size_t compute, memory;
    double flat, slope;

    for (size_t i = 0; i < run->ceilings_len; i++)
        if (pfc_roofline_fits(&run->ceilings[i], backend, dtype))
            (void)list_ceiling(out, set, i);
    pfc_roofline_choose(run->ceilings, run->ceilings_len, backend, dtype, p->bytes, &compute,
                        &memory);
    if (compute != SIZE_MAX)
        p->compute = list_ceiling(out, set, compute);
    if (memory != SIZE_MAX)
        p->memory = list_ceiling(out, set, memory);
    if (compute == SIZE_MAX || memory == SIZE_MAX)
        return;
    flat = run->ceilings[compute].value;
    slope = run->ceilings[memory].value * p->intensity;
    p->by_memory = slope < flat;
    p->limit = fmin(slope, flat);
}

/* The first of the sets of the row's class that states a ceiling for its backend. `order`: sets of
 * this side, newest first within a class. */
static void limit_row(pfc_roofline *out, const size_t *order, size_t len, size_t at, int side)
{
    const pfc_plot_series *s = out->rows[at].series;
    pfc_roofline_point *p = side_of(&out->rows[at], side);
    char *dtype = pfc_strdup(
        pfc_plot_field(&out->candidates, (size_t)(s - out->candidates.rows.items), "dtype"));

    for (size_t i = 0; i < len && isfinite(p->intensity); i++) {
        const pfc_roofline_set *set = &out->sets[order[i]];
        bool fits = false;

        for (size_t k = 0; k < set->run->ceilings_len && !fits; k++)
            fits = pfc_roofline_fits(&set->run->ceilings[k], s->backend, dtype);
        if (!fits || strcmp(set->machine_class, s->machine_class) != 0)
            continue;
        limit_by(out, set, s->backend, dtype, p);
        break;
    }
    free(dtype);
}

static pfc_code read_ceilings(pfc_tx *tx, reading *r, int side, pfc_err *err)
{
    pfc_roofline *out = r->out;
    const char **classes = pfc_calloc(out->len, sizeof(*classes));
    int64_t *runs = pfc_calloc(out->len, sizeof(*runs));
    pfc_sql_roofline_ceilings_rows rows = { 0 };
    size_t *order, len = 0;
    pfc_code code;

    for (size_t i = 0; i < out->len; i++) {
        const pfc_roofline_point *p = side_of(&out->rows[i], side);
        size_t k = 0;

        if (!isfinite(p->intensity))
            continue;
        while (k < len && strcmp(classes[k], out->rows[i].series->machine_class) != 0)
            k++;
        classes[k] = out->rows[i].series->machine_class;
        runs[k] = k < len ? PFC_MAX(runs[k], p->run_id) : p->run_id;
        len = PFC_MAX(len, k + 1);
    }
    code = pfc_sql_roofline_ceilings(tx,
                                     &(pfc_sql_roofline_ceilings_args){ .project_id = r->project_id,
                                                                        .machine_classes = classes,
                                                                        .run_ids = runs,
                                                                        .limit = SETS_OF_A_CLASS,
                                                                        .len = len },
                                     &rows, err);
    order = pfc_calloc(rows.len, sizeof(*order));
    for (size_t i = 0; i < rows.len && !code; i++)
        code = set_of(out, &rows.items[i], &order[i], err);
    for (size_t i = 0; i < out->len && !code; i++)
        limit_row(out, order, rows.len, i, side);
    pfc_rows_clear(&rows);
    free(order);
    free(runs);
    free(classes);
    return code;
}

/* ---- reading ---- */

static const char *commit_at(const pfc_sql_plot_commits_rows *commits, int64_t position)
{
    for (size_t i = 0; i < commits->len; i++)
        if (commits->items[i].position == position)
            return commits->items[i].commit;
    return NULL;
}

static pfc_code read_commits(pfc_tx *tx, reading *r, pfc_err *err)
{
    pfc_roofline *out = r->out;
    int64_t *positions = pfc_calloc(SIDES * out->len, sizeof(*positions));
    size_t len = 0;
    pfc_code code;

    for (size_t i = 0; i < out->len; i++)
        for (int side = 0; side < SIDES; side++)
            positions[len++] = side_of(&out->rows[i], side)->position;
    code = pfc_sql_plot_commits(tx,
                                &(pfc_sql_plot_commits_args){ .project_id = r->project_id,
                                                              .branch = r->opts->branch,
                                                              .positions = positions,
                                                              .positions_len = len },
                                &out->commits, err);
    for (size_t i = 0; i < out->len && !code; i++)
        for (int side = 0; side < SIDES; side++)
            side_of(&out->rows[i], side)->commit =
                commit_at(&out->commits, side_of(&out->rows[i], side)->position);
    free(positions);
    return code;
}

static pfc_code read_ends(pfc_tx *tx, reading *r, pfc_err *err)
{
    const char *const ends[SIDES] = { r->opts->a, r->opts->b };
    static const char *const names[SIDES] = { "a", "b" };
    pfc_code code = PFC_OK;

    for (int side = 0; side < SIDES && !code; side++) {
        r->positions[side] = 0;
        if (ends[side])
            code = pfc_window_position(tx, r->project_id, r->opts->branch, ends[side], names[side],
                                       &r->positions[side], err);
    }
    return code;
}

static pfc_code read_roofline(pfc_tx *tx, void *into, pfc_err *err)
{
    reading *r = into;
    pfc_roofline *out = r->out;
    pfc_code code;

    reading_clear(r);
    code = pfc_plot_candidates_load(tx, r->project_id, r->opts->branch, &out->candidates, err);
    if (!code && out->candidates.rows.len == 0)
        code = pfc_tx_behind(tx, err);
    if (!code)
        code = read_ends(tx, r, err);
    if (!code) {
        pfc_plot_unknown(&out->candidates, r->select, NULL, &out->unknown);
        code = choose(r, err);
    }
    if (!code)
        code = pfc_plot_read_points(tx, r->project_id, r->opts->branch, &out->candidates,
                                    r->members, r->members_len, err);
    if (!code) {
        make_rows(r);
        code = read_work(tx, r, err);
    }
    if (!code) {
        sort_out(r);
        code = read_commits(tx, r, err);
    }
    for (int side = SIDES; side-- > 0 && !code;) /* the ceilings of b first */
        code = read_ceilings(tx, r, side, err);
    return code;
}

pfc_code pfc_roofline_read(pfc_db *db, int64_t project_id, const pfc_roofline_opts *opts,
                           pfc_roofline *out, pfc_err *err)
{
    pfc_select *select = NULL;
    pfc_roofline roofline = { 0 };
    reading r = { .project_id = project_id, .opts = opts, .out = &roofline };
    pfc_code code = pfc_select_parse(opts->select ? opts->select : "", &select, err);

    if (code)
        return code;
    r.select = select;
    code = pfc_db_read(db, read_roofline, &r, err);
    if (!code) {
        *out = roofline;
        roofline = (pfc_roofline){ 0 };
    }
    reading_clear(&r);
    pfc_select_free(select);
    return code;
}

void pfc_roofline_clear(pfc_roofline *roofline)
{
    for (size_t i = 0; i < roofline->sets_len; i++) {
        free(roofline->sets[i].machine_class);
        pfc_run_free(roofline->sets[i].run);
    }
    free(roofline->sets);
    free(roofline->ceilings);
    free(roofline->rows);
    free(roofline->missing);
    pfc_texts_clear(&roofline->unknown);
    pfc_rows_clear(&roofline->commits);
    pfc_plot_candidates_clear(&roofline->candidates);
    *roofline = (pfc_roofline){ 0 };
}
