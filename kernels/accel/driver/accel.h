/*
 * The accelerator's driver: how a program on the host reaches a simulated chip. Open, allocate,
 * copy, launch, wait, read counters, close.
 *
 * Two clocks advance. The host's clock advances with each call: the call's processor time, the
 * write to the doorbell of a queue, and, in calls that block, the wait for an interrupt or for a
 * successful poll. The device works beside it: each stream is a queue of commands that the device
 * fetches and executes in order; commands of different streams are executed beside each other, but
 * kernels share the chip and copies of one direction share the link, both in the order in which
 * they become ready. Times are those of the chip file; no clock of the real host is read.
 *
 * Calls whose names end in _async, and launches, return when the command is in its queue. Their
 * effect is there when pfc_accel_synchronise or a call of an event says so. Everything that a
 * command refers to (host memory, a program, counters) stays valid until then.
 *
 * Every misuse is an error, not undefined: pointers that were never given out or are freed, copies
 * past an allocation, handles of another device or of an object that was freed, calls on a closed
 * device. A call that fails puts nothing into a queue.
 *
 * Thread-safety: each call locks its device, so several threads may use one. They share its one
 * simulated host clock: the order of their calls is the order of the work. With one thread a
 * sequence of calls always gives the same times.
 */
#ifndef PFC_KERNELS_ACCEL_DRIVER_ACCEL_H
#define PFC_KERNELS_ACCEL_DRIVER_ACCEL_H

#include "kernels/accel/device/tracer.h"
#include "kernels/accel/device/whatif.h"

#define PFC_ACCEL_MAX_STREAMS    64
#define PFC_ACCEL_MAX_ALLOCS     4096
#define PFC_ACCEL_MAX_EVENTS     4096
#define PFC_ACCEL_MAX_SEMAPHORES 1024
#define PFC_ACCEL_MAX_PACKETS    65536 /* commands of one stream that are not over */
#define PFC_ACCEL_ALIGN          256   /* bytes; of every allocation */

typedef struct pfc_accel_device pfc_accel_device;

/** An address in device memory; 0 is none. */
typedef uint64_t pfc_accel_ptr;

/** A stream of a device; 0 is there from the start. */
typedef uint32_t pfc_accel_stream;

/** An event or a semaphore; 0 is none. A handle is valid on its device until it is freed; others
 *  are PFC_EINVAL. */
typedef uint64_t pfc_accel_event;
typedef uint64_t pfc_accel_semaphore;

/** How a call that blocks learns that a command is over. */
typedef enum pfc_accel_completion {
    PFC_ACCEL_INTERRUPT, /* the thread sleeps; host_irq_ns after the interrupt it goes on */
    PFC_ACCEL_POLL       /* the thread reads the completion every host_poll_ns */
} pfc_accel_completion;

/** How to open a device; zero is the default. */
typedef struct pfc_accel_open_opts {
    /* Resources that take no time: bit 1u << PFC_ACCEL_RESOURCE_..., each. Those of a kernel take
     * part in its time; `pcie` is the link's rate and latency, `host` are calls, doorbells, the way
     * of a command through its queue, semaphores and interrupts. */
    unsigned without;
    pfc_accel_completion completion;
    bool timing_only; /* no bytes are copied, no results are computed */
    /* A trace of everything: host, queues, link, kernels. NULL: none. Its `kernel` names all
     * kernels, its `correlation` is not used. The file is complete after pfc_accel_close. */
    const pfc_accel_trace_opts *trace;
    /* Of the trace: the program whose schedule lines and phases it names; NULL: none. */
    const pfc_accel_program *program;
    /* The clocks in the trace differ as those of real machines do: the host's reads this many ns
     * when the device is opened, when the device's reads 0; */
    uint64_t host_epoch_ns;
    /* and the device's clock is so many millionths faster than its nominal rate, -1000..1000. Pairs
     * of readings tell how they belong together. Times outside of the trace know one clock. */
    int32_t device_ppm;
    uint32_t streams; /* of the trace: how many it has a line for; 0: 1. With a trace,
                         pfc_accel_stream_new gives no more than these. */
} pfc_accel_open_opts;

