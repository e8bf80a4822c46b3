/* Shared decoding: pages, projects, labels, lists of texts. */
#include <stdlib.h>
#include <string.h>

#include "core/base/config/conf.h"
#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/services/access/access.h"

#define MAX_LABELS 64

pfc_code pfc_app_check_token(pfc_app *app, const char *token, pfc_principal *out, pfc_err *err)
{
    return pfc_token_verify_cached(app->db, app->cache, token, out, err);
}

pfc_code pfc_decode_page(const pfc_req *req, pfc_page *out, pfc_err *err)
{
    int64_t limit = PFC_LIST_LIMIT;
    pfc_code code;

    out->cursor = 0;
    code = pfc_req_query_i64(req, "limit", 1, PFC_LIST_MAX, &limit, err);
    if (code)
        return code;
    out->limit = (int)limit;
    return pfc_req_query_i64(req, "cursor", 1, INT64_MAX, &out->cursor, err);
}

pfc_code pfc_decode_body(const pfc_req *req, json_t **out, pfc_err *err)
{
    /* The largest are reports with 10,000 steps and lists of 20,000 files. */
    static const pfc_json_limits limits = { .nested = 50000, .values = 1000000 };

    return pfc_json_parse_within(req->body, req->body_len, &limits, out, err);
}

pfc_code pfc_decode_object(const pfc_req *req, const char *const *known, json_t **out, pfc_err *err)
{
    json_t *json = NULL;
    pfc_code code;

    code = pfc_decode_body(req, &json, err);
    if (code)
        return code;
    if (!json_is_object(json))
        code = pfc_err_set(err, PFC_EINVAL, "body: expected a JSON object");
    else
        code = pfc_json_known(json, NULL, known, err);
    if (code) {
        json_decref(json);
        return code;
    }
    *out = json;
    return PFC_OK;
}

pfc_code pfc_decode_project(pfc_app *app, const pfc_req *req, const char *name, const char *field,
                            int64_t *project_id, pfc_err *err)
{
    pfc_code code;

    if (!pfc_is_slug(name))
        return field ? pfc_err_set_field(err, PFC_EINVAL, field,
                                         "expected a project's name of lower-case letters, digits, "
                                         "dots, dashes and underscores, got \"%.64s\"",
                                         name)
                     : pfc_err_set(err, PFC_ENOTFOUND, "there is no project \"%.64s\"", name);
    code = pfc_project_find(app->db, app->cache, name, project_id, err);
    if (!code)
        code = pfc_req_allow_project(req, *project_id, "project", err);
    if (code != PFC_ENOTFOUND)
        return code;
    return field ? pfc_err_set_field(err, code, field, "there is no project \"%.64s\"", name)
                 : pfc_err_set(err, code, "there is no project \"%.64s\"", name);
}

pfc_code pfc_path_project(pfc_app *app, const pfc_req *req, int64_t *project_id, pfc_err *err)
{
    return pfc_decode_project(app, req, pfc_req_param(req, "p"), NULL, project_id, err);
}

pfc_code pfc_decode_branch(pfc_app *app, const pfc_req *req, int64_t *project, const char **branch,
                           pfc_projects *row, pfc_err *err)
{
    pfc_code code = pfc_req_query(req, "branch", PFC_WIRE_MAX_NAME, branch, err);

    if (!code)
        code = pfc_path_project(app, req, project, err);
    if (!code && !*branch) {
        code = pfc_projects_get(app->db, pfc_req_param(req, "p"), row, err);
        *branch = code ? NULL : row->items[0].branch;
    }
    return code;
}

pfc_code pfc_query_project(pfc_app *app, const pfc_req *req, int64_t *project_id, pfc_err *err)
{
    const char *name = NULL;
    pfc_code code = pfc_req_query(req, "project", 64, &name, err);

    if (code)
        return code;
    if (name)
        return pfc_decode_project(app, req, name, "project", project_id, err);
    *project_id = req->auth.project_id;
    return PFC_OK;
}

pfc_code pfc_query_project_page(pfc_app *app, const pfc_req *req, int64_t *project_id,
                                pfc_page *page, pfc_err *err)
{
    pfc_code code = pfc_decode_page(req, page, err);

    return code ? code : pfc_query_project(app, req, project_id, err);
}

pfc_code pfc_decode_labels(const json_t *obj, const char *key, pfc_labels *out, pfc_err *err)
{
    json_t *labels = NULL;
    const pfc_json_at here = { .key = key };
    const char *name;
    json_t *value;
    pfc_code code;

    code = pfc_json_object(obj, NULL, key, false, &labels, err);
    if (code || !labels)
        return code;
    if (json_object_size(labels) > MAX_LABELS)
        return pfc_json_fault(NULL, key, err, "expected at most %d labels", MAX_LABELS);
    json_object_foreach(labels, name, value)
    {
        char *copy = NULL;

        (void)value;
        if (!*name || strlen(name) > PFC_WIRE_MAX_NAME || pfc_name_control(name))
            return pfc_json_fault(NULL, key, err,
                                  "expected labels' names of 1 to %d bytes without control "
                                  "characters",
                                  PFC_WIRE_MAX_NAME);
        code = pfc_json_name(labels, &here, name, true, PFC_WIRE_MAX_NAME, &copy, err);
        if (!code)
            pfc_labels_set(out, name, copy);
        free(copy);
        if (code)
            return code;
    }
    return PFC_OK;
}

pfc_code pfc_decode_texts(const json_t *obj, const char *key, bool required,
                          const pfc_texts_limits *limits, pfc_texts *out, pfc_err *err)
{
    const pfc_json_at here = { .key = key };
    json_t *array = NULL;
    pfc_texts texts = { 0 };
    pfc_code code = pfc_json_array(obj, NULL, key, required, limits->len, &array, err);

    if (code || !array)
        return code;
    texts.items = pfc_calloc(json_array_size(array), sizeof(*texts.items));
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        const pfc_json_at at = { .up = &here, .index = i };
        size_t bytes = json_string_length(item);

        if (!json_is_string(item) || bytes == 0 || bytes > limits->bytes ||
            strlen(json_string_value(item)) != bytes) {
            pfc_texts_clear(&texts);
            return pfc_json_fault(&at, NULL, err, "expected a text of 1 to %zu bytes",
                                  limits->bytes);
        }
        texts.items[texts.len++] = pfc_strdup(json_string_value(item));
    }
    *out = texts;
    return PFC_OK;
}

pfc_code pfc_decode_unbound(const pfc_req *req, pfc_err *err)
{
    if (req->auth.project_id == 0)
        return PFC_OK;
    return pfc_err_set(
        err, PFC_EDENIED,
        "the route concerns the whole service, and the token is bound to one project");
}

pfc_code pfc_decode_config(const pfc_req *req, const json_t *obj, char **out, pfc_err *err)
{
    pfc_err why = { 0 };
    pfc_conf conf = { 0 };
    char *text = NULL;
    pfc_code code = pfc_json_string(obj, NULL, "config", false, PFC_CONF_MAX_BYTES, &text, err);

    if (code || !text)
        return code;
    if (!(req->auth.scopes & PFC_SCOPE_ADMIN))
        code = pfc_err_set_field(err, PFC_EDENIED, "config",
                                 "config: settings with a job choose what runners execute, which "
                                 "takes a token of scope admin");
    else if (pfc_conf_parse(text, strlen(text), "perfci.yaml", &conf, &why))
        code = pfc_json_fault(NULL, "config", err, "%s", why.msg);
    pfc_conf_clear(&conf);
    if (code)
        free(text);
    else
        *out = text;
    return code;
}
