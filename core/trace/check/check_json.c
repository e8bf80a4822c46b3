/* Checks of Chrome JSON as export.h writes it: every event by its phase, pairs over all events. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/trace/check/check_tracks.h"
#include "core/trace/check/json_read.h"
#include "core/trace/layout.h"

#define MAX_FLOWS   (1u << 20)
#define MAX_ASYNC   (1u << 20)
#define MAX_SERIES  65536
#define MAX_PIDS    4096
#define NO_TIME     INT64_MIN
#define COUNT_UNSET UINT64_MAX

/* An event: its members by meaning. Texts by their hash. */
typedef struct event {
    char phase;
    char name[64];
    uint64_t name_hash, category, id;
    int64_t ts, dur; /* ns, or NO_TIME */
    uint64_t pid, tid;
    bool has_pid, has_tid, has_id, has_name;
    bool args_zero; /* every number of args is 0, and there is one */
    bool args_name; /* args.name is a string */
} event;

typedef struct checker {
    pfc_trace_json_in in;
    pfc_trace_report *report;
    pfc_trace_lanes lanes;
    pfc_trace_map flows, async, series, pids;
    uint64_t number;  /* of the event, from 1 */
    uint64_t counted; /* perfci.events; COUNT_UNSET: not there */
    bool has_events;
} checker;

#define FOUND(c, kind, ...)                                                                        \
    pfc_trace_found((c)->report, PFC_TRACE_CHECK_##kind, (c)->number,                              \
                    pfc_trace_json_offset(&(c)->in), __VA_ARGS__)

/* ---- members ---- */

/* Microseconds with up to three decimals as ns; false: another kind of number. */
static bool plain_us(const char *text, int64_t *out)
{
    const bool minus = *text == '-';
    int64_t ns = 0;
    int decimals = -1;

    for (text += minus; *text; text++) {
        if (*text == '.') {
            decimals = 0;
            continue;
        }
        if (*text < '0' || *text > '9' || decimals == 3 ||
            __builtin_mul_overflow(ns, (int64_t)10, &ns) ||
            __builtin_add_overflow(ns, (int64_t)(*text - '0'), &ns))
            return false;
        decimals += decimals >= 0;
    }
    for (decimals = decimals < 0 ? 0 : decimals; decimals < 3; decimals++)
        if (__builtin_mul_overflow(ns, (int64_t)10, &ns))
            return false;
    *out = minus ? -ns : ns;
    return true;
}

static int64_t time_of(checker *c)
{
    int64_t ns;

    if (plain_us(c->in.text, &ns))
        return ns;
    FOUND(c, SYNTAX, "expected microseconds with up to three decimals, got %.40s", c->in.text);
    return NO_TIME;
}

static uint64_t whole_of(const checker *c)
{
    int64_t v = 0;

    return pfc_parse_i64(c->in.text, 0, INT64_MAX, "", &v, NULL) ? 0 : (uint64_t)v;
}

static bool is_zero(const char *text)
{
    return text[strspn(text, "-0.")] == '\0' || text[strspn(text, "-0.")] == 'e' ||
           text[strspn(text, "-0.")] == 'E';
}

/* args: its numbers and its name. */
static pfc_trace_token read_args(checker *c, event *e)
{
    pfc_trace_token token = pfc_trace_json_next(&c->in);
    bool some = false;
    bool zero = true;

    while (token == PFC_TRACE_TOKEN_KEY) {
        const bool name = strcmp(c->in.text, "name") == 0;

        token = pfc_trace_json_next(&c->in);
        if (token == PFC_TRACE_TOKEN_NUMBER) {
            some = true;
            zero = zero && is_zero(c->in.text);
        }
        e->args_name = e->args_name || (name && token == PFC_TRACE_TOKEN_STRING);
        if (pfc_trace_json_skip(&c->in, token) == PFC_TRACE_TOKEN_FAILED)
            return PFC_TRACE_TOKEN_FAILED;
        token = pfc_trace_json_next(&c->in);
    }
    e->args_zero = some && zero;
    return token;
}

/* id2: {"local": "..."}. */
static pfc_trace_token read_id2(checker *c, event *e)
{
    pfc_trace_token token = pfc_trace_json_next(&c->in);

    while (token == PFC_TRACE_TOKEN_KEY) {
        token = pfc_trace_json_next(&c->in);
        if (token == PFC_TRACE_TOKEN_STRING || token == PFC_TRACE_TOKEN_NUMBER) {
            e->id = c->in.hash;
            e->has_id = true;
        }
        if (pfc_trace_json_skip(&c->in, token) == PFC_TRACE_TOKEN_FAILED)
            return PFC_TRACE_TOKEN_FAILED;
        token = pfc_trace_json_next(&c->in);
    }
    return token;
}

