/* Reads a trace into a view: see view.h. */
#include <stdlib.h>
#include <string.h>

#include "core/trace/check/map.h"
#include "core/trace/reader_priv.h"
#include "core/trace/slices.h"
#include "core/trace/timeline.h"
#include "core/trace/view/view.h"

/* Names of slices: of the header first, then of types of records, then of states. */
#define NAME_OF_TYPE  (PFC_TRACE_MAX_NAMES + 1u)
#define NAME_OF_STATE (NAME_OF_TYPE + 65536u)

/* Lines of a unit: of slices, and one of each other kind. */
#define LINES_EACH (PFC_TRACE_VIEW_DEPTH + 3)

typedef struct state {
    int64_t since_ns;
    uint16_t number; /* PFC_TRACE_STATES_LEN: none yet */
} state;

typedef struct reading {
    pfc_trace_view *view;
    pfc_trace_timeline line;
    pfc_trace_slices slices;
    uint32_t *line_at; /* by unit and line: position + 1; owned */
    state *states;     /* by unit; owned */
    pfc_trace_map series;
    int64_t last_ns;
    bool some; /* a record was read */
} reading;

/* ---- lines ---- */

static pfc_trace_view_line *line_of(reading *r, size_t unit, pfc_trace_view_kind kind,
                                    unsigned number)
{
    pfc_trace_view *v = r->view;
    const size_t place = kind == PFC_TRACE_VIEW_SLICES ? number : PFC_TRACE_VIEW_DEPTH + kind - 1;
    uint32_t *at = &r->line_at[unit * LINES_EACH + place];

    if (*at == 0) {
        v->lines = pfc_grow(v->lines, v->lines_len, &v->lines_cap, sizeof(*v->lines));
        v->lines[v->lines_len++] =
            (pfc_trace_view_line){ .unit = unit, .kind = kind, .number = number };
        *at = (uint32_t)v->lines_len;
    }
    return &v->lines[*at - 1];
}

static void add(pfc_trace_view_line *line, const pfc_trace_view_slice *slice)
{
    pfc_trace_view_slice *s;

    line->slices = pfc_grow(line->slices, line->len, &line->cap, sizeof(*line->slices));
    s = &line->slices[line->len++];
    *s = *slice;
    s->end_ns = PFC_MAX(s->end_ns, s->begin_ns);
}

static uint32_t name_of(uint16_t type, uint64_t a)
{
    const pfc_trace_row *row = pfc_trace_row_of(type);

    return row->a_kind == PFC_TRACE_NAME && a > 0 ? (uint32_t)(a - 1) : NAME_OF_TYPE + type;
}

static void take_slice(void *arg, const pfc_trace_ended *e)
{
    reading *r = arg;
    const pfc_trace_open *open = e->slice;
    const size_t number = PFC_MAX(e->lane, e->depth);

    if (number >= PFC_TRACE_VIEW_DEPTH) {
        r->view->units[open->unit].left_out++;
        return;
    }
    add(line_of(r, open->unit, PFC_TRACE_VIEW_SLICES, (unsigned)number),
        &(pfc_trace_view_slice){ .begin_ns = open->ns,
                                 .end_ns = e->end_ns,
                                 .corr = open->corr,
                                 .name = name_of(open->type, open->a),
                                 .unfinished = !e->end });
}

static void take_wait(void *arg, const pfc_trace_open *wait, int64_t end_ns)
{
    reading *r = arg;

    add(line_of(r, wait->unit, PFC_TRACE_VIEW_WAITS, 0),
        &(pfc_trace_view_slice){ .begin_ns = wait->ns,
                                 .end_ns = end_ns,
                                 .corr = wait->corr,
                                 .name = name_of(wait->type, wait->a) });
}

static void add_point(reading *r, size_t unit, const pfc_trace_record *record, int64_t ns)
{
    add(line_of(r, unit, PFC_TRACE_VIEW_POINTS, 0),
        &(pfc_trace_view_slice){ .begin_ns = ns,
                                 .end_ns = ns,
                                 .corr = record->corr,
                                 .name = name_of(record->type, record->a) });
}

