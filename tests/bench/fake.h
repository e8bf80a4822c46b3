/* A backend with simulated time: a call takes what a seeded model says, on a clock of its own. */
#ifndef PFC_TESTS_BENCH_FAKE_H
#define PFC_TESTS_BENCH_FAKE_H

#include <math.h>
#include <stdlib.h>

#include "bench/harness/harness.h"
#include "core/base/rng.h"

typedef struct fake_world {
    double now_ns;     /* the clock */
    double call_ns;    /* of one call */
    double noise_rel;  /* sd of the log of a sample */
    double block_rel;  /* sd of the log of a process's level */
    double level;      /* of this process */
    double cold_calls; /* the first calls take ten times as long */
    uint64_t calls;    /* run so far in this process */
    size_t opened, checked;
    pfc_rng rng;
    const char *wrong;    /* name of the benchmark whose result is wrong; NULL: none */
    const char *unknown;  /* name of the benchmark that the backend does not know */
    uint64_t cycles;      /* of an exact run */
    uint64_t cycles_step; /* added by every exact run: 0 for a deterministic one */
    const char *current;
    double step_at_ns; /* when the clock passes this, it steps by step_ns for good; 0: never */
    double step_ns;
    bool stopped; /* the clock stands still */
} fake_world;

static fake_world fake;

static double fake_now(void *arg)
{
    (void)arg;
    if (fake.stopped)
        return 1000.0;
    return fake.now_ns +
           (fake.step_at_ns > 0.0 && fake.now_ns >= fake.step_at_ns ? fake.step_ns : 0.0);
}

static const pfc_timer fake_wall = { .now_ns = fake_now, .name = "monotonic", .resolution_ns = 20 };
static const pfc_timer fake_cpu = { .now_ns = fake_now,
                                    .name = "thread-cpu",
                                    .resolution_ns = 700 };

static pfc_code fake_open(const pfc_backend *self, const pfc_case *c, uint64_t seed, void **inst,
                          pfc_err *err)
{
    (void)seed;
    if (fake.unknown && pfc_streq(fake.unknown, c->name))
        return pfc_err_set(err, PFC_EUNAVAIL, "%s has no %s", self->name, c->op->name);
    fake.opened++;
    fake.calls = 0;
    fake.level = exp(fake.block_rel * pfc_rng_normal(&fake.rng));
    fake.current = c->name;
    *inst = &fake;
    return PFC_OK;
}

static pfc_code fake_check(void *inst, pfc_err *err)
{
    (void)inst;
    fake.checked++;
    if (fake.wrong && pfc_streq(fake.wrong, fake.current))
        return pfc_err_set(err, PFC_EBROKEN, "row 3: expected 1.5, got 2.5");
    return PFC_OK;
}

static void fake_run(void *inst, uint64_t calls)
{
    const double cold = (double)fake.calls < fake.cold_calls ? 10.0 : 1.0;

    (void)inst;
    fake.calls += calls;
    fake.now_ns += cold * fake.call_ns * fake.level * (double)calls *
                   exp(fake.noise_rel * pfc_rng_normal(&fake.rng));
}

static pfc_code fake_exact(void *inst, pfc_exact *out, pfc_err *err)
{
    (void)inst;
    (void)err;
    *out = (pfc_exact){ .cycles = fake.cycles, .time_ns = (double)fake.cycles, .counters_len = 1 };
    strcpy(out->counters[0].name, "dram_bytes");
    out->counters[0].value = 4096;
    fake.cycles += fake.cycles_step;
    return PFC_OK;
}

static void fake_close(void *inst)
{
    (void)inst;
}

static const pfc_backend_ops fake_ops = { .open = fake_open,
                                          .check = fake_check,
                                          .run = fake_run,
                                          .exact = fake_exact,
                                          .close = fake_close };

/* The world at its start, and the backends that tests measure on. */
static void fake_reset(pfc_backends *backends)
{
    fake = (fake_world){ .call_ns = 1000, .level = 1, .cycles = 500 };
    pfc_rng_seed(&fake.rng, 7);
    *backends = (pfc_backends){ 0 };
    pfc_backends_add(backends, "cpu-scalar", "", false, &fake_ops, NULL);
    pfc_backends_add(backends, "cpu-avx512", "this CPU has no AVX-512", false, &fake_ops, NULL);
    pfc_backends_add(backends, "accel:test", "", true, &fake_ops, NULL);
}

static inline pfc_code fake_block(void *arg, const pfc_block_spec *spec, pfc_block *out,
                                  pfc_err *err)
{
    return pfc_block_run(pfc_backends_find(arg, spec->backend), spec, &fake_wall, &fake_cpu, out,
                         err);
}

#endif
