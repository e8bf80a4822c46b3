/*
 * A profile: what one run of one benchmark recorded about itself, by name. Numbers are counters,
 * constants of the chip ("chip_..."), and sums of the critical path; facts are texts (the
 * compiler's choice, digests, the chip's hash). A profile is filled from a stored run document or
 * from a run that was just made; the analysis knows names only, never the device that wrote them.
 *
 * Names in a stored run, all in the unit of the run's total:
 *   cycles                             total; of a backend without cycles time_ns
 *   NAME_cycles, NAME_bytes, ...       counters, as the backend names them
 *   chip_KEY                           constants of the chip's file
 *   path.PHASE.RESOURCE                critical path: ticks of the phase in which RESOURCE blocked;
 *                                      all of them together are the total
 *   edge.PHASE.PHASE                   waits of the second phase's commands that a command of the
 *                                      first one ended; a phase's name has no dot
 *   recoverable_RESOURCE_cycles        ticks that are saved when RESOURCE takes no time, projected
 *                                      from the trace of the run
 *   kernel_cycles, launches            of a region (copies and launches around kernels): cycles of
 *                                      its kernels, whose sums the counters are, and their number
 *   projection_cycles                  total of the run as the model of the projection has it; its
 *                                      distance from the total tells how well the model fits
 *
 * A profile owns its texts. Not thread-safe; several profiles may be used in several threads.
 */
#ifndef PFC_CORE_ANALYSIS_PROFILE_PROFILE_H
#define PFC_CORE_ANALYSIS_PROFILE_PROFILE_H

#include "core/base/err.h"
#include "core/trace/resources.h"

#define PFC_PROFILE_MAX_NUMBERS 1024
#define PFC_PROFILE_MAX_FACTS   256
#define PFC_PROFILE_NAME_BYTES  127 /* longest name, without a terminator */

typedef struct pfc_profile_number {
    char *name;
    double value; /* finite */
} pfc_profile_number;

typedef struct pfc_profile_fact {
    char *name, *text;
} pfc_profile_fact;

typedef struct pfc_profile {
    char
        *source; /* the run it is from, for messages and evidence: a run id or a file; never NULL */
    pfc_profile_number *numbers; /* in the order of their names */
    pfc_profile_fact *facts;     /* in the order of their names */
    size_t numbers_len, facts_len;
} pfc_profile;

/** An empty profile of a run; the caller ends it with pfc_profile_clear. */
void pfc_profile_init(pfc_profile *p, const char *source);
void pfc_profile_clear(pfc_profile *p);
/** Sets a number; a second value of the same name takes the place of the first. PFC_EINVAL when the
 *  name is empty or too long, the value is not finite, or the profile is full. */
pfc_code pfc_profile_set(pfc_profile *p, const char *name, double value,
                         pfc_err *err) PFC_MUSTCHECK;
/** The same for a text. */
pfc_code pfc_profile_set_fact(pfc_profile *p, const char *name, const char *text,
                              pfc_err *err) PFC_MUSTCHECK;
/** A value as a run document has it: a number when all of the text is one (finite), else a fact. */
pfc_code pfc_profile_set_text(pfc_profile *p, const char *name, const char *text,
                              pfc_err *err) PFC_MUSTCHECK;
/** False when there is no such number; *out is unchanged then. */
bool pfc_profile_number_of(const pfc_profile *p, const char *name, double *out);
/** The number, or `fallback` when there is none. */
double pfc_profile_or(const pfc_profile *p, const char *name, double fallback);
/** The text of a fact; NULL when there is none. Belongs to the profile. */
const char *pfc_profile_fact_of(const pfc_profile *p, const char *name);

/** The total of the run in its ticks: the number "cycles", else "time_ns". False when it has
 *  neither; *out is unchanged then. */
bool pfc_profile_total(const pfc_profile *p, double *out);

/** A part of the critical path: "path.PHASE.RESOURCE" of a profile. */
typedef struct pfc_profile_part {
    char phase[48];
    pfc_resource resource;
    double ticks;
} pfc_profile_part;

#define PFC_PROFILE_MAX_PARTS 512

/** A dependence between phases: "edge.PHASE.PHASE" of a profile. */
typedef struct pfc_profile_edge {
    char from[48], to[48];
    double waits; /* of commands of `to` that a command of `from` ended */
} pfc_profile_edge;

#define PFC_PROFILE_MAX_EDGES 256

/** The dependences, in the order of their names; returns how many there are, at most `cap`. */
size_t pfc_profile_edges(const pfc_profile *p, pfc_profile_edge *out, size_t cap);

/** The parts of the critical path, in the order of their names; returns how many there are, at most
 *  `cap`. Names that are no resource are left out. */
size_t pfc_profile_parts(const pfc_profile *p, pfc_profile_part *out, size_t cap);

/**
 * Checks what any analysis rests on: the total is there and positive, no number with the unit
 * cycles or bytes is negative, the parts of the critical path (where there are any) sum to the
 * total within 0.1 %, and the laws of the counters that name two or more counters hold (tensor,
 * vector, overlap; in a region against kernel_cycles). PFC_EINVAL with the name, its value and what
 * was expected.
 */
pfc_code pfc_profile_check(const pfc_profile *p, pfc_err *err) PFC_MUSTCHECK;

#endif
