/* "blocks" of a job: several builds that one runner measures together. */
#include <stdlib.h>
#include <string.h>

#include "server/handlers/handlers.h"
#include "server/services/queue/queue.h"

/* Borrows the strings from the document; pfc_job_enqueue checks their form. */
static pfc_code decode_ids(const json_t *doc, const pfc_json_at *list_at, size_t max_len,
                           const char ***out, size_t *len, pfc_err *err)
{
    const bool required = strcmp(list_at->key, "commits") == 0;
    json_t *list = NULL;
    pfc_code code = pfc_json_array(doc, list_at->up, list_at->key, required, max_len, &list, err);

    if (code || !list)
        return code;
    *out = pfc_calloc(json_array_size(list) + 1, sizeof(**out));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        const pfc_json_at item = { .up = list_at, .index = i };

        if (!text)
            return pfc_json_fault(&item, NULL, err, "expected a commit id of 40 digits");
        (*out)[(*len)++] = text;
    }
    return PFC_OK;
}

pfc_code pfc_decode_blocks(const json_t *obj, pfc_blocks_body *out, pfc_err *err)
{
    static const char *const known[] = { "commits",  "known",  "base",   "anchors",
                                         "budget_s", "margin", "rounds", NULL };
    const pfc_json_at at = { .key = "blocks" };
    pfc_job_blocks *b = &out->blocks;
    const struct {
        pfc_json_at at;
        size_t max_len;
        const char ***out;
        size_t *len;
    } lists[] = {
        { { .up = &at, .key = "commits" }, PFC_JOB_MAX_COMMITS, &out->commits, &b->commits_len },
        { { .up = &at, .key = "anchors" }, PFC_JOB_MAX_ANCHORS, &out->anchors, &b->anchors_len },
        { { .up = &at, .key = "known" }, PFC_JOB_MAX_COMMITS, &out->known, &b->known_len },
    };
    json_t *doc = NULL;
    pfc_code code = pfc_json_object(obj, NULL, "blocks", false, &doc, err);

    if (code || !doc)
        return code;
    out->given = true;
    code = pfc_json_known(doc, &at, known, err);
    for (size_t i = 0; i < PFC_ARRAY_LEN(lists) && !code; i++)
        code = decode_ids(doc, &lists[i].at, lists[i].max_len, lists[i].out, lists[i].len, err);
    b->commits = out->commits;
    b->known = out->known;
    b->anchors = out->anchors;
    b->base = json_string_value(json_object_get(doc, "base"));
    if (!code && !b->base)
        code = pfc_json_fault(&at, "base", err, "expected a commit id of 40 digits");
    if (!code)
        code =
            pfc_json_double(doc, &at, "budget_s", true, 1, PFC_JOB_MAX_BUDGET_S, &b->budget_s, err);
    if (!code)
        code = pfc_json_double(doc, &at, "margin", false, 0, 1, &b->margin, err);
    if (!code)
        code = pfc_json_i64(doc, &at, "rounds", false, 0, PFC_JOB_MAX_ROUNDS, &b->rounds, err);
    return code;
}

void pfc_blocks_body_clear(pfc_blocks_body *body)
{
    free((void *)body->commits);
    free((void *)body->known);
    free((void *)body->anchors);
    *body = (pfc_blocks_body){ 0 };
}

json_t *pfc_encode_job_blocks(const char *task_json)
{
    json_t *task = pfc_encode_json_text(task_json ? task_json : "{}");
    json_t *blocks = json_incref(json_object_get(task, "blocks"));

    json_decref(task);
    return blocks ? blocks : json_null();
}
