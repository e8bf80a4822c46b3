/* The beginning of the document: metadata of the trace, processes and tracks. See json.h. */
#include <stdlib.h>

#include "core/trace/export/json.h"

/* First number of each kind of process; the device's number is added. */
enum {
    PID_HOST = 1,
    PID_DEVICE = 100,
    PID_COUNTERS = 1000,
    PID_LINK = 2000,
    PID_COLLECTIVE = 3000
};

static unsigned pid_of(const pfc_trace_unit *unit)
{
    switch (unit->kind) {
    case PFC_TRACE_KIND_HOST:
        return PID_HOST;
    case PFC_TRACE_KIND_LINK:
        return PID_LINK + unit->device;
    case PFC_TRACE_KIND_COLLECTIVE:
        return PID_COLLECTIVE + unit->device;
    case PFC_TRACE_KIND_POWER:
    case PFC_TRACE_KIND_COUNTERS:
        return PID_COUNTERS + unit->device;
    default:
        return PID_DEVICE + unit->device;
    }
}

static void fill_track(pfc_trace_json *json, size_t i)
{
    const pfc_trace_unit *units = json->index->header.units;
    pfc_trace_track *track = &json->tracks[i];
    unsigned before = 0;

    for (size_t k = 0; k < i; k++)
        before += units[k].kind == units[i].kind && units[k].device == units[i].device;
    track->unit = &units[i];
    track->name = pfc_trace_json_escape(units[i].name);
    track->pid = pid_of(&units[i]);
    track->counter_pid =
        units[i].kind == PFC_TRACE_KIND_HOST ? PID_HOST : PID_COUNTERS + units[i].device;
    track->tid = pfc_trace_kind_of(units[i].kind)->track + before;
    track->state = PFC_TRACE_STATES_LEN;
}

/* ---- document ---- */

static void put_string(pfc_trace_json *json, const char *text)
{
    char *escaped = pfc_trace_json_escape(text);
    const size_t len = strlen(escaped);

    /* A value of metadata can be longer than the room for an event. */
    pfc_trace_event_text(json, "\"");
    for (size_t at = 0; at < len; at += PFC_TRACE_TEXT_ROOM / 2) {
        pfc_trace_text_room(&json->text);
        pfc_trace_text_raw(&json->text, escaped + at, PFC_MIN(len - at, PFC_TRACE_TEXT_ROOM / 2));
    }
    pfc_trace_text_room(&json->text);
    pfc_trace_event_text(json, "\"");
    free(escaped);
}

static void put_document_start(pfc_trace_json *json)
{
    const pfc_trace_header *h = &json->index->header;
    const char *chip = pfc_trace_meta_value(h, "chip");
    bool device[PFC_TRACE_MAX_DEVICE + 1] = { false };
    bool some = false;

    pfc_trace_event_text(json, "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"otherData\":{"
                               "\"format\":\"perfci trace\",\"version\":\"");
    pfc_trace_event_u64(json, json->index->major);
    pfc_trace_event_text(json, ".");
    pfc_trace_event_u64(json, json->index->minor);
    pfc_trace_event_text(json, "\"");
    pfc_trace_event_text(json, ",\"meta\":{");
    for (size_t i = 0; i < h->meta_len; i++) {
        pfc_trace_event_text(json, i ? ",\n" : "\n");
        put_string(json, h->meta[i].key);
        pfc_trace_event_text(json, ":");
        put_string(json, h->meta[i].value);
    }
    pfc_trace_event_text(json, "}},\n\"distributedInfo\":{\"rank\":0,\"world_size\":1},\n"
                               "\"deviceProperties\":[");
    for (size_t i = 0; i < h->units_len; i++)
        if (h->units[i].kind != PFC_TRACE_KIND_HOST)
            device[h->units[i].device] = true;
    for (size_t d = 0; d < PFC_ARRAY_LEN(device); d++) {
        if (!device[d])
            continue;
        pfc_trace_event_text(json, some ? ",{\"id\":" : "{\"id\":");
        pfc_trace_event_u64(json, d);
        pfc_trace_event_text(json, ",\"name\":");
        put_string(json, chip ? chip : "");
        pfc_trace_event_text(json, "}");
        some = true;
    }
    pfc_trace_event_text(json, "],\n\"traceEvents\":[");
}

/* ---- processes and tracks ---- */

