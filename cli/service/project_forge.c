/* perfci project set and pulls: see project_forge.h. */
#include "cli/service/project_forge.h"

#include <stdlib.h>
#include <string.h>

#include "cli/output/output.h"
#include "cli/service/browse.h"

static char *path_of(const char *project)
{
    return pfc_format("/api/v1/projects/%s/forge", project);
}

static void put_text(json_t *body, const json_t *old, const char *key, const char *text)
{
    if (text)
        json_object_set_new(body, key, json_string(text));
    else if (json_is_string(json_object_get(old, key)))
        json_object_set(body, key, json_object_get(old, key));
}

static void put_number(json_t *body, const json_t *old, const char *key, double value)
{
    if (value > 0)
        json_object_set_new(body, key, json_real(value));
    else if (json_is_number(json_object_get(old, key)))
        json_object_set(body, key, json_object_get(old, key));
}

static void show(const char *project, const json_t *link)
{
    pfc_out("project %s: pull requests of %s %s, comments %s, %.0f s of measuring, neutral after "
            "%.0f s\n",
            project, pfc_browse_string(link, "forge"), pfc_browse_string(link, "repo"),
            pfc_browse_string(link, "policy"), json_number_value(json_object_get(link, "budget_s")),
            json_number_value(json_object_get(link, "patience_s")));
}

/* Keeps the settings of the present link that are not given. */
static pfc_code change(const pfc_cli *cli, pfc_http *http, const char *project, const char *path,
                       const pfc_project_forge *set, pfc_err *err)
{
    json_t *old = NULL, *body = json_object(), *answer = NULL;
    pfc_err why = { 0 };
    pfc_code code = pfc_http_json(http, "GET", path, NULL, NULL, &old, &why);

    if (code && code != PFC_ENOTFOUND)
        code = pfc_err_set(err, code, "%s", why.msg);
    else
        code = PFC_OK;
    put_text(body, old, "forge", set->forge);
    put_text(body, old, "repo", set->repo);
    put_text(body, old, "policy", set->policy);
    put_text(body, old, "machine_class", set->machine_class);
    put_number(body, old, "budget_s", set->budget_s);
    put_number(body, old, "patience_s", set->patience_s);
    if (!code && (!json_object_get(body, "forge") || !json_object_get(body, "repo")))
        code = pfc_err_set(err, PFC_EINVAL,
                           "project %.63s has no repository yet: expected --forge and --repo",
                           project);
    if (!code)
        code = pfc_http_json(http, "POST", path, body, NULL, &answer, err);
    if (!code && cli->json)
        pfc_cli_print_json(json_incref(answer));
    else if (!code)
        show(project, answer);
    json_decref(answer);
    json_decref(body);
    json_decref(old);
    return code;
}

static pfc_code unlink_project(const pfc_cli *cli, pfc_http *http, const char *project,
                               const char *path, pfc_err *err)
{
    pfc_code code = pfc_http_json(http, "DELETE", path, NULL, NULL, NULL, err);

    if (!code && cli->json)
        pfc_cli_print_json(json_pack("{s:n}", "forge"));
    else if (!code)
        pfc_out("project %s: pull requests are no longer measured\n", project);
    return code;
}

pfc_code pfc_project_set(const pfc_cli *cli, pfc_http *http, const char *project,
                         const pfc_project_forge *set, pfc_err *err)
{
    char *path = path_of(project);
    pfc_code code = pfc_streq(set->forge, "none") ? unlink_project(cli, http, project, path, err)
                                                  : change(cli, http, project, path, set, err);

    free(path);
    return code;
}

pfc_code pfc_project_move(const pfc_cli *cli, pfc_http *http, const char *project,
                          const char *repo_url, pfc_err *err)
{
    char *path = pfc_format("/api/v1/projects/%s", project);
    json_t *body = json_pack("{s:s?}", "repo_url", pfc_streq(repo_url, "none") ? NULL : repo_url);
    json_t *answer = NULL;
    pfc_code code = pfc_http_json(http, "PATCH", path, body, NULL, &answer, err);

    if (!code && cli->json)
        pfc_cli_print_json(json_incref(answer));
    else if (!code)
        pfc_out("project %s: repository %s\n", project,
                json_is_null(json_object_get(answer, "repo_url"))
                    ? "none"
                    : pfc_browse_string(answer, "repo_url"));
    json_decref(answer);
    json_decref(body);
    free(path);
    return code;
}

pfc_code pfc_project_pulls(const pfc_cli *cli, pfc_http *http, const char *project, pfc_err *err)
{
    static const pfc_browse_col cols[] = {
        { "PULL", "number", PFC_BROWSE_ID },       { "HEAD", "head", PFC_BROWSE_ID },
        { "VERDICT", "verdict", PFC_BROWSE_TEXT }, { "JOB", "job_id", PFC_BROWSE_ID },
        { "STATE", "job_state", PFC_BROWSE_TEXT }, { "TITLE", "title", PFC_BROWSE_TEXT },
        { "TROUBLE", "trouble", PFC_BROWSE_TEXT },
    };
    char *path = pfc_format("/api/v1/projects/%s/pulls?open=true", project);
    json_t *answer = NULL;
    pfc_code code = pfc_http_json(http, "GET", path, NULL, NULL, &answer, err);

    if (!code && cli->json)
        pfc_cli_print_json(json_incref(answer));
    else if (!code)
        pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), true, json_object_get(answer, "pulls"));
    json_decref(answer);
    free(path);
    return code;
}
