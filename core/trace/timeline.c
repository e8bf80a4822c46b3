/* Ticks as nanoseconds: see timeline.h. */
#include "core/trace/timeline.h"

#define NS_PER_S 1000000000

void pfc_trace_timeline_init(pfc_trace_timeline *line, const pfc_trace_index *index,
                             const pfc_trace_clocks *clocks)
{
    *line = (pfc_trace_timeline){ .index = index, .knots = clocks };
    for (size_t i = index->header.units_len; i-- > 0;)
        if (index->header.units[i].kind == PFC_TRACE_KIND_HOST)
            line->host_clock = index->header.units[i].clock;
}

/* Rounded down, so that the order of ticks is the order of times. */
static bool ns_of_ticks(int64_t ticks, uint64_t hz, int64_t *out)
{
    int64_t s;
    int64_t rest;

    if (hz == NS_PER_S) {
        *out = ticks;
        return true;
    }
    s = ticks / (int64_t)hz;
    rest = ticks % (int64_t)hz;
    if (rest < 0) {
        rest += (int64_t)hz;
        s--;
    }
    return !__builtin_mul_overflow(s, (int64_t)NS_PER_S, out) &&
           !__builtin_add_overflow(*out, (int64_t)((uint64_t)rest * NS_PER_S / hz), out);
}

/* Adds the step from the newest record of the clock to this one. */
bool pfc_trace_timeline_count(pfc_trace_timeline *line, size_t clock, uint64_t raw, int64_t *out)
{
    const uint64_t mask = line->index->tick_mask[clock];
    const uint64_t forward = (raw - line->clocks[clock].raw) & mask;
    int64_t *ticks = &line->clocks[clock].ticks;
    bool ok;

    if (!line->clocks[clock].seen) {
        ok = raw <= INT64_MAX;
        *ticks = (int64_t)(raw & INT64_MAX);
    } else if (forward <= mask / 2) {
        ok = !__builtin_add_overflow(*ticks, (int64_t)forward, ticks);
    } else {
        ok = !__builtin_sub_overflow(*ticks, (int64_t)(mask - forward + 1), ticks);
    }
    line->clocks[clock].raw = raw;
    line->clocks[clock].seen = true;
    *out = *ticks;
    return ok;
}

bool pfc_trace_timeline_host_ns(const pfc_trace_timeline *line, uint64_t ticks, int64_t *out)
{
    return ticks <= INT64_MAX &&
           ns_of_ticks((int64_t)ticks, line->index->header.clocks[line->host_clock].nominal_hz,
                       out);
}

/* The middle of the two host readings of a clock_pair, less the device's own time. */
static bool pair_offset(const pfc_trace_timeline *line, const pfc_trace_record *r, int64_t own_ns,
                        int64_t *out)
{
    int64_t before;
    int64_t after;

    return pfc_trace_timeline_host_ns(line, r->a, &before) &&
           pfc_trace_timeline_host_ns(line, r->b, &after) &&
           !__builtin_sub_overflow(before / 2 + after / 2, own_ns, out);
}

bool pfc_trace_timeline_ns(pfc_trace_timeline *line, const pfc_trace_unit *unit,
                           const pfc_trace_record *record, uint64_t after, int64_t *out_ns,
                           int64_t *out_later_ns)
{
    const size_t clock = unit->clock;
    const uint64_t hz = line->index->header.clocks[clock].nominal_hz;
    const pfc_trace_clock_knots *knots = line->knots ? &line->knots->clocks[clock] : NULL;
    const bool first = !line->clocks[clock].seen;
    int64_t ticks;
    int64_t later;
    bool ok = pfc_trace_timeline_count(line, clock, record->ticks, &ticks) && after <= INT64_MAX &&
              !__builtin_add_overflow(ticks, (int64_t)after, &later);

    if (ok && knots && knots->len > 1)
        return pfc_trace_clocks_ns(knots, ticks, out_ns) &&
               pfc_trace_clocks_ns(knots, later, out_later_ns);
    ok = ok && ns_of_ticks(ticks, hz, out_ns) && ns_of_ticks(later, hz, out_later_ns);
    if (ok && first && record->type == PFC_TRACE_CLOCK_PAIR && clock != line->host_clock) {
        ok = pair_offset(line, record, *out_ns, &line->clocks[clock].offset_ns);
        line->clocks[clock].paired = ok;
    }
    return ok && !__builtin_add_overflow(*out_ns, line->clocks[clock].offset_ns, out_ns) &&
           !__builtin_add_overflow(*out_later_ns, line->clocks[clock].offset_ns, out_later_ns);
}

pfc_trace_placed pfc_trace_timeline_placed(const pfc_trace_timeline *line, size_t clock)
{
    const pfc_trace_clock_knots *knots = line->knots ? &line->knots->clocks[clock] : NULL;
    int64_t offset_ns = line->clocks[clock].offset_ns;

    if (knots && knots->len > 1 && pfc_trace_clocks_ns(knots, 0, &offset_ns))
        return (pfc_trace_placed){ "clock_pairs", offset_ns, knots };
    return (pfc_trace_placed){ line->clocks[clock].paired ? "first clock_pair" : "nominal",
                               offset_ns, NULL };
}
