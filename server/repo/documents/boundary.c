#include "server/repo/documents/boundary.h"

#include <stdlib.h>

#include <jansson.h>

void pfc_boundary_fields_add(pfc_boundary_fields *fields, const char *name, const char *before,
                             const char *now)
{
    fields->items = pfc_grow(fields->items, fields->len, &fields->cap, sizeof(*fields->items));
    fields->items[fields->len++] =
        (pfc_boundary_field){ pfc_strdup(name), pfc_strdup(before), pfc_strdup(now) };
}

char *pfc_boundary_fields_text(const pfc_boundary_fields *fields)
{
    json_t *list = json_array();
    char *text;

    for (size_t i = 0; i < fields->len; i++) {
        const pfc_boundary_field *f = &fields->items[i];

        json_array_append_new(list, json_pack("{s:s?, s:s?, s:s?}", "name", f->name, "before",
                                              f->before, "now", f->now));
    }
    text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    return text;
}

void pfc_boundary_fields_parse(const char *text, pfc_boundary_fields *out)
{
    json_t *list = text ? json_loads(text, 0, NULL) : NULL;

    *out = (pfc_boundary_fields){ 0 };
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *field = json_array_get(list, i);

        pfc_boundary_fields_add(out, json_string_value(json_object_get(field, "name")),
                                json_string_value(json_object_get(field, "before")),
                                json_string_value(json_object_get(field, "now")));
    }
    json_decref(list);
}

void pfc_boundary_fields_clear(pfc_boundary_fields *fields)
{
    for (size_t i = 0; i < fields->len; i++) {
        free(fields->items[i].name);
        free(fields->items[i].before);
        free(fields->items[i].now);
    }
    free(fields->items);
    *fields = (pfc_boundary_fields){ 0 };
}
