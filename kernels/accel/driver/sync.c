/* Events, semaphores, and waits of one stream for another. */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/driver/parts.h"

/* ---- handles: index, kind, generation of the place, and a mark of the device ---- */

#define INDEX_BITS      15
#define EVENT_BIT       (UINT64_C(1) << INDEX_BITS)
#define GENERATION_BITS 24

static uint64_t handle_of(const pfc_accel_device *dev, size_t index, uint32_t generation,
                          bool event)
{
    const uint64_t mark = (uint64_t)(uintptr_t)dev >> 6;

    return (mark << (INDEX_BITS + 1 + GENERATION_BITS)) |
           ((uint64_t)(generation & ((1u << GENERATION_BITS) - 1)) << (INDEX_BITS + 1)) |
           (event ? EVENT_BIT : 0) | (index + 1);
}

static size_t index_of(uint64_t handle)
{
    return (size_t)(handle & (EVENT_BIT - 1)) - 1;
}

static pfc_code find_semaphore(const pfc_accel_device *dev, pfc_accel_semaphore handle, size_t *out,
                               pfc_err *err)
{
    const size_t at = index_of(handle);

    if (at >= dev->semaphores_len || dev->semaphores[at].hidden ||
        dev->semaphores[at].generation % 2 == 0 ||
        handle != handle_of(dev, at, dev->semaphores[at].generation, false))
        return pfc_err_set(err, PFC_EINVAL,
                           "semaphore 0x%llx: not one of this device (freed before, of another "
                           "device, or never made)",
                           (unsigned long long)handle);
    *out = at;
    return PFC_OK;
}

static pfc_code find_event(const pfc_accel_device *dev, pfc_accel_event handle, size_t *out,
                           pfc_err *err)
{
    const size_t at = index_of(handle);

    if (at >= dev->events_len || dev->events[at].generation % 2 == 0 ||
        handle != handle_of(dev, at, dev->events[at].generation, true))
        return pfc_err_set(err, PFC_EINVAL,
                           "event 0x%llx: not one of this device (freed before, of another "
                           "device, or never made)",
                           (unsigned long long)handle);
    *out = at;
    return PFC_OK;
}

/* ---- semaphores as places ---- */

static size_t take_place(pfc_accel_device *dev, bool hidden)
{
    size_t at = 0;
    uint32_t generation;

    while (at < dev->semaphores_len && dev->semaphores[at].generation % 2)
        at++;
    if (at == dev->semaphores_len) {
        dev->semaphores = pfc_grow(dev->semaphores, dev->semaphores_len, &dev->semaphores_cap,
                                   sizeof(*dev->semaphores));
        dev->semaphores[dev->semaphores_len++] = (pfc_accel_sem){ 0 };
    }
    generation = dev->semaphores[at].generation + 1;
    dev->semaphores[at] = (pfc_accel_sem){ .generation = generation, .hidden = hidden };
    return at;
}

static pfc_code give_place(pfc_accel_device *dev, size_t at, const char *what, pfc_err *err)
{
    if (dev->semaphores[at].uses)
        return pfc_err_set(err, PFC_ECONFLICT, "%s: in use by commands that are not over: %u", what,
                           dev->semaphores[at].uses);
    dev->semaphores[at].generation++;
    return PFC_OK;
}

/* Puts a command into a queue that uses the semaphore. */
static pfc_code submit(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_packet_kind kind,
                       size_t semaphore, uint64_t value, size_t event, pfc_err *err)
{
    pfc_accel_packet p = { .kind = kind, .semaphore = semaphore, .value = value, .event = event };
    pfc_code code = pfc_accel_submit(dev, stream, &p, err);

    if (!code)
        dev->semaphores[semaphore].uses++;
    return code;
}

/* ---- streams ---- */

/* `other` raises a semaphore of its own, for which `stream` waits. */
static pfc_code wait_for(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_stream other,
                         pfc_err *err)
{
    pfc_accel_queue *q = &dev->queues[other];
    pfc_code code;

    if (!q->has_semaphore)
        q->semaphore = take_place(dev, true);
    q->has_semaphore = true;
    code = submit(dev, other, PFC_ACCEL_PACKET_SIGNAL, q->semaphore, q->marks + 1, 0, err);
    if (!code)
        code = submit(dev, stream, PFC_ACCEL_PACKET_WAIT, q->semaphore, ++q->marks, 0, err);
    return code;
}

pfc_code pfc_accel_stream_wait(pfc_accel_device *dev, pfc_accel_stream stream,
                               pfc_accel_stream other, pfc_err *err)
{
    pfc_code code = pfc_accel_enter_stream(dev, PFC_ACCEL_CALL_WAIT, stream, err);

    if (code)
        return code;
    if (other >= dev->streams_len)
        code = pfc_err_set(err, PFC_EINVAL, "%s: there is no stream %u", dev->chip.name, other);
    else if (other != stream) /* a stream is always in order */
        code = wait_for(dev, stream, other, err);
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_WAIT, code);
}

/* ---- semaphores ---- */

