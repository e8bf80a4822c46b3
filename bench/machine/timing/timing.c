/* Calibrates the clock, the TSC and the core against each other. */
#include "bench/machine/timing/timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "bench/machine/machine.h"
#include "core/base/clock.h"
#include "core/machine/sysfs.h"

#define CHAIN_ROUNDS  500 /* of 20 steps: about 8 us, two hundred times the clock's step */
#define CHAIN_TRIES   100
#define READINGS      1000
#define TSC_SPAN_NS   10000000
#define STEP_TRIES    1000
#define BRACKET_TRIES 20

static double now(void)
{
    return (double)pfc_clock_ns();
}

#if defined(__x86_64__)
#define CYCLES_A_STEP 3.0
#define STEP          "imul %0, %0\n\t"
#elif defined(__aarch64__)
#define CYCLES_A_STEP 1.0
#define STEP          "add %0, %0, %0\n\t"
#endif

#ifdef STEP
#define STEPS5 STEP STEP STEP STEP STEP

static void chain(void)
{
    uint64_t x = 3;

    for (int i = 0; i < CHAIN_ROUNDS; i++)
        __asm__ volatile(STEPS5 STEPS5 STEPS5 STEPS5 : "+r"(x));
}

double pfc_core_ghz(void)
{
    double best = (double)INFINITY;

    for (int i = 0; i < CHAIN_TRIES; i++) {
        const double start = now();
        chain();
        best = fmin(best, now() - start);
    }
    return best > 0.0 ? CYCLES_A_STEP * 20.0 * CHAIN_ROUNDS / best : (double)NAN;
}
#else
double pfc_core_ghz(void)
{
    return (double)NAN;
}
#endif

#if defined(__x86_64__)
/* Reads tick and time of the same moment: of several pairs it takes the one whose two clock
 * readings are closest. */
static void moment(double *ns, double *ticks)
{
    double closest = (double)INFINITY;

    for (int i = 0; i < BRACKET_TRIES; i++) {
        const double before = now();
        const double tsc = (double)__rdtsc();
        const double after = now();
        if (after - before < closest) {
            closest = after - before;
            *ns = 0.5 * (before + after);
            *ticks = tsc;
        }
    }
}

static void measure_tsc(pfc_timing *out)
{
    double ns[2] = { 0 };
    double ticks[2] = { 0 };
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;

    moment(&ns[0], &ticks[0]);
    pfc_clock_sleep_ns(TSC_SPAN_NS);
    moment(&ns[1], &ticks[1]);
    if (ns[1] > ns[0] && ticks[1] > ticks[0])
        out->tsc_ghz = (ticks[1] - ticks[0]) / (ns[1] - ns[0]);
    out->tsc_invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8)) != 0;
}
#else
static void measure_tsc(pfc_timing *out)
{
    (void)out;
}
#endif

static double smallest_step(void)
{
    double best = (double)INFINITY;

    for (int i = 0; i < STEP_TRIES; i++) {
        const double start = now();
        const double step = now() - start;
        if (step > 0.0)
            best = fmin(best, step);
    }
    return isfinite(best) ? best : (double)NAN;
}

/* Of the best of several series: a preemption would count as the clock's. */
static double overhead(void)
{
    double best = (double)INFINITY;

    for (int series = 0; series < 5; series++) {
        const double start = now();
        double end = start;
        for (int i = 0; i < READINGS; i++)
            end = now();
        best = fmin(best, (end - start) / READINGS);
    }
    return best;
}

void pfc_timing_measure(const char *root, pfc_timing *out)
{
    char *source =
        pfc_sysfs_line(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    struct timespec ts;

    *out = (pfc_timing){ .resolution_ns = (double)NAN, .tsc_ghz = (double)NAN };
    if (clock_getres(CLOCK_MONOTONIC, &ts) == 0)
        out->resolution_ns = (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
    out->step_ns = smallest_step();
    out->overhead_ns = overhead();
    out->core_ghz = pfc_core_ghz();
    measure_tsc(out);
    snprintf(out->source, sizeof(out->source), "%s", source ? source : PFC_NOT_AVAILABLE);
    free(source);
}

static void put(pfc_labels *out, const char *name, double value)
{
    char text[40];

    snprintf(text, sizeof(text), "%.5g", value);
    pfc_labels_set(out, name, isfinite(value) ? text : PFC_NOT_AVAILABLE);
}

void pfc_timing_facts(const pfc_timing *t, pfc_labels *out)
{
    put(out, "timer_resolution_ns", t->resolution_ns);
    put(out, "timer_step_ns", t->step_ns);
    put(out, "timer_overhead_ns", t->overhead_ns);
    put(out, "tsc_ghz", t->tsc_ghz);
    put(out, "core_ghz", t->core_ghz);
    put(out, "core_cycles_per_tsc_tick", t->core_ghz / t->tsc_ghz);
    pfc_labels_set(out, "tsc_invariant",
                   isnan(t->tsc_ghz)  ? PFC_NOT_AVAILABLE
                   : t->tsc_invariant ? "true"
                                      : "false");
    pfc_labels_set(out, "clocksource", t->source);
}
