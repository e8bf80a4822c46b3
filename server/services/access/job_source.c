/* Checks a job's source against the registered repository and the administrator's patterns. */
#include "server/services/access/job_source.h"

#include <fnmatch.h>
#include <string.h>

/* Length without a trailing slash and ".git". */
static size_t bare_len(const char *source)
{
    size_t len = strlen(source);

    while (len > 1 && source[len - 1] == '/')
        len--;
    return len > 4 && strncmp(source + len - 4, ".git", 4) == 0 ? len - 4 : len;
}

static bool same_repository(const char *a, const char *b)
{
    const size_t len = bare_len(a);

    return len == bare_len(b) && strncmp(a, b, len) == 0;
}

static bool fits(const char *patterns, const char *source)
{
    static const char between[] = ", ";
    bool found = false;

    for (const char *at = patterns; at && *at && !found;) {
        const size_t len = strcspn(at, between);
        char *pattern = pfc_strndup(at, len);

        /* ".." would escape from a folder that a pattern names. */
        found = len > 0 && !strstr(source, "..") && fnmatch(pattern, source, 0) == 0;
        free(pattern);
        at += len + strspn(at + len, between);
    }
    return found;
}

pfc_code pfc_job_source_check(pfc_db *db, const char *project, const char *patterns,
                              const char *source, pfc_err *err)
{
    pfc_projects rows = { 0 };
    pfc_code code;

    if (fits(patterns, source))
        return PFC_OK;
    code = pfc_projects_get(db, project, &rows, err);
    if (code)
        return code;
    if (!rows.items[0].repo_url || !*rows.items[0].repo_url) {
        pfc_err_set_field(err, PFC_EINVAL, "source",
                          "source: project %s has no registered repository, so only an "
                          "administrator's token may name one",
                          project);
        code =
            pfc_err_hint(err, "register it: perfci project set NAME --repo-url URL, or start the "
                              "server with --sources PATTERN");
    } else if (!same_repository(rows.items[0].repo_url, source)) {
        code = pfc_err_set_field(err, PFC_EINVAL, "source",
                                 "source: expected the project's repository %.300s, got \"%.300s\"",
                                 rows.items[0].repo_url, source);
    }
    pfc_rows_clear(&rows);
    return code;
}
