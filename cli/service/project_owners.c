/* perfci project owners: see project_owners.h. */
#include "cli/service/project_owners.h"

#include <stdlib.h>
#include <string.h>

#include "cli/output/output.h"
#include "cli/service/browse.h"
#include "core/base/fs.h"
#include "core/owners/owners.h"

static void show(const json_t *answer)
{
    const char *rules = pfc_browse_string(answer, "rules");
    const json_t *file = json_object_get(answer, "codeowners");

    if (*rules)
        pfc_out("%s%s", rules, rules[strlen(rules) - 1] == '\n' ? "" : "\n");
    else
        pfc_out("# no rules of the project's own\n");
    if (json_is_object(file))
        pfc_out("# then %s of %.12s\n", pfc_browse_string(file, "path"),
                pfc_browse_string(file, "commit"));
    else
        pfc_out("# no CODEOWNERS file is stored\n");
}

/* The rules are checked here, too, so that the message names the file. */
static pfc_code replace(pfc_http *http, const char *path, const char *file, json_t **answer,
                        pfc_err *err)
{
    pfc_owners *parsed = NULL;
    char *text = NULL;
    size_t len = 0;
    json_t *body = NULL;
    pfc_code code = pfc_fs_read(file, PFC_OWNERS_MAX_TEXT, &text, &len, err);

    if (!code)
        code = pfc_owners_parse(text, PFC_OWNERS_RULES, file, &parsed, err);
    if (!code) {
        body = json_pack("{s:s}", "rules", text);
        code = body ? pfc_http_json(http, "POST", path, body, NULL, answer, err)
                    : pfc_err_set(err, PFC_EINVAL, "%s: expected UTF-8", file);
    }
    pfc_owners_free(parsed);
    json_decref(body);
    free(text);
    return code;
}

pfc_code pfc_project_owners(const pfc_cli *cli, pfc_http *http, const char *project,
                            const char *file, pfc_err *err)
{
    char *path = pfc_format("/api/v1/projects/%s/owners", project);
    json_t *answer = NULL;
    pfc_code code = file ? replace(http, path, file, &answer, err)
                         : pfc_http_json(http, "GET", path, NULL, NULL, &answer, err);

    if (!code && cli->json)
        pfc_cli_print_json(json_incref(answer));
    else if (!code)
        show(answer);
    json_decref(answer);
    free(path);
    return code;
}
