/*
 * The cache of checkouts. An entry is a folder
 *
 *   checkouts/COMMIT-BUILD-HASH/   HASH: of the build commands, the toolchain and the network, so
 *                                  that a change of one of them builds again
 *     tree/       the checkout, built in place
 *     build.log   what the build printed
 *     manifest    of a sandboxed build: its files (sandbox/manifest.h)
 *     state       "ok", or "broken" and the reason; written last, by rename: without it the entry
 *                 is unfinished and is thrown away
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "runner/sandbox/manifest.h"
#include "runner/workspace/workspace_priv.h"

#define MAX_LOG_BYTES   (16u * 1024 * 1024)
#define MAX_STATE_BYTES 4096

struct pfc_workspace {
    pfc_workspace_opts opts;
    char *dir;       /* absolute */
    char *checkouts; /* dir/checkouts */
    char *mirror;    /* NULL: the source is a folder */
    pfc_repo *repo;
    int lock_fd;
    bool network; /* of sandboxed builds */
    char toolchain[PFC_SHA256_HEX];
    char **checked; /* names of entries whose manifest held since the workspace was opened */
    size_t checked_len, checked_cap;
};

static pfc_code take_lock(pfc_workspace *ws, pfc_err *err)
{
    char *path = pfc_fs_join(ws->dir, "lock");
    pfc_code code = PFC_OK;

    ws->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (ws->lock_fd < 0)
        code = pfc_err_set(err, PFC_EIO, "open %s: %s", path, strerror(errno));
    else if (flock(ws->lock_fd, LOCK_EX | LOCK_NB) != 0)
        code = pfc_err_set(err, PFC_ECONFLICT, "%s is in use by another perfci process", ws->dir);
    free(path);
    return code;
}

pfc_code pfc_workspace_open(const pfc_workspace_opts *opts, pfc_workspace **out, pfc_err *err)
{
    pfc_workspace *ws;
    pfc_code code = pfc_fs_mkdirs(opts->dir, 0700, err);

    if (code)
        return pfc_err_wrap(err, "workspace");
    ws = pfc_alloc(sizeof(*ws));
    ws->opts = *opts;
    ws->lock_fd = -1;
    ws->dir = realpath(opts->dir, NULL);
    if (!ws->dir) {
        code = pfc_err_set(err, PFC_EIO, "workspace %s: %s", opts->dir, strerror(errno));
        goto fail;
    }
    ws->opts.dir = ws->dir;
    ws->checkouts = pfc_fs_join(ws->dir, "checkouts");
    if (ws->opts.max_checkouts == 0)
        ws->opts.max_checkouts = PFC_WORKSPACE_CHECKOUTS;
    pfc_workspace_build_by(ws, opts->build, opts->relink, opts->build_timeout_s);
    pfc_toolchain_hash(ws->toolchain);
    code = pfc_fs_mkdirs(ws->checkouts, 0700, err);
    if (code == PFC_OK)
        code = take_lock(ws, err);
    if (code == PFC_OK)
        code = pfc_source_open(&ws->opts, &ws->repo, &ws->mirror, err);
    if (code)
        goto fail;
    *out = ws;
    return PFC_OK;

fail:
    pfc_workspace_close(ws);
    return code;
}

void pfc_workspace_close(pfc_workspace *ws)
{
    if (!ws)
        return;
    pfc_repo_close(ws->repo);
    if (ws->lock_fd >= 0)
        (void)close(ws->lock_fd);
    free(ws->dir);
    free(ws->checkouts);
    free(ws->mirror);
    for (size_t i = 0; i < ws->checked_len; i++)
        free(ws->checked[i]);
    free(ws->checked);
    free(ws);
}

void pfc_workspace_drop_caches(const char *dir)
{
    DIR *folder = opendir(dir);
    const struct dirent *found;
    pfc_err err = { 0 };

    while (folder && (found = readdir(folder)) != NULL) {
        char *checkouts = pfc_format("%s/%s/checkouts", dir, found->d_name);

        if (strncmp(found->d_name, "cache-", 6) == 0 && pfc_fs_is_dir(checkouts) &&
            pfc_cache_make_room(checkouts, 0, "", &err) != PFC_OK)
            pfc_log(PFC_WARN, "cache_not_removed", "reason", err.msg);
        free(checkouts);
    }
    if (folder)
        (void)closedir(folder);
}

pfc_repo *pfc_workspace_repo(pfc_workspace *ws)
{
    return ws->repo;
}

