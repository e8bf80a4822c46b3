/*
 * Finds machines that changed their speed and have no canary: reads the measurements around a place
 * where many series became slower, judges them with core/suspects/machine_shift.h, and stores the
 * event.
 */
#include "core/suspects/machine_shift.h"

#include <ctype.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "server/repo/sql/shifts.h"
#include "server/services/alerts/machine_shift.h"
#include "server/services/bisect/bisect.h"
#include "server/services/service.h"

#define CONTEXT      20     /* measured commits on either side of the place */
#define POINTS_MOST  200000 /* further points are left out, whole series at a time */
#define MACHINES     64
#define COMMITS_MOST 200 /* of a range, for the query of the paths they touched */
#define FAMILY_LEAST 3   /* letters of a name: shorter ones match paths by chance */
#define CAUSE_MOST   400

/* A row of shift_points that is one of the points, and its run. */
typedef struct measured {
    const pfc_sql_shift_points_row *row;
    const pfc_sql_shift_runs_row *run;
    uint32_t series; /* index into those of the place */
    uint32_t code;
} measured;

/* The series and machines that the points refer to by number. */
typedef struct place {
    pfc_shift_series *series;
    int64_t *ids; /* of series */
    char **families;
    size_t series_len;
    pfc_shift_point *points;
    size_t points_len;
    char *machine_class[MACHINES], *machine_name[MACHINES]; /* name NULL: all of the class */
    size_t machines;
    measured *measured; /* one a point */
    size_t measured_len;
    pfc_sql_shift_runs_rows runs;
    pfc_sql_shift_points_rows rows;
} place;

static void place_clear(place *p)
{
    for (size_t i = 0; i < p->series_len; i++)
        free(p->families[i]);
    for (size_t i = 0; i < p->machines; i++) {
        free(p->machine_class[i]);
        free(p->machine_name[i]);
    }
    free(p->families);
    free(p->ids);
    free(p->series);
    free(p->points);
    free(p->measured);
    pfc_rows_clear(&p->rows);
    pfc_rows_clear(&p->runs);
    memset(p, 0, sizeof(*p));
}

