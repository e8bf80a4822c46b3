/* The vector unit's time: passes over the elements, rows packed side by side into the lanes. */
#include "kernels/accel/device/parts.h"

pfc_accel_cost pfc_accel_vector_cost(const pfc_accel_chip *chip, const pfc_accel_program *p,
                                     const pfc_accel_cmd *cmd, pfc_accel_counters *counters)
{
    const uint64_t es = pfc_accel_dtype_bytes(p->dtype);
    const uint64_t rows = cmd->m;
    const uint64_t row = rows * cmd->n; /* elements of the tile */
    const uint64_t out = rows * cmd->k; /* of an attention output tile */
    uint64_t *v = counters->v;
    uint64_t passes = 0;
    uint64_t out_passes = 0;
    pfc_accel_cost cost = { 0 };
    uint64_t trees = 0;

    switch ((pfc_accel_op)cmd->op) {
    case PFC_ACCEL_OP_SOFTMAX: /* max; subtract, exp; sum; divide */
        passes = 3 + chip->vector_exp;
        trees = 2;
        break;
    case PFC_ACCEL_OP_LAYERNORM: /* sum; subtract, square; scale; gamma; beta */
        passes = 6;
        trees = 2;
        break;
    case PFC_ACCEL_OP_RMSNORM: /* square; scale; gamma */
        passes = 3;
        trees = 1;
        break;
    case PFC_ACCEL_OP_ATT_STEP: /* scale, max; subtract, exp; sum; output rescaled */
        passes = 3 + chip->vector_exp;
        out_passes = cmd->first ? 0 : 1;
        trees = 2;
        break;
    case PFC_ACCEL_OP_ATT_END:
        out_passes = 1;
        break;
    case PFC_ACCEL_OP_LOAD:
    case PFC_ACCEL_OP_STORE:
    case PFC_ACCEL_OP_STORE_ACC:
    case PFC_ACCEL_OP_MATMUL:
        break;
    }
    if (passes)
        v[PFC_ACCEL_VECTOR_OPS] += row * passes;
    v[PFC_ACCEL_VECTOR_OPS] += out * out_passes;
    if (cmd->op == PFC_ACCEL_OP_ATT_STEP || cmd->op == PFC_ACCEL_OP_ATT_END) {
        v[PFC_ACCEL_ACC_READ] += (passes ? row * 4 : 0) + out * out_passes * 4;
        v[PFC_ACCEL_SRAM_WRITE] += (passes ? row : out) * es;
    } else {
        v[PFC_ACCEL_SRAM_READ] += row * es;
        v[PFC_ACCEL_SRAM_WRITE] += row * es;
    }
    cost.trees = trees * chip->vector_reduce;
    cost.busy = passes * pfc_accel_ceil_div(row, chip->vector_lanes) +
                out_passes * pfc_accel_ceil_div(out, chip->vector_lanes);
    cost.drain = cost.busy + cost.trees ? chip->vector_latency : 0;
    return cost;
}
