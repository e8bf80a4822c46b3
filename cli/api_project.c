/*
 * The project that results are stored in: found, or made when that is meant.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"

enum { MAX_NAMES = 1000 };

/* The existing project whose name is nearest to `project`; NULL: none is near. Caller frees. */
static char *nearest_project(pfc_http *http, const char *project)
{
    const char *names[MAX_NAMES + 1] = { 0 };
    const char *near;
    char *found;
    json_t *answer = NULL;
    const json_t *list;
    size_t len = 0;

    if (pfc_http_json(http, "GET", "/api/v1/projects?limit=1000", NULL, NULL, &answer, NULL))
        return NULL;
    list = json_object_get(answer, "projects");
    for (size_t i = 0; i < json_array_size(list) && len < MAX_NAMES; i++) {
        const char *name = json_string_value(json_object_get(json_array_get(list, i), "name"));

        if (name)
            names[len++] = name;
    }
    near = pfc_cli_nearest(project, names);
    found = near ? pfc_strdup(near) : NULL;
    json_decref(answer);
    return found;
}

static pfc_code refuse(pfc_http *http, const pfc_ensure *want, pfc_err *err)
{
    char *near = nearest_project(http, want->project);
    char make[160];
    pfc_code code;

    if (want->has_flag)
        (void)snprintf(make, sizeof(make), "--create makes a new one");
    else
        (void)snprintf(make, sizeof(make), "\"perfci project create %s\" makes it", want->project);
    code = pfc_err_set(err, PFC_ENOTFOUND, "no project \"%s\"", want->project);
    if (near)
        (void)pfc_err_hint(err, "did you mean \"%s\"? %s", near, make);
    else
        (void)pfc_err_hint(err, "%s; \"perfci project list\" shows what is there", make);
    free(near);
    return code;
}

static pfc_code create(pfc_http *http, const pfc_ensure *want, pfc_err *err)
{
    json_t *body = json_pack("{s:s}", "name", want->project);
    pfc_code code;

    if (want->branch)
        json_object_set_new(body, "branch", json_string(want->branch));
    code = pfc_http_json(http, "POST", "/api/v1/projects", body, NULL, NULL, err);
    json_decref(body);
    return code;
}

pfc_code pfc_api_ensure_project(pfc_http *http, const pfc_ensure *want, bool *made, pfc_err *err)
{
    const bool stated = want->conf && pfc_streq(want->conf->project, want->project);
    char *path = pfc_format("/api/v1/projects/%s", want->project);
    int status = 0;
    pfc_code code = pfc_http_json(http, "GET", path, NULL, &status, NULL, err);

    /* Looking needs less right than making, and leaves its settings as they are. */
    *made = false;
    if (status == 404 && (want->create || stated)) {
        if (err)
            *err = (pfc_err){ 0 };
        code = create(http, want, err);
        *made = !code;
    } else if (status == 404) {
        code = refuse(http, want, err);
    }
    free(path);
    return code;
}
