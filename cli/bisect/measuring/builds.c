/*
 * Checkouts and builds.
 */
#include "cli/bisect/measuring/builds.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

static char *folder_of(const bisect_builds *b, const bisect_opts *opts)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    const char *git_dir = pfc_repo_git_dir(b->repo);
    char hash[PFC_SHA256_HEX];

    if (opts->work)
        return pfc_strdup(opts->work);
    pfc_sha256_hex(git_dir, strlen(git_dir), hash);
    if (cache && cache[0] == '/')
        return pfc_format("%s/perfci/work-%.12s", cache, hash);
    return pfc_format("%s/.cache/perfci/work-%.12s", home && home[0] == '/' ? home : "/tmp", hash);
}

pfc_code bisect_builds_open(bisect_builds *b, const bisect_opts *opts, double timeout_s,
                            pfc_err *err)
{
    if (b->workspace)
        return PFC_OK;
    free(b->folder); /* of a workspace that was released */
    b->folder = folder_of(b, opts);
    b->opts.dir = b->folder;
    b->opts.source = pfc_repo_root(b->repo);
    b->opts.build_timeout_s = timeout_s;
    return pfc_workspace_open(&b->opts, &b->workspace, err);
}

void bisect_builds_release(bisect_builds *b)
{
    pfc_workspace_close(b->workspace);
    b->workspace = NULL;
}

void bisect_builds_clear(bisect_builds *b)
{
    bisect_builds_release(b);
    pfc_repo_close(b->repo);
    free(b->folder);
    *b = (bisect_builds){ 0 };
}

bool bisect_builds_relink(const bisect_builds *b, const bisect_opts *opts)
{
    return opts->relink || b->opts.relink;
}