/* One folder of the cache while it is worked on. */
typedef struct checkout {
    char *name;
    char *dir;
    char *tree;
    char *log;
    char *state;
    char *manifest;
} checkout;

static void checkout_init(const pfc_workspace *ws, const pfc_commit_id *id, unsigned build,
                          checkout *co)
{
    char hash[PFC_SHA256_HEX];
    /* The unit separator does not occur in commands, so two different lists give different texts.
     * A build that could not download what it needs says nothing of one that can. */
    char *commands = pfc_format("%s\x1f%s\x1f%s\x1f%s\x1f%d", pfc_repo_git_dir(ws->repo),
                                ws->opts.build ? ws->opts.build : "",
                                build && ws->opts.relink ? ws->opts.relink : "", ws->toolchain,
                                ws->opts.sandbox && ws->network);

    pfc_sha256_hex(commands, strlen(commands), hash);
    free(commands);
    co->name = pfc_format("%s-%u-%.12s", id->hex, build, hash);
    co->dir = pfc_fs_join(ws->checkouts, co->name);
    co->tree = pfc_fs_join(co->dir, "tree");
    co->log = pfc_fs_join(co->dir, "build.log");
    co->state = pfc_fs_join(co->dir, "state");
    co->manifest = pfc_fs_join(co->dir, "manifest");
}

static void checkout_clear(checkout *co)
{
    free(co->name);
    free(co->dir);
    free(co->tree);
    free(co->log);
    free(co->state);
    free(co->manifest);
}

static bool is_checked(const pfc_workspace *ws, const checkout *co)
{
    for (size_t i = 0; i < ws->checked_len; i++)
        if (strcmp(ws->checked[i], co->name) == 0)
            return true;
    return false;
}

static void set_checked(pfc_workspace *ws, const checkout *co)
{
    if (is_checked(ws, co))
        return;
    ws->checked = pfc_grow(ws->checked, ws->checked_len, &ws->checked_cap, sizeof(*ws->checked));
    ws->checked[ws->checked_len++] = pfc_strdup(co->name);
}

/* "Used now". The time is given, because the file system's own stands still for some milliseconds
 * and two uses would look like one. */
static void touch(const char *path)
{
    struct timespec now[2];

    (void)clock_gettime(CLOCK_REALTIME, &now[0]);
    now[1] = now[0];
    (void)utimensat(AT_FDCWD, path, now, 0);
}

/* The cached verdict; false when the entry is missing or unfinished. */
static bool read_state(const checkout *co, pfc_outcome *out)
{
    static const char broken[] = "broken\n";
    char *text = NULL;
    size_t len = 0;
    bool known = false;

    if (pfc_fs_read(co->state, MAX_STATE_BYTES, &text, &len, NULL) != PFC_OK)
        return false;
    if (strcmp(text, "ok\n") == 0) {
        out->kind = PFC_OUTCOME_MEASURED;
        known = true;
    } else if (strncmp(text, broken, strlen(broken)) == 0) {
        out->kind = PFC_OUTCOME_BROKEN;
        (void)snprintf(out->reason, sizeof(out->reason), "%.*s",
                       (int)strcspn(text + strlen(broken), "\n"), text + strlen(broken));
        known = true;
    }
    free(text);
    if (known)
        touch(co->state);
    return known;
}

static pfc_code write_state(const checkout *co, const pfc_outcome *out, pfc_err *err)
{
    char *text = out->kind == PFC_OUTCOME_MEASURED ? pfc_strdup("ok\n")
                                                   : pfc_format("broken\n%s\n", out->reason);
    pfc_code code = pfc_fs_write_atomic(co->state, text, strlen(text), 0600, err);

    if (code == PFC_OK)
        touch(co->state);
    free(text);
    return code;
}

static pfc_code append_log(const checkout *co, const char *command, const pfc_proc_result *res,
                           pfc_err *err)
{
    FILE *log = fopen(co->log, "ae");
    bool good;

    if (!log)
        return pfc_err_set(err, PFC_EIO, "open %s: %s", co->log, strerror(errno));
    good = fprintf(log, "$ %s\n", command) > 0;
    good = fwrite(pfc_buf_text(&res->out), 1, res->out.len, log) == res->out.len && good;
    if (res->truncated)
        good = fprintf(log, "\n[output over %u bytes was dropped]\n", MAX_LOG_BYTES) > 0 && good;
    good = fclose(log) == 0 && good;
    return good ? PFC_OK : pfc_err_set(err, PFC_EIO, "write %s: %s", co->log, strerror(errno));
}

