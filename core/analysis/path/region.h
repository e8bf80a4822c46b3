/*
 * A region: what lies around the kernels of a traced run. Calls of the host in their order, each of
 * which may put a command into a queue of the device or wait for one; queues that take their
 * commands in order; copies that share the link, kernels that share the device. Private to
 * core/analysis/path.
 *
 * Times are nanoseconds. The clocks of host and device are compared by the trace's first pair of
 * readings; they drift apart by at most 100 parts in a million.
 */
#ifndef PFC_CORE_ANALYSIS_PATH_REGION_H
#define PFC_CORE_ANALYSIS_PATH_REGION_H

#include "core/analysis/path/graph.h"

typedef enum pfc_path_packet_kind {
    PFC_PACKET_NONE, /* nothing in the trace says what it did: it takes no time */
    PFC_PACKET_IN,   /* copy to the device */
    PFC_PACKET_OUT,
    PFC_PACKET_KERNEL,
    PFC_PACKET_SIGNAL,
    PFC_PACKET_WAIT
} pfc_path_packet_kind;

/** A command in a queue of the device. */
typedef struct pfc_path_packet {
    pfc_path_packet_kind kind;
    uint32_t queue;  /* position of its unit in the header */
    uint32_t before; /* the packet before it in its queue; PFC_PATH_NONE: it is the first */
    double took;     /* of a copy or kernel, as recorded */
    double ended;    /* as recorded */
    uint64_t semaphore, value;
    /* as evaluated: */
    double arrived, fetched, ready, begin, end;
    double raised;  /* of a signal: when the queues see it */
    uint32_t cause; /* packet whose end was its begin or end; PFC_PATH_NONE: its own way */
    bool done;
} pfc_path_packet;

/** A call of the host. */
typedef struct pfc_path_call {
    double enter, exit; /* as recorded */
    uint32_t packet;    /* that it submits; PFC_PATH_NONE: none */
    uint32_t awaited;   /* that it waits for; PFC_PATH_NONE: none */
    bool interrupt;     /* an interrupt ended the wait; false: the host polls */
    /* as evaluated: */
    double began, submitted, left;
} pfc_path_call;

/** Constants of the host and the link, ns. */
typedef struct pfc_path_host {
    double call, doorbell, latency, fetch, semaphore, interrupt, poll, dispatch;
} pfc_path_host;

typedef struct pfc_path_region {
    pfc_path_packet *packets;
    size_t packets_len, packets_cap;
    pfc_path_call *calls;
    size_t calls_len, calls_cap;
    uint32_t *packet_of; /* by correlation id; PFC_PATH_NONE: none */
    size_t packet_of_len;
    pfc_path_host host;
    double tick_ns;    /* of the device's clock */
    double host_ahead; /* of the host's clock before the device's, by the first pair of readings */
    bool paired;       /* there was a pair */
    size_t first;      /* the first call that belongs to the region: the one that submits first */
    bool open;         /* a call was entered and has not returned */
} pfc_path_region;

/** True when the trace has calls of the host that submit commands. */
bool pfc_path_has_region(const pfc_path_region *r);
/** Reads the constants from the header. */
void pfc_path_region_begin(pfc_path_region *r, const pfc_trace_header *header);
/** A record of the host, of a queue, of a link, or the begin or end of a kernel; others are left
 *  alone. `unit` is the position of its unit in the header. */
pfc_code pfc_path_region_take(pfc_path_region *r, const pfc_trace_header *header, size_t unit,
                              const pfc_trace_record *record, pfc_err *err) PFC_MUSTCHECK;
/** Resolves what is awaited. PFC_EINVAL when a call did not return. */
pfc_code pfc_path_region_close(pfc_path_region *r, pfc_err *err) PFC_MUSTCHECK;
void pfc_path_region_clear(pfc_path_region *r);

/** Nanoseconds from the first call to the return of the last, when `without` takes no time and a
 *  kernel takes `kernels` times as long as recorded. */
double pfc_path_region_evaluate(pfc_path_region *r, pfc_resource without, double kernels);
/** After an evaluation of the unchanged region: adds its path to *out, whose blocking ticks of a
 *  kernel (`kernel`, of the same device) are spread over the time of the kernels. Sets total,
 *  phases, blocking and segments. */
void pfc_path_region_walk(const pfc_path_region *r, const pfc_path *kernel, pfc_path *out);

#endif
