/*
 * The first-parent line: the history that a branch's measurements lie on. Side branches enter it
 * as one merge, because that is the unit that was reviewed, built and landed.
 */
#include <stdlib.h>
#include <string.h>

#include "core/git/repo_priv.h"

typedef struct id_list {
    pfc_commit_id *items;
    size_t len;
    size_t cap;
} id_list;

static void id_list_add(id_list *list, const git_oid *oid)
{
    list->items = pfc_grow(list->items, list->len, &list->cap, sizeof(*list->items));
    pfc_git_id(oid, &list->items[list->len++]);
}

static void id_list_reverse(id_list *list)
{
    for (size_t i = 0, j = list->len; i + 1 < j; i++) {
        pfc_commit_id swap = list->items[i];

        list->items[i] = list->items[--j];
        list->items[j] = swap;
    }
}

typedef struct walk_end {
    size_t max;           /* stop after this many commits */
    const git_oid *until; /* stop behind this commit; NULL: at the root */
    bool reached;         /* out: `until` was met */
    bool cut;             /* out: a parent is missing (shallow) */
} walk_end;

/* First parents from `tip` downwards, newest first. */
static pfc_code walk(pfc_repo *repo, const pfc_commit_id *tip, walk_end *end, id_list *list,
                     pfc_err *err)
{
    git_commit *commit = NULL;
    pfc_code code = pfc_git_commit(repo, tip, &commit, err);

    while (code == PFC_OK) {
        git_commit *parent = NULL;
        int rc;

        id_list_add(list, git_commit_id(commit));
        end->reached = end->until && git_oid_equal(git_commit_id(commit), end->until);
        if (end->reached || list->len >= end->max)
            break;
        if (git_commit_parentcount(commit) == 0) {
            /* libgit2 1.7 and newer: the commit at the edge of a shallow clone has none, as in
             * git's log. */
            end->cut = repo->shallow && strstr(git_commit_raw_header(commit), "\nparent ") != NULL;
            break;
        }
        rc = git_commit_parent(&parent, commit, 0);
        if (rc == GIT_ENOTFOUND && repo->shallow) {
            end->cut = true;
            break;
        }
        if (rc) {
            code = pfc_git_fault(repo, rc, err, "the parent of %.12s in %s",
                                 list->items[list->len - 1].hex, repo->root);
            break;
        }
        git_commit_free(commit);
        commit = parent;
    }
    git_commit_free(commit);
    return code;
}

static pfc_code merge_base(pfc_repo *repo, const pfc_commit_id *a, const pfc_commit_id *b,
                           git_oid *out, pfc_err *err)
{
    git_oid one, two;
    int rc;

    if (git_oid_fromstr(&one, a->hex) != 0 || git_oid_fromstr(&two, b->hex) != 0)
        return pfc_err_set(err, PFC_EINVAL,
                           "merge base: expected two full commit ids, got '%s', '%s'", a->hex,
                           b->hex);
    rc = git_merge_base(out, repo->git, &one, &two);
    if (rc == GIT_ENOTFOUND && !repo->shallow)
        return pfc_err_set(err, PFC_ENOTFOUND, "%.12s and %.12s have no common ancestor in %s",
                           a->hex, b->hex, repo->root);
    return rc ? pfc_git_fault(repo, rc, err, "merge base of %.12s and %.12s", a->hex, b->hex)
              : PFC_OK;
}

pfc_code pfc_repo_merge_base(pfc_repo *repo, const pfc_commit_id *a, const pfc_commit_id *b,
                             pfc_commit_id *out, pfc_err *err)
{
    git_oid base;
    pfc_code code = merge_base(repo, a, b, &base, err);

    if (code == PFC_OK)
        pfc_git_id(&base, out);
    return code;
}

/* The oldest commit of the line (newest first) that contains `good`: descent is monotone along it,
 * so log2 n questions answer. */
