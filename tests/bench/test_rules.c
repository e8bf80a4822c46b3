/* The constants of measuring, each at its limit: settings, batches, when to stop, gates and bands.
 */
#include <string.h>

#include "bench/harness/block/steady.h"
#include "bench/harness/cells.h"
#include "bench/harness/pairs/pairs.h"
#include "bench/machine/canary/band.h"
#include "bench/machine/quiet/quiet.h"

#include "tests/bench/fake.h"
#include "tests/check/check.h"

static pfc_err err;

/* ---- settings ---- */

static pfc_code parse(const char *settings, pfc_suite **suite)
{
    char *text = pfc_format("suite: t\nsettings: {%s}\nbackends: [cpu-scalar, \"accel:*\"]\n"
                            "benchmarks:\n  - {op: gemm, shapes: [{m: 10, n: 10, k: 10}]}\n",
                            settings);
    pfc_code code;

    err = (pfc_err){ 0 };
    code = pfc_suite_parse(text, strlen(text), "t", suite, &err);
    free(text);
    return code;
}

static void check_settings(const char *settings, bool good)
{
    pfc_suite *suite = NULL;

    cr_assert(eq(int, parse(settings, &suite), good ? PFC_OK : PFC_EINVAL), "%s: %s", settings,
              err.msg);
    pfc_suite_free(suite);
}

