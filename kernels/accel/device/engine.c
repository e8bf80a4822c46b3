/*
 * The engine: in-order queues (tensor, vector, each DMA engine), tokens between them, events in
 * order of (time, unit). A command's results are computed when it starts, so a missing wait in a
 * program shows as a wrong result and not only as a wrong time.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/device/parts.h"
#include "kernels/accel/device/tracer.h"

#define TENSOR 0
#define VECTOR 1
#define DMA0   2

#define UNITS_MAX 128 /* a power of two, so that keys are taken apart by shifts */
_Static_assert(UNITS_MAX >= DMA0 + PFC_ACCEL_MAX_DMA, "every unit has a number");

/* The unit that a command waited for; selects the stall counter. */
typedef enum source { FROM_LOAD, FROM_STORE, FROM_TENSOR, FROM_VECTOR } source;

typedef struct token {
    uint32_t pending;
    uint8_t from;
    uint64_t done;
} token;

typedef struct unit {
    uint32_t *order; /* its commands; part of engine.order */
    size_t len;
    size_t pos;
    uint64_t free_at;
    uint64_t drained_at;  /* the last result of the command before is out */
    bool active;          /* DMA: a transfer is under way */
    uint64_t banks;       /* DMA: that its last transfer uses, */
    uint64_t banks_until; /* and until when */
    uint64_t setup;       /* DMA: cycles before its transfer's first byte */
    pfc_accel_dma dma;
    pfc_accel_memory_cost *memory; /* DMA, traced: of its transfer */
} unit;

typedef struct engine {
    pfc_accel_run *run;
    uint64_t *v; /* counters */
    unit *units;
    size_t units_len;
    /* By unit: when its next step is, times UNITS_MAX, plus its number; NEVER: not known yet, or no
     * step is left. The least of all is the next step. */
    uint64_t next[UNITS_MAX];
    source *why; /* by unit: what that step waited for */
    uint32_t *order;
    token *tokens;
    pfc_accel_hbm hbm;
    pfc_accel_overlap overlap;
    pfc_accel_reuse reuse;
    pfc_accel_hbm_seen *seen; /* NULL: not traced */
    pfc_accel_memory mem;
    bool real;         /* computes */
    bool new_complete; /* a token was completed: units that wait may know when they start */
    uint64_t end;
} engine;

static size_t unit_of(const pfc_accel_cmd *cmd)
{
    if (cmd->unit == PFC_ACCEL_UNIT_TENSOR)
        return TENSOR;
    return cmd->unit == PFC_ACCEL_UNIT_VECTOR ? VECTOR : DMA0 + (size_t)cmd->queue;
}

static void fill_queues(engine *e)
{
    const pfc_accel_program *p = e->run->program;
    uint32_t *next = e->order;

    for (size_t i = 0; i < p->len; i++) {
        e->units[unit_of(&p->cmds[i])].len++;
        e->tokens[p->cmds[i].token].pending++;
    }
    for (size_t u = 0; u < e->units_len; u++) {
        e->units[u].order = next;
        next += e->units[u].len;
        e->units[u].len = 0;
    }
    for (size_t i = 0; i < p->len; i++) {
        unit *u = &e->units[unit_of(&p->cmds[i])];

        u->order[u->len++] = (uint32_t)i;
    }
}

