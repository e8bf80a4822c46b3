#include "kernels/accel/device/tracer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/device/parts.h"
#include "kernels/accel/device/tracing/header.h"
#include "kernels/accel/device/tracing/later.h"

/* Cycles in each state since the last sample. */
typedef struct sampled {
    uint64_t at; /* end of the last interval */
    uint64_t cycles[PFC_TRACE_STATES_LEN];
} sampled;

struct pfc_accel_tracer {
    pfc_trace_writer *writer;
    pfc_accel_trace_file *file; /* of a driver; NULL: the writer is the tracer's own */
    uint64_t base;              /* tick at which the kernel begins; other times count from it */
    const pfc_accel_program *program;
    size_t dma_engines;
    uint64_t every;
    uint32_t correlation;
    pfc_accel_later later; /* by ticks from the kernel's begin */
    uint64_t now;          /* time of the newest event */
    uint64_t *signalled;   /* by token: value so far; each command of it that is done adds 1 */
    uint64_t *complete;    /* by token: value when all of its commands are done */
    uint64_t first_semaphore;
    pfc_accel_phases phases;
    bool named; /* the header has the names of its lines and phases */
    sampled units[PFC_ACCEL_TRACE_UNITS_MAX];
};

/* ---- order ---- */

static void write(pfc_accel_tracer *t, const pfc_trace_record *record)
{
    pfc_trace_record r = *record;

    /* A token's value counts its commands that are done; it is complete at their number. */
    if (r.type == PFC_TRACE_SEM_SIGNAL)
        r.b = ++t->signalled[r.a - t->first_semaphore];
    r.ticks += t->base;
    pfc_trace_put(t->writer, &r);
}

/* Writes what lies before `now`: the engine's later events are at `now` or after it. */
static void flush(pfc_accel_tracer *t, uint64_t now)
{
    pfc_trace_record r;

    t->now = now;
    while (pfc_accel_later_take(&t->later, now, &r))
        write(t, &r);
}

/* Most records are of the newest event's time: they need not wait, once those before them have been
 * written. */
static void put(pfc_accel_tracer *t, uint64_t ticks, pfc_trace_type type, uint16_t unit, uint64_t a,
                uint64_t b)
{
    const pfc_trace_record r = {
        .ticks = ticks, .type = (uint16_t)type, .unit = unit, .corr = t->correlation, .a = a, .b = b
    };
    pfc_trace_record due;

    if (ticks > t->now) {
        pfc_accel_later_add(&t->later, ticks, &r);
        return;
    }
    while (pfc_accel_later_take(&t->later, t->now + 1, &due))
        write(t, &due);
    write(t, &r);
}

/* ---- file ---- */

static void define_names(pfc_accel_tracer *t)
{
    uint64_t name = 1;

    for (size_t i = 0; i < t->program->lines_len; i++)
        put(t, 0, PFC_TRACE_LINE, PFC_ACCEL_TRACE_QUEUE, i + 1, ++name);
    for (size_t i = 0; i < t->phases.len; i++)
        put(t, 0, PFC_TRACE_PHASE, PFC_ACCEL_TRACE_QUEUE, i + 1, ++name);
}

/* The values of semaphores that the kernel begins with, and those that it ends with. */
static void start_values(pfc_accel_tracer *t)
{
    const size_t len = (size_t)t->program->tokens_len + 1;

    t->signalled = pfc_calloc(len, sizeof(*t->signalled));
    t->complete = pfc_calloc(len, sizeof(*t->complete));
    if (t->file && t->file->values)
        memcpy(t->signalled, t->file->values,
               PFC_MIN(len, t->file->values_len) * sizeof(*t->signalled));
    memcpy(t->complete, t->signalled, len * sizeof(*t->complete));
    for (size_t i = 0; i < t->program->len; i++)
        t->complete[t->program->cmds[i].token]++;
}

static pfc_accel_tracer *tracer_new(const pfc_accel_chip *chip, const pfc_accel_program *program,
                                    pfc_accel_trace_file *file, uint64_t every,
                                    uint32_t correlation)
{
    pfc_accel_tracer *t = pfc_alloc(sizeof(*t));

    t->program = program;
    t->file = file;
    t->named = !file || file->program == program;
    t->dma_engines = chip->dma_engines;
    t->every = every;
    t->correlation = correlation;
    pfc_accel_phases_find(program, &t->phases);
    start_values(t);
    return t;
}

