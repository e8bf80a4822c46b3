/*
 * Describes in words which properties the series that changed together share.
 */
#include "server/services/alerts/group_summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"

#define TEXT_MAX (1024 * 1024)

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

static void put_terms(pfc_buf *out, const pfc_slice *s)
{
    if (s->terms_len == 0)
        return;
    pfc_buf_puts(out, s->exact ? ": " : "; no exact description, closest: ");
    for (size_t i = 0; i < s->terms_len; i++) {
        if (i)
            pfc_buf_puts(out, " and ");
        put_term(out, &s->terms[i]);
    }
    if (!s->exact)
        pfc_buf_printf(out, " (%zu of the %zu that moved, and %zu that did not)", s->hit_fits,
                       s->hit, s->other_fits);
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
    put_terms(&out, &s);
    put_sizes(&out, series, len);
    pfc_slice_clear(&s);
    return pfc_buf_take(&out);
}
