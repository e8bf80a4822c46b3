/*
 * The device's side: it fetches the commands of its queues, executes each queue in order, and
 * serves what becomes ready first. Nothing here is earlier than what was done before, so following
 * the queues up to the host's clock is exact: the host can only add commands that arrive later.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/driver/parts.h"

uint64_t pfc_accel_edge(uint64_t at)
{
    const uint64_t past = at % PFC_ACCEL_INSTANTS_OF_CYCLE;

    return past ? at + PFC_ACCEL_INSTANTS_OF_CYCLE - past : at;
}

bool pfc_accel_has(const pfc_accel_device *dev, pfc_accel_resource r)
{
    return !(dev->without & (1u << r));
}

uint64_t pfc_accel_ns_of(const pfc_accel_device *dev, pfc_accel_resource r, uint64_t ns)
{
    return pfc_accel_has(dev, r) ? ns * dev->chip.clock_mhz : 0;
}

static uint64_t link_latency(const pfc_accel_device *dev)
{
    return pfc_accel_ns_of(dev, PFC_ACCEL_RESOURCE_PCIE, dev->chip.pcie_latency_ns);
}

/* ---- queues as data ---- */

static void grow(pfc_accel_queue *q)
{
    const size_t cap = q->cap ? 2 * q->cap : 16;
    pfc_accel_packet *packets = pfc_calloc(cap, sizeof(*packets));

    for (size_t i = 0; i < q->len; i++)
        packets[i] = *pfc_accel_queue_at(q, i);
    free(q->packets);
    q->packets = packets;
    q->first = 0;
    q->cap = cap;
}

/* The device reads the command over the link and decodes it; reads of several overlap. */
static void fetch(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_packet *packet)
{
    pfc_accel_queue *q = &dev->queues[stream];
    const uint64_t there = pfc_accel_edge(dev->host + 3 * link_latency(dev));
    const uint64_t begin = PFC_MAX(there, q->fetch_free);

    packet->fetched = q->fetch_free = pfc_accel_edge(
        begin + pfc_accel_ns_of(dev, PFC_ACCEL_RESOURCE_HOST, dev->chip.queue_fetch_ns));
    pfc_accel_trace_device(dev, begin, PFC_TRACE_FETCH, pfc_accel_trace_stream(stream),
                           packet->correlation, packet->number,
                           (packet->fetched - begin) / PFC_ACCEL_INSTANTS_OF_CYCLE);
}

void pfc_accel_queue_add(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_packet *packet)
{
    pfc_accel_queue *q = &dev->queues[stream];

    packet->number = ++q->submitted;
    fetch(dev, stream, packet);
    if (q->len == q->cap)
        grow(q);
    q->packets[(q->first + q->len++) & (q->cap - 1)] = *packet;
}

void pfc_accel_packet_clear(pfc_accel_packet *packet)
{
    if (packet->run)
        pfc_accel_tracer_drop(packet->run->tracer);
    free(packet->run);
    packet->run = NULL;
}

void pfc_accel_queues_clear(pfc_accel_device *dev)
{
    for (size_t s = 0; s < PFC_ACCEL_MAX_STREAMS; s++) {
        pfc_accel_queue *q = &dev->queues[s];

        for (size_t i = 0; i < q->len; i++)
            pfc_accel_packet_clear(pfc_accel_queue_at(q, i));
        free(q->packets);
        *q = (pfc_accel_queue){ 0 };
    }
    free(dev->raises);
    dev->raises = NULL;
    dev->raises_len = dev->raises_cap = 0;
}

/* ---- semaphores ---- */

void pfc_accel_raise_at(pfc_accel_device *dev, const pfc_accel_raise *raise)
{
    dev->raises = pfc_grow(dev->raises, dev->raises_len, &dev->raises_cap, sizeof(*dev->raises));
    dev->raises[dev->raises_len++] = *raise;
}