pfc_code pfc_accel_semaphore_new(pfc_accel_device *dev, pfc_accel_semaphore *out, pfc_err *err)
{
    size_t at;
    pfc_code code = pfc_accel_enter(dev, PFC_ACCEL_CALL_SEMAPHORE, err);

    if (code)
        return code;
    if (dev->semaphores_used == PFC_ACCEL_MAX_SEMAPHORES) {
        code = pfc_err_set(err, PFC_ETOOBIG, "%s: expected at most %d semaphores", dev->chip.name,
                           PFC_ACCEL_MAX_SEMAPHORES);
    } else {
        dev->semaphores_used++;
        at = take_place(dev, false);
        *out = handle_of(dev, at, dev->semaphores[at].generation, false);
    }
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_SEMAPHORE, code);
}

pfc_code pfc_accel_semaphore_free(pfc_accel_device *dev, pfc_accel_semaphore semaphore,
                                  pfc_err *err)
{
    size_t at = 0;
    pfc_code code = pfc_accel_enter(dev, PFC_ACCEL_CALL_FREE, err);

    if (code)
        return code;
    code = find_semaphore(dev, semaphore, &at, err);
    if (!code)
        code = give_place(dev, at, "semaphore", err);
    if (!code)
        dev->semaphores_used--;
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_FREE, code);
}

static pfc_code check_value(uint64_t value, pfc_err *err)
{
    return value ? PFC_OK
                 : pfc_err_set(err, PFC_EINVAL, "semaphore: expected a value of at least 1, got 0");
}

static pfc_code use(pfc_accel_device *dev, pfc_accel_call call, pfc_accel_packet_kind kind,
                    pfc_accel_stream stream, pfc_accel_semaphore semaphore, uint64_t value,
                    pfc_err *err)
{
    size_t at = 0;
    pfc_code code = pfc_accel_enter_stream(dev, call, stream, err);

    if (code)
        return code;
    code = find_semaphore(dev, semaphore, &at, err);
    if (!code)
        code = check_value(value, err);
    if (!code)
        code = submit(dev, stream, kind, at, value, 0, err);
    return pfc_accel_leave(dev, call, code);
}

pfc_code pfc_accel_semaphore_signal(pfc_accel_device *dev, pfc_accel_stream stream,
                                    pfc_accel_semaphore semaphore, uint64_t value, pfc_err *err)
{
    return use(dev, PFC_ACCEL_CALL_SIGNAL, PFC_ACCEL_PACKET_SIGNAL, stream, semaphore, value, err);
}

pfc_code pfc_accel_semaphore_wait(pfc_accel_device *dev, pfc_accel_stream stream,
                                  pfc_accel_semaphore semaphore, uint64_t value, pfc_err *err)
{
    return use(dev, PFC_ACCEL_CALL_WAIT, PFC_ACCEL_PACKET_WAIT, stream, semaphore, value, err);
}

pfc_code pfc_accel_semaphore_set(pfc_accel_device *dev, pfc_accel_semaphore semaphore,
                                 uint64_t value, pfc_err *err)
{
    size_t at = 0;
    pfc_code code = pfc_accel_enter(dev, PFC_ACCEL_CALL_SIGNAL, err);

    if (code)
        return code;
    code = find_semaphore(dev, semaphore, &at, err);
    if (!code)
        code = check_value(value, err);
    if (!code) {
        const uint64_t latency =
            pfc_accel_ns_of(dev, PFC_ACCEL_RESOURCE_PCIE, dev->chip.pcie_latency_ns);
        pfc_accel_sem *sem = &dev->semaphores[at];

        sem->signalled = PFC_MAX(sem->signalled, value);
        dev->host += pfc_accel_ns_of(dev, PFC_ACCEL_RESOURCE_HOST, dev->chip.host_doorbell_ns);
        pfc_accel_raise_at(dev, &(pfc_accel_raise){ .at = pfc_accel_edge(dev->host + latency),
                                                    .semaphore = at,
                                                    .generation = sem->generation,
                                                    .value = value,
                                                    .correlation = dev->correlation,
                                                    .unit = PFC_ACCEL_TRACE_LINK });
    }
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_SIGNAL, code);
}

/* ---- events ---- */

static size_t take_event(pfc_accel_device *dev)
{
    size_t at = 0;
    uint32_t generation;

    while (at < dev->events_len && dev->events[at].generation % 2)
        at++;
    if (at == dev->events_len) {
        dev->events =
            pfc_grow(dev->events, dev->events_len, &dev->events_cap, sizeof(*dev->events));
        dev->events[dev->events_len++] = (pfc_accel_ev){ 0 };
    }
    generation = dev->events[at].generation + 1;
    dev->events[at] =
        (pfc_accel_ev){ .generation = generation, .semaphore = take_place(dev, true) };
    return at;
}

