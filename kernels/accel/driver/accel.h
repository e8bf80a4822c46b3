/*
 * The accelerator's driver: how a program on the host reaches a simulated chip. Open, allocate,
 * copy, launch, synchronise, read counters, close.
 *
 * Streams are in order; copies of one direction share the PCIe link, kernels share the chip, both
 * in the order of the calls. A call returns when its effect is computed, and says with ticks (core
 * cycles since the device was opened) when it would be over on the chip: there is no wall clock in
 * here. Every misuse is an error, not undefined: pointers that were never given out or are freed,
 * copies past an allocation, launches on a closed device.
 *
 * Thread-safety: each call locks its device, so several threads may use one. The order of their
 * calls is the order of the work; with one thread a sequence of calls always gives the same ticks.
 */
#ifndef PFC_KERNELS_ACCEL_DRIVER_ACCEL_H
#define PFC_KERNELS_ACCEL_DRIVER_ACCEL_H

#include "kernels/accel/device/tracer.h"
#include "kernels/accel/device/whatif.h"

#define PFC_ACCEL_MAX_STREAMS 64
#define PFC_ACCEL_MAX_ALLOCS  4096
#define PFC_ACCEL_ALIGN       256 /* bytes; of every allocation */

typedef struct pfc_accel_device pfc_accel_device;

/** An address in device memory; 0 is none. */
typedef uint64_t pfc_accel_ptr;

/** A stream of a device; 0 is there from the start. */
typedef uint32_t pfc_accel_stream;

/** Opens a device that is such a chip. */
pfc_code pfc_accel_open(pfc_accel_device **out, const pfc_accel_chip *chip,
                        pfc_err *err) PFC_MUSTCHECK;
/** The same by name of a built-in chip or path of a chip file. */
pfc_code pfc_accel_open_name(pfc_accel_device **out, const char *name_or_path,
                             pfc_err *err) PFC_MUSTCHECK;
/** Ends the device: its memory is gone, every later call on it is PFC_ECONFLICT, also this one. */
pfc_code pfc_accel_close(pfc_accel_device *dev, pfc_err *err);
/** Frees the handle, closing the device when it is open. Accepts NULL. */
void pfc_accel_device_free(pfc_accel_device *dev);
/** Its description; lives as long as the handle. */
const pfc_accel_chip *pfc_accel_device_chip(const pfc_accel_device *dev);

/** bytes >= 1, rounded up to PFC_ACCEL_ALIGN. PFC_ETOOBIG when no gap of device memory is that
 *  large. Memory reads as zero until written. */
pfc_code pfc_accel_malloc(pfc_accel_device *dev, uint64_t bytes, pfc_accel_ptr *out,
                          pfc_err *err) PFC_MUSTCHECK;
/** PFC_EINVAL unless `ptr` came from pfc_accel_malloc and was not freed since. */
pfc_code pfc_accel_free(pfc_accel_device *dev, pfc_accel_ptr ptr, pfc_err *err);
/** Bytes that are not allocated. */
pfc_code pfc_accel_memory_free(pfc_accel_device *dev, uint64_t *out, pfc_err *err) PFC_MUSTCHECK;

pfc_code pfc_accel_stream_new(pfc_accel_device *dev, pfc_accel_stream *out,
                              pfc_err *err) PFC_MUSTCHECK;
/** Work submitted to `stream` after this call starts when all work that is now in `other` is done.
 */
pfc_code pfc_accel_stream_wait(pfc_accel_device *dev, pfc_accel_stream stream,
                               pfc_accel_stream other, pfc_err *err) PFC_MUSTCHECK;

/** Host to device. The range lies in one allocation; `src` may be reused at return. */
pfc_code pfc_accel_copy_in(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_ptr dst,
                           const void *src, uint64_t bytes, pfc_err *err) PFC_MUSTCHECK;
/** Device to host; `dst` is filled at return. */
pfc_code pfc_accel_copy_out(pfc_accel_device *dev, pfc_accel_stream stream, void *dst,
                            pfc_accel_ptr src, uint64_t bytes, pfc_err *err) PFC_MUSTCHECK;

/** How to launch; zero is the default. */
typedef struct pfc_accel_launch_opts {
    bool timing_only;                  /* cycles and counters, no results */
    pfc_accel_detail *detail;          /* out; NULL: not wanted */
    const pfc_accel_trace_opts *trace; /* NULL: no trace */
} pfc_accel_launch_opts;

/**
 * Runs a compiled program. args: a pointer for each of its arguments (0 for one of no bytes), with
 * at least arg_bytes[i] left in its allocation.
 *
 * counters   out, may be NULL: of this kernel alone, CYCLES from its first command to its last
 */
pfc_code pfc_accel_launch(pfc_accel_device *dev, pfc_accel_stream stream,
                          const pfc_accel_program *program, const pfc_accel_ptr *args,
                          size_t args_len, const pfc_accel_launch_opts *opts,
                          pfc_accel_counters *counters, pfc_err *err) PFC_MUSTCHECK;
/** What-if runs of that launch: see pfc_accel_whatif_run. */
pfc_code pfc_accel_launch_whatif(pfc_accel_device *dev, const pfc_accel_program *program,
                                 const pfc_accel_ptr *args, size_t args_len, pfc_accel_whatif *out,
                                 pfc_err *err) PFC_MUSTCHECK;

/** The tick at which everything given to the stream is over. */
pfc_code pfc_accel_synchronise(pfc_accel_device *dev, pfc_accel_stream stream, uint64_t *tick,
                               pfc_err *err) PFC_MUSTCHECK;
/** Sums since the device was opened or they were last reset: all kernels and the PCIe link. */
pfc_code pfc_accel_device_counters(pfc_accel_device *dev, pfc_accel_counters *out,
                                   pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_accel_counters_reset(pfc_accel_device *dev, pfc_err *err) PFC_MUSTCHECK;

#endif