/* Queues see the value: those that wait for it are ready from now on. */
static void raise_now(pfc_accel_device *dev, size_t which)
{
    const pfc_accel_raise raise = dev->raises[which];
    pfc_accel_sem *sem = &dev->semaphores[raise.semaphore];

    memmove(&dev->raises[which], &dev->raises[which + 1],
            (--dev->raises_len - which) * sizeof(*dev->raises));
    if (sem->generation != raise.generation || sem->value >= raise.value)
        return;
    sem->value = raise.value;
    pfc_accel_trace_device(dev, raise.at, PFC_TRACE_SEM_SIGNAL, raise.unit, raise.correlation,
                           raise.semaphore, raise.value);
    for (uint32_t s = 0; s < dev->streams_len; s++) {
        pfc_accel_queue *q = &dev->queues[s];
        pfc_accel_packet *p = q->len ? pfc_accel_queue_at(q, 0) : NULL;

        if (p && p->kind == PFC_ACCEL_PACKET_WAIT && p->semaphore == raise.semaphore)
            p->fetched = PFC_MAX(p->fetched, raise.at);
    }
}

/* ---- execution ---- */

static uint64_t cycles(uint64_t n)
{
    return n * PFC_ACCEL_INSTANTS_OF_CYCLE;
}

static uint64_t occupy(pfc_accel_device *dev, const pfc_accel_packet *p, uint64_t ready,
                       uint64_t wire, bool up)
{
    uint64_t *link_free = up ? &dev->up_free : &dev->down_free;
    const uint16_t unit = PFC_ACCEL_TRACE_LINK + up;
    const uint64_t begin = PFC_MAX(pfc_accel_edge(ready), *link_free);
    const uint64_t end = begin + (pfc_accel_has(dev, PFC_ACCEL_RESOURCE_PCIE) ? cycles(wire) : 0);

    *link_free = end;
    dev->stats.copies++;
    dev->counters.v[up ? PFC_ACCEL_PCIE_UP : PFC_ACCEL_PCIE_DOWN] += p->bytes;
    dev->counters.v[PFC_ACCEL_PCIE_BUSY] += (end - begin) / PFC_ACCEL_INSTANTS_OF_CYCLE;
    pfc_accel_trace_device(dev, begin, PFC_TRACE_DMA_ISSUE, unit, p->correlation, p->number,
                           p->bytes);
    pfc_accel_trace_device(dev, end, PFC_TRACE_DMA_DONE, unit, p->correlation, p->number, p->bytes);
    return end;
}

/* The bytes at a device address; submission has checked and touched them. */
static uint8_t *bytes_at(pfc_accel_device *dev, pfc_accel_ptr at)
{
    pfc_accel_range *range = NULL;

    if (pfc_accel_heap_find(&dev->heap, at, 1, "", &range, NULL))
        return NULL;
    return range->data + (at - range->at);
}

/* The device reads host memory: a request crosses the link, the bytes come back. */
static uint64_t copy_in(pfc_accel_device *dev, const pfc_accel_packet *p, uint64_t ready)
{
    if (!dev->timing_only)
        memcpy(bytes_at(dev, p->at), p->from, p->bytes);
    return occupy(dev, p, ready + 2 * link_latency(dev),
                  pfc_accel_pcie_read_cycles(&dev->chip, p->bytes), false);
}

static uint64_t copy_out(pfc_accel_device *dev, const pfc_accel_packet *p, uint64_t ready)
{
    if (!dev->timing_only)
        memcpy(p->to, bytes_at(dev, p->at), p->bytes);
    return occupy(dev, p, ready, pfc_accel_pcie_wire_cycles(&dev->chip, p->bytes), true);
}

