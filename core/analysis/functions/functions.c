/* Functions by name, and the difference of two programs. */
#include "core/analysis/functions/functions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

#define LEAST_SHARE 0.2 /* of the difference, for a function that is named as a cause */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const pfc_function *)a)->name, ((const pfc_function *)b)->name);
}

void pfc_functions_sort(pfc_functions *f)
{
    size_t kept = 0;

    if (f->len > 1)
        qsort(f->items, f->len, sizeof(*f->items), by_name);
    for (size_t i = 0; i < f->len; i++) {
        pfc_function *last = kept ? &f->items[kept - 1] : NULL;

        if (last && strcmp(last->name, f->items[i].name) == 0) {
            last->self += f->items[i].self;
            last->calls += f->items[i].calls;
            free(f->items[i].name);
        } else {
            f->items[kept++] = f->items[i];
        }
    }
    f->len = kept;
}

void pfc_functions_clear(pfc_functions *f)
{
    for (size_t i = 0; i < f->len; i++)
        free(f->items[i].name);
    free(f->items);
    *f = (pfc_functions){ 0 };
}

static uint64_t amount(const pfc_function_change *c)
{
    return c->after > c->before ? c->after - c->before : c->before - c->after;
}

/* Kept in order while it grows, so that the smallest ones drop out. */
static void put(pfc_function_delta *out, const pfc_function *a, const pfc_function *b)
{
    pfc_function_change c = { .before = a ? a->self : 0,
                              .after = b ? b->self : 0,
                              .calls_before = a ? a->calls : 0,
                              .calls_after = b ? b->calls : 0 };
    size_t at = out->len;

    if (c.before == c.after)
        return;
    snprintf(c.name, sizeof(c.name), "%s", a ? a->name : b->name);
    while (at > 0 && amount(&out->changes[at - 1]) < amount(&c))
        at--;
    if (out->len == PFC_FUNCTIONS_SHOWN)
        out->more++;
    if (at == PFC_FUNCTIONS_SHOWN)
        return;
    if (out->len < PFC_FUNCTIONS_SHOWN)
        out->len++;
    memmove(out->changes + at + 1, out->changes + at, (out->len - at - 1) * sizeof(*out->changes));
    out->changes[at] = c;
}

void pfc_functions_compare(const pfc_functions *before, const pfc_functions *after,
                           pfc_function_delta *out)
{
    size_t i = 0;
    size_t k = 0;

    *out = (pfc_function_delta){ .before = before->total, .after = after->total };
    while (i < before->len || k < after->len) {
        const pfc_function *a = i < before->len ? &before->items[i] : NULL;
        const pfc_function *b = k < after->len ? &after->items[k] : NULL;
        const int order = !a ? 1 : !b ? -1 : strcmp(a->name, b->name);

        put(out, order <= 0 ? a : NULL, order >= 0 ? b : NULL);
        i += order <= 0;
        k += order >= 0;
    }
}

bool pfc_function_sentence(const pfc_function_delta *d, size_t i, char out[320])
{
    const pfc_function_change *c = &d->changes[i];
    const double all = (double)d->after - (double)d->before;
    const double mine = i < d->len ? (double)c->after - (double)c->before : 0;
    char share[64] = "";
    char often[96] = "";

    if (i >= d->len || fabs(mine) < LEAST_SHARE * fabs(all))
        return false;
    if (all != 0)
        snprintf(share, sizeof(share), ", %.1f %% of the difference", 100 * mine / all);
    if (c->calls_before != c->calls_after)
        snprintf(often, sizeof(often), " It is called %llu times instead of %llu.",
                 (unsigned long long)c->calls_after, (unsigned long long)c->calls_before);
    snprintf(out, 320, "%.100s executes %llu instructions instead of %llu (%+.0f%s).%s", c->name,
             (unsigned long long)c->after, (unsigned long long)c->before, mine, share, often);
    return true;
}
