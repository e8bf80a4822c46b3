/*
 * The repository that commits come from. A folder is read in place, so new commits are visible at
 * once. A URL is mirrored once and fetched when a commit is missing. The git program does both,
 * because it supports every transport, proxy and credential helper that the user configured.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/hash.h"
#include "runner/workspace/workspace_priv.h"

#define MAX_SOURCE 2048

/* "ext::sh -c ..." would be a command, "-u..." an option: only these transports are accepted. */
static bool is_url(const char *source)
{
    static const char *const schemes[] = { "https://", "http://", "ssh://", "file://" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(schemes); i++) {
        if (strncmp(source, schemes[i], strlen(schemes[i])) == 0)
            return true;
    }
    return strncmp(source, "git@", 4) == 0 && strchr(source, ':');
}

static pfc_code run_git(const char *const *argv, const char *what, const pfc_workspace_opts *opts,
                        pfc_err *err)
{
    const pfc_command cmd = {
        .argv = argv,
        .merge = true,
        .timeout_s = opts->build_timeout_s > 0 ? opts->build_timeout_s : PFC_WORKSPACE_TIMEOUT_S,
        .cancelled = opts->cancelled,
        .cancelled_arg = opts->cancelled_arg,
    };
    pfc_proc_result res;
    char how[128];
    char line[200];
    pfc_code code = pfc_command_run(&cmd, &res, err);

    if (code)
        return pfc_err_wrap(err, "%s", what);
    if (res.exit_status != 0) {
        pfc_proc_describe(&res, how, sizeof(how));
        pfc_command_error_line(pfc_buf_text(&res.out), line, sizeof(line));
        code = pfc_err_set(err, PFC_EUNAVAIL, "%s: git ended with %s: %s", what, how, line);
    }
    pfc_proc_result_clear(&res);
    return code;
}

static pfc_code clone_mirror(const char *mirror, const pfc_workspace_opts *opts, pfc_err *err)
{
    char *half = pfc_format("%s.half", mirror);
    const char *const argv[] = { "git",   "-c",         "protocol.ext.allow=never",
                                 "clone", "--quiet",    "--mirror",
                                 "--",    opts->source, half,
                                 NULL };
    pfc_code code = pfc_fs_remove_tree(half, err);

    if (code == PFC_OK)
        code = run_git(argv, "mirror the repository", opts, err);
    /* Only a complete clone gets the name: after a kill the clone is started again. */
    if (code == PFC_OK && rename(half, mirror) != 0)
        code = pfc_err_set(err, PFC_EIO, "rename %s: %s", half, strerror(errno));
    free(half);
    return code;
}

pfc_code pfc_source_fetch(const char *mirror, const pfc_workspace_opts *opts, pfc_err *err)
{
    const char *const argv[] = {
        "git",   "--git-dir", mirror,    "-c",     "protocol.ext.allow=never",
        "fetch", "--quiet",   "--prune", "origin", NULL
    };

    return run_git(argv, "fetch", opts, err);
}

pfc_code pfc_source_open(const pfc_workspace_opts *opts, pfc_repo **repo, char **mirror,
                         pfc_err *err)
{
    char hash[PFC_SHA256_HEX];
    char *folder = NULL;
    char *path = NULL;
    pfc_code code = PFC_OK;

    *mirror = NULL;
    if (!opts->source || !opts->source[0] || strlen(opts->source) > MAX_SOURCE)
        return pfc_err_set(err, PFC_EINVAL, "source: expected a folder or URL of 1..%d bytes",
                           MAX_SOURCE);
    if (pfc_fs_is_dir(opts->source))
        return pfc_repo_open(opts->source, repo, err);
    if (!is_url(opts->source))
        return pfc_err_set(
            err, PFC_ENOTFOUND,
            "source '%s' is neither a folder on this machine nor an http, https, ssh or file "
            "URL: make the project with --repo-url URL, or give perfci nightly "
            "--source URL",
            opts->source);

    pfc_sha256_hex(opts->source, strlen(opts->source), hash);
    folder = pfc_fs_join(opts->dir, "mirrors");
    path = pfc_format("%s/%.16s.git", folder, hash);
    code = pfc_fs_mkdirs(folder, 0700, err);
    if (code == PFC_OK && !pfc_fs_is_dir(path))
        code = clone_mirror(path, opts, err);
    if (code == PFC_OK)
        code = pfc_repo_open(path, repo, err);
    free(folder);
    if (code) {
        free(path);
        return code;
    }
    *mirror = path;
    return PFC_OK;
}