/* The state that held until now. */
static void end_state(reading *r, size_t unit, int64_t ns, bool unfinished)
{
    const state *s = &r->states[unit];

    if (s->number < PFC_TRACE_STATES_LEN)
        add(line_of(r, unit, PFC_TRACE_VIEW_STATES, 0),
            &(pfc_trace_view_slice){ .begin_ns = s->since_ns,
                                     .end_ns = ns,
                                     .name = NAME_OF_STATE + s->number,
                                     .unfinished = unfinished });
}

/* ---- counters ---- */

static char *series_name(const pfc_trace_header *h, const pfc_trace_record *record)
{
    switch (record->type) {
    case PFC_TRACE_COUNTER_SAMPLE:
        return pfc_strdup(h->counters[record->a].name);
    case PFC_TRACE_STATE_SAMPLE:
        return pfc_format("time in state %s", pfc_trace_state_of(record->a)->name);
    case PFC_TRACE_FREQ_CHANGE:
        return pfc_format("clock %s", h->clocks[record->a].name);
    default:
        return pfc_strdup("throttle: active share");
    }
}

static const char *series_measure(const pfc_trace_header *h, const pfc_trace_record *record)
{
    switch (record->type) {
    case PFC_TRACE_COUNTER_SAMPLE:
        return h->counters[record->a].unit;
    case PFC_TRACE_STATE_SAMPLE:
        return "ticks";
    case PFC_TRACE_FREQ_CHANGE:
        return "Hz";
    default:
        return "";
    }
}

/* NULL: there are too many series. */
static pfc_trace_view_series *series_of(reading *r, size_t unit, const pfc_trace_record *record)
{
    pfc_trace_view *v = r->view;
    /* A throttle's fields are its value. A field is below 2^16 here, a unit below 2^10. */
    const uint64_t number = record->type == PFC_TRACE_THROTTLE ? 0 : record->a;
    const uint64_t key = (uint64_t)record->type << 32 | (uint64_t)unit << 16 | number;
    pfc_trace_entry *entry = pfc_trace_map_find(&r->series, key);

    if (!entry) {
        entry = pfc_trace_map_add(&r->series, key, 1);
        if (!entry)
            return NULL;
        entry->at = v->series_len;
        v->series = pfc_grow(v->series, v->series_len, &v->series_cap, sizeof(*v->series));
        v->series[v->series_len++] =
            (pfc_trace_view_series){ .unit = unit,
                                     .name = series_name(v->header, record),
                                     .measure = series_measure(v->header, record) };
    }
    return &v->series[entry->at];
}

static void add_value(reading *r, size_t unit, const pfc_trace_record *record, int64_t ns)
{
    pfc_trace_view_series *s = series_of(r, unit, record);
    double value = (double)record->b;

    if (!s) {
        r->view->values_left_out++;
        return;
    }
    if (record->type == PFC_TRACE_THROTTLE)
        value = record->b ? (double)record->a / (double)record->b : 1;
    s->values = pfc_grow(s->values, s->len, &s->cap, sizeof(*s->values));
    s->values[s->len++] = (pfc_trace_view_value){ ns, value };
}

static void put_counter(reading *r, size_t unit, const pfc_trace_record *record, int64_t ns)
{
    if (record->type != PFC_TRACE_UNIT_STATE) {
        add_value(r, unit, record, ns);
        return;
    }
    end_state(r, unit, ns, false);
    r->states[unit] = (state){ ns, (uint16_t)record->a };
}

/* ---- records ---- */

static pfc_code put_begin(reading *r, size_t unit, const pfc_trace_record *record, int64_t ns,
                          pfc_err *err)
{
    bool fresh;

    if (!r->view->header->units[unit].overlaps)
        return pfc_trace_slices_push(&r->slices, unit, record, ns, err);
    if (pfc_trace_slices_begin(&r->slices, unit, record, ns, &fresh) == SIZE_MAX)
        r->view->units[unit].left_out++;
    return PFC_OK;
}

static void put_end(reading *r, size_t unit, const pfc_trace_record *record, int64_t ns)
{
    const bool ended = r->view->header->units[unit].overlaps
                           ? pfc_trace_slices_end(&r->slices, unit, record, ns)
                           : pfc_trace_slices_pop(&r->slices, unit, record, ns);

    r->view->units[unit].unmatched += !ended;
}