Test(rules, every_setting_is_held_to_its_range)
{
    static const struct {
        const char *good, *bad;
    } rows[] = {
        { "processes: 1", "processes: 0" },
        { "processes: 64", "processes: 65" },
        { "min_samples: 1", "min_samples: 0" },
        { "min_samples: 100000, max_samples: 100000", "min_samples: 1, max_samples: 100001" },
        { "processes: 1, min_samples: 1, max_samples: 1",
          "processes: 1, min_samples: 1, max_samples: 0" },
        { "min_samples: 7, max_samples: 7", "min_samples: 8, max_samples: 7" },
        { "processes: 7, min_samples: 1, max_samples: 7",
          "processes: 8, min_samples: 1, max_samples: 7" },
        { "max_seconds: 0.001", "max_seconds: 0.0009" },
        { "max_seconds: 3600", "max_seconds: 3600.1" },
        { "warmup_seconds: 0", "warmup_seconds: -0.1" },
        { "max_seconds: 3600, warmup_seconds: 600", "max_seconds: 3600, warmup_seconds: 600.1" },
        { "max_seconds: 2, warmup_seconds: 2", "max_seconds: 2, warmup_seconds: 2.1" },
        { "interval_rel: 1.0e-6", "interval_rel: 9.0e-7" },
        { "interval_rel: 1", "interval_rel: 1.01" },
        { "launch_seconds: 0.1", "launch_seconds: 0.09" },
        { "launch_seconds: 3600", "launch_seconds: 3601" },
        { "max_total_seconds: 1", "max_total_seconds: 0.9" },
        { "max_total_seconds: 86400", "max_total_seconds: 86401" },
        { "", "max_total_second: 5" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        check_settings(rows[i].good, true);
        check_settings(rows[i].bad, false);
    }
}

Test(rules, settings_arrive_where_they_belong)
{
    pfc_suite *suite = NULL;
    const pfc_case_settings *s;

    cr_assert(eq(int,
                 parse("processes: 3, min_samples: 30, max_samples: 300, max_seconds: 7, "
                       "warmup_seconds: 2, interval_rel: 0.125, launch_seconds: 11, "
                       "max_total_seconds: 90",
                       &suite),
                 PFC_OK),
              "%s", err.msg);
    s = &suite->cases[0].settings;
    cr_assert(eq(i64, s->processes, 3));
    cr_assert(eq(i64, s->min_samples, 30));
    cr_assert(eq(i64, s->max_samples, 300));
    cr_assert(eq(dbl, s->max_seconds, 7.0));
    cr_assert(eq(dbl, s->warmup_seconds, 2.0));
    cr_assert(eq(dbl, s->interval_rel, 0.125));
    cr_assert(eq(dbl, s->launch_seconds, 11.0));
    cr_assert(eq(dbl, suite->max_total_seconds, 90.0));
    pfc_suite_free(suite);
}

/* ---- batches ---- */

/* 20 us, or 100 steps of the clock when that is longer; rounded up; 1 to 10^9 calls. */
Test(rules, a_batch_is_as_many_calls_as_make_a_sample)
{
    static const struct {
        double call_ns, step_ns;
        uint64_t calls;
    } rows[] = {
        { 1000.0, 20.0, 20 },    { 999.0, 20.0, 21 },       { 20000.0, 20.0, 1 },
        { 20001.0, 20.0, 1 },    { 19999.0, 20.0, 2 },      { 1000.0, 200.0, 20 },
        { 1000.0, 201.0, 21 },   { 1000.0, 700.0, 70 },     { 0.0, 20.0, 2000000 },
        { 0.01, 20.0, 2000000 }, { 0.01, 1e8, 1000000000 }, { 1e9, 20.0, 1 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_timer timer = { .resolution_ns = rows[i].step_ns };

        cr_assert(eq(u64, pfc_batch_for(rows[i].call_ns, &timer), rows[i].calls), "row %zu", i);
    }
}

Test(rules, calls_longer_than_300_us_are_timed_by_the_cpu_clock)
{
    static const struct {
        double call_ns;
        const char *clock;
    } rows[] = { { 299999.0, "monotonic" }, { 300000.0, "monotonic" }, { 300001.0, "thread-cpu" } };
    pfc_backends backends;
    pfc_suite *suite = NULL;

    cr_assert(eq(int, parse("", &suite), PFC_OK), "%s", err.msg);
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_block_spec spec = {
            .c = &suite->cases[0], .samples = 3, .max_seconds = 1, .cpu = -1
        };
        pfc_block b;

        fake_reset(&backends);
        fake.call_ns = rows[i].call_ns;
        cr_assert(eq(int, pfc_block_run(&backends.items[0], &spec, &fake_wall, &fake_cpu, &b, &err),
                     PFC_OK));
        cr_assert(eq(str, b.clock, (char *)(uintptr_t)rows[i].clock), "%g", rows[i].call_ns);
        cr_assert(eq(sz, fake.checked, 0)); /* it was not asked for */
        pfc_block_clear(&b);
        pfc_backends_clear(&backends);
    }
    pfc_suite_free(suite);
}

/* ---- when a benchmark has enough ---- */

typedef struct world {
    double levels[8]; /* of its launches in turn */
    size_t samples;   /* of a launch; 0: as many as are asked for */
    double seconds;   /* of a launch */
    size_t launches, checks;
    pfc_block_spec first;
} world;

static pfc_code give_block(void *arg, const pfc_block_spec *spec, pfc_block *out, pfc_err *fault)
{
    world *w = arg;
    const double level = w->levels[w->launches % 8];

    (void)fault;
    if (w->launches++ == 0)
        w->first = *spec;
    w->checks += spec->check;
    *out = (pfc_block){ .batch = 1, .len = w->samples ? w->samples : spec->samples };
    out->seconds = w->seconds;
    out->samples = pfc_calloc(out->len, sizeof(double));
    for (size_t i = 0; i < out->len; i++)
        out->samples[i] = level;
    return PFC_OK;
}

static size_t launches_of(const char *settings, world *w)
{
    static const char *const scalar[] = { "cpu-scalar" };
    const pfc_measure_opts opts = {
        .block = give_block, .block_arg = w, .cpu = -1, .backends = scalar, .backends_len = 1
    };
    pfc_backends backends;
    pfc_suite *suite = NULL;
    pfc_run *run = pfc_run_new();

    fake_reset(&backends);
    cr_assert(eq(int, parse(settings, &suite), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_suite_measure(suite, &backends, &opts, run, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, w->checks, 1)); /* the first launch alone */
    pfc_run_free(run);
    pfc_suite_free(suite);
    pfc_backends_clear(&backends);
    return w->launches;
}

#define LEVEL                                                                                      \
    {                                                                                              \
        100, 100, 100, 100, 100, 100, 100, 100                                                     \
    }
#define WILD                                                                                       \
    {                                                                                              \
        100, 200, 100, 200, 100, 200, 100, 200                                                     \
    }

Test(rules, launches_end_at_the_first_limit_that_is_reached)
{
    static const struct {
        const char *settings;
        world w;
        size_t launches;
    } rows[] = {
        /* level: as many processes as are asked for, once there are enough samples */
        { "processes: 6, min_samples: 12, max_samples: 90, interval_rel: 1",
          { .levels = LEVEL },
          6 },
        { "processes: 6, min_samples: 12, max_samples: 90, interval_rel: 1",
          { .levels = LEVEL, .samples = 1 },
          12 },
        { "processes: 6, min_samples: 13, max_samples: 90, interval_rel: 1",
          { .levels = LEVEL, .samples = 1 },
          13 },
        /* wild: until there are enough samples in all */
        { "processes: 2, min_samples: 4, max_samples: 20, interval_rel: 0.01",
          { .levels = WILD },
          10 },
        { "processes: 2, min_samples: 4, max_samples: 21, interval_rel: 0.01",
          { .levels = WILD },
          11 },
        { "processes: 2, min_samples: 4, max_samples: 4, interval_rel: 0.01",
          { .levels = WILD },
          2 },
        /* at least as many as are asked for, whatever they have */
        { "processes: 5, min_samples: 1, max_samples: 5, interval_rel: 0.01",
          { .levels = WILD, .samples = 9 },
          5 },
        /* or the time is over */
        { "processes: 2, min_samples: 4, max_samples: 1000, interval_rel: 0.01, max_seconds: 8",
          { .levels = WILD, .seconds = 2.0 },
          4 },
        { "processes: 2, min_samples: 4, max_samples: 1000, interval_rel: 0.01, max_seconds: 8",
          { .levels = WILD, .seconds = 1.99 },
          5 },
        /* or 512 launches */
        { "processes: 1, min_samples: 1, max_samples: 100000, interval_rel: 1.0e-6, "
          "max_seconds: 3600",
          { .levels = WILD },
          512 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        world w = rows[i].w;

        cr_assert(eq(sz, launches_of(rows[i].settings, &w), rows[i].launches), "row %zu", i);
    }
}

/* 10 samples over 3 processes are 4 each; a third of the time; no more warm-up than that. */
Test(rules, a_launch_gets_its_share)
{
    world w = { .levels = LEVEL };

    launches_of("processes: 3, min_samples: 10, max_samples: 90, max_seconds: 6, "
                "warmup_seconds: 1, launch_seconds: 9, interval_rel: 1",
                &w);
    cr_assert(eq(sz, w.first.samples, 4));
    cr_assert(epsilon_eq(dbl, w.first.max_seconds, 2.0, 1e-12));
    cr_assert(epsilon_eq(dbl, w.first.warmup_seconds, 1.0, 1e-12));
    cr_assert(epsilon_eq(dbl, w.first.launch_seconds, 9.0, 1e-12));
    cr_assert(eq(u64, w.first.seed, 1));
    cr_assert(eq(str, w.first.counters, ""));
    w = (world){ .levels = LEVEL };
    launches_of("processes: 3, min_samples: 9, max_samples: 90, max_seconds: 6, "
                "warmup_seconds: 5, interval_rel: 1",
                &w);
    cr_assert(eq(sz, w.first.samples, 3));
    cr_assert(epsilon_eq(dbl, w.first.warmup_seconds, 2.0, 1e-12));
}

/* 5 s and a fifth of it, and 0.05 s a launch; an exact backend 0.05 s; never more than the budget.
 */
Test(rules, the_estimate_is_the_sum_of_the_budgets)
{
    static const struct {
        const char *settings;
        double seconds;
    } rows[] = {
        { "processes: 5, max_seconds: 5", 5.0 * 1.2 + 0.05 * 5 + 0.05 },
        { "processes: 1, max_seconds: 5", 5.0 * 2.0 + 0.05 + 0.05 },
        { "processes: 5, max_seconds: 5, max_total_seconds: 6", 6.0 },
        { "processes: 5, max_seconds: 5, max_total_seconds: 7", 6.3 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_measure_opts opts = { .cpu = -1 };
        pfc_backends backends;
        pfc_suite *suite = NULL;
        double seconds = 0.0;
        size_t cells = 0;

        fake_reset(&backends);
        cr_assert(eq(int, parse(rows[i].settings, &suite), PFC_OK), "%s", err.msg);
        cr_assert(
            eq(int, pfc_suite_estimate(suite, &backends, &opts, &seconds, &cells, &err), PFC_OK));
        cr_assert(epsilon_eq(dbl, seconds, rows[i].seconds, 1e-9), "row %zu", i);
        cr_assert(eq(sz, cells, 2));
        pfc_suite_free(suite);
        pfc_backends_clear(&backends);
    }
}

/* ---- steady ---- */

static void fill(double *x, size_t from, size_t to, double value)
{
    for (size_t i = from; i < to; i++)
        x[i] = value;
}

/* Below 40 samples the second half is cut into two, which may differ by 2 % of the lower. */
Test(rules, two_per_cent_between_halves_are_level)
{
    double x[64];

    fill(x, 0, 64, 500.0); /* the first half does not count */
    for (int mirrored = 0; mirrored <= 1; mirrored++) {
        fill(x, 20, 30, mirrored ? 102.0 : 100.0);
        fill(x, 30, 40, mirrored ? 100.0 : 102.0);
        cr_assert(pfc_steady(x + 1, 39)); /* 9 of 39 at the end of each half */
        fill(x, 20, 30, mirrored ? 102.01 : 100.0);
        fill(x, 30, 40, mirrored ? 100.0 : 102.01);
        cr_assert(not(pfc_steady(x + 1, 39)));
        cr_assert(not(pfc_steady(x, 40)));
    }
    /* From 40 on there are four: a step within a half shows. */
    fill(x, 20, 25, 100.0);
    fill(x, 25, 40, 101.0);
    fill(x, 35, 40, 100.0);
    cr_assert(pfc_steady(x, 40));
    fill(x, 35, 40, 103.0);
    cr_assert(not(pfc_steady(x, 40)));
}

/* ---- noise ---- */

Test(rules, launches_for_a_change_follow_its_size)
{
    static const struct {
        double ratio_rel, rel, launches;
    } rows[] = {
        { 0.0, 0.01, 18 },  { 0.01, 0.01, 62 },   { 0.02, 0.01, 194 },
        { 0.01, 0.02, 29 }, { 0.01, 0.005, 194 }, { 0.001, 0.01, 19 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(dbl, pfc_noise_launches(rows[i].ratio_rel, rows[i].rel), rows[i].launches),
                  "row %zu", i);
}

/* ---- gates ---- */

static pfc_load loads[2]; /* before, and from then on */
static size_t looked, slept;
static int64_t slept_ns;

static void give_load(void *arg, pfc_load *out)
{
    (void)arg;
    *out = loads[looked++ % (PFC_QUIET_READS + 1) > 0];
}

static void pass_time(void *arg, int64_t ns)
{
    (void)arg;
    slept++;
    slept_ns += ns;
}

static pfc_quiet look(double limit_s)
{
    static const pfc_quiet_world here = { .load = give_load, .sleep_ns = pass_time };
    pfc_quiet q;

    looked = slept = 0;
    slept_ns = 0;
    pfc_quiet_wait(limit_s, &here, &q);
    return q;
}

/* 4 CPUs, 100 s of them between both readings, nothing else. */
static void reset_loads(void)
{
    loads[0] = (pfc_load){ .running = 1, .core_ghz = 2.0, .cpus = 4 };
    loads[1] = loads[0];
    loads[1].total_seconds = 100.0;
}

Test(rules, each_gate_closes_just_past_its_limit)
{
    static const struct {
        size_t field;
        double open, closed;
        const char *why;
    } rows[] = {
        { offsetof(pfc_load, steal_seconds), 2.0, 2.01, "hypervisor" },
        { offsetof(pfc_load, busy_seconds), 50.0, 50.1, "other work" },
        { offsetof(pfc_load, running), 5.0, 5.01, "threads of others" }, /* this one, and 4 */
        { offsetof(pfc_load, load1), 6.0, 6.01, "load of the last minute" },
        { offsetof(pfc_load, throttled), 0.0, 1.0, "slowed by heat 1 times" },
        { offsetof(pfc_load, core_ghz), 2.098, 2.102, "clock wanders" },
        { offsetof(pfc_load, core_ghz), 1.902, 1.898, "clock wanders" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_quiet q;

        for (int closed = 0; closed <= 1; closed++) {
            reset_loads();
            memcpy((char *)&loads[1] + rows[i].field, closed ? &rows[i].closed : &rows[i].open,
                   sizeof(double));
            q = look(0.0);
            cr_assert(eq(int, q.quiet, !closed), "row %zu: %s", i, q.reason);
            if (closed)
                cr_assert(ne(ptr, strstr(q.reason, rows[i].why), NULL), "%s", q.reason);
        }
    }
    /* Values from before both readings do not count. */
    reset_loads();
    loads[0].steal_seconds = loads[1].steal_seconds = 1e6;
    loads[0].busy_seconds = loads[1].busy_seconds = 1e6;
    loads[0].throttled = loads[1].throttled = 50;
    cr_assert(look(0.0).quiet);
}

/* Half a second in five parts, again until the limit is reached. */
Test(rules, a_busy_machine_is_looked_at_until_the_limit)
{
    static const struct {
        double limit_s;
        size_t looks;
    } rows[] = { { 0.0, 1 }, { 0.5, 1 }, { 0.51, 2 }, { 1.0, 2 }, { 1.01, 3 } };

    reset_loads();
    loads[1].load1 = 100.0;
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_quiet q = look(rows[i].limit_s);

        cr_assert(not(q.quiet));
        cr_assert(eq(sz, slept, 5 * rows[i].looks), "row %zu", i);
        cr_assert(eq(i64, slept_ns, 500000000 * (int64_t)rows[i].looks), "row %zu", i);
        cr_assert(epsilon_eq(dbl, q.waited_s, 0.5 * (double)rows[i].looks, 1e-9));
    }
}

/* ---- bands ---- */

/* Readings spread by `step` around 1000: the band is six robust deviations, at least 5 % and at
   most 50 % of the median. 1.4826 x 6 x 2.5 steps are 22.24 steps. */
Test(rules, a_band_is_neither_too_narrow_nor_too_wide)
{
    static const struct {
        double step, width;
    } rows[] = {
        { 0.0, 0.05 },    { 2.2, 0.05 },    { 2.3, 0.0511 },
        { 10.0, 0.2224 }, { 22.0, 0.4893 }, { 23.0, 0.5 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        double r[10];
        pfc_canary_band b;

        for (int k = 0; k < 10; k++)
            r[k] = 1000.0 + rows[i].step * (k - 4.5);
        pfc_band_learn(r, 10, &b);
        cr_assert(epsilon_eq(dbl, b.center_ns, 1000.0, 1e-9));
        cr_assert(epsilon_eq(dbl, b.width_rel, rows[i].width, 1e-4), "row %zu", i);
    }
}

/* As far up as down: 1000 x 1.05 and 1000 / 1.05. */
Test(rules, a_band_is_as_wide_upwards_as_downwards)
{
    const pfc_canary_band learned = { .center_ns = 1000.0, .width_rel = 0.05, .readings = 10 };
    const pfc_canary_band fresh = { .center_ns = (double)NAN, .width_rel = 0.05 };
    static const struct {
        double reading;
        bool left;
    } rows[] = {
        { 1049.9, false }, { 1050.1, true }, { 952.5, false }, { 952.3, true }, { 1000.0, false }
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        cr_assert(eq(int, pfc_band_left(&learned, rows[i].reading), rows[i].left), "row %zu", i);
        cr_assert(eq(int, pfc_band_moved(&learned, 1000.0, rows[i].reading), rows[i].left));
        cr_assert(eq(int, pfc_band_moved(&fresh, 1000.0, rows[i].reading), rows[i].left));
        cr_assert(not(pfc_band_left(&fresh, rows[i].reading)));
    }
}
