/* The driver's interface: devices, memory, streams, copies, launches, counters. */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/driver/parts.h"

#define PPM_MAX 1000

/* ---- devices ---- */

static void set_options(pfc_accel_device *dev, const pfc_accel_open_opts *opts)
{
    dev->streams_max = PFC_ACCEL_MAX_STREAMS;
    if (!opts)
        return;
    dev->without = opts->without;
    for (pfc_accel_resource r = 0; r < PFC_ACCEL_RESOURCES_LEN; r++)
        if (!pfc_accel_has(dev, r))
            dev->ideal |= pfc_accel_resource_ideal(r);
    dev->completion = opts->completion;
    dev->timing_only = opts->timing_only;
    if (opts->trace)
        dev->streams_max = PFC_MAX(opts->streams, 1u);
}

pfc_code pfc_accel_open_with(pfc_accel_device **out, const pfc_accel_chip *chip,
                             const pfc_accel_open_opts *opts, pfc_err *err)
{
    pfc_accel_device *dev;
    pfc_code code = PFC_OK;

    if (opts && opts->streams > PFC_ACCEL_MAX_STREAMS)
        return pfc_err_set(err, PFC_EINVAL, "open: expected at most %d streams, got %u",
                           PFC_ACCEL_MAX_STREAMS, opts->streams);
    if (opts && (opts->device_ppm < -PPM_MAX || opts->device_ppm > PPM_MAX))
        return pfc_err_set(err, PFC_EINVAL, "open: expected a clock of %d..%d ppm, got %d",
                           -PPM_MAX, PPM_MAX, opts->device_ppm);
    dev = pfc_alloc(sizeof(*dev));
    if (pthread_mutex_init(&dev->lock, NULL) != 0) {
        free(dev);
        return pfc_err_set(err, PFC_EUNAVAIL, "cannot make a lock for a device");
    }
    dev->chip = *chip;
    dev->open = true;
    dev->heap.capacity = chip->hbm_bytes;
    dev->streams_len = 1;
    set_options(dev, opts);
    if (opts && opts->trace)
        code = pfc_accel_driver_trace_open(dev, opts, err);
    if (code) {
        pfc_accel_device_free(dev);
        return code;
    }
    *out = dev;
    return PFC_OK;
}

pfc_code pfc_accel_open(pfc_accel_device **out, const pfc_accel_chip *chip, pfc_err *err)
{
    return pfc_accel_open_with(out, chip, NULL, err);
}

pfc_code pfc_accel_open_name(pfc_accel_device **out, const char *name_or_path, pfc_err *err)
{
    pfc_accel_chip chip;
    pfc_code code = pfc_accel_chip_load(name_or_path, &chip, err);

    return code ? code : pfc_accel_open(out, &chip, err);
}

static void release(pfc_accel_device *dev)
{
    pfc_accel_queues_clear(dev);
    pfc_accel_heap_clear(&dev->heap);
    free(dev->semaphores);
    free(dev->events);
    dev->semaphores = NULL;
    dev->events = NULL;
    dev->semaphores_len = dev->events_len = 0;
    dev->open = false;
}

pfc_code pfc_accel_close(pfc_accel_device *dev, pfc_err *err)
{
    pfc_code code = pfc_accel_look(dev, err);

    if (code)
        return code;
    pfc_accel_queues_advance(dev, dev->host);
    code = pfc_accel_driver_trace_close(dev, err);
    release(dev);
    pthread_mutex_unlock(&dev->lock);
    return code;
}

void pfc_accel_device_free(pfc_accel_device *dev)
{
    if (!dev)
        return;
    pfc_accel_driver_trace_drop(dev);
    release(dev);
    pthread_mutex_destroy(&dev->lock);
    free(dev);
}

const pfc_accel_chip *pfc_accel_device_chip(const pfc_accel_device *dev)
{
    return &dev->chip;
}

/* ---- memory ---- */

pfc_code pfc_accel_malloc(pfc_accel_device *dev, uint64_t bytes, pfc_accel_ptr *out, pfc_err *err)
{
    pfc_code code = pfc_accel_enter(dev, PFC_ACCEL_CALL_MALLOC, err);

    if (code)
        return code;
    code = pfc_accel_heap_take(&dev->heap, bytes, out, err);
    if (!code)
        pfc_accel_trace_host(dev, PFC_TRACE_ALLOC, dev->correlation, *out, bytes);
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_MALLOC, code);
}

