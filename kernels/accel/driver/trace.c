/*
 * The driver's trace: the host, the queues and the link beside the chip's units. Records are held
 * back until the queues were followed past them, so that the file is in order of time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/trace/export/export.h"
#include "kernels/accel/device/tracing/later.h"
#include "kernels/accel/driver/parts.h"

/* Semaphores of the driver come before those of kernels. */
#define FIRST_SEMAPHORE (PFC_ACCEL_MAX_SEMAPHORES + PFC_ACCEL_MAX_EVENTS + PFC_ACCEL_MAX_STREAMS)

/* ns between two readings of the clocks: short at first, so that the rate is known early. */
#define PAIR_FIRST_NS 10000
#define PAIR_LAST_NS  1000000

struct pfc_accel_driver_trace {
    pfc_accel_trace_file file;
    pfc_accel_later later; /* by instant */
    char *path;            /* of the records; owned; NULL: they go to a consumer */
    char *json;            /* what becomes of them at the end; owned; NULL: they stay */
    uint64_t epoch_ns;     /* of the host's clock */
    int64_t ppm;           /* of the device's clock */
    uint64_t next_pair;    /* instant of the host from which on a pair is due */
    uint64_t pair_ns;      /* from a pair to the next one */
    uint64_t last_pair;    /* instant of the host */
};

static const char *const call_names[] = {
#define PFC_X(id, name) name,
    PFC_ACCEL_CALLS(PFC_X)
#undef PFC_X
};

/* ---- records ---- */

static void add(pfc_accel_device *dev, uint64_t at, uint64_t ticks, pfc_trace_type type,
                uint16_t unit, uint32_t correlation, uint64_t a, uint64_t b)
{
    const pfc_trace_record r = {
        .ticks = ticks, .type = (uint16_t)type, .unit = unit, .corr = correlation, .a = a, .b = b
    };

    if (dev->trace)
        pfc_accel_later_add(&dev->trace->later, at, &r);
}

void pfc_accel_trace_device(pfc_accel_device *dev, uint64_t at, pfc_trace_type type, uint16_t unit,
                            uint32_t correlation, uint64_t a, uint64_t b)
{
    add(dev, at, at / PFC_ACCEL_INSTANTS_OF_CYCLE, type, unit, correlation, a, b);
}

/* ---- clocks ---- */

/* The host's clock at an instant. The device's clock shows simulated time at its nominal rate, so
 * the host's runs slower than that when the device's is fast. */
static uint64_t reading(const pfc_accel_device *dev, uint64_t at)
{
    const int64_t ns = (int64_t)(at / dev->chip.clock_mhz);

    return dev->trace->epoch_ns +
           (uint64_t)(ns - ns * dev->trace->ppm / (1000000 + dev->trace->ppm));
}

/* The host reads its clock, that of the device over the link, and its own again. It takes no
 * simulated time: another thread does it. */
static void read_clocks(pfc_accel_device *dev)
{
    const uint64_t latency = dev->chip.pcie_latency_ns * dev->chip.clock_mhz;

    pfc_accel_trace_device(dev, pfc_accel_edge(dev->host + latency), PFC_TRACE_CLOCK_PAIR,
                           PFC_ACCEL_TRACE_CLOCKS, 0, reading(dev, dev->host),
                           reading(dev, dev->host + 2 * latency));
    dev->trace->last_pair = dev->host;
}

void pfc_accel_trace_clocks(pfc_accel_device *dev)
{
    pfc_accel_driver_trace *trace = dev->trace;

    if (!trace || dev->host < trace->next_pair)
        return;
    read_clocks(dev);
    trace->next_pair = dev->host + trace->pair_ns * dev->chip.clock_mhz;
    trace->pair_ns = PFC_MIN(2 * trace->pair_ns, (uint64_t)PAIR_LAST_NS);
}

/* ---- file ---- */

#define FIXED_UNITS 4

static const pfc_trace_clock host_clock = { "host", 1000000000, 64 };

