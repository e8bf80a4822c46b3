/*
 * The graph of a traced run: commands in the order of their units, waits and signals between them,
 * the cost of each command by part. Private to core/analysis/path.
 */
#ifndef PFC_CORE_ANALYSIS_PATH_GRAPH_H
#define PFC_CORE_ANALYSIS_PATH_GRAPH_H

#include "core/analysis/path/path.h"

#define PFC_PATH_NEVER    UINT64_MAX
#define PFC_PATH_NONE     UINT32_MAX
#define PFC_PATH_CHANNELS 128

/** Parts of a command's cost; ticks. A transfer uses the second names of the same places. */
typedef enum pfc_path_part {
    PFC_PART_STREAM, /* rows or elements stream through the unit */
    PFC_PART_WEIGHTS,
    PFC_PART_WEIGHTS_HIDDEN, /* weights that load while rows stream */
    PFC_PART_PRELOAD,        /* of the first weights; only after the unit was idle */
    PFC_PART_FILL,
    PFC_PART_DEPTH, /* from the last operand's entry to the last result */
    PFC_PART_REDUCE,
    PFC_PART_BANK,
    PFC_PART_LEN,
    PFC_PART_SETUP = 0,
    PFC_PART_RATE,
    PFC_PART_WINDOW,
    PFC_PART_QUEUE,   /* summed over accesses */
    PFC_PART_SERVICE, /* summed over channels; 0: the trace does not say */
    PFC_PART_LATENCY,
    PFC_PART_TAIL /* from the end of the engine's work to the last byte's service, as recorded */
} pfc_path_part;

/** A command. Ticks count from the begin of the run. */
typedef struct pfc_path_node {
    uint64_t begin, end, done; /* of its unit's time; `done`: its result is there */
    uint64_t part[PFC_PART_LEN];
    uint64_t channels[PFC_PATH_CHANNELS / 64]; /* of device memory that a transfer uses */
    uint64_t banks;                            /* of the scratchpad */
    uint64_t bytes;                            /* of a transfer */
    uint32_t number;                           /* as the trace numbers it */
    uint32_t slot;  /* of its signal; PFC_PATH_NONE: it signals nothing */
    uint32_t waits; /* first of its waits in graph.waits */
    uint32_t folds;
    uint32_t before; /* the command before it on its unit; PFC_PATH_NONE: it is the first */
    uint16_t line, waits_len;
    uint16_t phase; /* position in path.phases */
    uint8_t unit;   /* position in graph.units */
    bool preloaded; /* the preload took time in this run */
} pfc_path_node;

/** A unit with its commands in order. */
typedef struct pfc_path_unit {
    uint16_t kind;   /* PFC_TRACE_KIND_... */
    uint32_t *nodes; /* a part of graph.order */
    uint32_t len;
} pfc_path_unit;

/** Constants of the device that the model of its shared channels needs; 0: the trace lacks it. */
typedef struct pfc_path_device {
    uint64_t channels, piece_bytes, window, refresh, refresh_every, port_bytes;
} pfc_path_device;

/**
 * Signals of one semaphore are stored in consecutive slots, in the order in which the run sent
 * them. A wait names the last slot that it needs; it also needs all earlier slots of that
 * semaphore.
 */
typedef struct pfc_path_graph {
    pfc_path_node *nodes; /* in the order in which they begin */
    size_t len, cap;
    pfc_path_unit *units;
    size_t units_len;
    uint32_t *order; /* by unit: positions of its nodes */
    uint32_t *waits; /* slots */
    size_t waits_len, waits_cap;
    uint32_t *slots;      /* by slot: the node that signals */
    uint32_t *first_slot; /* by slot: the first one of the same semaphore */
    size_t slots_len;
    uint64_t total;
    pfc_path_device device;
} pfc_path_graph;

static inline bool pfc_path_is_transfer(const pfc_path_graph *g, const pfc_path_node *n)
{
    return g->units[n->unit].kind == PFC_TRACE_KIND_DMA;
}

/** Fills everything of *out but `recoverable` and the texts. (walk.c) */
void pfc_path_walk(const pfc_path_graph *g, pfc_path *out);
/** Ticks of the run, as the model has them, when `without` takes no time; PFC_RESOURCE_NONE: as it
 *  is. (project.c) */
uint64_t pfc_path_evaluate(const pfc_path_graph *g, pfc_resource without);

#endif
