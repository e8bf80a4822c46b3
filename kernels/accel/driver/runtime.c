/* The driver: checks, order, and time on the link and the chip. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/driver/accel.h"
#include "kernels/accel/driver/memory.h"

struct pfc_accel_device {
    pfc_accel_chip chip;
    pthread_mutex_t lock;
    bool open;                                  /* guarded by lock */
    pfc_accel_heap heap;                        /* guarded by lock */
    uint64_t stream_end[PFC_ACCEL_MAX_STREAMS]; /* guarded by lock; ticks */
    uint32_t streams_len;                       /* guarded by lock */
    uint64_t chip_free;                         /* guarded by lock; ticks */
    uint64_t down_free;                         /* guarded by lock; host to device */
    uint64_t up_free;                           /* guarded by lock */
    pfc_accel_counters counters;                /* guarded by lock */
};

pfc_code pfc_accel_open(pfc_accel_device **out, const pfc_accel_chip *chip, pfc_err *err)
{
    pfc_accel_device *dev = pfc_alloc(sizeof(*dev));

    if (pthread_mutex_init(&dev->lock, NULL) != 0) {
        free(dev);
        return pfc_err_set(err, PFC_EUNAVAIL, "cannot make a lock for a device");
    }
    dev->chip = *chip;
    dev->open = true;
    dev->heap.capacity = chip->hbm_bytes;
    dev->streams_len = 1;
    *out = dev;
    return PFC_OK;
}

pfc_code pfc_accel_open_name(pfc_accel_device **out, const char *name_or_path, pfc_err *err)
{
    pfc_accel_chip chip;
    pfc_code code = pfc_accel_chip_load(name_or_path, &chip, err);

    return code ? code : pfc_accel_open(out, &chip, err);
}

/* Locked and open on PFC_OK; not locked otherwise. */
static pfc_code enter(pfc_accel_device *dev, pfc_err *err)
{
    pthread_mutex_lock(&dev->lock);
    if (dev->open)
        return PFC_OK;
    pthread_mutex_unlock(&dev->lock);
    return pfc_err_set(err, PFC_ECONFLICT, "%s: the device is closed", dev->chip.name);
}

static pfc_code enter_stream(pfc_accel_device *dev, pfc_accel_stream stream, pfc_err *err)
{
    pfc_code code = enter(dev, err);

    if (!code && stream >= dev->streams_len) {
        pthread_mutex_unlock(&dev->lock);
        code = pfc_err_set(err, PFC_EINVAL, "%s: there is no stream %u", dev->chip.name, stream);
    }
    return code;
}

static pfc_code leave(pfc_accel_device *dev, pfc_code code)
{
    pthread_mutex_unlock(&dev->lock);
    return code;
}

pfc_code pfc_accel_close(pfc_accel_device *dev, pfc_err *err)
{
    pfc_code code = enter(dev, err);

    if (code)
        return code;
    pfc_accel_heap_clear(&dev->heap);
    dev->open = false;
    return leave(dev, PFC_OK);
}

void pfc_accel_device_free(pfc_accel_device *dev)
{
    if (!dev)
        return;
    pfc_accel_heap_clear(&dev->heap);
    pthread_mutex_destroy(&dev->lock);
    free(dev);
}

const pfc_accel_chip *pfc_accel_device_chip(const pfc_accel_device *dev)
{
    return &dev->chip;
}

pfc_code pfc_accel_malloc(pfc_accel_device *dev, uint64_t bytes, pfc_accel_ptr *out, pfc_err *err)
{
    pfc_code code = enter(dev, err);

    return code ? code : leave(dev, pfc_accel_heap_take(&dev->heap, bytes, out, err));
}

pfc_code pfc_accel_free(pfc_accel_device *dev, pfc_accel_ptr ptr, pfc_err *err)
{
    pfc_code code = enter(dev, err);

    return code ? code : leave(dev, pfc_accel_heap_give(&dev->heap, ptr, err));
}

pfc_code pfc_accel_memory_free(pfc_accel_device *dev, uint64_t *out, pfc_err *err)
{
    pfc_code code = enter(dev, err);

    if (code)
        return code;
    *out = dev->heap.capacity - dev->heap.used;
    return leave(dev, PFC_OK);
}

pfc_code pfc_accel_stream_new(pfc_accel_device *dev, pfc_accel_stream *out, pfc_err *err)
{
    pfc_code code = enter(dev, err);

    if (code)
        return code;
    if (dev->streams_len == PFC_ACCEL_MAX_STREAMS)
        return leave(dev, pfc_err_set(err, PFC_ETOOBIG, "%s: expected at most %d streams",
                                      dev->chip.name, PFC_ACCEL_MAX_STREAMS));
    *out = dev->streams_len++;
    return leave(dev, PFC_OK);
}

pfc_code pfc_accel_stream_wait(pfc_accel_device *dev, pfc_accel_stream stream,
                               pfc_accel_stream other, pfc_err *err)
{
    pfc_code code = enter_stream(dev, stream, err);

    if (code)
        return code;
    if (other >= dev->streams_len)
        return leave(
            dev, pfc_err_set(err, PFC_EINVAL, "%s: there is no stream %u", dev->chip.name, other));
    dev->stream_end[stream] = PFC_MAX(dev->stream_end[stream], dev->stream_end[other]);
    return leave(dev, PFC_OK);
}

