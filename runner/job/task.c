/*
 * Reads what a job asks for besides its commit. Unknown members are ignored, as in a job.
 */
#include <stdlib.h>
#include <string.h>

#include "runner/job/job.h"

#define MAX_LAYOUT   1000000
#define MAX_LAUNCHES 100
#define MAX_BUDGET_S 86400
#define MAX_ROUNDS   200

static void texts_clear(char **texts, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free(texts[i]);
    free(texts);
}

void pfc_task_clear(pfc_task *task)
{
    free(task->metric);
    free(task->benchmark);
    free(task->backend);
    free(task->pair);
    free(task->filter);
    free(task->config);
    free(task->settings_branch);
    for (size_t i = 0; i < task->backends_len; i++)
        free(task->backends[i]);
    if (task->blocks) {
        texts_clear(task->blocks->commits, task->blocks->commits_len);
        texts_clear(task->blocks->known, task->blocks->known_len);
        texts_clear(task->blocks->anchors, task->blocks->anchors_len);
        free(task->blocks->base);
        free(task->blocks);
    }
    *task = (pfc_task){ 0 };
}

static pfc_code read_backends(const json_t *doc, const pfc_json_at *at, pfc_task *task,
                              pfc_err *err)
{
    json_t *list = NULL;
    pfc_code code = pfc_json_array(doc, at, "backends", false, PFC_TASK_MAX_BACKENDS, &list, err);

    for (size_t i = 0; !code && i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));

        if (!name)
            return pfc_json_fault(at, "backends", err, "expected texts");
        task->backends[task->backends_len++] = pfc_strdup(name);
    }
    return code;
}

/* Revisions at most `max`; `key` may be absent. */
static pfc_code read_revisions(const json_t *doc, const pfc_json_at *at, const char *key,
                               size_t max, char ***out, size_t *len, pfc_err *err)
{
    json_t *list = NULL;
    pfc_code code = pfc_json_array(doc, at, key, false, max, &list, err);

    if (code || !list)
        return code;
    *out = pfc_calloc(json_array_size(list) + 1, sizeof(**out));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if (!text || strlen(text) > PFC_REPO_MAX_REVISION)
            return pfc_json_fault(at, key, err, "expected ids of commits");
        (*out)[(*len)++] = pfc_strdup(text);
    }
    return PFC_OK;
}

static pfc_code read_blocks(const json_t *task_doc, const pfc_json_at *up, pfc_task *task,
                            pfc_err *err)
{
    const pfc_json_at at = { .up = up, .key = "blocks" };
    pfc_task_blocks *b;
    json_t *doc = NULL;
    pfc_code code = pfc_json_object(task_doc, up, "blocks", false, &doc, err);

    if (code || !doc)
        return code;
    b = task->blocks = pfc_calloc(1, sizeof(*b));
    code = read_revisions(doc, &at, "commits", PFC_TASK_MAX_COMMITS, &b->commits, &b->commits_len,
                          err);
    if (!code && !b->commits_len)
        code = pfc_json_fault(&at, "commits", err, "expected at least one");
    if (!code)
        code = pfc_json_string(doc, &at, "base", true, PFC_REPO_MAX_REVISION, &b->base, err);
    if (!code)
        code = read_revisions(doc, &at, "anchors", PFC_TASK_MAX_ANCHORS, &b->anchors,
                              &b->anchors_len, err);
    if (!code)
        code =
            read_revisions(doc, &at, "known", PFC_TASK_MAX_COMMITS, &b->known, &b->known_len, err);
    if (!code)
        code = pfc_json_double(doc, &at, "budget_s", true, 0, MAX_BUDGET_S, &b->budget_s, err);
    if (!code)
        code = pfc_json_double(doc, &at, "margin", false, 0, 1, &b->margin, err);
    if (!code)
        code = pfc_json_i64(doc, &at, "rounds", false, 0, MAX_ROUNDS, &b->rounds, err);
    b->keyed = json_is_boolean(json_object_get(doc, "reuse"));
    if (!code)
        code = pfc_json_bool(doc, &at, "reuse", false, &b->reuse, err);
    return code;
}

pfc_code pfc_task_from_json(const json_t *obj, const pfc_json_at *up, pfc_task *task, pfc_err *err)
{
    const pfc_json_at at = { .up = up, .key = "task" };
    json_t *doc = NULL;
    pfc_code code = pfc_json_object(obj, up, "task", false, &doc, err);

    if (code || !doc)
        return code;
    code = pfc_json_string(doc, &at, "metric", false, PFC_WIRE_MAX_NAME, &task->metric, err);
    if (!code)
        code =
            pfc_json_string(doc, &at, "benchmark", false, PFC_WIRE_MAX_NAME, &task->benchmark, err);
    if (!code)
        code = pfc_json_string(doc, &at, "backend", false, PFC_WIRE_MAX_NAME, &task->backend, err);
    if (!code)
        code = pfc_json_string(doc, &at, "pair", false, PFC_REPO_MAX_REVISION, &task->pair, err);
    if (!code)
        code = pfc_json_string(doc, &at, "filter", false, PFC_WIRE_MAX_TEXT, &task->filter, err);
    if (!code)
        code = pfc_json_string(doc, &at, "config", false, PFC_CONF_MAX_BYTES, &task->config, err);
    if (!code)
        code = pfc_json_string(doc, &at, "settings_branch", false, PFC_WIRE_MAX_NAME,
                               &task->settings_branch, err);
    if (!code)
        code = read_backends(doc, &at, task, err);
    if (!code)
        code = pfc_json_bool(doc, &at, "pair_first", false, &task->pair_first, err);
    if (!code)
        code = pfc_json_bool(doc, &at, "traces", false, &task->traces, err);
    if (!code)
        code = pfc_json_i64(doc, &at, "layout", false, 0, MAX_LAYOUT, &task->layout, err);
    if (!code)
        code = pfc_json_i64(doc, &at, "launches", false, 0, MAX_LAUNCHES, &task->launches, err);
    if (!code)
        code = read_blocks(doc, &at, task, err);
    return code;
}