static void start(engine *e)
{
    const pfc_accel_program *p = e->run->program;

    e->v = e->run->counters.v;
    memset(&e->run->counters, 0, sizeof(e->run->counters));
    if (e->run->detail)
        memset(e->run->detail, 0, sizeof(*e->run->detail));
    e->units_len = DMA0 + e->run->chip->dma_engines;
    e->units = pfc_calloc(e->units_len, sizeof(*e->units));
    for (size_t i = 0; i < UNITS_MAX; i++)
        e->next[i] = PFC_ACCEL_NEVER;
    e->why = pfc_calloc(e->units_len, sizeof(*e->why));
    e->order = pfc_calloc(p->len + 1, sizeof(*e->order));
    e->tokens = pfc_calloc((size_t)p->tokens_len + 1, sizeof(*e->tokens));
    pfc_accel_hbm_init(&e->hbm, e->run->chip);
    fill_queues(e);
    if (e->run->tracer)
        e->seen = pfc_calloc(1, sizeof(*e->seen));
    for (size_t u = DMA0; e->run->tracer && u < e->units_len; u++)
        e->units[u].memory = pfc_calloc(1, sizeof(*e->units[u].memory));
    e->real = !e->run->timing_only;
    if (e->real) {
        e->mem.scratch_len = pfc_accel_scratch_floats(p);
        e->mem.sram = pfc_alloc(p->sram_used + 1);
        e->mem.acc = pfc_alloc(p->acc_used + 1);
        e->mem.scratch = pfc_calloc(e->mem.scratch_len, sizeof(*e->mem.scratch));
    }
}

static void stop(engine *e)
{
    for (size_t u = 0; u < e->units_len; u++)
        free(e->units[u].memory);
    free(e->seen);
    free(e->units);
    free(e->why);
    free(e->order);
    free(e->tokens);
    free(e->mem.sram);
    free(e->mem.acc);
    free(e->mem.scratch);
    pfc_accel_hbm_free(&e->hbm);
    pfc_accel_reuse_free(&e->reuse);
}

/* When the unit's next command may start, or NEVER as long as that is not known. */
static uint64_t ready_at(const engine *e, const unit *u, source *why)
{
    const pfc_accel_cmd *cmd;
    uint64_t at = u->free_at;

    *why = FROM_LOAD;
    if (u->active)
        return u->dma.next_issue;
    if (u->pos == u->len)
        return PFC_ACCEL_NEVER;
    cmd = &e->run->program->cmds[u->order[u->pos]];
    for (size_t w = 0; w < cmd->waits_len; w++) {
        const token *t = &e->tokens[cmd->waits[w]];

        if (t->pending)
            return PFC_ACCEL_NEVER;
        if (t->done > at) {
            at = t->done;
            *why = (source)t->from;
        }
    }
    return at;
}

static void signal_done(engine *e, const pfc_accel_cmd *cmd, uint64_t done)
{
    token *t = &e->tokens[cmd->token];

    e->new_complete |= --t->pending == 0;
    if (done >= t->done) {
        t->done = done;
        if (cmd->unit == PFC_ACCEL_UNIT_TENSOR)
            t->from = FROM_TENSOR;
        else if (cmd->unit == PFC_ACCEL_UNIT_VECTOR)
            t->from = FROM_VECTOR;
        else
            t->from = cmd->op == PFC_ACCEL_OP_LOAD ? FROM_LOAD : FROM_STORE;
    }
    e->end = PFC_MAX(e->end, done);
}

/* Transfers cannot be held up, so the unit that computes waits for the banks they use. */
static uint64_t bank_wait(engine *e, const pfc_accel_cmd *cmd, uint64_t at, uint64_t most)
{
    const pfc_accel_chip *chip = e->run->chip;
    uint64_t banks;
    uint64_t met = 0;
    uint64_t wait = 0;

    if (e->run->program->ideal_memory || e->run->ideal & PFC_ACCEL_IDEAL_BANKS)
        return 0;
    banks = pfc_accel_cmd_banks(chip, e->run->program, cmd);
    for (size_t i = DMA0; i < e->units_len; i++) {
        const unit *u = &e->units[i];
        const uint64_t shared = u->active || at < u->banks_until ? u->banks & banks : 0;
        uint64_t bytes;

        if (!shared)
            continue;
        bytes = pfc_accel_dma_bytes(u->dma.cmd) * (uint64_t)__builtin_popcountll(shared) /
                (uint64_t)__builtin_popcountll(u->banks);
        wait += pfc_accel_ceil_div(bytes, chip->sram_port_bytes);
        met |= shared;
        e->v[PFC_ACCEL_SRAM_CONFLICT]++;
    }
    wait = PFC_MIN(wait, most);
    if (e->run->detail && wait)
        pfc_accel_detail_bank_wait(e->run->detail, met, wait);
    return wait;
}

