/* The vector unit's time: passes over the elements, rows packed side by side into the lanes. */
#include "kernels/accel/device/parts.h"

/* Negation and scaling are part of the exponential's first pass. */
static uint64_t act_passes(const pfc_accel_chip *chip, uint8_t act)
{
    switch ((pfc_accel_act)act) {
    case PFC_ACCEL_ACT_NONE:
        return 0;
    case PFC_ACCEL_ACT_RELU:
        return 1;
    case PFC_ACCEL_ACT_GELU: /* square; times x; add; then as SiLU */
        return 3 + chip->vector_exp + 2;
    case PFC_ACCEL_ACT_SILU: /* exp; add one; divide */
        return chip->vector_exp + 2;
    }
    return 0;
}

/* Passes of an operation over each element of its tile, and the reductions that a row needs. */
static uint64_t passes_of(const pfc_accel_chip *chip, pfc_accel_op op, uint8_t act, uint64_t *trees)
{
    *trees = 0;
    switch (op) {
    case PFC_ACCEL_OP_SOFTMAX:  /* max; subtract, exp; sum; divide */
    case PFC_ACCEL_OP_ATT_STEP: /* scale, max; subtract, exp; sum */
        *trees = 2;
        return 3 + chip->vector_exp;
    case PFC_ACCEL_OP_LAYERNORM: /* sum; subtract, square; scale; gamma; beta */
        *trees = 2;
        return 6;
    case PFC_ACCEL_OP_RMSNORM: /* square; scale; gamma */
        *trees = 1;
        return 3;
    case PFC_ACCEL_OP_RES_NORM: /* add; then as above */
        *trees = 1;
        return 4;
    case PFC_ACCEL_OP_BIAS_ACT:
    case PFC_ACCEL_OP_BIAS_ROWS:
        return 1 + act_passes(chip, act);
    case PFC_ACCEL_OP_ATT_END:
    case PFC_ACCEL_OP_LOAD:
    case PFC_ACCEL_OP_STORE:
    case PFC_ACCEL_OP_STORE_ACC:
    case PFC_ACCEL_OP_MATMUL:
    case PFC_ACCEL_OP_MATVEC:
        break;
    }
    return 0;
}

uint64_t pfc_accel_vector_passes(const pfc_accel_chip *chip, pfc_accel_op op, uint8_t act)
{
    uint64_t trees;

    return passes_of(chip, op, act, &trees);
}

/* A multiply-add a lane: each lane keeps the sum of a column, one element of a times a row of b a
 * step, so that every sum is in ascending k. Products of a batch lie side by side in the lanes;
 * lanes past the last column are idle. */
static pfc_accel_cost matvec_cost(const pfc_accel_chip *chip, const pfc_accel_cmd *cmd, uint64_t es,
                                  uint64_t *v)
{
    const uint64_t steps = (uint64_t)cmd->m * cmd->k;
    const uint64_t cols = (uint64_t)PFC_MAX(cmd->batch, 1) * cmd->n;
    pfc_accel_cost cost = { .busy = steps * pfc_accel_ceil_div(cols, chip->vector_lanes) };

    cost.drain = cost.depth = cost.busy ? chip->vector_latency : 0;
    v[PFC_ACCEL_VECTOR_OPS] += steps * cols;
    v[PFC_ACCEL_VECTOR_MACS] += steps * cols;
    v[PFC_ACCEL_SRAM_READ] += (steps * PFC_MAX(cmd->batch, 1) + steps * cols) * es;
    v[PFC_ACCEL_ACC_READ] += cmd->accumulate ? cmd->m * cols * 4 : 0;
    v[PFC_ACCEL_ACC_WRITE] += cmd->m * cols * 4;
    return cost;
}

pfc_accel_cost pfc_accel_vector_cost(const pfc_accel_chip *chip, const pfc_accel_program *p,
                                     const pfc_accel_cmd *cmd, pfc_accel_counters *counters)
{
    const uint64_t es = pfc_accel_dtype_bytes(p->dtype);
    const uint64_t rows = cmd->m;
    const uint64_t row = rows * cmd->n; /* elements of the tile */
    const uint64_t out = rows * cmd->k; /* of an attention output tile */
    uint64_t *v = counters->v;
    uint64_t trees;
    const uint64_t passes = passes_of(chip, (pfc_accel_op)cmd->op, cmd->act, &trees);
    /* the output tile is rescaled by every step but the first, and divided at the end */
    const uint64_t out_passes =
        cmd->op == PFC_ACCEL_OP_ATT_END || (cmd->op == PFC_ACCEL_OP_ATT_STEP && !cmd->first);
    pfc_accel_cost cost = { 0 };

    if (cmd->op == PFC_ACCEL_OP_MATVEC)
        return matvec_cost(chip, cmd, es, v);
    if (passes)
        v[PFC_ACCEL_VECTOR_OPS] += row * passes;
    v[PFC_ACCEL_VECTOR_OPS] += out * out_passes;
    if (cmd->op == PFC_ACCEL_OP_ATT_STEP || cmd->op == PFC_ACCEL_OP_ATT_END) {
        v[PFC_ACCEL_ACC_READ] += (passes ? row * 4 : 0) + out * out_passes * 4;
        v[PFC_ACCEL_SRAM_WRITE] += (passes ? row : out) * es;
    } else if (cmd->op == PFC_ACCEL_OP_BIAS_ACT) {
        v[PFC_ACCEL_ACC_READ] += row * 4;
        v[PFC_ACCEL_SRAM_READ] += cmd->n * es;
        v[PFC_ACCEL_SRAM_WRITE] += row * es;
    } else {
        const uint64_t operands = cmd->op == PFC_ACCEL_OP_RES_NORM ? 2 : 1;

        v[PFC_ACCEL_SRAM_READ] += operands * row * es;
        v[PFC_ACCEL_SRAM_WRITE] += operands * row * es;
    }
    cost.trees = trees * chip->vector_reduce;
    cost.busy = passes * pfc_accel_ceil_div(row, chip->vector_lanes) +
                out_passes * pfc_accel_ceil_div(out, chip->vector_lanes);
    cost.drain = cost.depth = cost.busy + cost.trees ? chip->vector_latency : 0;
    return cost;
}