static void read_string(checker *c, event *e, const char *key)
{
    if (strcmp(key, "ph") == 0 && c->in.text_len == 1)
        e->phase = c->in.text[0];
    else if (strcmp(key, "name") == 0) {
        snprintf(e->name, sizeof(e->name), "%.*s", (int)pfc_utf8_cut(c->in.text, 60), c->in.text);
        e->name_hash = c->in.hash;
        e->has_name = true;
    } else if (strcmp(key, "cat") == 0)
        e->category = c->in.hash;
    else if (strcmp(key, "id") == 0) {
        e->id = c->in.hash;
        e->has_id = true;
    }
}

static void read_number(checker *c, event *e, const char *key)
{
    if (strcmp(key, "ts") == 0)
        e->ts = time_of(c);
    else if (strcmp(key, "dur") == 0)
        e->dur = time_of(c);
    else if (strcmp(key, "pid") == 0) {
        e->pid = whole_of(c);
        e->has_pid = true;
    } else if (strcmp(key, "tid") == 0) {
        e->tid = whole_of(c);
        e->has_tid = true;
    } else if (strcmp(key, "id") == 0) {
        e->id = c->in.hash;
        e->has_id = true;
    }
}

/* The members of an event, behind its brace. */
static pfc_trace_token read_event(checker *c, event *e)
{
    pfc_trace_token token = pfc_trace_json_next(&c->in);
    char key[16];

    *e = (event){ .ts = NO_TIME, .dur = NO_TIME };
    while (token == PFC_TRACE_TOKEN_KEY) {
        snprintf(key, sizeof(key), "%.15s", c->in.text);
        token = pfc_trace_json_next(&c->in);
        if (token == PFC_TRACE_TOKEN_STRING)
            read_string(c, e, key);
        else if (token == PFC_TRACE_TOKEN_NUMBER)
            read_number(c, e, key);
        else if (token == PFC_TRACE_TOKEN_OBJECT && strcmp(key, "args") == 0)
            token = read_args(c, e);
        else if (token == PFC_TRACE_TOKEN_OBJECT && strcmp(key, "id2") == 0)
            token = read_id2(c, e);
        else
            token = pfc_trace_json_skip(&c->in, token);
        if (token == PFC_TRACE_TOKEN_FAILED)
            return token;
        token = pfc_trace_json_next(&c->in);
    }
    return token;
}

/* ---- events ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    return pfc_trace_digest(a, b);
}

static bool has_members(checker *c, const event *e)
{
    const char *missing = NULL;

    if (e->phase == '\0')
        missing = "ph";
    else if (!e->has_name)
        missing = "name";
    else if (!e->has_pid)
        missing = "pid";
    else if (e->phase != 'M' && e->ts == NO_TIME)
        missing = "ts";
    else if (e->phase == 'X' && e->dur == NO_TIME)
        missing = "dur";
    else if (strchr("Xibestf", e->phase) && !e->has_tid)
        missing = "tid";
    else if (strchr("bestf", e->phase) && !e->has_id)
        missing = "id";
    if (missing)
        FOUND(c, SYNTAX, "the event \"%s\" has no member \"%s\"", e->name, missing);
    return !missing;
}

/* The track of an event that is no metadata. */
static pfc_trace_lane *use_lane(checker *c, const event *e)
{
    pfc_trace_lane *lane = pfc_trace_lane_of(&c->lanes, e->pid, e->tid);

    if (!lane) {
        FOUND(c, LIMIT, "more than %d tracks", PFC_TRACE_MAX_TRACKS);
        return NULL;
    }
    if (!lane->event) {
        lane->event = c->number;
        lane->offset = pfc_trace_json_offset(&c->in);
    }
    return lane;
}

static pfc_trace_span span_of(const checker *c, int64_t begin, int64_t end)
{
    return (pfc_trace_span){ begin, end, c->number, pfc_trace_json_offset(&c->in) };
}

static void check_slice(checker *c, const event *e)
{
    pfc_trace_lane *lane = use_lane(c, e);
    pfc_trace_span slice;
    int64_t end;

    if (e->dur < 0 || __builtin_add_overflow(e->ts, e->dur, &end)) {
        FOUND(c, END_BEFORE_BEGIN, "the slice \"%s\" has a negative duration", e->name);
        return;
    }
    slice = span_of(c, e->ts, end);
    if (lane)
        pfc_trace_lane_slice(&c->lanes, lane, &slice, c->report);
}

static pfc_trace_entry *remember(checker *c, pfc_trace_map *map, uint64_t key, int64_t ns)
{
    pfc_trace_entry *entry = pfc_trace_map_add(map, key, c->number);

    if (!entry) {
        FOUND(c, LIMIT, "more than %zu flows, async events or counters are open", map->max);
        return NULL;
    }
    entry->ns = ns;
    entry->offset = pfc_trace_json_offset(&c->in);
    return entry;
}

