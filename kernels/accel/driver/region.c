/* A region: the program on the host, and its what-if runs. See region.h. */
#include "kernels/accel/driver/region.h"

#include <stdlib.h>
#include <string.h>

/* With overlapped copies: the streams of the host's program. */
enum { KERNELS, COPIES_IN, COPIES_OUT, STREAMS };
#define SETS 2

typedef struct host_program {
    const pfc_accel_program *program;
    const pfc_accel_region_opts *opts;
    uint64_t launches;
    pfc_accel_device *dev;
    pfc_accel_ptr args[SETS][PFC_ACCEL_MAX_ARGS];
    pfc_accel_semaphore copied_in, computed, copied_out; /* how many launches are so far */
} host_program;

static size_t sets(const pfc_accel_region_opts *opts)
{
    return opts->copies == PFC_ACCEL_COPIES_OVERLAPPED ? SETS : 1;
}

/* ---- commands ---- */

static pfc_code copy_inputs(const host_program *h, pfc_accel_stream stream, size_t set,
                            pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i + 1 < h->program->args_len && !code; i++)
        code = pfc_accel_copy_in_async(h->dev, stream, h->args[set][i], NULL,
                                       h->program->arg_bytes[i], err);
    return code;
}

static pfc_code copy_result(const host_program *h, pfc_accel_stream stream, size_t set,
                            pfc_err *err)
{
    const size_t last = h->program->args_len - 1;

    return pfc_accel_copy_out_async(h->dev, stream, NULL, h->args[set][last],
                                    h->program->arg_bytes[last], err);
}

static pfc_code launch(const host_program *h, size_t set, pfc_err *err)
{
    const pfc_accel_launch_opts opts = { .timing_only = true, .same = 1 };

    return pfc_accel_launch(h->dev, KERNELS, h->program, h->args[set], h->program->args_len, &opts,
                            NULL, err);
}

static pfc_code wait_for(const host_program *h, pfc_accel_stream stream, pfc_err *err)
{
    return pfc_accel_synchronise(h->dev, stream, NULL, err);
}

/* ---- the host's programs ---- */

static pfc_code run_once(const host_program *h, pfc_err *err)
{
    pfc_code code = copy_inputs(h, KERNELS, 0, err);

    for (uint64_t i = 0; i < h->launches && !code; i++) {
        code = launch(h, 0, err);
        if (!code && h->opts->sync == PFC_ACCEL_SYNC_EACH)
            code = wait_for(h, KERNELS, err);
    }
    if (!code)
        code = copy_result(h, KERNELS, 0, err);
    return code ? code : wait_for(h, KERNELS, err);
}

static pfc_code run_each(const host_program *h, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (uint64_t i = 0; i < h->launches && !code; i++) {
        code = copy_inputs(h, KERNELS, 0, err);
        if (!code)
            code = launch(h, 0, err);
        if (!code)
            code = copy_result(h, KERNELS, 0, err);
        if (!code && h->opts->sync == PFC_ACCEL_SYNC_EACH)
            code = wait_for(h, KERNELS, err);
    }
    return code ? code : wait_for(h, KERNELS, err);
}

/* Launch i of those that overlap, from 1. A set of buffers is free again for the inputs when the
 * kernel before the last one has read it, and for the result when that was copied out. */
static pfc_code submit_overlapped(const host_program *h, uint64_t i, pfc_err *err)
{
    const size_t set = (size_t)(i % SETS);
    pfc_code code = PFC_OK;

    if (i > SETS)
        code = pfc_accel_semaphore_wait(h->dev, COPIES_IN, h->computed, i - SETS, err);
    if (!code)
        code = copy_inputs(h, COPIES_IN, set, err);
    if (!code)
        code = pfc_accel_semaphore_signal(h->dev, COPIES_IN, h->copied_in, i, err);
    if (!code)
        code = pfc_accel_semaphore_wait(h->dev, KERNELS, h->copied_in, i, err);
    if (!code && i > SETS)
        code = pfc_accel_semaphore_wait(h->dev, KERNELS, h->copied_out, i - SETS, err);
    if (!code)
        code = launch(h, set, err);
    if (!code)
        code = pfc_accel_semaphore_signal(h->dev, KERNELS, h->computed, i, err);
    if (!code)
        code = pfc_accel_semaphore_wait(h->dev, COPIES_OUT, h->computed, i, err);
    if (!code)
        code = copy_result(h, COPIES_OUT, set, err);
    if (!code)
        code = pfc_accel_semaphore_signal(h->dev, COPIES_OUT, h->copied_out, i, err);
    return code;
}

