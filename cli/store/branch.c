/*
 * A store in a branch: finding it, publishing, and the remote.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/store/store_priv.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/process/proc.h"
#include "core/git/branch_files.h"

enum { TRIES = 10 };

#define GIT_TIMEOUT_S 300.0

/* ---- finding ---- */

static pfc_code check_tip(pfc_store *s, const pfc_commit_id *tip, pfc_err *err)
{
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_repo_file(s->repo, tip, PFC_STORE_MARKER, 4096, &text, &len, err);

    if (!code)
        code = pfc_store_check_marker(text, len, s->spec, err);
    else if (code == PFC_ENOTFOUND || code == PFC_ETOOBIG)
        code = pfc_err_set(err, PFC_EINVAL,
                           "--store %.200s: the branch is there and is no store of perfci (it has "
                           "no %s)",
                           s->spec, PFC_STORE_MARKER);
    free(text);
    return code;
}

static pfc_code read_tip(pfc_store *s, pfc_err *err)
{
    pfc_err why = { 0 };
    pfc_code code = pfc_branch_tip(s->repo, s->ref, &s->tip, &why);

    if (code == PFC_ENOTFOUND) {
        s->tip = (pfc_commit_id){ "" };
        return PFC_OK;
    }
    if (code) {
        *err = why;
        return code;
    }
    return check_tip(s, &s->tip, err);
}

/* A clone of CI has the branch only as its remote's. */
static pfc_code adopt(pfc_store *s, pfc_err *err)
{
    char *ref = pfc_format("refs/remotes/origin/%s", s->branch);
    pfc_commit_id theirs = { "" };
    pfc_err why = { 0 };
    pfc_code code = pfc_branch_tip(s->repo, ref, &theirs, &why);

    free(ref);
    if (code)
        return PFC_OK; /* a new store */
    code = check_tip(s, &theirs, err);
    if (!code)
        code =
            pfc_branch_join(s->repo, s->ref, &s->tip, &theirs, "perfci: from origin", &s->tip, err);
    return code;
}

pfc_code pfc_store_branch_open(pfc_store *s, pfc_err *err)
{
    pfc_code code;

    if (pfc_branch_in_use(s->repo, s->ref)) {
        pfc_err_set(err, PFC_EINVAL, "--store %.200s: the branch is checked out", s->spec);
        return pfc_err_hint(err, "switch to another branch; the store needs no working tree");
    }
    code = read_tip(s, err);
    return !code && !s->tip.hex[0] ? adopt(s, err) : code;
}

/* ---- publishing ---- */

typedef struct batch {
    char **paths, **texts;
    pfc_branch_write *writes;
    size_t len, writes_len;
    char *marker;
} batch;

static void batch_clear(batch *b)
{
    for (size_t i = 0; i < b->len; i++) {
        free(b->paths[i]);
        if (b->texts)
            free(b->texts[i]);
    }
    free(b->paths);
    free(b->texts);
    free(b->writes);
    free(b->marker);
}

static pfc_code batch_read(const pfc_store *s, batch *b, pfc_err *err)
{
    pfc_code code = pfc_store_list(s->dir, &b->paths, &b->len, err);

    if (code)
        return code;
    b->texts = pfc_calloc(b->len + 1, sizeof(*b->texts));
    b->writes = pfc_calloc(b->len + 2, sizeof(*b->writes));
    b->marker = pfc_store_marker();
    for (size_t i = 0; i < b->len && !code; i++) {
        size_t len = 0;

        /* The rest is what a process left that was killed while it wrote. */
        if (!pfc_store_is_data(b->paths[i]) && !pfc_store_is_page(b->paths[i]))
            continue;
        code =
            pfc_fs_read_beneath(s->dir, b->paths[i], PFC_STORE_MAX_BYTES, &b->texts[i], &len, err);
        b->writes[b->writes_len++] =
            (pfc_branch_write){ .path = b->paths[i], .bytes = b->texts[i], .len = len };
    }
    return code;
}

