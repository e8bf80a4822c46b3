/* The path of a region, from the return of the last call backward. See region.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/path/region.h"
#include "core/base/base.h"

typedef struct walk {
    const pfc_path_region *r;
    const pfc_path *kernel;
    pfc_path *out;
    double origin;
    uint64_t now; /* ticks from the begin; what lies behind is given away */
    uint16_t host_phase, in_phase, out_phase;
    pfc_path_segment *segments;
    size_t len, cap;
} walk;

static uint16_t add_phase(pfc_path *out, const char *name)
{
    const size_t at = PFC_MIN(out->phases_len, (size_t)PFC_PATH_MAX_PHASES - 1);

    memcpy(out->phases[at], name, strlen(name) + 1);
    out->phases_len = at + 1;
    return (uint16_t)at;
}

static uint64_t ticks_of(const walk *w, double ns)
{
    const double ticks = (ns - w->origin) / w->r->tick_ns;

    return ticks > 0 ? (uint64_t)(ticks + 0.5) : 0;
}

static void note(walk *w, uint64_t from, uint16_t phase, pfc_resource r, uint32_t command)
{
    w->segments = pfc_grow(w->segments, w->len, &w->cap, sizeof(*w->segments));
    w->segments[w->len++] = (pfc_path_segment){
        .begin = from, .end = w->now, .phase = phase, .resource = (uint8_t)r, .command = command
    };
}

/* Gives the time from `ns` on to a resource. */
static void give(walk *w, double ns, uint16_t phase, pfc_resource r, uint32_t command)
{
    const uint64_t from = ticks_of(w, ns);

    if (from >= w->now)
        return;
    w->out->blocking[phase][r] += w->now - from;
    note(w, from, phase, r, command);
    w->now = from;
}

/* Gives the time from `ns` on to the parts of a kernel, in proportion; the largest part takes what
 * rounding leaves. */
static void give_kernel(walk *w, double ns, uint32_t command)
{
    const uint64_t from = ticks_of(w, ns);
    const pfc_path *k = w->kernel;
    uint64_t left, most = 0;
    uint16_t phase = 0;
    pfc_resource resource = PFC_RESOURCE_HOST;

    if (from >= w->now)
        return;
    left = w->now - from;
    for (uint16_t p = 0; p < k->phases_len; p++)
        for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++) {
            const uint64_t part =
                (uint64_t)((double)k->blocking[p][r] / (double)k->total * (double)(w->now - from));

            w->out->blocking[p][r] += PFC_MIN(part, left);
            left -= PFC_MIN(part, left);
            if (k->blocking[p][r] > most) {
                most = k->blocking[p][r];
                phase = p;
                resource = r;
            }
        }
    w->out->blocking[phase][resource] += left;
    note(w, from, phase, resource, command);
    w->now = from;
}

/* The call that submitted the packet. */
static size_t call_of(const pfc_path_region *r, uint32_t packet)
{
    size_t i = r->first;

    while (i + 1 < r->calls_len && r->calls[i].packet != packet)
        i++;
    return i;
}

/* From the packet's end back to what it waited for: another packet, or (PFC_PATH_NONE) its
 * submission. */
static uint32_t walk_packet(walk *w, uint32_t which)
{
    const pfc_path_packet *p = &w->r->packets[which];
    const uint16_t phase = p->kind == PFC_PACKET_OUT ? w->out_phase : w->in_phase;
    const bool copies = p->kind == PFC_PACKET_IN || p->kind == PFC_PACKET_OUT;

    if (copies)
        give(w, p->begin, phase, PFC_RESOURCE_PCIE, which);
    else if (p->kind == PFC_PACKET_KERNEL)
        give_kernel(w, p->begin, which);
    if (p->cause != PFC_PATH_NONE) {
        const pfc_path_packet *c = &w->r->packets[p->cause];

        if (p->kind != PFC_PACKET_WAIT)
            return p->cause;
        if (c->raised >= p->end) {
            give(w, c->end, w->host_phase, PFC_RESOURCE_HOST, which);
            return p->cause;
        }
    }
    give(w, p->ready, copies ? phase : w->host_phase,
         copies ? PFC_RESOURCE_PCIE : PFC_RESOURCE_HOST, which);
    if (p->before != PFC_PATH_NONE && w->r->packets[p->before].end >= p->fetched)
        return p->before;
    give(w, p->arrived, w->host_phase, PFC_RESOURCE_HOST, which);
    return PFC_PATH_NONE;
}

/* The strip in order of time; neighbours of one kind are joined, and the last ones when there are
 * too many. */
static void write_strip(walk *w)
{
    pfc_path *out = w->out;

    out->segments_len = 0;
    for (size_t i = w->len; i-- > 0;) {
        const pfc_path_segment *s = &w->segments[i];
        pfc_path_segment *last = out->segments_len ? &out->segments[out->segments_len - 1] : NULL;

        if (last && ((last->phase == s->phase && last->resource == s->resource) ||
                     out->segments_len == PFC_PATH_MAX_SEGMENTS))
            last->end = s->end;
        else
            out->segments[out->segments_len++] = *s;
    }
}

void pfc_path_region_walk(const pfc_path_region *r, const pfc_path *kernel, pfc_path *out)
{
    walk w = { .r = r, .kernel = kernel, .out = out };
    size_t call = r->calls_len - 1;
    uint32_t packet = PFC_PATH_NONE;

    w.origin = r->calls[r->first].began;
    memset(out->blocking, 0, sizeof(out->blocking));
    w.host_phase = add_phase(out, "host");
    w.in_phase = add_phase(out, "copy_in");
    w.out_phase = add_phase(out, "copy_out");
    w.now = out->total;
    for (;;) {
        const pfc_path_call *c = &r->calls[call];

        if (c->awaited != PFC_PATH_NONE && c->left > c->submitted) {
            const pfc_path_packet *p = &r->packets[c->awaited];

            give(&w, p->end + r->host.latency, w.host_phase, PFC_RESOURCE_HOST, c->awaited);
            give(&w, p->end, w.host_phase, PFC_RESOURCE_PCIE, c->awaited);
            for (packet = c->awaited; packet != PFC_PATH_NONE;) {
                const uint32_t next = walk_packet(&w, packet);

                if (next == PFC_PATH_NONE)
                    call = PFC_MIN(call_of(r, packet), call);
                packet = next;
            }
            c = &r->calls[call];
            give(&w, c->submitted, w.host_phase, PFC_RESOURCE_PCIE, c->packet);
        }
        give(&w, c->began, w.host_phase, PFC_RESOURCE_HOST, c->packet);
        if (call == r->first)
            break;
        call--;
    }
    give(&w, w.origin, w.host_phase, PFC_RESOURCE_HOST, 0);
    write_strip(&w);
    free(w.segments);
}
