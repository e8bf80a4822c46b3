/*
 * Penalised segmentation of a series into constant levels, under any noise shape.
 *
 * Values and levels live on a lattice of PFC_LATTICE cells to one noise sigma, so that the optimal
 * partition (Jackson et al. 2005) becomes a walk over the few levels the series visits: for each
 * point, cost[level] = min(cost[level], best + penalty) + loss(value - level). All costs are 16-bit
 * integers, so the answer is the same on every machine, and a point costs a few vector
 * instructions. The loss is a table: a bounded one is what keeps spikes from becoming levels
 * (Fearnhead & Rigaill, JASA 114, 2019).
 */
#ifndef PFC_CORE_CHANGEPOINT_SEGMENT_SEGMENT_H
#define PFC_CORE_CHANGEPOINT_SEGMENT_SEGMENT_H

#include <math.h>

#include "core/base/base.h"

#define PFC_LATTICE       8   /* cells to one sigma */
#define PFC_NAT           64  /* cost units to one unit of log-likelihood */
#define PFC_LOSS_REACH    160 /* cells after which the loss no longer grows: 20 sigma */
#define PFC_BAND_MAX      256 /* levels handled by one stretch of the table */
#define PFC_LOSS_HALF     (PFC_LOSS_REACH + PFC_BAND_MAX + 8)
#define PFC_STATES_POINTS 32768
#define PFC_LATTICE_MAX   12000 /* |value| in cells; what lies beyond is put there */

/* Zero it before the first use. */
typedef struct pfc_loss {
    double freedom, scale, cap_nats;     /* what the costs were made for; freedom 0: nothing yet */
    int16_t cost[2 * PFC_LOSS_HALF + 1]; /* of level - value in cells, from -PFC_LOSS_HALF */
} pfc_loss;

/* Costs without scale and bound, of the noises that were asked for so far. Zero it first. */
typedef struct pfc_shapes {
    double freedom[6];
    double nats[6][PFC_LOSS_REACH + 1];
} pfc_shapes;

/** Fills the loss of Student t noise with `freedom` degrees whose quartiles match a standard
 *  normal; `scale` > 1 makes all evidence weaker by that factor (correlated points), `cap_nats`
 *  bounds what a single point can cost. */
void pfc_loss_init(pfc_loss *loss, pfc_shapes *shapes, double freedom, double scale,
                   double cap_nats);
/** Loss of a residual in sigma, in nats. */
double pfc_loss_at(const pfc_loss *loss, double residual);

/* A series that switches between two machine states, `gap` cells apart, with Markov costs. */
typedef struct pfc_states {
    int32_t gap;    /* cells from the lower state to the upper one, > 0 */
    double cost[4]; /* nats of stay low, go up, go down, stay up */
} pfc_states;

/* Memory that calls share; zero it before the first call. Not for two threads. */
#define PFC_SPACE_PARTS 6
#define PFC_SPACE_LOGS  2048
typedef struct pfc_segment_space {
    int16_t *rows;
    size_t rows_cap; /* cells */
    uint8_t *mark;
    size_t mark_cap; /* bytes */
    struct {
        uint8_t *memory;
        size_t cap;
        bool used;
    } parts[PFC_SPACE_PARTS];
    pfc_shapes shapes;
    /* Logarithms taken last, by the low bits of the point's index: passes read the same points
     * many times. 0: unused. */
    struct {
        double of, is;
    } logs[PFC_SPACE_LOGS];
} pfc_segment_space;

/** log(x), remembered in slot `i` modulo their number. */
static inline double pfc_segment_space_log(pfc_segment_space *space, size_t i, double x)
{
    size_t k = i % PFC_SPACE_LOGS;
    if (space->logs[k].of != x) {
        space->logs[k].of = x;
        space->logs[k].is = log(x);
    }
    return space->logs[k].is;
}

void pfc_segment_space_clear(pfc_segment_space *space);
/** A piece of at least so many bytes, not zeroed; give it back. At most PFC_SPACE_PARTS at a time.
 */
void *pfc_segment_space_take(pfc_segment_space *space, size_t bytes);
void pfc_segment_space_give(pfc_segment_space *space, void *memory);

/* First points of confirmed levels: they have no cost and are always in the result. */
typedef struct pfc_confirmed_starts {
    const uint32_t *at; /* ascending, each in 1..n-1; not owned */
    size_t len;
} pfc_confirmed_starts;

/** First points of the levels after the first, ascending, into starts[0..n); returns how many.
 *  With `states` (else NULL) a level is that of the lower state, and upper[0..n) tells which points
 *  are in the upper one; at most PFC_STATES_POINTS points then.
 *  q: values in cells, |q| <= PFC_LATTICE_MAX. penalty_nats: price of one change, below 200.
 *  *cost_nats (may be NULL): penalised cost of the whole answer. O(n * levels visited). */
size_t pfc_segment(const int32_t *q, size_t n, const pfc_loss *loss, double penalty_nats,
                   const pfc_states *states, pfc_confirmed_starts fixed, pfc_segment_space *space,
                   uint32_t *starts, uint8_t *upper, double *cost_nats);

#endif
