/* The commits of a pull request, as a line along first parents. */
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/forge/forge_priv.h"

typedef struct listed {
    char *id, *parent; /* parent: the first; NULL: a root, or the forge did not say */
} listed;

/* Commits in the order in which the forge lists them. */
typedef struct listing {
    listed items[PFC_FORGE_MAX_COMMITS];
    size_t len;
    bool bad; /* an item is no commit */
} listing;

static void listing_clear(listing *l)
{
    for (size_t i = 0; i < l->len; i++) {
        free(l->items[i].id);
        free(l->items[i].parent);
    }
}

static char *take_id(const char *text)
{
    return text && pfc_is_sha(text) ? pfc_strdup(text) : NULL;
}

/* GitHub and Gitea: {"sha", "parents": [{"sha"}]}; GitLab: {"id", "parent_ids": ["..."]}. */
static bool take_commit(void *arg, const json_t *item)
{
    listing *l = arg;
    const json_t *parents = json_object_get(item, "parents");
    const json_t *first = json_array_get(json_object_get(item, "parent_ids"), 0);
    const char *id = json_string_value(json_object_get(item, "sha"));
    listed *to = &l->items[l->len];

    to->id = take_id(id ? id : json_string_value(json_object_get(item, "id")));
    to->parent =
        take_id(parents ? forge_text(json_array_get(parents, 0), "sha") : json_string_value(first));
    l->bad = !to->id;
    if (l->bad)
        free(to->parent);
    else
        l->len++;
    return !l->bad && l->len < PFC_FORGE_MAX_COMMITS;
}

static const listed *find(const listing *l, const char *id)
{
    for (size_t i = 0; i < l->len; i++)
        if (strcmp(l->items[i].id, id) == 0)
            return &l->items[i];
    return NULL;
}

/* From the head to the commit that the list does not have: the line, newest first. */
static pfc_code walk(const listing *l, const char *head, pfc_forge_line *out, pfc_err *err)
{
    const listed *at = find(l, head);
    const char *id = head;

    if (!at)
        return pfc_err_set(err, PFC_EINVAL,
                           "commits: the list of the pull request lacks its head %.12s", head);
    for (; at; at = find(l, id)) {
        out->ids[out->len++] = pfc_strdup(at->id);
        if (!at->parent)
            return pfc_err_set(err, PFC_EINVAL, "commits: %.12s has no parent to compare it with",
                               at->id);
        if (out->len > l->len)
            return pfc_err_set(err, PFC_EINVAL, "commits: the parents of %.12s form a circle",
                               head);
        id = at->parent;
    }
    out->ids[out->len++] = pfc_strdup(id);
    return PFC_OK;
}

static void turn(pfc_forge_line *line)
{
    for (size_t i = 0; i < line->len / 2; i++) {
        char *other = line->ids[i];

        line->ids[i] = line->ids[line->len - 1 - i];
        line->ids[line->len - 1 - i] = other;
    }
}

static pfc_code read_line(pfc_forge *forge, const char *repo, const char *path, const char *head,
                          listing *l, pfc_forge_line *out, pfc_err *err)
{
    pfc_code code = forge_list(forge, repo, path, take_commit, l, err);

    if (!code && l->bad)
        code = pfc_err_set(err, PFC_EIO, "%s: a commit without its id at %.120s", forge->ops->name,
                           path);
    if (!code && l->len == PFC_FORGE_MAX_COMMITS)
        code = pfc_err_set(err, PFC_EINVAL,
                           "commits: expected under %d in the pull request, got %d or more",
                           PFC_FORGE_MAX_COMMITS, PFC_FORGE_MAX_COMMITS);
    if (code)
        return code;
    out->ids = pfc_calloc(l->len + 2, sizeof(char *));
    code = walk(l, head, out, err);
    turn(out);
    return code;
}

pfc_code pfc_forge_line_get(pfc_forge *forge, const char *repo, int64_t number, const char *base,
                            const char *head, pfc_forge_line *out, pfc_err *err)
{
    listing *l = pfc_calloc(1, sizeof(*l));
    char *path = forge->ops->commits_path(repo, number, base, head);
    pfc_code code;

    *out = (pfc_forge_line){ 0 };
    code = read_line(forge, repo, path, head, l, out, err);
    if (code)
        pfc_forge_line_clear(out);
    listing_clear(l);
    free(path);
    free(l);
    return code;
}

void pfc_forge_line_clear(pfc_forge_line *line)
{
    for (size_t i = 0; i < line->len; i++)
        free(line->ids[i]);
    free(line->ids);
    *line = (pfc_forge_line){ 0 };
}