static void check_async(checker *c, const event *e)
{
    const uint64_t key = mix(mix(mix(e->id, e->category), e->name_hash), e->pid);
    pfc_trace_entry *open = pfc_trace_map_find(&c->async, key);

    (void)use_lane(c, e);
    if (e->phase == 'b') {
        if (open)
            FOUND(c, TWICE, "the async event \"%s\" is open since event %" PRIu64, e->name,
                  open->event);
        else
            (void)remember(c, &c->async, key, e->ts);
        return;
    }
    if (!open) {
        FOUND(c, END_WITHOUT_BEGIN, "the async event \"%s\" ends, it has not begun", e->name);
        return;
    }
    if (e->ts < open->ns)
        FOUND(c, END_BEFORE_BEGIN, "the async event \"%s\" is before its begin in event %" PRIu64,
              e->name, open->event);
    pfc_trace_map_remove(&c->async, open);
}

static void check_flow(checker *c, const event *e)
{
    const uint64_t key = mix(e->id, e->category);
    pfc_trace_entry *open = pfc_trace_map_find(&c->flows, key);
    pfc_trace_lane *lane = use_lane(c, e);
    const pfc_trace_span point = span_of(c, e->ts, e->ts);

    if (lane)
        pfc_trace_lane_point(lane, &point, c->report);
    if (e->phase == 's') {
        if (open)
            FOUND(c, TWICE, "the flow is open since event %" PRIu64, open->event);
        else
            (void)remember(c, &c->flows, key, e->ts);
        return;
    }
    if (!open) {
        FOUND(c, FLOW_BEGIN, "the flow has not begun");
        return;
    }
    if (e->ts < open->ns)
        FOUND(c, FLOW_ORDER, "the point of the flow is before that of event %" PRIu64, open->event);
    open->ns = e->ts;
    open->event = c->number;
    if (e->phase == 'f')
        pfc_trace_map_remove(&c->flows, open);
}

/* Remembers where a counter has a value other than zero. */
static void check_counter(checker *c, const event *e)
{
    const uint64_t key = mix(e->name_hash, e->pid);
    pfc_trace_entry *series = pfc_trace_map_find(&c->series, key);

    if (!series)
        series = remember(c, &c->series, key, e->ts);
    if (!series)
        return;
    series->at = e->args_zero;
    series->event = c->number;
    series->offset = pfc_trace_json_offset(&c->in);
}

static void check_metadata(checker *c, const event *e)
{
    pfc_trace_entry *pid;
    pfc_trace_lane *lane;

    if (!e->args_name)
        return;
    if (strcmp(e->name, "process_name") == 0) {
        pid = pfc_trace_map_find(&c->pids, e->pid);
        if (!pid)
            pid = remember(c, &c->pids, e->pid, 0);
        if (pid)
            pid->at = 1;
    } else if (strcmp(e->name, "thread_name") == 0) {
        lane = pfc_trace_lane_of(&c->lanes, e->pid, e->tid);
        if (lane)
            lane->named = true;
    }
}

static void check_event(checker *c, const event *e)
{
    if (!has_members(c, e))
        return;
    if (e->phase != 'M' && !pfc_trace_map_find(&c->pids, e->pid))
        (void)remember(c, &c->pids, e->pid, 0);
    switch (e->phase) {
    case 'M':
        check_metadata(c, e);
        break;
    case 'X':
        check_slice(c, e);
        break;
    case 'i':
        (void)use_lane(c, e);
        break;
    case 'b':
    case 'e':
        check_async(c, e);
        break;
    case 's':
    case 't':
    case 'f':
        check_flow(c, e);
        break;
    case 'C':
        check_counter(c, e);
        break;
    default:
        FOUND(c, TYPE, "the event \"%s\" has the phase \"%c\", which no export writes", e->name,
              e->phase >= 0x20 && e->phase < 0x7f ? e->phase : '?');
        break;
    }
}

/* ---- document ---- */

static pfc_trace_token read_events(checker *c)
{
    pfc_trace_token token = pfc_trace_json_next(&c->in);

    c->has_events = true;
    for (; token != PFC_TRACE_TOKEN_CLOSE && token != PFC_TRACE_TOKEN_FAILED;
         token = pfc_trace_json_next(&c->in)) {
        event e;

        c->number++;
        if (token != PFC_TRACE_TOKEN_OBJECT) {
            FOUND(c, SYNTAX, "expected an event, an object");
            token = pfc_trace_json_skip(&c->in, token);
        } else {
            token = read_event(c, &e);
            if (token == PFC_TRACE_TOKEN_CLOSE)
                check_event(c, &e);
        }
        if (token == PFC_TRACE_TOKEN_FAILED)
            break;
    }
    return token;
}

