/*
 * Builds that were measured together in blocks, judged.
 *
 * A block visits each of its builds once, in random order. Blocks 2r and 2r + 1 hold the same
 * builds and form round r. With few builds the second has the opposite order, so that a linear
 * drift of the machine cancels in the round's means; with four and more it has a random one. A
 * change of the machine's speed meets all builds of a block alike and is removed with the block's
 * effect; one that happens inside a block is found and removed as such.
 *
 * Two answers, for two purposes:
 *
 * - The fit: log value = build + machine at that moment + noise, fitted robustly over all visits.
 * It gives each build's ratio to the anchor, the noise of a visit, and for each boundary an
 * estimate and a screening p-value. These direct the next block. They are no evidence: they were
 * looked at after each block.
 * - Two tests of a boundary, which share its level. One takes the rounds that hold both builds, by
 * the always-valid tests of pair_rounds.h; with two builds it is alone, and is
 * pfc_interleaved_compare. The other (order_test.h) takes all builds of the stretch that the
 * boundary divides, by their random order within blocks. Where it decides, the change has a place:
 * the builds among which the fit cannot tell which one came first. Both may be asked after each
 * round, and rounds may be added for any reason that lies in the past.
 *
 * Deterministic, thread-safe; values in any order of arrays (block and position give the order of
 * time).
 */
#ifndef PFC_CORE_BLOCKS_BLOCKS_H
#define PFC_CORE_BLOCKS_BLOCKS_H

#include "core/stats/stats.h"

#define PFC_BLOCK_BUILDS      8   /* most builds of a block */
#define PFC_BLOCKS_MAX_BUILDS 256 /* of one session */
#define PFC_BLOCKS_MAX_VISITS 100000
#define PFC_BLOCKS_FDR                                                                             \
    0.01 /* share of mistakes among the boundaries of a session called different */

/** One run of one build. */
typedef struct pfc_visit {
    uint32_t build;    /* 0..builds-1, in the order of history */
    uint32_t block;    /* of the session, from 0 */
    uint32_t position; /* in the block, from 0 */
    double value;      /* > 0, finite */
} pfc_visit;

typedef struct pfc_blocks_opts {
    size_t builds; /* 1..PFC_BLOCKS_MAX_BUILDS */
    size_t anchor; /* the build that ratios refer to */
    size_t first; /* builds from here on are judged against their predecessor; the one before is the
                     base */
    size_t apart; /* builds below this one are older than the others (an anchor): they belong to no
                     stretch */
    const bool
        *gap; /* of each build: commits that others judged lie between it and the build before it,
                 so this boundary belongs to no commit of the session; NULL: there are none */
    double margin; /* relative change that does not matter; 0: 0.01 */
    double alpha;  /* of one boundary's tests; 0: 0.01 */
    bool exact;    /* no noise: one visit of each decides, any difference is real */
} pfc_blocks_opts;

/** A build's level against the anchor's. */
typedef struct pfc_block_level {
    size_t visits; /* 0: the build has no value here; the rest is NAN */
    double median; /* of its values as they are */
    double ratio, low,
        high;      /* to the anchor, 95 %; the anchor's own is 1. NAN: not connected to it */
    double log_se; /* of log(ratio) */
} pfc_block_level;

/** A build against the nearest earlier build that has values. */
typedef struct pfc_boundary {
    size_t from, to;             /* builds */
    bool gap;                    /* not one to judge: see pfc_blocks_opts */
    size_t place_from, place_to; /* builds: the change is after place_from and not after place_to;
                                    where two builds decide, from and to */
    pfc_verdict verdict;         /* by the tests alone, of this boundary alone */
    double rel_change; /* by the fit: of `to` against `from`, or, by order, of the stretches beside
                          it */
    double rel_low, rel_high; /* 95 % */
    double any_low, any_high; /* of the test that decides, at all looks together */
    double p;                 /* of both tests, at all looks */
    bool by_order;            /* the test by order says "different" */
    double screen_p;          /* that anything changed just here, by the fit: no evidence */
    size_t rounds;            /* that hold both */
    size_t more;              /* further rounds that are likely to decide it; 0: decided */
} pfc_boundary;

typedef struct pfc_blocks_fit {
    pfc_block_level *levels; /* of each build; owned */
    size_t levels_len;
    pfc_boundary *boundaries; /* in the order of history; owned */
    size_t boundaries_len;
    double noise_rel; /* robust, of one visit, after the machine's part is removed; NAN: too few
                         visits */
    size_t moves;     /* changes of the machine's speed that were found inside blocks */
} pfc_blocks_fit;

/** PFC_EINVAL: an option or visit out of range, or a build twice in a block. Clear *out in every
 * case. */
pfc_code pfc_blocks_judge(const pfc_visit *visits, size_t n, const pfc_blocks_opts *opts,
                          pfc_blocks_fit *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_blocks_fit_clear(pfc_blocks_fit *fit);

/** Does the fit leave the boundary within the margin, by its interval at 90 %? Where the test has
 * decided nothing a night stops measuring such a boundary (design.h) and calls it "same (within x
 * %)". It is no evidence that nothing changed there. */
bool pfc_boundary_within(const pfc_boundary *boundary, double margin);

#endif
