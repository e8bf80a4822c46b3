/*
 * Results on disk until the server has them: what was measured is never lost to a dead server, a
 * dead runner or a full disk, and never counted twice (a run has one id, and ingest is idempotent).
 *
 * A document is written beside its place, synced, renamed and the folder synced, so after a kill at
 * any moment it is either there whole or not at all. After the server's 2xx, and only then, it moves to
 * `sent/` and stays there for a day, to be given again to a server that was restored from a backup.
 * What the server refuses for good, and what is no more what was written, moves to `rejected/` with
 * the reason beside it.
 *
 * Used by one thread; the folder belongs to one process at a time (the runner's lock file).
 */
#ifndef PFC_RUNNER_SPOOL_SPOOL_H
#define PFC_RUNNER_SPOOL_SPOOL_H

#include "core/http/client.h"
#include "core/wire/wire.h"

#define PFC_SPOOL_MAX_DOCUMENTS 10000
#define PFC_SPOOL_MAX_BYTES     (2ull * 1024 * 1024 * 1024)

/* Of what the server has: the oldest go. */
#define PFC_SPOOL_SENT_S         (24 * 3600)
#define PFC_SPOOL_SENT_DOCUMENTS 5000
#define PFC_SPOOL_SENT_BYTES     (1024ull * 1024 * 1024)

/* Answers 5xx to a run, with more and more time between them, until it is put off: about a minute. */
#define PFC_SPOOL_ERRORS   8
/* So many different runs in a row, and it is the server that is broken and not they. */
#define PFC_SPOOL_IN_A_ROW 3

typedef struct pfc_spool pfc_spool;

/** Makes `dir` when absent (0700) and removes what a killed process has left unfinished: files, and runs of
 *  several parts whose last one is not there. */
pfc_code pfc_spool_open(const char *dir, pfc_spool **out, pfc_err *err) PFC_MUSTCHECK;
/** Leaves everything on disk. Accepts NULL. */
void pfc_spool_close(pfc_spool *spool);
/** Seconds before a run is sent again to which the answer was a 5xx: doubled each time up to a quarter of
 *  an hour; 0.5 when not called. */
void pfc_spool_backoff(pfc_spool *spool, double first_s);

/** Is there room for another result? Tried by writing and syncing 64 KiB. PFC_EIO with the reason
 *  (disk full, read-only), PFC_ETOOBIG when the spool's own limits are reached. What the server has
 *  already goes first when there is none. */
pfc_code pfc_spool_probe(pfc_spool *spool, pfc_err *err) PFC_MUSTCHECK;

/** Puts a run into the spool, split when it is over the API's limit of 16 MiB. On failure nothing of
 *  it is there and the documents that wait are untouched; codes as above. */
pfc_code pfc_spool_add(pfc_spool *spool, const pfc_run *run, pfc_err *err) PFC_MUSTCHECK;

/** What was measured together in blocks. */
typedef struct pfc_session_set {
    const char *id, *project;
    const json_t *session; /* body of POST /api/v1/projects/{project}/sessions */
    pfc_run *const *runs;
    size_t len;
} pfc_session_set;

/** Puts the runs of a session and its own document into the spool: all of them or none, also when the
 *  process is killed meanwhile. They go to the server in this order, the session's document last, and
 *  pfc_spool_look answers for all of them under the session's id. */
pfc_code pfc_spool_add_session(pfc_spool *spool, const pfc_session_set *set,
                               pfc_err *err) PFC_MUSTCHECK;

/** Documents that wait. */
size_t pfc_spool_waiting(const pfc_spool *spool);

typedef struct pfc_spool_report {
    size_t uploaded;      /* by this call */
    size_t rejected;      /* moved away by this call */
    size_t waiting;       /* still there */
    size_t put_off;       /* of them: the server had an error with each, PFC_SPOOL_ERRORS times */
    bool only_put_off;    /* nothing else waits, and the server is not held for broken */
    double retry_after_s; /* what the server asked for, or until one is due again; 0: nothing */
    char rejection[PFC_ERR_MAX]; /* the last one's reason */
} pfc_spool_report;

/**
 * Uploads what waits, oldest first, until it is empty or the server does not take it now.
 *
 * A run that the server has an error with (5xx, but 502 and 503) does not stop those behind it: it is
 * sent again when its time comes, after them, the parts of one run always in their order. Three such
 * runs in a row, no answer, 429, 502, 503 and any Retry-After end the pass; the next one begins with
 * those that have failed less often, so that what a server falls over stands in nobody's way.
 *
 * PFC_OK when nothing waits any more (rejected ones included); PFC_EUNAVAIL, PFC_ETIMEOUT, PFC_EIO
 * or PFC_ECONFLICT (cancelled) when it should be tried again later; PFC_EDENIED when the token is
 * not accepted: a person must act, nothing is thrown away. *report is always filled.
 *
 * A server that is too old for the number of the lease in a document gets it without.
 */
pfc_code pfc_spool_upload(pfc_spool *spool, pfc_http *http, pfc_spool_report *report,
                          pfc_err *err) PFC_MUSTCHECK;

typedef enum pfc_spool_fate {
    PFC_SPOOL_GONE, /* taken by the server, or never there */
    PFC_SPOOL_WAITS,
    PFC_SPOOL_PUT_OFF, /* and the server is not held for broken */
    PFC_SPOOL_REJECTED,
} pfc_spool_fate;

/** What became of a run, or of a session. Of the last two `reason` says why, in PFC_ERR_MAX bytes. */
pfc_spool_fate pfc_spool_look(const pfc_spool *spool, const char *run_id, char *reason);

typedef struct pfc_spool_counts {
    size_t again, waiting, rejected; /* documents */
} pfc_spool_counts;

/** Asks whoever works with the spool in `dir`, now or at its next start, to send again what the server
 *  has acknowledged within the last day. A run that is stored is not stored twice. From any process. */
pfc_code pfc_spool_resend(const char *dir, pfc_spool_counts *counts, pfc_err *err) PFC_MUSTCHECK;

/** The last resort when the disk takes nothing: sends a run straight from memory, once. Codes as
 *  pfc_http_check: pfc_http_retryable says whether trying again helps. */
pfc_code pfc_spool_bypass(pfc_http *http, const pfc_run *run, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_spool_bypass_session(pfc_http *http, const pfc_session_set *set,
                                  pfc_err *err) PFC_MUSTCHECK;

#endif
