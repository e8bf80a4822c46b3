/* Parts of an event of Chrome JSON: see json.h. */
#include "core/trace/export/json.h"

void pfc_trace_event_text(pfc_trace_json *json, const char *text)
{
    pfc_trace_text_puts(&json->text, text);
}

void pfc_trace_event_u64(pfc_trace_json *json, uint64_t v)
{
    pfc_trace_text_u64(&json->text, v);
}

void pfc_trace_event_begin(pfc_trace_json *json, char phase)
{
    pfc_trace_text_room(&json->text);
    pfc_trace_event_text(json, json->stats.events++ ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    pfc_trace_text_raw(&json->text, &phase, 1);
    pfc_trace_event_text(json, "\",\"name\":\"");
}

static void put_plain_name(pfc_trace_json *json, const pfc_trace_row *row, uint64_t a)
{
    size_t len;
    const char *name = pfc_trace_slice_name(&json->index->header, row, a, &len);

    pfc_trace_text_raw(&json->text, name, len);
}

void pfc_trace_event_name(pfc_trace_json *json, const pfc_trace_row *row, uint64_t a)
{
    if (row->a_kind == PFC_TRACE_NAME && a > 0)
        pfc_trace_event_text(json, json->names[a - 1]);
    else if (json->opts.kineto && row->number == PFC_TRACE_DMA_ISSUE)
        pfc_trace_event_text(json, "Memcpy DMA"); /* HTA finds copies by this beginning */
    else
        put_plain_name(json, row, a);
}

void pfc_trace_event_place(pfc_trace_json *json, const char *category, int64_t ns, unsigned pid,
                           unsigned tid)
{
    pfc_trace_event_text(json, "\",\"cat\":\"");
    pfc_trace_event_text(json, category);
    pfc_trace_event_text(json, "\",\"ts\":");
    pfc_trace_text_us(&json->text, ns);
    pfc_trace_event_text(json, ",\"pid\":");
    pfc_trace_event_u64(json, pid);
    pfc_trace_event_text(json, ",\"tid\":");
    pfc_trace_event_u64(json, tid);
}

const char *pfc_trace_event_category(const pfc_trace_json *json, const pfc_trace_row *row)
{
    if (!json->opts.kineto)
        return row->category;
    if (strcmp(row->category, "runtime") == 0)
        return "cuda_runtime";
    if (strcmp(row->category, "dma") == 0)
        return "gpu_memcpy";
    return row->category;
}

/* A number that JSON readers may hold in 63 bits is a number, a larger one a string. */
static void put_field(pfc_trace_json *json, const char *name, pfc_trace_field kind, uint64_t v)
{
    const char *quote = v > INT64_MAX ? "\"" : "";

    pfc_trace_event_text(json, ",\"");
    pfc_trace_event_text(json, name);
    pfc_trace_event_text(json, "\":");
    if (kind == PFC_TRACE_UNIT_ID) {
        const pfc_trace_unit *unit = pfc_trace_unit_of(json->index, v);

        pfc_trace_event_text(json, "\"");
        pfc_trace_event_text(json, json->tracks[unit - json->index->header.units].name);
        pfc_trace_event_text(json, "\"");
        return;
    }
    pfc_trace_event_text(json, quote);
    pfc_trace_event_u64(json, v);
    pfc_trace_event_text(json, quote);
}

void pfc_trace_event_args(pfc_trace_json *json, const pfc_trace_track *track,
                          const pfc_trace_row *row, const pfc_trace_open *fields)
{
    pfc_trace_event_text(json, ",\"args\":{\"correlation\":");
    pfc_trace_event_u64(json, fields->corr);
    if (json->opts.kineto) {
        pfc_trace_event_text(json, ",\"External id\":");
        pfc_trace_event_u64(json, fields->corr);
        if (track->unit->kind != PFC_TRACE_KIND_HOST) {
            pfc_trace_event_text(json, ",\"device\":");
            pfc_trace_event_u64(json, track->unit->device);
            pfc_trace_event_text(json, ",\"stream\":");
            pfc_trace_event_u64(json, track->tid);
        }
    }
    if (row->a_kind != PFC_TRACE_NAME && row->a_kind != PFC_TRACE_UNUSED)
        put_field(json, row->a_name, row->a_kind, fields->a);
    if (row->b_kind != PFC_TRACE_UNUSED)
        put_field(json, row->b_name, row->b_kind, fields->b);
}

void pfc_trace_event_slice(pfc_trace_json *json, const pfc_trace_track *track, unsigned tid,
                           const pfc_trace_open *slice, int64_t end_ns, const pfc_trace_record *end)
{
    const pfc_trace_row *row = pfc_trace_row_of(slice->type);

    pfc_trace_event_begin(json, 'X');
    pfc_trace_event_name(json, row, slice->a);
    pfc_trace_event_place(json, pfc_trace_event_category(json, row), slice->ns, track->pid, tid);
    pfc_trace_event_text(json, ",\"dur\":");
    pfc_trace_text_us(&json->text, end_ns > slice->ns ? end_ns - slice->ns : 0);
    pfc_trace_event_args(json, track, row, slice);
    if (end && end->type == row->partner) {
        const pfc_trace_row *ended = pfc_trace_row_of(end->type);

        if (strcmp(ended->b_name, row->b_name) != 0) {
            pfc_trace_event_text(json, ",\"");
            pfc_trace_event_text(json, ended->b_name);
            pfc_trace_event_text(json, end->b > INT64_MAX ? "\":\"" : "\":");
            pfc_trace_event_u64(json, end->b);
            pfc_trace_event_text(json, end->b > INT64_MAX ? "\"" : "");
        }
    }
    pfc_trace_event_text(json, end ? "}}" : ",\"unfinished\":true}}");
}
