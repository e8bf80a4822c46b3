/* Shared by the files of cli/store that read and write. Private to this folder. */
#ifndef PFC_CLI_STORE_STORE_PRIV_H
#define PFC_CLI_STORE_STORE_PRIV_H

#include "cli/store/store.h"

#define PFC_STORE_MARKER "perfci-store.json"

struct pfc_store {
    char *spec;
    pfc_repo *repo; /* of a branch; NULL: a folder */
    char *branch, *ref;
    char *dir;         /* the folder, or that of files which are not published yet; absolute */
    char *lock;        /* file */
    int lock_fd;       /* -1: not locked */
    pfc_commit_id tip; /* of the branch as it was read last; hex "": there is none */
};

/** The marker's text. */
char *pfc_store_marker(void);
/** PFC_EINVAL: not a marker, or of a newer version. `where`: for the message. */
pfc_code pfc_store_check_marker(const char *text, size_t len, const char *where,
                                pfc_err *err) PFC_MUSTCHECK;
/** "runs/...", "sessions/...", "alerts/..." or "triage/...", and ".json". */
bool pfc_store_is_data(const char *path);
bool pfc_store_is_page(const char *path);

/** Sorted paths of the regular files below a folder, relative to it; hidden ones and links are left
 * out. Caller frees each and the array. */
pfc_code pfc_store_list(const char *dir, char ***paths, size_t *len, pfc_err *err) PFC_MUSTCHECK;

/* ---- branch.c ---- */

/** Finds the branch: PFC_EINVAL when it is none of ours. Sets store->tip. */
pfc_code pfc_store_branch_open(pfc_store *store, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_store_branch_publish(pfc_store *store, const char *message,
                                  pfc_err *err) PFC_MUSTCHECK;

#endif
