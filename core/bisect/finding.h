/*
 * Whether the two ends of a bisection are shown to be alike: "no regression" is a result that needs
 * evidence, as a named commit does.
 *
 * The posterior's "there is probably no step" compares two guesses, no step and one of the size
 * looked for; a smaller real change between the two makes it sure of the wrong one. The 95 %
 * interval of the ends' difference (Hodges-Lehmann, by ranks) has no such prior. When its worse
 * side lies within the margin, there is no regression that matters. When it does not, the search
 * measures the ends further, and says how many runs are missing where it has to stop.
 *
 * The margin: what the caller gave (pfc_bisect_opts.margin), else half of the step looked for: of
 * delta_rel where it is known; else the search looks for 2.5 standard deviations of one run, and
 * half of that is at most PFC_FINDING_MARGIN_MOST. Without noise there is nothing to allow for: one
 * run of each end decides.
 */
#ifndef PFC_CORE_BISECT_FINDING_H
#define PFC_CORE_BISECT_FINDING_H

#include "core/base/buf.h"
#include "core/bisect/bisect.h"

#define PFC_FINDING_MARGIN_MOST                                                                    \
    0.03 /* of a step of unknown size; a night's "same" has the same default */

typedef struct pfc_finding {
    bool known; /* both ends have enough runs for an interval; else the four numbers are NAN */
    double rel_change, rel_low, rel_high; /* bad end against good end, 95 % */
    double margin;                        /* relative, above 0; 0: without noise */
    bool within;                          /* no change to worse beyond the margin is possible */
    double
        more_runs; /* that are likely to decide it, at this scatter; 0: decided, INFINITY: no number does (the
                         builds' own layouts differ by too much, or there is no interval to judge by) */
} pfc_finding;

/** From what was told so far; the plan itself is not changed. */
void pfc_bisect_finding_get(const pfc_bisect_plan *plan, pfc_finding *out);
/** "-0.1 % (-1.0 % .. +0.9 %), margin 2.5 %" and, when it is open, what would decide it. */
void pfc_finding_say(const pfc_finding *finding, pfc_buf *out);

#endif