/* Also without anything to add the branch is made, so that a push has something to send. */
static pfc_code add_all(pfc_store *s, batch *b, const char *message, pfc_err *err)
{
    size_t len;
    pfc_code code = PFC_ECONFLICT;

    for (size_t i = 0; i < TRIES && code == PFC_ECONFLICT; i++) {
        *err = (pfc_err){ 0 };
        code = i ? read_tip(s, err) : PFC_OK;
        len = b->writes_len;
        if (!s->tip.hex[0])
            b->writes[len++] = (pfc_branch_write){ .path = PFC_STORE_MARKER,
                                                   .bytes = b->marker,
                                                   .len = strlen(b->marker) };
        if (!code && len)
            code = pfc_branch_add(s->repo, s->ref, &s->tip, b->writes, len, message, &s->tip, err);
    }
    return code;
}

pfc_code pfc_store_branch_publish(pfc_store *s, const char *message, pfc_err *err)
{
    batch b = { 0 };
    pfc_code code = batch_read(s, &b, err);

    if (!code)
        code = add_all(s, &b, message, err);
    /* They are in the branch now. */
    if (!code)
        code = pfc_fs_remove_tree(s->dir, err);
    if (!code)
        code = pfc_fs_mkdirs(s->dir, 0755, err);
    batch_clear(&b);
    return code ? pfc_err_wrap(err, "the store %.200s", s->spec) : PFC_OK;
}

/* ---- the remote ---- */

static pfc_code run_git(const pfc_store *s, const char *const *words, pfc_proc_result *res,
                        pfc_err *err)
{
    static const char *const env[] = { "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", NULL };
    const char *argv[16] = { "git", "-C", pfc_repo_root(s->repo) };
    size_t n = 3;

    for (size_t i = 0; words[i] && n < PFC_ARRAY_LEN(argv) - 1; i++)
        argv[n++] = words[i];
    return pfc_proc_run(&(pfc_proc_opts){ .argv = argv, .env = env, .timeout_s = GIT_TIMEOUT_S },
                        res, err);
}

/* A URL without its user and password, which may be a token; caller frees. */
static char *shown(const char *remote)
{
    const char *host = strstr(remote, "://");
    const char *slash = host ? strchr(host + 3, '/') : NULL;
    const char *at =
        host ? memrchr(host, '@', slash ? (size_t)(slash - host) : strlen(host)) : NULL;

    return at ? pfc_format("%.*s%s", (int)(host + 3 - remote), remote, at + 1) : pfc_strdup(remote);
}

/* Replaces the URL in what git printed; git itself leaves out only the password of some. */
static void hide(char *text, const char *remote, const char *instead)
{
    const size_t len = strlen(remote), shorter = strlen(instead);

    for (char *p = text; len > shorter && (p = strstr(p, remote)); p += shorter) {
        memcpy(p, instead, shorter);
        memmove(p + shorter, p + len, strlen(p + len) + 1);
    }
}

/* The last line that git printed, which names the fault. */
static pfc_code git_failed(const pfc_store *s, const char *what, const char *remote,
                           const pfc_proc_result *res, pfc_err *err)
{
    char *text = pfc_strdup(pfc_buf_text(&res->err));
    char *where = shown(remote);
    size_t len;
    const char *line;
    char status[128];

    hide(text, remote, where);
    len = strlen(text);
    while (len && text[len - 1] == '\n')
        text[--len] = '\0';
    line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    pfc_proc_describe(res, status, sizeof(status));
    (void)pfc_err_set(err, PFC_EUNAVAIL, "the store %.100s: git %s \"%.100s\" failed: %.200s",
                      s->spec, what, where, *line ? line : status);
    if (strcmp(what, "push") == 0)
        (void)pfc_err_hint(err,
                           "the history is complete here; \"git push %.60s %.60s\" sends it later",
                           where, s->branch);
    else
        (void)pfc_err_hint(err, "check the address and the right to read it; nothing was measured");
    free(where);
    free(text);
    return PFC_EUNAVAIL;
}

