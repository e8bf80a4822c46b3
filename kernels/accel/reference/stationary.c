/*
 * One operand is held, the other passes: scalesim-ws, scalesim-is and pipelined-ws. Cell (r, c)
 * holds element (r, c) of a fold; what passes enters from the left, sums move down and leave below
 * the last row.
 */
#include "kernels/accel/reference/array_parts.h"

/* The problem as the array sees it: held[k, j], passing[i, k], out[i, j]. Weight-stationary holds B
 * and passes rows of A; input-stationary holds A and passes columns of B. */
typedef struct view {
    const int8_t *held, *passing;
    size_t held_k, held_j, passing_i, passing_k, out_i, out_j; /* strides */
    uint64_t i, j, k;
    uint64_t folds_j; /* folds along j */
    uint64_t folds;
} view;

static view view_of(const pfc_accel_ticked *t)
{
    view v = { .held = t->b,
               .passing = t->a,
               .held_k = t->n,
               .held_j = 1,
               .passing_i = t->k,
               .passing_k = 1,
               .out_i = t->n,
               .out_j = 1,
               .i = t->m,
               .j = t->n,
               .k = t->k };

    if (t->mode == PFC_ACCEL_SCALESIM_IS)
        v = (view){ .held = t->a,
                    .passing = t->b,
                    .held_k = 1,
                    .held_j = t->k,
                    .passing_i = 1,
                    .passing_k = t->n,
                    .out_i = 1,
                    .out_j = t->n,
                    .i = t->n,
                    .j = t->m,
                    .k = t->k };
    v.folds_j = (v.j + t->cols - 1) / t->cols;
    v.folds = v.folds_j * ((v.k + t->rows - 1) / t->rows);
    return v;
}

/* Element that cell (r, c) holds in a fold; zero past the matrix. */
static int8_t held(const pfc_accel_ticked *t, const view *v, uint64_t fold, uint64_t r, uint64_t c)
{
    const uint64_t k = fold / v->folds_j * t->rows + r;
    const uint64_t j = fold % v->folds_j * t->cols + c;

    return k < v->k && j < v->j ? v->held[k * v->held_k + j * v->held_j] : 0;
}

/* The operand that enters row r in this tick, as a cell to the left of it would hold it. */
static pfc_accel_cell from_left(pfc_accel_array *array, const view *v, uint32_t r)
{
    pfc_accel_port *port = &array->rows[r];
    pfc_accel_cell edge = { 0 };
    uint64_t i;
    uint64_t k;

    if (!port->on)
        return edge;
    k = port->fold / v->folds_j * array->t->rows + r;
    i = pfc_accel_port_take(port, v->i);
    edge.across_on = true;
    edge.first = i == 0;
    if (k < v->k)
        edge.across = v->passing[i * v->passing_i + k * v->passing_k];
    return edge;
}

/* Sums that left each column below the last row: its n-th belongs to row n of its fold. */
typedef struct collector {
    uint64_t fold[PFC_ACCEL_TICKED_MAX];
    uint64_t row[PFC_ACCEL_TICKED_MAX];
    uint64_t left; /* sums that are still to come */
} collector;

static void collect(const pfc_accel_ticked *t, const view *v, collector *out, uint32_t c,
                    uint32_t sum)
{
    const uint64_t j = out->fold[c] % v->folds_j * t->cols + c;

    if (j < v->j) {
        int32_t *place = &t->c[out->row[c] * v->out_i + j * v->out_j];

        *place = (int32_t)((uint32_t)*place + sum);
    }
    out->left--;
    if (++out->row[c] == v->i) {
        out->row[c] = 0;
        out->fold[c]++;
    }
}

/* The operand that passes meets the held one; `above` is the sum so far. */
static void multiply(pfc_accel_array *array, pfc_accel_cell *cell, const pfc_accel_cell *left,
                     const pfc_accel_cell *above)
{
    cell->across_on = left->across_on;
    cell->across = left->across;
    cell->first = left->first;
    if (!cell->across_on)
        return;
    cell->sum = (above ? above->sum : 0) + (uint32_t)(cell->across * cell->weight);
    array->t->products++;
}

/* ---- scalesim-ws, scalesim-is ---- */

