/* One comment for each pull request: edited, created again when it was deleted, never two. */
#include <stdlib.h>
#include <string.h>

#include "core/forge/forge.h"
#include "core/forge/forge_priv.h"

enum { FOUND_MAX = 16, ROUNDS = 4 };

/* Comments with our marker, oldest first. */
typedef struct found {
    const pfc_forge *forge;
    char marker[PFC_COMMENT_MARKER_MAX];
    int64_t ids[FOUND_MAX];
    size_t len;
} found;

typedef struct put {
    pfc_forge *forge;
    const forge_place *at;
    const char *key, *body;
    found found;
} put;

static bool take_ours(void *arg, const json_t *comment)
{
    found *f = arg;
    const int64_t id = json_integer_value(json_object_get(comment, "id"));

    if (id > 0 && pfc_comment_is_ours(forge_text(comment, "body"), f->marker) &&
        f->forge->ops->is_own(f->forge, comment))
        f->ids[f->len++] = id;
    return f->len < FOUND_MAX;
}

static int by_id(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static pfc_code search(put *p, pfc_err *err)
{
    char *path = p->forge->ops->comments_path(p->at, true);
    pfc_code code;

    p->found = (found){ .forge = p->forge };
    pfc_comment_marker(p->key, p->found.marker);
    code = forge_list(p->forge, p->at->repo, path, take_ours, &p->found, err);
    qsort(p->found.ids, p->found.len, sizeof(p->found.ids[0]), by_id);
    free(path);
    return code;
}

static void take_answer(const put *p, const json_t *doc, int64_t id, bool created,
                        pfc_forge_comment *out)
{
    const char *member = p->forge->ops->words->comment_url;
    const char *url = member ? forge_text(doc, member) : "";

    free(out->url);
    out->id = id;
    out->url = url[0] ? pfc_strdup(url) : NULL;
    out->created = created;
}

static pfc_code edit(const put *p, int64_t id, pfc_forge_comment *out, pfc_err *err)
{
    char *path = p->forge->ops->comment_path(p->at, id);
    json_t *body = json_pack("{s:s}", "body", p->body);
    json_t *doc = NULL;
    pfc_code code = forge_call(p->forge, p->at->repo, p->forge->ops->edit, path, body, &doc, err);

    if (!code)
        take_answer(p, doc, id, false, out);
    json_decref(doc);
    json_decref(body);
    free(path);
    return code;
}

static pfc_code create(const put *p, pfc_forge_comment *out, pfc_err *err)
{
    char *path = p->forge->ops->comments_path(p->at, false);
    json_t *body = json_pack("{s:s}", "body", p->body);
    json_t *doc = NULL;
    pfc_code code = forge_call(p->forge, p->at->repo, "POST", path, body, &doc, err);
    const int64_t id = json_integer_value(json_object_get(doc, "id"));

    if (!code && id <= 0)
        code = pfc_err_set(err, PFC_EUNAVAIL, "%s named no id of the new comment",
                           p->forge->ops->name);
    if (!code)
        take_answer(p, doc, id, true, out);
    json_decref(doc);
    json_decref(body);
    free(path);
    return code;
}

/* One that is gone, or that may not be deleted, is no failure. */
static pfc_code drop(const put *p, int64_t id, pfc_err *err)
{
    char *path = p->forge->ops->comment_path(p->at, id);
    const pfc_code code = forge_call(p->forge, p->at->repo, "DELETE", path, NULL, NULL, err);

    free(path);
    return code == PFC_ENOTFOUND || code == PFC_EDENIED ? PFC_OK : code;
}

static pfc_code drop_from(const put *p, size_t first, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = first; !code && i < p->found.len; i++)
        code = drop(p, p->found.ids[i], err);
    return code;
}

/* Edits the first of the found ones that can be edited and deletes the others, which a client left
 * that was killed between its calls. PFC_ENOTFOUND: none could be edited. */
static pfc_code edit_found(const put *p, pfc_forge_comment *out, pfc_err *err)
{
    pfc_code code = PFC_ENOTFOUND;
    size_t i = 0;

    for (; (code == PFC_ENOTFOUND || code == PFC_EDENIED) && i < p->found.len; i++)
        code = edit(p, p->found.ids[i], out, err);
    if (code)
        return code == PFC_EDENIED ? PFC_ENOTFOUND : code;
    return drop_from(p, i, err);
}

