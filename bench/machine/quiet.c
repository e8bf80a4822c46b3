/* Looks at /proc/stat until the machine is left alone. */
#include "bench/machine/quiet.h"

#include <math.h>
#include <stdio.h>

#include "core/base/clock.h"

static void real_load(void *arg, pfc_load *out)
{
    (void)arg;
    pfc_load_read(NULL, out);
}

static void real_sleep(void *arg, int64_t ns)
{
    (void)arg;
    pfc_clock_sleep_ns(ns);
}

static void look(const pfc_quiet_world *w, pfc_quiet *out)
{
    pfc_load before;
    pfc_load after;
    double total;

    w->load(w->arg, &before);
    w->sleep_ns(w->arg, PFC_QUIET_LOOK_NS);
    w->load(w->arg, &after);
    total = after.total_seconds - before.total_seconds;
    out->waited_s += (double)PFC_QUIET_LOOK_NS * 1e-9;
    out->steal_share = total > 0.0 ? (after.steal_seconds - before.steal_seconds) / total : (double)NAN;
    out->busy_share = total > 0.0 ? (after.busy_seconds - before.busy_seconds) / total : (double)NAN;
    out->quiet = true;
    out->reason[0] = '\0';
    if (out->steal_share > PFC_QUIET_STEAL) {
        out->quiet = false;
        snprintf(out->reason, sizeof(out->reason),
                 "the hypervisor took %.1f %% of the CPU time (limit %.0f %%)",
                 100.0 * out->steal_share, 100.0 * PFC_QUIET_STEAL);
    } else if (out->busy_share > PFC_QUIET_BUSY) {
        out->quiet = false;
        snprintf(out->reason, sizeof(out->reason),
                 "other work takes %.0f %% of the machine (limit %.0f %%), load %.1f",
                 100.0 * out->busy_share, 100.0 * PFC_QUIET_BUSY, after.load1);
    }
}

void pfc_quiet_wait(double limit_s, const pfc_quiet_world *world, pfc_quiet *out)
{
    static const pfc_quiet_world here = { .load = real_load, .sleep_ns = real_sleep };

    *out = (pfc_quiet){ 0 };
    do {
        look(world ? world : &here, out);
    } while (!out->quiet && out->waited_s < limit_s);
}
