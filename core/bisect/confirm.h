/*
 * The confirmation of a named commit: a new comparison with the commit before it, in interleaved
 * pairs, without the runs by which the search selected it.
 *
 * The order of the two sides is seeded, in blocks AB BA. An always-valid sequential test judges the
 * pairs: it may be evaluated after each pair, and its error probability is at most alpha. Two tests
 * share alpha (core/stats/sequential.h): the normal one, and one by signs and sizes of the
 * differences, which keeps its power on a machine that changes its speed between the runs of a
 * pair. Where builds can have another layout, every pair has its own builds: layout is then noise
 * like any other, and cannot make two equal commits differ.
 *
 * Pure, deterministic for a seed, no I/O; one thread. A resumed bisection replays the values.
 */
#ifndef PFC_CORE_BISECT_CONFIRM_H
#define PFC_CORE_BISECT_CONFIRM_H

#include "core/stats/stats.h"

#define PFC_CONFIRM_PAIRS     60 /* default limit */
#define PFC_CONFIRM_MAX_PAIRS 1000

typedef struct pfc_confirm pfc_confirm;

typedef struct pfc_confirm_opts {
    bool higher_is_better;
    double alpha; /* probability of a false confirmation; 0: 0.01 */
    double
        expected_rel; /* signed change that the search reported; less than a third of it refutes */
    size_t max_pairs; /* 0: PFC_CONFIRM_PAIRS */
    bool relink;      /* every pair has its own builds */
    unsigned first_build; /* relink: the first of their numbers, above those of the search */
    bool exact;           /* values without noise: one pair decides */
    uint64_t seed;
} pfc_confirm_opts;

typedef enum pfc_confirm_verdict {
    PFC_CONFIRM_OPEN,      /* not decided: more pairs are needed, or the limit is reached */
    PFC_CONFIRM_CONFIRMED, /* worse, as the search reported */
    PFC_CONFIRM_REFUTED,   /* no difference that counts, or a change to better */
} pfc_confirm_verdict;

typedef struct pfc_confirm_step {
    bool after;     /* false: the commit before; true: the named one */
    unsigned build; /* as PERFCI_BUILD */
} pfc_confirm_step;

typedef struct pfc_confirm_result {
    pfc_confirm_verdict verdict;
    size_t pairs;
    unsigned layouts;       /* builds of each side */
    pfc_compare_result cmp; /* `p` is valid after every pair */
} pfc_confirm_result;

/** PFC_EINVAL: an option out of range. Free it. */
pfc_code pfc_confirm_new(pfc_confirm **out, const pfc_confirm_opts *opts,
                         pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_confirm_free(pfc_confirm *confirm);
/** The next run; false when it is over. The same until a value is added. */
bool pfc_confirm_next(const pfc_confirm *confirm, pfc_confirm_step *out);
/** The value of the run that next() returned. PFC_EINVAL: not finite, not above 0, or it is
 * over. */
pfc_code pfc_confirm_add_value(pfc_confirm *confirm, double value, pfc_err *err) PFC_MUSTCHECK;
/** Both values of a pair, in the order of next(); ignored when it is over. */
pfc_code pfc_confirm_add_pair(pfc_confirm *confirm, double before, double after,
                              pfc_err *err) PFC_MUSTCHECK;
void pfc_confirm_result_get(const pfc_confirm *confirm, pfc_confirm_result *out);
/** "open", "confirmed", "refuted". */
const char *pfc_confirm_verdict_name(pfc_confirm_verdict verdict);

#endif
