/*
 * The fresh comparison that comes before anybody is blamed: the commit before a named one against
 * it, measured in turns, apart from the runs that the search has picked by their values.
 *
 * Pairs of runs, in a seeded order of their two sides (AB BA blocks), judged by an always-valid
 * sequential test, so that it may be looked at after each pair and is wrong with probability alpha
 * at most. Two share alpha (core/stats/sequential.h): the normal one, and the one by signs and
 * sizes of the differences, which a machine that changes its speed between the runs of a pair
 * cannot blind. Where builds can be laid out anew, every pair has builds of its own: then layout is
 * noise like any other and cannot make two equal commits differ.
 *
 * Pure, deterministic for a seed, no I/O; one thread. A search that is resumed replays the values.
 */
#ifndef PFC_CORE_BISECT_CONFIRM_H
#define PFC_CORE_BISECT_CONFIRM_H

#include "core/stats/stats.h"

#define PFC_CONFIRM_PAIRS     60 /* default limit */
#define PFC_CONFIRM_MAX_PAIRS 1000

typedef struct pfc_confirm pfc_confirm;

typedef struct pfc_confirm_opts {
    bool higher_is_better;
    double alpha;         /* chance of a false confirmation; 0: 0.01 */
    double expected_rel;  /* signed change that the search stated; a third of it counts as none */
    size_t max_pairs;     /* 0: PFC_CONFIRM_PAIRS */
    bool relink;          /* every pair has builds of its own */
    unsigned first_build; /* relink: the first of their numbers, above those of the search */
    bool exact;           /* values without noise: one pair decides */
    uint64_t seed;
} pfc_confirm_opts;

typedef enum pfc_confirm_verdict {
    PFC_CONFIRM_OPEN,      /* not decided: more pairs, or the limit is reached */
    PFC_CONFIRM_CONFIRMED, /* worse, as the search said */
    PFC_CONFIRM_REFUTED,   /* no difference that matters, or the other way */
} pfc_confirm_verdict;

typedef struct pfc_confirm_step {
    bool after;     /* false: the commit before; true: the named one */
    unsigned build; /* as PERFCI_BUILD */
} pfc_confirm_step;

typedef struct pfc_confirm_result {
    pfc_confirm_verdict verdict;
    size_t pairs;
    unsigned layouts;       /* builds a side */
    pfc_compare_result cmp; /* `p` is valid at every look */
} pfc_confirm_result;

/** PFC_EINVAL: an option out of range. Free it. */
pfc_code pfc_confirm_new(pfc_confirm **out, const pfc_confirm_opts *opts,
                         pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_confirm_free(pfc_confirm *confirm);
/** The next run; false when it is over. The same until a value is told. */
bool pfc_confirm_next(const pfc_confirm *confirm, pfc_confirm_step *out);
/** The value of the run that next() asked for. PFC_EINVAL: not finite, not above 0, or nothing was
 *  asked for. */
pfc_code pfc_confirm_add_value(pfc_confirm *confirm, double value, pfc_err *err) PFC_MUSTCHECK;
/** Both values of a pair, in the order in which next() asks for them; nothing when it is over. */
pfc_code pfc_confirm_add_pair(pfc_confirm *confirm, double before, double after,
                              pfc_err *err) PFC_MUSTCHECK;
void pfc_confirm_result_get(const pfc_confirm *confirm, pfc_confirm_result *out);
/** "open", "confirmed", "refuted". */
const char *pfc_confirm_verdict_name(pfc_confirm_verdict verdict);

#endif
