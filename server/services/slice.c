/*
 * What the series that changed together have in common, in words.
 */
#include "core/base/buf.h"
#include "server/services/internal.h"

#define TRAITS_MAX 3 /* more of them is no summary */
#define TEXT_MAX   400

/* The first part of a benchmark's name, which says what kind of work it is. */
static size_t family_len(const char *benchmark)
{
    return strcspn(benchmark, "/");
}

/* Trait `which` of a series; NULL: it has none. Parameters come after the fixed ones. */
enum { FAMILY, BACKEND, METRIC, MACHINE, FIXED };

static char *trait(const pfc_slice_series *s, size_t which, const char *param)
{
    const json_t *value;

    switch (which) {
    case FAMILY:
        return pfc_strndup(s->benchmark, family_len(s->benchmark));
    case BACKEND:
        return pfc_strdup(s->backend);
    case METRIC:
        return pfc_strdup(s->metric);
    case MACHINE:
        return pfc_strdup(s->machine_class);
    default:
        value = json_object_get(s->params, param);
        return json_is_string(value) ? pfc_format("%s=%.40s", param, json_string_value(value))
                                     : NULL;
    }
}

/* The value that all hit series share while some other series has another; NULL: none. */
static char *shared(const pfc_slice_series *series, size_t len, size_t which, const char *param)
{
    char *common = NULL;
    bool others = false, same = true;

    for (size_t i = 0; i < len && same; i++) {
        char *value;

        if (!series[i].hit)
            continue;
        value = trait(&series[i], which, param);
        if (!common && value) {
            common = value;
            continue;
        }
        same = value && pfc_streq(common, value);
        free(value);
    }
    for (size_t i = 0; i < len && same && common && !others; i++) {
        char *value = series[i].hit ? NULL : trait(&series[i], which, param);

        others = !series[i].hit && !pfc_streq(common, value);
        free(value);
    }
    if (same && others)
        return common;
    free(common);
    return NULL;
}

static void add_trait(pfc_buf *out, size_t *traits, char *value)
{
    if (value && *traits < TRAITS_MAX)
        pfc_buf_printf(out, "%s%.60s", *traits == 0 ? ": " : ", ", value);
    if (value)
        (*traits)++;
    free(value);
}

char *pfc_slice_summary(const pfc_slice_series *series, size_t len)
{
    size_t hit = 0, first = len, traits = 0;
    pfc_buf out;
    char *text;

    for (size_t i = 0; i < len; i++) {
        if (!series[i].hit)
            continue;
        first = PFC_MIN(first, i);
        hit++;
    }
    pfc_buf_init(&out, TEXT_MAX);
    if (hit == len && len > 1)
        pfc_buf_printf(&out, "all %zu series", len);
    else
        pfc_buf_printf(&out, "%zu of %zu series", hit, len);
    if (hit > 0 && hit < len) {
        for (size_t which = FAMILY; which < FIXED; which++)
            add_trait(&out, &traits, shared(series, len, which, NULL));
        /* jansson iterates const objects through a cast of its own only */
        json_t *params = (json_t *)(uintptr_t)series[first].params;

        for (void *at = json_object_iter(params); at; at = json_object_iter_next(params, at))
            add_trait(&out, &traits, shared(series, len, FIXED, json_object_iter_key(at)));
        if (traits > 0)
            pfc_buf_puts(&out, " only");
    }
    text = pfc_strdup(pfc_buf_text(&out));
    pfc_buf_clear(&out);
    return text;
}
