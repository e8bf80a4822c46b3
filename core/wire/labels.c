/* Names and texts: fingerprints, parameters, labels. */
#include <stdlib.h>
#include <string.h>

#include "core/wire/wire.h"

void pfc_labels_set(pfc_labels *pairs, const char *name, const char *value)
{
    for (size_t i = 0; i < pairs->len; i++) {
        if (strcmp(pairs->items[i].name, name) == 0) {
            char *copy = pfc_strdup(value);

            free(pairs->items[i].value);
            pairs->items[i].value = copy;
            return;
        }
    }
    pairs->items = pfc_grow(pairs->items, pairs->len, &pairs->cap, sizeof *pairs->items);
    pairs->items[pairs->len].name = pfc_strdup(name);
    pairs->items[pairs->len].value = pfc_strdup(value);
    pairs->len++;
}

const char *pfc_labels_get(const pfc_labels *pairs, const char *name)
{
    for (size_t i = 0; i < pairs->len; i++)
        if (strcmp(pairs->items[i].name, name) == 0)
            return pairs->items[i].value;
    return NULL;
}

void pfc_labels_set_all(pfc_labels *pairs, const pfc_labels *more)
{
    for (size_t i = 0; more && i < more->len; i++)
        pfc_labels_set(pairs, more->items[i].name, more->items[i].value);
}

void pfc_labels_clear(pfc_labels *pairs)
{
    for (size_t i = 0; i < pairs->len; i++) {
        free(pairs->items[i].name);
        free(pairs->items[i].value);
    }
    free(pairs->items);
    *pairs = (pfc_labels){ 0 };
}

pfc_code pfc_labels_parse(const char *text, pfc_labels *out, pfc_err *err)
{
    json_t *object = NULL;
    const char *name;
    json_t *value;
    pfc_code code = pfc_json_parse(text, strlen(text), &object, err);

    if (code)
        return code;
    json_object_foreach(object, name, value)
    {
        if (json_is_string(value))
            pfc_labels_set(out, name, json_string_value(value));
    }
    json_decref(object);
    return PFC_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const pfc_label_entry *)a)->name, ((const pfc_label_entry *)b)->name);
}

json_t *pfc_labels_to_json(const pfc_labels *pairs)
{
    pfc_label_entry *sorted = pfc_calloc(pairs->len, sizeof *sorted);
    json_t *obj = json_object();

    if (pairs->len > 0)
        memcpy(sorted, pairs->items, pairs->len * sizeof *sorted);
    qsort(sorted, pairs->len, sizeof *sorted, by_name);
    for (size_t i = 0; i < pairs->len; i++)
        json_object_set_new(obj, sorted[i].name, json_string(sorted[i].value));
    free(sorted);
    return obj;
}
