/*
 * Release tags: which names are versions, and which commits they point to.
 */
#include "core/git/tags.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/git/repo_priv.h"

#define PREFIX "refs/tags/"

/* A word such as "rc" or "beta" anywhere in the name. */
static bool is_preview(const char *name)
{
    static const char *const words[] = { "rc",         "alpha", "beta",    "pre",      "preview",
                                         "prerelease", "dev",   "nightly", "snapshot", "test" };

    for (const char *p = name; *p; p += isalpha((unsigned char)*p) ? 0 : 1) {
        size_t len = 0;

        while (isalpha((unsigned char)p[len]))
            len++;
        for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++)
            if (len == strlen(words[i]) && strncasecmp(p, words[i], len) == 0)
                return true;
        p += len;
        if (!*p)
            break;
    }
    return false;
}

bool pfc_tag_is_release(const char *name)
{
    const char *slash = strrchr(name, '/'), *text = slash ? slash + 1 : name, *digits = text;
    const size_t prefix = strcspn(text, "0123456789");
    size_t numbers = 0;

    for (size_t i = 0; i < prefix; i++)
        if (!isalpha((unsigned char)text[i]) && !strchr("-_.", text[i]))
            return false;
    digits += prefix;
    for (const char *p = digits; *p; p++) {
        if (!isalnum((unsigned char)*p) && !strchr("-_.+", *p))
            return false;
        numbers += isdigit((unsigned char)*p) && (p == digits || !isalnum((unsigned char)p[-1]));
    }
    if (numbers == 0 || is_preview(text))
        return false;
    /* "v2" and "r128" are versions, "build17" is not; "lib-1.2" is one by its dot. */
    return numbers > 1 || prefix == 0 || (prefix == 1 && strchr("vVr", text[0])) ||
           strncasecmp(text, "release", 7) == 0;
}

typedef struct gathering {
    pfc_repo *repo;
    pfc_release *items;
    size_t len, cap;
} gathering;

/* Annotated tags are peeled; what does not end in a commit is left out. */
static int take_tag(const char *name, git_oid *oid, void *into)
{
    gathering *g = into;
    git_object *object = NULL, *commit = NULL;

    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return 0;
    name += strlen(PREFIX);
    if (!pfc_tag_is_release(name) || strlen(name) > PFC_WIRE_MAX_NAME ||
        git_object_lookup(&object, g->repo->git, oid, GIT_OBJECT_ANY))
        return 0;
    if (git_object_peel(&commit, object, GIT_OBJECT_COMMIT) == 0) {
        g->items = pfc_grow(g->items, g->len, &g->cap, sizeof(*g->items));
        g->items[g->len].name = pfc_strdup(name);
        pfc_git_id(git_object_id(commit), &g->items[g->len++].commit);
    }
    git_object_free(commit);
    git_object_free(object);
    return 0;
}

static int by_commit(const void *a, const void *b)
{
    const pfc_release *x = a, *y = b;
    const int order = strcmp(x->commit.hex, y->commit.hex);

    return order ? order : strcmp(x->name, y->name);
}

pfc_code pfc_repo_releases(pfc_repo *repo, pfc_release **out, size_t *len, pfc_err *err)
{
    gathering g = { .repo = repo };
    const int rc = git_tag_foreach(repo->git, take_tag, &g);

    if (rc) {
        pfc_releases_free(g.items, g.len);
        return pfc_git_fault(repo, rc, err, "reading the tags");
    }
    if (g.len)
        qsort(g.items, g.len, sizeof(*g.items), by_commit);
    *out = g.items;
    *len = g.len;
    return PFC_OK;
}

void pfc_releases_free(pfc_release *releases, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free(releases[i].name);
    free(releases);
}

void pfc_releases_name(const pfc_release *releases, size_t len, pfc_commit *commit)
{
    size_t low = 0, high = len;

    while (low < high) {
        const size_t mid = (low + high) / 2;

        if (strcmp(releases[mid].commit.hex, commit->id) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    while (high < len && strcmp(releases[high].commit.hex, commit->id) == 0)
        high++;
    high = PFC_MIN(high, low + PFC_WIRE_MAX_TAGS);
    commit->tags = pfc_calloc(high - low, sizeof(*commit->tags));
    for (; low < high; low++)
        commit->tags[commit->tags_len++] = pfc_strdup(releases[low].name);
}