static bool refers_to(const pfc_accel_packet *p, const pfc_accel_range *range)
{
    if (p->kind == PFC_ACCEL_PACKET_COPY_IN || p->kind == PFC_ACCEL_PACKET_COPY_OUT)
        return p->at - range->at < range->bytes;
    for (size_t i = 0; p->kind == PFC_ACCEL_PACKET_LAUNCH && i < p->run->program->args_len; i++)
        if (p->run->program->arg_bytes[i] && p->run->addr[i] - range->at < range->bytes)
            return true;
    return false;
}

static pfc_code check_unused(const pfc_accel_device *dev, const pfc_accel_range *range,
                             pfc_err *err)
{
    for (uint32_t s = 0; s < dev->streams_len; s++)
        for (size_t i = 0; i < dev->queues[s].len; i++)
            if (refers_to(pfc_accel_queue_at(&dev->queues[s], i), range))
                return pfc_err_set(
                    err, PFC_ECONFLICT,
                    "device memory: command %llu of stream %u, which is not over, "
                    "uses the allocation at 0x%llx",
                    (unsigned long long)pfc_accel_queue_at(&dev->queues[s], i)->number, s,
                    (unsigned long long)range->at);
    return PFC_OK;
}

pfc_code pfc_accel_free(pfc_accel_device *dev, pfc_accel_ptr ptr, pfc_err *err)
{
    pfc_accel_range *range = NULL;
    uint64_t bytes = 0;
    pfc_code code = pfc_accel_enter(dev, PFC_ACCEL_CALL_FREE, err);

    if (code)
        return code;
    if (!pfc_accel_heap_find(&dev->heap, ptr, 1, "free", &range, NULL) && range->at == ptr) {
        bytes = range->bytes;
        code = check_unused(dev, range, err);
    }
    if (!code)
        code = pfc_accel_heap_give(&dev->heap, ptr, err);
    if (!code)
        pfc_accel_trace_host(dev, PFC_TRACE_FREE, dev->correlation, ptr, bytes);
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_FREE, code);
}

/* Ends a look. */
static pfc_code seen(pfc_accel_device *dev)
{
    pthread_mutex_unlock(&dev->lock);
    return PFC_OK;
}

pfc_code pfc_accel_memory_free(pfc_accel_device *dev, uint64_t *out, pfc_err *err)
{
    pfc_code code = pfc_accel_look(dev, err);

    if (code)
        return code;
    *out = dev->heap.capacity - dev->heap.used;
    return seen(dev);
}

pfc_code pfc_accel_host_now(pfc_accel_device *dev, uint64_t *ns, pfc_err *err)
{
    pfc_code code = pfc_accel_look(dev, err);

    if (code)
        return code;
    *ns = dev->host / dev->chip.clock_mhz;
    return seen(dev);
}

/* ---- streams ---- */

pfc_code pfc_accel_stream_new(pfc_accel_device *dev, pfc_accel_stream *out, pfc_err *err)
{
    pfc_code code = pfc_accel_enter(dev, PFC_ACCEL_CALL_STREAM, err);

    if (code)
        return code;
    if (dev->streams_len < dev->streams_max)
        *out = dev->streams_len++;
    else
        code = pfc_err_set(err, PFC_ETOOBIG, "%s: expected at most %u streams", dev->chip.name,
                           dev->streams_max);
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_STREAM, code);
}

pfc_code pfc_accel_synchronise(pfc_accel_device *dev, pfc_accel_stream stream, uint64_t *tick,
                               pfc_err *err)
{
    pfc_code code = pfc_accel_enter_stream(dev, PFC_ACCEL_CALL_SYNCHRONISE, stream, err);

    if (code)
        return code;
    code = pfc_accel_await_stream(dev, stream, err);
    if (!code && tick)
        *tick = dev->queues[stream].end / PFC_ACCEL_INSTANTS_OF_CYCLE;
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_SYNCHRONISE, code);
}

