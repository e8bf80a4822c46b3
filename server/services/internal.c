/*
 * Small things that several services need.
 */
#include "server/services/internal.h"

#include "core/base/parse.h"

pfc_code pfc_note(pfc_tx *tx, const char *actor, const char *action, int64_t project_id,
                  const char *object, const char *detail, pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_text(&args, actor);
    pfc_args_text(&args, action);
    pfc_args_id(&args, project_id);
    pfc_args_text(&args, object);
    pfc_args_text(&args, detail);
    return pfc_tx_query(tx, "audit_insert", &args, NULL, err);
}

pfc_code pfc_tell(pfc_tx *tx, json_t *event, pfc_err *err)
{
    pfc_args args = { 0 };
    char *text = json_dumps(event, JSON_COMPACT);

    json_decref(event);
    if (!text)
        return pfc_err_set(err, PFC_EBUG, "event: cannot be written");
    pfc_args_own(&args, text);
    return pfc_tx_query(tx, "event_notify", &args, NULL, err);
}

pfc_code pfc_query_id(pfc_tx *tx, const char *name, pfc_args *args, int64_t *id, pfc_err *err)
{
    pfc_res *res = NULL;
    pfc_code code = pfc_tx_query(tx, name, args, &res, err);

    if (!code)
        *id = pfc_res_rows(res) ? pfc_res_i64(res, 0, 0) : 0;
    pfc_res_free(res);
    return code;
}

void pfc_texts_free(char **texts, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free(texts[i]);
    free(texts);
}
