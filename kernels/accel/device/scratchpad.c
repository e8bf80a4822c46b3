/* Scratchpad: single-ported banks that are contiguous ranges of addresses. */
#include "kernels/accel/device/parts.h"

uint64_t pfc_accel_sram_banks(const pfc_accel_chip *chip, uint64_t addr, uint64_t bytes)
{
    const uint64_t per_bank = pfc_accel_ceil_div(chip->sram_bytes, chip->sram_banks);
    uint64_t mask = 0;

    if (bytes == 0)
        return 0;
    for (uint64_t b = addr / per_bank; b <= (addr + bytes - 1) / per_bank && b < 64; b++)
        mask |= 1ull << b;
    return mask;
}

uint64_t pfc_accel_cmd_banks(const pfc_accel_chip *chip, const pfc_accel_program *p,
                             const pfc_accel_cmd *cmd)
{
    const uint64_t es = pfc_accel_dtype_bytes(p->dtype);
    const uint64_t m = cmd->m;
    const uint64_t n = cmd->n;
    const uint64_t k = cmd->k;

    switch ((pfc_accel_op)cmd->op) {
    case PFC_ACCEL_OP_LOAD:
    case PFC_ACCEL_OP_STORE:
        return pfc_accel_sram_banks(chip, cmd->a, pfc_accel_dma_bytes(cmd));
    case PFC_ACCEL_OP_STORE_ACC:
        return 0;
    case PFC_ACCEL_OP_MATMUL:
        return pfc_accel_sram_banks(chip, cmd->a, m * k * es) |
               pfc_accel_sram_banks(chip, cmd->b, k * n * es);
    case PFC_ACCEL_OP_LAYERNORM:
        return pfc_accel_sram_banks(chip, cmd->a, m * n * es) |
               pfc_accel_sram_banks(chip, cmd->b, 2 * n * es);
    case PFC_ACCEL_OP_RMSNORM:
        return pfc_accel_sram_banks(chip, cmd->a, m * n * es) |
               pfc_accel_sram_banks(chip, cmd->b, n * es);
    case PFC_ACCEL_OP_SOFTMAX:
    case PFC_ACCEL_OP_ATT_STEP:
        return pfc_accel_sram_banks(chip, cmd->a, m * n * es);
    case PFC_ACCEL_OP_ATT_END:
        return pfc_accel_sram_banks(chip, cmd->a, m * k * es);
    }
    return 0;
}
