/*
 * Builds measured together in blocks: prepares them, visits them in the order that
 * core/blocks/design.h asks for, and makes a run document of each. Used by `perfci nightly`,
 * `compare` and `check`, and by the agent for jobs that name several commits.
 *
 * All builds are made first, so that no compiler runs during a measurement. A commit whose object
 * code equals its predecessor's is not measured: its speed is the same. One with the same tree is
 * not built either. A failed visit is repeated once; then the build is left out with its reason.
 * Values count only when their block is complete, so that every build of a block met the same state
 * of the machine.
 */
#ifndef PFC_RUNNER_BLOCKS_BLOCKS_H
#define PFC_RUNNER_BLOCKS_BLOCKS_H

#include "core/base/config/conf.h"
#include "core/blocks/design.h"
#include "runner/build/products.h"
#include "runner/workspace/workspace.h"

/** Options of a session. */
typedef struct pfc_blocks_run_opts {
    const pfc_commit_id *commits; /* in the order of history: [anchor,] base, new ones; each once */
    size_t len;
    size_t anchor, first; /* as in pfc_blocks_opts; anchor < first. first == len: nothing new, the
                             two are measured so that ratios begin */
    /* For each commit: it was judged before, and is measured only because later ones are compared
     * with it. NULL: none. */
    const bool *known;
    /* Anchors to try, in this order, when commits[anchor] does not build; then the base. */
    const pfc_commit_id *anchors;
    size_t anchors_len;
    double budget_s;     /* of measuring, builds not counted; 0: no limit */
    double margin;       /* 0: the planner's default */
    bool all;            /* as in pfc_design_opts */
    size_t exact_rounds; /* > 0: exactly this many rounds of all builds */
    /* Called after each round of all builds, with a run for each build; *done ends the session.
     * NULL: the planner decides. */
    pfc_code (*decided)(void *arg, pfc_run *const *runs, size_t len, bool *done, pfc_err *err);
    void *decided_arg;
    bool mark_infra; /* mark runs as `infra` when the canary moved; else never, because blocks
                        cancel such a change */
    uint64_t seed;
    const pfc_conf
        *conf; /* the perfci.yaml that applies, for the built files and `runtime_files` */
    /* Limit of counting one build's instructions by function, seconds: new builds that the test
     * finds different from the one before are counted, when a command measures and valgrind is
     * installed. Not part of the budget. 0: none is counted. */
    double functions_s;
    bool measure_identical;             /* also commits of identical object code */
    const pfc_benchmark_filter *wanted; /* NULL: everything */
    /* Receives one line of progress. NULL: none. */
    void (*progress)(void *arg, const char *line);
    void *progress_arg;
} pfc_blocks_run_opts;

typedef enum pfc_block_status {
    PFC_BLOCK_MEASURED,
    PFC_BLOCK_IDENTICAL, /* its tree is that of `same_as`, or its object code is and no file named
                            as read at run time differs */
    PFC_BLOCK_BROKEN,    /* does not build, or every measurement fails */
    PFC_BLOCK_NOT_MEASURED, /* the budget, a lost lease or an interruption came first */
} pfc_block_status;

/** Result of one commit. */
typedef struct pfc_block_commit {
    pfc_commit_id id; /* as requested, except that the anchor may be another candidate */
    pfc_block_status status;
    size_t same_as; /* index into commits, of an identical one */
    pfc_code code;  /* of a broken one: PFC_EBROKEN, PFC_ETIMEOUT, or PFC_EINVAL
                                                when the settings are refused */
    char reason[PFC_WORKSPACE_REASON_BYTES]; /* unless measured */
    char hint[PFC_ERR_HINT_MAX];             /* the next step, or empty */
    pfc_run *run; /* owned; when measured, or broken with broken results; NULL for identical ones */
    pfc_built built; /* the files that it was built from */
    double needs_s;  /* more measuring time that would decide its boundary; 0: decided; NAN: not
                        known */
    size_t visits;   /* in complete blocks */
    pfc_function_delta *functions; /* against the build before; owned; NULL: not counted */
} pfc_block_commit;

typedef struct pfc_blocks_result {
    char session[33];
    pfc_block_commit *commits; /* as many as were asked for; owned */
    size_t len;
    size_t anchor; /* the one in use; the base's place when no anchor builds */
    size_t blocks; /* complete ones; the values of an interrupted block are dropped */
    double started_at, finished_at; /* Unix seconds, of measuring */
    double spent_s;                 /* measuring */
    double build_s;
    bool cancelled; /* measure->cancelled ended it; complete blocks are kept */
    char ended[PFC_WORKSPACE_REASON_BYTES]; /* why the session ended early; or empty */
    bool canary_read;                       /* of a command: both readings exist */
    bool canary_moved;       /* the readings before and after differ: the machine's speed changed */
    char canary_reason[200]; /* why there is no canary; "" */
    char note[PFC_WORKSPACE_REASON_BYTES]; /* e.g. that the anchor does not build; or empty */
    char said[PFC_WORKSPACE_REASON_BYTES]; /* of the first visit: the part of its output that was
                                              ignored; or empty */
} pfc_blocks_result;

/**
 * Measures. The workspace keeps builds: its max_checkouts must be at least opts->len + anchors_len.
 *
 * PFC_OK also when commits are broken, all are identical, or the budget ends. PFC_EUNAVAIL:
 * cancelled before the first complete block, or perfci-bench cannot measure on this machine;
 * PFC_EINVAL: fewer than two commits, or every build rejects the settings (unknown direction,
 * filter without a match); also the codes of pfc_workspace_prepare. Clear *out in every case.
 */
pfc_code pfc_blocks_measure(pfc_workspace *ws, const pfc_commit_measure_opts *measure,
                            const pfc_blocks_run_opts *opts, pfc_blocks_result *out,
                            pfc_err *err) PFC_MUSTCHECK;
void pfc_blocks_result_clear(pfc_blocks_result *result);

#endif
