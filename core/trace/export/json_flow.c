/* Flows: the way of a correlation id from the host's call to the kernel. See json.h. */
#include "core/trace/export/json.h"

static void put_point(pfc_trace_json *json, const pfc_trace_flow *flow, char phase)
{
    const pfc_trace_track *track = &json->tracks[flow->unit];
    const char *category = json->opts.kineto ? "ac2g" : "flow";

    pfc_trace_event_begin(json, phase);
    pfc_trace_event_text(json, category);
    pfc_trace_event_place(json, category, flow->ns, track->pid, flow->tid);
    pfc_trace_event_text(json, ",\"id\":");
    pfc_trace_event_u64(json, flow->corr);
    pfc_trace_event_text(json, phase == 's' ? "}" : ",\"bp\":\"e\"}");
}

/* Writes the point that waits as the last one. A flow of a single point is none. */
static void finish(pfc_trace_json *json, pfc_trace_flow *flow)
{
    if (flow->points > 1)
        put_point(json, flow, 'f');
    flow->points = 0;
    flow->kernel = false;
}

void pfc_trace_flow_point(pfc_trace_json *json, const pfc_trace_record *record, int64_t ns,
                          const pfc_trace_track *track, unsigned tid)
{
    pfc_trace_flow *flow = &json->flows[record->corr % PFC_TRACE_MAX_FLOWS];
    const uint16_t unit = (uint16_t)(track - json->tracks);
    const bool begins = record->type == PFC_TRACE_SUBMIT;

    if (record->corr == 0 || (!begins && (!flow->points || flow->corr != record->corr)))
        return;
    if (!begins && flow->kernel)
        return;
    if (begins) {
        finish(json, flow);
        flow->corr = record->corr;
    } else if (ns < flow->ns) {
        json->stats.reversed++;
        return;
    } else {
        if (record->type != PFC_TRACE_KERNEL_BEGIN &&
            (unit == flow->unit || flow->points > PFC_TRACE_FLOW_STEPS))
            return;
        put_point(json, flow, flow->points == 1 ? 's' : 't');
    }
    flow->ns = ns;
    flow->unit = unit;
    flow->tid = tid;
    flow->points++;
    flow->kernel = record->type == PFC_TRACE_KERNEL_BEGIN;
}

void pfc_trace_flow_kernel(pfc_trace_json *json, const pfc_trace_record *end)
{
    pfc_trace_flow *flow = &json->flows[end->corr % PFC_TRACE_MAX_FLOWS];

    if (flow->kernel && flow->corr == end->corr)
        finish(json, flow);
}

void pfc_trace_flow_end(pfc_trace_json *json)
{
    for (size_t i = 0; i < PFC_TRACE_MAX_FLOWS; i++)
        finish(json, &json->flows[i]);
}
