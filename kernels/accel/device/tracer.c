#include "kernels/accel/device/tracer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/device/parts.h"
#include "kernels/accel/device/commands/phases.h"

#define UNITS_MAX (PFC_ACCEL_TRACE_DMA + PFC_ACCEL_MAX_DMA)

/* A record that lies in the future; equal times keep their order. */
typedef struct later {
    uint64_t number;
    pfc_trace_record record;
} later;

/* Cycles in each state since the last sample. */
typedef struct sampled {
    uint64_t at; /* end of the last interval */
    uint64_t cycles[PFC_TRACE_STATES_LEN];
} sampled;

struct pfc_accel_tracer {
    pfc_trace_writer *writer;
    const pfc_accel_program *program;
    size_t dma_engines;
    uint64_t every;
    uint32_t correlation;
    later *heap; /* by (ticks, number), the first on top */
    size_t len, cap;
    uint64_t number;
    uint64_t now;        /* time of the newest event */
    uint32_t *signalled; /* by token: how many of its commands are done */
    uint32_t *signals;   /* by token: how many there are */
    pfc_accel_phases phases;
    sampled units[UNITS_MAX];
};

/* ---- order ---- */

static bool before(const later *a, const later *b)
{
    return a->record.ticks != b->record.ticks ? a->record.ticks < b->record.ticks
                                              : a->number < b->number;
}

static void push(pfc_accel_tracer *t, const pfc_trace_record *r)
{
    const later item = { t->number++, *r };
    size_t i;

    t->heap = pfc_grow(t->heap, t->len, &t->cap, sizeof(*t->heap));
    for (i = t->len++; i > 0 && before(&item, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = item;
}

static void pop(pfc_accel_tracer *t)
{
    const later last = t->heap[--t->len];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= t->len)
            break;
        if (child + 1 < t->len && before(&t->heap[child + 1], &t->heap[child]))
            child++;
        if (!before(&t->heap[child], &last))
            break;
        t->heap[i] = t->heap[child];
        i = child;
    }
    t->heap[i] = last;
}

/* Writes what lies before `now`: the engine's later events are at `now` or after it. */
static void flush(pfc_accel_tracer *t, uint64_t now)
{
    t->now = now;
    while (t->len && t->heap[0].record.ticks < now) {
        pfc_trace_record *r = &t->heap[0].record;

        /* A token's value counts its commands that are done; it is complete at their number. */
        if (r->type == PFC_TRACE_SEM_SIGNAL)
            r->b = ++t->signalled[r->a];
        pfc_trace_put(t->writer, r);
        pop(t);
    }
}

static void put(pfc_accel_tracer *t, uint64_t ticks, pfc_trace_type type, uint16_t unit, uint64_t a,
                uint64_t b)
{
    const pfc_trace_record r = {
        .ticks = ticks, .type = (uint16_t)type, .unit = unit, .corr = t->correlation, .a = a, .b = b
    };

    push(t, &r);
}

/* ---- file ---- */

/* Texts and values of the metadata: what the chip is, and its constants as "chip_KEY". */
#define FIXED_META    5
#define MAX_CONSTANTS 64

typedef struct meta_pairs {
    pfc_trace_meta pairs[FIXED_META + MAX_CONSTANTS + 1];
    size_t len;
    char keys[MAX_CONSTANTS][40], values[MAX_CONSTANTS][24];
    char piece[24];
    char digest[PFC_ACCEL_DIGEST_SIZE];
} meta_pairs;

static void add_pair(meta_pairs *m, const char *key, const char *value)
{
    m->pairs[m->len++] = (pfc_trace_meta){ key, value };
}

static void fill_meta(meta_pairs *m, const pfc_accel_tracer *t, const pfc_accel_chip *chip,
                      const char *kernel)
{
    uint64_t value;
    const char *key;

    pfc_accel_program_digest(t->program, m->digest);
    add_pair(m, "chip", chip->name);
    add_pair(m, "chip_hash", chip->hash);
    add_pair(m, "kernel", kernel);
    add_pair(m, "program_digest", m->digest);
    add_pair(m, "simulator", PFC_ACCEL_VERSION);
    for (size_t i = 0; (key = pfc_accel_chip_constant(chip, i, &value)) && i < MAX_CONSTANTS; i++) {
        snprintf(m->keys[i], sizeof(m->keys[i]), "chip_%s", key);
        snprintf(m->values[i], sizeof(m->values[i]), "%llu", (unsigned long long)value);
        add_pair(m, m->keys[i], m->values[i]);
    }
    /* A transfer moves pieces of this size; chip_dma_window counts pieces. */
    snprintf(m->piece, sizeof(m->piece), "%d", PFC_ACCEL_DMA_GROUP);
    add_pair(m, "dma_piece_bytes", m->piece);
}

