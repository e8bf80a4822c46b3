/*
 * Comparisons of stored results: see stored.h.
 */
#include "cli/compare/stored.h"

#include <stdlib.h>

#include "cli/api.h"
#include "cli/service/browse.h"

enum { MAX_PATH = 8192 };

bool pfc_stored_ask_limits(const pfc_stored_ask *ask)
{
    return ask->backends[0] || ask->backends[1] || ask->machine_classes[0] ||
           ask->machine_classes[1];
}

pfc_code pfc_cmp_stored(const pfc_stored_ask *ask, const pfc_take *take, const char *const *ends,
                        pfc_cmp *out, pfc_err *err)
{
    char *project = NULL;
    pfc_buf path;
    pfc_http *http = NULL;
    json_t *doc = NULL;
    pfc_code code = pfc_api_open(ask->url, ask->data, &take->conf, &http, err);

    pfc_buf_init(&path, MAX_PATH);
    if (!code)
        code = pfc_api_project(ask->project, &take->conf, take->root, &project, err);
    if (!code) {
        pfc_buf_puts(&path, "/api/v1/compare");
        pfc_browse_query(&path, "project", project);
        pfc_browse_query(&path, "a", ends[0]);
        pfc_browse_query(&path, "b", ends[1]);
        pfc_browse_query(&path, "backend_a", ask->backends[0]);
        pfc_browse_query(&path, "backend_b", ask->backends[1]);
        pfc_browse_query(&path, "machine_class_a", ask->machine_classes[0]);
        pfc_browse_query(&path, "machine_class_b", ask->machine_classes[1]);
        pfc_browse_query(&path, "across", ask->across ? "true" : NULL);
        code = pfc_buf_check(&path, "the options", err);
    }
    if (!code)
        code = pfc_http_json(http, "GET", pfc_buf_text(&path), NULL, NULL, &doc, err);
    if (!code)
        code = pfc_cmp_from_json(doc, out, err);
    json_decref(doc);
    pfc_http_free(http);
    pfc_buf_clear(&path);
    free(project);
    return code;
}