/* One step of the build; out->kind stays MEASURED when it worked. */
static pfc_code build_step(const pfc_workspace *ws, const checkout *co, const char *command,
                           const pfc_commit_id *id, unsigned build, pfc_outcome *out, pfc_err *err)
{
    const pfc_command cmd = {
        .text = command,
        .dir = co->tree,
        .ceiling = co->dir,
        .sandbox = ws->opts.sandbox,
        .cgroups = ws->opts.cgroups,
        .network = ws->network,
        .commit = id->hex,
        .build = build,
        .merge = true,
        .max_output_bytes = MAX_LOG_BYTES,
        .timeout_s = ws->opts.build_timeout_s,
        .cancelled = ws->opts.cancelled,
        .cancelled_arg = ws->opts.cancelled_arg,
    };
    pfc_proc_result res;
    char how[128];
    char line[200];
    pfc_code code = pfc_command_run(&cmd, &res, err);

    if (code)
        return pfc_err_wrap(err, "build of %.12s", id->hex);
    out->built = true;
    out->build_s += res.seconds;
    out->over_disk = res.over_disk;
    if (res.over_disk) /* first, or the log has no room */
        code = pfc_fs_remove_tree(co->tree, err);
    if (!code)
        code = append_log(co, command, &res, err);
    if (res.was_cancelled) {
        out->kind = PFC_OUTCOME_CANCELLED;
        (void)snprintf(out->reason, sizeof(out->reason), "the build was cancelled");
    } else if (res.exit_status != 0) {
        pfc_proc_describe(&res, how, sizeof(how));
        pfc_command_error_line(pfc_buf_text(&res.out), line, sizeof(line));
        out->kind = res.timed_out ? PFC_OUTCOME_TIMED_OUT : PFC_OUTCOME_BROKEN;
        (void)snprintf(out->reason, sizeof(out->reason), "build failed: %s%s%s", how,
                       line[0] ? ": " : "", line);
    }
    pfc_proc_result_clear(&res);
    return code;
}

static pfc_code make_entry(pfc_workspace *ws, const checkout *co, const pfc_commit_id *id,
                           unsigned build, pfc_outcome *out, pfc_err *err)
{
    pfc_code code = pfc_fs_remove_tree(co->dir, err);

    if (code == PFC_OK)
        code = pfc_cache_make_room(ws->checkouts, ws->opts.max_checkouts - 1, co->name, err);
    if (code == PFC_OK)
        code = pfc_cache_free_disk(ws->checkouts, err);
    if (code == PFC_OK)
        code = pfc_fs_mkdirs(co->dir, 0755, err);
    if (code == PFC_OK)
        code = pfc_repo_checkout(ws->repo, id, co->tree, err);
    if (code == PFC_OK && ws->opts.sandbox)
        code = pfc_sandbox_own(ws->opts.sandbox, co->tree, err);
    if (code)
        return code;
    out->kind = PFC_OUTCOME_MEASURED;
    if (ws->opts.build)
        code = build_step(ws, co, ws->opts.build, id, build, out, err);
    if (code == PFC_OK && out->kind == PFC_OUTCOME_MEASURED && build && ws->opts.relink)
        code = build_step(ws, co, ws->opts.relink, id, build, out, err);
    if (code || out->kind == PFC_OUTCOME_CANCELLED)
        return code;
    if (out->over_disk)
        return PFC_OK; /* not remembered: it may have been another job that filled the disk */
    if (out->kind == PFC_OUTCOME_TIMED_OUT) {
        out->kind = PFC_OUTCOME_BROKEN;
        return PFC_OK; /* not remembered: on a quieter machine it may finish */
    }
    if (ws->opts.sandbox && out->kind == PFC_OUTCOME_MEASURED) {
        code = pfc_manifest_write(co->tree, co->manifest, err);
        if (code)
            return code;
        set_checked(ws, co);
    }
    return write_state(co, out, err);
}

/* A build from the cache is used as it was made, or not at all. It is checked once while the
 * workspace is open: in this time no other job runs, and what the commit's own measurement changes
 * is its own. */
static bool is_intact(pfc_workspace *ws, const checkout *co)
{
    pfc_err err = { 0 };

    if (!ws->opts.sandbox || is_checked(ws, co))
        return true;
    if (pfc_manifest_check(co->tree, co->manifest, &err) != PFC_OK) {
        pfc_log(PFC_WARN, "cached_build_changed", "entry", co->name, "reason", err.msg);
        return false;
    }
    set_checked(ws, co);
    return true;
}

