/* The parts of the memories that a command uses: one table for checks, conflicts, dependences. */
#include <stddef.h>

#include "kernels/accel/device/parts.h"

static const char *const names[] = {
    [PFC_ACCEL_OP_LOAD] = "load",           [PFC_ACCEL_OP_STORE] = "store",
    [PFC_ACCEL_OP_STORE_ACC] = "store_acc", [PFC_ACCEL_OP_MATMUL] = "matmul",
    [PFC_ACCEL_OP_SOFTMAX] = "softmax",     [PFC_ACCEL_OP_LAYERNORM] = "layernorm",
    [PFC_ACCEL_OP_RMSNORM] = "rmsnorm",     [PFC_ACCEL_OP_ATT_STEP] = "att_step",
    [PFC_ACCEL_OP_ATT_END] = "att_end",     [PFC_ACCEL_OP_MATVEC] = "matvec",
    [PFC_ACCEL_OP_BIAS_ACT] = "bias_act",   [PFC_ACCEL_OP_RES_NORM] = "res_norm",
    [PFC_ACCEL_OP_BIAS_ROWS] = "bias_rows",
};

const char *pfc_accel_op_name(uint8_t op)
{
    return op < PFC_ARRAY_LEN(names) ? names[op] : "?";
}

#define READS  1u
#define WRITES 2u
#define BOTH   3u

typedef struct list {
    pfc_accel_access *out;
    size_t len;
} list;

static void add(list *l, const pfc_accel_cmd *cmd, size_t field, unsigned how, uint64_t bytes)
{
    const bool acc =
        field == offsetof(pfc_accel_cmd, acc) || field == offsetof(pfc_accel_cmd, acc2);

    l->out[l->len++] = (pfc_accel_access){
        .space = acc ? PFC_ACCEL_ACC : PFC_ACCEL_SRAM,
        .reads = how & READS,
        .writes = how & WRITES,
        .at = *(const uint64_t *)(const void *)((const char *)cmd + field),
        .bytes = bytes,
        .field = field,
    };
}

#define ADD(name, how, bytes) add(&l, cmd, offsetof(pfc_accel_cmd, name), how, bytes)

size_t pfc_accel_cmd_accesses(const pfc_accel_program *p, const pfc_accel_cmd *cmd,
                              pfc_accel_access out[PFC_ACCEL_MAX_ACCESSES])
{
    const uint64_t es = pfc_accel_dtype_bytes(p->dtype);
    const uint64_t m = cmd->m;
    const uint64_t n = cmd->n;
    const uint64_t k = cmd->k;
    const uint64_t batch = PFC_MAX(cmd->batch, 1);
    list l = { out, 0 };

    switch ((pfc_accel_op)cmd->op) {
    case PFC_ACCEL_OP_LOAD:
        ADD(a, WRITES, pfc_accel_dma_bytes(cmd));
        break;
    case PFC_ACCEL_OP_STORE:
        ADD(a, READS, pfc_accel_dma_bytes(cmd));
        break;
    case PFC_ACCEL_OP_STORE_ACC:
        ADD(acc, READS, m * n * 4);
        break;
    case PFC_ACCEL_OP_MATMUL:
    case PFC_ACCEL_OP_MATVEC:
        ADD(a, READS, batch * m * k * es);
        ADD(b, READS, batch * k * n * es);
        ADD(acc, cmd->accumulate ? BOTH : WRITES, batch * m * n * 4);
        break;
    case PFC_ACCEL_OP_SOFTMAX:
        ADD(a, BOTH, m * n * es);
        break;
    case PFC_ACCEL_OP_LAYERNORM:
        ADD(a, BOTH, m * n * es);
        ADD(b, READS, 2 * n * es);
        break;
    case PFC_ACCEL_OP_RMSNORM:
    case PFC_ACCEL_OP_BIAS_ROWS:
        ADD(a, BOTH, m * n * es);
        ADD(b, READS, n * es);
        break;
    case PFC_ACCEL_OP_RES_NORM:
        ADD(a, BOTH, m * n * es);
        ADD(b, READS, n * es);
        ADD(c, BOTH, m * n * es);
        break;
    case PFC_ACCEL_OP_BIAS_ACT:
        ADD(a, WRITES, m * n * es);
        ADD(b, READS, n * es);
        ADD(acc, READS, m * n * 4);
        break;
    case PFC_ACCEL_OP_ATT_STEP:
        ADD(a, WRITES, m * n * es);
        ADD(b, cmd->first ? WRITES : BOTH, m * 8);
        ADD(acc, READS, m * n * 4);
        if (!cmd->first)
            ADD(acc2, BOTH, m * k * 4);
        break;
    case PFC_ACCEL_OP_ATT_END:
        ADD(a, WRITES, m * k * es);
        ADD(b, READS, m * 8);
        ADD(acc2, READS, m * k * 4);
        break;
    }
    return l.len;
}

uint64_t pfc_accel_cmd_cycles(const pfc_accel_chip *chip, const pfc_accel_program *p,
                              const pfc_accel_cmd *cmd, uint64_t *drain)
{
    const pfc_accel_run run = { .chip = chip, .program = p };
    pfc_accel_counters unused = { 0 };
    const pfc_accel_cost cost = cmd->unit == PFC_ACCEL_UNIT_TENSOR
                                    ? pfc_accel_tensor_cost(&run, cmd, &unused)
                                    : pfc_accel_vector_cost(chip, p, cmd, &unused);

    *drain = cost.drain;
    return cost.busy + cost.weights + cost.fill + cost.trees;
}