static void put_whole(reading *r, size_t unit, const pfc_trace_record *record, int64_t ns,
                      int64_t later_ns)
{
    const pfc_trace_open open = pfc_trace_open_of(record, unit, ns);

    take_slice(r, &(pfc_trace_ended){ .slice = &open,
                                      .depth = r->slices.units[unit].depth,
                                      .end_ns = later_ns,
                                      .end = record });
}

static pfc_code put(reading *r, const pfc_trace_record *record, pfc_err *err)
{
    pfc_trace_view *v = r->view;
    const pfc_trace_row *row = pfc_trace_row_of(record->type);
    const pfc_trace_unit *unit = pfc_trace_unit_of(r->line.index, record->unit);
    const size_t at = (size_t)(unit - v->header->units);
    const uint64_t after = row->phase == PFC_TRACE_COMPLETE ? record->b : 0;
    int64_t ns;
    int64_t later_ns;

    if (!pfc_trace_timeline_ns(&r->line, unit, record, after, &ns, &later_ns))
        return pfc_err_set(err, PFC_EINVAL, "%s: its time does not fit in 63 bits of nanoseconds",
                           row->name);
    v->begin_ns = r->some ? PFC_MIN(v->begin_ns, ns) : ns;
    r->last_ns = r->some ? PFC_MAX(r->last_ns, later_ns) : later_ns;
    r->some = true;
    v->units[at].records++;
    switch (row->phase) {
    case PFC_TRACE_BEGIN:
        return put_begin(r, at, record, ns, err);
    case PFC_TRACE_END:
        put_end(r, at, record, ns);
        break;
    case PFC_TRACE_COMPLETE:
        put_whole(r, at, record, ns, later_ns);
        break;
    case PFC_TRACE_WAIT:
        if (!pfc_trace_slices_wait(&r->slices, at, record, ns))
            v->units[at].left_out++;
        break;
    case PFC_TRACE_SIGNAL:
        add_point(r, at, record, ns);
        pfc_trace_slices_signal(&r->slices, record, ns);
        break;
    case PFC_TRACE_INSTANT:
        if (record->type == PFC_TRACE_DROP)
            v->units[at].dropped += record->a;
        if (record->type != PFC_TRACE_CLOCK_PAIR)
            add_point(r, at, record, ns);
        break;
    case PFC_TRACE_COUNTER:
        put_counter(r, at, record, ns);
        break;
    case PFC_TRACE_DETAIL:
        v->details++;
        break;
    }
    return PFC_OK;
}

static pfc_code put_all(reading *r, pfc_err *err)
{
    pfc_trace_reader *reader = r->view->reader;
    pfc_trace_record record;
    bool more = true;
    pfc_code code = PFC_OK;

    while (!code && more) {
        code = pfc_trace_read(reader, &record, &more, err);
        if (!code && more && put(r, &record, err))
            code = pfc_err_wrap(err, "record %llu at byte %llu",
                                (unsigned long long)pfc_trace_reader_number(reader),
                                (unsigned long long)pfc_trace_reader_offset(reader));
    }
    r->view->records = pfc_trace_reader_number(reader);
    return code;
}

/* ---- the end ---- */

