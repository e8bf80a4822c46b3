/*
 * The pool: N connections, made when first needed, replaced when broken, lent to one transaction at
 * a time. Statements are prepared on a connection when it first sees them.
 */
#include "server/repo/connection/db.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <libpq-fe.h>

#include "server/repo/connection/db_internal.h"

#include "schema/schema.h"

struct pfc_db {
    char *url;
    unsigned statement_ms, wait_ms;
    pthread_mutex_t lock;
    pthread_cond_t freed;
    pfc_conn *conns;
    pfc_conn **idle; /* guarded by lock */
    size_t idle_len; /* guarded by lock */
    size_t len;
    bool unprepared;      /* statements are sent as text each time */
    bool durable;         /* see pfc_db_opts */
    atomic_bool forgets;  /* the last connection was refused for it */
    pfc_replica *replica; /* NULL: none */
    pfc_reach reach;
    uint64_t waits, refused; /* guarded by lock */
    bool aborted;            /* guarded by lock */
};

pfc_code pfc_db_open(pfc_db **out, const pfc_db_opts *opts, pfc_err *err)
{
    pthread_condattr_t attr;
    pfc_db *db;
    pfc_code code = pfc_conn_check(opts->url, err);

    if (code)
        return code;
    if (opts->connections > PFC_DB_MAX_CONNECTIONS)
        return pfc_err_set(err, PFC_EINVAL, "database: expected at most %d connections, got %u",
                           PFC_DB_MAX_CONNECTIONS, opts->connections);
    db = pfc_alloc(sizeof(*db));
    db->url = pfc_strdup(opts->url);
    db->statement_ms = opts->statement_ms ? opts->statement_ms : 10000;
    db->wait_ms = opts->wait_ms ? opts->wait_ms : 5000;
    db->unprepared = opts->unprepared;
    db->durable = opts->durable;
    atomic_init(&db->forgets, false);
    db->len = opts->connections ? opts->connections : 8;
    db->conns = pfc_calloc(db->len, sizeof(*db->conns));
    db->idle = pfc_calloc(db->len, sizeof(pfc_conn *));
    for (size_t i = 0; i < db->len; i++) {
        db->conns[i].prepared = pfc_calloc(pfc_statements_len, sizeof(bool));
        db->conns[i].fd = -1;
        db->idle[db->idle_len++] = &db->conns[i];
    }
    pfc_reach_init(&db->reach);
    pthread_mutex_init(&db->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&db->freed, &attr);
    pthread_condattr_destroy(&attr);
    if (opts->read_url) {
        code = pfc_replica_open(&db->replica, opts, err);
        if (code) {
            pfc_db_close(db);
            return code;
        }
    }
    *out = db;
    return PFC_OK;
}

void pfc_db_close(pfc_db *db)
{
    if (!db)
        return;
    pfc_replica_close(db->replica);
    for (size_t i = 0; i < db->len; i++) {
        PQfinish(db->conns[i].pg);
        PQfreeCancel(db->conns[i].cancel);
        free(db->conns[i].prepared);
        pfc_memo_free(db->conns[i].memo);
    }
    pthread_cond_destroy(&db->freed);
    pthread_mutex_destroy(&db->lock);
    pfc_reach_destroy(&db->reach);
    free(db->conns);
    free(db->idle);
    free(db->url);
    free(db);
}

void pfc_db_cut(pfc_db *db, PGcancel **cancel)
{
    pthread_mutex_lock(&db->lock);
    db->aborted = true;
    pthread_cond_broadcast(&db->freed);
    for (size_t i = 0; i < db->len; i++) {
        pfc_conn *conn = &db->conns[i];

        if (conn->fd < 0)
            continue;
        (void)shutdown(conn->fd, SHUT_RDWR);
        if (cancel) {
            cancel[i] = conn->cancel;
            conn->cancel = NULL;
        }
    }
    pthread_mutex_unlock(&db->lock);
}

void pfc_db_abort(pfc_db *db)
{
    const size_t len = db->len;
    PGcancel **cancel = pfc_calloc(len, sizeof(*cancel));
    char why[256];

    pfc_db_cut(db, cancel);
    if (db->replica)
        pfc_replica_abort(db->replica);
    /* The database notices a closed connection when its statement ends, and a migration's may last
     * long. It may also never answer PQcancel: the pool is not used from here on, so that stopping
     * need not wait for this loop. */
    for (size_t i = 0; i < len; i++) {
        if (cancel[i])
            (void)PQcancel(cancel[i], why, sizeof(why));
        PQfreeCancel(cancel[i]);
    }
    free(cancel);
}

