/*
 * The driver's trace: the host, the queues and the link beside the chip's units. Records are held
 * back until the queues were followed past them, so that the file is in order of time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/accel/device/tracing/later.h"
#include "kernels/accel/driver/parts.h"

/* Semaphores of the driver come before those of kernels. */
#define FIRST_SEMAPHORE (PFC_ACCEL_MAX_SEMAPHORES + PFC_ACCEL_MAX_EVENTS + PFC_ACCEL_MAX_STREAMS)

struct pfc_accel_driver_trace {
    pfc_accel_trace_file file;
    pfc_accel_later later; /* by instant */
};

static const char *const call_names[] = {
#define PFC_X(id, name) name,
    PFC_ACCEL_CALLS(PFC_X)
#undef PFC_X
};

static const pfc_trace_clock host_clock = { "host", 1000000000, 64 };

static pfc_code open_file(pfc_accel_device *dev, const pfc_accel_open_opts *opts, pfc_err *err)
{
    pfc_trace_unit units[3 + PFC_ACCEL_MAX_STREAMS] = {
        { "host", PFC_ACCEL_TRACE_HOST, PFC_TRACE_KIND_HOST, 1, 0, false },
        { "host to device", PFC_ACCEL_TRACE_LINK, PFC_TRACE_KIND_LINK, 0, 0, false },
        { "device to host", PFC_ACCEL_TRACE_LINK + 1, PFC_TRACE_KIND_LINK, 0, 0, false },
    };
    char names[PFC_ACCEL_MAX_STREAMS][32];
    const char *calls[PFC_ACCEL_CALLS_LEN];
    pfc_accel_trace_units more = {
        .clocks = &host_clock,
        .units = units,
        .names = calls,
        .clocks_len = 1,
        .units_len = 3,
    };

    for (uint32_t s = 0; s < dev->streams_max; s++) {
        snprintf(names[s], sizeof(names[s]), "stream %u", s);
        units[more.units_len++] = (pfc_trace_unit){ .name = names[s],
                                                    .id = pfc_accel_trace_stream(s),
                                                    .kind = PFC_TRACE_KIND_QUEUE };
    }
    for (pfc_accel_call c = 0; c < PFC_ACCEL_CALLS_LEN; c++)
        calls[more.names_len++] = call_names[c];
    return pfc_accel_trace_file_open(&dev->trace->file, &dev->chip, opts->trace, &more, err);
}

pfc_code pfc_accel_driver_trace_open(pfc_accel_device *dev, const pfc_accel_open_opts *opts,
                                     pfc_err *err)
{
    pfc_code code;

    dev->trace = pfc_alloc(sizeof(*dev->trace));
    dev->trace->file.program = opts->program;
    dev->trace->file.first_semaphore = FIRST_SEMAPHORE;
    code = open_file(dev, opts, err);
    if (code)
        pfc_accel_driver_trace_drop(dev);
    return code;
}

static void write_until(pfc_accel_driver_trace *trace, uint64_t until)
{
    pfc_trace_record r;

    while (pfc_accel_later_take(&trace->later, until, &r))
        pfc_trace_put(trace->file.writer, &r);
}

static void release(pfc_accel_device *dev)
{
    pfc_accel_later_clear(&dev->trace->later);
    free(dev->trace->file.values);
    free(dev->trace);
    dev->trace = NULL;
}

pfc_code pfc_accel_driver_trace_close(pfc_accel_device *dev, pfc_err *err)
{
    pfc_code code;

    if (!dev->trace)
        return PFC_OK;
    write_until(dev->trace, UINT64_MAX);
    code = pfc_trace_writer_close(dev->trace->file.writer, err);
    release(dev);
    return code;
}

void pfc_accel_driver_trace_drop(pfc_accel_device *dev)
{
    if (!dev->trace)
        return;
    pfc_trace_writer_drop(dev->trace->file.writer);
    release(dev);
}

/* Records of later commands are at dev->device or after it. */
void pfc_accel_trace_flush(pfc_accel_device *dev)
{
    if (dev->trace)
        write_until(dev->trace, dev->device + 1);
}

static void add(pfc_accel_device *dev, uint64_t at, uint64_t ticks, pfc_trace_type type,
                uint16_t unit, uint32_t correlation, uint64_t a, uint64_t b)
{
    const pfc_trace_record r = {
        .ticks = ticks, .type = (uint16_t)type, .unit = unit, .corr = correlation, .a = a, .b = b
    };

    if (dev->trace)
        pfc_accel_later_add(&dev->trace->later, at, &r);
}

void pfc_accel_trace_host(pfc_accel_device *dev, pfc_trace_type type, uint32_t correlation,
                          uint64_t a, uint64_t b)
{
    if (dev->trace && (type == PFC_TRACE_API_ENTER || type == PFC_TRACE_API_EXIT))
        a += dev->trace->file.names + 1;
    add(dev, dev->host, dev->host / dev->chip.clock_mhz, type, PFC_ACCEL_TRACE_HOST, correlation, a,
        b);
}

void pfc_accel_trace_device(pfc_accel_device *dev, uint64_t at, pfc_trace_type type, uint16_t unit,
                            uint32_t correlation, uint64_t a, uint64_t b)
{
    add(dev, at, at / PFC_ACCEL_INSTANTS_OF_CYCLE, type, unit, correlation, a, b);
}

struct pfc_accel_tracer *pfc_accel_trace_kernel(pfc_accel_device *dev,
                                                const pfc_accel_program *program,
                                                uint32_t correlation, uint64_t begin)
{
    return pfc_accel_tracer_join(&dev->trace->file, &dev->chip, program, correlation,
                                 begin / PFC_ACCEL_INSTANTS_OF_CYCLE);
}
