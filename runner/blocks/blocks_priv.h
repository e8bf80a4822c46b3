/*
 * Declarations shared by the files of this folder. Private to it.
 */
#ifndef PFC_RUNNER_BLOCKS_BLOCKS_PRIV_H
#define PFC_RUNNER_BLOCKS_BLOCKS_PRIV_H

#include "runner/blocks/blocks.h"

#define PFC_BLOCKS_NONE SIZE_MAX

/** A benchmark's metric on a backend, as the visits measure it. */
typedef struct pfc_block_series {
    char *benchmark, *metric, *backend;
    size_t number; /* in the design; PFC_BLOCKS_NONE: not yet added, or the session has no design */
    bool dead;     /* it had a value without a usable ratio (0, negative, not finite) */
    bool *seen;    /* of an exact series, for each build: its value is known */
} pfc_block_series;

/** A visit of the block that is being measured. */
typedef struct pfc_block_visit {
    size_t build; /* index in the design */
    pfc_session_position at;
    pfc_run *run; /* NULL: the build was left out */
} pfc_block_visit;

typedef struct pfc_blocks_session {
    pfc_workspace *ws;
    const pfc_commit_measure_opts *measure;
    const pfc_blocks_run_opts *opts;
    pfc_blocks_result *out;
    pfc_design *design; /* NULL: a fixed number of rounds, or `decided`, gives the order */
    size_t builds[PFC_BLOCKS_MAX_BUILDS]; /* index into out->commits */
    bool dropped[PFC_BLOCKS_MAX_BUILDS];
    size_t len;
    size_t anchor, first; /* of builds */
    pfc_block_series *series;
    size_t series_len, series_cap;
    int64_t began_ns; /* of measuring */
    bool stop;        /* cancelled, or perfci-bench cannot measure on this machine */
} pfc_blocks_session;

/** Builds all commits. Sets their status, the files that they were built from, the identical ones,
 * and the anchor in use. */
pfc_code pfc_blocks_prepare(pfc_blocks_session *s, pfc_err *err) PFC_MUSTCHECK;

/** Passes the values of a visit to the design. */
pfc_code pfc_blocks_tell(pfc_blocks_session *s, const pfc_block_visit *visit,
                         pfc_err *err) PFC_MUSTCHECK;
/** Sets the position of every launch of the visit's run, and adds the run to that of its build. */
void pfc_blocks_keep(pfc_blocks_session *s, pfc_block_visit *visit);
/** The filter for perfci-bench in the next block. NULL: everything that the session measures; else
 * an expression, caller frees. *backend: the only backend needed, or NULL; lives as long as the
 * session. */
char *pfc_blocks_narrow(const pfc_blocks_session *s, const char **backend);
void pfc_blocks_series_clear(pfc_blocks_session *s);

/** Counts instructions by function where the options ask for it. A build that cannot be counted is
 * logged. */
void pfc_blocks_count_functions(pfc_blocks_session *s);

/** A line for progress. */
void pfc_blocks_say(const pfc_blocks_session *s, const char *fmt, ...) PFC_PRINTF(2, 3);

#endif
