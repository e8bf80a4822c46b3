/* How much of a run only loads, only stores, only executes, or does several of them at once. */
#include "kernels/accel/device/parts.h"

static unsigned active(const pfc_accel_overlap *o, uint64_t t)
{
    unsigned which = t < o->until[2] ? PFC_ACCEL_EXECUTING : 0;

    if (o->open[0] || t < o->until[0])
        which |= PFC_ACCEL_LOADING;
    if (o->open[1] || t < o->until[1])
        which |= PFC_ACCEL_STORING;
    return which;
}

/* Sums up to `at`, cut where an activity with a known end ends. */
static void advance(pfc_accel_overlap *o, uint64_t at)
{
    while (o->seen < at) {
        uint64_t next = at;

        for (size_t i = 0; i < PFC_ARRAY_LEN(o->until); i++)
            if (o->until[i] > o->seen && o->until[i] < next)
                next = o->until[i];
        o->time[active(o, o->seen)] += next - o->seen;
        o->seen = next;
    }
}

void pfc_accel_overlap_open(pfc_accel_overlap *o, bool store, uint64_t at)
{
    advance(o, at);
    o->open[store]++;
}

void pfc_accel_overlap_close(pfc_accel_overlap *o, bool store, uint64_t at, uint64_t until)
{
    advance(o, at);
    o->open[store]--;
    o->until[store] = PFC_MAX(o->until[store], until);
}

void pfc_accel_overlap_execute(pfc_accel_overlap *o, uint64_t at, uint64_t until)
{
    advance(o, at);
    o->until[2] = PFC_MAX(o->until[2], until);
}

void pfc_accel_overlap_end(pfc_accel_overlap *o, uint64_t total, pfc_accel_counters *counters)
{
    advance(o, total);
    for (size_t i = 0; i < PFC_ARRAY_LEN(o->time); i++)
        counters->v[PFC_ACCEL_OVERLAP_NONE + i] = o->time[i];
}
