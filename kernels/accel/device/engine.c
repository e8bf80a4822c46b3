/*
 * The engine: in-order queues (tensor, vector, each DMA engine), tokens between them, events in
 * order of (time, unit). A command's results are computed when it starts, so a missing wait in a
 * program shows as a wrong result and not only as a wrong time.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/device/parts.h"

#define TENSOR 0
#define VECTOR 1
#define DMA0   2

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
    bool active;          /* DMA: a transfer is under way */
    uint64_t banks;       /* DMA: that its last transfer uses, */
    uint64_t banks_until; /* and until when */
    pfc_accel_dma dma;
} unit;

typedef struct engine {
    pfc_accel_run *run;
    uint64_t *v; /* counters */
    unit *units;
    size_t units_len;
    uint32_t *order;
    token *tokens;
    pfc_accel_hbm hbm;
    pfc_accel_memory mem;
    bool real; /* computes */
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

static size_t scratch_floats(const pfc_accel_program *p)
{
    size_t most = 1;

    for (size_t i = 0; i < p->len; i++) {
        const pfc_accel_cmd *c = &p->cmds[i];
        const size_t m = c->m;
        const size_t n = c->n;
        const size_t k = c->k;
        size_t want = 3 * PFC_MAX(n, k);

        if (c->unit == PFC_ACCEL_UNIT_DMA)
            continue;
        if (c->unit == PFC_ACCEL_UNIT_TENSOR)
            want = m * k + k * n + PFC_MAX(m * n, k * n) + 1;
        most = PFC_MAX(most, want);
    }
    return most;
}

static void start(engine *e)
{
    const pfc_accel_program *p = e->run->program;

    e->v = e->run->counters.v;
    memset(&e->run->counters, 0, sizeof(e->run->counters));
    e->units_len = DMA0 + e->run->chip->dma_engines;
    e->units = pfc_calloc(e->units_len, sizeof(*e->units));
    e->order = pfc_calloc(p->len + 1, sizeof(*e->order));
    e->tokens = pfc_calloc((size_t)p->tokens_len + 1, sizeof(*e->tokens));
    pfc_accel_hbm_init(&e->hbm, e->run->chip, &e->run->counters);
    fill_queues(e);
    e->real = !e->run->timing_only;
    if (e->real) {
        e->mem.scratch_len = scratch_floats(p);
        e->mem.sram = pfc_alloc(p->sram_used + 1);
        e->mem.acc = pfc_alloc(p->acc_used + 1);
        e->mem.scratch = pfc_calloc(e->mem.scratch_len, sizeof(*e->mem.scratch));
    }
}

static void stop(engine *e)
{
    free(e->units);
    free(e->order);
    free(e->tokens);
    free(e->mem.sram);
    free(e->mem.acc);
    free(e->mem.scratch);
}

/* When the unit's next command may start, or NEVER as long as that is not known. */
static uint64_t ready_at(const engine *e, const unit *u, source *why)
{
    const pfc_accel_cmd *cmd;
    uint64_t at = u->free_at;

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

    t->pending--;
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
    const uint64_t banks = pfc_accel_cmd_banks(chip, e->run->program, cmd);
    uint64_t wait = 0;

    if (e->run->program->ideal_memory || e->run->ideal & PFC_ACCEL_IDEAL_BANKS)
        return 0;
    for (size_t i = DMA0; i < e->units_len; i++) {
        const unit *u = &e->units[i];
        const uint64_t shared = u->active || at < u->banks_until ? u->banks & banks : 0;
        uint64_t bytes;

        if (!shared)
            continue;
        bytes = pfc_accel_dma_bytes(u->dma.cmd) * (uint64_t)__builtin_popcountll(shared) /
                (uint64_t)__builtin_popcountll(u->banks);
        wait += pfc_accel_ceil_div(bytes, chip->sram_port_bytes);
        e->v[PFC_ACCEL_SRAM_CONFLICT]++;
    }
    return PFC_MIN(wait, most);
}

static void step_tensor(engine *e, unit *u, uint64_t at, source why)
{
    static const pfc_accel_counter stalls[] = {
        [FROM_LOAD] = PFC_ACCEL_TENSOR_STALL_DMA,
        [FROM_STORE] = PFC_ACCEL_TENSOR_STALL_DRAIN,
        [FROM_TENSOR] = PFC_ACCEL_TENSOR_STALL_DRAIN,
        [FROM_VECTOR] = PFC_ACCEL_TENSOR_STALL_VECTOR,
    };
    const pfc_accel_cmd *cmd = &e->run->program->cmds[u->order[u->pos++]];
    pfc_accel_cost cost =
        pfc_accel_tensor_cost(e->run->chip, e->run->program, cmd, &e->run->counters);
    const bool empty = at > u->free_at || u->pos == 1;
    uint64_t wait;

    if (e->run->ideal & PFC_ACCEL_IDEAL_TENSOR)
        cost = (pfc_accel_cost){ 0 };
    if (e->run->ideal & PFC_ACCEL_IDEAL_LATENCY)
        cost.preload = cost.drain = 0;
    if (!empty) /* weights came in while the command before was streaming */
        cost.preload = 0;
    wait = bank_wait(e, cmd, at, cost.issue);
    e->v[stalls[why]] += at - u->free_at;
    e->v[PFC_ACCEL_TENSOR_PRELOAD] += cost.preload;
    e->v[PFC_ACCEL_TENSOR_BUSY] += cost.issue;
    e->v[PFC_ACCEL_TENSOR_STALL_BANK] += wait;
    u->free_at = at + cost.preload + cost.issue + wait;
    if (e->real)
        pfc_accel_exec(e->run, &e->mem, cmd);
    signal_done(e, cmd, u->free_at + cost.drain);
}

static void step_vector(engine *e, unit *u, uint64_t at, source why)
{
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
    if (e->run->ideal & PFC_ACCEL_IDEAL_LATENCY) {
        cost.issue -= cost.trees;
        cost.drain = 0;
    }
    wait = bank_wait(e, cmd, at, cost.issue);
    e->v[stalls[why]] += at - u->free_at;
    e->v[PFC_ACCEL_VECTOR_BUSY] += cost.issue;
    e->v[PFC_ACCEL_VECTOR_STALL_BANK] += wait;
    u->free_at = at + cost.issue + wait;
    if (e->real)
        pfc_accel_exec(e->run, &e->mem, cmd);
    signal_done(e, cmd, u->free_at + cost.drain);
}

static void finish_transfer(engine *e, unit *u)
{
    const uint64_t latency =
        e->run->ideal & PFC_ACCEL_IDEAL_LATENCY ? 0 : e->run->chip->hbm_latency;

    u->free_at = u->dma.next_issue;
    u->active = false;
    u->banks_until = u->dma.done;
    signal_done(e, u->dma.cmd, PFC_MAX(u->dma.done, u->free_at) + latency);
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
    const uint64_t setup = e->run->ideal & PFC_ACCEL_IDEAL_LATENCY ? 0 : chip->dma_setup;
    const uint64_t bytes = pfc_accel_dma_bytes(cmd);

    e->v[stalls[why]] += at - u->free_at;
    e->v[PFC_ACCEL_DMA_TRANSFERS]++;
    if (cmd->op == PFC_ACCEL_OP_LOAD)
        e->v[PFC_ACCEL_SRAM_WRITE] += bytes;
    else if (cmd->op == PFC_ACCEL_OP_STORE)
        e->v[PFC_ACCEL_SRAM_READ] += bytes;
    else
        e->v[PFC_ACCEL_ACC_READ] += (uint64_t)cmd->m * cmd->n * 4;
    if (e->real)
        pfc_accel_exec(e->run, &e->mem, cmd);
    if (e->run->program->ideal_memory) {
        pfc_accel_dma_count(cmd, base, chip, &e->run->counters);
        u->free_at = at;
        signal_done(e, cmd, at);
        return;
    }
    e->v[PFC_ACCEL_DMA_BUSY] += setup;
    u->active = true;
    u->banks = pfc_accel_cmd_banks(chip, e->run->program, cmd);
    pfc_accel_dma_start(&u->dma, cmd, base, at + setup);
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
    else if (pfc_accel_dma_step(&u->dma, &e->hbm, e->run->ideal))
        finish_transfer(e, u);
}

/* Idle is what neither work nor a wait explains; HBM time is that of its channels, averaged. */
static void close_counters(engine *e)
{
    uint64_t *v = e->v;
    const pfc_accel_chip *chip = e->run->chip;
    const uint64_t total = e->end;
    uint64_t all = total * chip->dma_engines;

    v[PFC_ACCEL_CYCLES] = total;
    v[PFC_ACCEL_COMMANDS] = e->run->program->len;
    v[PFC_ACCEL_TENSOR_IDLE] =
        total - (v[PFC_ACCEL_TENSOR_BUSY] + v[PFC_ACCEL_TENSOR_PRELOAD] +
                 v[PFC_ACCEL_TENSOR_STALL_DMA] + v[PFC_ACCEL_TENSOR_STALL_VECTOR] +
                 v[PFC_ACCEL_TENSOR_STALL_DRAIN] + v[PFC_ACCEL_TENSOR_STALL_BANK]);
    v[PFC_ACCEL_VECTOR_IDLE] =
        total - (v[PFC_ACCEL_VECTOR_BUSY] + v[PFC_ACCEL_VECTOR_STALL_DMA] +
                 v[PFC_ACCEL_VECTOR_STALL_TENSOR] + v[PFC_ACCEL_VECTOR_STALL_CHAIN] +
                 v[PFC_ACCEL_VECTOR_STALL_BANK]);
    all -= v[PFC_ACCEL_DMA_BUSY] + v[PFC_ACCEL_DMA_STALL_HBM] + v[PFC_ACCEL_DMA_STALL_TENSOR] +
           v[PFC_ACCEL_DMA_STALL_VECTOR] + v[PFC_ACCEL_DMA_STALL_DMA];
    v[PFC_ACCEL_DMA_IDLE] = all;
    if (!e->run->program->ideal_memory)
        v[PFC_ACCEL_HBM_BUSY] = pfc_accel_ceil_div(
            (v[PFC_ACCEL_HBM_READ] + v[PFC_ACCEL_HBM_WRITE]) * chip->clock_mhz, chip->hbm_mbps);
}

pfc_code pfc_accel_execute(pfc_accel_run *run, pfc_err *err)
{
    engine *e = pfc_alloc(sizeof(*e));
    pfc_code code = PFC_OK;

    e->run = run;
    start(e);
    for (;;) {
        uint64_t best = PFC_ACCEL_NEVER;
        size_t which = 0;
        source why = FROM_LOAD;

        for (size_t i = 0; i < e->units_len; i++) {
            const unit *u = &e->units[i];
            source reason = FROM_LOAD;
            const uint64_t at = u->active ? u->dma.next_issue : ready_at(e, u, &reason);

            if (at < best) {
                best = at;
                which = i;
                why = reason;
            }
        }
        if (best == PFC_ACCEL_NEVER)
            break;
        step(e, which, best, why);
    }
    for (size_t i = 0; i < e->units_len && !code; i++)
        if (e->units[i].pos < e->units[i].len)
            code = pfc_err_set(err, PFC_EBUG, "command %u waits for ever",
                               e->units[i].order[e->units[i].pos]);
    if (!code)
        close_counters(e);
    stop(e);
    free(e);
    return code;
}

pfc_code pfc_accel_limiter(const pfc_accel_run *run, const char **out, pfc_err *err)
{
    static const struct {
        const char *name;
        unsigned ideal;
    } resources[] = {
        { "compute", PFC_ACCEL_IDEAL_TENSOR },  { "memory", PFC_ACCEL_IDEAL_HBM },
        { "vector", PFC_ACCEL_IDEAL_VECTOR },   { "dma", PFC_ACCEL_IDEAL_DMA },
        { "latency", PFC_ACCEL_IDEAL_LATENCY }, { "scratchpad", PFC_ACCEL_IDEAL_BANKS },
    };
    const char *name = "none";
    uint64_t base = 0;
    uint64_t most = 0;

    for (size_t i = 0; i <= PFC_ARRAY_LEN(resources); i++) {
        pfc_accel_run again = *run;
        uint64_t cycles;
        pfc_code code;

        again.timing_only = true;
        again.ideal = i ? resources[i - 1].ideal : 0;
        code = pfc_accel_execute(&again, err);
        if (code)
            return code;
        cycles = again.counters.v[PFC_ACCEL_CYCLES];
        if (i == 0)
            base = cycles;
        else if (cycles < base && base - cycles > most) {
            most = base - cycles;
            name = resources[i - 1].name;
        }
    }
    *out = name;
    return PFC_OK;
}
