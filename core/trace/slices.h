/*
 * Which record ends which: slices of each unit, and waits for semaphores. The export and the view
 * are made from it. Private to core/trace.
 *
 * Slices of a unit nest, or, when the unit says that they may overlap, lie on lanes: each on the
 * first one that is free.
 */
#ifndef PFC_CORE_TRACE_SLICES_H
#define PFC_CORE_TRACE_SLICES_H

#include "core/trace/layout.h"
#include "core/trace/semaphores.h"

#define PFC_TRACE_MAX_DEPTH 256
#define PFC_TRACE_MAX_WAITS 4096
#define PFC_TRACE_MAX_LANES 16

/** An open slice, or a wait for a semaphore. */
typedef struct pfc_trace_open {
    int64_t ns;
    uint64_t a, b;
    uint32_t corr;
    uint16_t type;
    uint16_t unit; /* position in the header */
} pfc_trace_open;

/** A line of a unit whose slices overlap: those on one line do not. */
typedef struct pfc_trace_slot {
    pfc_trace_open slice; /* when open */
    bool open;
    int64_t free_ns; /* end of the newest slice */
} pfc_trace_slot;

/** The slices that are open on a unit. */
typedef struct pfc_trace_stack {
    pfc_trace_open *open; /* innermost last; owned */
    size_t depth, cap;
    pfc_trace_slot *lanes; /* PFC_TRACE_MAX_LANES when slices overlap, of which lanes_len are used;
                              owned */
    size_t lanes_len;
} pfc_trace_stack;

/** A slice that is whole now. */
typedef struct pfc_trace_ended {
    const pfc_trace_open *slice;
    size_t lane;                 /* 0: the unit's own line */
    size_t depth;                /* slices around it */
    int64_t end_ns;              /* may be before its begin */
    const pfc_trace_record *end; /* NULL: nothing ended it */
    bool cut;                    /* the end of one around it did */
} pfc_trace_ended;

/** Takes what is whole. */
typedef struct pfc_trace_slices_to {
    void (*slice)(void *arg, const pfc_trace_ended *ended);
    void (*wait)(void *arg, const pfc_trace_open *wait, int64_t end_ns);
    void *arg;
} pfc_trace_slices_to;

typedef struct pfc_trace_slices {
    const pfc_trace_index *index;
    pfc_trace_slices_to to;
    pfc_trace_stack *units; /* units_len; owned */
    pfc_trace_open waits[PFC_TRACE_MAX_WAITS];
    size_t waits_len;
    pfc_trace_semaphores semaphores;
} pfc_trace_slices;

/** The fields of a record of the unit at this position of the header. */
static inline pfc_trace_open pfc_trace_open_of(const pfc_trace_record *r, size_t unit, int64_t ns)
{
    return (pfc_trace_open){
        .ns = ns, .a = r->a, .b = r->b, .corr = r->corr, .type = r->type, .unit = (uint16_t)unit
    };
}

/** The index outlives the slices. */
void pfc_trace_slices_init(pfc_trace_slices *slices, const pfc_trace_index *index,
                           const pfc_trace_slices_to *to);
void pfc_trace_slices_clear(pfc_trace_slices *slices);

/** Begins a slice within those that are open. PFC_EINVAL: more than PFC_TRACE_MAX_DEPTH are. */
pfc_code pfc_trace_slices_push(pfc_trace_slices *slices, size_t unit,
                               const pfc_trace_record *record, int64_t ns,
                               pfc_err *err) PFC_MUSTCHECK;
/** Ends the innermost slice that this record can end, and those within it, which have lost their
 *  end. False: it ends none. */
bool pfc_trace_slices_pop(pfc_trace_slices *slices, size_t unit, const pfc_trace_record *record,
                          int64_t ns);

/** Begins a slice of a unit whose slices overlap: its lane, or SIZE_MAX when none is free. *fresh:
 *  it is the first slice on that lane. */
size_t pfc_trace_slices_begin(pfc_trace_slices *slices, size_t unit, const pfc_trace_record *record,
                              int64_t ns, bool *fresh);
/** Ends a slice of such a unit; false: it is on no lane. */
bool pfc_trace_slices_end(pfc_trace_slices *slices, size_t unit, const pfc_trace_record *record,
                          int64_t ns);

/** Begins a wait, which a signal ends, or at once one before it did. False: too many are open. */
bool pfc_trace_slices_wait(pfc_trace_slices *slices, size_t unit, const pfc_trace_record *record,
                           int64_t ns);
/** Ends the waits for that value. */
void pfc_trace_slices_signal(pfc_trace_slices *slices, const pfc_trace_record *record, int64_t ns);

/** Ends what is open, at the end of the trace. */
void pfc_trace_slices_close(pfc_trace_slices *slices, int64_t ns);

/** The name of a record's slice or instant, as the header has it, or a part of the row's: "tile" of
 *  tile_begin, since the slice is named, not its begin. */
const char *pfc_trace_slice_name(const pfc_trace_header *header, const pfc_trace_row *row,
                                 uint64_t a, size_t *len);

#endif
