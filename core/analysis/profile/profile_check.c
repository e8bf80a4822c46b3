/* Facts that any analysis rests on: a total, no negative amounts, and sums that hold. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/profile/profile.h"
#include "core/base/base.h"

/* Sums that hold in every run of the simulated accelerator: these counters together are the total
 * (times the engines). A run without the first of them has none of them. */
static const char *const tensor[] = {
    "tensor_busy_cycles",          "tensor_preload_cycles",     "tensor_stall_dma_cycles",
    "tensor_stall_vector_cycles",  "tensor_stall_drain_cycles", "tensor_stall_bank_cycles",
    "tensor_stall_weights_cycles", "tensor_fill_drain_cycles",  "tensor_idle_cycles",
};
static const char *const vector[] = {
    "vector_busy_cycles",         "vector_reduce_cycles",      "vector_stall_dma_cycles",
    "vector_stall_tensor_cycles", "vector_stall_chain_cycles", "vector_stall_bank_cycles",
    "vector_idle_cycles",
};
static const char *const overlap[] = {
    "overlap_none_cycles",          "overlap_load_cycles",
    "overlap_store_cycles",         "overlap_load_store_cycles",
    "overlap_execute_cycles",       "overlap_load_execute_cycles",
    "overlap_store_execute_cycles", "overlap_load_store_execute_cycles",
};

static pfc_code check_sum(const pfc_profile *p, const char *const *names, size_t len, double total,
                          pfc_err *err)
{
    double sum = 0;
    double value;

    for (size_t i = 0; i < len; i++) {
        if (!pfc_profile_number_of(p, names[i], &value)) {
            if (i == 0)
                return PFC_OK;
            return pfc_err_set(err, PFC_EINVAL, "%s: %s is missing beside %s", p->source, names[i],
                               names[0]);
        }
        sum += value;
    }
    if (fabs(sum - total) > 0.5)
        return pfc_err_set(err, PFC_EINVAL,
                           "%s: %s and its counterparts sum to %.0f: expected cycles, %.0f",
                           p->source, names[0], sum, total);
    return PFC_OK;
}

static bool ends_with(const char *name, const char *end)
{
    const size_t len = strlen(name);
    const size_t end_len = strlen(end);

    return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

static pfc_code check_amounts(const pfc_profile *p, pfc_err *err)
{
    for (size_t i = 0; i < p->numbers_len; i++) {
        const pfc_profile_number *n = &p->numbers[i];

        if (n->value < 0 && (ends_with(n->name, "cycles") || ends_with(n->name, "bytes") ||
                             strncmp(n->name, "path.", 5) == 0))
            return pfc_err_set(err, PFC_EINVAL, "%s: %s is %.0f: expected no negative amount",
                               p->source, n->name, n->value);
    }
    return PFC_OK;
}

static pfc_code check_path(const pfc_profile *p, double total, pfc_err *err)
{
    pfc_profile_part *parts = pfc_calloc(PFC_PROFILE_MAX_PARTS, sizeof(*parts));
    const size_t len = pfc_profile_parts(p, parts, PFC_PROFILE_MAX_PARTS);
    double sum = 0;

    for (size_t i = 0; i < len; i++)
        sum += parts[i].ticks;
    free(parts);
    if (len && fabs(sum - total) > 1e-3 * total)
        return pfc_err_set(err, PFC_EINVAL,
                           "%s: the parts of the critical path sum to %.0f: expected cycles, %.0f",
                           p->source, sum, total);
    return PFC_OK;
}

pfc_code pfc_profile_check(const pfc_profile *p, pfc_err *err)
{
    double total = 0;
    double kernels;
    pfc_code code;

    if (!pfc_profile_total(p, &total))
        return pfc_err_set(err, PFC_EINVAL, "%s: expected a number \"cycles\" or \"time_ns\"",
                           p->source);
    if (total <= 0)
        return pfc_err_set(err, PFC_EINVAL, "%s: the total is %g: expected more than 0", p->source,
                           total);
    /* The counters of a region are those of its kernels, which it states apart. */
    kernels = pfc_profile_or(p, "kernel_cycles", total);
    code = check_amounts(p, err);
    if (!code)
        code = check_sum(p, tensor, PFC_ARRAY_LEN(tensor), kernels, err);
    if (!code)
        code = check_sum(p, vector, PFC_ARRAY_LEN(vector), kernels, err);
    if (!code)
        code = check_sum(p, overlap, PFC_ARRAY_LEN(overlap), kernels, err);
    return code ? code : check_path(p, total, err);
}
