#include "server/repo/documents/labels.h"

#include <stdlib.h>

char *pfc_labels_text(const pfc_labels *labels)
{
    json_t *object;
    char *text;

    if (!labels || labels->len == 0)
        return pfc_strdup("{}");
    object = pfc_labels_to_json(labels);
    text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    return text;
}
