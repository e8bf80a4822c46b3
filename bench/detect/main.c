/*
 * perfci-bench-detect --data DIR [--out FILE.jsonl] [--replay]
 *
 * Runs the detector over every series DIR/ID.json or DIR/series/ID.json (the input of
 * `perfci detect`), writes {"id": ..., "changes": [...]} a line, and prints how fast it was.
 * --replay also cuts every series at each of its last points and counts confirmed changes that a
 * further point made vanish. Without data: "not available", exit 5.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/stats/stats.h"

#define FILE_MAX_BYTES (64 << 20)
#define ROUNDS         3 /* the fastest of these is the speed */

typedef struct series {
    char *id;
    pfc_point *points;
    double *repeats;
    size_t len;
    bool higher_is_better;
} series;

typedef struct corpus {
    series *items;
    size_t len;
    size_t cap;
    size_t points;
} corpus;

static double number_or_nan(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void series_from_json(series *s, const json_t *root)
{
    const json_t *points = json_object_get(root, "points");
    size_t repeats_len = 0;
    size_t used = 0;
    memset(s, 0, sizeof *s);
    const char *id = json_string_value(json_object_get(root, "id"));
    s->id = pfc_strdup(id ? id : "?");
    s->higher_is_better = json_is_true(json_object_get(root, "higher_is_better"));
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

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_series(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0;
}

static void corpus_load(corpus *c, const char *dir)
{
    struct dirent **names = NULL;
    int count = scandir(dir, &names, is_series, by_name);
    for (int i = 0; i < count; i++) {
        char *path = pfc_fs_join(dir, names[i]->d_name);
        json_error_t error;
        json_t *root = json_load_file(path, 0, &error);
        if (root && json_is_array(json_object_get(root, "points"))) {
            c->items = pfc_grow(c->items, c->len, &c->cap, sizeof *c->items);
            series_from_json(&c->items[c->len], root);
            c->points += c->items[c->len++].len;
        }
        json_decref(root);
        free(path);
        free(names[i]);
    }
    free(names);
}

static void corpus_clear(corpus *c)
{
    for (size_t i = 0; i < c->len; i++) {
        free(c->items[i].id);
        free(c->items[i].points);
        free(c->items[i].repeats);
    }
    free(c->items);
}

static int detect(const series *s, size_t n, pfc_detection *out)
{
    pfc_detect_opts opts = { .higher_is_better = s->higher_is_better };
    pfc_err err = { 0 };
    if (pfc_stats_detect(s->points, n, &opts, out, &err)) {
        fprintf(stderr, "perfci-bench-detect: %s: %s\n", s->id, err.msg);
        return 1;
    }
    return 0;
}

static int write_changes(const corpus *c, FILE *out)
{
    for (size_t i = 0; i < c->len; i++) {
        pfc_detection found;
        if (detect(&c->items[i], c->items[i].len, &found))
            return 5;
        fprintf(out, "{\"id\": \"%s\", \"changes\": [", c->items[i].id);
        for (size_t k = 0; k < found.changes_len; k++)
            fprintf(out, "%s%zu", k ? ", " : "", found.changes[k].index);
        fprintf(out, "], \"sets\": [");
        for (size_t k = 0; k < found.changes_len; k++)
            fprintf(out, "%s[%zu, %zu]", k ? ", " : "", found.changes[k].index_low,
                    found.changes[k].index_high);
        fprintf(out, "]}\n");
        pfc_detection_clear(&found);
    }
    return 0;
}

static int time_all(const corpus *c)
{
    double best = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t from = pfc_clock_ns();
        for (size_t i = 0; i < c->len; i++) {
            pfc_detection found;
            if (detect(&c->items[i], c->items[i].len, &found))
                return 5;
            pfc_detection_clear(&found);
        }
        best = fmin(best, (double)(pfc_clock_ns() - from) * 1e-9);
    }
    printf("%zu series, %zu points, %.3f s, %.2f M points/s\n", c->len, c->points, best,
           (double)c->points / best * 1e-6);
    return 0;
}

static bool holds(const pfc_detection *now, const pfc_change *change)
{
    for (size_t k = 0; k < now->changes_len; k++) {
        if (now->changes[k].index + 3 > change->index && now->changes[k].index < change->index + 3)
            return true;
    }
    return false;
}

static int replay(const corpus *c)
{
    size_t lost = 0;
    size_t confirmed = 0;
    size_t cuts = 0;
    for (size_t i = 0; i < c->len; i++) {
        const series *s = &c->items[i];
        size_t n = PFC_MIN(s->len, (size_t)400);
        pfc_detection before = { 0 };
        for (size_t cut = 1; cut <= n; cut++) {
            pfc_detection now;
            if (detect(s, cut, &now))
                return 5;
            for (size_t k = 0; k < before.changes_len; k++) {
                confirmed += before.changes[k].confirmed;
                lost += before.changes[k].confirmed && !holds(&now, &before.changes[k]);
            }
            pfc_detection_clear(&before);
            before = now;
            cuts++;
        }
        pfc_detection_clear(&before);
    }
    printf("replay: %zu cuts, %zu confirmed changes seen again, %zu lost\n", cuts, confirmed, lost);
    return 0;
}

static int usage(void)
{
    fprintf(stderr, "usage: perfci-bench-detect --data DIR [--out FILE.jsonl] [--replay]\n");
    return 2;
}

int main(int argc, char **argv)
{
    const char *data = NULL;
    const char *out_path = NULL;
    bool with_replay = false;
    corpus c = { 0 };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--data") == 0 && i + 1 < argc)
            data = argv[++i];
        else if (strcmp(argv[i], "--out") == 0 && i + 1 < argc)
            out_path = argv[++i];
        else if (strcmp(argv[i], "--replay") == 0)
            with_replay = true;
        else
            return usage();
    }
    if (!data)
        return usage();
    corpus_load(&c, data);
    if (c.len == 0) {
        char *inner = pfc_fs_join(data, "series");
        corpus_load(&c, inner);
        free(inner);
    }
    if (c.len == 0) {
        printf("not available: no series in %s\n", data);
        return 5;
    }
    int status = time_all(&c);
    if (status == 0 && out_path) {
        FILE *out = fopen(out_path, "w");
        if (!out) {
            fprintf(stderr, "perfci-bench-detect: %s: %s\n", out_path, strerror(errno));
            status = 5;
        } else {
            status = write_changes(&c, out);
            if (fclose(out) != 0)
                status = 5;
        }
    }
    if (status == 0 && with_replay)
        status = replay(&c);
    corpus_clear(&c);
    return status;
}
