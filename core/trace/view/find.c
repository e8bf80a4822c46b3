/* Slices by their name: see view.h. */
#include <stdlib.h>
#include <string.h>

#include "core/trace/view/view.h"

/* A match with its time, to be put in order. */
typedef struct timed {
    int64_t ns;
    pfc_trace_view_match match;
} timed;

static int by_time(const void *a, const void *b)
{
    const timed *x = a;
    const timed *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    if (x->match.line != y->match.line)
        return x->match.line < y->match.line ? -1 : 1;
    return (x->match.slice > y->match.slice) - (x->match.slice < y->match.slice);
}

static bool contains(const pfc_trace_view *view, const pfc_trace_view_slice *slice,
                     const char *text)
{
    size_t len;
    const char *name = pfc_trace_view_name(view, slice, &len);
    char *copy = pfc_strndup(name, len);
    const bool found = strcasestr(copy, text) != NULL;

    free(copy);
    return found;
}

void pfc_trace_view_find(const pfc_trace_view *view, const char *text, size_t max,
                         pfc_trace_view_match **out, size_t *len, size_t *all)
{
    enum { UNKNOWN, YES, NO };
    uint8_t *names = pfc_calloc(PFC_TRACE_VIEW_NAMES, sizeof(*names));
    timed *found = NULL;
    size_t found_len = 0;
    size_t cap = 0;

    for (size_t i = 0; i < view->lines_len; i++) {
        const pfc_trace_view_line *line = &view->lines[i];

        for (size_t k = 0; k < line->len; k++) {
            uint8_t *known = &names[line->slices[k].name];

            if (*known == UNKNOWN)
                *known = contains(view, &line->slices[k], text) ? YES : NO;
            if (*known == NO)
                continue;
            found = pfc_grow(found, found_len, &cap, sizeof(*found));
            found[found_len++] = (timed){ line->slices[k].begin_ns, { i, k } };
        }
    }
    if (found_len > 0)
        qsort(found, found_len, sizeof(*found), by_time);
    *all = found_len;
    *len = PFC_MIN(found_len, max);
    *out = pfc_calloc(*len, sizeof(**out));
    for (size_t i = 0; i < *len; i++)
        (*out)[i] = found[i].match;
    free(found);
    free(names);
}