static pfc_accel_known *known_of(pfc_accel_device *dev, const pfc_accel_packet *p)
{
    if (!p->same || dev->trace || p->run->tracer || p->run->detail || !p->run->timing_only)
        return NULL;
    for (size_t i = 0; i < PFC_ACCEL_KNOWN; i++)
        if (dev->known[i].same == p->same &&
            memcmp(dev->known[i].addr, p->run->addr, sizeof(p->run->addr)) == 0)
            return &dev->known[i];
    return NULL;
}

static void remember(pfc_accel_device *dev, const pfc_accel_packet *p)
{
    pfc_accel_known *known = &dev->known[dev->known_next];

    if (!p->same)
        return;
    dev->known_next = (dev->known_next + 1) % PFC_ACCEL_KNOWN;
    known->same = p->same;
    memcpy(known->addr, p->run->addr, sizeof(known->addr));
    known->counters = p->run->counters;
}

/* Runs the engine; the kernel begins at `begin`. */
static pfc_code execute(pfc_accel_device *dev, pfc_accel_packet *p, uint64_t begin, pfc_err *err)
{
    const pfc_accel_known *known = known_of(dev, p);
    pfc_accel_run *run = p->run;
    pfc_code code;

    if (known) {
        run->counters = known->counters;
        return PFC_OK;
    }
    if (dev->trace)
        run->tracer = pfc_accel_trace_kernel(dev, run->program, p->correlation, begin);
    code = pfc_accel_execute(run, err);
    if (code)
        pfc_accel_tracer_drop(run->tracer);
    else
        code = pfc_accel_tracer_close(run->tracer, err);
    run->tracer = NULL;
    if (!code && !run->ideal)
        code = pfc_accel_counters_check(&run->counters, &dev->chip, err);
    if (!code && run->detail)
        code = pfc_accel_detail_check(run->detail, &run->counters, err);
    if (!code)
        remember(dev, p);
    return code;
}

/* From a command that is fetched to the kernel's first one: what launch_ns has beyond the way
 * through the link and the queue. */
static uint64_t dispatch(const pfc_accel_device *dev)
{
    const uint64_t before = 3 * dev->chip.pcie_latency_ns + dev->chip.queue_fetch_ns;
    const uint64_t ns = dev->chip.launch_ns > before ? dev->chip.launch_ns - before : 0;

    return pfc_accel_ns_of(dev, PFC_ACCEL_RESOURCE_HOST, ns);
}

static uint64_t launch(pfc_accel_device *dev, pfc_accel_queue *q, pfc_accel_packet *p,
                       uint64_t ready)
{
    const uint64_t begin = PFC_MAX(pfc_accel_edge(ready + dispatch(dev)), dev->chip_free);
    uint64_t end;

    dev->stats.launches++;
    pfc_accel_trace_flush(dev);
    if (execute(dev, p, begin, &q->failure))
        return begin;
    end = begin + cycles(p->run->counters.v[PFC_ACCEL_CYCLES]);
    dev->chip_free = end;
    pfc_accel_counters_add(&dev->counters, &p->run->counters);
    if (p->counters)
        *p->counters = p->run->counters;
    return end;
}

static void signal(pfc_accel_device *dev, pfc_accel_stream stream, const pfc_accel_packet *p,
                   uint64_t at)
{
    const uint64_t latency =
        pfc_accel_ns_of(dev, PFC_ACCEL_RESOURCE_HOST, dev->chip.queue_semaphore_ns);
    pfc_accel_sem *sem = &dev->semaphores[p->semaphore];

    sem->signalled = PFC_MAX(sem->signalled, p->value);
    pfc_accel_raise_at(dev, &(pfc_accel_raise){ .at = pfc_accel_edge(at + latency),
                                                .semaphore = p->semaphore,
                                                .generation = sem->generation,
                                                .value = p->value,
                                                .correlation = p->correlation,
                                                .unit = pfc_accel_trace_stream(stream) });
    if (p->kind == PFC_ACCEL_PACKET_RECORD) {
        dev->events[p->event].done = p->value;
        dev->events[p->event].at = at;
    }
}

