/*
 * The arithmetic of `perfci capacity`, with costs that can be computed by hand.
 */
#include <math.h>
#include <string.h>

#include "cli/capacity/capacity.h"

#include "tests/check/check.h"

#define MONTH (365.0 / 12)

static const pfc_capacity_costs costs = {
    .point_bytes = 100,
    .sample_bytes = 10,
    .point_index_bytes = 50,
    .chunk_bytes = 40,
    .run_bytes = 1000,
    .job_bytes = 200,
    .series_bytes = 2000,
    .log_run_bytes = 5000,
    .log_point_bytes = 300,
    .log_sample_bytes = 8,
    .run_ms = 4,
    .point_ms = 0.4,
    .sample_ms = 0.01,
    .change_ms = 3,
    .waiting_run_ms = 2,
    .waiting_point_ms = 0.1,
    .waiting_sample_ms = 0.005,
    .server_bytes = 1e8,
    .base_bytes = 4e8,
    .core_share = 0.5,
    .disk_share = 0.8,
};

/* 1,000 measurements a day of 10 samples. */
static pfc_capacity_load small_load(void)
{
    return (pfc_capacity_load){
        .runs_a_day = 10, .series = 100, .points_a_run = 100, .samples = 10, .months = 12, .peak = 2
    };
}

static const pfc_capacity_machine machine = { .cores = 4, .memory_bytes = 8e9, .disk_bytes = 1e12 };

static pfc_capacity_answer answer_of(const pfc_capacity_load *load)
{
    pfc_capacity_answer a;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_capacity_check(load, &err), PFC_OK), "%s", err.msg);
    pfc_capacity_compute(&costs, load, &machine, &a);
    return a;
}

static void near(double got, double expected)
{
    cr_assert(fabs(got - expected) <= 1e-6 * fabs(expected), "expected %.9g, got %.9g", expected,
              got);
}

/* ---- units ---- */

Test(capacity, a_load_without_growth_is_a_product)
{
    const pfc_capacity_load load = small_load();
    const pfc_capacity_answer a = answer_of(&load);

    near(a.points_a_day, 1000);
    near(a.points_a_day_then, 1000);
    near(a.points_stored, 365e3);
    /* a measurement has 100 + 10 x 10 + 40 bytes, a run 1,000, its job 200 */
    near(a.disk_bytes_a_day, 1000 * 240.0 + 10 * 1200);
    near(a.log_bytes_a_day, 10 * 5000 + 1000 * (300 + 80));
    near(a.processor_ms_a_point, (4 + 100 * 0.5) / 100);
    near(a.processor_ms_a_point_waiting, (2 + 100 * 0.15) / 100);
    near(a.need[PFC_CAPACITY_DISK], 365e3 * 240 + 3650 * 1000 + 300 * 200 + 100 * 2000);
    near(a.need[PFC_CAPACITY_MEMORY], 5e8 + MONTH * 1000 * 50 + 100 * 2000);
    near(a.need[PFC_CAPACITY_CORES], 10 * 2 * 54 / 86400e3);
    near(a.may[PFC_CAPACITY_DISK], 8e11);
    near(a.may[PFC_CAPACITY_MEMORY], 8e9);
    near(a.may[PFC_CAPACITY_CORES], 2);
    cr_assert(eq(dbl, a.shards, 1));
}

Test(capacity, growth_is_by_year_and_compound)
{
    pfc_capacity_load load = small_load();
    pfc_capacity_answer a;

    load.growth = 1;
    load.months = 24;
    a = answer_of(&load);
    near(a.points_a_day, 1000);
    near(a.points_a_day_then, 4000);
    /* the integral of 1000 x 2^(day / 365) over two years */
    near(a.points_stored, 1000 * 365 * 3 / log(2));
}

Test(capacity, chosen_days_of_use_up)
{
    pfc_capacity_load load = small_load();
    pfc_capacity_machine m = machine;
    pfc_capacity_answer a;

    /* after the first month: 250,000 bytes a day, and 260,000 of series and jobs */
    m.disk_bytes = (250e3 * 400 + 260e3) / 0.8;
    pfc_capacity_compute(&costs, &load, &m, &a);
    near(a.lasts[PFC_CAPACITY_DISK], 400);
    cr_assert(eq(int, (int)a.first, PFC_CAPACITY_DISK));
    cr_assert(isinf(a.lasts[PFC_CAPACITY_MEMORY]) && isinf(a.lasts[PFC_CAPACITY_CORES]));

    /* the processor: 10 runs x 54 ms x 2 a day are 1.25e-5 cores; a thousand times as many,
     * doubling a year, reach half a core after log2(40) years */
    m = machine;
    m.cores = 1;
    load.runs_a_day = 10e3;
    load.growth = 1;
    m.disk_bytes = m.memory_bytes = 1e18;
    pfc_capacity_compute(&costs, &load, &m, &a);
    near(a.lasts[PFC_CAPACITY_CORES], 365 * log2(0.5 / (10e3 * 2 * 54 / 86400e3)));
    cr_assert(eq(int, (int)a.first, PFC_CAPACITY_CORES));
}

