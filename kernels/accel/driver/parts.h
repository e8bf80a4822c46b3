/*
 * Shared by the files of the driver: the device's state, its queues, the host's clock, the trace.
 * Private to kernels/accel/driver. The caller holds the lock of the device.
 *
 * Time is kept in instants: a clock_mhz-th of a nanosecond, so that a core cycle (1000 of them) and
 * a nanosecond (clock_mhz of them) are whole numbers. 64 bits hold 21 days at 10 GHz.
 */
#ifndef PFC_KERNELS_ACCEL_DRIVER_PARTS_H
#define PFC_KERNELS_ACCEL_DRIVER_PARTS_H

#include <pthread.h>

#include "kernels/accel/driver/accel.h"
#include "kernels/accel/driver/memory.h"

#define PFC_ACCEL_INSTANTS_OF_CYCLE 1000
#define PFC_ACCEL_NO_INSTANT        UINT64_MAX

typedef enum pfc_accel_packet_kind {
    PFC_ACCEL_PACKET_COPY_IN,
    PFC_ACCEL_PACKET_COPY_OUT,
    PFC_ACCEL_PACKET_LAUNCH,
    PFC_ACCEL_PACKET_SIGNAL,
    PFC_ACCEL_PACKET_WAIT,
    PFC_ACCEL_PACKET_RECORD
} pfc_accel_packet_kind;

/** A command in a queue. */
typedef struct pfc_accel_packet {
    pfc_accel_packet_kind kind;
    uint32_t correlation;
    uint64_t number;  /* in its queue, from 1 */
    uint64_t fetched; /* instant at which the device has read it */
    /* Copies. */
    pfc_accel_ptr at;
    uint64_t bytes;
    const void *from; /* of the host */
    void *to;
    /* Launches; owned. */
    pfc_accel_run *run;
    pfc_accel_counters *counters; /* of the caller; NULL: not wanted */
    uint32_t same;                /* as in pfc_accel_launch_opts */
    /* Signals, waits and records: an index in `semaphores`, and in `events` for a record. */
    size_t semaphore;
    size_t event;
    uint64_t value;
    bool waiting; /* a wait at the head of its queue; its begin is in the trace */
} pfc_accel_packet;

typedef struct pfc_accel_queue {
    pfc_accel_packet *packets; /* a ring of `cap`, a power of two; owned */
    size_t first, len, cap;
    uint64_t submitted;  /* number of the newest command */
    uint64_t over;       /* number of the newest command that was executed */
    uint64_t fetch_free; /* instant at which the next command can be fetched */
    uint64_t end;        /* instant at which the newest executed command is over on the device */
    uint32_t end_correlation; /* of that command */
    bool has_semaphore;       /* `semaphore` is that of pfc_accel_stream_wait, */
    size_t semaphore;
    uint64_t marks;  /* and this its newest value, submitted */
    pfc_err failure; /* of a launch, until a call reports it */
} pfc_accel_queue;

/** A semaphore, or the hidden one of an event. */
typedef struct pfc_accel_sem {
    uint32_t generation; /* even: the place is free; part of a handle */
    bool hidden;         /* of an event */
    uint64_t value;      /* that queues see */
    uint64_t signalled;  /* the largest value of an executed signal, seen or not */
    uint32_t uses;       /* commands that are not over */
} pfc_accel_sem;

/** An event: records count its semaphore up. */
typedef struct pfc_accel_ev {
    uint32_t generation;
    size_t semaphore;
    uint64_t records; /* submitted */
    uint64_t number;  /* of the newest record, in its queue */
    pfc_accel_stream stream;
    uint64_t done; /* records that were executed */
    uint64_t at;   /* instant of the newest executed record */
} pfc_accel_ev;

/** A value on its way to the queues. */
typedef struct pfc_accel_raise {
    uint64_t at; /* instant at which queues see it, on an edge of the core clock */
    size_t semaphore;
    uint32_t generation; /* of the semaphore; it may have been freed since */
    uint64_t value;
    uint32_t correlation; /* of the call that raised it */
    uint16_t unit;        /* of the trace, which signals */
} pfc_accel_raise;