/* The array empties first, whatever comes next; only then it waits. */
static void count_tensor_gap(engine *e, const unit *u, uint64_t at, pfc_accel_counter stall)
{
    const uint64_t drained = PFC_MIN(PFC_MAX(u->drained_at, u->free_at), at);

    e->v[PFC_ACCEL_TENSOR_FILL_DRAIN] += drained - u->free_at;
    e->v[stall] += at - drained;
}

/* ---- trace ---- */

static unsigned waiting_state(source why)
{
    return why == FROM_LOAD    ? PFC_TRACE_STATE_WAIT_MEMORY
           : why == FROM_STORE ? PFC_TRACE_STATE_WAIT_SPACE
                               : PFC_TRACE_STATE_WAIT_SEMAPHORE;
}

/* The unit is free and has a next command, which waits for its tokens from now on. */
static void trace_wait(engine *e, size_t which)
{
    const unit *u = &e->units[which];
    const uint16_t id = which == TENSOR   ? PFC_ACCEL_TRACE_TENSOR
                        : which == VECTOR ? PFC_ACCEL_TRACE_VECTOR
                                          : (uint16_t)(PFC_ACCEL_TRACE_DMA + which - DMA0);

    if (e->run->tracer && !u->active && u->pos < u->len)
        pfc_accel_trace_wait(e->run->tracer, id, u->order[u->pos], u->free_at);
}

/* The command that u has just taken: free_at and drained_at are its ends. */
static void trace_tile(engine *e, uint16_t id, const unit *u, uint64_t from, uint64_t at,
                       uint64_t weights, source why, const pfc_accel_cost *cost, uint64_t bank)
{
    const uint32_t index = u->order[u->pos - 1];

    pfc_accel_trace_taken(e->run->tracer, id, index, at);
    pfc_accel_trace_tile_cost(
        e->run->tracer, id, index, at, cost, bank,
        pfc_accel_cmd_banks(e->run->chip, e->run->program, &e->run->program->cmds[index]));
    pfc_accel_trace_state(e->run->tracer, id, waiting_state(why), from, at);
    pfc_accel_trace_command(e->run->tracer, id, index, at, u->free_at, u->drained_at);
    pfc_accel_trace_state(e->run->tracer, id, PFC_TRACE_STATE_WAIT_WEIGHTS, at, at + weights);
    pfc_accel_trace_state(e->run->tracer, id, PFC_TRACE_STATE_BUSY, at + weights, u->free_at);
}

static void step_tensor(engine *e, unit *u, uint64_t at, source why)
{
    const uint64_t from = u->free_at;
    static const pfc_accel_counter stalls[] = {
        [FROM_LOAD] = PFC_ACCEL_TENSOR_STALL_DMA,
        [FROM_STORE] = PFC_ACCEL_TENSOR_STALL_DRAIN,
        [FROM_TENSOR] = PFC_ACCEL_TENSOR_STALL_DRAIN,
        [FROM_VECTOR] = PFC_ACCEL_TENSOR_STALL_VECTOR,
    };
    const pfc_accel_cmd *cmd = &e->run->program->cmds[u->order[u->pos++]];
    pfc_accel_cost cost = pfc_accel_tensor_cost(e->run, cmd, &e->run->counters);
    const bool empty = at > u->free_at || u->pos == 1;
    const uint64_t occupied = cost.busy + cost.weights + cost.fill;
    const pfc_accel_cost full = cost;
    uint64_t wait;

    if (!empty) /* weights came in while the command before was streaming */
        cost.preload = 0;
    wait = bank_wait(e, cmd, at, occupied);
    count_tensor_gap(e, u, at, stalls[why]);
    e->v[PFC_ACCEL_TENSOR_PRELOAD] += cost.preload;
    e->v[PFC_ACCEL_TENSOR_BUSY] += cost.busy;
    e->v[PFC_ACCEL_TENSOR_STALL_WEIGHTS] += cost.weights;
    e->v[PFC_ACCEL_TENSOR_FILL_DRAIN] += cost.fill;
    e->v[PFC_ACCEL_TENSOR_STALL_BANK] += wait;
    u->free_at = at + cost.preload + occupied + wait;
    /* results leave the array in order */
    u->drained_at = PFC_MAX(u->drained_at, u->free_at + cost.drain);
    if (e->run->tracer)
        trace_tile(e, PFC_ACCEL_TRACE_TENSOR, u, from, at, cost.preload + cost.weights, why, &full,
                   wait);
    if (e->real)
        pfc_accel_exec(e->run, &e->mem, cmd);
    pfc_accel_overlap_execute(&e->overlap, at, u->drained_at);
    signal_done(e, cmd, u->drained_at);
}

