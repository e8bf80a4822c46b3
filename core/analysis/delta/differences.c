/* Recorded values that are not the same in both runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/delta/delta_priv.h"
#include "core/base/base.h"

/* Sums of the path, projections and the metrics themselves follow from what differs; they are no
 * cause. Times of the measuring program differ in every run. */
static bool derived(const char *name)
{
    return strncmp(name, "path.", 5) == 0 || strncmp(name, "edge.", 5) == 0 ||
           strncmp(name, "recoverable_", 12) == 0 || strncmp(name, "whatif_", 7) == 0 ||
           strncmp(name, "metric_", 7) == 0 ||
           (strstr(name, "_seconds") && strlen(strstr(name, "_seconds")) == strlen("_seconds"));
}

/* Texts and values of one run alone stand before all relative changes. */
static double weight_of(double rel)
{
    return isnan(rel) ? (double)INFINITY : fabs(rel);
}

static void put(pfc_delta *out, const char *name, const char *before, const char *after, double rel)
{
    const size_t cap = PFC_DELTA_MAX_DIFFERENCES;
    const double weight = weight_of(rel);
    size_t at = out->differences_len;

    /* Kept in order while it grows, so that the smallest ones drop out. */
    while (at > 0) {
        if (weight_of(out->differences[at - 1].rel) >= weight)
            break;
        at--;
    }
    if (out->differences_len == cap)
        out->differences_more++;
    if (at == cap)
        return;
    if (out->differences_len < cap)
        out->differences_len++;
    memmove(out->differences + at + 1, out->differences + at,
            (out->differences_len - at - 1) * sizeof(*out->differences));
    snprintf(out->differences[at].name, sizeof(out->differences[at].name), "%s", name);
    snprintf(out->differences[at].before, sizeof(out->differences[at].before), "%s", before);
    snprintf(out->differences[at].after, sizeof(out->differences[at].after), "%s", after);
    out->differences[at].rel = rel;
}

static void put_number(pfc_delta *out, const char *name, const double *before, const double *after)
{
    char a[32] = "";
    char b[32] = "";

    if (derived(name) || (before && after && *before == *after))
        return;
    if (before)
        snprintf(a, sizeof(a), "%.15g", *before);
    if (after)
        snprintf(b, sizeof(b), "%.15g", *after);
    put(out, name, a, b,
        before && after && *before != 0 ? (*after - *before) / *before : (double)NAN);
}

static void compare_facts(const pfc_profile *before, const pfc_profile *after, pfc_delta *out)
{
    for (size_t i = 0; i < before->facts_len; i++) {
        const char *other = pfc_profile_fact_of(after, before->facts[i].name);

        if (!other || strcmp(other, before->facts[i].text) != 0)
            put(out, before->facts[i].name, before->facts[i].text, other ? other : "", NAN);
    }
    for (size_t i = 0; i < after->facts_len; i++)
        if (!pfc_profile_fact_of(before, after->facts[i].name))
            put(out, after->facts[i].name, "", after->facts[i].text, NAN);
}

static void compare_numbers(const pfc_profile *before, const pfc_profile *after, pfc_delta *out)
{
    double other;

    for (size_t i = 0; i < before->numbers_len; i++) {
        const pfc_profile_number *n = &before->numbers[i];
        const bool both = pfc_profile_number_of(after, n->name, &other);

        put_number(out, n->name, &n->value, both ? &other : NULL);
    }
    for (size_t i = 0; i < after->numbers_len; i++)
        if (!pfc_profile_number_of(before, after->numbers[i].name, &other))
            put_number(out, after->numbers[i].name, NULL, &after->numbers[i].value);
}

static bool same_fact(const pfc_profile *a, const pfc_profile *b, const char *name)
{
    const char *x = pfc_profile_fact_of(a, name);
    const char *y = pfc_profile_fact_of(b, name);

    return x && y && strcmp(x, y) == 0;
}

void pfc_delta_differences(const pfc_profile *before, const pfc_profile *after, pfc_delta *out)
{
    out->same_chip = same_fact(before, after, "chip_hash");
    out->same_stream = same_fact(before, after, "stream_digest");
    out->same_simulator = same_fact(before, after, "simulator");
    compare_facts(before, after, out);
    compare_numbers(before, after, out);
}
