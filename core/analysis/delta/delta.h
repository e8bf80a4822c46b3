/*
 * The difference between two runs of one benchmark, split into contributions that add up to it, and
 * the causes that explain it.
 *
 * Contributions come from the critical paths of both runs: the ticks that a resource blocked in a
 * phase, after minus before. Runs without a path are split by the line of time of the unit that
 * computes (its busy, stalled, and idle cycles are the total).
 *
 * A cause is something recorded that differs between the runs: a constant of the chip, the
 * compiler's choice, the command stream, the simulator's version. Its resource is the one whose
 * removal would remove most of the difference: for a constant the resource it belongs to, otherwise
 * the resource whose recoverable ticks grew (or shrank) most along with the total.
 */
#ifndef PFC_CORE_ANALYSIS_DELTA_DELTA_H
#define PFC_CORE_ANALYSIS_DELTA_DELTA_H

#include "core/analysis/profile/profile.h"

#define PFC_DELTA_MAX_CONTRIBUTIONS 256
#define PFC_DELTA_MAX_CAUSES        12
#define PFC_DELTA_MAX_DIFFERENCES   40

typedef enum pfc_delta_basis {
    PFC_DELTA_PATH,  /* critical paths of both runs */
    PFC_DELTA_UNITS, /* the line of time of the unit that computes */
    PFC_DELTA_TOTAL, /* the total alone: the runs recorded nothing to split it by */
} pfc_delta_basis;

/** Ticks by which the total changed because of one resource in one phase; positive: slower. */
typedef struct pfc_delta_contribution {
    char phase[48];
    pfc_resource resource; /* PFC_RESOURCE_NONE: not known */
    double value;
} pfc_delta_contribution;

typedef enum pfc_delta_kind {
    PFC_DELTA_CHIP,      /* a constant of the chip's file */
    PFC_DELTA_CHOICE,    /* tiles, order, buffers, fusion: the compiler's choice or a schedule */
    PFC_DELTA_STREAM,    /* other commands under the same choice */
    PFC_DELTA_SIMULATOR, /* another version of the simulator */
    PFC_DELTA_UNKNOWN,   /* the runs differ in nothing that was recorded */
} pfc_delta_kind;

typedef struct pfc_delta_cause {
    pfc_delta_kind kind;
    pfc_resource resource; /* PFC_RESOURCE_NONE: not known */
    double ticks;          /* of the difference that go with the resource; positive: slower */
    char text[320];        /* a sentence that names what differs, with both values */
} pfc_delta_cause;

/** A recorded value that is not the same in both runs; a value that one run lacks is "". */
typedef struct pfc_delta_difference {
    char name[PFC_PROFILE_NAME_BYTES + 1];
    char before[160], after[160];
    double rel; /* (after - before) / before; NAN for texts and where `before` is 0 */
} pfc_delta_difference;

typedef struct pfc_delta {
    double before, after; /* totals, ticks */
    double delta;         /* after - before */
    pfc_delta_basis basis;
    bool same_chip, same_stream, same_simulator; /* false also where one run did not record it */
    pfc_delta_contribution contributions[PFC_DELTA_MAX_CONTRIBUTIONS]; /* largest amount first; they
                                                                          sum to `delta` */
    size_t contributions_len;
    double by_resource[PFC_RESOURCES_LEN + 1]; /* the contributions, summed; the last one is what is
                                                  not known */
    pfc_delta_cause causes[PFC_DELTA_MAX_CAUSES]; /* the one that explains most first; none when the
                                                     totals are equal */
    size_t causes_len;
    pfc_delta_difference differences[PFC_DELTA_MAX_DIFFERENCES]; /* texts first, then the largest
                                                                    relative change first */
    size_t differences_len;
    size_t differences_more; /* further ones, which are not listed */
} pfc_delta;

/** Compares two profiles of one benchmark on one backend. PFC_EINVAL when one of them does not pass
 *  pfc_profile_check. Needs about 60 KB of stack for *out unless the caller allocates it. */
pfc_code pfc_delta_of(const pfc_profile *before, const pfc_profile *after, pfc_delta *out,
                      pfc_err *err) PFC_MUSTCHECK;

/** The resource that a constant of the chip belongs to ("hbm_mbps": memory), without "chip_";
 *  PFC_RESOURCE_NONE for capacities and the clock, which act through others. */
pfc_resource pfc_delta_resource_of_constant(const char *key);

/** "chip", "choice", "stream", "simulator", "unknown"; static text. */
const char *pfc_delta_kind_name(pfc_delta_kind kind);

#endif
