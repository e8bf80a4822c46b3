/* The catalogue as it is in memory. Private to this folder. */
#ifndef PFC_CORE_ANALYSIS_GUIDANCE_PRIV_H
#define PFC_CORE_ANALYSIS_GUIDANCE_PRIV_H

#include "core/analysis/expr/expr.h"
#include "core/analysis/guidance/guidance.h"

#define MAX_ENTRIES 48
#define MAX_WITH    8

typedef struct guidance_entry {
    char id[40], symptom[160], change[200], action[80], risk[120], effort[16];
    pfc_expr_format format;
    pfc_expr *when, *value, *gain;
    pfc_expr *fits, *spread; /* may be NULL */
    char names[MAX_WITH][32];
    pfc_expr *values[MAX_WITH];
    size_t with_len;
} guidance_entry;

struct pfc_guidance {
    pfc_expr_defs defs;
    double least;
    pfc_expr *spread;
    guidance_entry entries[MAX_ENTRIES];
    size_t len;
};

#endif