/* The kernel, the lines of the schedule, the phases: in the order of define_names. */
static const char **names_of(const pfc_accel_tracer *t, const char *kernel, size_t *len)
{
    const char **names = pfc_calloc(1 + t->program->lines_len + t->phases.len, sizeof(*names));

    names[0] = kernel;
    *len = 1;
    for (size_t i = 0; i < t->program->lines_len; i++)
        names[(*len)++] = t->program->lines[i];
    for (size_t i = 0; i < t->phases.len; i++)
        names[(*len)++] = t->phases.names[i];
    return names;
}

static void define_names(pfc_accel_tracer *t)
{
    uint64_t name = 1;

    for (size_t i = 0; i < t->program->lines_len; i++)
        put(t, 0, PFC_TRACE_LINE, PFC_ACCEL_TRACE_QUEUE, i + 1, ++name);
    for (size_t i = 0; i < t->phases.len; i++)
        put(t, 0, PFC_TRACE_PHASE, PFC_ACCEL_TRACE_QUEUE, i + 1, ++name);
}

static pfc_code open_writer(pfc_accel_tracer *t, const pfc_accel_chip *chip,
                            const pfc_accel_trace_opts *opts, pfc_err *err)
{
    static const pfc_trace_unit fixed[] = {
        { "kernels", PFC_ACCEL_TRACE_QUEUE, PFC_TRACE_KIND_QUEUE, 0, 0, false },
        { "tensor", PFC_ACCEL_TRACE_TENSOR, PFC_TRACE_KIND_TENSOR, 0, 0, false },
        { "vector", PFC_ACCEL_TRACE_VECTOR, PFC_TRACE_KIND_VECTOR, 0, 0, false },
        { "counters", PFC_ACCEL_TRACE_COUNTERS, PFC_TRACE_KIND_COUNTERS, 0, 0, false },
    };
    const pfc_trace_clock clock = { "core", chip->clock_mhz * 1000000, 64 };
    meta_pairs meta = { 0 };
    pfc_trace_unit units[UNITS_MAX];
    pfc_trace_counter counters[PFC_ACCEL_COUNTERS_LEN];
    char names[PFC_ACCEL_MAX_DMA][32];
    size_t len = PFC_ARRAY_LEN(fixed);
    size_t names_len;
    const char **header_names = names_of(t, opts->kernel, &names_len);
    pfc_trace_header header;
    pfc_code code;

    fill_meta(&meta, t, chip, opts->kernel);
    memcpy(units, fixed, sizeof(fixed));
    for (size_t i = 0; i < chip->dma_engines; i++) {
        snprintf(names[i], sizeof(names[i]), "dma %zu", i);
        units[len++] = (pfc_trace_unit){ .name = names[i],
                                         .id = (uint16_t)(PFC_ACCEL_TRACE_DMA + i),
                                         .kind = PFC_TRACE_KIND_DMA,
                                         .overlaps = true };
    }
    for (pfc_accel_counter c = 0; c < PFC_ACCEL_COUNTERS_LEN; c++)
        counters[c] = (pfc_trace_counter){ pfc_accel_counter_name(c), pfc_accel_counter_unit(c) };
    header = (pfc_trace_header){ .clocks = &clock,
                                 .units = units,
                                 .counters = counters,
                                 .names = header_names,
                                 .meta = meta.pairs,
                                 .clocks_len = 1,
                                 .units_len = len,
                                 .counters_len = PFC_ACCEL_COUNTERS_LEN,
                                 .names_len = names_len,
                                 .meta_len = meta.len };
    code = opts->consumer ? pfc_trace_writer_open_consumer(&t->writer, opts->consumer, &header, err)
                          : pfc_trace_writer_open(&t->writer, opts->path, &header, err);
    free(header_names);
    return code;
}

pfc_code pfc_accel_tracer_open(pfc_accel_tracer **out, const pfc_accel_chip *chip,
                               const pfc_accel_program *program, const pfc_accel_trace_opts *opts,
                               pfc_err *err)
{
    pfc_accel_tracer *t = pfc_alloc(sizeof(*t));
    pfc_code code;

    t->program = program;
    t->dma_engines = chip->dma_engines;
    t->every = opts->every;
    t->correlation = opts->correlation;
    t->signalled = pfc_calloc((size_t)program->tokens_len + 1, sizeof(*t->signalled));
    t->signals = pfc_calloc((size_t)program->tokens_len + 1, sizeof(*t->signals));
    for (size_t i = 0; i < program->len; i++)
        t->signals[program->cmds[i].token]++;
    pfc_accel_phases_find(program, &t->phases);
    code = open_writer(t, chip, opts, err);
    if (code) {
        pfc_accel_tracer_drop(t);
        return code;
    }
    put(t, 0, PFC_TRACE_KERNEL_BEGIN, PFC_ACCEL_TRACE_QUEUE, 1, opts->correlation);
    define_names(t);
    *out = t;
    return PFC_OK;
}

static void release(pfc_accel_tracer *t)
{
    free(t->heap);
    free(t->signalled);
    free(t->signals);
    pfc_accel_phases_clear(&t->phases);
    free(t);
}