void pfc_db_figures(pfc_db *db, pfc_db_counts *out)
{
    pthread_mutex_lock(&db->lock);
    *out = (pfc_db_counts){ db->len, db->len - db->idle_len, db->waits, db->refused };
    pthread_mutex_unlock(&db->lock);
}

pfc_replica *pfc_db_replica(pfc_db *db)
{
    return db->replica;
}

static pfc_code borrow(pfc_db *db, pfc_conn **out, pfc_err *err)
{
    struct timespec until;
    bool aborted;
    int rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(db->wait_ms / 1000);
    until.tv_nsec += (long)(db->wait_ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&db->lock);
    db->waits += db->idle_len == 0;
    while (db->idle_len == 0 && !db->aborted && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&db->freed, &db->lock, &until);
    aborted = db->aborted;
    *out = db->idle_len && !aborted ? db->idle[--db->idle_len] : NULL;
    db->refused += *out == NULL;
    pthread_mutex_unlock(&db->lock);
    if (aborted)
        return pfc_err_set(err, PFC_EUNAVAIL, "database: the server is stopping");
    if (!*out)
        return pfc_err_set(err, PFC_EUNAVAIL, "database: all %zu connections busy for %u ms",
                           db->len, db->wait_ms);
    return PFC_OK;
}

static void give_back(pfc_db *db, pfc_conn *conn)
{
    pthread_mutex_lock(&db->lock);
    db->idle[db->idle_len++] = conn; /* last in, first out: the busy ones stay warm */
    pthread_cond_signal(&db->freed);
    pthread_mutex_unlock(&db->lock);
}

static void disconnect(pfc_db *db, pfc_conn *conn)
{
    PGcancel *cancel;

    /* Before the number may be another's. */
    pthread_mutex_lock(&db->lock);
    conn->fd = -1;
    cancel = conn->cancel;
    conn->cancel = NULL;
    pthread_mutex_unlock(&db->lock);
    PQfreeCancel(cancel);
    PQfinish(conn->pg);
    conn->pg = NULL;
    pfc_memo_free(conn->memo);
    conn->memo = NULL;
    memset(conn->prepared, 0, pfc_statements_len * sizeof(bool));
    conn->generic = false;
}

bool pfc_db_forgets(const pfc_db *db)
{
    return atomic_load(&db->forgets);
}

static pfc_code connect_to(pfc_db *db, pfc_conn *conn, pfc_err *err)
{
    bool forgets = false;
    pfc_err own = { 0 };
    pfc_code code = pfc_reach_begin(&db->reach, err);

    if (code)
        return code;
    code = pfc_conn_open(db->url, db->statement_ms, &conn->pg, &own);
    if (!code && db->durable) { /* what is acknowledged must be on disk */
        code = pfc_conn_durable(conn->pg, &forgets, &own);
        atomic_store(&db->forgets, forgets);
    }
    if (!code)
        code = pfc_reach_compare(&db->reach, conn->pg, &conn->timeline, &own);
    pfc_reach_end(&db->reach, code ? &own : NULL);
    if (code) {
        disconnect(db, conn);
        return pfc_err_set(err, code, "%s", own.msg);
    }
    pthread_mutex_lock(&db->lock);
    conn->fd = PQsocket(conn->pg);
    conn->cancel = PQgetCancel(conn->pg);
    if (db->aborted)
        (void)shutdown(conn->fd, SHUT_RDWR);
    pthread_mutex_unlock(&db->lock);
    return PFC_OK;
}

/* An idle connection has no data to read unless the server ended it. This check costs no round
 * trip, and finds a restart before a statement is sent whose result would be unknown. The data is
 * not read: it may be the server's last message without the end of the connection that follows. */
static bool still_good(PGconn *pg)
{
    struct pollfd fd = { .fd = PQsocket(pg), .events = POLLIN };

    return PQstatus(pg) == CONNECTION_OK && PQtransactionStatus(pg) == PQTRANS_IDLE &&
           poll(&fd, 1, 0) == 0;
}

/* Large reads: planned for what is asked, and sorted in memory. The lock comes before the snapshot:
 * a month that is exchanged after it (migration 0023) would have no rows there. */
