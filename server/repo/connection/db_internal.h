/*
 * Declarations that the files of this folder share; no other folder includes it.
 */
#ifndef PFC_SERVER_REPO_CONNECTION_DB_INTERNAL_H
#define PFC_SERVER_REPO_CONNECTION_DB_INTERNAL_H

#include <pthread.h>

#include <libpq-fe.h>

#include "server/repo/connection/db.h"

#define PFC_DB_CONNECT_S "5"

typedef struct pfc_conn {
    PGconn *pg;       /* NULL: not connected */
    bool *prepared;   /* by index into pfc_statements */
    bool generic;     /* statements have one plan for all values */
    pfc_memo *memo;   /* NULL: nothing is remembered */
    int fd;           /* pg's, -1: none; guarded by the pool's lock, for pfc_db_abort */
    PGcancel *cancel; /* of pg; guarded by the pool's lock */
    int64_t timeline; /* of the primary when pg was made; 0: unknown, or a standby */
} pfc_conn;

/** Which primary it is; 0: unknown. */
typedef struct pfc_primary {
    int64_t system, timeline;
} pfc_primary;

/** State of the database of a pool, as its connections saw it. */
typedef struct pfc_reach {
    pthread_mutex_t lock;
    int64_t failed_ns; /* when the last attempt to connect failed; 0: it did not. guarded by lock */
    bool trying;       /* a caller connects again after a failure. guarded by lock */
    pfc_err failed;    /* guarded by lock */
    pfc_primary place; /* of the newest primary. guarded by lock */
    bool clock_differs; /* guarded by lock */
} pfc_reach;

void pfc_reach_init(pfc_reach *reach);
void pfc_reach_destroy(pfc_reach *reach);
/** PFC_OK: connect, and call pfc_reach_end; else the error of the last attempt, which is recent, or
 * another caller repeats it now. */
pfc_code pfc_reach_begin(pfc_reach *reach, pfc_err *err);
/** failed: NULL after a success. */
void pfc_reach_end(pfc_reach *reach, const pfc_err *failed);
/** Of a new connection: PFC_EUNAVAIL when it leads to another cluster, or to a primary that others
 * have replaced. Logs when its clock differs from this machine's. */
pfc_code pfc_reach_compare(pfc_reach *reach, PGconn *pg, int64_t *timeline, pfc_err *err);
/** A connection made at this timeline leads to a primary that was replaced. */
bool pfc_reach_is_former(pfc_reach *reach, int64_t timeline);

/** Reads that a replica may answer; NULL: it is away or behind, ask the primary. Thread-safe. */
typedef struct pfc_replica pfc_replica;
#define PFC_REPLICA_LAG_S 5.0 /* behind at most, to be used */
pfc_code pfc_replica_open(pfc_replica **out, const pfc_db_opts *opts, pfc_err *err);
void pfc_replica_close(pfc_replica *replica);
void pfc_replica_abort(pfc_replica *replica); /* as pfc_db_cut */
/** Shuts all sockets of a pool, and what would open new ones; takes what cancels their statements
 * into `cancel`, one place a connection (NULL: not wanted). */
void pfc_db_cut(pfc_db *db, PGcancel **cancel);
pfc_tx *pfc_replica_begin(pfc_replica *replica);
/** Of the pool; NULL: none. */
pfc_replica *pfc_db_replica(pfc_db *db);

struct pfc_tx {
    pfc_db *db;
    pfc_conn *conn;
    pfc_tx_mode mode;
    bool open;      /* a transaction is under way, or will be with the first statement */
    bool begun;     /* the database knows of it */
    bool collided;  /* the database gave up a statement of it, so that others could go on */
    bool replica;   /* it reads there */
    bool behind;    /* ... and found that something is not there yet */
    bool read_only; /* the database takes no writes on this connection: another may lead to one that
                       does */
    bool overdue;   /* a statement timed out: it is to be planned again, on another connection */
};

/** Begins now what would begin with the first statement: for texts that do not come from
 * schema/queries. */
pfc_code pfc_tx_begin_now(pfc_tx *tx, pfc_err *err);

/** Before each statement, prepared: how the transaction that it begins is planned. */
pfc_code pfc_tx_plan(pfc_tx *tx, bool generic, pfc_err *err);

