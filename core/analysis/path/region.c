/* A region: its records, and its evaluation. See region.h. */
#include "core/analysis/path/region.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/base/parse.h"

#define MAX_CORRELATION (1u << 20)
/* Of clocks of one machine, as a share of the time: 50 parts in a million each. */
#define CLOCK_DRIFT     1e-4
#define MAX_PACKETS     4096 /* the evaluation looks at all of them for each */

static double constant(const pfc_trace_header *header, const char *key)
{
    const char *text = pfc_trace_meta_value(header, key);
    int64_t value = 0;

    return text && pfc_parse_i64(text, 0, 1000000000, key, &value, NULL) == PFC_OK ? (double)value
                                                                                   : 0.0;
}

void pfc_path_region_begin(pfc_path_region *r, const pfc_trace_header *header)
{
    pfc_path_host *h = &r->host;
    const double launch = constant(header, "chip_launch_ns");

    h->call = constant(header, "chip_host_call_ns");
    h->doorbell = constant(header, "chip_host_doorbell_ns");
    h->latency = constant(header, "chip_pcie_latency_ns");
    h->fetch = constant(header, "chip_queue_fetch_ns");
    h->semaphore = constant(header, "chip_queue_semaphore_ns");
    h->interrupt = constant(header, "chip_host_irq_ns");
    h->poll = constant(header, "chip_host_poll_ns");
    h->dispatch = fmax(launch - 3 * h->latency - h->fetch, 0);
}

/* ---- records ---- */

static pfc_code wrong(const pfc_trace_record *record, const char *what, pfc_err *err)
{
    return pfc_err_set(err, PFC_EINVAL, "tick %" PRIu64 " of the trace: %s %" PRIu32, record->ticks,
                       what, record->corr);
}

/* The packet of a correlation id; NULL: no call submitted one under it. */
static pfc_path_packet *packet_of(const pfc_path_region *r, uint32_t corr)
{
    return corr < r->packet_of_len && r->packet_of[corr] != PFC_PATH_NONE
               ? &r->packets[r->packet_of[corr]]
               : NULL;
}

static pfc_code submit(pfc_path_region *r, const pfc_trace_record *record, uint32_t queue,
                       pfc_err *err)
{
    pfc_path_packet p = { .queue = queue, .before = PFC_PATH_NONE };

    if (!r->open || record->corr >= MAX_CORRELATION)
        return wrong(record, "a command is submitted outside of a call, under the id", err);
    while (record->corr >= r->packet_of_len) {
        const size_t more = PFC_MAX(64, 2 * r->packet_of_len);

        r->packet_of = pfc_realloc(r->packet_of, more, sizeof(*r->packet_of));
        memset(r->packet_of + r->packet_of_len, 0xff,
               (more - r->packet_of_len) * sizeof(*r->packet_of));
        r->packet_of_len = more;
    }
    if (r->packet_of[record->corr] != PFC_PATH_NONE)
        return wrong(record, "a call submits a second command, under the id", err);
    if (r->packets_len == MAX_PACKETS)
        return pfc_err_set(err, PFC_ETOOBIG, "the region has more than %d commands of the host",
                           MAX_PACKETS);
    for (size_t i = r->packets_len; i-- > 0 && p.before == PFC_PATH_NONE;)
        if (r->packets[i].queue == queue)
            p.before = (uint32_t)i;
    r->packets = pfc_grow(r->packets, r->packets_len, &r->packets_cap, sizeof(*r->packets));
    r->packet_of[record->corr] = (uint32_t)r->packets_len;
    r->calls[r->calls_len - 1].packet = (uint32_t)r->packets_len;
    r->packets[r->packets_len++] = p;
    return PFC_OK;
}

static pfc_code take_host(pfc_path_region *r, const pfc_trace_header *header,
                          const pfc_trace_record *record, double ns, pfc_err *err)
{
    switch (record->type) {
    case PFC_TRACE_API_ENTER:
        if (r->open)
            return wrong(record, "a call is entered within another one, under the id", err);
        r->calls = pfc_grow(r->calls, r->calls_len, &r->calls_cap, sizeof(*r->calls));
        r->calls[r->calls_len++] =
            (pfc_path_call){ .enter = ns, .packet = PFC_PATH_NONE, .awaited = PFC_PATH_NONE };
        r->open = true;
        return PFC_OK;
    case PFC_TRACE_API_EXIT:
        if (!r->open)
            return wrong(record, "a call returns that was not entered, under the id", err);
        r->calls[r->calls_len - 1].exit = ns;
        r->open = false;
        return PFC_OK;
    case PFC_TRACE_SUBMIT:
        for (uint32_t i = 0; i < header->units_len; i++)
            if (header->units[i].id == record->a)
                return submit(r, record, i, err);
        return PFC_OK;
    case PFC_TRACE_IRQ_HANDLED:
        if (r->open && packet_of(r, record->corr)) {
            r->calls[r->calls_len - 1].awaited = r->packet_of[record->corr];
            r->calls[r->calls_len - 1].interrupt = true;
        }
        return PFC_OK;
    default:
        return PFC_OK;
    }
}