static int by_id(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static pfc_code read_runs(pfc_tx *tx, const pfc_machine_shift_query *ask, place *p, pfc_err *err)
{
    pfc_sql_shift_window_rows window = { 0 };
    pfc_code code;

    code = pfc_sql_shift_window(tx,
                                &(pfc_sql_shift_window_args){ .project_id = ask->project_id,
                                                              .branch = ask->branch,
                                                              .position_from = ask->low,
                                                              .position_to = ask->high,
                                                              .commits = CONTEXT },
                                &window, err);
    if (code)
        return code;
    code = pfc_sql_shift_runs(
        tx,
        &(pfc_sql_shift_runs_args){ .project_id = ask->project_id,
                                    .branch = ask->branch,
                                    .position_from = window.items[0].position_from,
                                    .position_to = window.items[0].position_to },
        &p->runs, err);
    pfc_rows_clear(&window);
    return code;
}

static pfc_code read_points(pfc_tx *tx, const pfc_machine_shift_query *ask, place *p, pfc_err *err)
{
    const size_t n = p->runs.len;
    int64_t *runs = pfc_calloc(n + 1, sizeof(*runs)),
            *commits = pfc_calloc(n + 1, sizeof(*commits));
    pfc_code code;

    for (size_t i = 0; i < n; i++) {
        runs[i] = p->runs.items[i].id;
        commits[i] = p->runs.items[i].commit_id;
    }
    code = pfc_sql_shift_points(tx,
                                &(pfc_sql_shift_points_args){ .project_id = ask->project_id,
                                                              .run_ids = runs,
                                                              .run_ids_len = n,
                                                              .commit_ids = commits,
                                                              .commit_ids_len = n,
                                                              .limit = POINTS_MOST },
                                &p->rows, err);
    free(commits);
    free(runs);
    return code;
}

static int by_object(const void *a, const void *b)
{
    const measured *x = *(measured *const *)a, *y = *(measured *const *)b;
    const pfc_bytes *m = &x->row->object, *n = &y->row->object;
    const int order = memcmp(m->data, n->data, PFC_MIN(m->len, n->len));

    return order ? order : (m->len > n->len) - (m->len < n->len);
}

/* Gives points of the same object code the same number; 0: it is not known. */
static void number_code(place *p)
{
    measured **known = pfc_calloc(p->measured_len + 1, sizeof(measured *));
    size_t len = 0;

    for (size_t i = 0; i < p->measured_len; i++) {
        if (p->measured[i].row->object.data)
            known[len++] = &p->measured[i];
    }
    qsort(known, len, sizeof(*known), by_object);
    for (size_t i = 0; i < len; i++) {
        known[i]->code = i == 0 ? 1 : known[i - 1]->code;
        if (i > 0 && by_object(&known[i - 1], &known[i]) != 0)
            known[i]->code++;
    }
    free(known);
}

/* The rows whose series are among those of the place; both are in the order of ids. */
static void find_measured(place *p)
{
    size_t series = 0;

    p->measured = pfc_calloc(p->rows.len + 1, sizeof(*p->measured));
    for (size_t i = 0; i < p->rows.len; i++) {
        const pfc_sql_shift_points_row *row = &p->rows.items[i];

        while (series < p->series_len && p->ids[series] < row->series_id)
            series++;
        if (series < p->series_len && p->ids[series] == row->series_id)
            p->measured[p->measured_len++] = (measured){ .row = row,
                                                         .run = &p->runs.items[row->nth - 1],
                                                         .series = (uint32_t)series };
    }
    number_code(p);
}

/* The series of the points, which come in the order of their ids. */
static pfc_code read_series(pfc_tx *tx, const pfc_machine_shift_query *ask, place *p, pfc_err *err)
{
    const size_t n = p->rows.len;
    int64_t *ids = pfc_calloc(n + 1, sizeof(*ids));
    size_t len = 0;
    pfc_sql_shift_series_rows rows = { 0 };
    pfc_code code;

    for (size_t i = 0; i < n; i++) {
        const int64_t id = p->rows.items[i].series_id;

        if (len == 0 || ids[len - 1] != id)
            ids[len++] = id;
    }
    code = pfc_sql_shift_series(tx,
                                &(pfc_sql_shift_series_args){ .project_id = ask->project_id,
                                                              .branch = ask->branch,
                                                              .series_ids = ids,
                                                              .series_ids_len = len },
                                &rows, err);
    free(ids);
    if (code)
        return code;
    p->series_len = rows.len;
    p->series = pfc_calloc(p->series_len, sizeof(*p->series));
    p->ids = pfc_calloc(p->series_len, sizeof(*p->ids));
    p->families = pfc_calloc(p->series_len, sizeof(char *));
    for (size_t i = 0; i < p->series_len; i++) {
        p->ids[i] = rows.items[i].id;
        p->families[i] = pfc_strdup(rows.items[i].family);
        p->series[i] = (pfc_shift_series){
            .work = (uint32_t)rows.items[i].work,
            .kernel = (uint32_t)rows.items[i].kernel,
            .kind = (uint32_t)rows.items[i].kind,
            .higher_is_better = rows.items[i].higher_is_better,
            .exact = rows.items[i].exact,
        };
    }
    for (size_t i = 0; i < ask->len; i++) {
        const int64_t *at = bsearch(&ask->series[i], p->ids, p->series_len, sizeof(*p->ids), by_id);

        if (at)
            p->series[at - p->ids].suspect = true;
    }
    pfc_rows_clear(&rows);
    return PFC_OK;
}

/* Numbers a machine, or its whole class; MACHINES: there are too many. */
static size_t machine_of(place *p, const char *machine_class, const char *name, bool whole_class)
{
    size_t i = 0;

    while (i < p->machines && !(pfc_streq(p->machine_class[i], machine_class) &&
                                (whole_class || pfc_streq(p->machine_name[i], name))))
        i++;
    if (i == p->machines && i < MACHINES) {
        p->machine_class[i] = pfc_strdup(machine_class);
        p->machine_name[i] = whole_class ? NULL : pfc_strdup(name);
        p->machines++;
    }
    return i;
}

static void number_points(place *p, bool whole_class)
{
    const size_t n = p->measured_len;

    for (size_t i = 0; i < p->machines; i++) {
        free(p->machine_class[i]);
        free(p->machine_name[i]);
    }
    p->machines = 0;
    p->points_len = n;
    free(p->points);
    p->points = pfc_calloc(n + 1, sizeof(*p->points));
    for (size_t i = 0; i < n; i++) {
        const measured *m = &p->measured[i];
        const size_t machine = machine_of(p, m->run->class, m->run->name, whole_class);

        p->points[i] = (pfc_shift_point){
            .series = m->series,
            .machine = (uint32_t)PFC_MIN(machine, (size_t)MACHINES - 1),
            .state = (uint32_t)m->run->state,
            .code = m->code,
            .position = m->run->position,
            .time = m->run->time,
            .value = m->row->median,
        };
    }
}

/* ---- what the commits touched ---- */

static bool carries(const char *path, const char *family)
{
    const size_t len = strcspn(family, "_-");

    if (len < FAMILY_LEAST)
        return false;
    for (const char *at = path; *at; at++) {
        size_t i = 0;

        while (i < len && tolower((unsigned char)at[i]) == tolower((unsigned char)family[i]))
            i++;
        if (i == len)
            return true;
    }
    return false;
}

/* Marks the series that the path may affect, judged by its name; false: it may affect any. */
static bool path_marks(const place *p, const char *path, bool *touched)
{
    const pfc_path_kind kind = pfc_path_kind_of(path);
    bool any = false;

    if (kind == PFC_PATH_DOC || kind == PFC_PATH_TEST)
        return true;
    if (kind != PFC_PATH_SOURCE)
        return false;
    for (size_t i = 0; i < p->series_len; i++) {
        if (carries(path, p->families[i]))
            touched[i] = any = true;
    }
    return any;
}

/* False: the paths that a commit touched may affect any series, or are unknown. */
static bool commit_marks(const place *p, pfc_array_text paths, bool *touched)
{
    pfc_texts list = { 0 };
    bool narrow;

    pfc_array_texts(paths, &list);
    narrow = list.len > 0;
    for (size_t i = 0; narrow && i < list.len; i++)
        narrow = path_marks(p, list.items[i], touched);
    pfc_texts_clear(&list);
    return narrow;
}

/* Decides whether the paths that the range's commits touched can affect at most half of the
 * suspects. */
static pfc_code find_scope(pfc_tx *tx, const pfc_machine_shift_query *ask, const place *p,
                           pfc_shift_scope *scope, pfc_err *err)
{
    bool *touched = pfc_calloc(p->series_len + 1, sizeof(*touched));
    size_t hit = 0, suspects = 0;
    pfc_sql_shift_paths_rows rows = { 0 };
    bool narrow;
    pfc_code code;

    code = pfc_sql_shift_paths(tx,
                               &(pfc_sql_shift_paths_args){ .project_id = ask->project_id,
                                                            .branch = ask->branch,
                                                            .position_from = ask->low,
                                                            .position_to = ask->high },
                               &rows, err);
    narrow = !code && rows.len > 0 && rows.len <= COMMITS_MOST;
    for (size_t i = 0; narrow && i < rows.len; i++)
        narrow = commit_marks(p, rows.items[i].paths, touched);
    for (size_t i = 0; i < p->series_len; i++) {
        suspects += p->series[i].suspect;
        hit += p->series[i].suspect && touched[i];
    }
    *scope = narrow && 2 * hit <= suspects ? PFC_SCOPE_NARROW : PFC_SCOPE_UNKNOWN;
    pfc_rows_clear(&rows);
    free(touched);
    return code;
}

/* ---- what of the machine changed ---- */

/* "kernel: 6.1 -> 6.5, ..."; *outside: a part of it cannot come from a commit, unlike flags and
 * perfci itself. Caller frees *cause. */
static pfc_code find_cause(pfc_tx *tx, int64_t before, int64_t now, char **cause, bool *outside,
                           pfc_err *err)
{
    pfc_labels a = { 0 }, b = { 0 };
    char **names = NULL;
    size_t len = 0;
    pfc_buf out;
    pfc_code code = PFC_OK;

    pfc_buf_init(&out, CAUSE_MOST);
    *outside = false;
    if (before != now)
        code = pfc_machine_fingerprint(tx, before, &a, err);
    if (!code && before != now)
        code = pfc_machine_fingerprint(tx, now, &b, err);
    if (!code)
        pfc_fingerprint_diff(&a, &b, PFC_FINGERPRINT_MACHINE, &names, &len);
    for (size_t i = 0; i < len; i++) {
        const char *x = pfc_labels_get(&a, names[i]);
        const char *y = pfc_labels_get(&b, names[i]);
        const pfc_suspect_kind kind = pfc_suspect_kind_of_field(names[i]);

        pfc_buf_printf(&out, "%s%.60s: %.60s -> %.60s", i ? ", " : "", names[i], x ? x : "unknown",
                       y ? y : "unknown");
        *outside |= kind == PFC_SUSPECT_IS_MACHINE ||
                    (kind == PFC_SUSPECT_IS_TOOLCHAIN && !strstr(names[i], "flags"));
    }
    *cause = pfc_strdup(pfc_buf_text(&out));
    pfc_buf_clear(&out);
    pfc_texts_free(names, len);
    pfc_labels_clear(&a);
    pfc_labels_clear(&b);
    return code;
}

/* ---- the event ---- */

static size_t reasons_of(unsigned why, const char **out)
{
    static const struct {
        unsigned bit;
        const char *text;
    } words[] = {
        { PFC_SHIFT_ELSEWHERE,
          "the same work at the same commits did not change on other machines" },
        { PFC_SHIFT_AGAIN, "older commits measured again afterwards are at the new level, too" },
        { PFC_SHIFT_CODE, "object code, or counts without noise, are the same before and after" },
        { PFC_SHIFT_STATE, "the machine itself changed there" },
        { PFC_SHIFT_SCOPE, "what the commits touched cannot act on most of what moved" },
    };
    size_t len = 0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++) {
        if (why & words[i].bit)
            out[len++] = words[i].text;
    }
    return len;
}