#define SNAPSHOT                                                                                   \
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL work_mem = '32MB';"                \
    " SET LOCAL plan_cache_mode = force_custom_plan;"                                              \
    " LOCK TABLE ONLY public.measurements IN ACCESS SHARE MODE"

pfc_code pfc_tx_begin(pfc_tx **out, pfc_db *db, pfc_tx_mode mode, pfc_err *err)
{
    pfc_conn *conn = NULL;
    pfc_tx *tx;
    pfc_code code;

    if (mode == PFC_TX_READ) {
        *out = db->replica ? pfc_replica_begin(db->replica) : NULL;
        if (*out)
            return PFC_OK;
        mode = PFC_TX_SNAPSHOT;
    }
    code = borrow(db, &conn, err);
    if (code)
        return code;
    if (conn->pg && (!still_good(conn->pg) || pfc_reach_is_former(&db->reach, conn->timeline)))
        disconnect(db, conn);
    if (!conn->pg)
        code = connect_to(db, conn, err);
    /* A PFC_TX_WRITE begins in the round trip of its first statement. */
    if (!code && mode == PFC_TX_SNAPSHOT)
        code = pfc_conn_exec(conn->pg,
                             db->unprepared ? SNAPSHOT "; SET LOCAL search_path = " PFC_CONN_SEARCH
                                            : SNAPSHOT,
                             "begin", err);
    if (code) {
        give_back(db, conn);
        return code;
    }
    tx = pfc_alloc(sizeof(*tx));
    *tx = (pfc_tx){ .db = db, .conn = conn, .mode = mode, .open = mode != PFC_TX_AUTO };
    tx->begun = mode != PFC_TX_WRITE;
    *out = tx;
    return PFC_OK;
}

pfc_code pfc_tx_begin_now(pfc_tx *tx, pfc_err *err)
{
    if (tx->begun)
        return PFC_OK;
    tx->begun = true;
    return pfc_conn_exec(
        tx->conn->pg, tx->db->unprepared ? "BEGIN; " PFC_CONN_SEARCH_LOCAL : "BEGIN", "begin", err);
}

pfc_code pfc_tx_replicate(pfc_tx *tx, pfc_err *err)
{
    const pfc_code code = tx->mode == PFC_TX_AUTO ? PFC_OK : pfc_tx_begin_now(tx, err);

    return code ? code : pfc_commit_replicate(tx->conn->pg, err);
}

void pfc_tx_free(pfc_tx *tx)
{
    if (!tx)
        return;
    if (tx->open && tx->begun && PQstatus(tx->conn->pg) == CONNECTION_OK)
        (void)pfc_conn_exec(tx->conn->pg, "ROLLBACK", "rollback", NULL);
    if (PQstatus(tx->conn->pg) != CONNECTION_OK || tx->read_only || tx->overdue ||
        PQtransactionStatus(tx->conn->pg) != PQTRANS_IDLE)
        disconnect(tx->db, tx->conn);
    give_back(tx->db, tx->conn);
    free(tx);
}

static int by_name(const void *key, const void *item)
{
    return strcmp(key, ((const pfc_statement *)item)->name);
}

static pfc_code prepare(pfc_conn *conn, const pfc_statement *statement, pfc_err *err)
{
    size_t index = (size_t)(statement - pfc_statements);
    PGresult *res;
    pfc_code code = PFC_OK;

    if (conn->prepared[index])
        return PFC_OK;
    if (statement->copy)
        return pfc_err_set(err, PFC_EBUG, "database: %s is a COPY", statement->name);
    res = PQprepare(conn->pg, statement->name, statement->sql, 0, NULL);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        code = pfc_result_fault(conn->pg, res, statement->name, err);
    else
        conn->prepared[index] = true;
    PQclear(res);
    return code;
}

static pfc_code find(const char *name, const pfc_statement **out, pfc_err *err)
{
    *out = bsearch(name, pfc_statements, pfc_statements_len, sizeof(pfc_statement), by_name);
    return *out ? PFC_OK : pfc_err_set(err, PFC_EBUG, "database: no statement is called %s", name);
}

/* The statement, prepared on this connection if the pool prepares. */
static pfc_code find_ready(pfc_tx *tx, const char *name, const pfc_statement **out, pfc_err *err)
{
    pfc_code code = find(name, out, err);

    return code || tx->db->unprepared ? code : prepare(tx->conn, *out, err);
}

