/*
 * A nightly round whose history is in a store, without a service. Private to this folder.
 */
#ifndef PFC_CLI_NIGHTLY_STORE_ROUND_H
#define PFC_CLI_NIGHTLY_STORE_ROUND_H

#include "cli/nightly/history_line.h"
#include "cli/store/history.h"

struct pfc_night_store {
    pfc_store *store;
    pfc_store_history history;
    const char *remote;  /* to which the branch is pushed; NULL: none */
    pfc_commit_id *line; /* the branch's first-parent history, oldest first; owned */
    size_t line_len;
};

/** The runs and sessions in the store: fills in has_run, seen and night->sessions. */
pfc_code pfc_night_store_known(pfc_night *night, pfc_night_line *line, pfc_err *err) PFC_MUSTCHECK;
/** Adds a run to the store, durably, and its broken benchmarks to night->broken. */
pfc_code pfc_night_store_run(pfc_night *night, const pfc_run *run, pfc_err *err) PFC_MUSTCHECK;
/** As pfc_store_candidates. */
json_t *pfc_night_store_candidates(const pfc_night *night);

#endif
