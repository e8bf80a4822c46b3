/* Tiles of a GEMM as named numbers: for run documents, and for changes that advice proposes. */
#include <stdio.h>
#include <string.h>

#include "kernels/accel/compiler/ir.h"

static const char *const names[] = {
    "tile_m", "tile_n", "tile_k", "tile_group", "tile_buffers", "tile_m_outer", "tile_mixed",
    "tile_unfused",
};

const char *pfc_accel_tile_number(const pfc_accel_gemm_tiles *t, size_t i, uint64_t *value)
{
    const uint64_t values[PFC_ARRAY_LEN(names)] = { t->m,     t->n,       t->k,     t->group,
                                                    t->slots, t->m_outer, t->mixed, t->unfused };

    /* The last one is left out where it is 0, as it is for all kernels but one. */
    if (i >= PFC_ARRAY_LEN(names) - !t->unfused)
        return NULL;
    *value = values[i];
    return names[i];
}

pfc_code pfc_accel_tile_set(pfc_accel_gemm_tiles *t, const char *name, uint64_t value, pfc_err *err)
{
    uint64_t *const numbers[] = { &t->m, &t->n, &t->k, &t->group, &t->slots };
    bool *const flags[] = { &t->m_outer, &t->mixed, &t->unfused };
    const size_t first_flag = PFC_ARRAY_LEN(numbers);
    size_t i = 0;

    while (i < PFC_ARRAY_LEN(names) && strcmp(names[i], name) != 0)
        i++;
    if (i == PFC_ARRAY_LEN(names))
        return pfc_err_set(err, PFC_ENOTFOUND, "expected a number of tiles such as %s, got \"%s\"",
                           names[0], name);
    if (i < first_flag ? value < 1 || value > PFC_ACCEL_MAX_DIM : value > 1)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected %s, got %llu", name,
                           i < first_flag ? "1 to 65536" : "0 or 1", (unsigned long long)value);
    if (i < first_flag)
        *numbers[i] = value;
    else
        *flags[i - first_flag] = value == 1;
    return PFC_OK;
}

/* The words of pfc_accel_choose_gemm (gemm.c). */
bool pfc_accel_choice_tiles(const char *choice, pfc_accel_gemm_tiles *out)
{
    unsigned long long m, n, k, group, slots;
    char outer;
    int end = 0;

    if (sscanf(choice,
               "tiles of m %llu, n %llu, k %llu; %c outermost, %llu tiles together; %llu "
               "buffers; %n",
               &m, &n, &k, &outer, &group, &slots, &end) != 6 ||
        end == 0)
        return false;
    choice += end;
    *out = (pfc_accel_gemm_tiles){
        .m = m,
        .n = n,
        .k = k,
        .m_outer = outer == 'm',
        .group = group,
        .slots = slots,
        .mixed = strncmp(choice, pfc_accel_queues_text(true), strcspn(choice, ";")) == 0,
        .unfused = strstr(choice, PFC_ACCEL_UNFUSED_TEXT),
    };
    return true;
}
