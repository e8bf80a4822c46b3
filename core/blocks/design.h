/*
 * Which builds the next block of a session visits: the planner of nights, and of comparisons of two
 * commits.
 *
 * First all builds are visited in a few rounds (with more builds than a block holds, in groups that
 * each span the history, with the base or the anchor). Then rounds go, as long as the budget lasts,
 * to the builds among which the place of a step is open that a test (core/blocks/blocks.h) has
 * decided; to builds on both sides of a step that the fit suspects, until a test decides; and to
 * boundaries whose interval is wider than the margin. Nothing else is measured: a session in which
 * nothing changed on a quiet machine ends after the first rounds.
 *
 * Pure: no I/O, no clock; deterministic for a seed and the values that were reported. One thread.
 */
#ifndef PFC_CORE_BLOCKS_DESIGN_H
#define PFC_CORE_BLOCKS_DESIGN_H

#include "core/blocks/blocks.h"

typedef struct pfc_design pfc_design;

typedef struct pfc_design_opts {
    size_t builds, anchor, first; /* as in pfc_blocks_opts */
    const bool *gap;              /* likewise; read while the design is made */
    double margin; /* a boundary whose interval (85 %) lies within it is left alone; 0: 0.03. Unless
                      `all`, the test's own margin is 0.01 at most, so that smaller changes can be
                      shown. */
    double alpha;  /* 0: 0.01 */
    double budget_s;    /* of measuring; 0: no limit */
    size_t most_rounds; /* of one boundary; 0: 200 */
    bool all; /* measure until every boundary is decided by the test (comparison of two commits),
                 not by the fit's interval */
    uint64_t seed;
} pfc_design_opts;

/** A block to measure. */
typedef struct pfc_design_block {
    size_t builds[PFC_BLOCK_BUILDS]; /* in the order of the visits */
    size_t len;
    uint32_t number; /* of the block, for pfc_visit */
} pfc_design_block;

pfc_code pfc_design_new(const pfc_design_opts *opts, pfc_design **out, pfc_err *err) PFC_MUSTCHECK;
void pfc_design_free(pfc_design *design);

/** A series (benchmark, metric, backend) that visits bring; returns its number, from 0. An exact
 * one never asks for a block beyond its first. */
size_t pfc_design_series(pfc_design *design, bool exact);

/** The series cannot be judged by ratios: its visits are dropped, and no block is asked for it. */
void pfc_design_forget(pfc_design *design, size_t series);

/** The block to measure next; false: nothing is worth measuring, or the budget is spent. The second
 * block of a round is always due once its first was measured, also when the budget ends in between.
 */
bool pfc_design_next(pfc_design *design, pfc_design_block *out);
/** True when the series still needs the block that was asked for last: a suite may leave out the
 * others. */
bool pfc_design_wants(const pfc_design *design, size_t series);
/** The value of a series at a visit of that block. PFC_EINVAL: not finite or not above 0. */
pfc_code pfc_design_add(pfc_design *design, size_t series, const pfc_visit *visit,
                        pfc_err *err) PFC_MUSTCHECK;
/** Adds the duration of a visit, with or without a result, to the budget and to the time estimates.
 */
void pfc_design_spent(pfc_design *design, size_t build, double seconds);
/** The build cannot be measured: it is left out from now on, and its earlier visits count no
 * longer. The boundary after it is judged against the build before it. */
void pfc_design_drop(pfc_design *design, size_t build);

/** How the series stands now. Clear *out. */
pfc_code pfc_design_fit(const pfc_design *design, size_t series, pfc_blocks_fit *out,
                        pfc_err *err) PFC_MUSTCHECK;
/** Seconds of measuring that are likely to decide the boundary before `build` in all series; 0: it
 * is decided, has no predecessor, or was not measured. INFINITY: not within most_rounds. */
double pfc_design_needs_s(pfc_design *design, size_t build);
/** Seconds that were spent. */
double pfc_design_total_s(const pfc_design *design);

#endif
