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

static bool entry_equal(const json_t *a, const json_t *b)
{
    return a && b && json_equal(a, b);
}

static void add_name(char ***names, size_t *len, size_t *cap, const char *name)
{
    *names = pfc_grow(*names, *len, cap, sizeof(char *));
    (*names)[(*len)++] = pfc_strdup(name);
}

void pfc_fingerprint_diff(const json_t *a, const json_t *b, char ***names, size_t *len)
{
    size_t cap = 0;
    void *at;

    *names = NULL;
    *len = 0;
    /* jansson iterates const objects through a cast of its own only */
    for (at = json_object_iter((json_t *)(uintptr_t)a); at;
         at = json_object_iter_next((json_t *)(uintptr_t)a, at)) {
        const char *name = json_object_iter_key(at);

        if (!entry_equal(json_object_iter_value(at), json_object_get(b, name)))
            add_name(names, len, &cap, name);
    }
    for (at = json_object_iter((json_t *)(uintptr_t)b); at;
         at = json_object_iter_next((json_t *)(uintptr_t)b, at)) {
        const char *name = json_object_iter_key(at);

        if (!json_object_get(a, name))
            add_name(names, len, &cap, name);
    }
}

void pfc_texts_free(char **texts, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free(texts[i]);
    free(texts);
}
