/*
 * The arithmetic of capacity.h. Every need grows with the days or stays, so that the day on which a
 * resource is used up is found by halving.
 */
#include <math.h>

#include "cli/capacity/capacity.h"

#define YEAR_DAYS  365.0
#define MONTH_DAYS PFC_CAPACITY_MONTH_DAYS
#define JOB_DAYS   30.0
#define DAY_MS     86400e3

const pfc_capacity_costs PFC_CAPACITY_MEASURED = {
    /* sizes.py; of series: a row has six versions between two rounds of vacuum, an assumption */
    .point_bytes = 334,
    .sample_bytes = 8.4,
    .point_index_bytes = 156,
    .run_bytes = 2050,
    .job_bytes = 1230,
    .series_bytes = 5600,
    .log_run_bytes = 4000,
    .log_point_bytes = 2520,
    .log_sample_bytes = 8.3,
    .run_ms = 17,
    .point_ms = 0.12,
    .sample_ms = 0.002,
    .earlier_ms = 0.00002,
    .change_ms = 10,
    .waiting_run_ms = 7.9,
    .waiting_point_ms = 0.04,
    .waiting_sample_ms = 0.0024,
    /* read.py: series_chunks of series with 100,000 points */
    .chunk_bytes = 44,
    /* perfci-bench-service --overload: its limit */
    .server_bytes = 256e6,
    /* assumptions */
    .base_bytes = 1e9,
    .core_share = 0.5,
    .disk_share = 0.8,
};

const char *pfc_capacity_name(pfc_capacity_resource resource)
{
    static const char *const names[] = { "disk", "memory", "processor" };

    return names[resource];
}

/* Runs of the day `day`. */
static double rate(const pfc_capacity_load *l, double day)
{
    return l->runs_a_day * pow(1 + l->growth, day / YEAR_DAYS);
}

/* Runs of all days before `day`. */
static double runs_until(const pfc_capacity_load *l, double day)
{
    const double k = log1p(l->growth) / YEAR_DAYS;

    if (day <= 0)
        return 0;
    return k > 0 ? l->runs_a_day * expm1(k * day) / k : l->runs_a_day * day;
}

/* The rest of the measurements of all days before `day` when each day is thinned: one of each
 * series, or all of a day that has fewer. */
static double thinned_until(const pfc_capacity_load *l, double day)
{
    const double start = l->runs_a_day * l->points_a_run;
    double full = 0; /* the first day with more measurements than series */

    if (day <= 0)
        return 0;
    if (start < l->series)
        full = l->growth > 0 ? YEAR_DAYS * log(l->series / start) / log1p(l->growth) : HUGE_VAL;
    if (day <= full)
        return runs_until(l, day) * l->points_a_run;
    return runs_until(l, full) * l->points_a_run + (day - full) * l->series;
}

/* Measurements that are stored on the day `day`. */
static double stored(const pfc_capacity_load *l, double day)
{
    const double raw_since = l->raw_months > 0 ? day - l->raw_months * MONTH_DAYS : 0;
    const double day_since = l->day_months > 0 ? day - l->day_months * MONTH_DAYS : 0;

    return (runs_until(l, day) - runs_until(l, raw_since)) * l->points_a_run +
           thinned_until(l, raw_since) - thinned_until(l, day_since);
}

static double run_ms(const pfc_capacity_costs *c, const pfc_capacity_load *l, double day)
{
    const double earlier = fmin(stored(l, day) / l->series, PFC_CAPACITY_EARLIER_MOST);
    const double beyond = fmax(earlier - PFC_CAPACITY_EARLIER, 0);

    return c->run_ms + (c->point_ms + c->sample_ms * l->samples + c->earlier_ms * beyond +
                        c->change_ms * l->changing) *
                           l->points_a_run;
}

/* Bytes of a measurement on disk. */
static double bytes_of_point(const pfc_capacity_costs *c, const pfc_capacity_load *l)
{
    return c->point_bytes + c->sample_bytes * l->samples + c->chunk_bytes;
}

static double need(const pfc_capacity_costs *c, const pfc_capacity_load *l,
                   pfc_capacity_resource resource, double day)
{
    if (resource == PFC_CAPACITY_DISK)
        return stored(l, day) * bytes_of_point(c, l) + runs_until(l, day) * c->run_bytes +
               (runs_until(l, day) - runs_until(l, day - JOB_DAYS)) * c->job_bytes +
               l->series * c->series_bytes;
    if (resource == PFC_CAPACITY_MEMORY) {
        /* A point goes to a place of its series' own in the index of its partition. */
        const double newest = runs_until(l, day) - runs_until(l, day - l->partition_days);

        return c->base_bytes + c->server_bytes + newest * l->points_a_run * c->point_index_bytes +
               l->series * c->series_bytes;
    }
    return rate(l, day) * l->peak * run_ms(c, l, day) / DAY_MS;
}

