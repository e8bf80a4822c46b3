/*
 * Constants of capacity.h out of the figures of a measurement: two stages that differ in one thing
 * give the constant of that thing.
 */
#include <math.h>

#include "cli/capacity/capacity.h"

#define COST(member)                                                                               \
    {                                                                                              \
#member, offsetof(pfc_capacity_costs, member)                                              \
    }

/* In the order of the struct. */
static const struct {
    const char *name;
    size_t at;
} names[] = {
    COST(point_bytes), COST(sample_bytes),  COST(point_index_bytes), COST(run_bytes),
    COST(job_bytes),   COST(log_run_bytes), COST(log_point_bytes),   COST(log_sample_bytes),
    COST(run_ms),      COST(point_ms),      COST(sample_ms),         COST(earlier_ms),
    COST(change_ms),
};

_Static_assert(PFC_ARRAY_LEN(names) == PFC_CAPACITY_CONSTANTS, "one name for each constant");

/* Constant i of the costs. */
static double *constant(pfc_capacity_costs *costs, size_t i)
{
    return (double *)(void *)((char *)costs + names[i].at);
}

const char *pfc_capacity_constant(size_t i, const pfc_capacity_costs *costs, double *value)
{
    pfc_capacity_costs copy = *costs;

    *value = *constant(&copy, i);
    return names[i].name;
}

/* A stage's cost of each run: of the run itself, of each point and of each of its samples. */
typedef struct parts {
    double run, point, sample;
} parts;

static parts divide(const pfc_capacity_figures *f, double few, double many, double sampled)
{
    parts out;

    out.sample = (sampled - many) / (f->sampled.series * (f->sampled.samples - f->many.samples));
    out.point = (many - few) / (f->many.series - f->few.series) - f->many.samples * out.sample;
    out.run = few - f->few.series * (out.point + f->few.samples * out.sample);
    return out;
}

void pfc_capacity_solve(const pfc_capacity_figures *f, pfc_capacity_costs *costs,
                        bool replaced[PFC_CAPACITY_CONSTANTS])
{
    const parts ms = divide(f, f->few.ms, f->many.ms, f->sampled.ms);
    const parts log = divide(f, f->few.log_bytes, f->many.log_bytes, f->sampled.log_bytes);
    pfc_capacity_costs measured = *costs;

    measured.sample_bytes =
        (f->sampled.table_bytes - f->many.table_bytes) / (f->sampled.samples - f->many.samples);
    measured.point_index_bytes = (f->many.index_bytes + f->sampled.index_bytes) / 2;
    measured.point_bytes =
        f->many.table_bytes - f->many.samples * measured.sample_bytes + measured.point_index_bytes;
    measured.run_bytes = f->run_bytes;
    measured.job_bytes = f->job_bytes;
    measured.log_run_bytes = log.run;
    measured.log_point_bytes = log.point;
    measured.log_sample_bytes = log.sample;
    measured.run_ms = ms.run;
    measured.point_ms = ms.point;
    measured.sample_ms = ms.sample;
    measured.earlier_ms =
        (f->aged.ms - f->many.ms) / (f->many.series * (f->aged.earlier - f->many.earlier));
    measured.change_ms = (f->changed.ms - f->many.ms) / f->changed.changing;
    for (size_t i = 0; i < PFC_CAPACITY_CONSTANTS; i++) {
        const double value = *constant(&measured, i);

        /* Below zero: the difference of two stages was smaller than their noise. */
        replaced[i] = isfinite(value) && value > 0;
        if (replaced[i])
            *constant(costs, i) = value;
    }
}
