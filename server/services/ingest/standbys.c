/*
 * A primary that may lose acknowledged results in a fail-over: it has standbys, and waits for none.
 */
#include "core/base/log.h"
#include "server/repo/sql/replica.h"
#include "server/services/ingest/ingest.h"

pfc_code pfc_standbys_look(pfc_db *db, atomic_int_fast64_t *unsynced, pfc_err *err)
{
    int64_t now = 0;
    bool before;
    pfc_code code = pfc_sql_standbys_unsynced_once(db, &now, err);

    if (code)
        return code;
    before = atomic_exchange(unsynced, now) > 0;
    if (now > 0 && !before)
        pfc_log(PFC_WARN, "standbys_not_synchronous", "standbys", now, "why",
                "synchronous_standby_names is empty: a fail-over may lose acknowledged results");
    if (now == 0 && before)
        pfc_log(PFC_INFO, "standbys_synchronous");
    return PFC_OK;
}
