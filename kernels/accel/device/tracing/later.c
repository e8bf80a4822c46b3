/* A heap of records: see later.h. */
#include "kernels/accel/device/tracing/later.h"

#include <stdlib.h>

static bool before(const pfc_accel_later_item *a, const pfc_accel_later_item *b)
{
    return a->at != b->at ? a->at < b->at : a->number < b->number;
}

void pfc_accel_later_add(pfc_accel_later *later, uint64_t at, const pfc_trace_record *record)
{
    const pfc_accel_later_item item = { at, later->number++, *record };
    size_t i;

    later->items = pfc_grow(later->items, later->len, &later->cap, sizeof(*later->items));
    for (i = later->len++; i > 0 && before(&item, &later->items[(i - 1) / 2]); i = (i - 1) / 2)
        later->items[i] = later->items[(i - 1) / 2];
    later->items[i] = item;
}

static void drop_first(pfc_accel_later *later)
{
    const pfc_accel_later_item last = later->items[--later->len];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= later->len)
            break;
        if (child + 1 < later->len && before(&later->items[child + 1], &later->items[child]))
            child++;
        if (!before(&later->items[child], &last))
            break;
        later->items[i] = later->items[child];
        i = child;
    }
    later->items[i] = last;
}

bool pfc_accel_later_take(pfc_accel_later *later, uint64_t until, pfc_trace_record *out)
{
    if (later->len == 0 || later->items[0].at >= until)
        return false;
    *out = later->items[0].record;
    drop_first(later);
    return true;
}

void pfc_accel_later_clear(pfc_accel_later *later)
{
    free(later->items);
    *later = (pfc_accel_later){ 0 };
}
