/*
 * One block: check, warm-up until steady, batch, samples.
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/harness/block/reserved_core.h"
#include "bench/harness/block/steady.h"
#include "bench/harness/cells.h"
#include "bench/machine/huge_pages.h"
#include "core/stats/stats.h"

#define WARMUP_WINDOW 5    /* samples between two looks at the clock */
/* limit of samples on a clock that does not advance; after that the block fails */
#define MAX_LOST      16
/* share of the budget for the warm-up, because a cold machine can look steady for a while */
#define WARMUP_LEAST  0.25

bool pfc_pin(int cpu)
{
    cpu_set_t set;

    if (cpu < 0 || cpu >= CPU_SETSIZE)
        return false;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}

double pfc_sample(const pfc_backend *backend, void *inst, uint64_t batch, const pfc_timer *timer)
{
    const double start = timer->now_ns(timer->arg);

    backend->ops->run(inst, batch);
    return (timer->now_ns(timer->arg) - start) / (double)batch;
}

uint64_t pfc_batch_for(double call_ns, const pfc_timer *timer)
{
    const double want = fmax(PFC_SAMPLE_TARGET_NS, PFC_SAMPLE_MIN_STEPS * timer->resolution_ns);
    const double calls = ceil(want / fmax(call_ns, 0.01));

    return calls < 1.0 ? 1 : calls > 1e9 ? 1000000000u : (uint64_t)calls;
}

/* A first guess of the time of a call: doubles the batch until the clock can see it. */
static double probe(const pfc_backend *backend, void *inst, const pfc_timer *timer)
{
    uint64_t batch = 1;
    double call_ns = pfc_sample(backend, inst, batch, timer);

    while (call_ns * (double)batch < PFC_SAMPLE_MIN_STEPS * timer->resolution_ns &&
           batch < (1u << 30)) {
        batch *= 2;
        call_ns = pfc_sample(backend, inst, batch, timer);
    }
    return call_ns;
}

/* Until the second half of all samples is level, or the budget is spent. Looked at when there are
 * half as many again, so that looking costs next to nothing. */
double pfc_warm_up(const pfc_backend *backend, void *inst, const pfc_timer *wall, double budget_s,
                   bool *steady)
{
    double call_ns = probe(backend, inst, wall);
    const double start = wall->now_ns(wall->arg);
    /* A clock that steps back would make this endless: as many samples as fit into the budget. */
    const double most = budget_s * 1e9 / PFC_SAMPLE_TARGET_NS + 10.0 * WARMUP_WINDOW;
    double *x = NULL;
    size_t len = 0;
    size_t cap = 0;
    size_t look_at = PFC_STEADY_LEAST;
    double spent_s;

    *steady = false;
    if (!(budget_s > 0.0))
        return call_ns;
    do {
        const uint64_t batch = pfc_batch_for(call_ns, wall);
        for (size_t i = 0; i < WARMUP_WINDOW; i++) {
            x = pfc_grow(x, len, &cap, sizeof(*x));
            x[len++] = pfc_sample(backend, inst, batch, wall);
        }
        call_ns = pfc_stats_median(x + len - WARMUP_WINDOW, WARMUP_WINDOW);
        spent_s = (wall->now_ns(wall->arg) - start) * 1e-9;
        if (len < look_at || spent_s < WARMUP_LEAST * budget_s)
            continue;
        *steady = pfc_steady(x, len);
        look_at = len + len / 2;
    } while (!*steady && (double)len < most && spent_s < budget_s);
    free(x);
    return call_ns;
}

