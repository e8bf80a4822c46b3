/*
 * Tags of a repository, and the commits they point to.
 */
#include "core/git/tags.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/git/repo_priv.h"

#define PREFIX "refs/tags/"

typedef struct gathering {
    pfc_repo *repo;
    pfc_tag *items;
    size_t len, cap;
} gathering;

/* Does the server accept the name? Git permits names that are not UTF-8 or have DEL in them. */
static bool is_sendable(const char *name)
{
    const size_t len = strlen(name);

    return len <= PFC_WIRE_MAX_NAME && !strchr(name, 0x7f) && pfc_is_utf8(name, len);
}

/* Annotated tags are peeled; what does not end in a commit is left out. */
static int take_tag(const char *name, git_oid *oid, void *into)
{
    gathering *g = into;
    git_object *object = NULL, *commit = NULL;

    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return 0;
    name += strlen(PREFIX);
    if (!is_sendable(name) || git_object_lookup(&object, g->repo->git, oid, GIT_OBJECT_ANY))
        return 0;
    if (git_object_peel(&commit, object, GIT_OBJECT_COMMIT) == 0) {
        g->items = pfc_grow(g->items, g->len, &g->cap, sizeof(*g->items));
        g->items[g->len].name = pfc_strdup(name);
        g->items[g->len].release = pfc_tag_is_release(name);
        pfc_git_id(git_object_id(commit), &g->items[g->len++].commit);
    }
    git_object_free(commit);
    git_object_free(object);
    return 0;
}

/* Releases first: of a commit with many tags they are the ones that are sent. */
static int by_commit(const void *a, const void *b)
{
    const pfc_tag *x = a, *y = b;
    const int order = strcmp(x->commit.hex, y->commit.hex);

    if (order == 0 && x->release != y->release)
        return x->release ? -1 : 1;
    return order ? order : strcmp(x->name, y->name);
}

pfc_code pfc_repo_tags(pfc_repo *repo, pfc_tag **out, size_t *len, pfc_err *err)
{
    gathering g = { .repo = repo };
    const int rc = git_tag_foreach(repo->git, take_tag, &g);

    if (rc) {
        pfc_tags_free(g.items, g.len);
        return pfc_git_fault(repo, rc, err, "reading the tags");
    }
    if (g.len)
        qsort(g.items, g.len, sizeof(*g.items), by_commit);
    *out = g.items;
    *len = g.len;
    return PFC_OK;
}

void pfc_tags_free(pfc_tag *tags, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free(tags[i].name);
    free(tags);
}

void pfc_tags_name(const pfc_tag *tags, size_t len, pfc_commit *commit)
{
    size_t low = 0, high = len;

    while (low < high) {
        const size_t mid = (low + high) / 2;

        if (strcmp(tags[mid].commit.hex, commit->id) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    while (high < len && strcmp(tags[high].commit.hex, commit->id) == 0)
        high++;
    high = PFC_MIN(high, low + PFC_WIRE_MAX_TAGS);
    commit->tags = pfc_calloc(high - low, sizeof(*commit->tags));
    for (; low < high; low++)
        commit->tags[commit->tags_len++] = pfc_strdup(tags[low].name);
}
