/*
 * Reading from a replica, as long as there is one that keeps up.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "server/repo/connection/db_internal.h"

#define LOOK_EVERY_NS (1 * PFC_NS_PER_S)
#define LEAVE_FOR_NS  (5 * PFC_NS_PER_S) /* away or behind: the primary answers meanwhile */
#define WAIT_MS       100                /* rather the primary than a queue */

struct pfc_replica {
    pfc_db *pool;
    atomic_int_fast64_t looked_ns;     /* when its lag was last asked for */
    atomic_int_fast64_t left_until_ns; /* 0: in use */
};

pfc_code pfc_replica_open(pfc_replica **out, const pfc_db_opts *opts, pfc_err *err)
{
    const pfc_db_opts own = { .url = opts->read_url,
                              .connections = opts->connections,
                              .statement_ms = opts->statement_ms,
                              .unprepared = opts->unprepared,
                              .wait_ms = WAIT_MS };
    pfc_replica *r = pfc_alloc(sizeof(*r));
    pfc_code code = pfc_db_open(&r->pool, &own, err);

    atomic_init(&r->looked_ns, 0);
    atomic_init(&r->left_until_ns, 0);
    if (code)
        free(r);
    else
        *out = r;
    return code;
}

void pfc_replica_abort(pfc_replica *r)
{
    pfc_db_cut(r->pool, NULL);
}

void pfc_replica_close(pfc_replica *r)
{
    if (!r)
        return;
    pfc_db_close(r->pool);
    free(r);
}

static void leave(pfc_replica *r, const char *why)
{
    if (atomic_exchange(&r->left_until_ns, pfc_clock_ns() + LEAVE_FOR_NS) == 0)
        pfc_log(PFC_WARN, "replica not used, the primary answers", "why", why);
}

/* Once a second: is it connected to the primary, and has it applied what it received? */
static pfc_code look(pfc_replica *r, pfc_tx *tx, pfc_err *err)
{
    int64_t now = pfc_clock_ns();
    pfc_res *res = NULL;
    double lag_s;
    pfc_code code;

    if (now - atomic_load(&r->looked_ns) < LOOK_EVERY_NS)
        return PFC_OK;
    code = pfc_tx_query(tx, "replica_lag", NULL, &res, err);
    if (code)
        return code;
    lag_s = pfc_res_f64(res, 0, 0);
    pfc_res_free(res);
    if (!(lag_s <= PFC_REPLICA_LAG_S)) /* also NULL: it is not connected */
        return pfc_err_set(err, PFC_EUNAVAIL, "replica: %s",
                           lag_s > 0 ? "it is too far behind"
                                     : "it is not connected to its primary");
    atomic_store(&r->looked_ns, now);
    return PFC_OK;
}

pfc_tx *pfc_replica_begin(pfc_replica *r)
{
    int64_t left = atomic_load(&r->left_until_ns);
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };
    pfc_code code;

    if (left > pfc_clock_ns())
        return NULL;
    if (left) /* one asks again; the others still go to the primary */
        if (!atomic_compare_exchange_strong(&r->left_until_ns, &left,
                                            pfc_clock_ns() + LEAVE_FOR_NS))
            return NULL;
    code = pfc_tx_begin(&tx, r->pool, PFC_TX_SNAPSHOT, &err);
    if (!code) {
        tx->replica = true;
        code = look(r, tx, &err);
    }
    if (code) {
        pfc_tx_free(tx);
        atomic_store(&r->looked_ns, 0);
        leave(r, err.msg);
        return NULL;
    }
    if (left) {
        atomic_store(&r->left_until_ns, 0);
        pfc_log(PFC_INFO, "replica in use again");
    }
    return tx;
}

pfc_code pfc_tx_behind(pfc_tx *tx, pfc_err *err)
{
    if (!tx->replica)
        return PFC_OK;
    tx->behind = true;
    return pfc_err_set(err, PFC_EUNAVAIL, "replica: it lags behind the primary");
}

pfc_code pfc_db_read(pfc_db *db, pfc_db_reading reading, void *into, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_READ, err);
    bool replica, behind;

    if (!code)
        code = reading(tx, into, err);
    replica = tx && tx->replica;
    behind = replica && (code == PFC_ENOTFOUND || tx->behind);
    pfc_tx_free(tx);
    if (!behind && !(replica && code == PFC_EUNAVAIL))
        return code;
    if (!behind)
        leave(pfc_db_replica(db), err ? err->msg : "");
    tx = NULL;
    code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);
    if (!code)
        code = reading(tx, into, err);
    pfc_tx_free(tx);
    return code;
}
