/*
 * Documents of a store, and their series: see history.h.
 */
#include "cli/store/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/stats/stats.h"

static const char *text_of(const json_t *obj, const char *key)
{
    return json_string_value(json_object_get(obj, key));
}

/* ---- loading ---- */

static void add_fault(void *arg, const char *path, const char *reason)
{
    pfc_store_history *h = arg;

    json_array_append_new(h->faults, json_pack("{s:s, s:s}", "path", path, "reason", reason));
}

void pfc_store_history_add_run(pfc_store_history *h, pfc_run *run)
{
    h->runs = pfc_grow(h->runs, h->runs_len, &h->runs_cap, sizeof(*h->runs));
    h->runs[h->runs_len++] = run;
}

void pfc_store_history_add_session(pfc_store_history *h, json_t *session)
{
    json_array_insert_new(h->sessions, 0, session);
}

/* The names of an alert are shown, and compared. */
static pfc_code check_alert(const json_t *doc, pfc_err *err)
{
    static const char *const names[] = { "benchmark", "metric", "backend", "key", "direction" };
    char *text = NULL;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(names) && !code; i++) {
        code = pfc_json_name(doc, NULL, names[i], true, PFC_WIRE_MAX_NAME, &text, err);
        free(text);
        text = NULL;
    }
    if (!code && !(text_of(doc, "commit") && pfc_is_commit_id(text_of(doc, "commit"))))
        code = pfc_json_fault(NULL, "commit", err, "expected a full commit id");
    return code;
}

static pfc_code check_session(const json_t *doc, pfc_err *err)
{
    const char *id = text_of(doc, "id");

    if (!id || strlen(id) != 32 || !pfc_is_hex_id(id))
        return pfc_json_fault(NULL, "id", err, "expected 32 hexadecimal digits");
    return json_is_array(json_object_get(doc, "commits"))
               ? PFC_OK
               : pfc_json_fault(NULL, "commits", err, "expected an array");
}

/* ".../ID.json" names the document's own id: a copy under another name would count twice. */
static pfc_code check_name(const char *path, const char *id, pfc_err *err)
{
    const char *name = strrchr(path, '/') + 1;
    const size_t len = strlen(name) - strlen(".json");

    return id && strlen(id) == len && strncmp(name, id, len) == 0
               ? PFC_OK
               : pfc_err_set(err, PFC_EINVAL, "expected the document of this name, got \"%.64s\"",
                             id ? id : "");
}

static pfc_code take_json(pfc_store_history *h, const char *path, const char *text, size_t len,
                          pfc_err *err)
{
    static const struct {
        const char *folder, *id;
        pfc_code (*check)(const json_t *doc, pfc_err *err);
    } kinds[] = { { "sessions/", "id", check_session },
                  { "alerts/", "key", check_alert },
                  { "triage/", "id", pfc_store_triage_check } };
    json_t *const lists[] = { h->sessions, h->alerts, h->triage };
    json_t *doc = NULL;
    size_t kind = 0;
    pfc_code code = pfc_json_parse(text, len, &doc, err);

    while (kind + 1 < PFC_ARRAY_LEN(kinds) &&
           strncmp(path, kinds[kind].folder, strlen(kinds[kind].folder)) != 0)
        kind++;
    if (!code)
        code = kinds[kind].check(doc, err);
    if (!code)
        code = check_name(path, text_of(doc, kinds[kind].id), err);
    if (code)
        json_decref(doc);
    else
        json_array_append_new(lists[kind], doc);
    return code;
}

static pfc_code take_run(pfc_store_history *h, const char *path, const char *text, size_t len,
                         pfc_err *err)
{
    pfc_run *run = NULL;
    pfc_code code = pfc_run_from_json(text, len, &run, err);

    if (!code && !run->commit)
        code = pfc_err_set(err, PFC_EINVAL, "expected a member \"commit\"");
    if (!code)
        code = check_name(path, run->id, err);
    if (code)
        pfc_run_free(run);
    else
        pfc_store_history_add_run(h, run);
    return code;
}

