/*
 * Tokens of leases. A token is issued with each lease and stores the results of that lease's job:
 * its runs, session and source files, of its project, commits and branch. It opens no other
 * request. The runner's own token leases jobs and stores nothing.
 *
 * A token outlives its lease, because results wait in the runner's spool while the server is
 * unreachable. Thread-safe.
 */
#ifndef PFC_SERVER_SERVICES_ACCESS_LEASE_TOKENS_H
#define PFC_SERVER_SERVICES_ACCESS_LEASE_TOKENS_H

#include "core/base/hash.h"
#include "server/services/access/access.h"

#define PFC_LEASE_TOKEN_S (7 * 86400) /* from the start of the lease */

typedef struct pfc_lease_token_request {
    int64_t project_id, job_id, fence;
    int64_t token_id; /* the runner's own token; its revocation ends the lease's token, too */
    const char *runner;
} pfc_lease_token_request;

/** Makes a token, "pfl_" and 64 hexadecimal digits, and its SHA-256, which is what is stored. */
void pfc_lease_token_make(char secret[PFC_TOKEN_TEXT], char hash[PFC_SHA256_HEX]);
/** Makes a token and stores its hash. A new lease stores it together with the lease. */
pfc_code pfc_lease_token_issue(pfc_tx *tx, const pfc_lease_token_request *request,
                               char secret[PFC_TOKEN_TEXT], pfc_err *err) PFC_MUSTCHECK;
/** True for the text of a lease's token, whether it is valid or not. */
bool pfc_lease_token_is(const char *secret);
/** Finds a token by its SHA-256. *valid false: unknown, expired or revoked. valid_s: seconds until
 *  it expires. */
pfc_code pfc_lease_token_find(pfc_tx *tx, const char *hash, pfc_principal *out, bool *valid,
                              double *valid_s, pfc_err *err) PFC_MUSTCHECK;

/** Results that a request wants to store. */
typedef struct pfc_lease_results {
    int64_t project_id;
    const char *branch; /* NULL: the project's default */
    bool any_branch;    /* the results are of commits, whatever their branch */
    const char *const *commits;
    size_t commits_len;
    int64_t job_id, fence; /* that the document names; 0: none */
} pfc_lease_results;

/** PFC_OK for a lease of job_id 0 (another kind of token), and when the results are the leased
 *  job's. PFC_EDENIED otherwise, with the reason. */
pfc_code pfc_lease_check(pfc_db *db, const pfc_lease_id *lease, const pfc_lease_results *results,
                         pfc_err *err) PFC_MUSTCHECK;

/** Removes expired tokens. */
pfc_code pfc_lease_tokens_prune(pfc_db *db, pfc_err *err) PFC_MUSTCHECK;

#endif
