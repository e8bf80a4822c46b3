/* The header of a trace: see header.h. */
#include "kernels/accel/device/tracing/header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/device/parts.h"

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

static void fill_meta(meta_pairs *m, const pfc_accel_program *program, const pfc_accel_chip *chip,
                      const pfc_accel_trace_opts *opts)
{
    uint64_t value;
    const char *key;

    add_pair(m, "chip", chip->name);
    add_pair(m, "chip_hash", chip->hash);
    add_pair(m, "kernel", opts->kernel);
    if (program && opts->digest) {
        add_pair(m, "program_digest", opts->digest);
    } else if (program) {
        pfc_accel_program_digest(program, m->digest);
        add_pair(m, "program_digest", m->digest);
    }
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

/* The kernel, the lines of the schedule and the phases, in the order in which the tracer numbers
 * them, then the further names. */
static const char **names_of(const pfc_accel_program *program, const pfc_accel_phases *phases,
                             const char *kernel, const pfc_accel_trace_units *more, size_t *len)
{
    const size_t lines = program ? program->lines_len : 0;
    const size_t phases_len = phases ? phases->len : 0;
    const char **names = pfc_calloc(1 + lines + phases_len + more->names_len, sizeof(*names));

    names[0] = kernel;
    *len = 1;
    for (size_t i = 0; i < lines; i++)
        names[(*len)++] = program->lines[i];
    for (size_t i = 0; i < phases_len; i++)
        names[(*len)++] = phases->names[i];
    for (size_t i = 0; i < more->names_len; i++)
        names[(*len)++] = more->names[i];
    return names;
}

/* The chip's units, then the further ones; `names` holds the names of the engines. */
static pfc_trace_unit *units_of(const pfc_accel_chip *chip, const pfc_accel_trace_units *more,
                                char names[PFC_ACCEL_MAX_DMA][32], size_t *len)
{
    static const pfc_trace_unit fixed[] = {
        { "kernels", PFC_ACCEL_TRACE_QUEUE, PFC_TRACE_KIND_QUEUE, 0, 0, false },
        { "tensor", PFC_ACCEL_TRACE_TENSOR, PFC_TRACE_KIND_TENSOR, 0, 0, false },
        { "vector", PFC_ACCEL_TRACE_VECTOR, PFC_TRACE_KIND_VECTOR, 0, 0, false },
        { "counters", PFC_ACCEL_TRACE_COUNTERS, PFC_TRACE_KIND_COUNTERS, 0, 0, false },
    };
    pfc_trace_unit *units = pfc_calloc(PFC_ACCEL_TRACE_UNITS_MAX + more->units_len, sizeof(*units));

    memcpy(units, fixed, sizeof(fixed));
    *len = PFC_ARRAY_LEN(fixed);
    for (size_t i = 0; i < chip->dma_engines; i++) {
        snprintf(names[i], sizeof(names[i]), "dma %zu", i);
        units[(*len)++] = (pfc_trace_unit){ .name = names[i],
                                            .id = (uint16_t)(PFC_ACCEL_TRACE_DMA + i),
                                            .kind = PFC_TRACE_KIND_DMA,
                                            .overlaps = true };
    }
    for (size_t i = 0; i < more->units_len; i++)
        units[(*len)++] = more->units[i];
    return units;
}

static pfc_trace_clock *clocks_of(const pfc_accel_chip *chip, const pfc_accel_trace_units *more,
                                  size_t *len)
{
    pfc_trace_clock *clocks = pfc_calloc(1 + more->clocks_len, sizeof(*clocks));

    clocks[0] = (pfc_trace_clock){ "core", chip->clock_mhz * 1000000, 64 };
    *len = 1;
    for (size_t i = 0; i < more->clocks_len; i++)
        clocks[(*len)++] = more->clocks[i];
    return clocks;
}

pfc_code pfc_accel_trace_header_open(pfc_trace_writer **out, const pfc_accel_chip *chip,
                                     const pfc_accel_program *program,
                                     const pfc_accel_phases *phases,
                                     const pfc_accel_trace_opts *opts,
                                     const pfc_accel_trace_units *more, pfc_err *err)
{
    static const pfc_accel_trace_units none = { 0 };
    const pfc_accel_trace_units *m = more ? more : &none;
    char dma_names[PFC_ACCEL_MAX_DMA][32];
    pfc_trace_counter counters[PFC_ACCEL_COUNTERS_LEN];
    meta_pairs meta = { 0 };
    pfc_trace_header header = { .counters = counters, .counters_len = PFC_ACCEL_COUNTERS_LEN };
    pfc_trace_clock *clocks = clocks_of(chip, m, &header.clocks_len);
    pfc_trace_unit *units = units_of(chip, m, dma_names, &header.units_len);
    const char **names = names_of(program, phases, opts->kernel, m, &header.names_len);
    pfc_code code;

    fill_meta(&meta, program, chip, opts);
    for (pfc_accel_counter c = 0; c < PFC_ACCEL_COUNTERS_LEN; c++)
        counters[c] = (pfc_trace_counter){ pfc_accel_counter_name(c), pfc_accel_counter_unit(c) };
    header.clocks = clocks;
    header.units = units;
    header.names = names;
    header.meta = meta.pairs;
    header.meta_len = meta.len;
    code = opts->consumer ? pfc_trace_writer_open_consumer(out, opts->consumer, &header, err)
                          : pfc_trace_writer_open(out, opts->path, &header, err);
    free(clocks);
    free(units);
    free(names);
    return code;
}