static void take_device(pfc_path_packet *p, uint16_t kind, const pfc_trace_record *record,
                        double ns)
{
    switch (record->type) {
    case PFC_TRACE_DMA_ISSUE:
        p->kind = PFC_PACKET_IN;
        p->took = -ns;
        break;
    case PFC_TRACE_KERNEL_BEGIN:
        p->kind = PFC_PACKET_KERNEL;
        p->took = -ns;
        break;
    case PFC_TRACE_DMA_DONE:
    case PFC_TRACE_KERNEL_END:
        p->took = fmax(p->took + ns, 0);
        p->ended = ns;
        break;
    case PFC_TRACE_SEM_SIGNAL:
    case PFC_TRACE_SEM_WAIT:
        if (kind != PFC_TRACE_KIND_QUEUE)
            break;
        p->kind = record->type == PFC_TRACE_SEM_WAIT ? PFC_PACKET_WAIT : PFC_PACKET_SIGNAL;
        p->semaphore = record->a;
        p->value = record->b;
        break;
    default:
        break;
    }
}

/* The host's time in the middle of its two readings. */
static double pair_middle(const pfc_trace_header *header, const pfc_trace_record *record)
{
    for (size_t i = 0; i < header->units_len; i++)
        if (header->units[i].kind == PFC_TRACE_KIND_HOST)
            return ((double)record->a + (double)record->b) / 2 * 1e9 /
                   (double)header->clocks[header->units[i].clock].nominal_hz;
    return 0;
}

pfc_code pfc_path_region_take(pfc_path_region *r, const pfc_trace_header *header, size_t unit,
                              const pfc_trace_record *record, pfc_err *err)
{
    const pfc_trace_unit *u = &header->units[unit];
    const double tick_ns = 1e9 / (double)header->clocks[u->clock].nominal_hz;
    const double ns = (double)record->ticks * tick_ns;
    const bool outside = u->kind == PFC_TRACE_KIND_QUEUE || u->kind == PFC_TRACE_KIND_LINK;
    pfc_path_packet *p = packet_of(r, record->corr);

    if (record->type == PFC_TRACE_CLOCK_PAIR && !r->paired) {
        r->paired = true;
        r->host_ahead = pair_middle(header, record) - ns;
    }
    if (u->kind == PFC_TRACE_KIND_HOST)
        return take_host(r, header, record, ns, err);
    if (!outside || !p)
        return PFC_OK;
    r->tick_ns = tick_ns;
    take_device(p, u->kind, record, ns);
    /* The link to the device comes first in the header, the one from it second. */
    if (record->type == PFC_TRACE_DMA_ISSUE)
        for (size_t i = 0; i < unit; i++)
            if (header->units[i].kind == PFC_TRACE_KIND_LINK)
                p->kind = PFC_PACKET_OUT;
    return PFC_OK;
}

bool pfc_path_has_region(const pfc_path_region *r)
{
    return r->packets_len > 0;
}

/* A call that took longer than its own work, without an interrupt, polled for a command: the newest
 * one, of the `submitted` first, that was over by then. The clocks of host and device drift apart,
 * so times of both are compared with a tolerance. */
static void find_polled(const pfc_path_region *r, pfc_path_call *c, uint32_t submitted)
{
    const pfc_path_host *h = &r->host;
    const double own = h->call + (c->packet != PFC_PATH_NONE ? h->doorbell : 0);
    const double drift = 1 + CLOCK_DRIFT * (c->exit - r->calls[r->first].enter);
    double newest = 0;

    if (c->awaited != PFC_PATH_NONE || c->exit - c->enter <= own + drift)
        return;
    for (uint32_t i = 0; i < submitted; i++) {
        const pfc_path_packet *p = &r->packets[i];

        if (p->ended > newest && p->ended + r->host_ahead + h->latency <= c->exit + drift) {
            newest = p->ended;
            c->awaited = i;
        }
    }
}

pfc_code pfc_path_region_close(pfc_path_region *r, pfc_err *err)
{
    uint32_t submitted = 0;

    if (r->open)
        return pfc_err_set(err, PFC_EINVAL, "the last call of the host did not return");
    while (r->first < r->calls_len && r->calls[r->first].packet == PFC_PATH_NONE)
        r->first++;
    for (size_t i = r->first; i < r->calls_len; i++) {
        if (r->calls[i].packet != PFC_PATH_NONE)
            submitted = r->calls[i].packet + 1;
        find_polled(r, &r->calls[i], submitted);
    }
    return PFC_OK;
}

void pfc_path_region_clear(pfc_path_region *r)
{
    free(r->packets);
    free(r->calls);
    free(r->packet_of);
    *r = (pfc_path_region){ 0 };
}

/* ---- evaluation ---- */

typedef struct eval {
    pfc_path_region *r;
    pfc_path_host h; /* without the resource */
    bool no_copies;
    double kernels;
    double link_free[2], device_free; /* to the device, from it */
    uint32_t link_last[2], device_last;
    uint32_t submitted; /* packets up to here are in their queues */
} eval;

