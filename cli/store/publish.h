/*
 * The end of a command that added to a store: the page, one commit, and the remote.
 */
#ifndef PFC_CLI_STORE_PUBLISH_H
#define PFC_CLI_STORE_PUBLISH_H

#include "cli/cli.h"
#include "cli/store/history.h"

typedef struct pfc_store_publishing {
    pfc_store *store;
    pfc_store_history *history;
    const pfc_commit_id *line; /* as given to pfc_store_history_judge */
    size_t line_len;
    const char *project, *message;
    const char *remote; /* NULL: none */
} pfc_store_publishing;

/** Writes the page, publishes, and pushes where a remote is named. When another machine pushed
 * meanwhile, its files are joined and the page is made of both.
 *
 * sent  out: false when the push failed, which is no error: everything is in the store here. Then
 *       *why has the sentence.
 */
pfc_code pfc_store_publish_all(const pfc_store_publishing *what, bool *sent, pfc_err *why,
                               pfc_err *err) PFC_MUSTCHECK;
/** Reads the documents of a store, warns about those that cannot be read, and judges them in the
 *  first-parent history of `branch`, at most 20,000 commits, which are then in *line; the caller
 *  frees it. Clear *history in every case. */
pfc_code pfc_store_read_all(const pfc_cli *cli, pfc_store *store, pfc_repo *repo,
                            const char *branch, pfc_store_history *history, pfc_commit_id **line,
                            size_t *len, pfc_err *err) PFC_MUSTCHECK;
/** A warning for each file that cannot be read; the first 20 are named. */
void pfc_store_say_faults(const pfc_cli *cli, const pfc_store *store,
                          const pfc_store_history *history);

#endif
