/*
 * Opening a repository, with a plain sentence for each kind that cannot be used, and resolving
 * revisions. libgit2 1.5 says "unsupported extension name" of a SHA-256 repository, so that is
 * looked at first; owners are checked in safe_directory.c.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/parse.h"
#include "core/git/repo_priv.h"

#define UNSHALLOW "the clone is shallow: run `git fetch --unshallow` (in CI: fetch-depth: 0)"

void pfc_git_id(const git_oid *oid, pfc_commit_id *out)
{
    git_oid_tostr(out->hex, sizeof(out->hex), oid);
}

static const char *git_reason(void)
{
    const git_error *last = git_error_last();

    return last && last->message ? last->message : "no reason given";
}

pfc_code pfc_git_fault(const pfc_repo *repo, int rc, pfc_err *err, const char *fmt, ...)
{
    char what[PFC_ERR_MAX];
    const char *reason = git_reason();
    pfc_code code = PFC_EIO;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);

    if (rc == GIT_ENOTFOUND || rc == GIT_EUNBORNBRANCH) {
        code = PFC_ENOTFOUND;
        if (repo && repo->shallow)
            reason = UNSHALLOW;
    } else if (rc == GIT_EAMBIGUOUS || rc == GIT_EINVALIDSPEC || rc == GIT_EPEEL) {
        code = PFC_EINVAL;
    }
    return pfc_err_set(err, code, "%s: %s", what, reason);
}

static pfc_code check_object_format(const char *git_dir, pfc_err *err)
{
    char *path = pfc_fs_join(git_dir, "config");
    git_config *config = NULL;
    git_config *snapshot = NULL;
    const char *format = NULL;
    pfc_code code = PFC_OK;

    /* A linked worktree has no config beside it, and then none of this repository's formats. */
    if (git_config_open_ondisk(&config, path) == 0 && git_config_snapshot(&snapshot, config) == 0 &&
        git_config_get_string(&format, snapshot, "extensions.objectformat") == 0 &&
        strcmp(format, "sha1") != 0)
        code =
            pfc_err_set(err, PFC_EINVAL, "%s uses the object format %s, and only sha1 can be read",
                        git_dir, format);
    git_config_free(snapshot);
    git_config_free(config);
    free(path);
    return code;
}

static char *without_slash(const char *path)
{
    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/')
        len--;
    return pfc_strndup(path, len);
}

static pfc_code open_found(const char *dir, const char *git_dir, git_repository **out, pfc_err *err)
{
    pfc_code code = check_object_format(git_dir, err);
    int rc;

    if (code)
        return code;
    rc = git_repository_open(out, git_dir);
    if (rc)
        return pfc_git_fault(NULL, rc, err, "open the repository of %s", dir);
    code = pfc_git_check_owner(*out, err);
    if (code) {
        git_repository_free(*out);
        *out = NULL;
    }
    return code;
}

pfc_code pfc_repo_open(const char *dir, pfc_repo **out, pfc_err *err)
{
    git_buf found = { 0 };
    git_repository *git = NULL;
    pfc_repo *repo;
    const char *root;
    pfc_code code;
    int rc;

    if (git_libgit2_init() < 0)
        return pfc_err_set(err, PFC_EIO, "libgit2 does not start: %s", git_reason());
    (void)git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0); /* pfc_git_check_owner does it */
    if (!pfc_fs_is_dir(dir)) {
        code = pfc_err_set(err, PFC_ENOTFOUND, "%s: no such folder", dir);
        goto fail;
    }
    rc = git_repository_discover(&found, dir, 0, NULL);
    if (rc) {
        code = pfc_err_set(err, PFC_ENOTFOUND, "%s is not in a git repository", dir);
        goto fail;
    }
    code = open_found(dir, found.ptr, &git, err);
    if (code)
        goto fail;

    repo = pfc_alloc(sizeof(*repo));
    repo->git = git;
    root = git_repository_workdir(git);
    repo->root = without_slash(root ? root : git_repository_path(git));
    repo->git_dir = without_slash(git_repository_commondir(git));
    repo->shallow = git_repository_is_shallow(git) == 1;
    git_buf_dispose(&found);
    *out = repo;
    return PFC_OK;

fail:
    git_buf_dispose(&found);
    (void)git_libgit2_shutdown();
    return code;
}

void pfc_repo_close(pfc_repo *repo)
{
    if (!repo)
        return;
    git_repository_free(repo->git);
    free(repo->root);
    free(repo->git_dir);
    free(repo);
    (void)git_libgit2_shutdown();
}