pfc_code pfc_accel_tracer_close(pfc_accel_tracer *t, pfc_err *err)
{
    pfc_code code;

    if (!t)
        return PFC_OK;
    flush(t, UINT64_MAX);
    code = pfc_trace_writer_close(t->writer, err);
    release(t);
    return code;
}

void pfc_accel_tracer_drop(pfc_accel_tracer *t)
{
    if (!t)
        return;
    pfc_trace_writer_drop(t->writer);
    release(t);
}

/* ---- events ---- */

/* Its value is known when it is written: the parts of a token may be done in any order. */
static void signal(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t done)
{
    put(t, done, PFC_TRACE_SEM_SIGNAL, unit, t->program->cmds[index].token, 0);
}

void pfc_accel_trace_wait(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t begin)
{
    const pfc_accel_cmd *cmd = &t->program->cmds[index];

    for (size_t w = 0; w < cmd->waits_len; w++)
        put(t, begin, PFC_TRACE_SEM_WAIT, unit, cmd->waits[w], t->signals[cmd->waits[w]]);
}

void pfc_accel_trace_command(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t begin,
                             uint64_t end, uint64_t done)
{
    const pfc_accel_cmd *cmd = &t->program->cmds[index];
    const uint64_t work = unit == PFC_ACCEL_TRACE_TENSOR ? (uint64_t)cmd->m * cmd->n * cmd->k
                                                         : (uint64_t)cmd->m * cmd->n;

    flush(t, begin);
    put(t, begin, PFC_TRACE_TILE_BEGIN, unit, index, 0);
    put(t, end, PFC_TRACE_TILE_END, unit, index, work);
    signal(t, unit, index, done);
}

void pfc_accel_trace_transfer(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t begin)
{
    const pfc_accel_cmd *cmd = &t->program->cmds[index];

    flush(t, begin);
    put(t, begin, PFC_TRACE_DMA_ISSUE, unit, index, pfc_accel_dma_bytes(cmd));
}

void pfc_accel_trace_arrived(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t done)
{
    const pfc_accel_cmd *cmd = &t->program->cmds[index];

    put(t, done, PFC_TRACE_DMA_DONE, unit, index, pfc_accel_dma_bytes(cmd));
    signal(t, unit, index, done);
}

void pfc_accel_trace_taken(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t begin)
{
    const pfc_accel_cmd *cmd = &t->program->cmds[index];

    flush(t, begin);
    put(t, begin, PFC_TRACE_COMMAND, unit, index,
        pfc_accel_phase_of(&t->phases, cmd) | (uint64_t)cmd->line << 32);
}

void pfc_accel_trace_detail(pfc_accel_tracer *t, pfc_trace_type type, uint16_t unit, size_t index,
                            uint64_t value, uint64_t at)
{
    if (value)
        put(t, at, type, unit, index, value);
}

/* ---- samples ---- */

static void sample(pfc_accel_tracer *t, uint16_t unit, uint64_t at)
{
    sampled *s = &t->units[unit];

    for (unsigned state = 0; state < PFC_TRACE_STATES_LEN; state++) {
        if (s->cycles[state])
            put(t, at, PFC_TRACE_STATE_SAMPLE, unit, state, s->cycles[state]);
        s->cycles[state] = 0;
    }
}

/* Adds an interval, cut at the samples. A time that has passed gets no sample, since the
 * unit may have later records; the next sample covers it. */
static void add_state(pfc_accel_tracer *t, uint16_t unit, unsigned state, uint64_t end)
{
    sampled *s = &t->units[unit];

    while (s->at < end) {
        const uint64_t next = (PFC_MAX(s->at, t->now) / t->every + 1) * t->every;
        const uint64_t until = PFC_MIN(next, end);

        s->cycles[state] += until - s->at;
        s->at = until;
        if (until == next)
            sample(t, unit, next);
    }
}

void pfc_accel_trace_state(pfc_accel_tracer *t, uint16_t unit, unsigned state, uint64_t begin,
                           uint64_t end)
{
    if (!t->every)
        return;
    add_state(t, unit, PFC_TRACE_STATE_IDLE, begin);
    add_state(t, unit, state, end);
}

void pfc_accel_trace_end(pfc_accel_tracer *t, uint64_t total, const pfc_accel_counters *counters)
{
    flush(t, total);
    for (uint16_t i = 0; t->every && i < 2 + t->dma_engines; i++) {
        const uint16_t unit = i == 0   ? PFC_ACCEL_TRACE_TENSOR
                              : i == 1 ? PFC_ACCEL_TRACE_VECTOR
                                       : (uint16_t)(PFC_ACCEL_TRACE_DMA + i - 2);

        add_state(t, unit, PFC_TRACE_STATE_IDLE, total);
        sample(t, unit, total);
    }
    for (pfc_accel_counter c = 0; c < PFC_ACCEL_COUNTERS_LEN; c++)
        put(t, total, PFC_TRACE_COUNTER_SAMPLE, PFC_ACCEL_TRACE_COUNTERS, c, counters->v[c]);
    put(t, total, PFC_TRACE_KERNEL_END, PFC_ACCEL_TRACE_QUEUE, 1, 0);
}
