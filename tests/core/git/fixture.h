/*
 * A real repository in a temporary folder, made by the git program: same names, same dates, same
 * commit ids on every machine, whatever the caller's own git configuration says.
 */
#ifndef PFC_TESTS_CORE_GIT_FIXTURE_H
#define PFC_TESTS_CORE_GIT_FIXTURE_H

#include "core/base/err.h"

typedef struct fixture {
    char *dir;    /* holds everything, removed by fixture_clear */
    char *repo;   /* dir/repo */
    int64_t time; /* of the next commit; each is a minute after the one before */
} fixture;

/** `git init` with branch main; also shields this process from the user's git configuration. */
void fixture_init(fixture *f);
void fixture_clear(fixture *f);
/** Runs git in `dir` with these words (split at spaces, "_" standing for a space inside one) and
 *  returns its first line of output, caller frees. Ends the process with git's words on failure. */
char *fixture_git(fixture *f, const char *dir, const char *words);
/** The same without looking at the output. */
void fixture_do(fixture *f, const char *words);
/** Writes a file below the repository, making its folders. */
void fixture_write(fixture *f, const char *path, const char *text);
/** Writes a file and commits everything; the id is the caller's to free. */
char *fixture_commit(fixture *f, const char *path, const char *text, const char *subject);

#endif