static pfc_code take_file(void *arg, const char *path, const char *text, size_t len, pfc_err *err)
{
    pfc_err why = { 0 };
    pfc_code code = strncmp(path, "runs/", 5) == 0 ? take_run(arg, path, text, len, &why)
                                                   : take_json(arg, path, text, len, &why);

    (void)err;
    if (code)
        add_fault(arg, path, why.msg);
    return PFC_OK;
}

static int by_start(const void *a, const void *b)
{
    const pfc_run *x = *(pfc_run *const *)a, *y = *(pfc_run *const *)b;

    if (x->started_at != y->started_at)
        return x->started_at < y->started_at ? -1 : 1;
    return strcmp(x->id, y->id);
}

typedef int compare_json(const json_t *a, const json_t *b);

static int newest_first(const json_t *a, const json_t *b)
{
    const char *x = text_of(a, "started_at"), *y = text_of(b, "started_at");
    const int c = strcmp(y ? y : "", x ? x : "");

    return c ? c : strcmp(text_of(a, "id"), text_of(b, "id"));
}

/* Of decisions: the oldest first. */
static int by_time(const json_t *a, const json_t *b)
{
    const int c = strcmp(text_of(a, "at"), text_of(b, "at"));

    return c ? c : strcmp(text_of(a, "id"), text_of(b, "id"));
}

static int by_number(const json_t *a, const json_t *b)
{
    const json_int_t x = json_integer_value(json_object_get(a, "id"));
    const json_int_t y = json_integer_value(json_object_get(b, "id"));

    return x != y ? (x > y) - (x < y) : strcmp(text_of(a, "key"), text_of(b, "key"));
}

/* Insertion sort: they are few, and come almost sorted. */
static json_t *sorted(json_t *list, compare_json *compare)
{
    json_t *out = json_array();

    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t at = json_array_size(out);

        while (at > 0 && compare(json_array_get(out, at - 1), json_array_get(list, i)) > 0)
            at--;
        json_array_insert(out, at, json_array_get(list, i));
    }
    json_decref(list);
    return out;
}

pfc_code pfc_store_history_load(pfc_store *store, pfc_store_history *h, pfc_err *err)
{
    pfc_code code;

    *h = (pfc_store_history){ .sessions = json_array(),
                              .alerts = json_array(),
                              .triage = json_array(),
                              .faults = json_array() };
    code = pfc_store_each(store, take_file, add_fault, h, err);
    if (h->runs_len)
        qsort(h->runs, h->runs_len, sizeof(pfc_run *), by_start);
    h->sessions = sorted(h->sessions, newest_first);
    h->alerts = sorted(h->alerts, by_number);
    h->triage = sorted(h->triage, by_time);
    pfc_store_triage_apply(h);
    return code;
}

static void clear_series(pfc_store_history *h)
{
    for (size_t i = 0; i < h->series_len; i++) {
        free(h->series[i].points);
        pfc_detection_clear(&h->series[i].found);
    }
    free(h->series);
    free(h->line);
    free(h->by_id);
    h->series = NULL;
    h->line = NULL;
    h->by_id = NULL;
    h->series_len = h->series_cap = h->line_len = h->elsewhere = 0;
}

void pfc_store_history_clear(pfc_store_history *h)
{
    clear_series(h);
    for (size_t i = 0; i < h->runs_len; i++)
        pfc_run_free(h->runs[i]);
    free(h->runs);
    json_decref(h->sessions);
    json_decref(h->alerts);
    json_decref(h->triage);
    json_decref(h->faults);
    *h = (pfc_store_history){ 0 };
}

/* ---- the line ---- */

static int by_id(const void *a, const void *b, void *line)
{
    const pfc_commit_id *ids = line;

    return strcmp(ids[*(const size_t *)a].hex, ids[*(const size_t *)b].hex);
}