Test(capacity, what_does_not_do_today_lasts_0_days)
{
    pfc_capacity_load load = small_load();
    pfc_capacity_machine m = machine;
    pfc_capacity_answer a;

    m.memory_bytes = 5e8; /* what server and system take */
    pfc_capacity_compute(&costs, &load, &m, &a);
    cr_assert(eq(dbl, a.lasts[PFC_CAPACITY_MEMORY], 0));
    cr_assert(eq(int, (int)a.first, PFC_CAPACITY_MEMORY));
    cr_assert(isinf(a.shards));
}

/* A tenth of 100 measurements cost 3 ms more each. */
Test(capacity, a_measurement_of_a_series_that_changed_costs_more)
{
    pfc_capacity_load load = small_load();

    load.changing = 0.1;
    near(answer_of(&load).processor_ms_a_point, (4 + 100 * 0.5 + 10 * 3) / 100);
    near(answer_of(&load).need[PFC_CAPACITY_CORES], 10 * 2 * 84 / 86400e3);
}

/* ---- retention ---- */

Test(capacity, thinning_leaves_one_a_day_of_each_series)
{
    pfc_capacity_load load = small_load(); /* ten of each series a day */
    double all, thinned, deleted;

    load.months = 36;
    all = answer_of(&load).points_stored;
    load.raw_months = 12;
    thinned = answer_of(&load).points_stored;
    load.day_months = 24;
    deleted = answer_of(&load).points_stored;
    near(all, 3 * 365e3);
    near(thinned, 365e3 + 2 * 36500);
    near(deleted, 365e3 + 36500);
}

Test(capacity, a_day_with_fewer_measurements_than_series_is_kept_as_it_is)
{
    pfc_capacity_load load = small_load();

    load.series = 5000; /* five times as many as measurements a day */
    load.months = 36;
    load.raw_months = 1;
    near(answer_of(&load).points_stored, 3 * 365e3);
    /* with growth, up to the day on which there are as many */
    load.series = 2000;
    load.growth = 1;
    load.months = 36 + 1;
    near(answer_of(&load).points_stored, 1000 * 365 / log(2) + 2 * 365 * 2000 +
                                             1000 * 365 / log(2) * (pow(2, 37.0 / 12) - pow(2, 3)));
}

/* ---- shape ---- */

Test(capacity, more_of_anything_never_needs_less)
{
    const pfc_capacity_load base = { .runs_a_day = 50,
                                     .series = 1000,
                                     .points_a_run = 400,
                                     .samples = 20,
                                     .raw_months = 3,
                                     .day_months = 9,
                                     .months = 12,
                                     .growth = 0.2,
                                     .peak = 2 };
    double *fields[9];
    pfc_capacity_load load = base;

    fields[0] = &load.runs_a_day;
    fields[1] = &load.series;
    fields[2] = &load.points_a_run;
    fields[3] = &load.samples;
    fields[4] = &load.raw_months;
    fields[5] = &load.day_months;
    fields[6] = &load.months;
    fields[7] = &load.growth;
    fields[8] = &load.peak;
    for (size_t f = 0; f < PFC_ARRAY_LEN(fields); f++) {
        pfc_capacity_answer before, after;

        load = base;
        before = answer_of(&load);
        *fields[f] *= 2;
        after = answer_of(&load);
        for (int r = 0; r < PFC_CAPACITY_RESOURCES; r++) {
            cr_assert(after.need[r] >= before.need[r], "field %zu, %s", f, pfc_capacity_name(r));
            cr_assert(after.lasts[r] <= before.lasts[r] || f == 6, "field %zu, %s", f,
                      pfc_capacity_name(r));
        }
    }
}

Test(capacity, shards_divide_the_load)
{
    pfc_capacity_load load = small_load();
    pfc_capacity_machine m = machine;
    pfc_capacity_answer a;

    pfc_capacity_compute(&costs, &load, &m, &a);
    m.disk_bytes = a.need[PFC_CAPACITY_DISK] / 2.5 / 0.8;
    pfc_capacity_compute(&costs, &load, &m, &a);
    cr_assert(eq(dbl, a.shards, 3));
}

