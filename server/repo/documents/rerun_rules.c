#include "server/repo/documents/rerun_rules.h"

#include <string.h>

#include "core/wire/rerun_json.h"

char *pfc_rerun_rules_text(const pfc_rerun_rules *rules)
{
    json_t *doc = pfc_rerun_to_json(rules);
    char *text = json_dumps(doc, JSON_COMPACT);

    json_decref(doc);
    return text;
}

pfc_code pfc_rerun_rules_parse(const char *text, pfc_rerun_rules *out, pfc_err *err)
{
    json_t *doc = NULL;
    pfc_code code;

    *out = (pfc_rerun_rules){ 0 };
    if (!text)
        return PFC_OK;
    code = pfc_json_parse(text, strlen(text), &doc, err);
    if (!code)
        code = pfc_rerun_from_json(doc, out, err);
    json_decref(doc);
    return code;
}