static void take_samples(const pfc_backend *backend, void *inst, const pfc_block_spec *spec,
                         const pfc_timer *wall, const pfc_timer *timer, pfc_block *out)
{
    const double start = wall->now_ns(wall->arg);
    struct rusage before;
    struct rusage after;
    double spent_s;
    size_t lost = 0;

    out->samples = pfc_calloc(PFC_MAX(spec->samples, 1), sizeof(*out->samples));
    getrusage(RUSAGE_THREAD, &before);
    do {
        const double ns = pfc_sample(backend, inst, out->batch, timer);
        out->taken++;
        /* A clock that stood still would say "infinitely fast", one that stepped back less than
           nothing: never stored. */
        if (ns > 0.0)
            out->samples[out->len++] = ns;
        else
            lost++;
        spent_s = (wall->now_ns(wall->arg) - start) * 1e-9;
    } while (out->len < spec->samples && lost < MAX_LOST && spent_s >= 0.0 &&
             spent_s < spec->max_seconds);
    getrusage(RUSAGE_THREAD, &after);
    for (size_t i = 0; i < out->len; i++)
        out->sampling_seconds += out->samples[i] * (double)out->batch * 1e-9;
    /* The CPU clock excludes time that other processes took, which is no cost of the harness. */
    if (timer != wall)
        out->sampling_seconds = spent_s;
    out->preempted = after.ru_nivcsw - before.ru_nivcsw;
    out->page_faults = after.ru_minflt - before.ru_minflt + after.ru_majflt - before.ru_majflt;
    if (spec->check)
        out->huge_bytes = pfc_pages_huge_bytes(NULL);
}

static void keep_counts(pfc_counters *counters, pfc_block *out)
{
    const double calls = (double)out->batch * (double)out->taken;

    pfc_counters_stop(counters, &out->counts);
    pfc_counters_close(counters);
    for (size_t i = 0; i < out->counts.len; i++)
        out->counts.items[i].value /= calls;
    out->counted = true;
}

/* Samples with counters around all of them: no system call of theirs is under a sample, and no call
   is spent on counting alone. */
static pfc_code counted_samples(const pfc_backend *backend, void *inst, const pfc_block_spec *spec,
                                const pfc_timer *wall, const pfc_timer *timer, pfc_block *out,
                                pfc_err *err)
{
    pfc_counters counters;
    pfc_counter_set set;
    pfc_code code = pfc_counter_parse(spec->counters, &set, err);

    if (code)
        return code;
    pfc_counters_open(&counters, &set, NULL);
    pfc_counters_start(&counters);
    take_samples(backend, inst, spec, wall, timer, out);
    keep_counts(&counters, out);
    return PFC_OK;
}

static pfc_code timed(const pfc_backend *backend, void *inst, const pfc_block_spec *spec,
                      const pfc_timer *wall, const pfc_timer *cpu, pfc_block *out, pfc_err *err)
{
    const pfc_timer *timer;
    pfc_code code = PFC_OK;
    pfc_core core;
    double start;
    double call_ns;

    /* Opening and checking the counters needed no such privilege, so this can fail first here. */
    pfc_core_join(&core, spec->cpu);
    out->fifo = core.fifo;
    start = wall->now_ns(wall->arg);
    call_ns = pfc_warm_up(backend, inst, wall, spec->warmup_seconds, &out->steady);
    out->warmup_seconds = (wall->now_ns(wall->arg) - start) * 1e-9;
    timer = call_ns > PFC_SAMPLE_LONG_NS ? cpu : wall;
    out->batch = pfc_batch_for(call_ns, timer);
    out->resolution_ns = timer->resolution_ns;
    strncpy(out->clock, timer->name, sizeof(out->clock) - 1);
    /* Opening counters takes the kernel up to a millisecond: only the first block of a benchmark
     * does it. */
    if (spec->check)
        code = counted_samples(backend, inst, spec, wall, timer, out, err);
    else
        take_samples(backend, inst, spec, wall, timer, out);
    pfc_core_leave(&core);
    if (code)
        return code;
    if (out->len == 0)
        return pfc_err_set(err, PFC_EBROKEN, "the %s clock did not move during a sample",
                           timer->name);
    return PFC_OK;
}