static void step_vector(engine *e, unit *u, uint64_t at, source why)
{
    const uint64_t from = u->free_at;
    static const pfc_accel_counter stalls[] = {
        [FROM_LOAD] = PFC_ACCEL_VECTOR_STALL_DMA,
        [FROM_STORE] = PFC_ACCEL_VECTOR_STALL_DMA,
        [FROM_TENSOR] = PFC_ACCEL_VECTOR_STALL_TENSOR,
        [FROM_VECTOR] = PFC_ACCEL_VECTOR_STALL_CHAIN,
    };
    const pfc_accel_cmd *cmd = &e->run->program->cmds[u->order[u->pos++]];
    pfc_accel_cost cost =
        pfc_accel_vector_cost(e->run->chip, e->run->program, cmd, &e->run->counters);
    uint64_t wait;

    if (e->run->ideal & PFC_ACCEL_IDEAL_VECTOR)
        cost = (pfc_accel_cost){ 0 };
    if (e->run->ideal & PFC_ACCEL_IDEAL_LATENCY)
        cost.trees = cost.drain = cost.depth = 0;
    wait = bank_wait(e, cmd, at, cost.busy + cost.trees);
    e->v[stalls[why]] += at - u->free_at;
    e->v[PFC_ACCEL_VECTOR_BUSY] += cost.busy;
    e->v[PFC_ACCEL_VECTOR_REDUCE] += cost.trees;
    e->v[PFC_ACCEL_VECTOR_STALL_BANK] += wait;
    u->free_at = at + cost.busy + cost.trees + wait;
    u->drained_at = PFC_MAX(u->drained_at, u->free_at + cost.drain);
    if (e->run->tracer)
        trace_tile(e, PFC_ACCEL_TRACE_VECTOR, u, from, at, 0, why, &cost, wait);
    if (e->real)
        pfc_accel_exec(e->run, &e->mem, cmd);
    pfc_accel_overlap_execute(&e->overlap, at, u->drained_at);
    signal_done(e, cmd, u->drained_at);
}

static uint16_t dma_id(const pfc_accel_cmd *cmd)
{
    return (uint16_t)(PFC_ACCEL_TRACE_DMA + cmd->queue);
}