/** Kernels whose time is known: see pfc_accel_launch_opts.same. */
#define PFC_ACCEL_KNOWN 4
typedef struct pfc_accel_known {
    uint32_t same; /* 0: the place is free */
    uint64_t addr[PFC_ACCEL_MAX_ARGS];
    pfc_accel_counters counters;
} pfc_accel_known;

typedef struct pfc_accel_driver_trace pfc_accel_driver_trace;

struct pfc_accel_device {
    pfc_accel_chip chip;
    unsigned without; /* resources that take no time */
    unsigned ideal;   /* of kernels: PFC_ACCEL_IDEAL_... of those */
    pfc_accel_completion completion;
    bool timing_only;
    uint32_t streams_max;
    pthread_mutex_t lock;
    /* All below are guarded by lock. */
    bool open;
    pfc_accel_heap heap;
    pfc_accel_queue queues[PFC_ACCEL_MAX_STREAMS];
    uint32_t streams_len;
    pfc_accel_sem *semaphores; /* owned */
    size_t semaphores_len, semaphores_cap, semaphores_used, events_used;
    pfc_accel_ev *events; /* owned */
    size_t events_len, events_cap;
    pfc_accel_raise *raises; /* in no order; owned */
    size_t raises_len, raises_cap;
    uint64_t host;        /* instant: the host's clock */
    uint64_t device;      /* instant up to which the device's queues were followed */
    uint64_t chip_free;   /* instant */
    uint64_t down_free;   /* instant; host to device */
    uint64_t up_free;     /* instant */
    uint32_t correlation; /* of the newest call */
    pfc_accel_known known[PFC_ACCEL_KNOWN];
    size_t known_next;
    pfc_accel_counters counters;
    pfc_accel_host_stats stats;
    pfc_accel_driver_trace *trace; /* NULL: none; owned */
};

/** Instants of so many ns, or 0 when the resource takes no time. */
uint64_t pfc_accel_ns_of(const pfc_accel_device *dev, pfc_accel_resource r, uint64_t ns);
/** The next edge of the core clock at or after an instant. */
uint64_t pfc_accel_edge(uint64_t at);
bool pfc_accel_has(const pfc_accel_device *dev, pfc_accel_resource r);

/* ---- queue.c ---- */

/** Follows the device up to an instant: everything that becomes ready until then is executed. */
void pfc_accel_queues_advance(pfc_accel_device *dev, uint64_t until);
/** Follows it until command `number` of the stream was executed. PFC_ECONFLICT: it never is. */
pfc_code pfc_accel_queues_finish(pfc_accel_device *dev, pfc_accel_stream stream, uint64_t number,
                                 pfc_err *err) PFC_MUSTCHECK;
/** Adds a command whose doorbell the host has written; number and time are filled in. */
void pfc_accel_queue_add(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_packet *packet);
/** The i-th command that is not over. */
static inline pfc_accel_packet *pfc_accel_queue_at(const pfc_accel_queue *q, size_t i)
{
    return &q->packets[(q->first + i) & (q->cap - 1)];
}
void pfc_accel_packet_clear(pfc_accel_packet *packet);
void pfc_accel_queues_clear(pfc_accel_device *dev);
/** Adds a value that queues will see. */
void pfc_accel_raise_at(pfc_accel_device *dev, const pfc_accel_raise *raise);

/* ---- deadlock.c ---- */

/** PFC_ECONFLICT, saying why the head of the stream's queue waits for ever. */
pfc_code pfc_accel_deadlock(const pfc_accel_device *dev, pfc_accel_stream stream, pfc_err *err);

/* ---- host.c ---- */

/* Calls as a trace names them. */
#define PFC_ACCEL_CALLS(X)                                                                         \
    X(MALLOC, "malloc")                                                                            \
    X(FREE, "free")                                                                                \
    X(STREAM, "stream_new")                                                                        \
    X(COPY_IN, "copy_in")                                                                          \
    X(COPY_OUT, "copy_out")                                                                        \
    X(LAUNCH, "launch")                                                                            \
    X(SYNCHRONISE, "synchronise")                                                                  \
    X(QUERY, "query")                                                                              \
    X(EVENT, "event_new")                                                                          \
    X(RECORD, "event_record")                                                                      \
    X(WAIT, "wait")                                                                                \
    X(SEMAPHORE, "semaphore_new")                                                                  \
    X(SIGNAL, "semaphore_signal")

