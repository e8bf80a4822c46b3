/*
 * Declarations shared by the files of the spool. Private to this folder.
 */
#ifndef PFC_RUNNER_SPOOL_SPOOL_PRIV_H
#define PFC_RUNNER_SPOOL_SPOOL_PRIV_H

#include "runner/spool/spool.h"

#define SPOOL_SUFFIX      ".json"
#define REJECTED_FOLDER   "rejected"
#define SENT_FOLDER       "sent"
#define TOKENS_FOLDER     "tokens"
#define PFC_SPOOL_SESSION "s" /* behind the number of a part: a session's own document */
#define PFC_SPOOL_TRACE   "t" /* likewise, and behind its "+": a trace */

/* Of a trace's file: the line before its bytes. */
#define PFC_SPOOL_TRACE_HEAD_MAX (6u * PFC_WIRE_MAX_NAME + 256)

typedef struct pfc_spool_names {
    char **items;
    size_t len;
    size_t cap;
    uint64_t bytes;
} pfc_spool_names;

/* A run whose upload failed. Kept in memory only: a new process tries all runs at once. */
typedef struct pfc_spool_trouble {
    char *run;       /* prefix of its documents' names, up to the part */
    char *reason;    /* the server's last error */
    unsigned behind; /* failed uploads; runs with fewer are sent first */
    unsigned errors; /* of these, answers 5xx */
    bool its_own;    /* the server accepted another run since: the error is specific to this run */
    int64_t due_ns;  /* not sent again before this time */
} pfc_spool_trouble;

struct pfc_spool {
    char *dir;
    char *rejected;
    char *sent;   /* folder of copies of uploaded documents */
    char *tokens; /* folder of tokens of leases, by the run's or session's id */
    char *token;  /* of the present lease; NULL: none */
    double backoff_s;
    pfc_spool_trouble *troubles;
    size_t troubles_len, troubles_cap;
    int64_t swept_ns; /* time of the last pfc_spool_sweep */
};

void pfc_spool_names_clear(pfc_spool_names *list);
/** Lists the documents of a folder, oldest first; with `unfinished` also its other files. */
pfc_code pfc_spool_list(const char *dir, pfc_spool_names *docs, pfc_spool_names *unfinished,
                        pfc_err *err) PFC_MUSTCHECK;
bool pfc_spool_same_run(const char *a, const char *b);
/** Length of the part of a document's name that identifies the run. */
size_t pfc_spool_run_len(const char *name);
/** True when the text matches the digest in its name. Names from earlier versions have no digest
 * and always match. */
bool pfc_spool_is_whole(const char *name, const char *text, size_t len);
/** The document's name for another content; caller frees. */
char *pfc_spool_rename_for(const char *name, const char *text, size_t len);

/** True for a session's own document, false for a run's. */
bool pfc_spool_is_session(const char *name);
bool pfc_spool_is_trace(const char *name);
/** The file of a trace: {"run": R, "benchmark": B} in a line, then its bytes. Caller frees. */
char *pfc_spool_trace_text(const char *run_id, const pfc_run_trace *trace, size_t *len);
/** The texts of all parts of the session, its own document last; caller frees each and the array.
 */
pfc_code pfc_spool_session_texts(const pfc_session_set *set, char ***texts, size_t *len,
                                 pfc_err *err) PFC_MUSTCHECK;
/** A document on its way. `token`: of the lease, NULL: the client's own. */
typedef struct pfc_spool_parcel {
    const char *token;
    bool session; /* a session's own document */
    bool trace;   /* a trace; neither: a run */
    const char *text;
    size_t len;
} pfc_spool_parcel;

/** Posts one document to the endpoint for its kind. A lease's token that has expired, or that a
 * restored database does not have, is followed by the client's own. */
pfc_code pfc_spool_post(pfc_http *http, const pfc_spool_parcel *parcel, pfc_http_answer *answer,
                        pfc_err *err) PFC_MUSTCHECK;

/** Writes the present lease's token for the run or session. */
pfc_code pfc_spool_token_write(const pfc_spool *spool, const char *id, pfc_err *err) PFC_MUSTCHECK;
/** The token for a document, caller frees; NULL: none. */
char *pfc_spool_token_read(const pfc_spool *spool, const char *name);
void pfc_spool_tokens_sweep(const pfc_spool *spool);

void pfc_spool_texts_free(char **texts, size_t len);

/** Moves an uploaded document to `sent`, or removes it when that fails. */
pfc_code pfc_spool_keep(const pfc_spool *spool, const char *name, pfc_err *err) PFC_MUSTCHECK;
/** Removes documents over the limits of `sent`. Does nothing within 10 minutes of the last call,
 * unless `now`. */
void pfc_spool_sweep(pfc_spool *spool, bool now);
/** Removes the older half of `sent`. False: it was empty. */
bool pfc_spool_make_room(const pfc_spool *spool);
/** When pfc_spool_resend was called: moves the documents in `sent` back to those that wait. */
pfc_code pfc_spool_take_back(const pfc_spool *spool, pfc_err *err) PFC_MUSTCHECK;

#define PFC_SPOOL_DIGEST_LEN 16 /* hexadecimal digits: against accidents, not against attacks */
/** The start of the text's SHA-256. */
void pfc_spool_digest(const char *text, size_t len, char out[PFC_SPOOL_DIGEST_LEN + 1]);

/**
 * The run document without the member that `refusal` names, for a server that is too old for it:
 * the lease's fencing token ("job_fence"), the mark of a run without isolation ("unsandboxed"), or
 * one of the roofline's members, which are then all left out.
 *
 * The caller frees the text. NULL: the server refused the document for another reason.
 */
char *pfc_spool_without_refused(const pfc_http_answer *answer, const pfc_err *refusal,
                                const char *text, size_t len);

/* The runs that did not go through. `name`: of any document of the run. */
void pfc_spool_troubles_clear(pfc_spool *spool);
/** NULL: none is known. */
pfc_spool_trouble *pfc_spool_trouble_find(const pfc_spool *spool, const char *name);
/** As above; added when there is none. */
pfc_spool_trouble *pfc_spool_trouble_of(pfc_spool *spool, const char *name);
/** Accepts NULL. */
void pfc_spool_trouble_forget(pfc_spool *spool, pfc_spool_trouble *t);
/** Forgets runs without a document in `docs`: a user can remove a file. */
void pfc_spool_troubles_forget_gone(pfc_spool *spool, const pfc_spool_names *docs);
/** Counts an answer 5xx and sets when the run is due again. */
void pfc_spool_trouble_note(pfc_spool *spool, const char *name, const char *reason);
/** True when PFC_SPOOL_IN_A_ROW runs failed and the server took none since. */
bool pfc_spool_server_is_broken(const pfc_spool *spool);
/** The server took a run: earlier errors are those runs' own. */
void pfc_spool_server_took_one(pfc_spool *spool);
/** True after PFC_SPOOL_ERRORS errors; NULL: false. */
bool pfc_spool_is_put_off(const pfc_spool_trouble *t);

#endif
