/*
 * Tokens of leases; see lease_tokens.h.
 */
#include "server/services/access/lease_tokens.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "server/repo/sql/lease_tokens.h"
#include "server/services/access/secret.h"
#include "server/services/service.h"

#define PREFIX "pfl_"

bool pfc_lease_token_is(const char *secret)
{
    return pfc_secret_well_formed(PREFIX, secret);
}

void pfc_lease_token_make(char secret[PFC_TOKEN_TEXT], char hash[PFC_SHA256_HEX])
{
    pfc_secret_make(PREFIX, secret);
    pfc_sha256_hex(secret, strlen(secret), hash);
}

pfc_code pfc_lease_token_issue(pfc_tx *tx, const pfc_lease_token_request *request,
                               char secret[PFC_TOKEN_TEXT], pfc_err *err)
{
    char hash[PFC_SHA256_HEX];

    pfc_lease_token_make(secret, hash);
    return pfc_sql_lease_token_insert(
        tx,
        &(pfc_sql_lease_token_insert_args){ .hash = hash,
                                            .project_id = request->project_id,
                                            .job_id = request->job_id,
                                            .fence = request->fence,
                                            .token_id = request->token_id,
                                            .runner = request->runner },
        err);
}

pfc_code pfc_lease_token_find(pfc_tx *tx, const char *hash, pfc_principal *out, bool *valid,
                              double *valid_s, pfc_err *err)
{
    pfc_sql_lease_token_find_rows rows = { 0 };
    pfc_code code = pfc_sql_lease_token_find(
        tx, &(pfc_sql_lease_token_find_args){ .hash = hash, .seconds = PFC_LEASE_TOKEN_S }, &rows,
        err);

    *valid = !code && rows.len && pfc_secret_equal(hash, rows.items[0].hash);
    if (*valid) {
        const pfc_sql_lease_token_find_row *found = &rows.items[0];

        *out = (pfc_principal){ .token_id = found->token_id,
                                .scopes = PFC_SCOPE_LEASE,
                                .project_id = found->project_id,
                                .lease = { found->job_id, found->fence },
                                .until_ns =
                                    pfc_clock_ns() + (int64_t)(found->valid_s * PFC_NS_PER_S) };
        (void)snprintf(out->actor, sizeof(out->actor), "runner %.60s, job %lld", found->runner,
                       (long long)found->job_id);
        *valid_s = found->valid_s;
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code refuse(const pfc_lease_id *lease, const char *field, const char *what, pfc_err *err)
{
    return pfc_err_set_field(err, PFC_EDENIED, field,
                             "%s: the token stores results of job %lld alone, %s", field,
                             (long long)lease->job_id, what);
}

pfc_code pfc_lease_check(pfc_db *db, const pfc_lease_id *lease, const pfc_lease_results *results,
                         pfc_err *err)
{
    pfc_tx *tx = NULL;
    bool covers = false;
    pfc_code code;

    if (!lease->job_id)
        return PFC_OK;
    if (results->job_id && results->job_id != lease->job_id)
        return refuse(lease, "job_id", "not of another job", err);
    if (results->job_id && results->fence != lease->fence)
        return refuse(lease, "job_fence", "under its own lease", err);
    code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);
    if (!code)
        code =
            pfc_sql_lease_covers(tx,
                                 &(pfc_sql_lease_covers_args){ .project_id = results->project_id,
                                                               .job_id = lease->job_id,
                                                               .commits = results->commits,
                                                               .commits_len = results->commits_len,
                                                               .branch = results->branch,
                                                               .any_branch = results->any_branch },
                                 &covers, err);
    pfc_tx_free(tx);
    return code || covers ? code : refuse(lease, "commit", "of its commits and its branch", err);
}

pfc_code pfc_lease_tokens_prune(pfc_db *db, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_lease_tokens_prune(
            tx, &(pfc_sql_lease_tokens_prune_args){ .seconds = PFC_LEASE_TOKEN_S }, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}
