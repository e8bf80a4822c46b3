/* The host's side: its clock, what a call costs, and how it waits. */
#include "kernels/accel/driver/parts.h"

pfc_code pfc_accel_look(pfc_accel_device *dev, pfc_err *err)
{
    pthread_mutex_lock(&dev->lock);
    if (dev->open)
        return PFC_OK;
    pthread_mutex_unlock(&dev->lock);
    return pfc_err_set(err, PFC_ECONFLICT, "%s: the device is closed", dev->chip.name);
}

pfc_code pfc_accel_enter(pfc_accel_device *dev, pfc_accel_call call, pfc_err *err)
{
    const pfc_code code = pfc_accel_look(dev, err);

    if (code)
        return code;
    dev->correlation++;
    pfc_accel_trace_clocks(dev);
    pfc_accel_trace_host(dev, PFC_TRACE_API_ENTER, dev->correlation, call, 0);
    dev->host += pfc_accel_ns_of(dev, PFC_ACCEL_RESOURCE_HOST, dev->chip.host_call_ns);
    dev->stats.calls++;
    pfc_accel_queues_advance(dev, dev->host);
    return PFC_OK;
}

pfc_code pfc_accel_enter_stream(pfc_accel_device *dev, pfc_accel_call call, pfc_accel_stream stream,
                                pfc_err *err)
{
    pfc_code code = pfc_accel_enter(dev, call, err);

    if (!code && stream >= dev->streams_len)
        code = pfc_accel_leave(
            dev, call,
            pfc_err_set(err, PFC_EINVAL, "%s: there is no stream %u", dev->chip.name, stream));
    return code;
}

pfc_code pfc_accel_leave(pfc_accel_device *dev, pfc_accel_call call, pfc_code code)
{
    pfc_accel_trace_host(dev, PFC_TRACE_API_EXIT, dev->correlation, call,
                         (uint64_t) - (int64_t)code);
    pfc_accel_trace_flush(dev);
    pthread_mutex_unlock(&dev->lock);
    return code;
}

pfc_code pfc_accel_submit(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_packet *packet,
                          pfc_err *err)
{
    const uint16_t unit = pfc_accel_trace_stream(stream);
    const uint64_t number = dev->queues[stream].submitted + 1;

    if (dev->queues[stream].len >= PFC_ACCEL_MAX_PACKETS) {
        pfc_accel_packet_clear(packet);
        return pfc_err_set(err, PFC_ETOOBIG,
                           "%s: expected at most %d commands of stream %u that are not over",
                           dev->chip.name, PFC_ACCEL_MAX_PACKETS, stream);
    }
    packet->correlation = dev->correlation;
    pfc_accel_trace_host(dev, PFC_TRACE_SUBMIT, dev->correlation, unit, number);
    dev->host += pfc_accel_ns_of(dev, PFC_ACCEL_RESOURCE_HOST, dev->chip.host_doorbell_ns);
    pfc_accel_trace_host(dev, PFC_TRACE_DOORBELL, dev->correlation, unit, number);
    dev->stats.doorbells++;
    pfc_accel_queue_add(dev, stream, packet);
    return PFC_OK;
}

/* ---- waiting ---- */

/* The completion crosses the link. */
static uint64_t arrival(const pfc_accel_device *dev, uint64_t done)
{
    return done + pfc_accel_ns_of(dev, PFC_ACCEL_RESOURCE_PCIE, dev->chip.pcie_latency_ns);
}

static uint64_t whole_ns(const pfc_accel_device *dev, uint64_t at)
{
    const uint64_t past = at % dev->chip.clock_mhz;

    return past ? at + dev->chip.clock_mhz - past : at;
}

bool pfc_accel_visible(const pfc_accel_device *dev, uint64_t done)
{
    return arrival(dev, done) <= dev->host;
}

void pfc_accel_await(pfc_accel_device *dev, pfc_accel_stream stream, uint64_t done,
                     uint32_t correlation)
{
    const uint64_t from = dev->host;
    const uint64_t there = arrival(dev, done);
    const uint64_t period = pfc_accel_ns_of(dev, PFC_ACCEL_RESOURCE_HOST, dev->chip.host_poll_ns);

    if (there <= from)
        return;
    dev->stats.waits++;
    if (dev->completion == PFC_ACCEL_INTERRUPT) {
        dev->stats.interrupts++;
        pfc_accel_trace_device(dev, pfc_accel_edge(PFC_MAX(done, dev->device)), PFC_TRACE_IRQ,
                               pfc_accel_trace_stream(stream), correlation, stream,
                               dev->queues[stream].over);
        dev->host = whole_ns(
            dev, there + pfc_accel_ns_of(dev, PFC_ACCEL_RESOURCE_HOST, dev->chip.host_irq_ns));
        pfc_accel_trace_host(dev, PFC_TRACE_IRQ_HANDLED, correlation, stream,
                             dev->queues[stream].over);
    } else if (period == 0) {
        dev->host = whole_ns(dev, there);
    } else {
        dev->host += ((there - from) / period + ((there - from) % period != 0)) * period;
    }
    dev->stats.wait_ns += (dev->host - from) / dev->chip.clock_mhz;
}

pfc_code pfc_accel_finish(pfc_accel_device *dev, pfc_accel_stream stream, uint64_t number,
                          pfc_err *err)
{
    pfc_code code = pfc_accel_queues_finish(dev, stream, number, err);

    if (code) /* the device was followed until it stood still: the host's clock is not behind it */
        dev->host = PFC_MAX(dev->host, whole_ns(dev, dev->device));
    return code;
}

pfc_code pfc_accel_await_stream(pfc_accel_device *dev, pfc_accel_stream stream, pfc_err *err)
{
    pfc_accel_queue *q = &dev->queues[stream];
    pfc_code code = pfc_accel_finish(dev, stream, q->submitted, err);

    if (code)
        return code;
    pfc_accel_await(dev, stream, q->end, q->end_correlation);
    if (q->failure.code == PFC_OK)
        return PFC_OK;
    if (err)
        *err = q->failure;
    code = q->failure.code;
    q->failure = (pfc_err){ 0 };
    return code;
}
