/* Commits as they are sent to the server. */
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/parse.h"
#include "core/wire/wire_priv.h"

#define MAX_PARENTS 64

void pfc_commit_clear(pfc_commit *commit)
{
    if (commit == NULL)
        return;
    free(commit->id);
    for (size_t i = 0; i < commit->parents_len; i++)
        free(commit->parents[i]);
    free(commit->parents);
    free(commit->author);
    free(commit->subject);
    for (size_t i = 0; i < commit->paths_len; i++)
        free(commit->paths[i]);
    free(commit->paths);
    for (size_t i = 0; i < commit->tags_len; i++)
        free(commit->tags[i]);
    free(commit->tags);
    *commit = (pfc_commit){ 0 };
}

void pfc_commits_free(pfc_commit *commits, size_t len)
{
    for (size_t i = 0; i < len; i++)
        pfc_commit_clear(&commits[i]);
    free(commits);
}

static pfc_code read_texts(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                           size_t max, bool ids, char ***out, size_t *out_len, pfc_err *err)
{
    pfc_json_at list = { .up = at, .key = key };
    json_t *items = NULL;
    pfc_code code = pfc_json_array(obj, at, key, required, max, &items, err);

    if (code != PFC_OK || items == NULL)
        return code;
    *out = pfc_calloc(json_array_size(items), sizeof **out);
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const char *text = json_string_value(item);
        pfc_json_at here = { .up = &list, .index = i };

        if (text == NULL || json_string_length(item) > PFC_WIRE_MAX_TEXT ||
            strlen(text) != json_string_length(item))
            return pfc_json_fault(&here, NULL, err, "expected a text of at most %d bytes",
                                  PFC_WIRE_MAX_TEXT);
        if (ids && !pfc_is_sha(text))
            return pfc_json_fault(&here, NULL, err,
                                  "expected a full commit id of 40 hexadecimal digits");
        (*out)[(*out_len)++] = pfc_strdup(text);
    }
    return PFC_OK;
}

/* Tags are printed on terminals, so control characters must be refused. */
static pfc_code read_tags(const json_t *obj, const pfc_json_at *at, pfc_commit *c, pfc_err *err)
{
    const pfc_json_at list = { .up = at, .key = "tags" };
    pfc_code code =
        read_texts(obj, at, "tags", false, PFC_WIRE_MAX_TAGS, false, &c->tags, &c->tags_len, err);

    for (size_t i = 0; code == PFC_OK && i < c->tags_len; i++) {
        const pfc_json_at item = { .up = &list, .index = i };

        for (const char *p = c->tags[i]; code == PFC_OK && *p; p++)
            if ((unsigned char)*p <= 0x20 || *p == 0x7f)
                code = pfc_json_fault(&item, NULL, err,
                                      "expected a tag without blanks or control characters");
        if (code == PFC_OK && (!*c->tags[i] || strlen(c->tags[i]) > PFC_WIRE_MAX_NAME))
            code = pfc_json_fault(&item, NULL, err, "expected a tag of 1..%d bytes, got %zu",
                                  PFC_WIRE_MAX_NAME, strlen(c->tags[i]));
    }
    return code;
}

static pfc_code read_commit(const json_t *obj, const pfc_json_at *at, pfc_commit *c, pfc_err *err)
{
    static const char *const known[] = { "id",      "parents", "author", "time",
                                         "subject", "paths",   "tags",   NULL };
    char *time = NULL;
    pfc_code code = pfc_json_known(obj, at, known, err);

    if (code == PFC_OK)
        code = pfc_json_string(obj, at, "id", true, 64, &c->id, err);
    if (code == PFC_OK && !pfc_is_sha(c->id))
        code = pfc_json_fault(at, "id", err, "expected a full commit id of 40 hexadecimal digits");
    if (code == PFC_OK)
        code = read_texts(obj, at, "parents", true, MAX_PARENTS, true, &c->parents, &c->parents_len,
                          err);
    for (size_t i = 0; code == PFC_OK && i < c->parents_len; i++) {
        const pfc_json_at parents = { .up = at, .key = "parents" };
        const pfc_json_at item = { .up = &parents, .index = i };

        if (strcmp(c->parents[i], c->id) == 0)
            code = pfc_json_fault(&item, NULL, err, "a commit is not its own parent");
    }
    if (code == PFC_OK)
        code = pfc_json_string(obj, at, "author", true, PFC_WIRE_MAX_NAME, &c->author, err);
    if (code == PFC_OK)
        code = pfc_json_string(obj, at, "time", true, 64, &time, err);
    if (code == PFC_OK && pfc_parse_rfc3339(time, "time", &c->time, NULL) != PFC_OK)
        code = pfc_json_fault(at, "time", err, PFC_WIRE_WANT_TIME);
    free(time);
    if (code == PFC_OK)
        code = pfc_json_string(obj, at, "subject", true, PFC_WIRE_MAX_TEXT, &c->subject, err);
    if (code == PFC_OK)
        code = read_texts(obj, at, "paths", false, PFC_WIRE_MAX_PATHS, false, &c->paths,
                          &c->paths_len, err);
    if (code == PFC_OK)
        code = read_tags(obj, at, c, err);
    return code;
}