static pfc_code run_overlapped(const host_program *h, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (uint64_t i = 1; i <= h->launches && !code; i++) {
        code = submit_overlapped(h, i, err);
        if (!code && h->opts->sync == PFC_ACCEL_SYNC_EACH)
            code = wait_for(h, COPIES_OUT, err);
    }
    return code ? code : wait_for(h, COPIES_OUT, err);
}

/* ---- set-up, outside of the region ---- */

static pfc_code allocate(host_program *h, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t s = 0; s < sets(h->opts); s++)
        for (size_t i = 0; i < h->program->args_len && !code; i++)
            if (h->program->arg_bytes[i])
                code = pfc_accel_malloc(h->dev, h->program->arg_bytes[i], &h->args[s][i], err);
    return code;
}

static pfc_code make_streams(host_program *h, pfc_err *err)
{
    pfc_accel_stream stream = 0;
    pfc_code code = PFC_OK;

    while (stream + 1 < STREAMS && !code)
        code = pfc_accel_stream_new(h->dev, &stream, err);
    if (!code)
        code = pfc_accel_semaphore_new(h->dev, &h->copied_in, err);
    if (!code)
        code = pfc_accel_semaphore_new(h->dev, &h->computed, err);
    if (!code)
        code = pfc_accel_semaphore_new(h->dev, &h->copied_out, err);
    return code;
}

static pfc_code run_program(host_program *h, pfc_err *err)
{
    switch (h->opts->copies) {
    case PFC_ACCEL_COPIES_ONCE:
        return run_once(h, err);
    case PFC_ACCEL_COPIES_EACH:
        return run_each(h, err);
    case PFC_ACCEL_COPIES_OVERLAPPED:
        return run_overlapped(h, err);
    }
    return pfc_err_set(err, PFC_EINVAL, "region: unknown kind of copies");
}

/* The host's work since `before`. */
static pfc_accel_host_stats since(const pfc_accel_host_stats *now,
                                  const pfc_accel_host_stats *before)
{
    return (pfc_accel_host_stats){ .calls = now->calls - before->calls,
                                   .call_ns = now->call_ns - before->call_ns,
                                   .doorbells = now->doorbells - before->doorbells,
                                   .doorbell_ns = now->doorbell_ns - before->doorbell_ns,
                                   .waits = now->waits - before->waits,
                                   .wait_ns = now->wait_ns - before->wait_ns,
                                   .interrupts = now->interrupts - before->interrupts,
                                   .copies = now->copies - before->copies,
                                   .launches = now->launches - before->launches };
}

/* The whole region on a device of its own; *ns is its time. */
static pfc_code run_region(const pfc_accel_chip *chip, host_program *h, unsigned without,
                           const pfc_accel_trace_opts *trace, uint64_t *ns, pfc_accel_region *out,
                           pfc_err *err)
{
    const bool overlapped = h->opts->copies == PFC_ACCEL_COPIES_OVERLAPPED;
    const pfc_accel_open_opts opts = { .without = without,
                                       .completion = h->opts->wait,
                                       .timing_only = true,
                                       .trace = trace,
                                       .program = h->program,
                                       .host_epoch_ns = PFC_ACCEL_REGION_EPOCH_NS,
                                       .device_ppm = PFC_ACCEL_REGION_PPM,
                                       .streams = overlapped ? STREAMS : 1 };
    pfc_accel_host_stats before, after;
    uint64_t begin = 0;
    pfc_code code = pfc_accel_open_with(&h->dev, chip, &opts, err);

    if (code)
        return code;
    code = allocate(h, err);
    if (!code && overlapped)
        code = make_streams(h, err);
    if (!code)
        code = pfc_accel_host_counts(h->dev, &before, err);
    if (!code)
        code = pfc_accel_host_now(h->dev, &begin, err);
    if (!code)
        code = run_program(h, err);
    if (!code)
        code = pfc_accel_host_now(h->dev, ns, err);
    if (!code)
        code = pfc_accel_host_counts(h->dev, &after, err);
    if (!code && out)
        code = pfc_accel_device_counters(h->dev, &out->counters, err);
    if (!code)
        code = pfc_accel_close(h->dev, err);
    if (!code)
        *ns -= begin;
    if (!code && out)
        out->host = since(&after, &before);
    pfc_accel_device_free(h->dev);
    return code;
}

