/* Reads a suite's settings and backends. */
#include <stdlib.h>
#include <string.h>

#include "bench/suite/reader.h"
#include "core/base/parse.h"

#define MAX_NAME 64 /* bytes of a backend or its glob */

static const char *const known_backends[] = { "cpu-scalar", "cpu-avx2", "cpu-avx512", "cpu-neon" };

void pfc_suite_free_strings(char **items, size_t len)
{
    for (size_t i = 0; i < len; i++)
        free(items[i]);
    free(items);
}

static pfc_code read_counts(const pfc_suite_reader *r, struct fy_node *node, pfc_case_settings *s,
                            pfc_err *err)
{
    static const struct {
        const char *key;
        int64_t min, max;
        size_t offset;
    } counts[] = {
        { "processes", 1, 64, offsetof(pfc_case_settings, processes) },
        { "min_samples", 1, 100000, offsetof(pfc_case_settings, min_samples) },
        { "max_samples", 1, 100000, offsetof(pfc_case_settings, max_samples) },
    };
    const pfc_yaml *y = &r->file->yaml;
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < PFC_ARRAY_LEN(counts); i++) {
        struct fy_node *v = pfc_yaml_get(node, counts[i].key);
        if (v)
            code = pfc_yaml_i64(y, v, counts[i].key, counts[i].min, counts[i].max,
                                (int64_t *)(void *)((char *)s + counts[i].offset), err);
    }
    return code;
}

static pfc_code read_reals(const pfc_suite_reader *r, struct fy_node *node, pfc_case_settings *s,
                           pfc_err *err)
{
    static const struct {
        const char *key;
        double min, max;
        size_t offset;
    } reals[] = {
        { "max_seconds", 1e-3, 3600.0, offsetof(pfc_case_settings, max_seconds) },
        { "warmup_seconds", 0.0, 600.0, offsetof(pfc_case_settings, warmup_seconds) },
        { "interval_rel", 1e-6, 1.0, offsetof(pfc_case_settings, interval_rel) },
        { "launch_seconds", 0.1, 3600.0, offsetof(pfc_case_settings, launch_seconds) },
    };
    const pfc_yaml *y = &r->file->yaml;
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < PFC_ARRAY_LEN(reals); i++) {
        struct fy_node *v = pfc_yaml_get(node, reals[i].key);
        if (v)
            code = pfc_yaml_double(y, v, reals[i].key, reals[i].min, reals[i].max,
                                   (double *)(void *)((char *)s + reals[i].offset), err);
    }
    return code;
}

pfc_code pfc_suite_read_settings(pfc_suite_reader *r, struct fy_node *node, bool top,
                                 pfc_case_settings *s, pfc_err *err)
{
    static const char *const known[] = { "processes",      "min_samples",       "max_samples",
                                         "max_seconds",    "warmup_seconds",    "interval_rel",
                                         "launch_seconds", "max_total_seconds", NULL };
    const pfc_yaml *y = &r->file->yaml;
    struct fy_node *total;
    pfc_code code = pfc_yaml_want_mapping(y, node, "settings", err);

    if (!code)
        code = pfc_yaml_known(y, node, "settings", known, err);
    if (!code)
        code = read_counts(r, node, s, err);
    if (!code)
        code = read_reals(r, node, s, err);
    if (code)
        return code;
    if (s->max_samples < s->min_samples)
        return pfc_yaml_fault(y, node, err, "settings: max_samples %lld is below min_samples %lld",
                              (long long)s->max_samples, (long long)s->min_samples);
    if (s->processes > s->max_samples)
        return pfc_yaml_fault(y, node, err,
                              "settings: %lld processes take at least a sample each, and "
                              "max_samples is %lld",
                              (long long)s->processes, (long long)s->max_samples);
    if (s->warmup_seconds > s->max_seconds && pfc_yaml_get(node, "warmup_seconds"))
        return pfc_yaml_fault(y, pfc_yaml_get(node, "warmup_seconds"), err,
                              "settings: warmup_seconds %g leaves nothing of max_seconds %g",
                              s->warmup_seconds, s->max_seconds);
    total = pfc_yaml_get(node, "max_total_seconds");
    if (!total)
        return PFC_OK;
    if (!top || r->depth > 0)
        return pfc_yaml_fault(
            y, total, err,
            "settings: max_total_seconds limits a whole run: expected it only at the top of "
            "the suite that is measured");
    return pfc_yaml_double(y, total, "max_total_seconds", 1.0, 86400.0,
                           &r->suite->max_total_seconds, err);
}

/* A glob must be able to match something: one of the known names, or chips. */
static bool is_backend(const char *name)
{
    char slug[MAX_NAME + 1];
    size_t n = 0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(known_backends); i++) {
        if (pfc_suite_glob(name, known_backends[i]))
            return true;
    }
    if (strncmp(name, "accel:", 6) != 0)
        return false;
    for (const char *p = name + 6; *p && n < MAX_NAME; p++) {
        if (!strchr("*?[]", *p))
            slug[n++] = *p;
    }
    slug[n] = '\0';
    return pfc_suite_is_glob(name) ? n == 0 || pfc_is_slug(slug) : pfc_is_slug(name + 6);
}

pfc_code pfc_suite_read_globs(const pfc_suite_reader *r, struct fy_node *node, const char *what,
                              size_t max, char ***out, size_t *out_len, pfc_err *err)
{
    const pfc_yaml *y = &r->file->yaml;
    char **items = pfc_calloc(max, sizeof(*items));
    size_t len = 0;
    void *prev = NULL;
    struct fy_node *item;
    pfc_code code = pfc_yaml_want_sequence(y, node, what, err);

    while (!code && (item = fy_node_sequence_iterate(node, &prev))) {
        if (len == max) {
            code = pfc_yaml_fault(y, item, err, "%s: more than %zu", what, max);
            break;
        }
        code = pfc_yaml_text(y, item, what, 200, &items[len], err);
        if (code)
            break;
        len++;
        for (size_t i = 0; !code && i + 1 < len; i++) {
            if (strcmp(items[i], items[len - 1]) == 0)
                code = pfc_yaml_fault(y, item, err, "%s: '%s' is named twice", what, items[i]);
        }
    }
    if (!code && len == 0)
        code = pfc_yaml_fault(y, node, err, "%s: expected at least one", what);
    if (code) {
        pfc_suite_free_strings(items, len);
        return code;
    }
    *out = items;
    *out_len = len;
    return PFC_OK;
}

pfc_code pfc_suite_read_backends(const pfc_suite_reader *r, struct fy_node *node, char ***out,
                                 size_t *out_len, pfc_err *err)
{
    char **items = NULL;
    size_t len = 0;
    void *prev = NULL;
    pfc_code code =
        pfc_suite_read_globs(r, node, "backends", PFC_SUITE_MAX_BACKENDS, &items, &len, err);

    if (code)
        return code;
    for (size_t i = 0; i < len; i++) {
        struct fy_node *item = fy_node_sequence_iterate(node, &prev);

        if (strlen(items[i]) <= MAX_NAME && is_backend(items[i]))
            continue;
        code = pfc_yaml_fault(&r->file->yaml, item, err,
                              "backends: unknown backend '%.64s' (known: cpu-scalar, cpu-avx2, "
                              "cpu-avx512, cpu-neon, accel:NAME, and globs such as accel:*)",
                              items[i]);
        pfc_suite_free_strings(items, len);
        return code;
    }
    *out = items;
    *out_len = len;
    return PFC_OK;
}