/* The first day on which more is needed than may be used. */
static double last_day(const pfc_capacity_costs *c, const pfc_capacity_load *l,
                       pfc_capacity_resource resource, double may)
{
    double low = 0;
    double high = PFC_CAPACITY_MAX_DAYS;

    if (need(c, l, resource, low) > may)
        return 0;
    if (!(need(c, l, resource, high) > may))
        return HUGE_VAL;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;

        if (need(c, l, resource, middle) > may)
            high = middle;
        else
            low = middle;
    }
    return high;
}

pfc_code pfc_capacity_check(const pfc_capacity_load *l, pfc_err *err)
{
    const double then = rate(l, l->months * MONTH_DAYS) * l->points_a_run;

    if (l->points_a_run > l->series)
        return pfc_err_set(
            err, PFC_EINVAL,
            "--points: expected at most the number of series (%.0f), got %.0f: a run "
            "has one measurement of a series",
            l->series, l->points_a_run);
    if (l->day_months > 0 && !(l->raw_months > 0))
        return pfc_err_set(err, PFC_EINVAL,
                           "--retain-days: without --retain-raw nothing is deleted; expected both");
    if (l->day_months > 0 && l->day_months <= l->raw_months)
        return pfc_err_set(
            err, PFC_EINVAL,
            "--retain-days: expected more months than --retain-raw (%.0f), or 0 for all, got %.0f",
            l->raw_months, l->day_months);
    if (!(then <= PFC_CAPACITY_MAX_POINTS_A_DAY))
        return pfc_err_set(err, PFC_EINVAL,
                           "--commits: expected at most %.0e measurements a day, also after the "
                           "growth of %.0f months, got %.3g",
                           PFC_CAPACITY_MAX_POINTS_A_DAY, l->months, then);
    return PFC_OK;
}

/* The widest partitions of which the newest one's indexes fit, or days. */
static double widest_that_fits(const pfc_capacity_costs *c, const pfc_capacity_load *load,
                               double memory_bytes)
{
    static const double widths[] = { MONTH_DAYS, 7 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(widths); i++) {
        pfc_capacity_load l = *load;

        l.partition_days = widths[i];
        if (need(c, &l, PFC_CAPACITY_MEMORY, l.months * MONTH_DAYS) <= memory_bytes)
            return widths[i];
    }
    return 1;
}

void pfc_capacity_compute(const pfc_capacity_costs *c, const pfc_capacity_load *load,
                          const pfc_capacity_machine *machine, pfc_capacity_answer *out)
{
    pfc_capacity_load with_width = *load;
    const pfc_capacity_load *const l = &with_width;
    const double then = load->months * MONTH_DAYS;
    /* The part that each machine needs for itself does not get less by a division. */
    const double own = c->base_bytes + c->server_bytes;
    double shards = 1;

    if (load->partition_days == 0)
        with_width.partition_days = widest_that_fits(c, load, machine->memory_bytes);
    *out = (pfc_capacity_answer){
        .partition_days = l->partition_days,
        .points_a_day = l->runs_a_day * l->points_a_run,
        .points_a_day_then = rate(l, then) * l->points_a_run,
        .points_stored = stored(l, then),
        .disk_bytes_a_day =
            l->runs_a_day * (l->points_a_run * bytes_of_point(c, l) + c->run_bytes + c->job_bytes),
        .log_bytes_a_day = l->runs_a_day * (c->log_run_bytes +
                                            l->points_a_run * (c->log_point_bytes +
                                                               c->log_sample_bytes * l->samples)),
        .processor_ms_a_point = run_ms(c, l, 0) / l->points_a_run,
        .processor_ms_a_point_then = run_ms(c, l, then) / l->points_a_run,
        .processor_ms_a_point_waiting = c->waiting_run_ms / l->points_a_run + c->waiting_point_ms +
                                        c->waiting_sample_ms * l->samples,
        .points_a_series_then = stored(l, then) / l->series,
        .may = { machine->disk_bytes * c->disk_share, machine->memory_bytes,
                 machine->cores * c->core_share },
    };
    for (int i = 0; i < PFC_CAPACITY_RESOURCES; i++) {
        const double fixed = i == PFC_CAPACITY_MEMORY ? own : 0;

        out->need[i] = need(c, l, i, then);
        out->lasts[i] = last_day(c, l, i, out->may[i]);
        if (out->lasts[i] < out->lasts[out->first])
            out->first = i;
        if (out->may[i] > fixed)
            shards = fmax(shards, ceil((out->need[i] - fixed) / (out->may[i] - fixed)));
        else
            shards = HUGE_VAL;
    }
    out->shards = shards;
}
