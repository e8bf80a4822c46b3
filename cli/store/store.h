/*
 * A store: the history of a project without a service, as files in a folder or in a branch of its
 * own. docs/reference/store.md describes the files.
 *
 * Files are only added. The pages that are made from them (see pfc_store_put) are replaced. A store
 * is used by one process at a time on one machine; two machines that push to one branch are joined
 * (pfc_store_pull), because the name of a file follows from its content's id.
 *
 * Nothing is lost by a crash: a file is on the disk when pfc_store_put returns. In a branch it lies
 * below the repository's git folder first, and pfc_store_publish moves all of them into one commit;
 * what was left there by a process that was killed is published by the next one.
 */
#ifndef PFC_CLI_STORE_STORE_H
#define PFC_CLI_STORE_STORE_H

#include "core/git/repo.h"

#define PFC_STORE_VERSION        1
#define PFC_STORE_PAGE           "index.html"
#define PFC_STORE_MAX_FILES      100000
#define PFC_STORE_MAX_FILE_BYTES (16u << 20)   /* of one; a larger one is named and left out */
#define PFC_STORE_MAX_BYTES      (1024u << 20) /* of all */

typedef struct pfc_store pfc_store;

/**
 * Opens a store and locks it; makes it where there is none. Files of an earlier process that was
 * killed are published by the next pfc_store_publish.
 *
 * spec  "branch:NAME", else a folder
 * repo  for a branch; lives as long as the store; NULL: there is none
 *
 * PFC_EINVAL: no such spec, or something else is there (a branch of code, a folder with other
 * files, a store of a newer version); PFC_EUNAVAIL: another process uses it; PFC_EIO.
 */
pfc_code pfc_store_open(const char *spec, pfc_repo *repo, pfc_store **out,
                        pfc_err *err) PFC_MUSTCHECK;
/** Unlocks. Accepts NULL. */
void pfc_store_close(pfc_store *store);
/** The spec, for messages. */
const char *pfc_store_name(const pfc_store *store);

/** Receives a file; text: NUL-terminated, valid during the call. */
typedef pfc_code pfc_store_file(void *arg, const char *path, const char *text, size_t len,
                                pfc_err *err);
/** Receives a file that cannot be read, with the reason. */
typedef void pfc_store_fault(void *arg, const char *path, const char *reason);

/** Reads the files of runs, sessions, alerts and triage, also those not published yet, by name. */
pfc_code pfc_store_each(pfc_store *store, pfc_store_file *each, pfc_store_fault *fault, void *arg,
                        pfc_err *err) PFC_MUSTCHECK;

/** Is the file there, published or not? */
pfc_code pfc_store_has(pfc_store *store, const char *path, bool *has, pfc_err *err) PFC_MUSTCHECK;
/** Adds a file, durably. One that is there already stays as it is, unless `page`: then it is
 * replaced. path: "runs/ab/ID.json". */
pfc_code pfc_store_put(pfc_store *store, const char *path, const char *text, size_t len, bool page,
                       pfc_err *err) PFC_MUSTCHECK;
/** Makes what was added visible: in a branch one commit with this message. Retries when another
 * process moved the branch. */
pfc_code pfc_store_publish(pfc_store *store, const char *message, pfc_err *err) PFC_MUSTCHECK;

/** Joins the branch of a remote into this one; nothing when the remote has none. PFC_EINVAL: the
 * store is a folder, or the remote's branch is no store; PFC_EUNAVAIL: git cannot reach it. */
pfc_code pfc_store_pull(pfc_store *store, const char *remote, pfc_err *err) PFC_MUSTCHECK;
/** Sends the branch. PFC_ECONFLICT: the remote has commits that are not here: pull, then push
 * again. PFC_EUNAVAIL: git cannot reach it, or it refuses. */
pfc_code pfc_store_push(pfc_store *store, const char *remote, pfc_err *err) PFC_MUSTCHECK;

#endif