/* Stores the event. out->news: it is new or has changed, so subscribers are notified. */
static pfc_code put_event(pfc_tx *tx, const pfc_machine_shift_query *ask, const place *p,
                          const pfc_shift *shift, const char *cause, pfc_shift_event *out,
                          pfc_err *err)
{
    const pfc_sql_shift_runs_row *first = p->measured[shift->first].run;
    const pfc_sql_shift_runs_row *last = p->measured[shift->last].run;
    const bool whole_class = !p->machine_name[shift->machine];
    const char *reasons[8];
    const size_t reasons_len = reasons_of(shift->why, reasons);
    pfc_sql_shift_find_rows found = { 0 };
    pfc_sql_shift_put_rows made = { 0 };
    int64_t id = 0;
    bool dismissed = false;
    pfc_code code = pfc_sql_shift_find(tx,
                                       &(pfc_sql_shift_find_args){ .project_id = ask->project_id,
                                                                   .branch = ask->branch,
                                                                   .machine_id = first->machine_id,
                                                                   .whole_class = whole_class,
                                                                   .position_from = ask->low,
                                                                   .position_to = ask->high },
                                       &found, err);

    if (!code && found.len) {
        id = found.items[0].id;
        dismissed = found.items[0].dismissed;
    }
    pfc_rows_clear(&found);
    if (code || dismissed)
        return code; /* a person has said that it is none */
    code = pfc_sql_shift_put(tx,
                             &(pfc_sql_shift_put_args){
                                 .project_id = ask->project_id,
                                 .id = id,
                                 .branch = ask->branch,
                                 .machine_id = first->machine_id,
                                 .machine_before_id = last->machine_id,
                                 .whole_class = whole_class,
                                 .first_run_id = first->id,
                                 .last_run_id = last->id,
                                 .commit_id = ask->commit_id,
                                 .commit_low_id = ask->commit_low_id,
                                 .commit_high_id = ask->commit_high_id,
                                 .loss = shift->loss,
                                 .loss_low = shift->least,
                                 .loss_high = shift->most,
                                 .series = (int64_t)shift->belongs_len,
                                 .moved = (int64_t)shift->moved,
                                 .judged = (int64_t)shift->judged,
                                 .reasons = reasons,
                                 .reasons_len = reasons_len,
                                 .cause = cause,
                             },
                             &made, err);
    if (!code && made.len) {
        out->id = made.items[0].id;
        out->news = made.items[0].news;
        out->sentence = pfc_format(
            "%s %s moved here (event %lld): %s", whole_class ? "all machines of class" : "machine",
            whole_class ? p->machine_class[shift->machine] : p->machine_name[shift->machine],
            (long long)out->id, reasons[0]);
    }
    pfc_rows_clear(&made);
    return code;
}

