/*
 * The machine that measures: its fingerprint (with the parts of perfci that measure on it), its
 * load, and its canary, which shows changes of its speed. A value that cannot be read is "not
 * available", never guessed and never empty. Thread-safe, except GPUs (gpu.h) and the canary, which
 * needs an otherwise idle thread.
 */
#ifndef PFC_BENCH_MACHINE_MACHINE_H
#define PFC_BENCH_MACHINE_MACHINE_H

#include "core/machine/describe.h"

typedef struct pfc_machine_opts {
    const char *root;            /* where /proc and /sys are; NULL: "" (the real ones) */
    const char *suite_hash;      /* NULL: not available */
    const char *simulator;       /* version of the simulated accelerator; NULL: not available */
    const char *chips;           /* hash of its chip files; NULL: not available */
    const pfc_gpu_sources *gpus; /* NULL: of this machine, or below root where that is given */
} pfc_machine_opts;

/**
 * The machine as pfc_machine_describe has it, and what measures: compiler, flags, harness,
 * simulator, chips, suite; with its hash. `out` is overwritten, and cleared by pfc_machine_clear.
 */
void pfc_machine_read(const pfc_machine_opts *opts, pfc_machine *out);

/** SHA-256 over the version and the sources that make numbers; changes when they change. */
const char *pfc_harness_hash(void);

/** How busy the machine is; a field that cannot be read is NAN. */
typedef struct pfc_load {
    double load1;         /* load average of a minute */
    double steal_seconds; /* taken by the hypervisor since boot, all CPUs */
    double busy_seconds;  /* user, nice, system, irq since boot, all CPUs */
    double total_seconds; /* everything since boot, all CPUs */
    double running;       /* threads that run or wait for a CPU now, this one included */
    double throttled; /* times that the CPUs were slowed by heat since boot, all of them together */
    double core_ghz;  /* set by who measures it (pfc_core_ghz); pfc_load_read says NAN */
    double cpus;      /* in use */
} pfc_load;

/** root as in pfc_machine_opts. */
void pfc_load_read(const char *root, pfc_load *out);

/**
 * The canary: a fixed workload (a chain of dependent multiply-adds in registers and L1). A change
 * of its time is a change of the machine, not of the code. One reading is the lower quartile of
 * `samples` short samples, ns each; the quartile because preemption only ever adds.
 */
#define PFC_CANARY_SAMPLES  41
#define PFC_CANARY_BAND_REL 0.25 /* until this machine's own band is learned: band.h */
void pfc_canary_measure(double *samples_ns, size_t samples);
/** The reading of those samples. */
double pfc_canary_reading(const double *samples_ns, size_t samples);

/** The last CPU this process may run on, to pin to; -1 when it cannot be known. */
int pfc_machine_pin_cpu(void);

#endif