/* The member that the export adds: its count of events. */
static pfc_trace_token read_summary(checker *c)
{
    pfc_trace_token token = pfc_trace_json_next(&c->in);

    while (token == PFC_TRACE_TOKEN_KEY) {
        const bool events = strcmp(c->in.text, "events") == 0;
        const bool dropped = strcmp(c->in.text, "dropped") == 0;

        token = pfc_trace_json_next(&c->in);
        if (events && token == PFC_TRACE_TOKEN_NUMBER)
            c->counted = whole_of(c);
        if (dropped && token == PFC_TRACE_TOKEN_NUMBER)
            c->report->dropped = whole_of(c);
        if (pfc_trace_json_skip(&c->in, token) == PFC_TRACE_TOKEN_FAILED)
            return PFC_TRACE_TOKEN_FAILED;
        token = pfc_trace_json_next(&c->in);
    }
    return token;
}

static pfc_trace_token read_document(checker *c)
{
    pfc_trace_token token = pfc_trace_json_next(&c->in); /* the brace that was seen */

    token = pfc_trace_json_next(&c->in);
    while (token == PFC_TRACE_TOKEN_KEY) {
        const bool events = strcmp(c->in.text, "traceEvents") == 0;
        const bool summary = strcmp(c->in.text, "perfci") == 0;

        token = pfc_trace_json_next(&c->in);
        if (events && token == PFC_TRACE_TOKEN_ARRAY)
            token = read_events(c);
        else if (summary && token == PFC_TRACE_TOKEN_OBJECT)
            token = read_summary(c);
        else
            token = pfc_trace_json_skip(&c->in, token);
        if (token == PFC_TRACE_TOKEN_FAILED)
            return token;
        token = pfc_trace_json_next(&c->in);
    }
    return token == PFC_TRACE_TOKEN_CLOSE ? pfc_trace_json_next(&c->in) : token;
}

static void found_each(const checker *c, const pfc_trace_map *map, bool unless_at,
                       pfc_trace_check_kind kind, const char *what)
{
    for (size_t i = 0; i < map->places; i++)
        if (map->entries[i].event && !(unless_at && map->entries[i].at))
            pfc_trace_found(c->report, kind, map->entries[i].event, map->entries[i].offset, "%s",
                            what);
}

static void check_end(checker *c)
{
    c->number = 0;
    if (!c->has_events)
        FOUND(c, FILE, "expected the array \"traceEvents\"");
    if (c->counted == COUNT_UNSET)
        FOUND(c, FILE, "expected the member \"perfci\" with its count of events");
    else if (c->counted != c->report->records)
        FOUND(c, FILE, "the export counts %" PRIu64 " events, the file has %" PRIu64, c->counted,
              c->report->records);
    pfc_trace_lanes_end(&c->lanes, c->report);
    found_each(c, &c->pids, true, PFC_TRACE_CHECK_UNIT, "the process has no process_name event");
    found_each(c, &c->flows, false, PFC_TRACE_CHECK_FLOW_END, "the flow does not end");
    found_each(c, &c->async, false, PFC_TRACE_CHECK_BEGIN_WITHOUT_END,
               "the async event does not end");
    found_each(c, &c->series, true, PFC_TRACE_CHECK_ZERO,
               "the counter has no zero at the end of the trace");
}

static void check_all(checker *c)
{
    const pfc_trace_token token = read_document(c);

    c->report->records = c->number;
    if (token == PFC_TRACE_TOKEN_END)
        check_end(c);
    else if (!c->in.error)
        FOUND(c, SYNTAX, "byte %" PRIu64 ": %s", pfc_trace_json_offset(&c->in), c->in.why);
}

pfc_code pfc_trace_check_json(int fd, const void *bytes, size_t len, const char *name,
                              pfc_trace_report *report, pfc_err *err)
{
    checker *c = pfc_alloc(sizeof(*c));
    int error;

    c->report = report;
    c->counted = COUNT_UNSET;
    pfc_trace_lanes_init(&c->lanes);
    pfc_trace_map_init(&c->flows, MAX_FLOWS);
    pfc_trace_map_init(&c->async, MAX_ASYNC);
    pfc_trace_map_init(&c->series, MAX_SERIES);
    pfc_trace_map_init(&c->pids, MAX_PIDS);
    pfc_trace_json_start(&c->in, fd, bytes, len);
    check_all(c);
    error = c->in.error;
    pfc_trace_lanes_clear(&c->lanes);
    pfc_trace_map_clear(&c->flows);
    pfc_trace_map_clear(&c->async);
    pfc_trace_map_clear(&c->series);
    pfc_trace_map_clear(&c->pids);
    free(c);
    return error ? pfc_err_set(err, PFC_EIO, "cannot read %.300s: %s", name, strerror(error))
                 : PFC_OK;
}
