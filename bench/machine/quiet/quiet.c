/* Waits until the machine is quiet. */
#include "bench/machine/quiet/quiet.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "bench/machine/timing/timing.h"
#include "core/base/clock.h"

static void real_load(void *arg, pfc_load *out)
{
    (void)arg;
    pfc_load_read(NULL, out);
    out->core_ghz = pfc_core_ghz();
}

static void real_sleep(void *arg, int64_t ns)
{
    (void)arg;
    pfc_clock_sleep_ns(ns);
}

/* The first closed gate gives the reason. A comparison with NAN is false, so an unknown value
 * closes no gate. */
static void close_gate(pfc_quiet *out, bool closed, const char *fmt, ...) PFC_PRINTF(3, 4);

static void close_gate(pfc_quiet *out, bool closed, const char *fmt, ...)
{
    va_list args;

    if (!closed || !out->quiet)
        return;
    out->quiet = false;
    va_start(args, fmt);
    vsnprintf(out->reason, sizeof(out->reason), fmt, args);
    va_end(args);
}

static void judge(pfc_quiet *out, double cpus)
{
    out->quiet = true;
    out->reason[0] = '\0';
    close_gate(out, out->steal_share > PFC_QUIET_STEAL,
               "the hypervisor took %.1f %% of the CPU time (limit %.0f %%)",
               100.0 * out->steal_share, 100.0 * PFC_QUIET_STEAL);
    close_gate(out, out->busy_share > PFC_QUIET_BUSY,
               "other work takes %.0f %% of the machine (limit %.0f %%), load %.1f",
               100.0 * out->busy_share, 100.0 * PFC_QUIET_BUSY, out->load1);
    close_gate(out, out->running > PFC_QUIET_RUNNING * cpus,
               "%.1f threads of others run or wait for %.0f CPUs (limit %.1f)", out->running, cpus,
               PFC_QUIET_RUNNING * cpus);
    close_gate(out, out->load1 > PFC_QUIET_LOAD * cpus,
               "the load of the last minute is %.1f on %.0f CPUs (limit %.1f)", out->load1, cpus,
               PFC_QUIET_LOAD * cpus);
    close_gate(out, out->throttled > 0.0, "the CPU was slowed by heat %.0f times within %.1f s",
               out->throttled, (double)PFC_QUIET_LOOK_NS * 1e-9);
    close_gate(
        out, out->clock_rel > PFC_QUIET_CLOCK,
        "the core's clock wanders: now %.2f GHz, %.0f %% from half a second ago (limit %.0f %%)",
        out->core_ghz, 100.0 * out->clock_rel, 100.0 * PFC_QUIET_CLOCK);
}

static void look(const pfc_quiet_world *w, pfc_quiet *out)
{
    pfc_load before;
    pfc_load after;
    double running = 0.0;
    double total;

    w->load(w->arg, &before);
    for (int i = 0; i < PFC_QUIET_READS; i++) {
        w->sleep_ns(w->arg, PFC_QUIET_LOOK_NS / PFC_QUIET_READS);
        w->load(w->arg, &after);
        running += fmax(after.running - 1.0, 0.0); /* without this thread */
    }
    total = after.total_seconds - before.total_seconds;
    out->waited_s += (double)PFC_QUIET_LOOK_NS * 1e-9;
    out->steal_share =
        total > 0.0 ? (after.steal_seconds - before.steal_seconds) / total : (double)NAN;
    out->busy_share =
        total > 0.0 ? (after.busy_seconds - before.busy_seconds) / total : (double)NAN;
    out->running = isnan(after.running) ? (double)NAN : running / PFC_QUIET_READS;
    out->load1 = after.load1;
    out->throttled = after.throttled - before.throttled;
    out->core_ghz = after.core_ghz;
    out->clock_rel = fabs(after.core_ghz / before.core_ghz - 1.0);
    judge(out, after.cpus);
}

void pfc_quiet_wait(double limit_s, const pfc_quiet_world *world, pfc_quiet *out)
{
    static const pfc_quiet_world here = { .load = real_load, .sleep_ns = real_sleep };

    *out = (pfc_quiet){ 0 };
    do {
        look(world ? world : &here, out);
    } while (!out->quiet && out->waited_s < limit_s);
}
