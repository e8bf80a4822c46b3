/* The limiter's rules as they are in memory. Private to this folder. */
#ifndef PFC_CORE_ANALYSIS_LIMITER_PRIV_H
#define PFC_CORE_ANALYSIS_LIMITER_PRIV_H

#include "core/analysis/expr/expr.h"
#include "core/analysis/limiter/limiter.h"

#define MAX_CAUSES 64
#define MAX_POINTS 32

typedef struct cause_rule {
    char id[40];
    char text[200]; /* with {value} and {threshold} */
    bool resources[PFC_RESOURCES_LEN];
    pfc_expr *value, *when, *share; /* the last two may be NULL */
    double threshold;
    bool below;
    pfc_expr_format format;
} cause_rule;

/* A probability by the ratio between the first and the second saving. */
typedef struct confidence_table {
    double ratio[MAX_POINTS], probability[MAX_POINTS];
    size_t len;
} confidence_table;

struct pfc_limiter_rules {
    pfc_limiter_rules *cpu; /* for runs on a CPU; NULL in rules that are for them themselves */
    pfc_expr_defs defs;
    int64_t since;
    double least;
    pfc_expr *savings[PFC_RESOURCES_LEN]; /* NULL: the resource is never the limiter */
    confidence_table counters, trace;
    cause_rule causes[MAX_CAUSES];
    size_t causes_len;
};

#endif