static pfc_code open_file(pfc_accel_device *dev, const pfc_accel_open_opts *opts, pfc_err *err)
{
    pfc_trace_unit units[FIXED_UNITS + PFC_ACCEL_MAX_STREAMS] = {
        { "host", PFC_ACCEL_TRACE_HOST, PFC_TRACE_KIND_HOST, 1, 0, false },
        { "host to device", PFC_ACCEL_TRACE_LINK, PFC_TRACE_KIND_LINK, 0, 0, false },
        { "device to host", PFC_ACCEL_TRACE_LINK + 1, PFC_TRACE_KIND_LINK, 0, 0, false },
        { "clocks", PFC_ACCEL_TRACE_CLOCKS, PFC_TRACE_KIND_POWER, 0, 0, false },
    };
    pfc_accel_trace_opts own = *opts->trace;
    char names[PFC_ACCEL_MAX_STREAMS][32];
    const char *calls[PFC_ACCEL_CALLS_LEN];
    pfc_accel_trace_units more = {
        .clocks = &host_clock,
        .units = units,
        .names = calls,
        .clocks_len = 1,
        .units_len = FIXED_UNITS,
    };

    own.path = dev->trace->path;
    for (uint32_t s = 0; s < dev->streams_max; s++) {
        snprintf(names[s], sizeof(names[s]), "stream %u", s);
        units[more.units_len++] = (pfc_trace_unit){ .name = names[s],
                                                    .id = pfc_accel_trace_stream(s),
                                                    .kind = PFC_TRACE_KIND_QUEUE };
    }
    for (pfc_accel_call c = 0; c < PFC_ACCEL_CALLS_LEN; c++)
        calls[more.names_len++] = call_names[c];
    return pfc_accel_trace_file_open(&dev->trace->file, &dev->chip, &own, &more, err);
}

/* JSON is made of the records at the end, when all readings of the clocks are known. */
static void set_path(pfc_accel_driver_trace *trace, const char *path)
{
    const size_t len = strlen(path);

    if (len < 5 || strcmp(path + len - 5, ".json") != 0) {
        trace->path = pfc_strdup(path);
        return;
    }
    trace->path = pfc_format("%s.pct", path);
    trace->json = pfc_strdup(path);
}

pfc_code pfc_accel_driver_trace_open(pfc_accel_device *dev, const pfc_accel_open_opts *opts,
                                     pfc_err *err)
{
    pfc_code code;

    dev->trace = pfc_alloc(sizeof(*dev->trace));
    dev->trace->file.program = opts->program;
    dev->trace->epoch_ns = opts->host_epoch_ns;
    dev->trace->ppm = opts->device_ppm;
    dev->trace->pair_ns = PAIR_FIRST_NS;
    if (opts->trace->path)
        set_path(dev->trace, opts->trace->path);
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
    free(dev->trace->path);
    free(dev->trace->json);
    free(dev->trace);
    dev->trace = NULL;
}

pfc_code pfc_accel_driver_trace_close(pfc_accel_device *dev, pfc_err *err)
{
    const pfc_trace_export_opts json = { .format = PFC_TRACE_JSON };
    pfc_code code;

    if (!dev->trace)
        return PFC_OK;
    if (dev->host > dev->trace->last_pair)
        read_clocks(dev);
    write_until(dev->trace, UINT64_MAX);
    code = pfc_trace_writer_close(dev->trace->file.writer, err);
    if (!code && dev->trace->json) {
        code = pfc_trace_export_file(dev->trace->path, dev->trace->json, &json, NULL, err);
        unlink(dev->trace->path);
    }
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

void pfc_accel_trace_host(pfc_accel_device *dev, pfc_trace_type type, uint32_t correlation,
                          uint64_t a, uint64_t b)
{
    if (!dev->trace)
        return;
    if (type == PFC_TRACE_API_ENTER || type == PFC_TRACE_API_EXIT)
        a += dev->trace->file.names + 1;
    add(dev, dev->host, reading(dev, dev->host), type, PFC_ACCEL_TRACE_HOST, correlation, a, b);
}

struct pfc_accel_tracer *pfc_accel_trace_kernel(pfc_accel_device *dev,
                                                const pfc_accel_program *program,
                                                uint32_t correlation, uint64_t begin)
{
    return pfc_accel_tracer_join(&dev->trace->file, &dev->chip, program, correlation,
                                 begin / PFC_ACCEL_INSTANTS_OF_CYCLE);
}
