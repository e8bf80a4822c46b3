/*
 * What the series that changed together have in common, in words.
 */
#include <math.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "server/services/internal.h"

#define TRAITS_MAX 4 /* more of them is no summary */
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

/* ---- numbers: a parameter that only changed series have so large, or so small ---- */

static bool number_of(const pfc_slice_series *s, const char *param, double *out)
{
    const char *text = json_string_value(json_object_get(s->params, param));
    char *end = NULL;

    if (!text || !*text)
        return false;
    *out = strtod(text, &end);
    return !*end && isfinite(*out);
}

/* "k >= 4096" where that tells the changed series from the others that are alike so far; NULL: it does
 * not, or some value is no number. */
static char *bound(const pfc_slice_series *series, size_t len, const bool *alike, const char *param)
{
    double low[2] = { INFINITY, INFINITY }, high[2] = { -INFINITY, -INFINITY };

    for (size_t i = 0; i < len; i++) {
        double v;

        if (!alike[i])
            continue;
        if (!number_of(&series[i], param, &v))
            return NULL;
        low[series[i].hit] = fmin(low[series[i].hit], v);
        high[series[i].hit] = fmax(high[series[i].hit], v);
    }
    if (low[0] > high[0] || low[1] >= high[1])
        return NULL; /* nothing else is alike, or one value: that is a trait of its own */
    if (low[1] > high[0])
        return pfc_format("%s >= %.10g", param, low[1]);
    return high[1] < low[0] ? pfc_format("%s <= %.10g", param, high[1]) : NULL;
}

/* ---- words ---- */

typedef struct words {
    pfc_buf out;
    const pfc_slice_series *series;
    size_t len, traits;
    bool *alike; /* has all that was said so far */
} words;

static void add_words(words *w, const char *text)
{
    pfc_buf_printf(&w->out, "%s%.60s", w->traits++ == 0 ? ": " : ", ", text);
}

static void add_trait(words *w, size_t which, const char *param)
{
    char *value = w->traits < TRAITS_MAX ? shared(w->series, w->len, which, param) : NULL;

    if (!value)
        return;
    for (size_t i = 0; i < w->len; i++) {
        char *own = trait(&w->series[i], which, param);

        w->alike[i] = w->alike[i] && pfc_streq(own, value);
        free(own);
    }
    add_words(w, value);
    free(value);
}

static void add_bound(words *w, const char *param)
{
    char *text = w->traits < TRAITS_MAX ? bound(w->series, w->len, w->alike, param) : NULL;

    if (!text)
        return;
    /* What is alike now is what changed: the bound tells them apart. */
    for (size_t i = 0; i < w->len; i++)
        w->alike[i] = w->alike[i] && w->series[i].hit;
    add_words(w, text);
    free(text);
}

static void add_traits(words *w, const pfc_slice_series *first)
{
    /* jansson iterates const objects through a cast of its own only */
    json_t *params = (json_t *)(uintptr_t)first->params;
    size_t others = 0;

    for (size_t which = FAMILY; which < FIXED; which++)
        add_trait(w, which, NULL);
    for (void *at = json_object_iter(params); at; at = json_object_iter_next(params, at))
        add_trait(w, FIXED, json_object_iter_key(at));
    for (void *at = json_object_iter(params); at; at = json_object_iter_next(params, at))
        add_bound(w, json_object_iter_key(at));
    if (w->traits == 0)
        return;
    for (size_t i = 0; i < w->len; i++)
        others += w->alike[i] && !w->series[i].hit;
    pfc_buf_puts(&w->out, others ? " only" : " only, all of these");
}

static void add_sizes(words *w)
{
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < w->len; i++) {
        if (!w->series[i].hit || !isfinite(w->series[i].rel_change))
            continue;
        low = fmin(low, w->series[i].rel_change);
        high = fmax(high, w->series[i].rel_change);
    }
    if (low > high)
        return;
    if (round(low * 1000) == round(high * 1000))
        pfc_buf_printf(&w->out, "; %+.1f %%", 100 * low);
    else
        pfc_buf_printf(&w->out, "; %+.1f %% to %+.1f %%", 100 * low, 100 * high);
}

char *pfc_slice_summary(const pfc_slice_series *series, size_t len)
{
    words w = { .series = series, .len = len, .alike = pfc_calloc(len, sizeof(bool)) };
    size_t hit = 0, first = len;
    char *text;

    for (size_t i = 0; i < len; i++) {
        w.alike[i] = true;
        if (!series[i].hit)
            continue;
        first = PFC_MIN(first, i);
        hit++;
    }
    pfc_buf_init(&w.out, TEXT_MAX);
    if (hit == len && len > 1)
        pfc_buf_printf(&w.out, "all %zu series", len);
    else
        pfc_buf_printf(&w.out, "%zu of %zu series", hit, len);
    if (hit > 0 && hit < len)
        add_traits(&w, &series[first]);
    add_sizes(&w);
    text = pfc_strdup(pfc_buf_text(&w.out));
    pfc_buf_clear(&w.out);
    free(w.alike);
    return text;
}
