/*
 * Keeps results on disk until the server has stored them. A result survives a server that is down,
 * a runner that is killed and a full disk, and is never counted twice: a run has one id, and ingest
 * is idempotent.
 *
 * A document is written to a temporary file, synced and renamed, and the folder is synced. After a
 * kill at any moment, a document is complete or absent. When the server answers 2xx, the document
 * moves to `sent/` and stays there for a day, so that it can be sent again to a server restored
 * from a backup. A document that the server rejects permanently, or whose content no longer matches
 * its digest, moves to `rejected/`, with the reason in a file beside it.
 *
 * For one thread. The folder belongs to one process at a time (the runner's lock file).
 */
#ifndef PFC_RUNNER_SPOOL_SPOOL_H
#define PFC_RUNNER_SPOOL_SPOOL_H

#include "core/http/client.h"
#include "core/trace/run_files.h"
#include "core/wire/wire.h"

#define PFC_SPOOL_MAX_DOCUMENTS 10000
#define PFC_SPOOL_MAX_BYTES     (2ull * 1024 * 1024 * 1024)

/* Limits of `sent/`; the oldest documents are removed first. */
#define PFC_SPOOL_SENT_S         (24 * 3600)
#define PFC_SPOOL_SENT_DOCUMENTS 5000
#define PFC_SPOOL_SENT_BYTES     (1024ull * 1024 * 1024)

/* A run is put off after this many answers 5xx, with exponential back-off: about a minute. */
#define PFC_SPOOL_ERRORS   8
/* After errors with this many different runs in a row, the server itself counts as broken. */
#define PFC_SPOOL_IN_A_ROW 3

typedef struct pfc_spool pfc_spool;

/** Creates `dir` when absent (0700). Removes what a killed process left unfinished: temporary
 * files, and runs of several parts that lack the last one. */
pfc_code pfc_spool_open(const char *dir, pfc_spool **out, pfc_err *err) PFC_MUSTCHECK;
/** Leaves everything on disk. Accepts NULL. */
void pfc_spool_close(pfc_spool *spool);
/** Sets the first delay after an answer 5xx, in seconds (default 0.5). It doubles with each error,
 * up to 15 minutes. */
void pfc_spool_backoff(pfc_spool *spool, double first_s);

/** Checks that another result fits, by writing and syncing 64 KiB. Removes copies in `sent/` when
 * the disk is full. PFC_EIO with the reason (disk full, read-only), PFC_ETOOBIG when the spool's
 * own limits are reached. */
pfc_code pfc_spool_probe(pfc_spool *spool, pfc_err *err) PFC_MUSTCHECK;

/** Adds a run, split into parts when it is over the API's limit of 16 MiB. On failure no part of it
 * is in the spool and the waiting documents are unchanged; codes as above. */
pfc_code pfc_spool_add(pfc_spool *spool, const pfc_run *run, pfc_err *err) PFC_MUSTCHECK;

/** As above with traces of the run, which are uploaded after it. A trace that the server refuses is
 * dropped and logged: the run is stored without it. */
pfc_code pfc_spool_add_traced(pfc_spool *spool, const pfc_run *run, const pfc_run_trace *traces,
                              size_t traces_len, pfc_err *err) PFC_MUSTCHECK;

/** The builds that one session measured in blocks. */
typedef struct pfc_session_set {
    const char *id, *project;
    const json_t *session; /* body of POST /api/v1/projects/{project}/sessions */
    pfc_run *const *runs;
    size_t len;
} pfc_session_set;

/** Adds the runs of a session and its own document: all of them or none, even if the process is
 * killed during the call. They are uploaded in this order, the session's document last.
 * pfc_spool_look finds them under the session's id. */
pfc_code pfc_spool_add_session(pfc_spool *spool, const pfc_session_set *set,
                               pfc_err *err) PFC_MUSTCHECK;

/** Token of the lease under which the documents that are added from now on were measured (copied;
 * NULL: none). They are uploaded with it, however late, and with the client's own token when the
 * server no longer accepts it. */