pfc_code pfc_accel_tracer_open(pfc_accel_tracer **out, const pfc_accel_chip *chip,
                               const pfc_accel_program *program, const pfc_accel_trace_opts *opts,
                               pfc_err *err)
{
    pfc_accel_tracer *t = tracer_new(chip, program, NULL, opts->every, opts->correlation);
    pfc_code code =
        pfc_accel_trace_header_open(&t->writer, chip, program, &t->phases, opts, NULL, err);

    if (code) {
        pfc_accel_tracer_drop(t);
        return code;
    }
    put(t, 0, PFC_TRACE_KERNEL_BEGIN, PFC_ACCEL_TRACE_QUEUE, 1, opts->correlation);
    define_names(t);
    *out = t;
    return PFC_OK;
}

/* ---- a file of a driver ---- */

pfc_code pfc_accel_trace_file_open(pfc_accel_trace_file *file, const pfc_accel_chip *chip,
                                   const pfc_accel_trace_opts *opts,
                                   const pfc_accel_trace_units *more, pfc_err *err)
{
    pfc_accel_phases phases = { 0 };
    pfc_code code;

    if (file->program)
        pfc_accel_phases_find(file->program, &phases);
    file->every = opts->every;
    file->names = 1 + phases.len + (file->program ? file->program->lines_len : 0);
    code =
        pfc_accel_trace_header_open(&file->writer, chip, file->program, &phases, opts, more, err);
    pfc_accel_phases_clear(&phases);
    return code;
}

pfc_accel_tracer *pfc_accel_tracer_join(pfc_accel_trace_file *file, const pfc_accel_chip *chip,
                                        const pfc_accel_program *program, uint32_t correlation,
                                        uint64_t begin)
{
    pfc_accel_tracer *t = tracer_new(chip, program, file, file->every, correlation);

    t->writer = file->writer;
    t->base = begin;
    t->first_semaphore = file->first_semaphore;
    put(t, 0, PFC_TRACE_KERNEL_BEGIN, PFC_ACCEL_TRACE_QUEUE, 1, correlation);
    if (t->named && !file->named)
        define_names(t);
    file->named = file->named || t->named;
    return t;
}

static void release(pfc_accel_tracer *t)
{
    pfc_accel_later_clear(&t->later);
    free(t->signalled);
    free(t->complete);
    pfc_accel_phases_clear(&t->phases);
    free(t);
}

/* Later kernels of the file count on from these values. */
static void keep_values(pfc_accel_tracer *t)
{
    pfc_accel_trace_file *file = t->file;
    const size_t len = (size_t)t->program->tokens_len + 1;

    if (file->values_len < len) {
        file->values = pfc_realloc(file->values, len, sizeof(*file->values));
        file->values_len = len;
    }
    memcpy(file->values, t->signalled, len * sizeof(*file->values));
}

pfc_code pfc_accel_tracer_close(pfc_accel_tracer *t, pfc_err *err)
{
    pfc_code code;

    if (!t)
        return PFC_OK;
    flush(t, UINT64_MAX);
    if (t->file) {
        keep_values(t);
        code = PFC_OK;
    } else {
        code = pfc_trace_writer_close(t->writer, err);
    }
    release(t);
    return code;
}

void pfc_accel_tracer_drop(pfc_accel_tracer *t)
{
    if (!t)
        return;
    if (!t->file)
        pfc_trace_writer_drop(t->writer);
    release(t);
}

/* ---- events ---- */

/* Its value is known when it is written: the parts of a token may be done in any order. */
static void signal(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t done)
{
    put(t, done, PFC_TRACE_SEM_SIGNAL, unit, t->first_semaphore + t->program->cmds[index].token, 0);
}

void pfc_accel_trace_wait(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t begin)
{
    const pfc_accel_cmd *cmd = &t->program->cmds[index];

    for (size_t w = 0; w < cmd->waits_len; w++)
        put(t, begin, PFC_TRACE_SEM_WAIT, unit, t->first_semaphore + cmd->waits[w],
            t->complete[cmd->waits[w]]);
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
        t->named ? pfc_accel_phase_of(&t->phases, cmd) | (uint64_t)cmd->line << 32 : 0);
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
    if (t->file) { /* of all kernels so far */
        pfc_accel_counters_add(&t->file->counters, counters);
        counters = &t->file->counters;
    }
    for (pfc_accel_counter c = 0; c < PFC_ACCEL_COUNTERS_LEN; c++)
        put(t, total, PFC_TRACE_COUNTER_SAMPLE, PFC_ACCEL_TRACE_COUNTERS, c, counters->v[c]);
    put(t, total, PFC_TRACE_KERNEL_END, PFC_ACCEL_TRACE_QUEUE, 1, 0);
}
