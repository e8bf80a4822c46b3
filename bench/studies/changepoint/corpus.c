/* Series and labels from JSON. */
#include "bench/studies/changepoint/corpus.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/fs.h"
#include "core/changepoint/changepoint.h"

static double number_or_nan(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static size_t place(const json_t *value)
{
    json_int_t i = json_integer_value(value);
    return i > 0 ? (size_t)i : 0;
}

static void points_from_json(pfc_labelled *s, const json_t *points)
{
    size_t repeats_len = 0;
    size_t used = 0;
    s->len = json_array_size(points);
    s->points = pfc_calloc(s->len, sizeof *s->points);
    for (size_t i = 0; i < s->len; i++)
        repeats_len += json_array_size(json_object_get(json_array_get(points, i), "repeats"));
    s->repeats = pfc_calloc(repeats_len, sizeof *s->repeats);
    for (size_t i = 0; i < s->len; i++) {
        const json_t *point = json_array_get(points, i);
        const json_t *repeats = json_object_get(point, "repeats");
        s->points[i].t = number_or_nan(json_object_get(point, "t"));
        s->points[i].v = number_or_nan(json_object_get(point, "v"));
        s->points[i].repeats = json_array_size(repeats) ? s->repeats + used : NULL;
        s->points[i].repeats_len = json_array_size(repeats);
        for (size_t k = 0; k < json_array_size(repeats); k++)
            s->repeats[used++] = number_or_nan(json_array_get(repeats, k));
    }
}

static int by_index(const void *a, const void *b)
{
    size_t x = ((const pfc_corpus_label *)a)->index;
    size_t y = ((const pfc_corpus_label *)b)->index;
    return (x > y) - (x < y);
}

static void labels_from_json(pfc_labelled *s, const json_t *root)
{
    const json_t *changes = json_object_get(root, "changes");
    const json_t *ignore = json_object_get(root, "ignore");
    const char *category = json_string_value(json_object_get(root, "category"));
    const char *group = json_string_value(json_object_get(root, "group"));
    s->category = pfc_strdup(category ? category : "?");
    s->group = group ? pfc_strdup(group) : NULL;
    s->after = place(json_object_get(root, "after"));
    s->null = json_is_true(json_object_get(root, "null"));
    s->weak = json_is_true(json_object_get(root, "weak_null"));
    s->foreign = json_is_object(json_object_get(root, "annotations"));
    s->labels_len = json_array_size(changes);
    s->labels = pfc_calloc(s->labels_len, sizeof *s->labels);
    for (size_t i = 0; i < s->labels_len; i++) {
        const json_t *c = json_array_get(changes, i);
        s->labels[i] =
            (pfc_corpus_label){ .index = place(json_object_get(c, "index")),
                                .optional = json_is_true(json_object_get(c, "optional")) };
    }
    if (s->labels_len)
        qsort(s->labels, s->labels_len, sizeof *s->labels, by_index);
    s->ignore_len = json_array_size(ignore);
    s->ignore = pfc_calloc(2 * s->ignore_len, sizeof *s->ignore);
    for (size_t i = 0; i < s->ignore_len; i++) {
        s->ignore[2 * i] = place(json_array_get(json_array_get(ignore, i), 0));
        s->ignore[2 * i + 1] = place(json_array_get(json_array_get(ignore, i), 1));
    }
}

static bool add(pfc_corpus *corpus, const json_t *root)
{
    const json_t *points = json_object_get(root, "points");
    const char *id = json_string_value(json_object_get(root, "id"));
    if (!json_is_array(points) || json_array_size(points) > PFC_SERIES_MAX_POINTS)
        return false;
    corpus->items = pfc_grow(corpus->items, corpus->len, &corpus->cap, sizeof *corpus->items);
    pfc_labelled *s = &corpus->items[corpus->len++];
    *s = (pfc_labelled){ .id = pfc_strdup(id ? id : "?"),
                         .higher_is_better =
                             json_is_true(json_object_get(root, "higher_is_better")) };
    points_from_json(s, points);
    labels_from_json(s, root);
    corpus->points += s->len;
    return true;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_series(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0;
}

static void load_folder(pfc_corpus *corpus, const char *dir)
{
    struct dirent **names = NULL;
    int count = scandir(dir, &names, is_series, by_name);
    for (int i = 0; i < count; i++) {
        char *path = pfc_fs_join(dir, names[i]->d_name);
        char *text = NULL;
        size_t len = 0;
        if (pfc_fs_read(path, PFC_CORPUS_MAX_BYTES, &text, &len, NULL) == PFC_OK) {
            json_t *root = json_loadb(text, len, 0, NULL);
            (void)add(corpus, root);
            json_decref(root);
        }
        free(text);
        free(path);
        free(names[i]);
    }
    free(names);
}

void pfc_corpus_load(pfc_corpus *corpus, const char *dir)
{
    load_folder(corpus, dir);
    if (corpus->len == 0) {
        char *inner = pfc_fs_join(dir, "series");
        load_folder(corpus, inner);
        free(inner);
    }
}

pfc_code pfc_corpus_load_lines(pfc_corpus *corpus, const char *path, pfc_err *err)
{
    char *text = NULL;
    size_t len = 0;
    size_t number = 0;
    pfc_code code = pfc_fs_read(path, PFC_CORPUS_MAX_BYTES, &text, &len, err);
    for (size_t at = 0; !code && at < len; number++) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t line = end ? (size_t)(end - text) - at : len - at;
        json_t *root = json_loadb(text + at, line, 0, NULL);
        if (!add(corpus, root))
            code = pfc_err_set(err, PFC_EINVAL, "%s:%zu: expected a series", path, number + 1);
        json_decref(root);
        at += line + 1;
    }
    free(text);
    return code;
}

void pfc_corpus_clear(pfc_corpus *corpus)
{
    for (size_t i = 0; i < corpus->len; i++) {
        pfc_labelled *s = &corpus->items[i];
        free(s->id);
        free(s->points);
        free(s->repeats);
        free(s->category);
        free(s->group);
        free(s->labels);
        free(s->ignore);
    }
    free(corpus->items);
    *corpus = (pfc_corpus){ 0 };
}
