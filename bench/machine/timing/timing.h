/*
 * Properties of this machine's clocks: resolution, cost of a reading, and the ratio of the
 * constant-rate counter (TSC) to the core's current clock.
 *
 * The core's clock is measured, not read: a chain of multiplications, each waiting for the one
 * before it (three cycles each on every x86-64 of the last fifteen years), timed by
 * CLOCK_MONOTONIC. The shortest of many short chains counts, because everything else only takes
 * away. Nominal frequencies say nothing of turbo, and ticks of the TSC are no cycles of the core.
 * Source: Fog, "Instruction tables" (IMUL r64, r64); on aarch64 a chain of additions (one cycle
 * each).
 */
#ifndef PFC_BENCH_MACHINE_TIMING_TIMING_H
#define PFC_BENCH_MACHINE_TIMING_TIMING_H

#include "core/wire/wire.h"

/** NAN: not available. */
typedef struct pfc_timing {
    double resolution_ns; /* what the system says of CLOCK_MONOTONIC */
    double step_ns;       /* the smallest difference of two readings that was seen */
    double overhead_ns;   /* of one reading */
    double tsc_ghz;       /* ticks a nanosecond; x86 only */
    double core_ghz;      /* cycles a nanosecond, now, on this CPU */
    bool tsc_invariant;   /* the TSC ticks evenly whatever the core's clock does */
    char source[32];      /* the kernel's clock source: "tsc", "kvm-clock" */
} pfc_timing;

/** Calibrates, in about 20 ms, on the CPU that it runs on. root: as in pfc_machine_opts. */
void pfc_timing_measure(const char *root, pfc_timing *out);
/** The core's clock alone, in about 1 ms; NAN on CPUs whose chain is not known. */
double pfc_core_ghz(void);
/** timer_resolution_ns, timer_step_ns, timer_overhead_ns, tsc_ghz, tsc_invariant, core_ghz,
 *  core_cycles_per_tsc_tick, clocksource. */
void pfc_timing_facts(const pfc_timing *timing, pfc_labels *out);

#endif
