/*
 * Rules that measure a commit again: `rerun:` of perfci.yaml.
 *
 *   rerun:
 *     - on: canary
 *       times: 2
 *       after: 10m
 *     - on: [infra, suspected]
 *       machine: other
 *
 * A rule has one trigger; a list of triggers makes one rule for each. Each trigger occurs at most
 * once, so that every rerun names exactly one rule. Values only: no allocation, copied by "=".
 */
#ifndef PFC_CORE_BASE_CONFIG_RERUN_H
#define PFC_CORE_BASE_CONFIG_RERUN_H

#include <stdbool.h>
#include <stddef.h>

#define PFC_RERUN_MAX_TIMES   5
#define PFC_RERUN_MAX_AFTER_S (7 * 86400.0)

typedef enum pfc_rerun_on {
    PFC_RERUN_INCONCLUSIVE, /* the comparison with the commit before did not decide */
    PFC_RERUN_CANARY,       /* the canary moved: the machine was not as usual */
    PFC_RERUN_INFRA,        /* the job failed, and not because of the commit */
    PFC_RERUN_BROKEN,       /* the build or the benchmark failed, or ran over its time limit */
    PFC_RERUN_SUSPECTED,    /* detection sees a change too uncertain to alert on */
    PFC_RERUN_TRIGGERS
} pfc_rerun_on;

typedef struct pfc_rerun_rule {
    pfc_rerun_on on;
    int times;          /* reruns at most, 1..PFC_RERUN_MAX_TIMES */
    double after_s;     /* a rerun starts no earlier than this, 0..PFC_RERUN_MAX_AFTER_S */
    bool other_machine; /* not on the machine that measured before, if another one can */
} pfc_rerun_rule;

typedef struct pfc_rerun_rules {
    pfc_rerun_rule items[PFC_RERUN_TRIGGERS];
    size_t len; /* 0: nothing is measured again */
} pfc_rerun_rules;

/** "inconclusive", "canary", "infra", "broken" or "suspected". */
const char *pfc_rerun_name(pfc_rerun_on on);
/** The trigger of that name; false: there is none, *out is left alone. */
bool pfc_rerun_named(const char *name, pfc_rerun_on *out);
/** The rule for a trigger; NULL: none. */
const pfc_rerun_rule *pfc_rerun_find(const pfc_rerun_rules *rules, pfc_rerun_on on);

#endif
