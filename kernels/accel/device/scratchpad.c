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
    pfc_accel_access parts[PFC_ACCEL_MAX_ACCESSES];
    const size_t len = pfc_accel_cmd_accesses(p, cmd, parts);
    uint64_t banks = 0;

    for (size_t i = 0; i < len; i++)
        if (parts[i].space == PFC_ACCEL_SRAM)
            banks |= pfc_accel_sram_banks(chip, parts[i].at, parts[i].bytes);
    return banks;
}