static size_t entry_of(pfc_repo *repo, const id_list *line, const git_oid *good)
{
    size_t low = 0, high = line->len; /* items[low] contains it, items[high] does not */

    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        git_oid oid;

        (void)git_oid_fromstr(&oid, line->items[mid].hex);
        if (git_graph_descendant_of(repo->git, &oid, good) == 1)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* `good` is not a first-parent ancestor of `bad`: the message names their merge base. */
static pfc_code explain_apart(pfc_repo *repo, const id_list *line, const pfc_commit_id *good,
                              const pfc_commit_id *bad, pfc_err *err)
{
    pfc_commit_id base_id;
    git_oid base, good_oid;
    pfc_code code = merge_base(repo, good, bad, &base, err);

    if (code)
        return pfc_err_wrap(err, "good %.12s is no ancestor of bad %.12s", good->hex, bad->hex);
    pfc_git_id(&base, &base_id);
    if (strcmp(base_id.hex, bad->hex) == 0)
        return pfc_err_set(err, PFC_EINVAL,
                           "bad %.12s is an ancestor of good %.12s: the two ends are swapped",
                           bad->hex, good->hex);
    if (strcmp(base_id.hex, good->hex) == 0) {
        (void)git_oid_fromstr(&good_oid, good->hex);
        return pfc_err_set(err, PFC_EINVAL,
                           "good %.12s is not on the first-parent line of bad %.12s: it came in "
                           "with the merge %.12s; take that merge's first parent as good",
                           good->hex, bad->hex, line->items[entry_of(repo, line, &good_oid)].hex);
    }
    return pfc_err_set(err, PFC_EINVAL,
                       "good %.12s is no ancestor of bad %.12s; their merge base is %s", good->hex,
                       bad->hex, base_id.hex);
}

pfc_code pfc_repo_path(pfc_repo *repo, const pfc_commit_id *good, const pfc_commit_id *bad,
                       pfc_commit_id **ids, size_t *len, pfc_err *err)
{
    git_oid until;
    git_commit *first = NULL;
    id_list list = { 0 };
    walk_end end = { .max = PFC_REPO_MAX_COMMITS + 1, .until = &until };
    pfc_code code = pfc_git_commit(repo, good, &first, err);

    if (code)
        return pfc_err_wrap(err, "good commit");
    git_oid_cpy(&until, git_commit_id(first));
    git_commit_free(first);

    code = walk(repo, bad, &end, &list, err);
    if (code == PFC_OK && list.len > PFC_REPO_MAX_COMMITS)
        code = pfc_err_set(err, PFC_ETOOBIG, "more than %d commits between %.12s and %.12s",
                           PFC_REPO_MAX_COMMITS, good->hex, bad->hex);
    if (code == PFC_OK && !end.reached && end.cut)
        code = pfc_git_fault(repo, GIT_ENOTFOUND, err, "history between %.12s and %.12s", good->hex,
                             bad->hex);
    if (code == PFC_OK && !end.reached)
        code = explain_apart(repo, &list, good, bad, err);
    if (code) {
        free(list.items);
        return code;
    }
    id_list_reverse(&list);
    *ids = list.items;
    *len = list.len;
    return PFC_OK;
}

pfc_code pfc_repo_history(pfc_repo *repo, const pfc_commit_id *tip, size_t max, pfc_commit_id **ids,
                          size_t *len, pfc_err *err)
{
    id_list list = { 0 };
    walk_end end = { .max = max };
    pfc_code code;

    if (max < 1 || max > PFC_REPO_MAX_COMMITS)
        return pfc_err_set(err, PFC_EINVAL, "history: expected 1..%d commits, got %zu",
                           PFC_REPO_MAX_COMMITS, max);
    code = walk(repo, tip, &end, &list, err);
    if (code) {
        free(list.items);
        return code;
    }
    id_list_reverse(&list);
    *ids = list.items;
    *len = list.len;
    return PFC_OK;
}
