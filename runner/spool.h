/*
 * Results on disk until the server has them: what was measured is never lost to a dead server, a
 * dead runner or a full disk, and never counted twice (a run has one id, and ingest is idempotent).
 *
 * A document is written beside its place, synced, renamed and the folder synced, so after a kill at
 * any moment it is either there whole or not at all. It is removed only after the server's 2xx.
 * What the server refuses for good, and what is no more what was written, moves to `rejected/` with
 * the reason beside it.
 *
 * Used by one thread; the folder belongs to one process at a time (the runner's lock file).
 */
#ifndef PFC_RUNNER_SPOOL_H
#define PFC_RUNNER_SPOOL_H

#include "core/http/client.h"
#include "core/wire/wire.h"

#define PFC_SPOOL_MAX_DOCUMENTS 10000
#define PFC_SPOOL_MAX_BYTES     (2ull * 1024 * 1024 * 1024)

typedef struct pfc_spool pfc_spool;

/** Makes `dir` when absent (0700) and removes what a killed process has left unfinished: files, and runs of
 *  several parts whose last one is not there. */
pfc_code pfc_spool_open(const char *dir, pfc_spool **out, pfc_err *err) PFC_MUSTCHECK;
/** Leaves everything on disk. Accepts NULL. */
void pfc_spool_close(pfc_spool *spool);

/** Is there room for another result? Tried by writing and syncing 64 KiB. PFC_EIO with the reason
 *  (disk full, read-only), PFC_ETOOBIG when the spool's own limits are reached. */
pfc_code pfc_spool_probe(pfc_spool *spool, pfc_err *err) PFC_MUSTCHECK;

/** Puts a run into the spool, split when it is over the API's limit of 16 MiB. On failure nothing of
 *  it is there and the documents that wait are untouched; codes as above. */
pfc_code pfc_spool_add(pfc_spool *spool, const pfc_run *run, pfc_err *err) PFC_MUSTCHECK;

/** Documents that wait. */
size_t pfc_spool_waiting(const pfc_spool *spool);

typedef struct pfc_spool_report {
    size_t uploaded;             /* by this call */
    size_t rejected;             /* moved away by this call */
    size_t waiting;              /* still there */
    double retry_after_s;        /* what the server asked for; 0: nothing */
    char rejection[PFC_ERR_MAX]; /* the last one's reason */
} pfc_spool_report;

/**
 * Uploads what waits, oldest first, until it is empty or the server does not take it now.
 *
 * PFC_OK when nothing waits any more (rejected ones included); PFC_EUNAVAIL, PFC_ETIMEOUT, PFC_EIO
 * or PFC_ECONFLICT (cancelled) when it should be tried again later; PFC_EDENIED when the token is
 * not accepted: a person must act, nothing is thrown away. *report is always filled.
 */
pfc_code pfc_spool_upload(pfc_spool *spool, pfc_http *http, pfc_spool_report *report,
                          pfc_err *err) PFC_MUSTCHECK;

/** The last resort when the disk takes nothing: sends a run straight from memory, once. Codes as
 *  pfc_http_check: pfc_http_retryable says whether trying again helps. */
pfc_code pfc_spool_bypass(pfc_http *http, const pfc_run *run, pfc_err *err) PFC_MUSTCHECK;

#endif