/* The link serves copies of a direction one after the other. */
static void take_link(pfc_accel_device *dev, pfc_accel_stream stream, uint64_t *link_free,
                      pfc_accel_counter counter, uint64_t bytes)
{
    const uint64_t took = pfc_accel_pcie_cycles(&dev->chip, bytes);
    const uint64_t end = PFC_MAX(dev->stream_end[stream], *link_free) + took;

    dev->stream_end[stream] = *link_free = end;
    dev->counters.v[counter] += bytes;
    dev->counters.v[PFC_ACCEL_PCIE_BUSY] += took;
}

pfc_code pfc_accel_copy_in(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_ptr dst,
                           const void *src, uint64_t bytes, pfc_err *err)
{
    pfc_accel_range *range = NULL;
    pfc_code code = enter_stream(dev, stream, err);

    if (code || bytes == 0)
        return code ? code : leave(dev, PFC_OK);
    code = pfc_accel_heap_find(&dev->heap, dst, bytes, "copy to the device", &range, err);
    if (!code)
        code = pfc_accel_range_touch(range, err);
    if (!code) {
        memcpy(range->data + (dst - range->at), src, bytes);
        take_link(dev, stream, &dev->down_free, PFC_ACCEL_PCIE_DOWN, bytes);
    }
    return leave(dev, code);
}

pfc_code pfc_accel_copy_out(pfc_accel_device *dev, pfc_accel_stream stream, void *dst,
                            pfc_accel_ptr src, uint64_t bytes, pfc_err *err)
{
    pfc_accel_range *range = NULL;
    pfc_code code = enter_stream(dev, stream, err);

    if (code || bytes == 0)
        return code ? code : leave(dev, PFC_OK);
    code = pfc_accel_heap_find(&dev->heap, src, bytes, "copy from the device", &range, err);
    if (!code)
        code = pfc_accel_range_touch(range, err);
    if (!code) {
        memcpy(dst, range->data + (src - range->at), bytes);
        take_link(dev, stream, &dev->up_free, PFC_ACCEL_PCIE_UP, bytes);
    }
    return leave(dev, code);
}

/* Arguments to addresses and bytes; every one is checked before anything runs. */
static pfc_code bind(pfc_accel_device *dev, const pfc_accel_program *p, const pfc_accel_ptr *args,
                     size_t args_len, bool timing_only, pfc_accel_run *run, pfc_err *err)
{
    *run = (pfc_accel_run){ .chip = &dev->chip, .program = p, .timing_only = timing_only };
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

pfc_code pfc_accel_launch(pfc_accel_device *dev, pfc_accel_stream stream,
                          const pfc_accel_program *program, const pfc_accel_ptr *args,
                          size_t args_len, const pfc_accel_launch_opts *opts,
                          pfc_accel_counters *counters, pfc_err *err)
{
    pfc_accel_run run;
    uint64_t start;
    pfc_code code = enter_stream(dev, stream, err);

    if (code)
        return code;
    code = bind(dev, program, args, args_len, opts && opts->timing_only, &run, err);
    if (!code && opts)
        run.detail = opts->detail;
    if (!code && opts && opts->trace)
        code = pfc_accel_tracer_open(&run.tracer, &dev->chip, program, opts->trace, err);
    if (!code)
        code = pfc_accel_execute(&run, err);
    if (code)
        pfc_accel_tracer_drop(run.tracer);
    else
        code = pfc_accel_tracer_close(run.tracer, err);
    if (!code)
        code = pfc_accel_counters_check(&run.counters, &dev->chip, err);
    if (!code && run.detail)
        code = pfc_accel_detail_check(run.detail, &run.counters, err);
    if (code)
        return leave(dev, code);
    start =
        PFC_MAX(dev->stream_end[stream] + pfc_accel_ns_to_cycles(&dev->chip, dev->chip.launch_ns),
                dev->chip_free);
    dev->stream_end[stream] = dev->chip_free = start + run.counters.v[PFC_ACCEL_CYCLES];
    pfc_accel_counters_add(&dev->counters, &run.counters);
    if (counters)
        *counters = run.counters;
    return leave(dev, PFC_OK);
}

pfc_code pfc_accel_launch_whatif(pfc_accel_device *dev, const pfc_accel_program *program,
                                 const pfc_accel_ptr *args, size_t args_len, pfc_accel_whatif *out,
                                 pfc_err *err)
{
    pfc_accel_run run;
    pfc_code code = enter(dev, err);

    if (code)
        return code;
    code = bind(dev, program, args, args_len, true, &run, err);
    if (!code)
        code = pfc_accel_whatif_run(&run, out, err);
    return leave(dev, code);
}

pfc_code pfc_accel_synchronise(pfc_accel_device *dev, pfc_accel_stream stream, uint64_t *tick,
                               pfc_err *err)
{
    pfc_code code = enter_stream(dev, stream, err);

    if (code)
        return code;
    *tick = dev->stream_end[stream];
    return leave(dev, PFC_OK);
}

pfc_code pfc_accel_device_counters(pfc_accel_device *dev, pfc_accel_counters *out, pfc_err *err)
{
    pfc_code code = enter(dev, err);

    if (code)
        return code;
    *out = dev->counters;
    return leave(dev, PFC_OK);
}

pfc_code pfc_accel_counters_reset(pfc_accel_device *dev, pfc_err *err)
{
    pfc_code code = enter(dev, err);

    if (code)
        return code;
    memset(&dev->counters, 0, sizeof(dev->counters));
    return leave(dev, PFC_OK);
}
