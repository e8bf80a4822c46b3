/* Looks for what slows the machine from outside. */
#include "bench/machine/quiet/throttle.h"

#include <stdio.h>

void pfc_throttle_begin(pfc_throttle *t, const char *root, pfc_gpus *gpus)
{
    pfc_load load;

    pfc_load_read(root, &load);
    *t = (pfc_throttle){ .root = root, .gpus = gpus, .cpu_count = load.throttled };
}

bool pfc_throttle_look(pfc_throttle *t, char *why, size_t cap)
{
    pfc_load load;
    double times;

    pfc_load_read(t->root, &load);
    times = load.throttled - t->cpu_count;
    t->cpu_count = load.throttled;
    why[0] = '\0';
    if (times > 0.0) {
        snprintf(why, cap, "CPU: slowed by heat %.0f times", times);
        return true;
    }
    return t->gpus && pfc_gpus_throttled(t->gpus, why, cap);
}
