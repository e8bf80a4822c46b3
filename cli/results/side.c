#include "cli/results/side.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/base/fs.h"
#include "core/wire/run_values.h"

pfc_code pfc_side_find(pfc_repo *repo, const char *text, bool stored, pfc_side_kind *kind,
                       pfc_commit_id *id, pfc_err *err)
{
    pfc_code code = PFC_ENOTFOUND;

    *kind = PFC_SIDE_FILE;
    if (pfc_fs_exists(text) && !pfc_fs_is_dir(text))
        return PFC_OK;
    *kind = PFC_SIDE_REVISION;
    if (repo)
        code = pfc_repo_resolve(repo, text, id, err);
    else
        pfc_err_set(err, PFC_ENOTFOUND,
                    "\"%.200s\": no such file, and this folder is in no Git repository", text);
    if (code && (pfc_run_is_id(text) || (stored && *text))) {
        *kind = PFC_SIDE_RUN;
        code = PFC_OK;
        *err = (pfc_err){ 0 };
    }
    return code;
}

pfc_code pfc_side_fetch_run(pfc_http *http, const char *id, pfc_run **out, pfc_err *err)
{
    /* Members that the service adds; they are no part of the document. */
    static const char *const own[] = { "run_id", "reproducibility", "quarantined" };
    char *path = pfc_format("/api/v1/runs/%s", id);
    json_t *doc = NULL;
    char *text = NULL;
    pfc_code code = pfc_http_json(http, "GET", path, NULL, NULL, &doc, err);

    if (!code) {
        for (size_t i = 0; i < PFC_ARRAY_LEN(own); i++)
            json_object_del(doc, own[i]);
        text = json_dumps(doc, JSON_COMPACT);
        code = pfc_run_from_json(text, strlen(text), out, err);
    }
    free(text);
    json_decref(doc);
    free(path);
    return code;
}

static bool usable(const json_t *row)
{
    return !json_is_true(json_object_get(row, "infra")) &&
           !json_is_true(json_object_get(row, "extra")) &&
           !json_is_true(json_object_get(row, "quarantined")) &&
           json_integer_value(json_object_get(row, "measurements")) > 0;
}

/* Rows come newest first. */
static const char *pick(const json_t *rows, const char *machine_class)
{
    const char *id = NULL;
    size_t i;
    const json_t *row;

    json_array_foreach(rows, i, row)
    {
        const char *class = json_string_value(json_object_get(row, "machine_class"));

        if (!usable(row))
            continue;
        if (!machine_class || pfc_streq(class, machine_class))
            return json_string_value(json_object_get(row, "id"));
        if (!id)
            id = json_string_value(json_object_get(row, "id"));
    }
    return id;
}

pfc_code pfc_side_stored_run(pfc_http *http, const char *project, const char *commit,
                             const char *machine_class, pfc_run **out, pfc_err *err)
{
    char *path = pfc_format("/api/v1/projects/%s/runs?commit=%s&limit=100", project, commit);
    json_t *doc = NULL;
    const char *id = NULL;
    pfc_code code = pfc_http_json(http, "GET", path, NULL, NULL, &doc, err);

    if (!code) {
        id = pick(json_object_get(doc, "runs"), machine_class);
        code = id ? pfc_side_fetch_run(http, id, out, err)
                  : pfc_err_set(err, PFC_ENOTFOUND,
                                "the service has no usable run of commit %.12s in project %s",
                                commit, project);
    }
    if (code == PFC_ENOTFOUND && !id)
        code =
            pfc_err_hint(err,
                         "measure it with \"perfci run --commit %.12s --out FILE\" and upload it "
                         "with \"perfci push FILE\"",
                         commit);
    json_decref(doc);
    free(path);
    return code;
}
