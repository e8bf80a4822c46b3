/*
 * The walk over a series that the segmentation consists of: a row of costs, one for each level,
 * after every point. Private to core/stats.
 */
#ifndef PFC_CORE_CHANGEPOINT_SEGMENT_SEGMENT_WALK_H
#define PFC_CORE_CHANGEPOINT_SEGMENT_SEGMENT_WALK_H

#include "core/changepoint/segment/segment.h"

#define PFC_WALK_LANES 16 /* bands are padded to whole vectors of 16-bit integers */

/* A run of neighbouring levels, padded to whole vectors. */
typedef struct pfc_band {
    int32_t first; /* lowest level */
    int32_t len;   /* cells, a multiple of PFC_WALK_LANES */
    int32_t at;    /* place of its first cell in a row of costs */
} pfc_band;

typedef struct pfc_grid {
    pfc_band *bands;
    size_t bands_len;
    size_t row; /* cells of one row of costs */
} pfc_grid;

/* Inputs of the kernels for one point. */
typedef struct pfc_walk {
    pfc_grid g;
    const pfc_loss *loss;
    int16_t cap;     /* price of a change */
    bool two;        /* two machine states: rows have two halves */
    int32_t gap;     /* cells between them */
    int16_t move[4]; /* stay low, go up, go down, stay up */
    size_t row;      /* cells of a whole row */
    pfc_confirmed_starts fixed;
    pfc_segment_space *space;
} pfc_walk;

/** Costs after every point of q[0..n), which is at `offset` in the series: rows[0] is given, rows[t
 * + 1] are those after point t, not yet lowered by their minimum. `next`: the first settled change
 * after `offset`. Returns the sum of what they were lowered by. */
double pfc_walk_on(const pfc_walk *w, const int32_t *q, size_t n, uint32_t offset, size_t next,
                   int16_t *rows);

#endif
