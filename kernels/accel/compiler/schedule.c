/*
 * List scheduling. Each step takes, among the next WINDOW operations, the one that can start first;
 * among several that can start at the same cycle, the first in program order. Start cycles are
 * estimated from the chip's rates of units, memory and DMA engines. The result is the order of each
 * queue alone, so a wrong estimate makes the program slower but not wrong.
 */
#include <stdlib.h>

#include "kernels/accel/compiler/ir.h"

#define WINDOW 96 /* operations that are looked at ahead of the first that has not started */
#define NONE   UINT32_MAX

typedef struct cost {
    uint64_t busy;
    uint64_t drain;
} cost;

typedef struct scheduler {
    pfc_accel_ir *ir;
    pfc_accel_deps deps;
    uint32_t *next_of; /* the operations that wait for op i: next[next_of[i]] to ... */
    uint32_t *next;
    uint32_t *pending; /* by op: dependences that have not started */
    uint64_t *ready;   /* by op: when those that have are over */
    uint64_t unit_free[2];
    uint64_t engines_free[2]; /* for loads, for stores */
    uint64_t memory_free;
    uint32_t window[WINDOW];
    size_t window_len;
    uint32_t fetched;
} scheduler;

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static void invert(scheduler *s)
{
    const size_t n = s->ir->ops_len;

    s->next_of = pfc_calloc(n + 2, sizeof(*s->next_of));
    s->next = pfc_calloc(s->deps.len + 1, sizeof(*s->next));
    s->pending = pfc_calloc(n + 1, sizeof(*s->pending));
    s->ready = pfc_calloc(n + 1, sizeof(*s->ready));
    for (size_t i = 0; i < s->deps.len; i++)
        s->next_of[s->deps.from[i] + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        s->next_of[i] += s->next_of[i - 1];
    for (uint32_t i = 0; i < n; i++) {
        s->pending[i] = s->deps.of[i + 1] - s->deps.of[i];
        for (uint32_t d = s->deps.of[i]; d < s->deps.of[i + 1]; d++)
            s->next[s->next_of[s->deps.from[d] + 1]++] = i;
    }
}

static cost cost_on(const pfc_accel_ir *ir, const pfc_accel_tile_op *op, uint8_t unit)
{
    pfc_accel_cmd cmd = op->cmd;
    cost c = { 0 };

    if (op->either) {
        cmd.unit = unit;
        cmd.op = unit == PFC_ACCEL_UNIT_TENSOR ? PFC_ACCEL_OP_MATMUL : PFC_ACCEL_OP_MATVEC;
    }
    if (cmd.op == PFC_ACCEL_OP_MATVEC)
        cmd.batch = op->batch;
    c.busy = pfc_accel_cmd_cycles(ir->chip, ir->p, &cmd, &c.drain);
    if (cmd.op == PFC_ACCEL_OP_MATMUL)
        c.busy *= op->batch;
    return c;
}

/* 87 % of the peak: what refresh and row misses leave. */
static uint64_t memory_cycles(const pfc_accel_chip *chip, uint64_t bytes)
{
    return div_up(bytes * chip->clock_mhz * 100, chip->hbm_mbps * 87);
}

static bool is_store(const pfc_accel_tile_op *op)
{
    return op->cmd.op != PFC_ACCEL_OP_LOAD;
}

static uint64_t start_of(const scheduler *s, uint32_t i)
{
    const pfc_accel_tile_op *op = &s->ir->ops[i];
    uint64_t free_at;

    if (op->cmd.unit == PFC_ACCEL_UNIT_DMA)
        free_at = s->engines_free[is_store(op)];
    else if (op->either)
        free_at = PFC_MIN(s->unit_free[0], s->unit_free[1]);
    else
        free_at = s->unit_free[op->cmd.unit];
    return PFC_MAX(free_at, s->ready[i]);
}

static uint64_t start_move(scheduler *s, const pfc_accel_tile_op *op, uint64_t at)
{
    const pfc_accel_chip *chip = s->ir->chip;
    const uint64_t bytes = (uint64_t)op->cmd.m * op->cmd.n * op->cmd.elem;
    const uint64_t engines =
        s->ir->mixed || !is_store(op) ? chip->dma_engines : PFC_MAX(chip->dma_engines / 4, 1);
    uint64_t done;

    if (s->ir->p->ideal_memory)
        return at;
    s->memory_free = PFC_MAX(s->memory_free, at) + memory_cycles(chip, bytes);
    done = PFC_MAX(s->memory_free, at + div_up(bytes, chip->dma_bytes * engines));
    s->engines_free[is_store(op)] = done;
    return done + chip->dma_setup + chip->hbm_latency;
}

/* On the unit that finishes first; returns when. */
static uint64_t start_compute(scheduler *s, pfc_accel_tile_op *op, uint32_t i, uint64_t *at)
{
    uint8_t unit = op->cmd.unit;
    cost c = cost_on(s->ir, op, unit);

    *at = PFC_MAX(s->unit_free[unit], s->ready[i]);
    if (op->either) {
        const uint8_t other = PFC_ACCEL_UNIT_VECTOR;
        const cost o = cost_on(s->ir, op, other);
        const uint64_t o_at = PFC_MAX(s->unit_free[other], s->ready[i]);

        if (o_at + o.busy + o.drain < *at + c.busy + c.drain) {
            unit = other;
            c = o;
            *at = o_at;
            op->cmd.op = PFC_ACCEL_OP_MATVEC;
            op->cmd.batch = op->batch > 1 ? op->batch : 0;
        }
        op->cmd.unit = unit;
        op->either = false;
    }
    s->unit_free[unit] = *at + c.busy;
    return *at + c.busy + c.drain;
}

static void start(scheduler *s, uint32_t i)
{
    pfc_accel_tile_op *op = &s->ir->ops[i];
    uint64_t at = start_of(s, i);
    uint64_t done;

    if (op->cmd.unit == PFC_ACCEL_UNIT_DMA)
        done = start_move(s, op, at);
    else
        done = start_compute(s, op, i, &at);
    op->start = at;
    for (uint32_t n = s->next_of[i]; n < s->next_of[i + 1]; n++) {
        const uint32_t later = s->next[n];

        s->ready[later] = PFC_MAX(s->ready[later], done);
        s->pending[later]--;
    }
}

static uint32_t pick(scheduler *s)
{
    uint64_t best = UINT64_MAX;
    size_t at = 0;
    uint32_t op;

    while (s->window_len < WINDOW && s->fetched < s->ir->ops_len)
        s->window[s->window_len++] = s->fetched++;
    for (size_t w = 0; w < s->window_len; w++) {
        uint64_t starts;

        if (s->pending[s->window[w]])
            continue;
        starts = start_of(s, s->window[w]);
        if (starts < best) {
            best = starts;
            at = w;
        }
    }
    op = s->window[at];
    for (size_t w = at + 1; w < s->window_len; w++)
        s->window[w - 1] = s->window[w];
    s->window_len--;
    return op;
}

void pfc_accel_pass_schedule(pfc_accel_ir *ir)
{
    scheduler s = { .ir = ir };

    pfc_accel_deps_find(ir, &s.deps);
    invert(&s);
    ir->order = pfc_calloc(ir->ops_len + 1, sizeof(*ir->order));
    for (size_t i = 0; i < ir->ops_len; i++) {
        ir->order[i] = pick(&s);
        start(&s, ir->order[i]);
    }
    pfc_accel_deps_free(&s.deps);
    free(s.next_of);
    free(s.next);
    free(s.pending);
    free(s.ready);
}