/** Opens a device that is such a chip. */
pfc_code pfc_accel_open(pfc_accel_device **out, const pfc_accel_chip *chip,
                        pfc_err *err) PFC_MUSTCHECK;
/** The same with options (NULL: all zero). PFC_EINVAL for more streams than there can be or another
 *  rate of the clock, and as pfc_trace_writer_open. */
pfc_code pfc_accel_open_with(pfc_accel_device **out, const pfc_accel_chip *chip,
                             const pfc_accel_open_opts *opts, pfc_err *err) PFC_MUSTCHECK;
/** The same by name of a built-in chip or path of a chip file. */
pfc_code pfc_accel_open_name(pfc_accel_device **out, const char *name_or_path,
                             pfc_err *err) PFC_MUSTCHECK;
/** Ends the device: its memory is gone, commands that are not over are dropped, every later call on
 *  it is PFC_ECONFLICT, also this one. Completes the trace, which may fail as
 *  pfc_trace_writer_close; the device is closed then, too. */
pfc_code pfc_accel_close(pfc_accel_device *dev, pfc_err *err);
/** Frees the handle, closing the device when it is open (a trace is then dropped). Accepts NULL. */
void pfc_accel_device_free(pfc_accel_device *dev);
/** Its description; lives as long as the handle. */
const pfc_accel_chip *pfc_accel_device_chip(const pfc_accel_device *dev);
/** The host's clock: nanoseconds of simulated time since the device was opened. Costs no time. */
pfc_code pfc_accel_host_now(pfc_accel_device *dev, uint64_t *ns, pfc_err *err) PFC_MUSTCHECK;

/* ---- memory ---- */

/** bytes >= 1, rounded up to PFC_ACCEL_ALIGN. PFC_ETOOBIG when no gap of device memory is that
 *  large. Memory reads as zero until written. */
pfc_code pfc_accel_malloc(pfc_accel_device *dev, uint64_t bytes, pfc_accel_ptr *out,
                          pfc_err *err) PFC_MUSTCHECK;
/** PFC_EINVAL unless `ptr` came from pfc_accel_malloc and was not freed since, PFC_ECONFLICT while
 *  a command that is not over uses it. */
pfc_code pfc_accel_free(pfc_accel_device *dev, pfc_accel_ptr ptr, pfc_err *err);
/** Bytes that are not allocated. */
pfc_code pfc_accel_memory_free(pfc_accel_device *dev, uint64_t *out, pfc_err *err) PFC_MUSTCHECK;

/* ---- streams ---- */

/** PFC_ETOOBIG when there are PFC_ACCEL_MAX_STREAMS, or as many as the trace has lines for. */
pfc_code pfc_accel_stream_new(pfc_accel_device *dev, pfc_accel_stream *out,
                              pfc_err *err) PFC_MUSTCHECK;
/** Work submitted to `stream` after this call starts when all work that is now in `other` is done.
 *  PFC_EINVAL for a stream that does not exist. */
pfc_code pfc_accel_stream_wait(pfc_accel_device *dev, pfc_accel_stream stream,
                               pfc_accel_stream other, pfc_err *err) PFC_MUSTCHECK;
/**
 * Blocks until everything given to the stream is over.
 *
 * tick  out, may be NULL: core cycles since the device was opened, at which it was over there
 *
 * PFC_ECONFLICT when it can never be over: commands wait for semaphores in a circle, or for a value
 * that no command signals. The message names each stream of the circle, the command that waits, and
 * the semaphore. The commands stay where they are; a call of pfc_accel_semaphore_set can free them.
 * Returns also the failure of a launch in that stream since the last call, once.
 */
pfc_code pfc_accel_synchronise(pfc_accel_device *dev, pfc_accel_stream stream, uint64_t *tick,
                               pfc_err *err) PFC_MUSTCHECK;
/** *done: whether everything given to the stream is over and the host can see it. Does not
 *  block. */
