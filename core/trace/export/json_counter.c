/* Counter tracks, each of which ends with a zero. See json.h. */
#include "core/trace/export/json.h"

/* `"<unit>: <what>"` up to the opening brace of args. */
static void begin_counter(pfc_trace_json *json, const pfc_trace_track *track, const char *what,
                          int64_t ns)
{
    pfc_trace_event_begin(json, 'C');
    if (track->unit->kind != PFC_TRACE_KIND_COUNTERS) {
        pfc_trace_event_text(json, track->name);
        pfc_trace_event_text(json, ": ");
    }
    pfc_trace_event_text(json, what);
    pfc_trace_event_place(json, "counter", ns, track->counter_pid, 0);
    pfc_trace_event_text(json, ",\"args\":{\"");
}

static void put_value(pfc_trace_json *json, const char *key, uint64_t v)
{
    pfc_trace_event_text(json, key);
    pfc_trace_event_text(json, "\":");
    pfc_trace_event_u64(json, v);
}

static void put_sample(pfc_trace_json *json, pfc_trace_track *track, size_t counter, uint64_t v,
                       int64_t ns)
{
    const size_t len = json->index->header.counters_len;
    const char *unit = json->counters[len + counter];

    begin_counter(json, track, json->counters[counter], ns);
    put_value(json, *unit ? unit : "value", v);
    pfc_trace_event_text(json, "}}");
}

static void put_state(pfc_trace_json *json, pfc_trace_track *track, uint64_t state, uint64_t v,
                      int64_t ns)
{
    begin_counter(json, track, "state ticks", ns);
    put_value(json, pfc_trace_state_of(state)->name, v);
    pfc_trace_event_text(json, "}}");
}

/* The state that was left becomes 0, the new one 1; PFC_TRACE_STATES_LEN is no state. */
static void change_state(pfc_trace_json *json, pfc_trace_track *track, uint16_t state, int64_t ns)
{
    const bool left = track->state < PFC_TRACE_STATES_LEN && track->state != state;

    begin_counter(json, track, "state", ns);
    if (left)
        put_value(json, pfc_trace_state_of(track->state)->name, 0);
    if (state < PFC_TRACE_STATES_LEN) {
        if (left)
            pfc_trace_event_text(json, ",\"");
        put_value(json, pfc_trace_state_of(state)->name, 1);
    }
    pfc_trace_event_text(json, "}}");
    track->state = state;
}

static void put_throttle(pfc_trace_json *json, const pfc_trace_track *track, uint64_t k, uint64_t n,
                         int64_t ns)
{
    begin_counter(json, track, "throttle", ns);
    put_value(json, "k", k);
    pfc_trace_event_text(json, ",\"");
    put_value(json, "n", n);
    pfc_trace_event_text(json, "}}");
}

/* A clock's frequency belongs to no unit: its name stands alone. */
static void put_frequency(pfc_trace_json *json, const pfc_trace_track *track, size_t clock,
                          uint64_t hz, int64_t ns)
{
    pfc_trace_event_begin(json, 'C');
    pfc_trace_event_text(json, "clock ");
    pfc_trace_event_text(json, json->clocks[clock]);
    pfc_trace_event_place(json, "clock", ns, track->counter_pid, 0);
    pfc_trace_event_text(json, ",\"args\":{\"");
    put_value(json, "Hz", hz);
    pfc_trace_event_text(json, "}}");
}

void pfc_trace_counter_put(pfc_trace_json *json, const pfc_trace_record *r, int64_t ns,
                           pfc_trace_track *track)
{
    const size_t unit = (size_t)(track - json->tracks);
    size_t bit;

    switch (r->type) {
    case PFC_TRACE_COUNTER_SAMPLE:
        bit = unit * json->index->header.counters_len + (size_t)r->a;
        json->sampled[bit / 8] |= (uint8_t)(1 << (bit % 8));
        put_sample(json, track, (size_t)r->a, r->b, ns);
        break;
    case PFC_TRACE_UNIT_STATE:
        change_state(json, track, (uint16_t)r->a, ns);
        break;
    case PFC_TRACE_STATE_SAMPLE:
        track->states |= 1u << r->a;
        put_state(json, track, r->a, r->b, ns);
        break;
    case PFC_TRACE_THROTTLE:
        track->throttled = true;
        put_throttle(json, track, r->a, r->b, ns);
        break;
    case PFC_TRACE_FREQ_CHANGE:
        json->frequency_track[r->a] = track;
        put_frequency(json, track, (size_t)r->a, r->b, ns);
        break;
    default:
        break;
    }
}

static void end_track(pfc_trace_json *json, pfc_trace_track *track)
{
    const size_t counters = json->index->header.counters_len;
    const size_t first = (size_t)(track - json->tracks) * counters;

    for (size_t c = 0; c < counters; c++)
        if (json->sampled[(first + c) / 8] & (1 << ((first + c) % 8)))
            put_sample(json, track, c, 0, json->last_ns);
    for (uint64_t s = 0; s < PFC_TRACE_STATES_LEN; s++)
        if (track->states & (1u << s))
            put_state(json, track, s, 0, json->last_ns);
    if (track->state < PFC_TRACE_STATES_LEN)
        change_state(json, track, PFC_TRACE_STATES_LEN, json->last_ns);
    if (track->throttled)
        put_throttle(json, track, 0, 0, json->last_ns);
}

void pfc_trace_counter_end(pfc_trace_json *json)
{
    for (size_t i = 0; i < json->index->header.units_len; i++)
        end_track(json, &json->tracks[i]);
    for (size_t i = 0; i < json->index->header.clocks_len; i++)
        if (json->frequency_track[i])
            put_frequency(json, json->frequency_track[i], i, 0, json->last_ns);
}
