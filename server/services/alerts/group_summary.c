/*
 * Describes in words which properties the series that changed together share.
 */
#include "server/services/alerts/group_summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"

#define TEXT_MAX    (1024 * 1024)
/* Names that are listed where no description fits, and their length from the second on. */
#define NAMES       3
#define NAMES_BYTES 120

void pfc_slice_clear(pfc_slice *slice)
{
    for (size_t i = 0; i < slice->terms_len; i++) {
        free(slice->terms[i].attribute);
        for (size_t k = 0; k < slice->terms[i].values_len; k++)
            free(slice->terms[i].values[k]);
    }
    free(slice->terms);
    free(slice->family);
    *slice = (pfc_slice){ 0 };
}

/* A headline is the mean of other series: it changes with them and has no parameters. */
static bool headlines_count(const pfc_slice_series *series, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (series[i].hit && !series[i].headline)
            return false;
    return true;
}

/* The family of all series that changed; NULL: several. The caller frees it. */
static char *family_of_hits(const pfc_slice_series *series, size_t len, bool headlines)
{
    char *family = NULL;

    for (size_t i = 0; i < len; i++) {
        char *own;

        if (!series[i].hit || (series[i].headline && !headlines))
            continue;
        own = pfc_slice_family(series[i].benchmark);
        if (!family) {
            family = own;
            continue;
        }
        if (strcmp(family, own) != 0) {
            free(own);
            free(family);
            return NULL;
        }
        free(own);
    }
    return family;
}

void pfc_slice_find(const pfc_slice_series *series, size_t len, pfc_slice *out)
{
    const bool headlines = headlines_count(series, len);
    size_t *rows = pfc_calloc(len, sizeof(*rows)), n = 0;
    pfc_slice_table table;

    *out = (pfc_slice){ .family = headlines ? NULL : family_of_hits(series, len, false) };
    for (size_t i = 0; i < len; i++) {
        char *own = pfc_slice_family(series[i].benchmark);

        if ((headlines || !series[i].headline) && (!out->family || strcmp(own, out->family) == 0))
            rows[n++] = i;
        free(own);
    }
    pfc_slice_table_make(series, rows, n, &table);
    out->hit = table.hits;
    out->of = n;
    out->exact = true;
    out->hit_fits = table.hits;
    if (table.hits > 0 && table.hits < n)
        pfc_slice_search(&table, out);
    pfc_slice_table_clear(&table);
    free(rows);
}

/* ---- words ---- */

static void put_term(pfc_buf *out, const pfc_slice_term *t)
{
    static const char *const signs[] = { "=", " >= ", " <= " };
    const bool set = t->values_len > 1;
    /* An unnamed part of the benchmark's name is printed as its value only. */
    const bool named = strncmp(t->attribute, "part ", 5) != 0;

    if (named || set)
        pfc_buf_printf(out, "%s%s", named ? t->attribute : "name",
                       set ? " in {" : signs[t->relation]);
    else if (t->relation != PFC_SLICE_IN)
        pfc_buf_printf(out, "name%s", signs[t->relation]);
    for (size_t i = 0; i < t->values_len; i++)
        pfc_buf_printf(out, "%s%s", i ? ", " : "", t->values[i]);
    if (set)
        pfc_buf_putc(out, '}');
}

static void put_description(pfc_buf *out, const pfc_slice *s)
{
    for (size_t i = 0; i < s->terms_len; i++) {
        if (i)
            pfc_buf_puts(out, " and ");
        put_term(out, &s->terms[i]);
    }
}

/* An inexact description helps when most of what it holds for moved, and it holds for most that
 * moved. */
static bool describes(const pfc_slice *s)
{
    return s->terms_len && 3 * s->hit_fits >= 2 * s->hit && 2 * s->other_fits <= s->hit_fits;
}

/* Series that moved most go first, then those whose change is not known; by name where equal. */
static bool precedes(const pfc_slice_series *a, const pfc_slice_series *b)
{
    const double x = isfinite(a->rel_change) ? fabs(a->rel_change) : -1;
    const double y = isfinite(b->rel_change) ? fabs(b->rel_change) : -1;

    return x != y ? x > y : strcmp(a->benchmark, b->benchmark) < 0;
}

/* The series that moved most and has none of these names; NULL: none is left. */
static const pfc_slice_series *next_named(const pfc_slice_series *series, size_t len,
                                          const pfc_slice_series *const *named, size_t n)
{
    const bool headlines = headlines_count(series, len);
    const pfc_slice_series *next = NULL;

    for (size_t i = 0; i < len; i++) {
        bool out = !series[i].hit || (series[i].headline && !headlines);

        for (size_t k = 0; k < n && !out; k++)
            out = pfc_streq(series[i].benchmark, named[k]->benchmark);
        if (!out && (!next || precedes(&series[i], next)))
            next = &series[i];
    }
    return next;
}

/* Names of benchmarks that moved: all, or if they are many or long, the ones that moved most. */
static void put_names(pfc_buf *out, const pfc_slice_series *series, size_t len)
{
    const pfc_slice_series *named[NAMES], *next;
    pfc_buf names;
    size_t n = 0;

    pfc_buf_init(&names, TEXT_MAX);
    while ((next = next_named(series, len, named, n)) != NULL && n < NAMES) {
        const size_t more = strlen(next->benchmark);

        if (n && names.len + more > NAMES_BYTES)
            break;
        pfc_buf_printf(&names, "%s%s", n ? ", " : "", next->benchmark);
        named[n++] = next;
    }
    pfc_buf_printf(out, "%s%s", next ? "; worst: " : ": ", names.data);
    pfc_buf_clear(&names);
}

static void put_terms(pfc_buf *out, const pfc_slice_series *series, size_t len, const pfc_slice *s)
{
    if (s->exact && s->terms_len == 0)
        return;
    if (s->exact) {
        pfc_buf_puts(out, ": ");
        put_description(out, s);
    } else if (s->hit > NAMES && describes(s)) {
        pfc_buf_puts(out, ", most with ");
        put_description(out, s);
        pfc_buf_printf(out, " (%zu of these %zu", s->hit_fits, s->hit);
        pfc_buf_printf(out, s->other_fits ? "; %zu with it did not move)" : ")", s->other_fits);
    } else {
        put_names(out, series, len);
    }
}

static void put_sizes(pfc_buf *out, const pfc_slice_series *series, size_t len)
{
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < len; i++) {
        if (!series[i].hit || !isfinite(series[i].rel_change))
            continue;
        low = fmin(low, series[i].rel_change);
        high = fmax(high, series[i].rel_change);
    }
    if (low > high)
        return;
    if (round(low * 1000) == round(high * 1000))
        pfc_buf_printf(out, "; %+.1f %%", 100 * low);
    else
        pfc_buf_printf(out, "; %+.1f %% to %+.1f %%", 100 * low, 100 * high);
}

char *pfc_slice_summary(const pfc_slice_series *series, size_t len)
{
    pfc_slice s;
    pfc_buf out;

    pfc_slice_find(series, len, &s);
    pfc_buf_init(&out, TEXT_MAX);
    if (s.hit == s.of && s.of > 1)
        pfc_buf_printf(&out, "all %zu ", s.of);
    else
        pfc_buf_printf(&out, "%zu of %zu ", s.hit, s.of);
    if (s.family)
        pfc_buf_printf(&out, "%s ", s.family);
    pfc_buf_puts(&out, "series");
    put_terms(&out, series, len, &s);
    put_sizes(&out, series, len);
    pfc_slice_clear(&s);
    return pfc_buf_take(&out);
}