/* ---- absurd numbers ---- */

static void refused(const pfc_capacity_load *load, const char *sentence)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_capacity_check(load, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, sentence) != NULL, "%s", err.msg);
}

Test(capacity, contradictions_are_refused_with_the_options_name)
{
    pfc_capacity_load load = small_load();

    load.points_a_run = 101;
    refused(&load, "--points: expected at most the number of series (100), got 101");
    load = small_load();
    load.day_months = 6;
    refused(&load, "--retain-days: without --retain-raw nothing is deleted");
    load.raw_months = 6;
    refused(&load, "--retain-days: expected more months than --retain-raw (6)");
    load = small_load();
    load.runs_a_day = 1e10;
    load.points_a_run = load.series = 20000;
    refused(&load, "--commits: expected at most 1e+10 measurements a day");
    load.runs_a_day = 1e3; /* 2e7 a day, but 11 times as many each year */
    load.growth = 10;
    load.months = 1200;
    refused(&load, "after the growth of 1200 months");
}

Test(capacity, the_largest_and_the_smallest_numbers_have_finite_answers)
{
    const pfc_capacity_load loads[] = {
        { .runs_a_day = 5e5,
          .series = 1e8,
          .points_a_run = 20000,
          .samples = 100000,
          .months = 1200,
          .peak = 100 },
        { .runs_a_day = 1e-5,
          .series = 1,
          .points_a_run = 1,
          .samples = 1,
          .raw_months = 1,
          .day_months = 2,
          .months = 1,
          .growth = 10,
          .peak = 1 },
        { .runs_a_day = 1e-5,
          .series = 1e8,
          .points_a_run = 1,
          .samples = 1,
          .raw_months = 1200,
          .months = 1200,
          .growth = 0,
          .peak = 1 },
    };
    const pfc_capacity_machine m = { .cores = 1, .memory_bytes = 2.56e8, .disk_bytes = 1e9 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(loads); i++) {
        pfc_capacity_answer a;
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_capacity_check(&loads[i], &err), PFC_OK), "%s", err.msg);
        pfc_capacity_compute(&PFC_CAPACITY_MEASURED, &loads[i], &m, &a);
        cr_assert(isfinite(a.points_stored) && isfinite(a.disk_bytes_a_day) &&
                  isfinite(a.log_bytes_a_day) && isfinite(a.processor_ms_a_point));
        for (int r = 0; r < PFC_CAPACITY_RESOURCES; r++)
            cr_assert(isfinite(a.need[r]) && a.need[r] > 0 && a.lasts[r] >= 0);
    }
}

/* ---- the length of histories ---- */

Test(capacity, a_point_costs_more_behind_more_earlier_points_up_to_what_was_measured)
{
    pfc_capacity_costs aged = costs;
    pfc_capacity_load load = small_load();
    pfc_capacity_answer a;

    aged.earlier_ms = 0.001;
    /* 3,650 runs in a year: each series has 3,650 points, of which 1,500 count */
    pfc_capacity_compute(&aged, &load, &machine, &a);
    near(a.points_a_series_then, 3650);
    near(a.processor_ms_a_point, 0.54);
    near(a.processor_ms_a_point_then, 0.54 + 1350 * 0.001);
    near(a.need[PFC_CAPACITY_CORES], 10 * 2 * (54 + 135) / 86400e3);
    load.runs_a_day = 1; /* 365 points */
    pfc_capacity_compute(&aged, &load, &machine, &a);
    near(a.processor_ms_a_point_then, 0.54 + 215 * 0.001);
    load.runs_a_day = 0.4; /* 146, which are fewer than those of the constants */
    pfc_capacity_compute(&aged, &load, &machine, &a);
    near(a.processor_ms_a_point_then, 0.54);
    /* thinned ones of a day count once, deleted ones not */
    load.runs_a_day = 10;
    load.raw_months = 1;
    load.day_months = 2;
    pfc_capacity_compute(&aged, &load, &machine, &a);
    near(a.points_a_series_then, MONTH * 10 + MONTH);
    near(a.processor_ms_a_point_then, 0.54 + (MONTH * 11 - 150) * 0.001);
}

/* ---- constants of this machine ---- */