pfc_code pfc_accel_stream_query(pfc_accel_device *dev, pfc_accel_stream stream, bool *done,
                                pfc_err *err)
{
    const pfc_accel_queue *q;
    pfc_code code = pfc_accel_enter_stream(dev, PFC_ACCEL_CALL_QUERY, stream, err);

    if (code)
        return code;
    q = &dev->queues[stream];
    *done = q->over == q->submitted && pfc_accel_visible(dev, q->end);
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_QUERY, PFC_OK);
}

/* ---- copies ---- */

/* Checks the copy's range and makes its bytes. */
static pfc_code check_range(pfc_accel_device *dev, pfc_accel_ptr at, uint64_t bytes,
                            const char *what, pfc_err *err)
{
    pfc_accel_range *range = NULL;
    pfc_code code = pfc_accel_heap_find(&dev->heap, at, bytes, what, &range, err);

    if (!code && !dev->timing_only)
        code = pfc_accel_range_touch(range, err);
    return code;
}

static pfc_code copy(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_packet *packet,
                     bool blocks, pfc_err *err)
{
    const bool in = packet->kind == PFC_ACCEL_PACKET_COPY_IN;
    const pfc_accel_call call = in ? PFC_ACCEL_CALL_COPY_IN : PFC_ACCEL_CALL_COPY_OUT;
    pfc_code code = pfc_accel_enter_stream(dev, call, stream, err);

    if (code)
        return code;
    if (packet->bytes == 0)
        return pfc_accel_leave(dev, call, PFC_OK);
    code = check_range(dev, packet->at, packet->bytes,
                       in ? "copy to the device" : "copy from the device", err);
    if (!code && !dev->timing_only && !packet->from && !packet->to)
        code = pfc_err_set(err, PFC_EINVAL, "copy: expected host memory, got NULL");
    if (!code)
        code = pfc_accel_submit(dev, stream, packet, err);
    if (!code && blocks)
        code = pfc_accel_await_stream(dev, stream, err);
    return pfc_accel_leave(dev, call, code);
}

pfc_code pfc_accel_copy_in(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_ptr dst,
                           const void *src, uint64_t bytes, pfc_err *err)
{
    pfc_accel_packet p = {
        .kind = PFC_ACCEL_PACKET_COPY_IN, .at = dst, .from = src, .bytes = bytes
    };

    return copy(dev, stream, &p, true, err);
}

pfc_code pfc_accel_copy_in_async(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_ptr dst,
                                 const void *src, uint64_t bytes, pfc_err *err)
{
    pfc_accel_packet p = {
        .kind = PFC_ACCEL_PACKET_COPY_IN, .at = dst, .from = src, .bytes = bytes
    };

    return copy(dev, stream, &p, false, err);
}

pfc_code pfc_accel_copy_out(pfc_accel_device *dev, pfc_accel_stream stream, void *dst,
                            pfc_accel_ptr src, uint64_t bytes, pfc_err *err)
{
    pfc_accel_packet p = {
        .kind = PFC_ACCEL_PACKET_COPY_OUT, .at = src, .to = dst, .bytes = bytes
    };

    return copy(dev, stream, &p, true, err);
}

pfc_code pfc_accel_copy_out_async(pfc_accel_device *dev, pfc_accel_stream stream, void *dst,
                                  pfc_accel_ptr src, uint64_t bytes, pfc_err *err)
{
    pfc_accel_packet p = {
        .kind = PFC_ACCEL_PACKET_COPY_OUT, .at = src, .to = dst, .bytes = bytes
    };

    return copy(dev, stream, &p, false, err);
}

/* ---- launches ---- */