static pfc_code same_counts(const pfc_exact *a, const pfc_exact *b, pfc_err *err)
{
    if (a->cycles != b->cycles || a->time_ns != b->time_ns)
        return pfc_err_set(err, PFC_EBROKEN,
                           "two runs of an exact backend differ: %llu and %llu cycles",
                           (unsigned long long)a->cycles, (unsigned long long)b->cycles);
    for (size_t i = 0; i < PFC_MAX(a->counters_len, b->counters_len); i++)
        if (strcmp(a->counters[i].name, b->counters[i].name) != 0 ||
            a->counters[i].value != b->counters[i].value)
            return pfc_err_set(err, PFC_EBROKEN,
                               "two runs of an exact backend differ: %s %.17g and %.17g",
                               a->counters[i].name, a->counters[i].value, b->counters[i].value);
    return PFC_OK;
}

/* A trace that cannot be written is left out; the measurement stays valid. */
static void trace(const pfc_backend *backend, void *inst, const pfc_block_spec *spec)
{
    pfc_err why = { 0 };

    if (spec->trace[0] && backend->ops->trace &&
        backend->ops->trace(inst, spec->c->name, spec->trace, &why))
        fprintf(stderr, "no trace: %s\n", why.msg);
}

/* The call is made twice, because an exact backend with two different answers is wrong. */
static pfc_code exact(const pfc_backend *backend, void *inst, pfc_block *out, pfc_err *err)
{
    pfc_exact *again = pfc_calloc(1, sizeof(*again));
    pfc_code code;

    out->exact = pfc_calloc(1, sizeof(*out->exact));
    code = backend->ops->exact(inst, out->exact, err);
    if (!code)
        code = backend->ops->exact(inst, again, err);
    if (!code)
        code = same_counts(out->exact, again, err);
    free(again);
    if (code)
        return code;
    out->samples = pfc_alloc(sizeof(*out->samples));
    out->samples[out->len++] = out->exact->time_ns;
    out->batch = 1;
    out->steady = true;
    strncpy(out->clock, "simulated", sizeof(out->clock) - 1);
    return PFC_OK;
}

pfc_code pfc_block_run(const pfc_backend *backend, const pfc_block_spec *spec,
                       const pfc_timer *wall, const pfc_timer *cpu, pfc_block *out, pfc_err *err)
{
    const double start = wall->now_ns(wall->arg);
    pfc_err inner = { 0 };
    void *inst = NULL;
    double ready;
    pfc_code code = PFC_OK;

    *out = (pfc_block){ .status = PFC_STATUS_OK, .huge_bytes = -1 };
    if (backend->missing[0]) {
        out->status = PFC_STATUS_SKIPPED;
        out->reason = pfc_strdup(backend->missing);
        return PFC_OK;
    }
    out->pinned = pfc_pin(spec->cpu);
    code = backend->ops->open(backend, spec->c, spec->seed, &inst, &inner);
    if (!code && spec->check)
        code = backend->ops->check(inst, &inner);
    ready = wall->now_ns(wall->arg);
    out->setup_seconds = (ready - start) * 1e-9;
    if (!code && backend->exact)
        code = exact(backend, inst, out, &inner);
    else if (!code)
        code = timed(backend, inst, spec, wall, cpu, out, &inner);
    out->seconds = (wall->now_ns(wall->arg) - ready) * 1e-9;
    if (!code && backend->exact)
        trace(backend, inst, spec);
    if (inst)
        backend->ops->close(inst);
    if (code == PFC_EBROKEN || code == PFC_EUNAVAIL) {
        pfc_block_clear(out);
        out->status = code == PFC_EBROKEN ? PFC_STATUS_BROKEN : PFC_STATUS_SKIPPED;
        out->reason = pfc_strdup(inner.msg);
        return PFC_OK;
    }
    if (code) {
        pfc_block_clear(out);
        return pfc_err_set(err, code, "%s on %s: %s", spec->c->name, backend->name, inner.msg);
    }
    return PFC_OK;
}

void pfc_block_clear(pfc_block *block)
{
    free(block->reason);
    free(block->samples);
    free(block->exact);
    *block = (pfc_block){ 0 };
}
