/*
 * Helpers that several services use: audit rows, events, lists of strings.
 */

#include "server/services/service.h"

#include "core/base/parse.h"
#include "server/repo/sql/core.h"

pfc_code pfc_audit_add(pfc_tx *tx, const char *actor, const char *action, int64_t project_id,
                       const char *object, const char *detail, pfc_err *err)
{
    return pfc_sql_audit_insert(tx,
                                &(pfc_sql_audit_insert_args){ .actor = actor,
                                                              .action = action,
                                                              .project_id = project_id,
                                                              .object = object,
                                                              .detail = detail },
                                err);
}

pfc_code pfc_event_send(pfc_tx *tx, const char *type, int64_t id, pfc_err *err)
{
    return pfc_sql_event_notify(tx, &(pfc_sql_event_notify_args){ .type = type, .id = id }, err);
}

void pfc_texts_free(char **texts, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free(texts[i]);
    free(texts);
}
