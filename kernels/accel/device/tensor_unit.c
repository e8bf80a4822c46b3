/* The systolic array's time: closed forms of the modes, and what a MATMUL counts. */
#include "kernels/accel/device/parts.h"

static uint64_t fold_count(pfc_accel_mode mode, uint64_t r, uint64_t c, uint64_t m, uint64_t n,
                           uint64_t k)
{
    if (m == 0 || n == 0 || k == 0)
        return 0;
    if (mode == PFC_ACCEL_SCALESIM_OS)
        return pfc_accel_ceil_div(m, r) * pfc_accel_ceil_div(n, c);
    if (mode == PFC_ACCEL_SCALESIM_IS)
        return pfc_accel_ceil_div(k, r) * pfc_accel_ceil_div(m, c);
    return pfc_accel_ceil_div(k, r) * pfc_accel_ceil_div(n, c);
}

/* Length of the operand that streams through the array in a fold. */
static uint64_t stream_len(pfc_accel_mode mode, uint64_t m, uint64_t n, uint64_t k)
{
    if (mode == PFC_ACCEL_SCALESIM_OS)
        return k;
    return mode == PFC_ACCEL_SCALESIM_IS ? n : m;
}

uint64_t pfc_accel_load_cycles(const pfc_accel_chip *chip)
{
    return pfc_accel_ceil_div(chip->array_rows, chip->array_load_rows);
}

/* SCALE-Sim prints one cycle less than the parts of its folds sum to. */
static void take_one(pfc_accel_cost *cost)
{
    if (cost->fill)
        cost->fill--;
    else if (cost->weights)
        cost->weights--;
    else
        cost->busy--;
}

/*
 * The parts of `count` folds on an array of r rows and c columns; `stream` counts passes: an f32
 * row of pipelined-ws streams f32_passes times. `load` is the cycles that the weights of a fold
 * take, 0 where they are free.
 */
static pfc_accel_cost mode_cost(pfc_accel_mode mode, uint64_t r, uint64_t c, uint64_t count,
                                uint64_t stream, uint64_t load)
{
    pfc_accel_cost cost = { 0 };
    uint64_t every;

    if (count == 0)
        return cost;
    cost.busy = count * stream;
    cost.folds = count;
    switch (mode) {
    case PFC_ACCEL_SCALESIM_OS:
        cost.fill = count * (r + c - 2);
        if (cost.busy + cost.fill)
            take_one(&cost);
        return cost;
    case PFC_ACCEL_SCALESIM_WS:
    case PFC_ACCEL_SCALESIM_IS:
        cost.weights = load ? count * r : 0; /* SCALE-Sim loads a row a cycle */
        cost.fill = count * (r + c - 2);
        if (cost.busy + cost.weights + cost.fill)
            take_one(&cost);
        return cost;
    case PFC_ACCEL_ONNXIM_WS:
        every = PFC_MAX(PFC_MAX(stream, load ? r : 0), 4);
        cost.preload = load ? 2 * r - 1 : 0;
        cost.weights = count * (every - stream);
        cost.hidden = load ? count * PFC_MIN(stream, r) : 0;
        cost.depth = r + c - 2;
        cost.drain = r + c - 2 + PFC_MAX(stream, 4) - every;
        return cost;
    case PFC_ACCEL_PIPELINED_WS:
        break;
    }
    /* One fold costs what SCALE-Sim's does, with its count from zero: preload is R - 1. */
    every = PFC_MAX(stream, load);
    cost.preload = load ? load - 1 : 0;
    cost.weights = count * (every - stream);
    cost.hidden = count * PFC_MIN(stream, load);
    cost.depth = r + c - 2;
    cost.drain = stream + r + c - 2 > every ? stream + r + c - 2 - every : 0;
    return cost;
}

uint64_t pfc_accel_tensor_cycles(pfc_accel_mode mode, uint64_t rows, uint64_t cols, uint64_t m,
                                 uint64_t n, uint64_t k)
{
    const pfc_accel_cost cost = mode_cost(mode, rows, cols, fold_count(mode, rows, cols, m, n, k),
                                          stream_len(mode, m, n, k), rows);

    return cost.preload + cost.busy + cost.weights + cost.fill + cost.drain;
}

/* SRAM traffic in words, as each dataflow reuses its operands. */
static void count_words(const pfc_accel_chip *chip, pfc_accel_mode mode, const pfc_accel_cmd *cmd,
                        uint64_t *v)
{
    const uint64_t m = cmd->m;
    const uint64_t n = cmd->n;
    const uint64_t k = cmd->k;
    const uint64_t r = chip->array_rows;
    const uint64_t c = chip->array_cols;
    uint64_t ifmap = pfc_accel_ceil_div(n, c) * m * k;
    uint64_t filter = k * n;
    uint64_t ofmap = pfc_accel_ceil_div(k, r) * m * n;

    if (mode == PFC_ACCEL_SCALESIM_OS) {
        filter = pfc_accel_ceil_div(m, r) * k * n;
        ofmap = m * n;
    } else if (mode == PFC_ACCEL_SCALESIM_IS) {
        ifmap = m * k;
        filter = pfc_accel_ceil_div(m, c) * k * n;
    }
    v[PFC_ACCEL_READS_IFMAP] += ifmap;
    v[PFC_ACCEL_READS_FILTER] += filter;
    v[PFC_ACCEL_WRITES_OFMAP] += ofmap;
}

pfc_accel_cost pfc_accel_tensor_cost(const pfc_accel_run *run, const pfc_accel_cmd *cmd,
                                     pfc_accel_counters *counters)
{
    const pfc_accel_chip *chip = run->chip;
    const pfc_accel_program *p = run->program;
    const uint64_t es = pfc_accel_dtype_bytes(p->dtype);
    const uint64_t r = chip->array_rows;
    const uint64_t c = chip->array_cols;
    const uint64_t count = fold_count(p->mode, r, c, cmd->m, cmd->n, cmd->k);
    uint64_t stream = stream_len(p->mode, cmd->m, cmd->n, cmd->k);
    uint64_t before[3];
    uint64_t *v = counters->v;
    pfc_accel_cost cost;

    before[0] = v[PFC_ACCEL_READS_IFMAP];
    before[1] = v[PFC_ACCEL_READS_FILTER];
    before[2] = v[PFC_ACCEL_WRITES_OFMAP];
    v[PFC_ACCEL_FOLDS] += count;
    v[PFC_ACCEL_MACS] += (uint64_t)cmd->m * cmd->n * cmd->k;
    v[PFC_ACCEL_MAC_SLOTS] += count * r * c * stream;
    count_words(chip, p->mode, cmd, v);
    v[PFC_ACCEL_SRAM_READ] +=
        (v[PFC_ACCEL_READS_IFMAP] - before[0] + v[PFC_ACCEL_READS_FILTER] - before[1]) * es;
    v[PFC_ACCEL_ACC_WRITE] += (v[PFC_ACCEL_WRITES_OFMAP] - before[2]) * 4;
    if (p->mode == PFC_ACCEL_PIPELINED_WS && p->dtype == PFC_ACCEL_F32)
        stream *= chip->f32_passes;
    if (run->ideal & PFC_ACCEL_IDEAL_TENSOR)
        stream = 0;
    cost = mode_cost(p->mode, r, c, count, stream,
                     run->ideal & PFC_ACCEL_IDEAL_WEIGHTS ? 0 : pfc_accel_load_cycles(chip));
    if (run->ideal & PFC_ACCEL_IDEAL_LATENCY)
        cost.fill = cost.drain = cost.depth = 0;
    return cost;
}
