/*
 * The commits of a bisection: from a file or from a repository.
 */
#include "cli/bisect/commits.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/bisect/bisect.h"
#include "core/suspects/suspects.h"

static void add(bisect_commits *commits, const char *id, bool touches)
{
    commits->items =
        pfc_grow(commits->items, commits->len, &commits->cap, sizeof(commits->items[0]));
    commits->items[commits->len++] = (bisect_commit){ pfc_strdup(id), touches };
}

void bisect_commits_add(bisect_commits *commits, const char *id)
{
    add(commits, id, false);
}

void bisect_commits_clear(bisect_commits *commits)
{
    for (size_t i = 0; i < commits->len; i++)
        free(commits->items[i].id);
    free(commits->items);
    *commits = (bisect_commits){ 0 };
}

/* ---- from a file ---- */

bool bisect_is_id(const char *text)
{
    const size_t len = strlen(text);

    if (len == 0 || len > BISECT_MAX_ID)
        return false;
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return true;
}

/* One line: the id, optionally a tab and paths separated by commas. */
static pfc_code read_line(char *line, const char *file, size_t number, const bisect_globs *globs,
                          bisect_commits *out, pfc_err *err)
{
    char *paths = strchr(line, '\t');
    char *save = NULL;
    bool touches = false;

    line[strcspn(line, "\r")] = '\0';
    if (paths) {
        *paths++ = '\0';
        for (char *p = strtok_r(paths, ",", &save); p; p = strtok_r(NULL, ",", &save))
            touches = touches || pfc_path_fits(p, globs->items, globs->len);
    }
    if (!*line)
        return PFC_OK;
    if (!bisect_is_id(line))
        return pfc_err_set(err, PFC_EINVAL,
                           "%.200s: line %zu: expected an id of at most %d printable characters",
                           file, number, BISECT_MAX_ID);
    if (out->len == PFC_BISECT_MAX_COMMITS)
        return pfc_err_set(err, PFC_ETOOBIG, "%.200s: more than %d commits", file,
                           PFC_BISECT_MAX_COMMITS);
    add(out, line, touches);
    return PFC_OK;
}

static int by_id(const void *a, const void *b)
{
    return strcmp((*(bisect_commit *const *)a)->id, (*(bisect_commit *const *)b)->id);
}

static pfc_code refuse_duplicates(const bisect_commits *commits, const char *file, pfc_err *err)
{
    const bisect_commit **sorted = pfc_calloc(commits->len + 1, sizeof(sorted[0]));
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < commits->len; i++)
        sorted[i] = &commits->items[i];
    qsort(sorted, commits->len, sizeof(sorted[0]), by_id);
    for (size_t i = 1; i < commits->len && !code; i++)
        if (strcmp(sorted[i - 1]->id, sorted[i]->id) == 0)
            code =
                pfc_err_set(err, PFC_EINVAL, "%.200s: commit %s occurs twice", file, sorted[i]->id);
    free(sorted);
    return code;
}

static pfc_code find_id(const bisect_commits *commits, const char *id, const char *flag, size_t *at,
                        pfc_err *err)
{
    for (*at = 0; *at < commits->len; ++*at)
        if (strcmp(commits->items[*at].id, id) == 0)
            return PFC_OK;
    return pfc_err_set(err, PFC_ENOTFOUND, "%s: %.64s is not in the list of commits", flag, id);
}

/* Keeps items first..last. */
static void narrow(bisect_commits *commits, size_t first, size_t last)
{
    const size_t len = last - first + 1;

    for (size_t i = 0; i < commits->len; i++)
        if (i < first || i > last)
            free(commits->items[i].id);
    memmove(commits->items, commits->items + first, len * sizeof(commits->items[0]));
    commits->len = len;
}