pfc_code pfc_accel_stream_query(pfc_accel_device *dev, pfc_accel_stream stream, bool *done,
                                pfc_err *err) PFC_MUSTCHECK;

/* ---- copies ---- */

/** Host to device, blocks until the bytes are there. The range lies in one allocation. No bytes are
 *  no command. Failures of waiting are those of pfc_accel_synchronise. */
pfc_code pfc_accel_copy_in(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_ptr dst,
                           const void *src, uint64_t bytes, pfc_err *err) PFC_MUSTCHECK;
/** Device to host; `dst` is filled at return. */
pfc_code pfc_accel_copy_out(pfc_accel_device *dev, pfc_accel_stream stream, void *dst,
                            pfc_accel_ptr src, uint64_t bytes, pfc_err *err) PFC_MUSTCHECK;
/** The same without waiting: `src` is read, and `dst` filled, between the return of this call and
 *  the end of the command. Commands of several streams that use the same bytes at the same time
 *  take effect in the order in which they become ready.
 *  PFC_ETOOBIG when PFC_ACCEL_MAX_PACKETS commands of the stream are not over. */
pfc_code pfc_accel_copy_in_async(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_ptr dst,
                                 const void *src, uint64_t bytes, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_accel_copy_out_async(pfc_accel_device *dev, pfc_accel_stream stream, void *dst,
                                  pfc_accel_ptr src, uint64_t bytes, pfc_err *err) PFC_MUSTCHECK;

/* ---- launches ---- */

/** How to launch; zero is the default. */
typedef struct pfc_accel_launch_opts {
    bool timing_only;                  /* cycles and counters, no results */
    pfc_accel_detail *detail;          /* out, like the counters; NULL: not wanted */
    const pfc_accel_trace_opts *trace; /* of this kernel alone; NULL: no trace */
    /* Not 0: launches of this device with the same number and the same arguments are launches of
     * the same program. When only time is computed, they take the time of the first one, without
     * running the engine again. */
    uint32_t same;
} pfc_accel_launch_opts;

/**
 * Puts a compiled program into the stream. args: a pointer for each of its arguments (0 for one of
 * no bytes), with at least arg_bytes[i] left in its allocation.
 *
 * program    stays valid until the kernel is over
 * counters   out, may be NULL: filled at the latest when the kernel is over; of this kernel alone,
 *            CYCLES from its first command to its last
 *
 * PFC_EINVAL or PFC_ETOOBIG when the arguments do not fit, or the program not the chip.
 */
pfc_code pfc_accel_launch(pfc_accel_device *dev, pfc_accel_stream stream,
                          const pfc_accel_program *program, const pfc_accel_ptr *args,
                          size_t args_len, const pfc_accel_launch_opts *opts,
                          pfc_accel_counters *counters, pfc_err *err) PFC_MUSTCHECK;
/** What-if runs of that launch: see pfc_accel_whatif_run. Takes no simulated time. */
pfc_code pfc_accel_launch_whatif(pfc_accel_device *dev, const pfc_accel_program *program,
                                 const pfc_accel_ptr *args, size_t args_len, pfc_accel_whatif *out,
                                 pfc_err *err) PFC_MUSTCHECK;

/* ---- events: points of a stream that are waited for and timed ---- */

/** PFC_ETOOBIG when there are PFC_ACCEL_MAX_EVENTS. */
pfc_code pfc_accel_event_new(pfc_accel_device *dev, pfc_accel_event *out,
                             pfc_err *err) PFC_MUSTCHECK;
/** PFC_ECONFLICT while a command that is not over uses it. */
pfc_code pfc_accel_event_free(pfc_accel_device *dev, pfc_accel_event event, pfc_err *err);
/** Puts a command into the stream that notes the device's time. A later record replaces this
 *  one. */
pfc_code pfc_accel_event_record(pfc_accel_device *dev, pfc_accel_event event,
                                pfc_accel_stream stream, pfc_err *err) PFC_MUSTCHECK;
/** Commands submitted to `stream` after this call wait for the newest record of the event.
 *  PFC_ECONFLICT when it was never recorded. */
pfc_code pfc_accel_event_wait(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_event event,
                              pfc_err *err) PFC_MUSTCHECK;
/** Blocks until the newest record is over. PFC_ECONFLICT when it was never recorded, and as
 *  pfc_accel_synchronise. */
pfc_code pfc_accel_event_synchronise(pfc_accel_device *dev, pfc_accel_event event,
                                     pfc_err *err) PFC_MUSTCHECK;
/** *done: whether the newest record is over and the host can see it. PFC_ECONFLICT when it was
 *  never recorded. Does not block. */
pfc_code pfc_accel_event_query(pfc_accel_device *dev, pfc_accel_event event, bool *done,
                               pfc_err *err) PFC_MUSTCHECK;
/** *ns: device time from the record of `from` to that of `to`, negative when `to` was first.
 *  PFC_ECONFLICT unless both were recorded and their newest records are over. */
pfc_code pfc_accel_event_elapsed(pfc_accel_device *dev, pfc_accel_event from, pfc_accel_event to,
                                 double *ns, pfc_err *err) PFC_MUSTCHECK;

/* ---- semaphores: counters in device memory that only grow ---- */

/** Its value is 0. PFC_ETOOBIG when there are PFC_ACCEL_MAX_SEMAPHORES. */
pfc_code pfc_accel_semaphore_new(pfc_accel_device *dev, pfc_accel_semaphore *out,
                                 pfc_err *err) PFC_MUSTCHECK;
/** PFC_ECONFLICT while a command that is not over uses it. */
pfc_code pfc_accel_semaphore_free(pfc_accel_device *dev, pfc_accel_semaphore semaphore,
                                  pfc_err *err);
/** Puts a command into the stream that raises the semaphore to `value` (a lower one than it has
 *  changes nothing). All queues see it queue_semaphore_ns later. PFC_EINVAL for the value 0. */
pfc_code pfc_accel_semaphore_signal(pfc_accel_device *dev, pfc_accel_stream stream,
                                    pfc_accel_semaphore semaphore, uint64_t value,
                                    pfc_err *err) PFC_MUSTCHECK;
/** Commands submitted to `stream` after this call wait until the semaphore has `value` or more. */
pfc_code pfc_accel_semaphore_wait(pfc_accel_device *dev, pfc_accel_stream stream,
                                  pfc_accel_semaphore semaphore, uint64_t value,
                                  pfc_err *err) PFC_MUSTCHECK;
/** The host raises it, by a write over the link. */
pfc_code pfc_accel_semaphore_set(pfc_accel_device *dev, pfc_accel_semaphore semaphore,
                                 uint64_t value, pfc_err *err) PFC_MUSTCHECK;

/* ---- counters ---- */

/** Work of the host and the link since the device was opened. Times are ns of simulated time. */
typedef struct pfc_accel_host_stats {
    uint64_t calls;     /* of the driver's interface */
    uint64_t call_ns;   /* processor time in them, without waits and doorbells */
    uint64_t doorbells; /* writes to doorbells, one for each command */
    uint64_t doorbell_ns;
    uint64_t waits;   /* calls that blocked */
    uint64_t wait_ns; /* in which they blocked, with the time of the interrupts */
    uint64_t interrupts;
    uint64_t copies;   /* commands that were executed, */
    uint64_t launches; /* by kind */
} pfc_accel_host_stats;

/** Sums since the device was opened or they were last reset: all kernels and the PCIe link
 *  (PCIE_BUSY: cycles in which bytes occupied it, both directions added). Of commands that are
 *  over. */
pfc_code pfc_accel_device_counters(pfc_accel_device *dev, pfc_accel_counters *out,
                                   pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_accel_counters_reset(pfc_accel_device *dev, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_accel_host_counts(pfc_accel_device *dev, pfc_accel_host_stats *out,
                               pfc_err *err) PFC_MUSTCHECK;

#endif