static int send_statement(pfc_tx *tx, const pfc_statement *statement, const pfc_args *args,
                          int binary)
{
    PGconn *pg = tx->conn->pg;

    return tx->db->unprepared ? PQsendQueryParams(pg, statement->sql, args->len, NULL, args->values,
                                                  args->lengths, args->binary, binary)
                              : PQsendQueryPrepared(pg, statement->name, args->len, args->values,
                                                    args->lengths, args->binary, binary);
}

/* To the end of what a COPY and the COMMIT after it answer; the first fault is the one to tell. */
static pfc_code end_copy(pfc_tx *tx, const char *name, bool commit, pfc_err *err)
{
    PGconn *pg = tx->conn->pg;
    bool copied = false, done = !commit, warned = false;
    pfc_code code = PFC_OK;
    PGresult *res;

    pfc_conn_watch(pg, &warned);
    while (pfc_commit_await(pg, tx->db->statement_ms), (res = PQgetResult(pg)) != NULL) {
        if (!code && !copied && PQresultStatus(res) != PGRES_COMMAND_OK)
            code = pfc_result_fault(pg, res, name, err);
        else if (!code && copied && !done) {
            code = pfc_conn_committed(pg, res, warned, err);
            done = true;
        }
        tx->collided |= pfc_result_collided(res);
        copied = true;
        PQclear(res);
    }
    pfc_conn_watch(pg, NULL);
    if (!code && !(copied && done))
        code = pfc_err_set(err, PFC_EUNAVAIL, "database: %s: no answer", name);
    /* A transaction that is, or may be, committed is not rolled back. */
    tx->open = tx->open && !(commit && copied && PQtransactionStatus(pg) == PQTRANS_IDLE);
    return code;
}

static pfc_code copy(pfc_tx *tx, const char *name, pfc_copy *rows, bool commit, pfc_err *err)
{
    PGconn *pg = tx->conn->pg;
    const pfc_statement *statement;
    PGresult *res = NULL;
    char *text = NULL;
    pfc_code code = find(name, &statement, err);

    if (!code)
        code = pfc_tx_begin_now(tx, err);
    if (code)
        goto done;
    text = pfc_format(commit ? "%s; COMMIT" : "%s", statement->sql);
    res = PQexec(pg, text);
    if (PQresultStatus(res) != PGRES_COPY_IN)
        code = pfc_result_fault(pg, res, name, err);
    else if (!pfc_conn_put_rows(pg, rows))
        code = pfc_result_fault(pg, NULL, name, err);
    else
        code = end_copy(tx, name, commit, err);

done:
    PQclear(res);
    free(text);
    pfc_buf_clear(&rows->buf);
    return code;
}

pfc_code pfc_tx_copy(pfc_tx *tx, const char *name, pfc_copy *rows, pfc_err *err)
{
    return copy(tx, name, rows, false, err);
}

pfc_code pfc_tx_copy_commit(pfc_tx *tx, const char *name, pfc_copy *rows, pfc_err *err)
{
    return copy(tx, name, rows, true, err);
}

/* The statement in one round trip with what goes before it: the BEGIN; and behind a pooler, where
 * what was set on the connection may have been on another, where names are looked up. NULL: the
 * connection is lost. */
static PGresult *begin_with(pfc_tx *tx, const pfc_statement *statement, const pfc_args *args,
                            int binary)
{
    const char *const settings =
        statement->generic ? PFC_CONN_SEARCH_LOCAL_GENERIC : PFC_CONN_SEARCH_LOCAL;
    const char *const before[] = { tx->begun ? NULL : "BEGIN",
                                   tx->db->unprepared ? settings : NULL };
    PGconn *pg = tx->conn->pg;
    PGresult *fault = NULL, *res = NULL;
    bool sent = PQenterPipelineMode(pg);

    tx->begun = true;
    if (!sent)
        return NULL;
    for (size_t i = 0; i < PFC_ARRAY_LEN(before) && sent; i++)
        sent = !before[i] || PQsendQueryParams(pg, before[i], 0, NULL, NULL, NULL, NULL, 0);
    if (sent && send_statement(tx, statement, args, binary) && PQpipelineSync(pg)) {
        for (size_t i = 0; i < PFC_ARRAY_LEN(before); i++) {
            PGresult *one = before[i] ? PQgetResult(pg) : NULL;

            if (before[i])
                PQclear(PQgetResult(pg)); /* NULL: its end */
            /* Why it cannot begin says more than that the statement was left out. */
            if (one && !fault && PQresultStatus(one) != PGRES_COMMAND_OK &&
                PQresultStatus(one) != PGRES_TUPLES_OK)
                fault = one;
            else
                PQclear(one);
        }
        if (tx->mode == PFC_TX_AUTO)
            pfc_commit_await(pg, tx->db->statement_ms);
        res = PQgetResult(pg);
        PQclear(PQgetResult(pg));
        PQclear(PQgetResult(pg)); /* the sync */
    }
    /* Refused while something is unread: then the connection is of no more use. */
    if (!PQexitPipelineMode(pg))
        disconnect(tx->db, tx->conn);
    if (!fault)
        return res;
    PQclear(res);
    return fault;
}