pfc_code pfc_accel_event_new(pfc_accel_device *dev, pfc_accel_event *out, pfc_err *err)
{
    pfc_code code = pfc_accel_enter(dev, PFC_ACCEL_CALL_EVENT, err);

    if (code)
        return code;
    if (dev->events_used == PFC_ACCEL_MAX_EVENTS) {
        code = pfc_err_set(err, PFC_ETOOBIG, "%s: expected at most %d events", dev->chip.name,
                           PFC_ACCEL_MAX_EVENTS);
    } else {
        const size_t at = take_event(dev);

        dev->events_used++;
        *out = handle_of(dev, at, dev->events[at].generation, true);
    }
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_EVENT, code);
}

pfc_code pfc_accel_event_free(pfc_accel_device *dev, pfc_accel_event event, pfc_err *err)
{
    size_t at = 0;
    pfc_code code = pfc_accel_enter(dev, PFC_ACCEL_CALL_FREE, err);

    if (code)
        return code;
    code = find_event(dev, event, &at, err);
    if (!code)
        code = give_place(dev, dev->events[at].semaphore, "event", err);
    if (!code) {
        dev->events[at].generation++;
        dev->events_used--;
    }
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_FREE, code);
}

pfc_code pfc_accel_event_record(pfc_accel_device *dev, pfc_accel_event event,
                                pfc_accel_stream stream, pfc_err *err)
{
    size_t at = 0;
    pfc_code code = pfc_accel_enter_stream(dev, PFC_ACCEL_CALL_RECORD, stream, err);

    if (code)
        return code;
    code = find_event(dev, event, &at, err);
    if (!code)
        code = submit(dev, stream, PFC_ACCEL_PACKET_RECORD, dev->events[at].semaphore,
                      dev->events[at].records + 1, at, err);
    if (!code) {
        dev->events[at].records++;
        dev->events[at].stream = stream;
        dev->events[at].number = dev->queues[stream].submitted;
    }
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_RECORD, code);
}

/* The event when it was recorded. */
static pfc_code find_recorded(const pfc_accel_device *dev, pfc_accel_event event, size_t *at,
                              pfc_err *err)
{
    pfc_code code = find_event(dev, event, at, err);

    if (!code && dev->events[*at].records == 0)
        code = pfc_err_set(err, PFC_ECONFLICT, "event 0x%llx was never recorded",
                           (unsigned long long)event);
    return code;
}

pfc_code pfc_accel_event_wait(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_event event,
                              pfc_err *err)
{
    size_t at = 0;
    pfc_code code = pfc_accel_enter_stream(dev, PFC_ACCEL_CALL_WAIT, stream, err);

    if (code)
        return code;
    code = find_recorded(dev, event, &at, err);
    if (!code)
        code = submit(dev, stream, PFC_ACCEL_PACKET_WAIT, dev->events[at].semaphore,
                      dev->events[at].records, 0, err);
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_WAIT, code);
}

pfc_code pfc_accel_event_synchronise(pfc_accel_device *dev, pfc_accel_event event, pfc_err *err)
{
    size_t at = 0;
    pfc_code code = pfc_accel_enter(dev, PFC_ACCEL_CALL_SYNCHRONISE, err);

    if (code)
        return code;
    code = find_recorded(dev, event, &at, err);
    if (!code)
        code = pfc_accel_finish(dev, dev->events[at].stream, dev->events[at].number, err);
    if (!code)
        pfc_accel_await(dev, dev->events[at].stream, dev->events[at].at, dev->correlation);
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_SYNCHRONISE, code);
}

pfc_code pfc_accel_event_query(pfc_accel_device *dev, pfc_accel_event event, bool *done,
                               pfc_err *err)
{
    size_t at = 0;
    pfc_code code = pfc_accel_enter(dev, PFC_ACCEL_CALL_QUERY, err);

    if (code)
        return code;
    code = find_recorded(dev, event, &at, err);
    if (!code)
        *done = dev->events[at].done == dev->events[at].records &&
                pfc_accel_visible(dev, dev->events[at].at);
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_QUERY, code);
}

static pfc_code find_done(const pfc_accel_device *dev, pfc_accel_event event, size_t *at,
                          pfc_err *err)
{
    pfc_code code = find_recorded(dev, event, at, err);

    if (!code && (dev->events[*at].done != dev->events[*at].records ||
                  !pfc_accel_visible(dev, dev->events[*at].at)))
        code = pfc_err_set(err, PFC_ECONFLICT, "event 0x%llx: its record is not over",
                           (unsigned long long)event);
    return code;
}

pfc_code pfc_accel_event_elapsed(pfc_accel_device *dev, pfc_accel_event from, pfc_accel_event to,
                                 double *ns, pfc_err *err)
{
    size_t a = 0;
    size_t b = 0;
    pfc_code code = pfc_accel_enter(dev, PFC_ACCEL_CALL_QUERY, err);

    if (code)
        return code;
    code = find_done(dev, from, &a, err);
    if (!code)
        code = find_done(dev, to, &b, err);
    if (!code)
        *ns = ((double)dev->events[b].at - (double)dev->events[a].at) / (double)dev->chip.clock_mhz;
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_QUERY, code);
}
