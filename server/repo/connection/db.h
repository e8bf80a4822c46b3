/*
 * The database: a pool of libpq connections, transactions on them, statements by name.
 *
 * SQL lives in schema/queries/ and is named there; a statement is prepared when a connection first
 * uses it, unless pfc_db_opts.unprepared is set. Parameters and results are sent as text (arrays as
 * binary): PostgreSQL prints float8 so that it reads back exactly. Values never become part of a
 * statement's text.
 *
 * A pool is shared by all threads; a transaction and its results belong to one thread. When the
 * database cannot be reached every call returns PFC_EUNAVAIL, and calls work again when it can: a
 * broken connection is replaced at the next begin.
 */
#ifndef PFC_SERVER_REPO_CONNECTION_DB_H
#define PFC_SERVER_REPO_CONNECTION_DB_H

#include "core/base/buf.h"
#include "core/base/err.h"

typedef struct pfc_db pfc_db;
typedef struct pfc_tx pfc_tx;
typedef struct pfc_res pfc_res;

#define PFC_DB_MAX_CONNECTIONS 256

typedef struct pfc_db_opts {
    const char *url;       /* libpq conninfo or URI; several hosts allowed */
    unsigned connections;  /* 0: 8 */
    unsigned statement_ms; /* statement_timeout; 0: 10000 */
    const char *read_url;  /* of a replica, for PFC_TX_READ; NULL: none */
    bool unprepared;       /* statements are sent as text each time: for poolers of transactions */
    unsigned wait_ms;      /* longest wait for a free connection; 0: 5000, then PFC_EUNAVAIL */
    bool durable; /* a database that may forget what it committed is taken for one that is away */
} pfc_db_opts;

/** Makes the pool; connects nothing yet, so a database that starts later is no error here.
 *  PFC_EINVAL when the URL cannot be read. */
pfc_code pfc_db_open(pfc_db **out, const pfc_db_opts *opts, pfc_err *err) PFC_MUSTCHECK;
/** Logs each host of a list of several that no name service knows: libpq reports it only when all
 * of them fail. */
void pfc_db_look_up_hosts(const char *url);
/** Closes all connections; no transaction may be open. Accepts NULL. */
void pfc_db_close(pfc_db *db);
/** For stopping: interrupts running statements; every later call returns PFC_EUNAVAIL at once. Any
 *  thread. */
void pfc_db_abort(pfc_db *db);
typedef struct pfc_db_counts {
    size_t connections, busy; /* of the pool; those in use */
    uint64_t waits, refused;  /* waited for one; timed out. Since the start */
} pfc_db_counts;
void pfc_db_figures(pfc_db *db, pfc_db_counts *out);
/** True when the last connection was refused because a crash may take its commits (opts.durable):
 *  waiting does not help, the database's settings must be changed. */
bool pfc_db_forgets(const pfc_db *db);
/** One round trip: PFC_OK when the database answers. For /readyz. */
pfc_code pfc_db_ping(pfc_db *db, pfc_err *err) PFC_MUSTCHECK;

typedef enum pfc_tx_mode {
    PFC_TX_AUTO,     /* no transaction: each statement is its own */
    PFC_TX_WRITE,    /* BEGIN ... COMMIT, read committed */
    PFC_TX_SNAPSHOT, /* read only, all statements see one state */
    PFC_TX_READ, /* the same, of a state some seconds old: a replica may answer; see pfc_db_read */
} pfc_tx_mode;

/** Borrows a connection. PFC_EUNAVAIL when none is free in time or the database is away. */
pfc_code pfc_tx_begin(pfc_tx **out, pfc_db *db, pfc_tx_mode mode, pfc_err *err) PFC_MUSTCHECK;
/** Commits. PFC_EUNAVAIL may also mean that the answer was lost: ask again by key. */
pfc_code pfc_tx_commit(pfc_tx *tx, pfc_err *err) PFC_MUSTCHECK;
/** Makes the commit wait for the synchronous standby, also where the transaction wrote nothing. For
 *  an answer that acknowledges what an earlier transaction stored: that one's wait may have been
 *  interrupted, and this commit is later in the log. */
pfc_code pfc_tx_replicate(pfc_tx *tx, pfc_err *err) PFC_MUSTCHECK;
/** Gives the connection back; rolls back unless committed. Accepts NULL. */
void pfc_tx_free(pfc_tx *tx);

/** Reads into `into` by statements of one snapshot. Forgets first what an earlier call has left
 * there. */
typedef pfc_code (*pfc_db_reading)(pfc_tx *tx, void *into, pfc_err *err);
/** Begins a PFC_TX_READ and reads. When a replica was used and its connection is lost, or it lacks
 * what is read (PFC_ENOTFOUND, pfc_tx_behind), the primary is read, once and from the beginning:
 * callers need not handle a replica that failed or that lags behind the newest writes. */