static pfc_code know_account(const put *p, pfc_err *err)
{
    return p->forge->own.known ? PFC_OK : p->forge->ops->who(p->forge, p->at->repo, err);
}

/* Another client may have created one in the same moment, or was killed after it did: every client
 * keeps the oldest, so that two of them never delete each other's. */
static pfc_code keep_oldest(put *p, int64_t ours, pfc_forge_comment *out, pfc_err *err)
{
    pfc_code code = know_account(p, err);

    if (!code)
        code = search(p, err);
    if (!code && p->found.len > 0 && p->found.ids[0] != ours)
        code = edit_found(p, out, err);
    else if (!code)
        code = drop_from(p, 1, err);
    return code == PFC_ENOTFOUND ? PFC_OK : code;
}

static pfc_code create_one(put *p, pfc_forge_comment *out, pfc_err *err)
{
    pfc_code code = create(p, out, err);
    const int64_t ours = out->id;

    if (!code)
        code = keep_oldest(p, ours, out, err);
    out->created = out->id == ours;
    return code;
}

static pfc_code put_comment(put *p, int64_t known_id, pfc_forge_comment *out, pfc_err *err)
{
    pfc_code code = known_id ? edit(p, known_id, out, err) : PFC_ENOTFOUND;

    if (!code)
        return keep_oldest(p, known_id, out, err);
    if (code != PFC_ENOTFOUND && code != PFC_EDENIED)
        return code;
    code = know_account(p, err);
    for (int round = 0; !code && round < ROUNDS; round++) {
        code = search(p, err);
        if (code || p->found.len == 0)
            break;
        code = edit_found(p, out, err);
        if (!code)
            return PFC_OK;
        if (code == PFC_ENOTFOUND)
            code = PFC_OK; /* all of them were deleted meanwhile: look again */
    }
    return code ? code : create_one(p, out, err);
}

static pfc_code check_body(const char *body, pfc_err *err)
{
    return strlen(body) <= PFC_COMMENT_MAX_BYTES
               ? PFC_OK
               : pfc_err_set(err, PFC_EINVAL, "comment: expected at most %d bytes, got %zu",
                             PFC_COMMENT_MAX_BYTES, strlen(body));
}

static pfc_code put_at(pfc_forge *forge, const forge_place *at, const char *key, int64_t known_id,
                       const char *body, pfc_forge_comment *out, pfc_err *err)
{
    put p = { .forge = forge, .at = at, .key = key, .body = body };
    pfc_code code = check_body(body, err);

    *out = (pfc_forge_comment){ 0 };
    if (!code)
        code = put_comment(&p, known_id, out, err);
    if (code) {
        free(out->url);
        *out = (pfc_forge_comment){ 0 };
    }
    return code;
}

pfc_code pfc_forge_comment_put(pfc_forge *forge, const char *repo, int64_t pull, const char *key,
                               int64_t known_id, const char *body, pfc_forge_comment *out,
                               pfc_err *err)
{
    const forge_place at = { .repo = repo, .pull = pull };

    return put_at(forge, &at, key, known_id, body, out, err);
}

pfc_code pfc_forge_commit_comment_put(pfc_forge *forge, const char *repo, const char *commit,
                                      const char *key, int64_t known_id, const char *body,
                                      pfc_forge_comment *out, pfc_err *err)
{
    const forge_place at = { .repo = repo, .commit = commit };

    *out = (pfc_forge_comment){ 0 };
    if (forge->kind != PFC_FORGE_GITHUB)
        return pfc_err_set(err, PFC_EINVAL, "%s has no comments on commits that can be edited",
                           forge->ops->name);
    return put_at(forge, &at, key, known_id, body, out, err);
}

pfc_code pfc_forge_comment_add(pfc_forge *forge, const char *repo, int64_t pull, const char *body,
                               pfc_forge_comment *out, pfc_err *err)
{
    const forge_place at = { .repo = repo, .pull = pull };
    const put p = { .forge = forge, .at = &at, .body = body };
    pfc_code code = check_body(body, err);

    *out = (pfc_forge_comment){ 0 };
    return code ? code : create(&p, out, err);
}