pfc_code pfc_workspace_find(pfc_workspace *ws, const char *revision, pfc_commit_id *out,
                            pfc_err *err)
{
    pfc_code code = pfc_repo_resolve(ws->repo, revision, out, err);

    if (code == PFC_ENOTFOUND && ws->mirror) {
        code = pfc_source_fetch(ws->mirror, &ws->opts, err);
        if (code == PFC_OK)
            code = pfc_repo_resolve(ws->repo, revision, out, err);
    }
    return code;
}

void pfc_workspace_build_by(pfc_workspace *ws, const char *build, const char *relink,
                            double build_timeout_s)
{
    ws->opts.build = build && build[0] ? build : NULL;
    ws->opts.relink = relink && relink[0] ? relink : NULL;
    ws->opts.build_timeout_s = build_timeout_s > 0 ? build_timeout_s : PFC_WORKSPACE_TIMEOUT_S;
}

void pfc_workspace_build_network(pfc_workspace *ws, bool open)
{
    ws->network = open;
}

static void note_submodules(pfc_workspace *ws, const pfc_commit_id *id)
{
    char **paths = NULL;
    size_t len = 0;
    pfc_err err = { 0 };

    if (pfc_repo_submodules(ws->repo, id, &paths, &len, &err) != PFC_OK) {
        pfc_log(PFC_WARN, "submodules_not_listed", "reason", err.msg);
        return;
    }
    if (len)
        pfc_log(PFC_WARN, "submodules_left_empty", "commit", id->hex, "first", paths[0], "count",
                len);
    for (size_t i = 0; i < len; i++)
        free(paths[i]);
    free(paths);
}

pfc_code pfc_workspace_prepare(pfc_workspace *ws, const pfc_commit_id *id, unsigned build,
                               char **dir, pfc_outcome *out, pfc_err *err)
{
    checkout co = { 0 };
    pfc_commit_id found;
    pfc_code code;

    *dir = NULL;
    *out = (pfc_outcome){ 0 };
    code = pfc_workspace_find(ws, id->hex, &found, err);
    if (code)
        return code;
    checkout_init(ws, id, build, &co);
    if (!read_state(&co, out) || (out->kind == PFC_OUTCOME_MEASURED && !is_intact(ws, &co))) {
        *out = (pfc_outcome){ 0 };
        code = make_entry(ws, &co, id, build, out, err);
        if (code == PFC_OK) /* the checkout has checked how much the tree holds */
            note_submodules(ws, id);
    }
    if (code == PFC_OK) {
        if (ws->opts.build && pfc_fs_exists(co.log))
            out->log_path = pfc_strdup(co.log);
        if (out->kind == PFC_OUTCOME_MEASURED)
            *dir = pfc_strdup(co.tree);
    } else {
        pfc_outcome_clear(out);
    }
    checkout_clear(&co);
    return code;
}

/* All files that a command wrote until the disk was full are removed with its checkout. */
static pfc_code drop_entry(const pfc_workspace *ws, const pfc_commit_id *id, unsigned build,
                           pfc_err *err)
{
    checkout co = { 0 };
    pfc_code code;

    checkout_init(ws, id, build, &co);
    pfc_log(PFC_WARN, "checkout_removed", "entry", co.name, "reason", "it filled the disk");
    code = pfc_fs_remove_tree(co.dir, err);
    checkout_clear(&co);
    return code;
}

pfc_code pfc_workspace_measure(pfc_workspace *ws, const pfc_commit_measure_opts *opts,
                               const pfc_commit_id *id, unsigned build, pfc_outcome *out,
                               pfc_err *err)
{
    pfc_outcome prepared;
    char *dir = NULL;
    pfc_code code = pfc_workspace_prepare(ws, id, build, &dir, &prepared, err);

    *out = (pfc_outcome){ 0 };
    if (code)
        return code;
    if (prepared.kind != PFC_OUTCOME_MEASURED) {
        *out = prepared; /* moves run (none) and log_path */
        return PFC_OK;
    }
    code = pfc_measure(opts, dir, id->hex, build, out, err);
    if (code == PFC_OK && out->over_disk)
        code = drop_entry(ws, id, build, err);
    if (code == PFC_OK) {
        out->built = prepared.built;
        out->build_s = prepared.build_s;
        out->log_path = prepared.log_path;
        prepared.log_path = NULL;
    }
    pfc_outcome_clear(&prepared);
    free(dir);
    return code;
}
