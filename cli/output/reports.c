/*
 * Writing reports as files: see reports.h.
 */
#include "cli/output/reports.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/forge/forge.h"
#include "core/git/project_file.h"
#include "core/suspects/suspects.h"

enum { FORMS = 4 };

static const char *const flags[FORMS] = { "--report-markdown", "--report-html", "--report-junit",
                                          "--report-sarif" };

static const char *file_of(const pfc_report_files *f, size_t form)
{
    const char *const files[FORMS] = { f->markdown, f->html, f->junit, f->sarif };

    return files[form];
}

bool pfc_reports_wanted(const pfc_report_files *f)
{
    return f->markdown || f->html || f->junit || f->sarif;
}

static pfc_code check_folder(const char *flag, const char *path, pfc_err *err)
{
    const char *slash = strrchr(path, '/');
    char *folder =
        slash ? pfc_strndup(path, PFC_MAX((size_t)(slash - path), (size_t)1)) : pfc_strdup(".");
    pfc_code code = PFC_OK;

    if (!*path || pfc_fs_is_dir(path))
        code = pfc_err_set(err, PFC_EINVAL, "%s: expected a file, got \"%.200s\"", flag, path);
    else if (!pfc_fs_is_dir(folder))
        code = pfc_err_set(err, PFC_EINVAL, "%s: no such folder: \"%.200s\"", flag, folder);
    free(folder);
    return code;
}

pfc_code pfc_reports_check(const pfc_report_files *f, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < FORMS && !code; i++) {
        if (!file_of(f, i))
            continue;
        code = check_folder(flags[i], file_of(f, i), err);
        for (size_t k = 0; k < i && !code; k++)
            if (pfc_streq(file_of(f, i), file_of(f, k)))
                code = pfc_err_set(err, PFC_EINVAL, "%s and %s: the same file \"%.200s\"", flags[k],
                                   flags[i], file_of(f, i));
    }
    return code;
}

static pfc_code write_one(const pfc_report_files *f, size_t form, const char *text, size_t len,
                          pfc_err *err)
{
    pfc_code code = pfc_fs_write_atomic(file_of(f, form), text, len, 0644, err);

    return code ? pfc_err_wrap(err, "%s", flags[form]) : PFC_OK;
}

static pfc_code write_sarif(const pfc_report_files *f, const pfc_findings *findings, pfc_err *err)
{
    json_t *doc = pfc_findings_sarif(findings);
    char *text = json_dumps(doc, JSON_COMPACT);
    pfc_code code = text ? write_one(f, 3, text, strlen(text), err)
                         : pfc_err_set(err, PFC_EBUG, "the SARIF report cannot be written as JSON");

    free(text);
    json_decref(doc);
    return code;
}

pfc_code pfc_reports_write(const pfc_report_files *f, const pfc_findings *findings,
                           const char *markdown, pfc_err *err)
{
    pfc_buf html, junit;
    pfc_code code = PFC_OK;

    pfc_buf_init(&html, PFC_FINDINGS_MAX_BYTES);
    pfc_buf_init(&junit, PFC_FINDINGS_MAX_BYTES);
    if (f->markdown)
        code = write_one(f, 0, markdown, strlen(markdown), err);
    if (!code && f->html)
        code = pfc_findings_html(findings, &html, err);
    if (!code && f->html)
        code = write_one(f, 1, pfc_buf_text(&html), html.len, err);
    if (!code && f->junit)
        code = pfc_findings_junit(findings, &junit, err);
    if (!code && f->junit)
        code = write_one(f, 2, pfc_buf_text(&junit), junit.len, err);
    if (!code && f->sarif)
        code = write_sarif(f, findings, err);
    pfc_buf_clear(&html);
    pfc_buf_clear(&junit);
    return code;
}

/* "perfci nightly" as "perfci/nightly", the category of code scanning. */
static char *category_of(const char *title)
{
    char *category = pfc_strdup(title);

    for (char *p = category; *p; p++)
        if (*p == ' ')
            *p = '/';
    return category;
}

pfc_code pfc_reports_write_failure(const pfc_report_files *f, const char *title,
                                   const char *markdown, const pfc_err *failure, pfc_err *err)
{
    const bool broken = failure->code == PFC_EBROKEN;
    pfc_findings findings = { 0 };
    pfc_findings_item *item;
    pfc_buf text;
    pfc_code code;

    if (!pfc_reports_wanted(f))
        return PFC_OK;
    pfc_buf_init(&text, 8192);
    findings.title = pfc_strdup(title);
    findings.category = category_of(title);
    findings.verdict = pfc_format("There is no result: %s", failure->msg);
    item = pfc_findings_add(&findings, broken ? PFC_FINDING_BROKEN : PFC_FINDING_NOT_MEASURED);
    item->message = pfc_strdup(failure->msg);
    pfc_reports_place(&(pfc_report_place){ 0 }, item);
    pfc_buf_puts(&text, "### ");
    pfc_markdown_text(&text, title);
    pfc_buf_puts(&text, "\n\n");
    pfc_markdown_text(&text, findings.verdict);
    pfc_buf_putc(&text, '\n');
    code = pfc_reports_write(f, &findings, markdown ? markdown : pfc_buf_text(&text), err);
    pfc_findings_clear(&findings);
    pfc_buf_clear(&text);
    return code;
}

/* ---- places ---- */

static bool is_code(const char *path)
{
    const pfc_path_kind kind = pfc_path_kind_of(path);

    return kind == PFC_PATH_SOURCE || kind == PFC_PATH_BUILD || kind == PFC_PATH_DEPENDENCY;
}

/* The commit's first source file, else its first file; caller frees. NULL: not known. */
static char *first_changed(pfc_repo *repo, const char *hex)
{
    pfc_commit commit = { 0 };
    pfc_commit_id id = { "" };
    char *path = NULL;

    if (!repo || !hex || pfc_repo_resolve(repo, hex, &id, NULL) ||
        pfc_repo_commit(repo, &id, &commit, NULL))
        return NULL;
    for (size_t i = 0; i < commit.paths_len && !path; i++)
        if (is_code(commit.paths[i]))
            path = pfc_strdup(commit.paths[i]);
    if (!path && commit.paths_len)
        path = pfc_strdup(commit.paths[0]);
    pfc_commit_clear(&commit);
    return path;
}

static size_t line_of(const char *text, const char *at)
{
    size_t line = 1;

    for (const char *p = text; p < at; p++)
        line += *p == '\n';
    return line;
}

static size_t config_line(const char *config, const char *benchmark)
{
    static const char *const keys[] = { "measure:", "suite:", "build:" };
    const char *at = config && benchmark && *benchmark ? strstr(config, benchmark) : NULL;

    for (size_t i = 0; config && i < PFC_ARRAY_LEN(keys) && !at; i++)
        for (at = strstr(config, keys[i]); at && at > config && at[-1] != '\n';)
            at = strstr(at + 1, keys[i]);
    return at ? line_of(config, at) : 1;
}

void pfc_reports_place(const pfc_report_place *place, pfc_findings_item *item)
{
    const bool change = item->kind == PFC_FINDING_REGRESSION || item->kind == PFC_FINDING_UNDECIDED;

    free(item->path);
    item->path = change || (item->kind == PFC_FINDING_BROKEN && !item->benchmark)
                     ? first_changed(place->repo, item->commit)
                     : NULL;
    item->line = 1;
    if (item->path)
        return;
    item->path = pfc_strdup(PFC_PROJECT_FILE);
    item->line = config_line(place->config, item->benchmark);
}