static void tick_stream(pfc_accel_array *array, const view *v, collector *out)
{
    const pfc_accel_ticked *t = array->t;

    /* from the last: a cell reads what its neighbours held in the tick before */
    for (uint32_t r = t->rows; r-- > 0;) {
        for (uint32_t c = t->cols; c-- > 0;) {
            pfc_accel_cell *cell = &array->cells[r * t->cols + c];
            const pfc_accel_cell left = c ? cell[-1] : from_left(array, v, r);

            multiply(array, cell, &left, r ? cell - t->cols : NULL);
            if (r == t->rows - 1 && cell->across_on)
                collect(t, v, out, c, cell->sum);
        }
    }
    array->ticks++;
}

/* All weights move down a row; row `r` of the fold enters above the first. */
static void tick_load(pfc_accel_array *array, const view *v, uint64_t fold, uint32_t r)
{
    const pfc_accel_ticked *t = array->t;

    for (uint32_t i = t->rows * t->cols; i-- > t->cols;)
        array->cells[i].weight = array->cells[i - t->cols].weight;
    for (uint32_t c = 0; c < t->cols; c++)
        array->cells[c].weight = held(t, v, fold, r, c);
    array->ticks++;
}

void pfc_accel_run_stationary(pfc_accel_array *array)
{
    const pfc_accel_ticked *t = array->t;
    const view v = view_of(t);
    collector out = { 0 };

    for (uint64_t fold = 0; fold < v.folds; fold++) {
        for (uint32_t r = t->rows; r-- > 0;) /* the last row's goes furthest */
            tick_load(array, &v, fold, r);
        out.left = v.i * t->cols;
        for (bool go = true; out.left; go = false) {
            pfc_accel_ports_start(array, array->rows, t->rows, go, fold);
            tick_stream(array, &v, &out);
        }
    }
}

/* ---- pipelined-ws ---- */

static uint32_t rows_at_once(const pfc_accel_ticked *t)
{
    return PFC_MIN(PFC_MAX(t->load_rows, 1), t->rows);
}

/* Ticks that the weights of a fold take to enter. */
static uint64_t load_ticks(const pfc_accel_ticked *t)
{
    return (t->rows + rows_at_once(t) - 1) / rows_at_once(t);
}

/* The weights that enter column c from above: the last rows' first. */
static pfc_accel_bus from_above(pfc_accel_array *array, const view *v, uint32_t c)
{
    const pfc_accel_ticked *t = array->t;
    pfc_accel_port *port = &array->cols[c];
    pfc_accel_bus bus = { 0 };
    uint32_t end;

    if (!port->on)
        return bus;
    end = t->rows - (uint32_t)pfc_accel_port_take(port, load_ticks(t)) * rows_at_once(t);
    bus.len = PFC_MIN(end, rows_at_once(t));
    bus.row = end - bus.len;
    for (uint32_t i = 0; i < bus.len; i++)
        bus.weights[i] = held(t, v, port->fold, bus.row + i, c);
    return bus;
}

static void tick_pipelined(pfc_accel_array *array, const view *v, collector *out)
{
    const pfc_accel_ticked *t = array->t;

    for (uint32_t r = t->rows; r-- > 0;) {
        for (uint32_t c = t->cols; c-- > 0;) {
            const uint32_t at = r * t->cols + c;
            pfc_accel_cell *cell = &array->cells[at];
            pfc_accel_bus *bus = &array->buses[at];
            const pfc_accel_cell left = c ? cell[-1] : from_left(array, v, r);

            *bus = r ? array->buses[at - t->cols] : from_above(array, v, c);
            if (left.across_on && left.first) /* before a new one may arrive in the same tick */
                cell->weight = cell->next_weight;
            if (r - bus->row < bus->len)
                cell->next_weight = bus->weights[r - bus->row];
            multiply(array, cell, &left, r ? cell - t->cols : NULL);
            if (r == t->rows - 1 && cell->across_on)
                collect(t, v, out, c, cell->sum);
        }
    }
    array->ticks++;
}

void pfc_accel_run_pipelined(pfc_accel_array *array)
{
    const pfc_accel_ticked *t = array->t;
    const view v = view_of(t);
    collector out = { .left = v.folds * v.i * t->cols };
    uint64_t loads = 0;   /* begun */
    uint64_t streams = 0; /* begun */

    while (out.left) {
        /* the first row's and the first column's port are both free, the weights are in */
        const bool stream = streams < loads && !array->cols[0].on && !array->rows[0].on;
        /* the second weights are free from the tick in which the rows begin to take them over */
        const bool load = loads < v.folds && (loads == 0 || stream);

        pfc_accel_ports_start(array, array->rows, t->rows, stream, streams);
        pfc_accel_ports_start(array, array->cols, t->cols, load, loads);
        streams += stream;
        loads += load;
        tick_pipelined(array, &v, &out);
    }
}
