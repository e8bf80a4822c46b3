/*
 * `check --reuse DIR`: results by the key of their pair, one file each: {"measured_at", "result"}.
 * The folder is the caller's, such as a cache of CI.
 */
#include "cli/compare/reuse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/parse.h"

#define MAX_AGE_S (30 * 86400.0) /* an older result is measured again: machines age */

static char *path_of(const char *dir, const char *key)
{
    char *name = pfc_format("%s.json", key), *path = pfc_fs_join(dir, name);

    free(name);
    return path;
}

/* *doc: its "result"; the caller decrefs. A file of another form is an error: the folder is not one
 * of perfci's. */
static pfc_code read_file(const char *path, json_t **doc, char **measured_at, pfc_err *err)
{
    char *text = NULL;
    size_t len = 0;
    json_t *file = NULL, *result = NULL;
    pfc_code code = pfc_fs_read(path, PFC_WIRE_MAX_BODY_BYTES, &text, &len, err);

    if (!code)
        code = pfc_json_parse(text, len, &file, err);
    if (!code)
        code = pfc_json_string(file, NULL, "measured_at", true, 40, measured_at, err);
    if (!code)
        code = pfc_json_object(file, NULL, "result", true, &result, err);
    if (!code)
        *doc = json_incref(result);
    json_decref(file);
    free(text);
    return code;
}

static bool is_fresh(const char *measured_at)
{
    double at = 0;

    return pfc_parse_rfc3339(measured_at, "measured_at", &at, NULL) == PFC_OK &&
           fabs(pfc_clock_unix_s() - at) < MAX_AGE_S;
}

pfc_code pfc_reuse_find(const char *dir, const char *key, pfc_cmp *out, bool *found, pfc_err *err)
{
    char *path = path_of(dir, key), *at = NULL;
    json_t *doc = NULL;
    pfc_code code = PFC_OK;

    *found = false;
    if (pfc_fs_exists(path)) {
        code = read_file(path, &doc, &at, err);
        *found = !code && is_fresh(at);
        if (*found)
            code = pfc_cmp_from_json(doc, out, err);
        if (*found && !code) {
            out->reused.from = pfc_format("the check of %.12s against %.12s", out->b, out->a);
            out->reused.measured_at = pfc_strdup(at);
        }
        if (code)
            code = pfc_err_wrap(err, "--reuse: %s", path);
    }
    json_decref(doc);
    free(at);
    free(path);
    return code;
}

/* More measuring would not change the verdict. */
static bool is_final(const pfc_cmp *cmp)
{
    return !cmp->failure && !cmp->nothing && !cmp->reused.from && cmp->len > 0 &&
           !cmp->count[PFC_CMP_INCONCLUSIVE] && !cmp->count[PFC_CMP_BROKEN];
}

pfc_code pfc_reuse_keep(const char *dir, const char *key, const pfc_cmp *cmp, pfc_err *err)
{
    char at[32], *path, *text;
    json_t *file;
    pfc_code code;

    if (!is_final(cmp))
        return PFC_OK;
    pfc_clock_rfc3339(pfc_clock_unix_s(), at);
    file = json_pack("{s:s, s:o}", "measured_at", at, "result", pfc_cmp_to_json(cmp));
    text = json_dumps(file, JSON_COMPACT | JSON_REAL_PRECISION(17));
    path = path_of(dir, key);
    code = pfc_fs_mkdirs(dir, 0700, err);
    if (!code)
        code = pfc_fs_write_atomic(path, text, strlen(text), 0600, err);
    json_decref(file);
    free(text);
    free(path);
    return code ? pfc_err_wrap(err, "--reuse") : PFC_OK;
}
