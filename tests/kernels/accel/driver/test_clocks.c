/* The clocks of a driver's trace differ; its pairs of readings bring them together. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/trace/clocks.h"
#include "core/trace/export/export.h"

#include "tests/check/check.h"
#include "tests/kernels/accel/driver/device.h"

#define EPOCH 123456789

static pfc_err err;

#define OK(call) cr_assert(eq(int, (call), PFC_OK), "%s", err.msg)

/* 300 copies of 64 KiB that the host waits for: some 3 ms. */
static void write_trace(const pfc_accel_chip *chip, const char *path, int32_t ppm)
{
    const pfc_accel_trace_opts trace = { .path = path, .kernel = "none" };
    const pfc_accel_open_opts opts = {
        .timing_only = true, .trace = &trace, .host_epoch_ns = EPOCH, .device_ppm = ppm
    };
    pfc_accel_device *dev = NULL;
    pfc_accel_ptr p;

    OK(pfc_accel_open_with(&dev, chip, &opts, &err));
    p = taken(dev, 1 << 16);
    for (int i = 0; i < 300; i++)
        OK(pfc_accel_copy_in(dev, 0, p, NULL, 1 << 16, &err));
    OK(pfc_accel_close(dev, &err));
    pfc_accel_device_free(dev);
}

/* The reading of the host's clock when the device's reads `ticks`, at 1 GHz. */
static int64_t truth(int64_t ticks, int32_t ppm)
{
    return EPOCH + (int64_t)((double)ticks / (1.0 + ppm * 1e-6));
}

static pfc_trace_reader *opened(const char *path)
{
    pfc_trace_reader *reader = NULL;

    OK(pfc_trace_reader_open(&reader, path, PFC_TRACE_STRICT, &err));
    return reader;
}

static void check_clocks(const char *path, int32_t ppm)
{
    pfc_trace_reader *reader = opened(path);
    pfc_trace_clocks *clocks = NULL;
    pfc_trace_record r;
    int64_t worst = 0, nominal = 0;
    uint64_t last = 0, last_pair = 0;
    bool more = true;

    OK(pfc_trace_clocks_read(&clocks, reader, &err));
    pfc_trace_reader_free(reader);
    cr_assert(gt(sz, clocks->clocks[0].len, 4)); /* of the device; 1 is the host's */
    cr_assert(le(i64, clocks->clocks[0].bound_ns, 301));
    reader = opened(path);
    while (!pfc_trace_read(reader, &r, &more, &err) && more) {
        int64_t ns = 0;

        if (r.unit == PFC_ACCEL_TRACE_HOST)
            continue;
        last = PFC_MAX(last, r.ticks);
        if (r.type == PFC_TRACE_CLOCK_PAIR)
            last_pair = r.ticks;
        cr_assert(pfc_trace_clocks_ns(&clocks->clocks[0], (int64_t)r.ticks, &ns));
        worst = PFC_MAX(worst, llabs(ns - truth((int64_t)r.ticks, ppm)));
        nominal = PFC_MAX(nominal, llabs(EPOCH + (int64_t)r.ticks - truth((int64_t)r.ticks, ppm)));
    }
    pfc_trace_reader_free(reader);
    pfc_trace_clocks_free(clocks);
    cr_assert(eq(u64, last_pair, last)); /* closing reads the clocks, too */
    cr_assert(le(i64, worst, 2), "%lld ns", (long long)worst);
    if (llabs(ppm) ==
        500) /* 3 ms at the nominal rate alone are wrong by more than the link's 300 ns */
        cr_assert(gt(i64, nominal, 300), "%lld ns", (long long)nominal);
}

Test(driver_clocks, pairs_bring_the_clocks_together)
{
    static const int32_t rates[] = { 0, 20, -20, 500, -500 };
    const pfc_accel_chip chip = round_chip();
    const pfc_trace_export_opts json = { .format = PFC_TRACE_JSON };
    char path[] = "/tmp/perfci-clocks-XXXXXX";
    const int fd = mkstemp(path);

    cr_assert(ge(int, fd, 0));
    close(fd);
    for (size_t i = 0; i < PFC_ARRAY_LEN(rates); i++) {
        pfc_trace_export_stats stats;

        write_trace(&chip, path, rates[i]);
        check_clocks(path, rates[i]);
        OK(pfc_trace_export_file(path, "/dev/null", &json, &stats, &err));
        cr_assert(eq(u64, stats.reversed, 0));
    }
    unlink(path);
}

Test(driver_clocks, rates_out_of_range_are_refused)
{
    const pfc_accel_chip chip = round_chip();
    pfc_accel_device *dev = NULL;
    pfc_accel_open_opts opts = { .device_ppm = 1001 };

    cr_assert(eq(int, pfc_accel_open_with(&dev, &chip, &opts, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "-1000..1000 ppm, got 1001"), NULL), "%s", err.msg);
    opts = (pfc_accel_open_opts){ .streams = PFC_ACCEL_MAX_STREAMS + 1 };
    cr_assert(eq(int, pfc_accel_open_with(&dev, &chip, &opts, &err), PFC_EINVAL));
    cr_assert(eq(ptr, dev, NULL));
}