static void index_line(pfc_store_history *h)
{
    h->by_id = pfc_calloc(h->line_len + 1, sizeof(*h->by_id));
    for (size_t i = 0; i < h->line_len; i++)
        h->by_id[i] = i;
    qsort_r(h->by_id, h->line_len, sizeof(*h->by_id), by_id, h->line);
}

size_t pfc_store_place(const pfc_store_history *h, const char *commit)
{
    size_t low = 0, high = h->line_len;

    while (commit && low < high) {
        const size_t middle = low + (high - low) / 2;
        const int c = strcmp(h->line[h->by_id[middle]].hex, commit);

        if (c == 0)
            return h->by_id[middle];
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return PFC_STORE_NOWHERE;
}

/* ---- series ---- */

/* A measurement of a commit, before the values of commits are made. */
typedef struct entry {
    const pfc_measurement *m;
    const pfc_run *run;
    size_t position;
} entry;

typedef struct entries {
    entry *items;
    size_t len, cap;
} entries;

static int by_series(const entry *x, const entry *y)
{
    int c = strcmp(x->m->benchmark, y->m->benchmark);

    if (!c)
        c = strcmp(x->m->metric, y->m->metric);
    if (!c)
        c = strcmp(x->m->backend, y->m->backend);
    return c ? c : strcmp(x->run->machine.machine_class, y->run->machine.machine_class);
}

static int compare_entries(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    const int c = by_series(x, y);

    if (c)
        return c;
    return (x->position > y->position) - (x->position < y->position);
}

static void collect(pfc_store_history *h, entries *e)
{
    for (size_t i = 0; i < h->runs_len; i++) {
        const pfc_run *run = h->runs[i];
        const size_t position = pfc_store_place(h, run->commit);

        h->elsewhere += position == PFC_STORE_NOWHERE;
        for (size_t k = 0; k < run->measurements_len && position != PFC_STORE_NOWHERE; k++) {
            const pfc_measurement *m = &run->measurements[k];

            if (m->status != PFC_STATUS_OK || m->samples_len == 0 || run->infra ||
                pfc_streq(m->benchmark, PFC_CANARY_BENCHMARK))
                continue;
            e->items = pfc_grow(e->items, e->len, &e->cap, sizeof(*e->items));
            e->items[e->len++] = (entry){ m, run, position };
        }
    }
    if (e->len)
        qsort(e->items, e->len, sizeof(*e->items), compare_entries);
}

/* ---- values of sessions, on one scale ---- */

typedef struct scale {
    const pfc_store_history *h;
    const pfc_store_series *s;
    double *value; /* of each position; NAN: none */
} scale;

static const json_t *series_in(const json_t *session, const pfc_store_series *s)
{
    const json_t *list = json_object_get(session, "series");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        if (pfc_streq(text_of(one, "benchmark"), s->benchmark) &&
            pfc_streq(text_of(one, "metric"), s->metric) &&
            pfc_streq(text_of(one, "backend"), s->backend))
            return one;
    }
    return NULL;
}