pfc_code pfc_db_read(pfc_db *db, pfc_db_reading reading, void *into, pfc_err *err) PFC_MUSTCHECK;
/** For a reading that lacks an expected row: an error where a replica was read, PFC_OK where it was
 * the primary. */
pfc_code pfc_tx_behind(pfc_tx *tx, pfc_err *err) PFC_MUSTCHECK;

/** Writes by statements of one transaction. Forgets first what an earlier call has left in `into`.
 */
typedef pfc_code (*pfc_db_writing)(pfc_tx *tx, void *into, pfc_err *err);
/** Begins a PFC_TX_WRITE, writes and commits. A transaction that the database aborts because of a
 *  deadlock or a serialisation failure is repeated from the beginning, at most five times in all.
 */
pfc_code pfc_db_write(pfc_db *db, pfc_db_writing writing, void *into, pfc_err *err) PFC_MUSTCHECK;

/** Parameters of one statement, $1 first; clear frees what the pushes made. */
#define PFC_ARGS_MAX 32
typedef struct pfc_args {
    const char *values[PFC_ARGS_MAX];
    char *owned[PFC_ARGS_MAX];
    int lengths[PFC_ARGS_MAX], binary[PFC_ARGS_MAX]; /* of values in binary form; else 0 */
    int len;
} pfc_args;

void pfc_args_text(pfc_args *args,
                   const char *value);          /* NULL: SQL NULL; borrowed until the query */
void pfc_args_own(pfc_args *args, char *value); /* takes value */
void pfc_args_i64(pfc_args *args, int64_t value);
void pfc_args_id(pfc_args *args, int64_t value); /* 0: SQL NULL */
void pfc_args_f64(pfc_args *args, double value); /* not finite: SQL NULL */
void pfc_args_bool(pfc_args *args, bool value);
/** bytea, in binary form; borrowed until the query. data NULL: SQL NULL. len at most INT_MAX. */
void pfc_args_bytes(pfc_args *args, const void *data, size_t len);
void pfc_args_texts(pfc_args *args, const char *const *values, size_t len); /* text[] */
void pfc_args_i64s(pfc_args *args, const int64_t *values, size_t len);      /* bigint[] */
void pfc_args_u32s(pfc_args *args, const uint32_t *values, size_t len);     /* int[] */
void pfc_args_f64s(pfc_args *args, const double *values, size_t len); /* float8[], NAN: null */
void pfc_args_bools(pfc_args *args, const bool *values, size_t len);  /* boolean[] */
/** "{...}" of texts (none NULL), to be one element of a text[] that the statement casts; caller
 * frees. */
char *pfc_array_literal(const char *const *values, size_t len);
void pfc_args_clear(pfc_args *args);

/**
 * Runs the statement `name` of schema/queries. Clears `args` (may be NULL), also on failure.
 * out may be NULL when no rows are wanted; else free it with pfc_res_free.
 * PFC_ECONFLICT: a unique key; PFC_EINVAL: a value the database refuses; PFC_ETIMEOUT: the
 * statement took too long; PFC_EUNAVAIL: connection lost, deadlock, shutting down: retry;
 * PFC_EBUG: no such statement, or one that does not fit the schema.
 */
pfc_code pfc_tx_query(pfc_tx *tx, const char *name, pfc_args *args, pfc_res **out,
                      pfc_err *err) PFC_MUSTCHECK;
/** The same for a statement whose columns are all text or bytea: nothing of them is escaped. */
pfc_code pfc_tx_query_bytes(pfc_tx *tx, const char *name, pfc_args *args, pfc_res **out,
                            pfc_err *err) PFC_MUSTCHECK;
/** Rows for a COPY of schema/queries: begin; for each row its number of columns, then its values in
 * the statement's order; end. */
#define PFC_COPY_MAX_BYTES (512u * 1024 * 1024)
typedef struct pfc_copy {
    pfc_buf buf;
} pfc_copy;
void pfc_copy_begin(pfc_copy *copy);
void pfc_copy_row(pfc_copy *copy, unsigned columns);
void pfc_copy_null(pfc_copy *copy);
void pfc_copy_i64(pfc_copy *copy, int64_t value);                       /* bigint */
void pfc_copy_i32(pfc_copy *copy, int32_t value);                       /* int */
void pfc_copy_f64(pfc_copy *copy, double value);                        /* float8 */
void pfc_copy_f64s(pfc_copy *copy, const double *values, size_t len);   /* float8[] */
void pfc_copy_u32s(pfc_copy *copy, const uint32_t *values, size_t len); /* int[] */
void pfc_copy_json(pfc_copy *copy, const char *text);                   /* jsonb */
void pfc_copy_end(pfc_copy *copy);
/** Stores the rows by the COPY `name`, and clears them, also on failure. Codes as for pfc_tx_query.
 */