static int by_begin(const void *a, const void *b)
{
    const pfc_trace_view_slice *x = a;
    const pfc_trace_view_slice *y = b;

    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static int by_time(const void *a, const void *b)
{
    const pfc_trace_view_value *x = a;
    const pfc_trace_view_value *y = b;

    return (x->ns > y->ns) - (x->ns < y->ns);
}

static int by_place(const void *a, const void *b)
{
    const pfc_trace_view_line *x = a;
    const pfc_trace_view_line *y = b;

    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int by_name(const void *a, const void *b)
{
    const pfc_trace_view_series *x = a;
    const pfc_trace_view_series *y = b;

    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_corr(const void *a, const void *b)
{
    const pfc_trace_view_call *x = a;
    const pfc_trace_view_call *y = b;

    if (x->corr != y->corr)
        return x->corr < y->corr ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return (x->slice > y->slice) - (x->slice < y->slice);
}

/* Sorts what is not in order, and takes the begin of the trace off all times. */
static void settle(pfc_trace_view *v)
{
    v->bytes = sizeof(*v) + v->lines_len * sizeof(*v->lines) + v->series_len * sizeof(*v->series);
    for (size_t i = 0; i < v->lines_len; i++) {
        pfc_trace_view_line *line = &v->lines[i];
        bool sorted = true;

        for (size_t k = 0; k < line->len; k++) {
            line->slices[k].begin_ns -= v->begin_ns;
            line->slices[k].end_ns -= v->begin_ns;
            sorted = sorted && (k == 0 || by_begin(&line->slices[k - 1], &line->slices[k]) <= 0);
        }
        if (!sorted)
            qsort(line->slices, line->len, sizeof(*line->slices), by_begin);
        v->bytes += line->cap * sizeof(*line->slices);
    }
    for (size_t i = 0; i < v->series_len; i++) {
        pfc_trace_view_series *s = &v->series[i];
        bool sorted = true;

        for (size_t k = 0; k < s->len; k++) {
            s->values[k].ns -= v->begin_ns;
            sorted = sorted && (k == 0 || s->values[k - 1].ns <= s->values[k].ns);
        }
        if (!sorted)
            qsort(s->values, s->len, sizeof(*s->values), by_time);
        v->bytes += s->cap * sizeof(*s->values);
    }
    if (v->lines_len > 0)
        qsort(v->lines, v->lines_len, sizeof(*v->lines), by_place);
    if (v->series_len > 0)
        qsort(v->series, v->series_len, sizeof(*v->series), by_name);
}

/* A call is what the host does at the outermost depth under an id. */
static void find_calls(pfc_trace_view *v)
{
    size_t cap = 0;
    size_t kept = 0;

    for (size_t i = 0; i < v->lines_len; i++) {
        const pfc_trace_view_line *line = &v->lines[i];

        if (v->header->units[line->unit].kind != PFC_TRACE_KIND_HOST ||
            line->kind != PFC_TRACE_VIEW_SLICES)
            continue;
        for (size_t k = 0; k < line->len; k++) {
            if (line->slices[k].corr == 0)
                continue;
            v->calls = pfc_grow(v->calls, v->calls_len, &cap, sizeof(*v->calls));
            v->calls[v->calls_len++] =
                (pfc_trace_view_call){ line->slices[k].corr, (uint32_t)i, k };
        }
    }
    if (v->calls_len > 0)
        qsort(v->calls, v->calls_len, sizeof(*v->calls), by_corr);
    for (size_t i = 0; i < v->calls_len; i++)
        if (kept == 0 || v->calls[kept - 1].corr != v->calls[i].corr)
            v->calls[kept++] = v->calls[i];
    v->calls_len = kept;
    v->bytes += cap * sizeof(*v->calls);
}

static void place_clocks(reading *r)
{
    const pfc_trace_header *h = r->view->header;

    for (size_t i = 0; i < h->clocks_len; i++) {
        const pfc_trace_placed placed = pfc_trace_timeline_placed(&r->line, i);

        r->view->clocks[i] =
            (pfc_trace_view_clock){ .method = placed.method,
                                    .host = i == r->line.host_clock,
                                    .offset_ns = placed.offset_ns,
                                    .knots = placed.knots ? placed.knots->len : 0,
                                    .bound_ns = placed.knots ? placed.knots->bound_ns : 0,
                                    .left_out = placed.knots ? placed.knots->left_out : 0 };
    }
}

static pfc_code finish(reading *r, pfc_err *err)
{
    pfc_trace_view *v = r->view;

    if (__builtin_sub_overflow(r->last_ns, v->begin_ns, &v->span_ns))
        return pfc_err_set(err, PFC_EINVAL, "expected records within 292 years of each other");
    pfc_trace_slices_close(&r->slices, r->last_ns);
    for (size_t i = 0; i < v->header->units_len; i++)
        end_state(r, i, r->last_ns, true);
    place_clocks(r);
    settle(v);
    find_calls(v);
    return PFC_OK;
}

/* ---- the whole ---- */

static void start(reading *r, const pfc_trace_clocks *clocks)
{
    const pfc_trace_index *index = pfc_trace_reader_index(r->view->reader);
    const size_t units = index->header.units_len;

    r->view->header = &index->header;
    r->view->clocks = pfc_calloc(index->header.clocks_len, sizeof(*r->view->clocks));
    r->view->units = pfc_calloc(units, sizeof(*r->view->units));
    pfc_trace_timeline_init(&r->line, index, clocks);
    pfc_trace_slices_init(&r->slices, index, &(pfc_trace_slices_to){ take_slice, take_wait, r });
    pfc_trace_map_init(&r->series, PFC_TRACE_VIEW_SERIES);
    r->line_at = pfc_calloc(units * LINES_EACH, sizeof(*r->line_at));
    r->states = pfc_calloc(units, sizeof(*r->states));
    for (size_t i = 0; i < units; i++)
        r->states[i].number = PFC_TRACE_STATES_LEN;
}

static void clear(reading *r)
{
    pfc_trace_slices_clear(&r->slices);
    pfc_trace_map_clear(&r->series);
    free(r->line_at);
    free(r->states);
    free(r);
}

static pfc_code read_clocks(pfc_trace_clocks **out, const void *bytes, size_t len, const char *name,
                            pfc_err *err)
{
    pfc_trace_reader *reader = NULL;
    pfc_code code = pfc_trace_reader_open_bytes(&reader, bytes, len, name, PFC_TRACE_STRICT, err);

    if (!code)
        code = pfc_trace_clocks_read(out, reader, err);
    pfc_trace_reader_free(reader);
    return code;
}

pfc_code pfc_trace_view_read(pfc_trace_view **out, const void *bytes, size_t len, const char *name,
                             pfc_err *err)
{
    pfc_trace_clocks *clocks = NULL;
    pfc_trace_view *view = pfc_alloc(sizeof(*view));
    reading *r;
    pfc_code code = read_clocks(&clocks, bytes, len, name, err);

    if (!code)
        code = pfc_trace_reader_open_bytes(&view->reader, bytes, len, name, PFC_TRACE_STRICT, err);
    if (!code) {
        r = pfc_alloc(sizeof(*r));
        r->view = view;
        start(r, clocks);
        code = put_all(r, err);
        if (!code)
            code = finish(r, err);
        clear(r);
    }
    pfc_trace_clocks_free(clocks);
    if (code) {
        pfc_trace_view_free(view);
        return code;
    }
    *out = view;
    return PFC_OK;
}

void pfc_trace_view_free(pfc_trace_view *v)
{
    if (!v)
        return;
    for (size_t i = 0; i < v->lines_len; i++)
        free(v->lines[i].slices);
    for (size_t i = 0; i < v->series_len; i++) {
        free(v->series[i].name);
        free(v->series[i].values);
    }
    free(v->lines);
    free(v->series);
    free(v->calls);
    free(v->clocks);
    free(v->units);
    pfc_trace_reader_free(v->reader);
    free(v);
}

/* ---- lookups ---- */

const char *pfc_trace_view_name(const pfc_trace_view *v, const pfc_trace_view_slice *s, size_t *len)
{
    const uint32_t name = s->name;
    const char *text;

    if (name >= NAME_OF_TYPE && name < NAME_OF_STATE)
        return pfc_trace_slice_name(v->header, pfc_trace_row_of((uint16_t)(name - NAME_OF_TYPE)), 0,
                                    len);
    text = name < NAME_OF_TYPE ? v->header->names[name]
                               : pfc_trace_state_of(name - NAME_OF_STATE)->name;
    *len = strlen(text);
    return text;
}

const pfc_trace_view_call *pfc_trace_view_call_of(const pfc_trace_view *v, uint32_t corr)
{
    size_t low = 0;
    size_t high = v->calls_len;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (v->calls[middle].corr < corr)
            low = middle + 1;
        else
            high = middle;
    }
    return low < v->calls_len && v->calls[low].corr == corr ? &v->calls[low] : NULL;
}
