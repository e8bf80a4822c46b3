#include "tests/core/git/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <git2.h>

#include "core/base/fs.h"
#include "core/base/process/proc.h"

#define MAX_WORDS 32

static void check(pfc_code code, const pfc_err *err)
{
    if (code)
        pfc_die("fixture: %s", err->msg);
}

static char *run_git(fixture *f, const char *dir, const char *const *argv)
{
    char date[64];
    char author[64];
    const char *const env[] = { "GIT_CONFIG_NOSYSTEM=1",
                                "GIT_CONFIG_GLOBAL=/dev/null",
                                author,
                                date,
                                "GIT_AUTHOR_NAME=Ada",
                                "GIT_AUTHOR_EMAIL=ada@example.org",
                                "GIT_COMMITTER_NAME=Ada",
                                "GIT_COMMITTER_EMAIL=ada@example.org",
                                "GIT_DIR",
                                "GIT_WORK_TREE",
                                "GIT_INDEX_FILE",
                                NULL };
    pfc_proc_opts opts = { .argv = argv, .env = env, .cwd = dir, .timeout_s = 600 };
    pfc_proc_result res;
    pfc_err err = { 0 };
    char *line;

    (void)snprintf(author, sizeof(author), "GIT_AUTHOR_DATE=%lld +0000", (long long)f->time);
    (void)snprintf(date, sizeof(date), "GIT_COMMITTER_DATE=%lld +0000", (long long)f->time);
    check(pfc_proc_run(&opts, &res, &err), &err);
    if (res.exit_status != 0)
        pfc_die("fixture: git %s: exit status %d: %s", argv[1], res.exit_status,
                pfc_buf_text(&res.err));
    line = pfc_strndup(pfc_buf_text(&res.out), strcspn(pfc_buf_text(&res.out), "\n"));
    pfc_proc_result_clear(&res);
    return line;
}

char *fixture_git(fixture *f, const char *dir, const char *words)
{
    const char *argv[MAX_WORDS + 2] = { "git" };
    char *copy = pfc_strdup(words);
    char *save = NULL;
    char *line;
    size_t len = 1;

    for (char *word = strtok_r(copy, " ", &save); word && len <= MAX_WORDS;
         word = strtok_r(NULL, " ", &save)) {
        for (char *c = word; *c; c++)
            *c = *c == '_' ? ' ' : *c;
        argv[len++] = word;
    }
    line = run_git(f, dir, argv);
    free(copy);
    return line;
}

void fixture_do(fixture *f, const char *words)
{
    free(fixture_git(f, f->repo, words));
}

void fixture_init(fixture *f)
{
    pfc_err err = { 0 };

    *f = (fixture){ .time = 1700000000 };
    check(pfc_fs_temp_dir("perfci-git", &f->dir, &err), &err);
    f->repo = pfc_fs_join(f->dir, "repo");
    (void)setenv("HOME", f->dir, 1);
    (void)setenv("XDG_CONFIG_HOME", f->dir, 1);
    /* Criterion itself starts libgit2, which looks at $HOME once, before any test runs. */
    (void)git_libgit2_init();
    for (int level = GIT_CONFIG_LEVEL_PROGRAMDATA; level <= GIT_CONFIG_LEVEL_GLOBAL; level++)
        (void)git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, level, f->dir);
    (void)setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    (void)setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    /* A checkout that holds the build must not be found from the temporary folder. */
    (void)setenv("GIT_CEILING_DIRECTORIES", f->dir, 1);
    (void)unsetenv("GIT_DIR");
    (void)unsetenv("SUDO_UID");
    free(fixture_git(f, f->dir, "init -q -b main repo"));
}

void fixture_clear(fixture *f)
{
    pfc_err err = { 0 };

    check(pfc_fs_remove_tree(f->dir, &err), &err);
    (void)git_libgit2_shutdown();
    free(f->dir);
    free(f->repo);
    *f = (fixture){ 0 };
}

void fixture_write(fixture *f, const char *path, const char *text)
{
    char *full = pfc_fs_join(f->repo, path);
    char *slash = strrchr(full, '/');
    pfc_err err = { 0 };

    *slash = '\0';
    check(pfc_fs_mkdirs(full, 0755, &err), &err);
    *slash = '/';
    check(pfc_fs_write_atomic(full, text, strlen(text), 0644, &err), &err);
    free(full);
}

char *fixture_commit(fixture *f, const char *path, const char *text, const char *subject)
{
    const char *const commit[] = { "git", "commit", "-q", "--no-gpg-sign", "-m", subject, NULL };

    f->time += 60;
    fixture_write(f, path, text);
    fixture_do(f, "add -A");
    free(run_git(f, f->repo, commit));
    return fixture_git(f, f->repo, "rev-parse HEAD");
}