static pfc_code what_if(const pfc_accel_chip *chip, host_program *h, pfc_accel_whatif *out,
                        pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (unsigned r = 0; r < PFC_ACCEL_RESOURCES_LEN && !code; r++) {
        uint64_t ns = 0;

        code = run_region(chip, h, 1u << r, NULL, &ns, NULL, err);
        if (!code)
            out->cycles[r] = pfc_accel_ns_to_cycles(chip, ns);
    }
    if (!code)
        pfc_accel_whatif_limit(out);
    return code;
}

pfc_code pfc_accel_region_run(const pfc_accel_chip *chip, const pfc_accel_program *program,
                              const pfc_accel_region_opts *opts, pfc_accel_region *out,
                              pfc_err *err)
{
    static const pfc_accel_region_opts usual = { 0 };
    host_program h = { .program = program, .opts = opts ? opts : &usual };
    pfc_accel_region region = { 0 };
    uint64_t ns = 0;
    pfc_code code;

    h.launches = PFC_MAX(h.opts->launches, UINT64_C(1));
    if (h.launches > PFC_ACCEL_MAX_LAUNCHES)
        return pfc_err_set(err, PFC_EINVAL, "region: expected 1..%d launches, got %llu",
                           PFC_ACCEL_MAX_LAUNCHES, (unsigned long long)h.launches);
    if (program->args_len == 0)
        return pfc_err_set(err, PFC_EINVAL, "region: expected a program with a result");
    code = run_region(chip, &h, 0, h.opts->trace, &ns, &region, err);
    if (code)
        return code;
    region.time_ns = (double)ns;
    region.cycles = region.whatif.base = pfc_accel_ns_to_cycles(chip, ns);
    region.launches = h.launches;
    region.kernel_cycles = region.counters.v[PFC_ACCEL_CYCLES];
    code = what_if(chip, &h, &region.whatif, err);
    if (!code)
        *out = region;
    return code;
}

/* ---- words ---- */

static const char *const copies_names[] = { "once", "each", "overlapped" };
static const char *const sync_names[] = { "end", "each" };
static const char *const wait_names[] = { "irq", "poll" };

const char *pfc_accel_region_copies_name(pfc_accel_region_copies copies)
{
    return copies_names[copies];
}

const char *pfc_accel_region_sync_name(pfc_accel_region_sync sync)
{
    return sync_names[sync];
}

const char *pfc_accel_completion_name(pfc_accel_completion wait)
{
    return wait_names[wait];
}

/* The position of the text in the list, or `len`. */
static size_t find(const char *text, const char *const *names, size_t len)
{
    size_t at = 0;

    while (at < len && strcmp(names[at], text) != 0)
        at++;
    return at;
}

pfc_code pfc_accel_region_copies_parse(const char *text, pfc_accel_region_copies *out, pfc_err *err)
{
    const size_t at = find(text, copies_names, PFC_ARRAY_LEN(copies_names));

    if (at == PFC_ARRAY_LEN(copies_names))
        return pfc_err_set(err, PFC_EINVAL,
                           "copies: expected once, each or overlapped, got \"%.60s\"", text);
    *out = (pfc_accel_region_copies)at;
    return PFC_OK;
}

pfc_code pfc_accel_region_sync_parse(const char *text, pfc_accel_region_sync *out, pfc_err *err)
{
    const size_t at = find(text, sync_names, PFC_ARRAY_LEN(sync_names));

    if (at == PFC_ARRAY_LEN(sync_names))
        return pfc_err_set(err, PFC_EINVAL, "sync: expected end or each, got \"%.60s\"", text);
    *out = (pfc_accel_region_sync)at;
    return PFC_OK;
}

pfc_code pfc_accel_completion_parse(const char *text, pfc_accel_completion *out, pfc_err *err)
{
    const size_t at = find(text, wait_names, PFC_ARRAY_LEN(wait_names));

    if (at == PFC_ARRAY_LEN(wait_names))
        return pfc_err_set(err, PFC_EINVAL, "wait: expected irq or poll, got \"%.60s\"", text);
    *out = (pfc_accel_completion)at;
    return PFC_OK;
}
