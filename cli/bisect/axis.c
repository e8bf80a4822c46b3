/*
 * Reads the axis: commits, or with the code fixed compilers, flags and versions of a dependency.
 *
 * A point is a name and variables for the build. A file has a name a line, oldest first, then tabs
 * and VAR=value. A submodule gives its first-parent commits between those that the good and the bad
 * commit pin; each is unpacked into the checkout before it is built. Build, relink and measuring
 * commands find the name in PERFCI_POINT.
 */
#include "cli/bisect/axis.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/bisect/bisect.h"

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

static void add_point(bisect_axis *a, const char *name, const pfc_buf *shell)
{
    a->points = pfc_realloc(a->points, a->commits.len + 1, sizeof(a->points[0]));
    a->points[a->commits.len] = pfc_strdup(pfc_buf_text(shell));
    bisect_commits_add(&a->commits, name);
}

static bool is_variable(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!(isalpha((unsigned char)text[i]) || text[i] == '_' ||
              (i && isdigit((unsigned char)text[i]))))
            return false;
    return len > 0;
}

static pfc_code read_point(bisect_axis *a, const char *file, char *line, size_t number,
                           pfc_err *err)
{
    char *save = line;
    const char *name = strsep(&save, "\t");
    pfc_buf shell;
    pfc_code code = PFC_OK;

    if (!*name)
        return PFC_OK;
    if (!bisect_is_id(name))
        return pfc_err_set(err, PFC_EINVAL,
                           "%.200s: line %zu: expected a name of at most %d printable characters "
                           "without spaces",
                           file, number, BISECT_MAX_ID);
    if (a->commits.len == PFC_BISECT_MAX_COMMITS)
        return pfc_err_set(err, PFC_ETOOBIG, "%.200s: more than %d points", file,
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
                            file, number, pair);
            break;
        }
        pfc_buf_printf(&shell, " %.*s=", (int)len, pair);
        quote(&shell, pair + len + 1);
    }
    pfc_buf_puts(&shell, "; ");
    if (!code)
        code = pfc_buf_check(&shell, "a point's variables", err);
    if (!code)
        add_point(a, name, &shell);
    pfc_buf_clear(&shell);
    return code;
}

static pfc_code read_file(bisect_axis *a, const bisect_opts *o, pfc_err *err)
{
    char *text = NULL;
    char *save;
    size_t len = 0;
    size_t number = 0;
    pfc_code code = pfc_fs_read(o->points, POINTS_MAX_BYTES, &text, &len, err);

    save = text;
    for (char *line = code ? NULL : strsep(&save, "\n"); line && !code;
         line = strsep(&save, "\n")) {
        line[strcspn(line, "\r")] = '\0';
        code = read_point(a, o->points, line, ++number, err);
    }
    free(text);
    return code ? code : bisect_commits_ends(&a->commits, o->points, o->good, o->bad, err);
}

/* The commit that `revision` of the repository pins for the submodule. */
static pfc_code pinned(pfc_repo *repo, const char *path, const char *flag, const char *revision,
                       pfc_commit_id *out, pfc_err *err)
{
    pfc_commit_id id;
    pfc_code code;

    if (!revision)
        return pfc_err_set(err, PFC_EINVAL,
                           "--submodule: expected --good and --bad: the commits that they pin "
                           "are the ends");
    code = pfc_repo_resolve(repo, revision, &id, err);
    if (!code)
        code = pfc_repo_submodule_at(repo, &id, path, out, err);
    return code ? pfc_err_wrap(err, "%s", flag) : PFC_OK;
}

static pfc_code read_submodule(bisect_axis *a, const bisect_opts *o, pfc_repo *repo, pfc_err *err)
{
    const char *path = o->submodule;
    char *folder = pfc_fs_join(pfc_repo_root(repo), path);
    pfc_repo *sub = NULL;
    pfc_commit_id good;
    pfc_commit_id bad;
    pfc_commit_id *ids = NULL;
    size_t len = 0;
    pfc_code code = pinned(repo, path, "--good", o->good, &good, err);

    if (!code)
        code = pinned(repo, path, "--bad", o->bad, &bad, err);
    if (!code && strcmp(good.hex, bad.hex) == 0)
        code = pfc_err_set(err, PFC_EINVAL,
                           "both ends pin %.12s of %.200s: there is nothing to "
                           "search",
                           good.hex, path);
    if (!code)
        code = pfc_repo_open(folder, &sub, err);
    if (!code && strcmp(pfc_repo_root(sub), pfc_repo_root(repo)) == 0)
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
            add_point(a, ids[i].hex, &shell);
        pfc_buf_clear(&shell);
    }
    free(ids);
    pfc_repo_close(sub);
    free(folder);
    return code;
}

static pfc_code read_points(bisect_axis *a, const bisect_opts *o, pfc_repo *repo, pfc_err *err)
{
    if (!o->points && !o->submodule)
        return pfc_err_set(err, PFC_EINVAL, "--axis: expected --points FILE%s",
                           o->axis == BISECT_DEPENDENCY ? ", or --submodule PATH" : "");
    if (o->submodule && (o->axis != BISECT_DEPENDENCY || !repo || o->no_checkout))
        return pfc_err_set(
            err, PFC_EINVAL,
            "--submodule: expected --axis dependency and a repository that is checked "
            "out");
    return o->points ? read_file(a, o, err) : read_submodule(a, o, repo, err);
}

pfc_code bisect_axis_read(bisect_axis *a, const bisect_opts *o, pfc_repo *repo,
                          const bisect_globs *globs, pfc_err *err)
{
    const bisect_globs given = { o->globs, o->globs_len };

    if (o->axis != BISECT_COMMITS)
        return read_points(a, o, repo, err);
    globs = given.len ? &given : globs;
    if (o->commits_file)
        return bisect_commits_file(o->commits_file, o->good, o->bad, globs, &a->commits, err);
    if (!o->good || !o->bad)
        return pfc_err_set(err, PFC_EINVAL, "expected --good and --bad, or --commits FILE");
    return bisect_commits_repo(repo, o->good, o->bad, globs, &a->commits, err);
}

void bisect_axis_clear(bisect_axis *a)
{
    for (size_t i = 0; a->points && i < a->commits.len; i++)
        free(a->points[i]);
    free(a->points);
    bisect_commits_clear(&a->commits);
    *a = (bisect_axis){ 0 };
}

bool bisect_is_end(const bisect_axis *a, size_t commit)
{
    return commit == 0 || commit == bisect_bad(a);
}

const char *bisect_id(const bisect_axis *a, size_t commit)
{
    return a->commits.items[commit].id;
}

size_t bisect_bad(const bisect_axis *a)
{
    return a->commits.len - 1;
}

const char *bisect_axis_noun(const bisect_axis *a)
{
    return a->points ? "points" : "commits";
}