static pfc_code judge(pfc_tx *tx, const pfc_machine_shift_query *ask, place *p, bool whole_class,
                      pfc_shift_scope scope, pfc_shift *shift, char **cause, pfc_err *err)
{
    bool outside = false;
    pfc_shift_case c;
    pfc_code code;

    number_points(p, whole_class);
    c = (pfc_shift_case){ .series = p->series,
                          .series_len = p->series_len,
                          .points = p->points,
                          .points_len = p->points_len,
                          .machines = p->machines,
                          .low = ask->low,
                          .high = ask->high,
                          .scope = scope };
    pfc_shift_judge(&c, shift);
    if (shift->answer != PFC_SHIFT_MACHINE)
        return PFC_OK;
    code = find_cause(tx, p->measured[shift->last].run->machine_id,
                      p->measured[shift->first].run->machine_id, cause, &outside, err);
    /* A new version of perfci or other flags are no evidence that the machine changed. */
    if (!code && !outside)
        shift->why &= ~(unsigned)PFC_SHIFT_STATE;
    if (!code && !shift->why)
        shift->answer = PFC_SHIFT_UNKNOWN;
    return code;
}

pfc_code pfc_machine_shift_find(pfc_tx *tx, const pfc_machine_shift_query *ask,
                                pfc_shift_event *out, pfc_err *err)
{
    pfc_shift_scope scope = PFC_SCOPE_UNKNOWN;
    pfc_shift shift = { 0 };
    char *cause = NULL;
    place p = { 0 };
    pfc_code code = read_runs(tx, ask, &p, err);

    memset(out, 0, sizeof(*out));
    out->belongs = pfc_calloc(ask->len + 1, sizeof(*out->belongs));
    if (!code)
        code = read_points(tx, ask, &p, err);
    if (!code)
        code = read_series(tx, ask, &p, err);
    if (!code)
        find_measured(&p);
    if (!code)
        code = find_scope(tx, ask, &p, &scope, err);
    if (!code)
        code = judge(tx, ask, &p, false, scope, &shift, &cause, err);
    /* A change of the whole class, such as a new driver, cannot be found on a single machine. */
    if (!code && shift.answer != PFC_SHIFT_MACHINE) {
        pfc_shift_clear(&shift);
        free(cause);
        cause = NULL;
        code = judge(tx, ask, &p, true, scope, &shift, &cause, err);
    }
    out->answer = shift.answer;
    if (!code && shift.answer == PFC_SHIFT_MACHINE)
        code = put_event(tx, ask, &p, &shift, cause, out, err);
    for (size_t i = 0; !code && out->id && i < ask->len; i++) {
        const int64_t *at = bsearch(&ask->series[i], p.ids, p.series_len, sizeof(*p.ids), by_id);

        out->belongs[i] = at && shift.belongs[at - p.ids];
    }
    free(cause);
    pfc_shift_clear(&shift);
    place_clear(&p);
    return code;
}

void pfc_shift_event_clear(pfc_shift_event *event)
{
    free(event->belongs);
    free(event->sentence);
    memset(event, 0, sizeof(*event));
}