/** PFC_EINVAL, in a sentence that quotes nothing of it, when libpq cannot read it, or would read a
 * part of the password as host or port. */
pfc_code pfc_conn_check(const char *url, pfc_err *err);
/** A connection to `url`, set up by `statement_ms` (0: no limit). */
pfc_code pfc_conn_open(const char *url, unsigned statement_ms, PGconn **out, pfc_err *err);
/** Where names are looked up: after PostgreSQL's own in our schema, whatever else there is. */
#define PFC_CONN_SEARCH "public, pg_temp"
/** The same for a transaction, or a statement that is its own, alone: behind a pooler each may be
 * on another connection than the one that was set up. No SET, which warns of the latter. */
#define PFC_CONN_SEARCH_LOCAL                                                                      \
    "SELECT pg_catalog.set_config('search_path', '" PFC_CONN_SEARCH "', true)"
/** The same, with the settings of pfc_tx_plan for what follows in the transaction. */
#define PFC_CONN_SEARCH_LOCAL_GENERIC                                                              \
    PFC_CONN_SEARCH_LOCAL                                                                          \
        ", pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true),"                  \
        " pg_catalog.set_config('enable_seqscan', 'off', true)"
/** *warned becomes true when the database sends a warning; NULL: warnings are dropped. Until the
 * next call. */
void pfc_conn_watch(PGconn *pg, bool *warned);
/** The code of COMMIT's answer; frees nothing. warned: its wait for a synchronous standby was
 * cancelled. */
pfc_code pfc_conn_committed(PGconn *pg, PGresult *res, bool warned, pfc_err *err);
/** Makes the commit of the running transaction wait for the standby. */
pfc_code pfc_commit_replicate(PGconn *pg, pfc_err *err);
/** PFC_EUNAVAIL: committed here, but a fail-over may take the transaction. */
pfc_code pfc_commit_unreplicated(const char *what, pfc_err *err);
/** PFC_EUNAVAIL, and *forgets, when a crash, or a fail-over, may take what it commits. Looked at by
 * each connection: the settings of a role, a database or the machine that was promoted may be
 * others than those of yesterday. */
pfc_code pfc_conn_durable(PGconn *pg, bool *forgets, pfc_err *err);
/** Waits until an answer to what was sent is here, at most so long: false. */
bool pfc_conn_answered(PGconn *pg, int64_t limit_ms);
/** The answer to a statement, sent or not, that commits: NULL only when nothing was sent. The wait
 * for a standby is cancelled when it lasts: statement_timeout ends before that wait begins. */
PGresult *pfc_commit_result(PGconn *pg, int sent, int64_t statement_ms);
/** Its wait alone: PQgetResult does not block afterwards. */
void pfc_commit_await(PGconn *pg, int64_t statement_ms);
/** Waits until an answer to what was sent is here, at most so long: then the connection is ended,
 * and PQgetResult says so. The database's own limits do not help against one that hangs. */
void pfc_conn_await(PGconn *pg, int64_t limit_ms);
#define PFC_CONN_SETUP_MS 5000
/** Joins the lines of libpq's message, of which each host has one, into one line. */
void pfc_conn_message(const PGconn *pg, char *out, size_t cap);
/** The code and the sentence of a failed result; frees nothing. */
pfc_code pfc_result_fault(PGconn *pg, const PGresult *res, const char *what, pfc_err *err);
/** Given up because it and others waited for each other, or because a partition was attached
 * meanwhile: the same again may pass. */
bool pfc_result_collided(const PGresult *res);
/** A write was refused where only reads are answered: a standby, or what was the primary. */
bool pfc_result_read_only(const PGresult *res);
/** Runs a fixed text, possibly of several statements, without parameters. */
pfc_code pfc_conn_exec(PGconn *pg, const char *sql, const char *what, pfc_err *err);
/** Sends the rows of a COPY that has begun, and its end; false: see PQerrorMessage. In slices,
 * since libpq keeps a buffer as large as the largest message for as long as the connection lasts.
 */
bool pfc_conn_put_rows(PGconn *pg, const pfc_copy *rows);
/** Accepts NULL. */
void pfc_memo_free(pfc_memo *memo);
/** Takes res. */
pfc_res *pfc_res_wrap(PGresult *res);

#endif