pfc_code pfc_tx_copy(pfc_tx *tx, const char *name, pfc_copy *rows, pfc_err *err) PFC_MUSTCHECK;
/** The same and the commit, in one round trip: the transaction has ended with PFC_OK. After
 * PFC_EUNAVAIL it is unknown whether it was committed. */
pfc_code pfc_tx_copy_commit(pfc_tx *tx, const char *name, pfc_copy *rows,
                            pfc_err *err) PFC_MUSTCHECK;
/** Prepares every embedded statement, and runs every COPY without rows. For tests of the newest
 * schema. */
pfc_code pfc_tx_prepare_all(pfc_tx *tx, size_t *prepared, pfc_err *err) PFC_MUSTCHECK;

/** A cache of immutable facts that the connection has read, for as long as it lasts and at most a
 * minute; a few thousand entries, the newest. Only committed facts may be kept. Belongs to the
 * transaction. */
typedef struct pfc_memo pfc_memo;
pfc_memo *pfc_tx_memo(pfc_tx *tx);
int64_t pfc_memo_find(pfc_memo *memo, const char *key, size_t len); /* 0: not known */
void pfc_memo_keep(pfc_memo *memo, const char *key, size_t len, int64_t value);

size_t pfc_res_rows(const pfc_res *res);     /* rows returned, 0 for NULL */
size_t pfc_res_affected(const pfc_res *res); /* rows inserted, updated or deleted */
size_t pfc_res_columns(const pfc_res *res);
/** Column by name, -1 when the result has none. */
int pfc_res_column(const pfc_res *res, const char *name);
const char *pfc_res_text(const pfc_res *res, size_t row, int column); /* NULL for SQL NULL */
/** A bytea of pfc_tx_query_bytes, valid as long as res; NULL for SQL NULL. */
const unsigned char *pfc_res_bytes(const pfc_res *res, size_t row, int column, size_t *len);
int64_t pfc_res_i64(const pfc_res *res, size_t row, int column); /* 0 for SQL NULL */
double pfc_res_f64(const pfc_res *res, size_t row, int column);  /* NAN for SQL NULL */
bool pfc_res_bool(const pfc_res *res, size_t row, int column);   /* false for SQL NULL */
void pfc_res_free(pfc_res *res);

/**
 * Applies every migration newer than the database's, each in one transaction, under an advisory
 * lock, so that any number of servers may start at once. PFC_ECONFLICT when the database is newer
 * than this program, or the role may not change its schema. *version is the newest afterwards (may
 * be NULL).
 */
pfc_code pfc_db_migrate(pfc_db *db, int *version, pfc_err *err) PFC_MUSTCHECK;
/** Gives `role`, which is there, the rights that a server of this schema needs, and no others in
 * it; later migrations bring it theirs. PFC_EINVAL for a role that is not there, or that these
 * rights would not limit; PFC_ECONFLICT when this connection's may not give them. */
pfc_code pfc_db_grant(pfc_db *db, const char *role, pfc_err *err) PFC_MUSTCHECK;
/** Version of the database, 0 when it is empty. */
pfc_code pfc_db_version(pfc_db *db, int *version, pfc_err *err) PFC_MUSTCHECK;
/** The version, and PFC_EUNAVAIL with the reason when the database takes no writes: one write of
 * about 20 bytes in a transaction that is rolled back, within 3 s. It is not tried in a schema
 * older than this program's. */
pfc_code pfc_db_probe(pfc_db *db, int *version, pfc_err *err) PFC_MUSTCHECK;
/** Version this program brings. */
int pfc_schema_newest(void);

/** Events of the database, on a connection of its own; used by one thread, woken by any. Types:
 * run, alert, job; and detect, which is for the workers alone. */
typedef struct pfc_listener pfc_listener;
#define PFC_EVENT_MAX 8000

/** Does not connect yet. `url` as for the pool. */
pfc_code pfc_listener_open(pfc_listener **out, const char *url, pfc_err *err) PFC_MUSTCHECK;
/**
 * The next event, a JSON object such as {"type":"job","id":7,"project":"p",...}; `out` holds
 * PFC_EVENT_MAX bytes. Waits up to timeout_ms. PFC_OK: an event; PFC_ETIMEOUT: none, or woken;
 * PFC_EUNAVAIL: the connection is down: events may have been missed, call again later (it
 * reconnects itself, not more often than the caller calls).
 */
pfc_code pfc_listener_next(pfc_listener *listener, int timeout_ms, char *out,
                           pfc_err *err) PFC_MUSTCHECK;
/** Ends a wait that is under way, or the next one; callable from any thread. */
void pfc_listener_wake(pfc_listener *listener);
void pfc_listener_close(pfc_listener *listener);

#endif