pfc_code pfc_commits_from_json(const char *text, size_t len, char **branch, pfc_commit **out,
                               size_t *out_len, pfc_err *err)
{
    static const char *const known[] = { "branch", "commits", NULL };
    /* A commit is an object with three arrays; no real commit has 16 MiB of paths as short as
     * these. */
    static const pfc_json_limits limits = { 5 * PFC_WIRE_MAX_COMMITS, 2000000 };
    pfc_json_at root = { 0 };
    pfc_json_at list = { .up = &root, .key = "commits" };
    pfc_commit *commits = NULL;
    size_t commits_len = 0;
    char *name = NULL;
    json_t *items = NULL;
    json_t *doc = NULL;
    pfc_code code = pfc_json_parse_within(text, len, &limits, &doc, err);

    if (code == PFC_OK)
        code = pfc_json_known(doc, &root, known, err);
    if (code == PFC_OK)
        code = pfc_json_name(doc, &root, "branch", false, PFC_WIRE_MAX_NAME, &name, err);
    pfc_wire_drop_empty(&name);
    if (code == PFC_OK)
        code = pfc_json_array(doc, &root, "commits", true, PFC_WIRE_MAX_COMMITS, &items, err);
    if (code == PFC_OK)
        commits = pfc_calloc(json_array_size(items), sizeof *commits);
    for (size_t i = 0; code == PFC_OK && i < json_array_size(items); i++) {
        pfc_json_at here = { .up = &list, .index = i };

        code = read_commit(json_array_get(items, i), &here, &commits[commits_len++], err);
    }
    json_decref(doc);
    if (code != PFC_OK) {
        pfc_commits_free(commits, commits_len);
        free(name);
        return code;
    }
    *branch = name;
    *out = commits;
    *out_len = commits_len;
    return PFC_OK;
}

static json_t *texts_to_json(char *const *texts, size_t len)
{
    json_t *list = json_array();

    for (size_t i = 0; i < len; i++)
        json_array_append_new(list, json_string(texts[i]));
    return list;
}

json_t *pfc_commits_to_json(const char *branch, const pfc_commit *commits, size_t len)
{
    json_t *doc = json_object();
    json_t *list = json_array();

    if (branch != NULL)
        json_object_set_new(doc, "branch", json_string(branch));
    for (size_t i = 0; i < len; i++) {
        const pfc_commit *c = &commits[i];
        char time[32];
        json_t *obj = json_object();

        pfc_clock_rfc3339(c->time, time);
        json_object_set_new(obj, "id", json_string(c->id));
        json_object_set_new(obj, "parents", texts_to_json(c->parents, c->parents_len));
        json_object_set_new(obj, "author", json_string(c->author));
        json_object_set_new(obj, "time", json_string(time));
        json_object_set_new(obj, "subject", json_string(c->subject));
        if (c->paths_len > 0)
            json_object_set_new(obj, "paths", texts_to_json(c->paths, c->paths_len));
        if (c->tags_len > 0)
            json_object_set_new(obj, "tags", texts_to_json(c->tags, c->tags_len));
        json_array_append_new(list, obj);
    }
    json_object_set_new(doc, "commits", list);
    return doc;
}
