#include "core/base/text_index.h"

#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b)
{
    const pfc_text_place *x = a, *y = b;
    const int order = strcmp(x->text, y->text);

    return order ? order : (x->place > y->place) - (x->place < y->place);
}

void pfc_text_index_make(pfc_text_index *out, const char *const *texts, size_t len)
{
    *out = (pfc_text_index){ .items = pfc_calloc(len, sizeof(*out->items)), .len = len };
    for (size_t i = 0; i < len; i++)
        out->items[i] = (pfc_text_place){ texts[i], i };
    if (len > 1)
        qsort(out->items, len, sizeof(*out->items), by_text);
}

bool pfc_text_index_find(const pfc_text_index *index, const char *text, size_t *place)
{
    size_t low = 0, high = index->len;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (strcmp(index->items[mid].text, text) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == index->len || strcmp(index->items[low].text, text) != 0)
        return false;
    if (place)
        *place = index->items[low].place;
    return true;
}

void pfc_text_index_clear(pfc_text_index *index)
{
    free(index->items);
    *index = (pfc_text_index){ 0 };
}