void pfc_trace_event_meta(pfc_trace_json *json, const char *what, unsigned pid, unsigned tid,
                          const char *text, uint64_t number)
{
    pfc_trace_event_begin(json, 'M');
    pfc_trace_event_text(json, what);
    pfc_trace_event_text(json, "\",\"ts\":0,\"pid\":");
    pfc_trace_event_u64(json, pid);
    pfc_trace_event_text(json, ",\"tid\":");
    pfc_trace_event_u64(json, tid);
    if (text) {
        pfc_trace_event_text(json, ",\"args\":{\"name\":");
        put_string(json, text);
    } else {
        pfc_trace_event_text(json, ",\"args\":{\"sort_index\":");
        pfc_trace_event_u64(json, number);
    }
    pfc_trace_event_text(json, "}}");
}

static void put_process(pfc_trace_json *json, unsigned pid)
{
    const char *chip = pfc_trace_meta_value(&json->index->header, "chip");
    const char *command = pfc_trace_meta_value(&json->index->header, "host_command");
    const unsigned device = pid % 100;
    char *name;

    if (pid == PID_HOST)
        name = pfc_format("Host%s%s", command ? ": " : "", command ? command : "");
    else if (pid < PID_COUNTERS)
        name = pfc_format("Device %u%s%s%s", device, chip ? " (" : "", chip ? chip : "",
                          chip ? ")" : "");
    else if (pid < PID_LINK)
        name = pfc_format("Device %u counters", device);
    else
        name =
            pfc_format("%s of device %u", pid < PID_COLLECTIVE ? "Links" : "Collectives", device);
    pfc_trace_event_meta(json, "process_name", pid, 0, name, 0);
    pfc_trace_event_meta(json, "process_sort_index", pid, 0, NULL, pid);
    free(name);
}

/* A process for every pid of a track or of its counters, once. */
static void put_processes(pfc_trace_json *json)
{
    bool seen[PID_COLLECTIVE + PFC_TRACE_MAX_DEVICE + 1] = { false };

    for (size_t i = 0; i < json->index->header.units_len; i++) {
        seen[json->tracks[i].pid] = true;
        seen[json->tracks[i].counter_pid] = true;
    }
    for (unsigned pid = 0; pid < PFC_ARRAY_LEN(seen); pid++)
        if (seen[pid])
            put_process(json, pid);
}

pfc_trace_json *pfc_trace_json_new(pfc_trace_sink *sink, const pfc_trace_index *index,
                                   const pfc_trace_export_opts *opts)
{
    const pfc_trace_header *h = &index->header;
    pfc_trace_json *json = pfc_alloc(sizeof(*json));

    json->index = index;
    json->opts = *opts;
    json->text.sink = sink;
    pfc_trace_timeline_init(&json->line, index, opts->clocks);
    pfc_trace_slices_init(&json->slices, index,
                          &(pfc_trace_slices_to){ .slice = pfc_trace_json_slice,
                                                  .wait = pfc_trace_json_wait,
                                                  .arg = json });
    json->tracks = pfc_calloc(h->units_len, sizeof(*json->tracks));
    json->names = pfc_calloc(h->names_len, sizeof(*json->names));
    json->counters = pfc_calloc(2 * h->counters_len, sizeof(*json->counters));
    json->clocks = pfc_calloc(h->clocks_len, sizeof(*json->clocks));
    json->sampled = pfc_alloc(h->units_len * h->counters_len / 8 + 1);
    for (size_t i = 0; i < h->units_len; i++)
        fill_track(json, i);
    for (size_t i = 0; i < h->names_len; i++)
        json->names[i] = pfc_trace_json_escape(h->names[i]);
    for (size_t i = 0; i < h->counters_len; i++) {
        json->counters[i] = pfc_trace_json_escape(h->counters[i].name);
        json->counters[h->counters_len + i] = pfc_trace_json_escape(h->counters[i].unit);
    }
    for (size_t i = 0; i < h->clocks_len; i++)
        json->clocks[i] = pfc_trace_json_escape(h->clocks[i].name);
    put_document_start(json);
    put_processes(json);
    for (size_t i = 0; i < h->units_len; i++) {
        const pfc_trace_track *track = &json->tracks[i];

        pfc_trace_event_meta(json, "thread_name", track->pid, track->tid, track->unit->name, 0);
        pfc_trace_event_meta(json, "thread_sort_index", track->pid, track->tid, NULL, track->tid);
    }
    return json;
}

static void free_strings(char **strings, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free(strings[i]);
    free(strings);
}

void pfc_trace_json_free(pfc_trace_json *json)
{
    if (!json)
        return;
    for (size_t i = 0; i < json->index->header.units_len; i++)
        free(json->tracks[i].name);
    free(json->tracks);
    free_strings(json->names, json->index->header.names_len);
    free_strings(json->counters, 2 * json->index->header.counters_len);
    free_strings(json->clocks, json->index->header.clocks_len);
    free(json->sampled);
    pfc_trace_slices_clear(&json->slices);
    free(json);
}
