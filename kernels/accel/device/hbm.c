/* HBM: channels with banks, open rows, refresh and turnaround. */
#include <string.h>

#include "kernels/accel/device/parts.h"

void pfc_accel_hbm_init(pfc_accel_hbm *hbm, const pfc_accel_chip *chip,
                        pfc_accel_counters *counters)
{
    memset(hbm, 0, sizeof(*hbm));
    hbm->chip = chip;
    hbm->counters = counters;
    for (size_t i = 0; i < PFC_ACCEL_MAX_CHANNELS; i++)
        hbm->next_refresh[i] = chip->hbm_refresh_every;
    memset(hbm->open_row, 0xff, sizeof(hbm->open_row));
}

/* A refresh that fell into idle time costs nothing but what is left of it. */
static uint64_t after_refresh(pfc_accel_hbm *hbm, uint64_t channel, uint64_t start)
{
    const pfc_accel_chip *chip = hbm->chip;
    const uint64_t cycle = start / PFC_ACCEL_SUBCYCLES;
    uint64_t missed;
    uint64_t end;

    if (cycle < hbm->next_refresh[channel])
        return start;
    missed = (cycle - hbm->next_refresh[channel]) / chip->hbm_refresh_every;
    end = hbm->next_refresh[channel] + missed * chip->hbm_refresh_every + chip->hbm_refresh;
    hbm->next_refresh[channel] += (missed + 1) * chip->hbm_refresh_every;
    hbm->counters->v[PFC_ACCEL_HBM_REFRESH] += missed + 1;
    memset(hbm->open_row[channel], 0xff, sizeof(hbm->open_row[channel]));
    return PFC_MAX(start, end * PFC_ACCEL_SUBCYCLES);
}

uint64_t pfc_accel_hbm_access(pfc_accel_hbm *hbm, uint64_t addr, uint64_t bytes, bool write,
                              uint64_t at)
{
    const pfc_accel_chip *chip = hbm->chip;
    uint64_t *v = hbm->counters->v;
    const uint64_t first = addr & ~(chip->hbm_burst - 1);
    const uint64_t moved = ((addr + bytes + chip->hbm_burst - 1) & ~(chip->hbm_burst - 1)) - first;
    const uint64_t block = addr / chip->hbm_interleave;
    /* Rotated from group to group, or the rows of a matrix whose width is a power of two would all
     * begin in one channel. */
    const uint64_t group = block / chip->hbm_channels;
    const uint64_t channel = (block + group + group / chip->hbm_channels) % chip->hbm_channels;
    const uint64_t local = group * chip->hbm_interleave + first % chip->hbm_interleave;
    const uint64_t row = local / chip->hbm_row_bytes;
    uint64_t *open = &hbm->open_row[channel][row % chip->hbm_banks];
    uint64_t start = PFC_MAX(at * PFC_ACCEL_SUBCYCLES, hbm->free_at[channel]);
    uint64_t took = pfc_accel_ceil_div(
        moved * PFC_ACCEL_SUBCYCLES * chip->clock_mhz * chip->hbm_channels, chip->hbm_mbps);

    start = after_refresh(hbm, channel, start);
    if (*open == row) {
        v[PFC_ACCEL_HBM_ROW_HIT]++;
    } else {
        v[PFC_ACCEL_HBM_ROW_MISS]++;
        *open = row;
        took += chip->hbm_row_miss * PFC_ACCEL_SUBCYCLES;
    }
    if (hbm->wrote[channel] != write) {
        hbm->wrote[channel] = write;
        took += chip->hbm_turnaround * PFC_ACCEL_SUBCYCLES;
    }
    hbm->free_at[channel] = start + took;
    v[write ? PFC_ACCEL_HBM_WRITE : PFC_ACCEL_HBM_READ] += moved;
    return pfc_accel_ceil_div(start + took, PFC_ACCEL_SUBCYCLES);
}
