/* ONNXim's issue rule, one tick after the other: see array.h. */
#include "kernels/accel/reference/array.h"

#define SHORTEST 4 /* ticks that a product holds the row port at least */

typedef struct core {
    uint64_t in_buffer; /* rows of the next weights that are read from their buffer */
    uint64_t in_array;  /* rows of them that are in the array */
    uint64_t port;      /* ticks until the row port is free */
    uint64_t last_out;  /* ticks until the last result so far is out */
    bool working;       /* the array has had work: its weights' buffer was read ahead */
} core;

/* The next weights move: first all rows into the buffer's latch, unless read ahead, then all into
 * the array; the array's first row moves in the tick of the buffer's last. */
static void move_weights(core *s, uint64_t rows)
{
    if (s->working)
        s->in_buffer = rows;
    if (s->in_buffer < rows)
        s->in_buffer++;
    if (s->in_buffer == rows && s->in_array < rows)
        s->in_array++;
}

uint64_t pfc_accel_ticked_issue(uint64_t rows, uint64_t cols, uint64_t folds, uint64_t stream)
{
    core s = { 0 };
    uint64_t tick = 0;

    while (folds || s.last_out) {
        if (folds && s.in_array == rows && s.port == 0) {
            const uint64_t holds = PFC_MAX(stream, SHORTEST);

            s = (core){ .port = holds, .last_out = holds + rows + cols - 2, .working = true };
            folds--;
        }
        if (folds)
            move_weights(&s, rows);
        s.port -= s.port > 0;
        s.last_out -= s.last_out > 0;
        tick++;
    }
    return tick;
}