pfc_code bisect_commits_ends(bisect_commits *commits, const char *file, const char *good,
                             const char *bad, pfc_err *err)
{
    size_t first = 0;
    size_t last = commits->len ? commits->len - 1 : 0;
    pfc_code code = refuse_duplicates(commits, file, err);

    if (!code && good)
        code = find_id(commits, good, "--good", &first, err);
    if (!code && bad)
        code = find_id(commits, bad, "--bad", &last, err);
    if (code)
        return code;
    if (first > last)
        return pfc_err_set(err, PFC_EINVAL,
                           "%.200s: --good %s comes after --bad %s: the two ends are swapped; did "
                           "you mean --good %s --bad %s?",
                           file, commits->items[first].id, commits->items[last].id,
                           commits->items[last].id, commits->items[first].id);
    if (commits->len == 0 || first == last)
        return pfc_err_set(
            err, PFC_EINVAL,
            "%.200s: expected at least two commits, oldest first, the good one first", file);
    narrow(commits, first, last);
    return PFC_OK;
}

pfc_code bisect_commits_file(const char *path, const char *good, const char *bad,
                             const bisect_globs *globs, bisect_commits *out, pfc_err *err)
{
    char *text = NULL;
    char *save = NULL;
    size_t len = 0;
    size_t number = 0;
    pfc_code code = pfc_fs_read(path, BISECT_MAX_FILE, &text, &len, err);

    /* strsep, because strtok would skip empty lines in the count. */
    save = text;
    for (char *line = code ? NULL : strsep(&save, "\n"); line && !code; line = strsep(&save, "\n"))
        code = read_line(line, path, ++number, globs, out, err);
    free(text);
    return code ? code : bisect_commits_ends(out, path, good, bad, err);
}

/* ---- from a repository ---- */

static pfc_code touches_any(pfc_repo *repo, const pfc_commit_id *id, const bisect_globs *globs,
                            bool *out, pfc_err *err)
{
    pfc_commit commit = { 0 };
    pfc_code code = pfc_repo_commit(repo, id, &commit, err);

    *out = false;
    if (code)
        return code;
    for (size_t i = 0; i < commit.paths_len && !*out; i++)
        *out = pfc_path_fits(commit.paths[i], globs->items, globs->len);
    pfc_commit_clear(&commit);
    return PFC_OK;
}

pfc_code bisect_commits_repo(pfc_repo *repo, const char *good, const char *bad,
                             const bisect_globs *globs, bisect_commits *out, pfc_err *err)
{
    pfc_commit_id good_id;
    pfc_commit_id bad_id;
    pfc_commit_id base;
    pfc_commit_id *ids = NULL;
    size_t len = 0;
    pfc_code code = pfc_repo_resolve(repo, good, &good_id, err);

    if (code)
        return pfc_err_wrap(err, "--good");
    code = pfc_repo_resolve(repo, bad, &bad_id, err);
    if (code)
        return pfc_err_wrap(err, "--bad");
    if (strcmp(good_id.hex, bad_id.hex) == 0)
        return pfc_err_set(err, PFC_EINVAL, "--good and --bad are the same commit, %.12s",
                           good_id.hex);
    code = pfc_repo_path(repo, &good_id, &bad_id, &ids, &len, err);
    if (code == PFC_EINVAL && !pfc_repo_merge_base(repo, &good_id, &bad_id, &base, NULL) &&
        strcmp(base.hex, bad_id.hex) == 0)
        code = pfc_err_set(err, PFC_EINVAL,
                           "--good %.100s comes after --bad %.100s: the two ends are swapped; did "
                           "you mean --good %.100s --bad %.100s?",
                           good, bad, bad, good);
    for (size_t i = 0; i < len && !code; i++) {
        bool touches = false;

        if (globs->len > 0 && i > 0)
            code = touches_any(repo, &ids[i], globs, &touches, err);
        if (!code)
            add(out, ids[i].hex, touches);
    }
    free(ids);
    return code;
}

double *bisect_commits_prior(const bisect_commits *commits)
{
    double *weights = pfc_calloc(commits->len, sizeof(weights[0]));
    double *prior;

    for (size_t i = 0; i < commits->len; i++)
        weights[i] = commits->items[i].touches;
    prior = pfc_bisect_prior(weights, commits->len);
    free(weights);
    return prior;
}