const char *pfc_repo_root(const pfc_repo *repo)
{
    return repo->root;
}

const char *pfc_repo_git_dir(const pfc_repo *repo)
{
    return repo->git_dir;
}

bool pfc_repo_is_bare(const pfc_repo *repo)
{
    return git_repository_is_bare(repo->git) == 1;
}

bool pfc_repo_is_shallow(const pfc_repo *repo)
{
    return repo->shallow;
}

char *pfc_repo_branch(const pfc_repo *repo)
{
    git_reference *head = NULL;
    const char *name = NULL;
    char *copy = NULL;

    if (git_repository_head(&head, repo->git) == 0 && git_branch_name(&name, head) == 0)
        copy = pfc_strdup(name);
    git_reference_free(head);
    return copy;
}

pfc_code pfc_repo_resolve(pfc_repo *repo, const char *revision, pfc_commit_id *out, pfc_err *err)
{
    git_object *object = NULL;
    git_object *commit = NULL;
    pfc_code code = PFC_OK;
    int rc;

    if (!revision[0])
        return pfc_err_set(err, PFC_EINVAL,
                           "revision: expected a branch, tag or commit, got nothing");
    if (strlen(revision) > PFC_REPO_MAX_REVISION)
        return pfc_err_set(err, PFC_EINVAL, "revision: expected at most %d bytes, got %zu",
                           PFC_REPO_MAX_REVISION, strlen(revision));
    rc = git_revparse_single(&object, repo->git, revision);
    if (rc == 0)
        rc = git_object_peel(&commit, object, GIT_OBJECT_COMMIT);
    if (rc == GIT_EAMBIGUOUS)
        code =
            pfc_err_set(err, PFC_EINVAL, "revision '%s' is ambiguous: give more digits", revision);
    else if (rc && object)
        code = pfc_err_set(err, PFC_EINVAL, "'%s' names no commit in %s, but a %s", revision,
                           repo->root, git_object_type2string(git_object_type(object)));
    else if (rc == GIT_EINVALIDSPEC)
        code = pfc_err_set(err, PFC_EINVAL, "'%s' is no revision that git can read", revision);
    else if (rc == GIT_ENOTFOUND || rc == GIT_EUNBORNBRANCH)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no revision '%s' in %s%s%s", revision, repo->root,
                           repo->shallow ? "; " : "", repo->shallow ? UNSHALLOW : "");
    else if (rc)
        code = pfc_git_fault(repo, rc, err, "revision '%s' in %s", revision, repo->root);
    else
        pfc_git_id(git_object_id(commit), out);
    git_object_free(commit);
    git_object_free(object);
    return code;
}

pfc_code pfc_git_commit(pfc_repo *repo, const pfc_commit_id *id, git_commit **out, pfc_err *err)
{
    git_oid oid;
    int rc;

    if (strlen(id->hex) != PFC_COMMIT_HEX - 1 || git_oid_fromstr(&oid, id->hex) != 0)
        return pfc_err_set(err, PFC_EINVAL, "commit: expected 40 hexadecimal digits, got '%s'",
                           id->hex);
    rc = git_commit_lookup(out, repo->git, &oid);
    return rc ? pfc_git_fault(repo, rc, err, "commit %.12s in %s", id->hex, repo->root) : PFC_OK;
}

pfc_code pfc_repo_dirty(pfc_repo *repo, size_t *changed, char **example, pfc_err *err)
{
    git_status_options opts;
    git_status_list *list = NULL;
    int rc;

    *changed = 0;
    if (example)
        *example = NULL;
    if (pfc_repo_is_bare(repo))
        return PFC_OK;
    (void)git_status_options_init(&opts, GIT_STATUS_OPTIONS_VERSION);
    opts.show = GIT_STATUS_SHOW_INDEX_AND_WORKDIR;
    opts.flags = GIT_STATUS_OPT_EXCLUDE_SUBMODULES;
    rc = git_status_list_new(&list, repo->git, &opts);
    if (rc)
        return pfc_git_fault(repo, rc, err, "status of %s", repo->root);
    *changed = git_status_list_entrycount(list);
    if (*changed && example) {
        const git_status_entry *entry = git_status_byindex(list, 0);
        const git_diff_delta *delta =
            entry->index_to_workdir ? entry->index_to_workdir : entry->head_to_index;

        *example = pfc_strdup(delta->new_file.path ? delta->new_file.path : delta->old_file.path);
    }
    git_status_list_free(list);
    return PFC_OK;
}
