/*
 * Writes the events of the engine as a trace (core/trace): commands as tiles and transfers, tokens
 * as semaphores, the state of each unit at an interval. Records have ticks of the core clock from
 * the kernel's begin. The order of calls is the engine's order of events; records that lie in the
 * future (ends, signals) are held back, so that the file is in order of time.
 *
 * A tile's "fold" and a transfer's "descriptor" are the number of the command in the program. A
 * token's semaphore counts its commands that are done; the wait names the number of all of them.
 * The signals of a unit that computes are in the order of its tiles, a transfer's signal follows
 * its dma_done. The waits of a command precede its `command` record on the same unit; its costs by
 * part lie at its begin, those of a transfer at its dma_done.
 *
 * A tracer belongs to one run at a time.
 */
#ifndef PFC_KERNELS_ACCEL_DEVICE_TRACER_H
#define PFC_KERNELS_ACCEL_DEVICE_TRACER_H

#include "core/trace/trace.h"
#include "kernels/accel/device/device.h"

/* Ids of the units in a trace. */
#define PFC_ACCEL_TRACE_QUEUE    1
#define PFC_ACCEL_TRACE_TENSOR   2
#define PFC_ACCEL_TRACE_VECTOR   3
#define PFC_ACCEL_TRACE_COUNTERS 4
#define PFC_ACCEL_TRACE_DMA      16 /* and one more for each further engine */

typedef struct pfc_accel_tracer pfc_accel_tracer;

/** Where a trace goes, and how much is in it. */
typedef struct pfc_accel_trace_opts {
    const char *path; /* ends in ".json": Chrome JSON; else binary; NULL with a consumer */
    const pfc_trace_consumer *consumer; /* takes the records instead of a file; NULL: `path` */
    const char *kernel;                 /* name of the kernel */
    uint64_t every;       /* cycles between two samples of the units' states; 0: none */
    uint32_t correlation; /* id of the launch */
} pfc_accel_trace_opts;

/** Opens the file; the tracer is for one run. PFC_EINVAL, PFC_ENOTFOUND or PFC_EIO, as
 *  pfc_trace_writer_open. */
pfc_code pfc_accel_tracer_open(pfc_accel_tracer **out, const pfc_accel_chip *chip,
                               const pfc_accel_program *program, const pfc_accel_trace_opts *opts,
                               pfc_err *err) PFC_MUSTCHECK;
/** Completes the file and gives it its name; frees the tracer. NULL is PFC_OK. */
pfc_code pfc_accel_tracer_close(pfc_accel_tracer *t, pfc_err *err) PFC_MUSTCHECK;
/** Frees the tracer and removes what it wrote. Accepts NULL. */
void pfc_accel_tracer_drop(pfc_accel_tracer *t);

/* ---- for the engine ---- */

/** The unit takes command `index` at `begin`: its phase and its line of the schedule. */
void pfc_accel_trace_taken(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t begin);
/** A fact about command `index` (PFC_TRACE_COST_..., ...); a value of 0 is not written. */
void pfc_accel_trace_detail(pfc_accel_tracer *t, pfc_trace_type type, uint16_t unit, size_t index,
                            uint64_t value, uint64_t at);

/** Command `index` of unit `unit` occupies it from `begin` until `end`; its result is there, and
 *  its token signalled, at `done` >= end. */
void pfc_accel_trace_command(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t begin,
                             uint64_t end, uint64_t done);
/** Command `index` waits from `begin` on for the tokens that it names. */
void pfc_accel_trace_wait(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t begin);
/** The transfer of command `index` begins. */
void pfc_accel_trace_transfer(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t begin);
/** Its last byte arrives, and its token is signalled, at `done`. */
void pfc_accel_trace_arrived(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t done);
/** The unit was in that state (PFC_TRACE_STATE_...); gaps between intervals are idle. */
void pfc_accel_trace_state(pfc_accel_tracer *t, uint16_t unit, unsigned state, uint64_t begin,
                           uint64_t end);
/** The kernel ends. */
void pfc_accel_trace_end(pfc_accel_tracer *t, uint64_t total, const pfc_accel_counters *counters);

#endif