typedef enum pfc_accel_call {
#define PFC_X(id, name) PFC_ACCEL_CALL_##id,
    PFC_ACCEL_CALLS(PFC_X)
#undef PFC_X
        PFC_ACCEL_CALLS_LEN
} pfc_accel_call;

/** Locks the device and begins a call: PFC_ECONFLICT, without the lock, when it is closed. */
pfc_code pfc_accel_enter(pfc_accel_device *dev, pfc_accel_call call, pfc_err *err) PFC_MUSTCHECK;
/** The same with a stream, which must exist. */
pfc_code pfc_accel_enter_stream(pfc_accel_device *dev, pfc_accel_call call, pfc_accel_stream stream,
                                pfc_err *err) PFC_MUSTCHECK;
/** Ends the call and unlocks the device; returns `code`. */
pfc_code pfc_accel_leave(pfc_accel_device *dev, pfc_accel_call call, pfc_code code);
/** Locks the device without a call: reading its state takes no simulated time. */
pfc_code pfc_accel_look(pfc_accel_device *dev, pfc_err *err) PFC_MUSTCHECK;
/** Puts a command into a queue and writes the doorbell. PFC_ETOOBIG: the queue is full; the packet
 *  is cleared then. */
pfc_code pfc_accel_submit(pfc_accel_device *dev, pfc_accel_stream stream, pfc_accel_packet *packet,
                          pfc_err *err) PFC_MUSTCHECK;
/** Follows the device until command `number` was executed; the host's clock stays, unless that
 *  never happens (PFC_ECONFLICT). */
pfc_code pfc_accel_finish(pfc_accel_device *dev, pfc_accel_stream stream, uint64_t number,
                          pfc_err *err) PFC_MUSTCHECK;
/** Blocks until the stream's newest command is over and the host knows; returns also the failure of
 *  a launch, once. */
pfc_code pfc_accel_await_stream(pfc_accel_device *dev, pfc_accel_stream stream,
                                pfc_err *err) PFC_MUSTCHECK;
/** Blocks until the host knows of what was over on the device at `done`, an instant. */
void pfc_accel_await(pfc_accel_device *dev, pfc_accel_stream stream, uint64_t done,
                     uint32_t correlation);
/** True when the host can see now what was over on the device at `done`. */
bool pfc_accel_visible(const pfc_accel_device *dev, uint64_t done);

/* ---- trace.c: all of them do nothing when there is no trace ---- */

pfc_code pfc_accel_driver_trace_open(pfc_accel_device *dev, const pfc_accel_open_opts *opts,
                                     pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_accel_driver_trace_close(pfc_accel_device *dev, pfc_err *err) PFC_MUSTCHECK;
void pfc_accel_driver_trace_drop(pfc_accel_device *dev);
/** A record of the host at its clock; field a of a call's record is a pfc_accel_call. */
void pfc_accel_trace_host(pfc_accel_device *dev, pfc_trace_type type, uint32_t correlation,
                          uint64_t a, uint64_t b);
/** A record of a unit of the device at an instant, which is an edge of its clock. */
void pfc_accel_trace_device(pfc_accel_device *dev, uint64_t at, pfc_trace_type type, uint16_t unit,
                            uint32_t correlation, uint64_t a, uint64_t b);
/** Reads both clocks, at the host's clock, when it is time for it. */
void pfc_accel_trace_clocks(pfc_accel_device *dev);
/** A tracer for a kernel that begins at an instant; NULL: there is no trace. */
struct pfc_accel_tracer *pfc_accel_trace_kernel(pfc_accel_device *dev,
                                                const pfc_accel_program *program,
                                                uint32_t correlation, uint64_t begin);
/** Writes what lies before the instant up to which the queues were followed. */
void pfc_accel_trace_flush(pfc_accel_device *dev);
/** The unit of a stream; that of a semaphore in records. */
static inline uint16_t pfc_accel_trace_stream(pfc_accel_stream stream)
{
    return (uint16_t)(PFC_ACCEL_TRACE_STREAM + stream);
}

#endif
