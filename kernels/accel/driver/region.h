/*
 * A region: one kernel as a program on the host sees it. Copies to the device, launches, copies
 * back, and the waits between them, through the driver's interface and in simulated time.
 *
 * `once`        copies in, all launches, copy out, on one stream
 * `each`        every launch has its own copies, on the same stream, in order
 * `overlapped`  every launch has its own copies, on streams of their own, with two sets of buffers:
 *               the copies of one launch run beside the kernel of its neighbours
 *
 * Only time is computed. What-if runs repeat the whole region with one resource that takes no time:
 * that of a kernel in each launch, `pcie` the link's rate and latency, `host` the calls, doorbells,
 * the way of commands through their queues, semaphores and interrupts.
 *
 * Deterministic; thread-safe, since each call opens a device of its own.
 */
#ifndef PFC_KERNELS_ACCEL_DRIVER_REGION_H
#define PFC_KERNELS_ACCEL_DRIVER_REGION_H

#include "kernels/accel/driver/accel.h"

#define PFC_ACCEL_MAX_LAUNCHES 10000

/* The clocks in a region's trace: see pfc_accel_open_opts. */
#define PFC_ACCEL_REGION_EPOCH_NS 1000000000
#define PFC_ACCEL_REGION_PPM      20 /* as crystals differ */

/** Which launches have copies of their own; see above. */
typedef enum pfc_accel_region_copies {
    PFC_ACCEL_COPIES_ONCE,
    PFC_ACCEL_COPIES_EACH,
    PFC_ACCEL_COPIES_OVERLAPPED
} pfc_accel_region_copies;

/** When the host waits. */
typedef enum pfc_accel_region_sync {
    PFC_ACCEL_SYNC_END, /* once, for everything */
    PFC_ACCEL_SYNC_EACH /* after each launch, and its copy out where it has one */
} pfc_accel_region_sync;

/** How to run a region; zero is the default. */
typedef struct pfc_accel_region_opts {
    uint64_t launches; /* 1..PFC_ACCEL_MAX_LAUNCHES; 0: 1 */
    pfc_accel_region_copies copies;
    pfc_accel_region_sync sync;
    pfc_accel_completion wait;
    const pfc_accel_trace_opts *trace; /* of the whole region, host included; NULL: none */
} pfc_accel_region_opts;

/** A region's result. Times in core cycles are rounded up. */
typedef struct pfc_accel_region {
    double time_ns;  /* from the first call to the return of the last */
    uint64_t cycles; /* the same in core cycles: the base of the what-if */
    pfc_accel_whatif whatif;
    uint64_t kernel_cycles;      /* of all launches together */
    uint64_t launches;           /* as run */
    pfc_accel_counters counters; /* sums over the launches, and of the link */
    pfc_accel_host_stats host;   /* within the region */
} pfc_accel_region;

/** "once", "each", "overlapped"; "end", "each"; "irq", "poll". */
const char *pfc_accel_region_copies_name(pfc_accel_region_copies copies);
const char *pfc_accel_region_sync_name(pfc_accel_region_sync sync);
const char *pfc_accel_completion_name(pfc_accel_completion wait);
pfc_code pfc_accel_region_copies_parse(const char *text, pfc_accel_region_copies *out,
                                       pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_accel_region_sync_parse(const char *text, pfc_accel_region_sync *out,
                                     pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_accel_completion_parse(const char *text, pfc_accel_completion *out,
                                    pfc_err *err) PFC_MUSTCHECK;

/**
 * Runs a compiled program as a region on a chip. The program's last argument is its result, which
 * is copied back; the others are copied to the device.
 *
 * opts   NULL: all zero
 * out    filled on success
 *
 * PFC_EINVAL for options out of range, PFC_ETOOBIG when the arguments (two sets of them with
 * `overlapped`) do not fit into device memory, and the failures of a launch and of a trace.
 */
pfc_code pfc_accel_region_run(const pfc_accel_chip *chip, const pfc_accel_program *program,
                              const pfc_accel_region_opts *opts, pfc_accel_region *out,
                              pfc_err *err) PFC_MUSTCHECK;

#endif
