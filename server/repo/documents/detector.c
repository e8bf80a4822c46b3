#include "server/repo/documents/detector.h"

#include <string.h>

pfc_code pfc_detector_parse(const char *text, pfc_detector *out, pfc_err *err)
{
    json_t *doc = NULL;
    pfc_code code = pfc_json_parse(text, strlen(text), &doc, err);

    if (!code)
        code = pfc_detector_from_json(doc, out, err);
    json_decref(doc);
    return code;
}

bool pfc_detector_texts_equal(const char *a, const char *b)
{
    json_t *x = json_loads(a, 0, NULL), *y = json_loads(b, 0, NULL);
    const bool equal = json_equal(x, y);

    json_decref(x);
    json_decref(y);
    return equal;
}
