/*
 * Comparisons of stored results: the service's own judgement.
 */
#ifndef PFC_CLI_COMPARE_STORED_H
#define PFC_CLI_COMPARE_STORED_H

#include "cli/measure/measure.h"
#include "core/comparison/comparison.h"

/** Index 0 is A, 1 is B; NULL is not given. */
typedef struct pfc_stored_ask {
    const char *url, *data, *project;
    const char *backends[2], *machine_classes[2];
    bool across; /* decide on results of different machines or compilers, too */
} pfc_stored_ask;

/** Was a backend or a class of machines asked for? Only stored results have a choice. */
bool pfc_stored_ask_limits(const pfc_stored_ask *ask);
/** ends: commits, runs, tags, branches or dates. Clear *out. */
pfc_code pfc_cmp_stored(const pfc_stored_ask *ask, const pfc_take *take, const char *const *ends,
                        pfc_cmp *out, pfc_err *err) PFC_MUSTCHECK;

#endif