static void finish_transfer(engine *e, unit *u)
{
    const pfc_accel_cmd *cmd = u->dma.cmd;
    const bool store = cmd->op != PFC_ACCEL_OP_LOAD;
    const uint64_t latency =
        e->run->ideal & PFC_ACCEL_IDEAL_LATENCY ? 0 : e->run->chip->hbm_latency;
    uint64_t done;

    u->free_at = u->dma.next_issue;
    u->active = false;
    u->banks_until = u->dma.done;
    /* an engine completes its descriptors in order */
    done = PFC_MAX(u->drained_at, PFC_MAX(u->dma.done, u->free_at) + latency);
    u->drained_at = done;
    e->v[PFC_ACCEL_DMA_BUSY] += u->dma.busy;
    e->v[PFC_ACCEL_DMA_STALL_HBM] += u->dma.stall_hbm;
    if (e->run->detail) {
        pfc_accel_queue_detail *q = &e->run->detail->queues[cmd->queue];

        q->busy_cycles += u->dma.busy;
        q->stall_hbm_cycles += u->dma.stall_hbm;
    }
    pfc_accel_overlap_close(&e->overlap, store, e->next[DMA0 + cmd->queue] / UNITS_MAX, done);
    if (e->run->tracer) {
        const pfc_accel_transfer_cost cost = {
            .setup = u->setup,
            .rate = u->dma.busy,
            .window = u->dma.stall_hbm,
            .latency = latency,
            .memory = u->memory,
        };

        pfc_accel_trace_transfer_cost(e->run->tracer, dma_id(cmd), u->order[u->pos - 1], done,
                                      &cost);
        pfc_accel_trace_arrived(e->run->tracer, dma_id(cmd), u->order[u->pos - 1], done);
    }
    signal_done(e, cmd, done);
}

static void count_transfer(engine *e, const pfc_accel_cmd *cmd, uint64_t base, uint64_t setup,
                           uint64_t waited)
{
    const uint64_t bytes = pfc_accel_dma_bytes(cmd);

    e->v[PFC_ACCEL_DMA_TRANSFERS]++;
    e->v[PFC_ACCEL_DMA_BYTES] += bytes;
    e->v[PFC_ACCEL_DMA_SETUP] += setup;
    if (cmd->op == PFC_ACCEL_OP_LOAD)
        e->v[PFC_ACCEL_SRAM_WRITE] += bytes;
    else if (cmd->op == PFC_ACCEL_OP_STORE)
        e->v[PFC_ACCEL_SRAM_READ] += bytes;
    else
        e->v[PFC_ACCEL_ACC_READ] += (uint64_t)cmd->m * cmd->n * 4;
    if (e->run->detail) {
        pfc_accel_queue_detail *q = &e->run->detail->queues[cmd->queue];

        q->transfers++;
        q->bytes += bytes;
        q->setup_cycles += setup;
        q->wait_cycles += waited;
        pfc_accel_detail_transfer(e->run->detail, &e->reuse, cmd, base);
    }
}

static void start_transfer(engine *e, unit *u, uint64_t at, source why)
{
    static const pfc_accel_counter stalls[] = {
        [FROM_LOAD] = PFC_ACCEL_DMA_STALL_DMA,
        [FROM_STORE] = PFC_ACCEL_DMA_STALL_DMA,
        [FROM_TENSOR] = PFC_ACCEL_DMA_STALL_TENSOR,
        [FROM_VECTOR] = PFC_ACCEL_DMA_STALL_VECTOR,
    };
    const pfc_accel_chip *chip = e->run->chip;
    const pfc_accel_cmd *cmd = &e->run->program->cmds[u->order[u->pos++]];
    const uint64_t base = e->run->addr[cmd->arg] + cmd->offset;
    const bool free_memory = e->run->program->ideal_memory;
    const uint64_t setup = free_memory || e->run->ideal & PFC_ACCEL_IDEAL_DMA ? 0 : chip->dma_setup;

    e->v[stalls[why]] += at - u->free_at;
    if (e->run->tracer) {
        pfc_accel_trace_state(e->run->tracer, dma_id(cmd), waiting_state(why), u->free_at, at);
        pfc_accel_trace_state(e->run->tracer, dma_id(cmd), PFC_TRACE_STATE_BUSY, at, at + setup);
        pfc_accel_trace_taken(e->run->tracer, dma_id(cmd), u->order[u->pos - 1], at);
        pfc_accel_trace_transfer(e->run->tracer, dma_id(cmd), u->order[u->pos - 1], at);
        pfc_accel_trace_detail(e->run->tracer, PFC_TRACE_BANKS, dma_id(cmd), u->order[u->pos - 1],
                               pfc_accel_cmd_banks(chip, e->run->program, cmd), at);
        memset(u->memory, 0, sizeof(*u->memory));
    }
    count_transfer(e, cmd, base, setup, at - u->free_at);
    if (e->real)
        pfc_accel_exec(e->run, &e->mem, cmd);
    if (free_memory || e->run->ideal & PFC_ACCEL_IDEAL_HBM) /* its channels count nothing then */
        e->v[cmd->op == PFC_ACCEL_OP_LOAD ? PFC_ACCEL_HBM_READ : PFC_ACCEL_HBM_WRITE] +=
            pfc_accel_dma_burst_bytes(cmd, base, chip);
    if (free_memory) {
        u->free_at = at;
        if (e->run->tracer)
            pfc_accel_trace_arrived(e->run->tracer, dma_id(cmd), u->order[u->pos - 1], at);
        signal_done(e, cmd, at);
        return;
    }
    u->active = true;
    u->setup = setup;
    u->banks = pfc_accel_cmd_banks(chip, e->run->program, cmd);
    pfc_accel_overlap_open(&e->overlap, cmd->op != PFC_ACCEL_OP_LOAD, at);
    pfc_accel_dma_start(&u->dma, chip, cmd, base, at + setup);
}

