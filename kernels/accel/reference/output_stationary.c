/* scalesim-os: A moves right, B moves down, each cell keeps its sum. */
#include "kernels/accel/reference/array_parts.h"

/* Products of operands that meet; returns true when the cell's sum is complete. */
static bool tick_cell(pfc_accel_array *array, pfc_accel_cell *cell, pfc_accel_cell left,
                      pfc_accel_cell above)
{
    cell->across_on = left.across_on;
    cell->across = left.across;
    cell->down_on = above.down_on;
    cell->down = above.down;
    array->lost |= cell->across_on != cell->down_on; /* they must meet */
    if (!cell->across_on)
        return false;
    cell->sum += (uint32_t)(cell->across * cell->down);
    array->t->products++;
    return ++cell->count == array->t->k;
}

/* The operand that enters row r from the left, as a cell to the left of it would hold it. */
static pfc_accel_cell from_left(pfc_accel_array *array, uint32_t r, uint32_t m0)
{
    const pfc_accel_ticked *t = array->t;
    pfc_accel_port *port = &array->rows[r];
    pfc_accel_cell edge = { 0 };
    uint64_t p;

    if (!port->on)
        return edge;
    p = pfc_accel_port_take(port, t->k);
    edge.across_on = true;
    if (m0 + r < t->m)
        edge.across = t->a[(size_t)(m0 + r) * t->k + p];
    return edge;
}

static pfc_accel_cell from_above(pfc_accel_array *array, uint32_t c, uint32_t n0)
{
    const pfc_accel_ticked *t = array->t;
    pfc_accel_port *port = &array->cols[c];
    pfc_accel_cell edge = { 0 };
    uint64_t p;

    if (!port->on)
        return edge;
    p = pfc_accel_port_take(port, t->k);
    edge.down_on = true;
    if (n0 + c < t->n)
        edge.down = t->b[p * t->n + n0 + c];
    return edge;
}

/* Writes a complete sum to C; the cell is empty again. */
static void write_sum(const pfc_accel_ticked *t, pfc_accel_cell *cell, uint32_t m, uint32_t n)
{
    if (m < t->m && n < t->n)
        t->c[(size_t)m * t->n + n] = (int32_t)cell->sum;
    cell->sum = 0;
    cell->count = 0;
}

/* One tick; returns the number of sums that were completed. */
static uint32_t tick(pfc_accel_array *array, uint32_t m0, uint32_t n0)
{
    const pfc_accel_ticked *t = array->t;
    uint32_t done = 0;

    /* from the last: a cell reads what its neighbours held in the tick before */
    for (uint32_t r = t->rows; r-- > 0;) {
        for (uint32_t c = t->cols; c-- > 0;) {
            pfc_accel_cell *cell = &array->cells[r * t->cols + c];
            const pfc_accel_cell left = c ? cell[-1] : from_left(array, r, m0);
            const pfc_accel_cell above =
                r ? array->cells[(r - 1) * t->cols + c] : from_above(array, c, n0);

            if (!tick_cell(array, cell, left, above))
                continue;
            write_sum(t, cell, m0 + r, n0 + c);
            done++;
        }
    }
    array->ticks++;
    return done;
}

static void run_fold(pfc_accel_array *array, uint32_t m0, uint32_t n0)
{
    const pfc_accel_ticked *t = array->t;
    uint32_t done = 0;

    for (bool go = true; done < t->rows * t->cols; go = false) {
        pfc_accel_ports_start(array, array->rows, t->rows, go, 0);
        pfc_accel_ports_start(array, array->cols, t->cols, go, 0);
        done += tick(array, m0, n0);
    }
}

void pfc_accel_run_output_stationary(pfc_accel_array *array)
{
    const pfc_accel_ticked *t = array->t;

    for (uint32_t m0 = 0; m0 < t->m; m0 += t->rows)
        for (uint32_t n0 = 0; n0 < t->n; n0 += t->cols)
            run_fold(array, m0, n0);
}