/* The signal that ends a wait: the one whose value reaches it first; NULL: not known yet. */
static const pfc_path_packet *signal_of(const eval *e, const pfc_path_packet *wait, uint32_t *which)
{
    const pfc_path_packet *best = NULL;

    for (uint32_t i = 0; i < e->submitted; i++) {
        const pfc_path_packet *p = &e->r->packets[i];

        if (p->done && p->kind == PFC_PACKET_SIGNAL && p->semaphore == wait->semaphore &&
            p->value >= wait->value && (!best || p->raised < best->raised)) {
            best = p;
            *which = i;
        }
    }
    return best;
}

/* When the packet can be executed; NAN: that is not known yet. */
static double ready_at(const eval *e, const pfc_path_packet *p, uint32_t *signal)
{
    const pfc_path_packet *before = p->before == PFC_PATH_NONE ? NULL : &e->r->packets[p->before];
    const pfc_path_packet *s;
    double at;

    *signal = PFC_PATH_NONE;
    if (before && !before->done)
        return (double)NAN;
    at = before ? fmax(before->end, p->fetched) : p->fetched;
    if (p->kind != PFC_PACKET_WAIT)
        return at;
    s = signal_of(e, p, signal);
    return s ? fmax(at, s->raised) : (double)NAN;
}

static void execute(eval *e, uint32_t which, double ready, uint32_t signal)
{
    pfc_path_packet *p = &e->r->packets[which];
    const bool up = p->kind == PFC_PACKET_OUT;
    const double took = p->kind == PFC_PACKET_KERNEL ? p->took * e->kernels
                        : e->no_copies               ? 0
                                                     : p->took;

    p->ready = p->begin = p->end = ready;
    p->cause = signal;
    p->done = true;
    switch (p->kind) {
    case PFC_PACKET_IN:
    case PFC_PACKET_OUT:
        p->begin = ready + (up ? 0 : 2 * e->h.latency);
        if (e->link_free[up] > p->begin) {
            p->begin = e->link_free[up];
            p->cause = e->link_last[up];
        }
        p->end = e->link_free[up] = p->begin + took;
        e->link_last[up] = which;
        break;
    case PFC_PACKET_KERNEL:
        p->begin = ready + e->h.dispatch;
        if (e->device_free > p->begin) {
            p->begin = e->device_free;
            p->cause = e->device_last;
        }
        p->end = e->device_free = p->begin + took;
        e->device_last = which;
        break;
    case PFC_PACKET_SIGNAL:
        p->raised = ready + e->h.semaphore;
        break;
    case PFC_PACKET_WAIT:
    case PFC_PACKET_NONE:
        break;
    }
}

/* Executes what is ready first, at most at `until`; false: there is nothing. */
static bool advance(eval *e, double until)
{
    double best = INFINITY;
    uint32_t which = PFC_PATH_NONE;
    uint32_t signal = PFC_PATH_NONE;

    for (uint32_t i = 0; i < e->submitted; i++) {
        uint32_t by;
        double at;

        if (e->r->packets[i].done)
            continue;
        at = ready_at(e, &e->r->packets[i], &by);
        if (at < best) {
            best = at;
            which = i;
            signal = by;
        }
    }
    if (which == PFC_PATH_NONE || best > until)
        return false;
    execute(e, which, best, signal);
    return true;
}

static void put(eval *e, uint32_t which, double at)
{
    pfc_path_packet *p = &e->r->packets[which];
    const double free_at = p->before == PFC_PATH_NONE ? 0 : e->r->packets[p->before].fetched;

    p->arrived = at + 3 * e->h.latency;
    p->fetched = fmax(p->arrived, free_at) + e->h.fetch;
    p->done = false;
    e->submitted = which + 1;
}

/* The host's clock after it waited from `at` on for a packet. */
static double waited(eval *e, const pfc_path_call *c, double at)
{
    const pfc_path_packet *p = &e->r->packets[c->awaited];
    double there;

    while (c->awaited < e->submitted && !p->done)
        if (!advance(e, INFINITY))
            return at;
    there = p->end + e->h.latency;
    if (there <= at)
        return at;
    if (c->interrupt)
        return there + e->h.interrupt;
    return e->h.poll > 0 ? at + ceil((there - at) / e->h.poll) * e->h.poll : there;
}

double pfc_path_region_evaluate(pfc_path_region *r, pfc_resource without, double kernels)
{
    eval e = { .r = r, .h = r->host, .kernels = kernels };
    double now = r->first < r->calls_len ? r->calls[r->first].enter : 0;
    const double begin = now;

    if (without == PFC_RESOURCE_HOST)
        e.h = (pfc_path_host){ .latency = r->host.latency };
    e.no_copies = without == PFC_RESOURCE_PCIE;
    if (e.no_copies)
        e.h.latency = 0;
    for (size_t i = r->first; i < r->calls_len; i++) {
        pfc_path_call *c = &r->calls[i];

        c->began = now;
        now += e.h.call;
        if (c->packet != PFC_PATH_NONE) {
            now += e.h.doorbell;
            put(&e, c->packet, now);
        }
        c->submitted = now;
        if (c->awaited != PFC_PATH_NONE)
            now = waited(&e, c, now);
        c->left = now;
    }
    return now - begin;
}