static pfc_code check_remote(const pfc_store *s, const char *remote, pfc_err *err)
{
    if (!s->repo)
        return pfc_err_set(err, PFC_EINVAL, "--store-remote: the store %.200s is a folder",
                           s->spec);
    return *remote && *remote != '-'
               ? PFC_OK
               : pfc_err_set(err, PFC_EINVAL,
                             "--store-remote: expected a remote or a URL, got \"%.200s\"", remote);
}

/* *found: the remote has the branch, and it is at refs/perfci/store/BRANCH. */
static pfc_code fetch(const pfc_store *s, const char *remote, bool *found, pfc_err *err)
{
    char *spec = pfc_format("+%s:refs/perfci/store/%s", s->ref, s->branch);
    const char *const list[] = { "ls-remote", "--", remote, s->ref, NULL };
    const char *const get[] = { "fetch", "--quiet", "--no-tags", "--", remote, spec, NULL };
    pfc_proc_result listed = { 0 }, got = { 0 };
    pfc_code code = run_git(s, list, &listed, err);

    if (!code && listed.exit_status != 0)
        code = git_failed(s, "ls-remote", remote, &listed, err);
    *found = !code && listed.out.len > 0;
    if (*found)
        code = run_git(s, get, &got, err);
    if (*found && !code && got.exit_status != 0)
        code = git_failed(s, "fetch", remote, &got, err);
    pfc_proc_result_clear(&listed);
    pfc_proc_result_clear(&got);
    free(spec);
    return code;
}

pfc_code pfc_store_pull(pfc_store *s, const char *remote, pfc_err *err)
{
    pfc_commit_id theirs = { "" };
    bool found = false;
    char *ref;
    pfc_code code = check_remote(s, remote, err);

    if (!code)
        code = fetch(s, remote, &found, err);
    if (code || !found)
        return code;
    ref = pfc_format("refs/perfci/store/%s", s->branch);
    code = pfc_branch_tip(s->repo, ref, &theirs, err);
    free(ref);
    if (!code)
        code = check_tip(s, &theirs, err);
    for (size_t i = 0; i < TRIES && !code; i++) {
        code = pfc_branch_join(s->repo, s->ref, &s->tip, &theirs, "perfci: join another machine's",
                               &s->tip, err);
        if (code != PFC_ECONFLICT)
            break;
        *err = (pfc_err){ 0 };
        code = read_tip(s, err);
    }
    return code;
}

/* In porcelain format a refused reference has a line that begins with '!'. */
static bool is_behind(const pfc_proc_result *res)
{
    const char *line = strstr(pfc_buf_text(&res->out), "\n!");

    if (pfc_buf_text(&res->out)[0] == '!')
        line = pfc_buf_text(&res->out);
    return line && (strstr(line, "[rejected]") || strstr(line, "cannot lock ref") ||
                    strstr(line, "failed to update ref"));
}

pfc_code pfc_store_push(pfc_store *s, const char *remote, pfc_err *err)
{
    char *spec = NULL;
    pfc_proc_result res = { 0 };
    pfc_code code = check_remote(s, remote, err);

    if (code)
        return code;
    spec = pfc_format("%s:%s", s->ref, s->ref);
    code = run_git(s, (const char *const[]){ "push", "--porcelain", "--", remote, spec, NULL },
                   &res, err);
    if (!code && res.exit_status != 0 && is_behind(&res))
        code = pfc_err_set(err, PFC_ECONFLICT,
                           "the store %.100s: other machines push again and again", s->spec);
    else if (!code && res.exit_status != 0)
        code = git_failed(s, "push", remote, &res, err);
    pfc_proc_result_clear(&res);
    free(spec);
    return code;
}