/* Its engine moves a group, then may wait until an earlier one is served. */
static bool step_transfer(engine *e, unit *u, uint64_t at)
{
    const uint64_t busy = u->dma.busy;
    bool last;

    last = pfc_accel_dma_step(&u->dma, &e->hbm, e->run->ideal);
    if (e->run->tracer) {
        const uint64_t moved = at + u->dma.busy - busy;

        pfc_accel_hbm_since(&e->hbm, e->seen, u->memory);
        pfc_accel_trace_state(e->run->tracer, dma_id(u->dma.cmd), PFC_TRACE_STATE_BUSY, at, moved);
        pfc_accel_trace_state(e->run->tracer, dma_id(u->dma.cmd), PFC_TRACE_STATE_WAIT_MEMORY,
                              moved, u->dma.next_issue);
    }
    return last;
}

static void step(engine *e, size_t which, uint64_t at, source why)
{
    unit *u = &e->units[which];

    if (which == TENSOR)
        step_tensor(e, u, at, why);
    else if (which == VECTOR)
        step_vector(e, u, at, why);
    else if (!u->active)
        start_transfer(e, u, at, why);
    else if (step_transfer(e, u, at))
        finish_transfer(e, u);
}

/* The rest of a total when its parts are taken away. */
static uint64_t rest(const uint64_t *v, uint64_t total, const pfc_accel_counter *parts, size_t len)
{
    for (size_t i = 0; i < len; i++)
        total -= v[parts[i]];
    return total;
}

