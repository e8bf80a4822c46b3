/*
 * The commits between the two ends, from a file or from a repository. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_COMMITS_H
#define PFC_CLI_BISECT_COMMITS_H

#include "core/base/err.h"
#include "core/git/repo.h"

#define BISECT_MAX_ID   64
#define BISECT_MAX_FILE (256u * 1024 * 1024)

typedef struct bisect_commit {
    char *id;
    bool touches; /* a path that one of the globs matches */
} bisect_commit;

/* Oldest first, the good one first, the bad one last. */
typedef struct bisect_commits {
    bisect_commit *items;
    size_t len;
    size_t cap;
} bisect_commits;

/* Path patterns of the benchmark's files. "kernels" and "kernels/" match every file below; '*'
 * matches slashes too. */
typedef struct bisect_globs {
    char *const *items;
    size_t len;
} bisect_globs;

/* A file of ids, one a line, oldest first; optionally a tab and the touched paths, separated by
 * commas. good and bad select a part of it; NULL: its first and last line. */
pfc_code bisect_commits_file(const char *path, const char *good, const char *bad,
                             const bisect_globs *globs, bisect_commits *out,
                             pfc_err *err) PFC_MUSTCHECK;
/* First-parent history from good to bad. */
pfc_code bisect_commits_repo(pfc_repo *repo, const char *good, const char *bad,
                             const bisect_globs *globs, bisect_commits *out,
                             pfc_err *err) PFC_MUSTCHECK;
/* Appends one that touches nothing. */
void bisect_commits_add(bisect_commits *commits, const char *id);
bool bisect_is_id(const char *text);
/* Keeps the commits from good to bad (NULL: the list's own ends). PFC_EINVAL for fewer than two,
 * for a duplicate, and when bad comes before good. `file`: for errors. */
pfc_code bisect_commits_ends(bisect_commits *commits, const char *file, const char *good,
                             const char *bad, pfc_err *err) PFC_MUSTCHECK;
void bisect_commits_clear(bisect_commits *commits);
/* Weight of each commit for the planner, or NULL where it is equal for all; free it. */
double *bisect_commits_prior(const bisect_commits *commits);

#endif
