/*
 * The service layer: the rules of the server, independent of HTTP and of the API's JSON. Each
 * subject has a folder with one header. This header holds the general rules and what all share.
 *
 * Plain reads are the lists of the repository layer (server/repo/tables/repo.h); handlers may call
 * them directly. Every function of a service takes the connection pool, is thread-safe, and is
 * atomic: its changes are stored completely or not at all. `actor` names the author ("token 3
 * (ci)", "detector"); every change adds a row to `audit`. LISTEN/NOTIFY announces the changes that
 * other processes wait for (pfc_listener in db.h). Functions that take a transaction (`tx`) are
 * called by other services, never by handlers.
 */
#ifndef PFC_SERVER_SERVICES_SERVICE_H
#define PFC_SERVER_SERVICES_SERVICE_H

#include "server/repo/tables/repo.h"

/** Adds a row to the audit log: "ingest" of "run 7". detail may be NULL. */
pfc_code pfc_audit_add(pfc_tx *tx, const char *actor, const char *action, int64_t project_id,
                       const char *object, const char *detail, pfc_err *err) PFC_MUSTCHECK;
/** Sends the event {"type", "id"} to all listeners when tx commits. id 0: all, or none. */
pfc_code pfc_event_send(pfc_tx *tx, const char *type, int64_t id, pfc_err *err) PFC_MUSTCHECK;
void pfc_texts_free(char **texts, size_t len);

#endif