void pfc_spool_lease_token(pfc_spool *spool, const char *token);

/** Number of documents that wait for upload. */
size_t pfc_spool_waiting(const pfc_spool *spool);

/** The documents that wait, and the room that is left. */
typedef struct pfc_spool_state {
    size_t documents;         /* that wait for upload; at most PFC_SPOOL_MAX_DOCUMENTS */
    uint64_t bytes;           /* of them; at most PFC_SPOOL_MAX_BYTES */
    double oldest_s;          /* age of the oldest of them, by the file's time; 0: none waits */
    uint64_t disk_free_bytes; /* of the disk, for this user; 0: not known */
} pfc_spool_state;

/** Looks at the folder; what cannot be read counts as empty. */
void pfc_spool_look_at_all(const pfc_spool *spool, pfc_spool_state *out);

typedef struct pfc_spool_report {
    size_t uploaded;             /* by this call */
    size_t rejected;             /* moved away by this call */
    size_t waiting;              /* still in the spool */
    size_t put_off;              /* of `waiting`: got PFC_SPOOL_ERRORS answers 5xx */
    bool only_put_off;           /* all of `waiting` is put off, and the server is not broken */
    double retry_after_s;        /* Retry-After, or until a run is due again; 0: none */
    char rejection[PFC_ERR_MAX]; /* the last one's reason */
} pfc_spool_report;

/**
 * Uploads the waiting documents, oldest first, until none is left or the server does not accept
 * more.
 *
 * A run that the server answers with 5xx (except 502 and 503) does not block the runs behind it. It
 * is sent again after its back-off, behind them; the parts of one run always keep their order. The
 * pass ends after three such runs in a row, no answer, 429, 502, 503, or any Retry-After. The next
 * pass starts with the runs that failed least often, so that a run that crashes the server does not
 * block the others.
 *
 * PFC_OK when no document waits (rejected ones do not count); PFC_EUNAVAIL, PFC_ETIMEOUT, PFC_EIO
 * or PFC_ECONFLICT (cancelled) when the caller should retry later; PFC_EDENIED when the server does
 * not accept the token: an operator must act, and nothing is removed. *report is always filled.
 *
 * A server too old for fencing tokens receives the documents without them.
 */
pfc_code pfc_spool_upload(pfc_spool *spool, pfc_http *http, pfc_spool_report *report,
                          pfc_err *err) PFC_MUSTCHECK;

typedef enum pfc_spool_fate {
    PFC_SPOOL_GONE, /* stored by the server, or never added */
    PFC_SPOOL_WAITS,
    PFC_SPOOL_PUT_OFF, /* and the server is not broken */
    PFC_SPOOL_REJECTED,
} pfc_spool_fate;

/** Returns the state of a run or a session. For PFC_SPOOL_PUT_OFF and PFC_SPOOL_REJECTED, writes
 * the reason to `reason` (PFC_ERR_MAX bytes). */
pfc_spool_fate pfc_spool_look(const pfc_spool *spool, const char *run_id, char *reason);

typedef struct pfc_spool_counts {
    size_t again, waiting, rejected; /* documents */
} pfc_spool_counts;

/** Requests that the documents of the last day in `sent/` are uploaded again. The process that owns
 * the spool in `dir` does so at its next pass or start. The server stores no run twice. For any
 * process. */
pfc_code pfc_spool_resend(const char *dir, pfc_spool_counts *counts, pfc_err *err) PFC_MUSTCHECK;

/** Sends a run directly from memory, once, for a runner whose disk cannot be written. `token`: of
 *  its lease, NULL: the client's. Codes as pfc_http_check; pfc_http_retryable says whether a retry
 *  can help. */
pfc_code pfc_spool_bypass(pfc_http *http, const char *token, const pfc_run *run,
                          pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_spool_bypass_session(pfc_http *http, const char *token, const pfc_session_set *set,
                                  pfc_err *err) PFC_MUSTCHECK;

#endif
