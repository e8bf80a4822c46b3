/* Shared by the ticked arrays: cells, edge ports. Private to kernels/accel/reference. */
#ifndef PFC_KERNELS_ACCEL_REFERENCE_ARRAY_PARTS_H
#define PFC_KERNELS_ACCEL_REFERENCE_ARRAY_PARTS_H

#include "kernels/accel/reference/array.h"

/** Registers of one cell. */
typedef struct pfc_accel_cell {
    bool across_on; /* an operand passed in this tick, to the right */
    bool first;     /* it is a fold's first: the next weight takes over */
    bool down_on;   /* an operand passed down */
    int8_t across;
    int8_t down;
    int8_t weight;
    int8_t next_weight;
    uint32_t sum;
    uint32_t count; /* scalesim-os: products in the sum */
} pfc_accel_cell;

/** A row's or a column's place at the edge where operands enter. It begins a fold when the one
 *  before it has passed its start on, one tick later: that makes the skew. */
typedef struct pfc_accel_port {
    bool started; /* in this tick */
    bool on;
    uint64_t fold; /* that it feeds */
    uint64_t next; /* element of the fold, along the stream */
} pfc_accel_port;

/** pipelined-ws: what the buses of a column carry at one cell, a weight for each of these rows. */
typedef struct pfc_accel_bus {
    uint32_t row; /* the first's */
    uint32_t len; /* 0: empty */
    int8_t weights[PFC_ACCEL_TICKED_MAX];
} pfc_accel_bus;

typedef struct pfc_accel_array {
    pfc_accel_ticked *t;
    pfc_accel_bus buses[PFC_ACCEL_TICKED_MAX * PFC_ACCEL_TICKED_MAX];
    pfc_accel_cell cells[PFC_ACCEL_TICKED_MAX * PFC_ACCEL_TICKED_MAX];
    pfc_accel_port rows[PFC_ACCEL_TICKED_MAX];
    pfc_accel_port cols[PFC_ACCEL_TICKED_MAX];
    uint64_t ticks;
    bool lost; /* an operand met a busy port: the control is wrong */
} pfc_accel_array;

/** Starts ports: the first by `go` with `fold`, each other one tick after the one before it. */
void pfc_accel_ports_start(pfc_accel_array *array, pfc_accel_port *ports, size_t len, bool go,
                           uint64_t fold);
/** The port's element of this tick, then steps on; `len` elements are a fold's. */
static inline uint64_t pfc_accel_port_take(pfc_accel_port *port, uint64_t len)
{
    const uint64_t at = port->next++;

    if (port->next == len)
        port->on = false;
    return at;
}

/* Each runs all folds of a problem with m, n, k >= 1. */
void pfc_accel_run_output_stationary(pfc_accel_array *array);
void pfc_accel_run_stationary(pfc_accel_array *array);
void pfc_accel_run_pipelined(pfc_accel_array *array);

#endif
