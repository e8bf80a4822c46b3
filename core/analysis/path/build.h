/* The graph while its trace is read. Private to core/analysis/path. */
#ifndef PFC_CORE_ANALYSIS_PATH_BUILD_H
#define PFC_CORE_ANALYSIS_PATH_BUILD_H

#include "core/analysis/path/region.h"

/** A semaphore's newest value and the number of its signals so far. */
typedef struct pfc_path_semaphore {
    uint64_t value;
    uint32_t slots, first; /* `first`: slot of the first signal, once all are known */
} pfc_path_semaphore;

typedef struct pfc_path_signal {
    uint32_t semaphore;
    uint32_t node; /* that signals */
    uint64_t value;
} pfc_path_signal;

typedef struct pfc_path_wait_for {
    uint64_t semaphore, value;
} pfc_path_wait_for;

/** A unit while its records come. */
typedef struct pfc_path_unit_state {
    uint32_t *open; /* commands under way, oldest first */
    size_t open_len, open_cap;
    pfc_path_wait_for *waits; /* of the next command */
    size_t waits_len, waits_cap;
    uint32_t last; /* newest command; PFC_PATH_NONE: none yet */
} pfc_path_unit_state;

struct pfc_path_builder {
    pfc_trace_consumer consumer;
    const pfc_trace_header *header;
    pfc_path *path; /* owned until it is handed out */
    pfc_path_graph graph;
    pfc_path_unit_state *units; /* by position in the header */
    uint16_t unit_at[65536];    /* position + 1 by id; 0: there is none */
    uint16_t phase_of[4096];    /* position in path.phases + 1 by the trace's number; 0: none */
    pfc_path_semaphore *semaphores;
    size_t semaphores_len;
    pfc_path_signal *signals; /* in the order of the run */
    size_t signals_len, signals_cap;
    pfc_path_wait_for *wait_for; /* by position in graph.waits */
    size_t wait_for_cap;
    bool began;
    uint64_t origin, now; /* tick of the first record; newest tick, from there */
    pfc_path_region region;
    uint64_t kept;        /* records that the graph is made of: not those of further launches */
    bool kernel_seen;     /* in a region: the kernel whose graph is read has begun; */
    uint32_t kernel_corr; /* the others are taken as further launches of it */
};

/** The header of the trace, before its first record. */
pfc_code pfc_path_begin(pfc_path_builder *b, const pfc_trace_header *header,
                        pfc_err *err) PFC_MUSTCHECK;
/** The next record. */
pfc_code pfc_path_take(pfc_path_builder *b, const pfc_trace_record *record,
                       pfc_err *err) PFC_MUSTCHECK;
/** Completes the graph after the last record. (close.c) */
pfc_code pfc_path_close(pfc_path_builder *b, pfc_err *err) PFC_MUSTCHECK;

#endif