/* The figures that a machine with these costs has. */
static pfc_capacity_stage stage_of(const pfc_capacity_costs *c, double series, double samples,
                                   double earlier, double changing)
{
    return (pfc_capacity_stage){
        .series = series,
        .samples = samples,
        .earlier = earlier,
        .ms = c->run_ms +
              series * (c->point_ms + samples * c->sample_ms +
                        (earlier - PFC_CAPACITY_EARLIER) * c->earlier_ms) +
              changing * c->change_ms,
        .changing = changing,
        .log_bytes =
            c->log_run_bytes + series * (c->log_point_bytes + samples * c->log_sample_bytes),
        .table_bytes = c->point_bytes - c->point_index_bytes + samples * c->sample_bytes,
        .index_bytes = c->point_index_bytes,
    };
}

static pfc_capacity_figures figures_of(const pfc_capacity_costs *c)
{
    return (pfc_capacity_figures){
        .few = stage_of(c, 10, 3, PFC_CAPACITY_EARLIER, 0),
        .many = stage_of(c, 100, 3, PFC_CAPACITY_EARLIER, 0),
        .sampled = stage_of(c, 100, 50, PFC_CAPACITY_EARLIER, 0),
        .aged = stage_of(c, 100, 3, 1000, 0),
        .changed = stage_of(c, 100, 3, PFC_CAPACITY_EARLIER, 10),
        .run_bytes = c->run_bytes,
        .job_bytes = c->job_bytes,
    };
}

Test(capacity, constants_are_solved_from_the_figures_of_a_machine)
{
    pfc_capacity_costs here = costs;
    pfc_capacity_costs got = PFC_CAPACITY_MEASURED;
    pfc_capacity_figures figures;
    bool replaced[PFC_CAPACITY_CONSTANTS];

    here.earlier_ms = 0.002;
    figures = figures_of(&here);
    pfc_capacity_solve(&figures, &got, replaced);
    for (size_t i = 0; i < PFC_CAPACITY_CONSTANTS; i++) {
        double expected, value;
        const char *name = pfc_capacity_constant(i, &here, &expected);

        (void)pfc_capacity_constant(i, &got, &value);
        cr_assert(replaced[i], "%s", name);
        cr_assert(fabs(value - expected) <= 1e-9 * expected, "%s: expected %.9g, got %.9g", name,
                  expected, value);
    }
    /* what no figure gives */
    near(got.chunk_bytes, PFC_CAPACITY_MEASURED.chunk_bytes);
    near(got.series_bytes, PFC_CAPACITY_MEASURED.series_bytes);
    near(got.core_share, PFC_CAPACITY_MEASURED.core_share);
}

Test(capacity, a_constant_below_its_noise_stays_as_it_is_built_in)
{
    pfc_capacity_costs got = PFC_CAPACITY_MEASURED;
    pfc_capacity_figures figures = figures_of(&costs);
    bool replaced[PFC_CAPACITY_CONSTANTS];
    size_t kept = 0;

    figures.aged.ms = figures.many.ms - 1;
    figures.job_bytes = 0;
    pfc_capacity_solve(&figures, &got, replaced);
    for (size_t i = 0; i < PFC_CAPACITY_CONSTANTS; i++)
        kept += !replaced[i];
    cr_assert(eq(sz, kept, 2));
    near(got.earlier_ms, PFC_CAPACITY_MEASURED.earlier_ms);
    near(got.job_bytes, PFC_CAPACITY_MEASURED.job_bytes);
    near(got.run_bytes, costs.run_bytes);
}

/* ---- partitions ---- */

Test(capacity, the_memory_is_for_the_newest_partition_and_auto_takes_the_widest_that_fits)
{
    static const struct {
        double asked, memory_bytes, days;
    } widths[] = {
        { 0, 8e9, PFC_CAPACITY_MONTH_DAYS },
        { 0, 5e8 + 2e5 + 50 * 1000 * 30.0, 7 }, /* a month has 30.4 days */
        { 0, 5e8 + 2e5 + 50 * 1000 * 6.0, 1 },
        { 0, 5e8, 1 },
        { 7, 8e9, 7 },
        { 1, 8e9, 1 },
        { PFC_CAPACITY_MONTH_DAYS, 5e8, PFC_CAPACITY_MONTH_DAYS },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(widths); i++) {
        pfc_capacity_load load = small_load();
        pfc_capacity_machine m = machine;
        pfc_capacity_answer a;

        load.partition_days = widths[i].asked;
        m.memory_bytes = widths[i].memory_bytes;
        pfc_capacity_compute(&costs, &load, &m, &a);
        near(a.partition_days, widths[i].days);
        near(a.need[PFC_CAPACITY_MEMORY], 5e8 + widths[i].days * 1000 * 50 + 2e5);
    }
}
