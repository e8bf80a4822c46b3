/* Contributions: what each resource blocked, after minus before. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/delta/delta_priv.h"
#include "core/base/base.h"

/* ---- the line of time of the unit that computes, for runs without a critical path ---- */

/* Parts of a unit's time; those of one unit are the whole run. The time that a unit waits for data
 * counts as memory, whichever part of the transfer was slow: a path tells these apart. */
static const struct {
    const char *name;
    pfc_resource resource;
} tensor_line[] = {
    { "tensor_busy_cycles", PFC_RESOURCE_COMPUTE },
    { "tensor_preload_cycles", PFC_RESOURCE_WEIGHTS },
    { "tensor_stall_weights_cycles", PFC_RESOURCE_WEIGHTS },
    { "tensor_stall_dma_cycles", PFC_RESOURCE_MEMORY },
    { "tensor_stall_drain_cycles", PFC_RESOURCE_MEMORY },
    { "tensor_stall_vector_cycles", PFC_RESOURCE_VECTOR },
    { "tensor_stall_bank_cycles", PFC_RESOURCE_SCRATCHPAD },
    { "tensor_fill_drain_cycles", PFC_RESOURCE_LATENCY },
    { "tensor_idle_cycles", PFC_RESOURCE_MEMORY },
}, vector_line[] = {
    { "vector_busy_cycles", PFC_RESOURCE_VECTOR },
    { "vector_reduce_cycles", PFC_RESOURCE_LATENCY },
    { "vector_stall_dma_cycles", PFC_RESOURCE_MEMORY },
    { "vector_stall_tensor_cycles", PFC_RESOURCE_COMPUTE },
    { "vector_stall_chain_cycles", PFC_RESOURCE_VECTOR },
    { "vector_stall_bank_cycles", PFC_RESOURCE_SCRATCHPAD },
    { "vector_idle_cycles", PFC_RESOURCE_MEMORY },
};

static void add(pfc_delta *out, const char *phase, pfc_resource resource, double value)
{
    for (size_t i = 0; i < out->contributions_len; i++) {
        pfc_delta_contribution *c = &out->contributions[i];

        if (c->resource == resource && strcmp(c->phase, phase) == 0) {
            c->value += value;
            return;
        }
    }
    if (out->contributions_len < PFC_DELTA_MAX_CONTRIBUTIONS) {
        pfc_delta_contribution *c = &out->contributions[out->contributions_len++];

        snprintf(c->phase, sizeof(c->phase), "%s", phase);
        c->resource = resource;
        c->value = value;
    }
}

static void add_parts(const pfc_profile *p, double sign, pfc_delta *out)
{
    pfc_profile_part *parts = pfc_calloc(PFC_PROFILE_MAX_PARTS, sizeof(*parts));
    const size_t len = pfc_profile_parts(p, parts, PFC_PROFILE_MAX_PARTS);

    for (size_t i = 0; i < len; i++)
        add(out, parts[i].phase, parts[i].resource, sign * parts[i].ticks);
    free(parts);
}

static bool has_path(const pfc_profile *p)
{
    pfc_profile_part part;

    return pfc_profile_parts(p, &part, 1) > 0;
}

static void add_line(const pfc_profile *p, double sign, bool tensor, pfc_delta *out)
{
    if (tensor)
        for (size_t i = 0; i < PFC_ARRAY_LEN(tensor_line); i++)
            add(out, "matrix unit", tensor_line[i].resource,
                sign * pfc_profile_or(p, tensor_line[i].name, 0));
    else
        for (size_t i = 0; i < PFC_ARRAY_LEN(vector_line); i++)
            add(out, "vector unit", vector_line[i].resource,
                sign * pfc_profile_or(p, vector_line[i].name, 0));
}

static int compare_amounts(const void *a, const void *b)
{
    const pfc_delta_contribution *x = a;
    const pfc_delta_contribution *y = b;
    const double more = fabs(y->value) - fabs(x->value);
    const int phase = strcmp(x->phase, y->phase);

    if (more != 0)
        return more > 0 ? 1 : -1;
    return phase ? phase : (int)x->resource - (int)y->resource;
}

void pfc_delta_split(const pfc_profile *before, const pfc_profile *after, pfc_delta *out)
{
    double busy;
    size_t kept = 0;
    double sum = 0;

    if (has_path(before) && has_path(after)) {
        out->basis = PFC_DELTA_PATH;
        add_parts(before, -1, out);
        add_parts(after, 1, out);
    } else if (pfc_profile_number_of(before, "tensor_busy_cycles", &busy) &&
               pfc_profile_number_of(after, "tensor_busy_cycles", &busy)) {
        const bool tensor = pfc_profile_or(before, "tensor_busy_cycles", 0) >=
                            pfc_profile_or(before, "vector_busy_cycles", 0);

        out->basis = PFC_DELTA_UNITS;
        add_line(before, -1, tensor, out);
        add_line(after, 1, tensor, out);
    } else {
        out->basis = PFC_DELTA_TOTAL;
    }
    for (size_t i = 0; i < out->contributions_len; i++)
        sum += out->contributions[i].value;
    /* The rest that the parts leave open is named: contributions always sum to the delta. */
    if (fabs(out->delta - sum) > 1e-9 * fmax(out->before, out->after))
        add(out, "not attributed", PFC_RESOURCE_NONE, out->delta - sum);
    for (size_t i = 0; i < out->contributions_len; i++)
        if (out->contributions[i].value != 0)
            out->contributions[kept++] = out->contributions[i];
    out->contributions_len = kept;
    qsort(out->contributions, kept, sizeof(*out->contributions), compare_amounts);
    for (size_t i = 0; i < kept; i++)
        out->by_resource[out->contributions[i].resource] += out->contributions[i].value;
}