static void close_counters(engine *e)
{
    static const pfc_accel_counter tensor[] = {
        PFC_ACCEL_TENSOR_BUSY,          PFC_ACCEL_TENSOR_PRELOAD,     PFC_ACCEL_TENSOR_STALL_DMA,
        PFC_ACCEL_TENSOR_STALL_VECTOR,  PFC_ACCEL_TENSOR_STALL_DRAIN, PFC_ACCEL_TENSOR_STALL_BANK,
        PFC_ACCEL_TENSOR_STALL_WEIGHTS, PFC_ACCEL_TENSOR_FILL_DRAIN,
    };
    static const pfc_accel_counter vector[] = {
        PFC_ACCEL_VECTOR_BUSY,         PFC_ACCEL_VECTOR_REDUCE,      PFC_ACCEL_VECTOR_STALL_DMA,
        PFC_ACCEL_VECTOR_STALL_TENSOR, PFC_ACCEL_VECTOR_STALL_CHAIN, PFC_ACCEL_VECTOR_STALL_BANK,
    };
    static const pfc_accel_counter dma[] = {
        PFC_ACCEL_DMA_BUSY,         PFC_ACCEL_DMA_SETUP,        PFC_ACCEL_DMA_STALL_HBM,
        PFC_ACCEL_DMA_STALL_TENSOR, PFC_ACCEL_DMA_STALL_VECTOR, PFC_ACCEL_DMA_STALL_DMA,
    };
    const pfc_accel_program *p = e->run->program;
    const unit *array = &e->units[TENSOR];
    uint64_t *v = e->v;

    v[PFC_ACCEL_CYCLES] = e->end;
    v[PFC_ACCEL_COMMANDS] = p->len;
    if (array->drained_at > array->free_at)
        v[PFC_ACCEL_TENSOR_FILL_DRAIN] += array->drained_at - array->free_at;
    for (size_t i = 0; i < p->args_len; i++)
        v[PFC_ACCEL_HBM_COMPULSORY] += p->arg_bytes[i];
    v[PFC_ACCEL_TENSOR_IDLE] = rest(v, e->end, tensor, PFC_ARRAY_LEN(tensor));
    v[PFC_ACCEL_VECTOR_IDLE] = rest(v, e->end, vector, PFC_ARRAY_LEN(vector));
    v[PFC_ACCEL_DMA_IDLE] = rest(v, e->end * e->run->chip->dma_engines, dma, PFC_ARRAY_LEN(dma));
    pfc_accel_overlap_end(&e->overlap, e->end, &e->run->counters);
    pfc_accel_hbm_close(&e->hbm, &e->run->counters, e->run->detail);
    if (e->run->detail) {
        e->run->detail->queues_len = e->run->chip->dma_engines;
        e->run->detail->banks_len = PFC_MIN(e->run->chip->sram_banks, PFC_ACCEL_MAX_BANKS);
    }
    if (e->run->tracer)
        pfc_accel_trace_end(e->run->tracer, e->end, &e->run->counters);
}

static void set_next(engine *e, size_t which)
{
    const uint64_t at = ready_at(e, &e->units[which], &e->why[which]);

    e->next[which] = at == PFC_ACCEL_NEVER ? at : at * UNITS_MAX + which;
}

/* Two halves, or each comparison would wait for the one before. */
static uint64_t least_next(const engine *e)
{
    uint64_t even = e->next[0];
    uint64_t odd = e->next[1];

    for (size_t i = 2; i < e->units_len; i += 2) {
        even = PFC_MIN(even, e->next[i]);
        odd = PFC_MIN(odd, e->next[i + 1]);
    }
    return PFC_MIN(even, odd);
}

/* Only a completed token can tell a waiting unit when it starts. */
static void update_next(engine *e, size_t stepped)
{
    const unit *u = &e->units[stepped];

    if (u->active) { /* a transfer goes on: most steps are of this kind */
        e->next[stepped] = u->dma.next_issue * UNITS_MAX + stepped;
        return;
    }
    set_next(e, stepped);
    trace_wait(e, stepped);
    if (!e->new_complete)
        return;
    e->new_complete = false;
    for (size_t i = 0; i < e->units_len; i++)
        if (e->next[i] == PFC_ACCEL_NEVER)
            set_next(e, i);
}

static pfc_code check_all_done(const engine *e, pfc_err *err)
{
    for (size_t i = 0; i < e->units_len; i++)
        if (e->units[i].pos < e->units[i].len)
            return pfc_err_set(err, PFC_EBUG, "command %u waits for ever",
                               e->units[i].order[e->units[i].pos]);
    return PFC_OK;
}

pfc_code pfc_accel_execute(pfc_accel_run *run, pfc_err *err)
{
    engine *e = pfc_alloc(sizeof(*e));
    pfc_code code;

    e->run = run;
    start(e);
    for (size_t i = 0; i < e->units_len; i++)
        update_next(e, i);
    for (;;) {
        const uint64_t next = least_next(e);
        const size_t which = next % UNITS_MAX;

        if (next == PFC_ACCEL_NEVER)
            break;
        step(e, which, next / UNITS_MAX, e->why[which]);
        update_next(e, which);
    }
    code = check_all_done(e, err);
    if (!code)
        close_counters(e);
    stop(e);
    free(e);
    return code;
}
