/*
 * Another axis than history: compilers, flags, versions of a dependency, with the code fixed.
 *
 * A point is a name and what the build is told of it. From a file: a name a line, oldest first,
 * then tabs and VAR=value. Of a submodule: its own first-parent commits between what the good and
 * the bad end pin, each laid into the checkout before it is built. Build, relink and measuring
 * commands find the name in PERFCI_POINT.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bisect/search.h"
#include "core/base/fs.h"

enum { POINTS_MAX_BYTES = 1024 * 1024, SHELL_BYTES = 64 * 1024 };

static void quote(pfc_buf *out, const char *text)
{
    pfc_buf_putc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            pfc_buf_puts(out, "'\\''");
        else
            pfc_buf_putc(out, *text);
    }
    pfc_buf_putc(out, '\'');
}

static void add_point(pfc_hunt *h, const char *name, const pfc_buf *shell)
{
    h->points = pfc_realloc(h->points, h->commits.len + 1, sizeof(h->points[0]));
    h->points[h->commits.len] = pfc_strdup(pfc_buf_text(shell));
    pfc_hunt_commits_add(&h->commits, name);
}

static bool is_variable(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!(isalpha((unsigned char)text[i]) || text[i] == '_' ||
              (i && isdigit((unsigned char)text[i]))))
            return false;
    return len > 0;
}

static pfc_code read_point(pfc_hunt *h, char *line, size_t number, pfc_err *err)
{
    char *save = line;
    const char *name = strsep(&save, "\t");
    pfc_buf shell;
    pfc_code code = PFC_OK;

    if (!*name)
        return PFC_OK;
    if (!pfc_hunt_is_id(name))
        return pfc_err_set(err, PFC_EINVAL,
                           "%.200s: line %zu: expected a name of at most %d printable characters "
                           "without spaces",
                           h->opts->points, number, PFC_HUNT_MAX_ID);
    if (h->commits.len == PFC_BISECT_MAX_COMMITS)
        return pfc_err_set(err, PFC_ETOOBIG, "%.200s: more than %d points", h->opts->points,
                           PFC_BISECT_MAX_COMMITS);
    pfc_buf_init(&shell, SHELL_BYTES);
    pfc_buf_puts(&shell, "export PERFCI_POINT=");
    quote(&shell, name);
    for (char *pair = strsep(&save, "\t"); pair && !code; pair = strsep(&save, "\t")) {
        const size_t len = strcspn(pair, "=");

        if (!*pair)
            continue;
        if (pair[len] != '=' || !is_variable(pair, len)) {
            code =
                pfc_err_set(err, PFC_EINVAL, "%.200s: line %zu: expected VAR=value, got \"%.60s\"",
                            h->opts->points, number, pair);
            break;
        }
        pfc_buf_printf(&shell, " %.*s=", (int)len, pair);
        quote(&shell, pair + len + 1);
    }
    pfc_buf_puts(&shell, "; ");
    if (!code)
        code = pfc_buf_check(&shell, "a point's variables", err);
    if (!code)
        add_point(h, name, &shell);
    pfc_buf_clear(&shell);
    return code;
}

static pfc_code read_file(pfc_hunt *h, pfc_err *err)
{
    char *text = NULL;
    char *save;
    size_t len = 0;
    size_t number = 0;
    pfc_code code = pfc_fs_read(h->opts->points, POINTS_MAX_BYTES, &text, &len, err);

    save = text;
    for (char *line = code ? NULL : strsep(&save, "\n"); line && !code;
         line = strsep(&save, "\n")) {
        line[strcspn(line, "\r")] = '\0';
        code = read_point(h, line, ++number, err);
    }
    free(text);
    return code ? code
                : pfc_hunt_commits_ends(&h->commits, h->opts->points, h->opts->good, h->opts->bad,
                                        err);
}

/* The commit that `revision` of our repository pins for the submodule. */
static pfc_code pinned(pfc_hunt *h, const char *flag, const char *revision, pfc_commit_id *out,
                       pfc_err *err)
{
    pfc_commit_id id;
    pfc_code code;

    if (!revision)
        return pfc_err_set(err, PFC_EINVAL,
                           "--submodule: expected --good and --bad: what they pin are "
                           "the ends");
    code = pfc_repo_resolve(h->repo, revision, &id, err);
    if (!code)
        code = pfc_repo_submodule_at(h->repo, &id, h->opts->submodule, out, err);
    return code ? pfc_err_wrap(err, "%s", flag) : PFC_OK;
}

static pfc_code read_submodule(pfc_hunt *h, pfc_err *err)
{
    const char *path = h->opts->submodule;
    char *folder = pfc_fs_join(pfc_repo_root(h->repo), path);
    pfc_repo *sub = NULL;
    pfc_commit_id good;
    pfc_commit_id bad;
    pfc_commit_id *ids = NULL;
    size_t len = 0;
    pfc_code code = pinned(h, "--good", h->opts->good, &good, err);

    if (!code)
        code = pinned(h, "--bad", h->opts->bad, &bad, err);
    if (!code && strcmp(good.hex, bad.hex) == 0)
        code = pfc_err_set(err, PFC_EINVAL,
                           "both ends pin %.12s of %.200s: there is nothing to "
                           "search",
                           good.hex, path);
    if (!code)
        code = pfc_repo_open(folder, &sub, err);
    if (!code && strcmp(pfc_repo_root(sub), pfc_repo_root(h->repo)) == 0)
        code = pfc_err_set(err, PFC_EINVAL,
                           "%.200s is not checked out; `git submodule update "
                           "--init` brings its history",
                           path);
    if (!code)
        code = pfc_repo_path(sub, &good, &bad, &ids, &len, err);
    for (size_t i = 0; i < len && !code; i++) {
        pfc_buf shell;

        pfc_buf_init(&shell, SHELL_BYTES);
        pfc_buf_printf(&shell, "export PERFCI_POINT=%s; [ -e ", ids[i].hex);
        quote(&shell, path);
        pfc_buf_puts(&shell, "/.perfci-point ] || { mkdir -p ");
        quote(&shell, path);
        pfc_buf_puts(&shell, " && git -C ");
        quote(&shell, folder);
        pfc_buf_printf(&shell, " archive %s | tar -x -C ", ids[i].hex);
        quote(&shell, path);
        pfc_buf_puts(&shell, " && : >");
        quote(&shell, path);
        pfc_buf_puts(&shell, "/.perfci-point; } || exit 1; ");
        code = pfc_buf_check(&shell, "the submodule's path", err);
        if (!code)
            add_point(h, ids[i].hex, &shell);
        pfc_buf_clear(&shell);
    }
    free(ids);
    pfc_repo_close(sub);
    free(folder);
    return code;
}

pfc_code pfc_hunt_axis_read(pfc_hunt *h, pfc_err *err)
{
    const pfc_hunt_opts *o = h->opts;

    if (!o->points && !o->submodule)
        return pfc_err_set(err, PFC_EINVAL, "--axis: expected --points FILE%s",
                           o->axis == PFC_AXIS_DEPENDENCY ? ", or --submodule PATH" : "");
    if (o->submodule && (o->axis != PFC_AXIS_DEPENDENCY || !h->repo || o->no_checkout))
        return pfc_err_set(
            err, PFC_EINVAL,
            "--submodule: expected --axis dependency and a repository that is checked "
            "out");
    return o->points ? read_file(h, err) : read_submodule(h, err);
}
