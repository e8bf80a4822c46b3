/*
 * Builds measured together in blocks: prepares them, visits them in the order that core/blocks/design.h
 * asks for, and makes a run document of each. Used by `perfci nightly`, `compare` and `check`, and by the
 * agent for jobs that name several commits.
 *
 * Builds come first, so that no compiler runs while another build is measured. A commit whose object code
 * is its predecessor's is not measured: it has no speed of its own. A visit that fails is made once more;
 * then the build is left out with its reason. Values count when their block is whole, so that every build
 * of a block met the same machine.
 */
#ifndef PFC_RUNNER_BLOCKS_BLOCKS_H
#define PFC_RUNNER_BLOCKS_BLOCKS_H

#include "core/base/conf.h"
#include "core/blocks/design.h"
#include "runner/build/products.h"
#include "runner/workspace/workspace.h"

/** What to measure. */
typedef struct pfc_blocks_run_opts {
    const pfc_commit_id *commits; /* in the order of history: [anchor,] base, new ones; each once */
    size_t len;
    size_t anchor,
        first; /* as in pfc_blocks_opts; anchor < first. first == len: nothing new, the two
                             are measured so that ratios begin */
    /* Of each commit: judged before, and measured because later ones are compared with it. NULL: none. */
    const bool *known;
    /* Anchors to try, in this order, when commits[anchor] does not build; the base is the last resort. */
    const pfc_commit_id *anchors;
    size_t anchors_len;
    double budget_s;     /* of measuring, builds not counted; 0: no limit */
    double margin;       /* 0: the planner's default */
    bool all;            /* as in pfc_design_opts */
    size_t exact_rounds; /* > 0: so many rounds of all builds, whatever is decided */
    /* Asked after each round of all builds, with a run for each build; *done ends the session. NULL: the
     * planner decides. */
    pfc_code (*decided)(void *arg, pfc_run *const *runs, size_t len, bool *done, pfc_err *err);
    void *decided_arg;
    bool
        mark_infra; /* runs say infra when the canary moved; else never: blocks remove such a change */
    uint64_t seed;
    const pfc_conf *conf;     /* perfci.yaml that counts, for what was built and `runtime_files` */
    bool measure_identical;   /* commits of identical object code, too */
    const pfc_select *wanted; /* NULL: everything */
    /* Says what is going on, in one line, for progress. NULL: nothing. */
    void (*progress)(void *arg, const char *line);
    void *progress_arg;
} pfc_blocks_run_opts;

typedef enum pfc_block_status {
    PFC_BLOCK_MEASURED,
    PFC_BLOCK_IDENTICAL, /* its object code is that of `same_as`, and no file named as read at run time differs */
    PFC_BLOCK_BROKEN,       /* does not build, or measures nothing but errors */
    PFC_BLOCK_NOT_MEASURED, /* the budget, a lost lease or an interruption came first */
} pfc_block_status;

/** What came of a commit. */
typedef struct pfc_block_commit {
    pfc_commit_id id; /* as asked for, but the anchor may be another candidate */
    pfc_block_status status;
    size_t same_as; /* index into commits, of an identical one */
    pfc_code code;  /* of a broken one: PFC_EBROKEN, PFC_ETIMEOUT, or PFC_EINVAL
                                                when the settings are refused */
    char reason[PFC_WORKSPACE_REASON_BYTES]; /* unless measured */
    char hint[PFC_ERR_HINT_MAX];             /* the next step, or empty */
    pfc_run *run; /* owned; when measured, or broken with broken results. Not of identical ones */
    pfc_built built; /* what it was built from */
    double needs_s;  /* that would decide its boundary; 0: decided; NAN: not known */
    size_t visits;   /* in whole blocks */
} pfc_block_commit;

typedef struct pfc_blocks_result {
    char session[33];
    pfc_block_commit *commits; /* as many as were asked for; owned */
    size_t len;
    size_t anchor; /* the one in use; the base's place when no anchor builds */
    size_t
        blocks; /* whole ones; a block that was interrupted is not counted, nor its values kept */
    double started_at, finished_at; /* Unix seconds, of measuring */
    double spent_s;                 /* measuring */
    double build_s;
    bool cancelled;                         /* measure->cancelled ended it; what is whole is kept */
    char ended[PFC_WORKSPACE_REASON_BYTES]; /* why the session ended before its time; or empty */
    bool canary_read;                       /* of a command: both readings are there */
    bool canary_moved;       /* the canary before and after differs: the machine's speed changed */
    char canary_reason[200]; /* why there is no canary; "" */
    char note[PFC_WORKSPACE_REASON_BYTES]; /* e.g. that the anchor does not build; or empty */
    char said
        [PFC_WORKSPACE_REASON_BYTES]; /* of the first visit: what was left out of its output; or empty */
} pfc_blocks_result;

/**
 * Measures. The workspace keeps builds: its max_checkouts must be at least opts->len + anchors_len.
 *
 * PFC_OK also when commits are broken, all are identical, or the budget ends. PFC_EUNAVAIL: cancelled
 * before a whole block, or the machine does not let perfci-bench measure; PFC_EINVAL: fewer than two
 * commits, or the settings are refused for every build (direction not known, filter fits nothing); what
 * pfc_workspace_prepare returns. Clear *out in every case.
 */
pfc_code pfc_blocks_measure(pfc_workspace *ws, const pfc_commit_measure_opts *measure,
                            const pfc_blocks_run_opts *opts, pfc_blocks_result *out,
                            pfc_err *err) PFC_MUSTCHECK;
void pfc_blocks_result_clear(pfc_blocks_result *result);

#endif
