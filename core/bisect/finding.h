/*
 * The evidence for "no regression": whether the interval of the two ends' difference excludes a
 * change to worse beyond the margin.
 *
 * The posterior probability of no step compares two hypotheses, no step and a step of the size
 * searched for; a smaller real change makes it favour the wrong one. The 95 % interval of the ends'
 * difference (Hodges-Lehmann, by ranks) has no such prior. There is no regression when its worse
 * side lies within the margin. Otherwise the search measures the ends further, and reports how many
 * runs are missing where it stops.
 *
 * The margin is pfc_bisect_opts.margin, else half of delta_rel, else half of the step searched for,
 * which is 2.5 standard deviations of one run, and at most PFC_FINDING_MARGIN_MOST. Values without
 * noise need no margin: one run of each end decides.
 */
#ifndef PFC_CORE_BISECT_FINDING_H
#define PFC_CORE_BISECT_FINDING_H

#include "core/base/buf.h"
#include "core/bisect/bisect.h"

/* For a step of unknown size; the default of "same" in `perfci nightly`. */
#define PFC_FINDING_MARGIN_MOST 0.03

typedef struct pfc_finding {
    bool known; /* both ends have enough runs for an interval; else the four numbers are NAN */
    double rel_change, rel_low, rel_high; /* bad commit against good commit, 95 % */
    double margin;                        /* relative, above 0; 0: without noise */
    bool within;                          /* the interval excludes a change to worse beyond it */
    /* Expected runs that decide it, at this scatter; 0: decided; INFINITY: no number decides it,
     * because the layouts of the builds differ by too much or there is no interval. */
    double more_runs;
} pfc_finding;

/** From the observations so far; the plan does not change. */
void pfc_bisect_finding_get(const pfc_bisect_plan *plan, pfc_finding *out);
/** "-0.1 % (-1.0 % .. +0.9 %), margin 2.5 %" and, when it is open, the runs that would decide
 * it. */
void pfc_finding_say(const pfc_finding *finding, pfc_buf *out);

#endif