/* A wait that begins; false: its value is not there yet. */
static bool wait_over(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_packet *p,
                      uint64_t at)
{
    if (!p->waiting)
        pfc_accel_trace_device(dev, at, PFC_TRACE_SEM_WAIT, pfc_accel_trace_stream(stream),
                               p->correlation, p->semaphore, p->value);
    p->waiting = true;
    return dev->semaphores[p->semaphore].value >= p->value;
}

/* Executes the head of a queue, which is ready. */
static void execute_head(pfc_accel_device *dev, pfc_accel_stream stream, uint64_t ready)
{
    pfc_accel_queue *q = &dev->queues[stream];
    pfc_accel_packet *p = pfc_accel_queue_at(q, 0);
    uint64_t end = ready;

    switch (p->kind) {
    case PFC_ACCEL_PACKET_COPY_IN:
        end = copy_in(dev, p, ready);
        break;
    case PFC_ACCEL_PACKET_COPY_OUT:
        end = copy_out(dev, p, ready);
        break;
    case PFC_ACCEL_PACKET_LAUNCH:
        end = launch(dev, q, p, ready);
        break;
    case PFC_ACCEL_PACKET_WAIT:
        if (!wait_over(dev, stream, p, ready))
            return;
        dev->semaphores[p->semaphore].uses--;
        break;
    case PFC_ACCEL_PACKET_SIGNAL:
    case PFC_ACCEL_PACKET_RECORD:
        signal(dev, stream, p, ready);
        dev->semaphores[p->semaphore].uses--;
        break;
    }
    q->end = end;
    q->over = p->number;
    q->end_correlation = p->correlation;
    pfc_accel_packet_clear(p);
    q->first = (q->first + 1) & (q->cap - 1);
    q->len--;
}

/* The instant at which the head of a queue is ready; NO_INSTANT: not known, or no head. */
static uint64_t ready_at(const pfc_accel_device *dev, const pfc_accel_queue *q)
{
    const pfc_accel_packet *p = q->len ? pfc_accel_queue_at(q, 0) : NULL;

    if (!p)
        return PFC_ACCEL_NO_INSTANT;
    if (p->kind == PFC_ACCEL_PACKET_WAIT && p->waiting &&
        dev->semaphores[p->semaphore].value < p->value)
        return PFC_ACCEL_NO_INSTANT;
    return PFC_MAX(p->fetched, q->end);
}

/* Does what is next, at most at `until`; false: there is nothing. */
static bool step(pfc_accel_device *dev, uint64_t until)
{
    uint64_t best = PFC_ACCEL_NO_INSTANT;
    size_t raise = SIZE_MAX;
    uint32_t stream = 0;

    for (size_t i = 0; i < dev->raises_len; i++) {
        if (dev->raises[i].at < best) {
            best = dev->raises[i].at;
            raise = i;
        }
    }
    for (uint32_t s = 0; s < dev->streams_len; s++) {
        const uint64_t at = ready_at(dev, &dev->queues[s]);

        if (at < best) {
            best = at;
            raise = SIZE_MAX;
            stream = s;
        }
    }
    if (best == PFC_ACCEL_NO_INSTANT || best > until)
        return false;
    dev->device = PFC_MAX(dev->device, best);
    if (raise != SIZE_MAX)
        raise_now(dev, raise);
    else
        execute_head(dev, stream, best);
    return true;
}

void pfc_accel_queues_advance(pfc_accel_device *dev, uint64_t until)
{
    while (step(dev, until))
        ;
    dev->device = PFC_MAX(dev->device, until);
}

pfc_code pfc_accel_queues_finish(pfc_accel_device *dev, pfc_accel_stream stream, uint64_t number,
                                 pfc_err *err)
{
    while (dev->queues[stream].over < number)
        if (!step(dev, PFC_ACCEL_NO_INSTANT - 1))
            return pfc_accel_deadlock(dev, stream, err);
    return PFC_OK;
}