/* binary: 1 for results in binary form. */
static pfc_code query(pfc_tx *tx, const char *name, pfc_args *args, int binary, pfc_res **out,
                      pfc_err *err)
{
    const pfc_args none = { 0 }, *with = args ? args : &none;
    const pfc_statement *statement;
    PGresult *res = NULL;
    ExecStatusType status;
    bool warned = false;
    pfc_code code = find_ready(tx, name, &statement, err);

    if (!code && !tx->db->unprepared)
        code = pfc_tx_plan(tx, statement->generic, err);
    if (code)
        goto done;
    pfc_conn_watch(tx->conn->pg, tx->mode == PFC_TX_AUTO ? &warned : NULL);
    if (!tx->begun || (tx->db->unprepared && tx->mode == PFC_TX_AUTO))
        res = begin_with(tx, statement, with, binary);
    else if (tx->mode == PFC_TX_AUTO)
        res = pfc_commit_result(tx->conn->pg, send_statement(tx, statement, with, binary),
                                tx->db->statement_ms);
    else
        res = tx->db->unprepared ? PQexecParams(tx->conn->pg, statement->sql, with->len, NULL,
                                                with->values, with->lengths, with->binary, binary)
                                 : PQexecPrepared(tx->conn->pg, name, with->len, with->values,
                                                  with->lengths, with->binary, binary);
    pfc_conn_watch(tx->conn->pg, NULL);
    status = PQresultStatus(res);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        code = pfc_result_fault(tx->conn->pg, res, name, err);
        tx->collided = pfc_result_collided(res);
        tx->read_only = pfc_result_read_only(res);
        tx->overdue = code == PFC_ETIMEOUT;
        goto done;
    }
    if (warned) { /* the statement is its own transaction */
        code = pfc_commit_unreplicated(name, err);
        goto done;
    }
    if (out) {
        *out = pfc_res_wrap(res);
        res = NULL;
    }

done:
    PQclear(res);
    if (args)
        pfc_args_clear(args);
    return code;
}

pfc_code pfc_tx_query(pfc_tx *tx, const char *name, pfc_args *args, pfc_res **out, pfc_err *err)
{
    return query(tx, name, args, 0, out, err);
}

pfc_code pfc_tx_query_bytes(pfc_tx *tx, const char *name, pfc_args *args, pfc_res **out,
                            pfc_err *err)
{
    return query(tx, name, args, 1, out, err);
}

#define WRITE_TRIES 5

pfc_code pfc_db_write(pfc_db *db, pfc_db_writing writing, void *into, pfc_err *err)
{
    for (int again = WRITE_TRIES;; again--) {
        pfc_tx *tx = NULL;
        pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
        bool collided;

        if (!code)
            code = writing(tx, into, err);
        if (!code)
            code = pfc_tx_commit(tx, err);
        collided = tx && tx->collided;
        pfc_tx_free(tx);
        if (!code || !collided || again == 1)
            return code;
    }
}

pfc_code pfc_tx_prepare_all(pfc_tx *tx, size_t *prepared, pfc_err *err)
{
    for (size_t i = 0; i < pfc_statements_len; i++) {
        pfc_copy none;
        pfc_code code;

        if (pfc_statements[i].copy) {
            pfc_copy_begin(&none);
            pfc_copy_end(&none);
            code = pfc_tx_copy(tx, pfc_statements[i].name, &none, err);
        } else {
            code = prepare(tx->conn, &pfc_statements[i], err);
        }
        if (code)
            return code;
    }
    *prepared = pfc_statements_len;
    return PFC_OK;
}

pfc_code pfc_db_ping(pfc_db *db, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_conn_exec(tx->conn->pg, "SELECT 1", "ping", err);
    pfc_tx_free(tx);
    return code;
}
