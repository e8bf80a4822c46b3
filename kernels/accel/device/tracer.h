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
 * A tracer belongs to one run at a time. It writes a file of its own, or adds the kernel to a file
 * that a driver writes (pfc_accel_trace_file): ticks are then those of the device, and the values
 * of semaphores count on from kernel to kernel.
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
#define PFC_ACCEL_TRACE_HOST     5   /* this and the next ones only in a driver's trace */
#define PFC_ACCEL_TRACE_LINK     6   /* host to device; the next id is the other direction */
#define PFC_ACCEL_TRACE_CLOCKS   8   /* readings of both clocks */
#define PFC_ACCEL_TRACE_DMA      16  /* and one more for each further engine */
#define PFC_ACCEL_TRACE_STREAM   128 /* and one more for each further stream */

typedef struct pfc_accel_tracer pfc_accel_tracer;

/** Where a trace goes, and how much is in it. */
typedef struct pfc_accel_trace_opts {
    const char *path; /* ends in ".json": Chrome JSON; else binary; NULL with a consumer */
    const pfc_trace_consumer *consumer; /* takes the records instead of a file; NULL: `path` */
    const char *kernel;                 /* name of the kernel */
    uint64_t every;       /* cycles between two samples of the units' states; 0: none */
    uint32_t correlation; /* id of the launch */
    const char *digest;   /* of the program (pfc_accel_program_digest); NULL: it is computed */
} pfc_accel_trace_opts;

/** Units of a trace beside those of the chip; the arrays are copied. */
typedef struct pfc_accel_trace_units {
    const pfc_trace_clock *clocks; /* beside that of the chip; units name them from 1 on */
    const pfc_trace_unit *units;
    const char *const *names; /* numbered after those of pfc_accel_trace_file.names */
    size_t clocks_len, units_len, names_len;
} pfc_accel_trace_units;

/** A trace to which the kernels of a device are added one after the other. */
typedef struct pfc_accel_trace_file {
    pfc_trace_writer *writer;
    const pfc_accel_program *program; /* whose schedule lines and phases have names; NULL: none */
    bool named;                       /* their records are written */
    size_t names;                     /* of the kernel, lines and phases; further ones follow */
    uint64_t every;                   /* cycles between two samples; 0: none */
    uint64_t *values;                 /* by semaphore: its newest value; owned */
    size_t values_len;                /* semaphores from `first_semaphore` on */
    uint64_t first_semaphore;         /* number of token 0; those before belong to the driver */
    pfc_accel_counters counters;      /* sums of the kernels so far */
} pfc_accel_trace_file;

/** Opens the file, whose `program` and `first_semaphore` are set and whose rest is zeros, with the
 *  units of the chip and the further ones. The same failures as pfc_trace_writer_open. */
pfc_code pfc_accel_trace_file_open(pfc_accel_trace_file *file, const pfc_accel_chip *chip,
                                   const pfc_accel_trace_opts *opts,
                                   const pfc_accel_trace_units *more, pfc_err *err) PFC_MUSTCHECK;
/** A tracer that adds a kernel, which begins at tick `begin`, to the file. The file outlives it. */
pfc_accel_tracer *pfc_accel_tracer_join(pfc_accel_trace_file *file, const pfc_accel_chip *chip,
                                        const pfc_accel_program *program, uint32_t correlation,
                                        uint64_t begin);

/** Opens the file; the tracer is for one run. PFC_EINVAL, PFC_ENOTFOUND or PFC_EIO, as
 *  pfc_trace_writer_open. */
pfc_code pfc_accel_tracer_open(pfc_accel_tracer **out, const pfc_accel_chip *chip,
                               const pfc_accel_program *program, const pfc_accel_trace_opts *opts,
                               pfc_err *err) PFC_MUSTCHECK;
/** Completes the file and gives it its name, unless it is a driver's; frees the tracer. NULL is
 *  PFC_OK. */
pfc_code pfc_accel_tracer_close(pfc_accel_tracer *t, pfc_err *err) PFC_MUSTCHECK;
/** Frees the tracer and removes what it wrote to a file of its own. Accepts NULL. */
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
