/* The ceilings of one core in the run document. */
#include <math.h>

#include "bench/machine/ceilings/ceilings.h"
#include "core/base/clock.h"

static pfc_run_ceiling *add(pfc_run *run, double giga)
{
    pfc_run_ceiling *c = pfc_run_add_ceiling(run);

    c->value = 1e9 * giga;
    c->backend = pfc_strdup("cpu-*");
    c->at = pfc_clock_unix_s();
    return c;
}

static void add_compute(const pfc_ceilings *ceilings, int kind, pfc_run *run)
{
    pfc_run_ceiling *c;

    if (ceilings->one.gops[kind] <= 0.0)
        return;
    c = add(run, ceilings->one.gops[kind]);
    c->name =
        pfc_format("%s arithmetic, one core, %s", pfc_compute_name(kind), ceilings->isa[kind]);
    c->unit = pfc_strdup(kind == PFC_COMPUTE_INT8 ? "OP/s" : "FLOP/s");
    c->dtype = pfc_strdup(pfc_compute_name(kind));
}

static void add_memory(const pfc_ceilings *ceilings, int level, pfc_run *run)
{
    pfc_run_ceiling *c;

    if (ceilings->one.read_gbps[level] <= 0.0 || ceilings->size_bytes[level] <= 0.0)
        return;
    c = add(run, ceilings->one.read_gbps[level]);
    c->name = pfc_format("%s read, one core", pfc_level_name(level));
    c->memory = true;
    c->unit = pfc_strdup("B/s");
    c->level = pfc_strdup(pfc_level_name(level));
    if (isfinite(ceilings->size_bytes[level]))
        c->capacity_bytes = ceilings->size_bytes[level];
}

void pfc_ceilings_document(const pfc_ceilings *ceilings, pfc_run *run)
{
    for (int kind = 0; kind < PFC_COMPUTES; kind++)
        add_compute(ceilings, kind, run);
    for (int level = 0; level < PFC_LEVELS; level++)
        add_memory(ceilings, level, run);
}