/* Arguments to addresses and bytes; every one is checked before anything runs. */
static pfc_code bind(pfc_accel_device *dev, const pfc_accel_program *p, const pfc_accel_ptr *args,
                     size_t args_len, bool timing_only, pfc_accel_run *run, pfc_err *err)
{
    *run = (pfc_accel_run){
        .chip = &dev->chip, .program = p, .timing_only = timing_only, .ideal = dev->ideal
    };
    if (args_len != p->args_len)
        return pfc_err_set(err, PFC_EINVAL, "launch: expected %zu arguments, got %zu", p->args_len,
                           args_len);
    for (size_t i = 0; i < args_len; i++) {
        char what[32] = "launch: argument 0";
        pfc_accel_range *range = NULL;
        pfc_code code;

        what[sizeof("launch: argument ") - 1] = (char)('0' + i);
        if (p->arg_bytes[i] == 0)
            continue;
        code = pfc_accel_heap_find(&dev->heap, args[i], p->arg_bytes[i], what, &range, err);
        if (!code && !timing_only)
            code = pfc_accel_range_touch(range, err);
        if (code)
            return code;
        run->addr[i] = args[i];
        run->data[i] = range->data ? range->data + (args[i] - range->at) : NULL;
    }
    /* It was compiled for a chip, not necessarily this one. */
    return pfc_accel_program_check(p, &dev->chip, err);
}

static pfc_code open_tracer(pfc_accel_device *dev, const pfc_accel_program *program,
                            const pfc_accel_trace_opts *opts, pfc_accel_run *run, pfc_err *err)
{
    if (dev->trace)
        return pfc_err_set(err, PFC_ECONFLICT,
                           "launch: the device writes a trace, so expected none of the kernel");
    return pfc_accel_tracer_open(&run->tracer, &dev->chip, program, opts, err);
}

pfc_code pfc_accel_launch(pfc_accel_device *dev, pfc_accel_stream stream,
                          const pfc_accel_program *program, const pfc_accel_ptr *args,
                          size_t args_len, const pfc_accel_launch_opts *opts,
                          pfc_accel_counters *counters, pfc_err *err)
{
    pfc_accel_packet p = { .kind = PFC_ACCEL_PACKET_LAUNCH,
                           .counters = counters,
                           .same = opts ? opts->same : 0 };
    pfc_code code = pfc_accel_enter_stream(dev, PFC_ACCEL_CALL_LAUNCH, stream, err);

    if (code)
        return code;
    p.run = pfc_alloc(sizeof(*p.run));
    code = bind(dev, program, args, args_len, dev->timing_only || (opts && opts->timing_only),
                p.run, err);
    if (!code && opts)
        p.run->detail = opts->detail;
    if (!code && opts && opts->trace)
        code = open_tracer(dev, program, opts->trace, p.run, err);
    if (!code)
        code = pfc_accel_submit(dev, stream, &p, err);
    else
        pfc_accel_packet_clear(&p);
    return pfc_accel_leave(dev, PFC_ACCEL_CALL_LAUNCH, code);
}

pfc_code pfc_accel_launch_whatif(pfc_accel_device *dev, const pfc_accel_program *program,
                                 const pfc_accel_ptr *args, size_t args_len, pfc_accel_whatif *out,
                                 pfc_err *err)
{
    pfc_accel_run run;
    pfc_code code = pfc_accel_look(dev, err);

    if (code)
        return code;
    code = bind(dev, program, args, args_len, true, &run, err);
    if (!code)
        code = pfc_accel_whatif_run(&run, out, err);
    pthread_mutex_unlock(&dev->lock);
    return code;
}

/* ---- counters ---- */

pfc_code pfc_accel_device_counters(pfc_accel_device *dev, pfc_accel_counters *out, pfc_err *err)
{
    pfc_code code = pfc_accel_look(dev, err);

    if (code)
        return code;
    *out = dev->counters;
    return seen(dev);
}

pfc_code pfc_accel_counters_reset(pfc_accel_device *dev, pfc_err *err)
{
    pfc_code code = pfc_accel_look(dev, err);

    if (code)
        return code;
    memset(&dev->counters, 0, sizeof(dev->counters));
    return seen(dev);
}

pfc_code pfc_accel_host_counts(pfc_accel_device *dev, pfc_accel_host_stats *out, pfc_err *err)
{
    const bool costs = pfc_accel_has(dev, PFC_ACCEL_RESOURCE_HOST);
    pfc_code code = pfc_accel_look(dev, err);

    if (code)
        return code;
    *out = dev->stats;
    out->call_ns = costs ? out->calls * dev->chip.host_call_ns : 0;
    out->doorbell_ns = costs ? out->doorbells * dev->chip.host_doorbell_ns : 0;
    return seen(dev);
}