static double number_of(const json_t *obj, const char *key)
{
    const json_t *value = json_object_get(obj, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* Level of the session's anchor on the scale of the sessions before: by the commits that both have;
 * without any, as it was measured. */
static double anchor_level(const scale *c, const json_t *session, const json_t *builds)
{
    const size_t n = json_array_size(builds);
    double *levels = pfc_calloc(n + 1, sizeof(*levels));
    double own = (double)NAN;
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        const json_t *b = json_array_get(builds, i);
        const size_t at = pfc_store_place(c->h, text_of(b, "commit"));
        const double ratio = number_of(b, "ratio");

        if (pfc_streq(text_of(b, "commit"), text_of(session, "anchor")))
            own = number_of(b, "median");
        if (at != PFC_STORE_NOWHERE && ratio > 0 && isfinite(c->value[at]))
            levels[len++] = c->value[at] / ratio;
    }
    if (len)
        own = pfc_stats_median(levels, len);
    free(levels);
    return own;
}

static void add_session(const scale *c, const json_t *session)
{
    const json_t *series = series_in(session, c->s);
    const json_t *builds = json_object_get(series, "builds");
    const double level = anchor_level(c, session, builds);

    for (size_t i = 0; i < json_array_size(builds) && isfinite(level); i++) {
        const json_t *b = json_array_get(builds, i);
        const size_t at = pfc_store_place(c->h, text_of(b, "commit"));
        const double ratio = number_of(b, "ratio");

        if (at != PFC_STORE_NOWHERE && ratio > 0 && !isfinite(c->value[at]))
            c->value[at] = level * ratio;
    }
}

static void add_sessions(const scale *c)
{
    for (size_t i = json_array_size(c->h->sessions); i-- > 0;) {
        const json_t *session = json_array_get(c->h->sessions, i);
        const char *class_ = text_of(session, "machine_class");

        if (!class_ || pfc_streq(class_, c->s->machine_class))
            add_session(c, session);
    }
}

/* ---- points ---- */

static void add_point(pfc_store_series *s, size_t position, double value, size_t runs)
{
    s->points = pfc_grow(s->points, s->len, &s->cap, sizeof(*s->points));
    s->points[s->len++] = (pfc_store_point){ position, value, runs };
}

/* Entries of one series, by position. A commit that sessions measured has their value. */
static void make_points(const pfc_store_history *h, pfc_store_series *s, const entry *e, size_t len)
{
    double *value = pfc_calloc(h->line_len + 1, sizeof(*value));
    double *medians = pfc_calloc(len, sizeof(*medians));

    for (size_t i = 0; i < h->line_len; i++)
        value[i] = (double)NAN;
    if (!s->exact)
        add_sessions(&(scale){ h, s, value });
    for (size_t from = 0, to; from < len; from = to) {
        const size_t position = e[from].position;

        for (to = from; to < len && e[to].position == position; to++)
            medians[to - from] = pfc_measurement_median(e[to].m);
        add_point(s, position,
                  isfinite(value[position]) ? value[position]
                                            : pfc_stats_median(medians, to - from),
                  to - from);
    }
    free(medians);
    free(value);
}

static pfc_code detect(pfc_store_series *s, pfc_err *err)
{
    const pfc_detect_opts opts = { .higher_is_better = s->higher_is_better, .exact = s->exact };
    pfc_point *points = pfc_calloc(s->len + 1, sizeof(*points));
    pfc_code code;

    for (size_t i = 0; i < s->len; i++)
        points[i] = (pfc_point){ .t = (double)NAN, .v = s->points[i].value };
    code = pfc_stats_detect(points, s->len, &opts, &s->found, err);
    free(points);
    return code ? pfc_err_wrap(err, "%.100s %.100s", s->benchmark, s->metric) : PFC_OK;
}

pfc_code pfc_store_history_judge(pfc_store_history *h, pfc_commit_id *line, size_t len,
                                 pfc_err *err)
{
    entries e = { 0 };
    pfc_code code = PFC_OK;

    clear_series(h);
    h->line = line;
    h->line_len = len;
    index_line(h);
    collect(h, &e);
    for (size_t from = 0, to; from < e.len && !code; from = to) {
        const entry *first = &e.items[from], *last;
        pfc_store_series *s;

        for (to = from; to < e.len && by_series(first, &e.items[to]) == 0; to++)
            continue;
        last = &e.items[to - 1];
        h->series = pfc_grow(h->series, h->series_len, &h->series_cap, sizeof(*h->series));
        s = &h->series[h->series_len++];
        /* Direction and unit are those of the newest commit. */
        *s = (pfc_store_series){ .benchmark = last->m->benchmark,
                                 .metric = last->m->metric,
                                 .backend = last->m->backend,
                                 .machine_class = last->run->machine.machine_class,
                                 .unit = last->m->unit,
                                 .higher_is_better = last->m->higher_is_better,
                                 .exact = last->m->exact };
        make_points(h, s, first, to - from);
        code = detect(s, err);
    }
    free(e.items);
    return code;
}
