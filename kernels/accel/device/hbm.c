/*
 * HBM: channels with banks, open rows, refresh and turnaround. Most of a simulation's time is
 * spent here. Neighbouring blocks lie in neighbouring channels, in the same bank and row, so a
 * stretch of them is served eight channels at a time by vectors; integers only, so that every way
 * of building it gives the same cycles.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/device/parts.h"

/* Durations for whole bursts are computed once; chips with more bursts a block compute each. */
#define TABLE_LEN 65

static uint64_t burst_subcycles(const pfc_accel_chip *chip, uint64_t moved)
{
    return pfc_accel_ceil_div(moved * PFC_ACCEL_SUBCYCLES * chip->clock_mhz * chip->hbm_channels,
                              chip->hbm_mbps);
}

/* The loop over channels for machines with wider vectors, chosen when the program starts. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__)
#define WIDE_TOO __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define WIDE_TOO
#endif

/* Eight channels; compilers split it where the machine's vectors are shorter. */
#define LANES 8
typedef uint64_t lanes __attribute__((vector_size(LANES * sizeof(uint64_t))));

void pfc_accel_hbm_init(pfc_accel_hbm *hbm, const pfc_accel_chip *chip)
{
    const size_t n = pfc_accel_ceil_div(chip->hbm_channels, LANES) * LANES;
    uint64_t **arrays[] = { &hbm->free_at,   &hbm->next_refresh,  &hbm->wrote,
                            &hbm->queue,     &hbm->busy,          &hbm->accesses,
                            &hbm->row_hits,  &hbm->row_conflicts, &hbm->turnarounds,
                            &hbm->refreshes, &hbm->bursts[0],     &hbm->bursts[1] };

    memset(hbm, 0, sizeof(*hbm));
    hbm->chip = chip;
    hbm->block_shift = (unsigned)__builtin_ctzll(chip->hbm_interleave);
    hbm->burst_shift = (unsigned)__builtin_ctzll(chip->hbm_burst);
    hbm->row_shift = (unsigned)__builtin_ctzll(chip->hbm_row_bytes);
    hbm->stride = n;
    hbm->memory = pfc_calloc((PFC_ARRAY_LEN(arrays) + chip->hbm_banks) * n, sizeof(*hbm->memory));
    for (size_t i = 0; i < PFC_ARRAY_LEN(arrays); i++)
        *arrays[i] = hbm->memory + i * n;
    hbm->open_row = hbm->memory + PFC_ARRAY_LEN(arrays) * n;
    memset(hbm->open_row, 0xff, chip->hbm_banks * n * sizeof(*hbm->open_row));
    for (size_t i = 0; i < n; i++)
        hbm->next_refresh[i] = chip->hbm_refresh_every * PFC_ACCEL_SUBCYCLES;
    hbm->took_len = PFC_MIN((chip->hbm_interleave >> hbm->burst_shift) + 1, TABLE_LEN);
    hbm->took = pfc_calloc(hbm->took_len, sizeof(*hbm->took));
    for (size_t i = 0; i < hbm->took_len; i++)
        hbm->took[i] = burst_subcycles(chip, (uint64_t)i << hbm->burst_shift);
}

void pfc_accel_hbm_free(pfc_accel_hbm *hbm)
{
    free(hbm->memory);
    free(hbm->took);
}

/* A refresh that fell into idle time costs nothing but what is left of it: the channel is taken
 * until its end. */
static void refresh(pfc_accel_hbm *hbm, size_t channel, uint64_t start)
{
    const pfc_accel_chip *chip = hbm->chip;
    const uint64_t every = chip->hbm_refresh_every * PFC_ACCEL_SUBCYCLES;
    const uint64_t missed = (start - hbm->next_refresh[channel]) / every;
    const uint64_t end =
        hbm->next_refresh[channel] + missed * every + chip->hbm_refresh * PFC_ACCEL_SUBCYCLES;

    hbm->next_refresh[channel] += (missed + 1) * every;
    hbm->refreshes[channel] += missed + 1;
    for (size_t b = 0; b < chip->hbm_banks; b++)
        hbm->open_row[b * hbm->stride + channel] = UINT64_MAX;
    hbm->free_at[channel] = PFC_MAX(hbm->free_at[channel], end);
}

/* Vectors do not pass through function calls: how they would depends on the machine built for. */
#define GET(to, from)    memcpy(&(to), (from), sizeof(to))
#define PUT(to, from)    memcpy((to), &(from), sizeof(from))
#define ALL(x)           ((lanes){ 0 } + (x))
/* The other half, and quarter, of each lane: two steps leave two lanes to look at. */
#define HALF(v)          __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3)
#define QUARTER(v)       __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5)
/* Lanes of a where the mask is set, else those of b. */
#define PICK(mask, a, b) (((a) & (mask)) | ((b) & ~(mask)))

/* Blocks of `bursts` bursts, one in each of n channels, all in the same row. Returns the subcycle
 * in which the last one is served. */
WIDE_TOO static uint64_t serve(pfc_accel_hbm *hbm, size_t channel, size_t n, uint64_t row,
                               uint64_t bursts, bool write, uint64_t at)
{
    static const lanes order = { 0, 1, 2, 3, 4, 5, 6, 7 };
    const pfc_accel_chip *chip = hbm->chip;
    const uint64_t took = bursts < hbm->took_len
                              ? hbm->took[bursts]
                              : burst_subcycles(chip, bursts << hbm->burst_shift);
    const lanes miss = ALL(chip->hbm_row_miss * PFC_ACCEL_SUBCYCLES);
    const lanes turn = ALL(chip->hbm_turnaround * PFC_ACCEL_SUBCYCLES);
    const lanes direction = ALL((uint64_t)write);
    const lanes now = ALL(at);
    const lanes this_row = ALL(row);
    uint64_t *const rows = hbm->open_row + (row % chip->hbm_banks) * hbm->stride;
    lanes latest = now;

    /* Vectors begin at multiples of their length: the next call loads what this one stored whole,
     * or the processor would wait for the store. */
    for (size_t c = channel / LANES * LANES; c < channel + n; c += LANES) {
        const lanes place = ALL((uint64_t)c) + order;
        const lanes on = (lanes)(place >= ALL((uint64_t)channel)) &
                         (lanes)(place < ALL((uint64_t)(channel + n)));
        lanes free_at, open, wrote, sum, due, met;
        lanes start, missed, turned, all, end;

        GET(free_at, hbm->free_at + c);
        GET(due, hbm->next_refresh + c);
        start = PICK((lanes)(free_at > now), free_at, now);
        due = (lanes)(start >= due) & on;
        met = due | HALF(due);
        met |= QUARTER(met);
        if (met[0] | met[1]) {
            for (size_t i = 0; i < LANES; i++)
                if (due[i])
                    refresh(hbm, c + i, start[i]);
            GET(free_at, hbm->free_at + c);
            start = PICK((lanes)(free_at > now), free_at, now);
        }
        GET(open, rows + c);
        GET(wrote, hbm->wrote + c);
        missed = (lanes)(open != this_row);
        turned = (lanes)(wrote != direction);
        all = ALL(took) + (miss & missed) + (turn & turned);
        end = start + all;
        latest = PICK((lanes)(end > latest) & on, end, latest);
        free_at = PICK(on, end, free_at);
        PUT(hbm->free_at + c, free_at);
        wrote = PICK(on, direction, wrote);
        PUT(hbm->wrote + c, wrote);
        GET(sum, hbm->queue + c);
        sum += (start - now) & on;
        PUT(hbm->queue + c, sum);
        GET(sum, hbm->busy + c);
        sum += all & on;
        PUT(hbm->busy + c, sum);
        GET(sum, hbm->accesses + c);
        sum -= on;
        PUT(hbm->accesses + c, sum);
        GET(sum, hbm->row_hits + c);
        sum -= on & ~missed;
        PUT(hbm->row_hits + c, sum);
        GET(sum, hbm->row_conflicts + c);
        sum -= on & missed & (lanes)(open != ~(lanes){ 0 });
        PUT(hbm->row_conflicts + c, sum);
        GET(sum, hbm->turnarounds + c);
        sum -= on & turned;
        PUT(hbm->turnarounds + c, sum);
        GET(sum, hbm->bursts[write] + c);
        sum += ALL(bursts) & on;
        PUT(hbm->bursts[write] + c, sum);
        open = PICK(on, this_row, open);
        PUT(rows + c, open);
    }
    latest = PICK((lanes)(latest > HALF(latest)), latest, HALF(latest));
    latest = PICK((lanes)(latest > QUARTER(latest)), latest, QUARTER(latest));
    return PFC_MAX(latest[0], latest[1]);
}

/* Serves what lies in one group of blocks, one block a channel: first and last may be partial. */
static uint64_t serve_group(pfc_accel_hbm *hbm, uint64_t addr, uint64_t bytes, bool write,
                            uint64_t at)
{
    const uint64_t channels = hbm->chip->hbm_channels;
    const uint64_t mask = hbm->chip->hbm_interleave - 1;
    const uint64_t per_block = hbm->chip->hbm_interleave >> hbm->burst_shift;
    const uint64_t block = addr >> hbm->block_shift;
    /* Rotated from group to group, or the rows of a matrix whose width is a power of two would all
     * begin in one channel. */
    const uint64_t group = block / channels;
    uint64_t channel = (block + group + group / channels) % channels;
    const uint64_t local = group << hbm->block_shift;
    uint64_t done = at;

    while (bytes) {
        const uint64_t from = addr & mask;
        uint64_t len = PFC_MIN(bytes, mask + 1 - from);
        uint64_t n = 1;
        uint64_t bursts = ((from + len - 1) >> hbm->burst_shift) - (from >> hbm->burst_shift) + 1;
        uint64_t row = (local + from) >> hbm->row_shift;
        uint64_t end;

        if (from == 0 && bytes > mask) { /* whole blocks up to the last channel */
            n = PFC_MIN(bytes >> hbm->block_shift, channels - channel);
            len = n << hbm->block_shift;
            bursts = per_block;
        }
        end = serve(hbm, channel, n, row, bursts, write, at);
        done = PFC_MAX(done, end);
        addr += len;
        bytes -= len;
        channel = channel + n == channels ? 0 : channel + n;
    }
    return done;
}

uint64_t pfc_accel_hbm_access(pfc_accel_hbm *hbm, uint64_t addr, uint64_t bytes, bool write,
                              uint64_t at)
{
    const uint64_t group_bytes = hbm->chip->hbm_interleave * hbm->chip->hbm_channels;
    uint64_t done = at * PFC_ACCEL_SUBCYCLES;

    while (bytes) {
        const uint64_t len = PFC_MIN(bytes, group_bytes - addr % group_bytes);
        const uint64_t end = serve_group(hbm, addr, len, write, at * PFC_ACCEL_SUBCYCLES);

        done = PFC_MAX(done, end);
        addr += len;
        bytes -= len;
    }
    return pfc_accel_ceil_div(done, PFC_ACCEL_SUBCYCLES);
}

void pfc_accel_hbm_channel_sums(const pfc_accel_hbm *hbm, size_t channel, uint64_t *busy,
                                uint64_t *queue)
{
    *busy = hbm->busy[channel];
    *queue = hbm->queue[channel];
}

void pfc_accel_hbm_close(const pfc_accel_hbm *hbm, pfc_accel_counters *counters,
                         pfc_accel_detail *detail)
{
    const pfc_accel_chip *chip = hbm->chip;
    uint64_t *v = counters->v;
    uint64_t busy = 0;
    uint64_t queue = 0;

    for (size_t i = 0; i < chip->hbm_channels; i++) {
        const pfc_accel_channel_detail d = {
            .read_bytes = hbm->bursts[0][i] << hbm->burst_shift,
            .write_bytes = hbm->bursts[1][i] << hbm->burst_shift,
            .busy_cycles = hbm->busy[i] / PFC_ACCEL_SUBCYCLES,
            .queue_cycles = hbm->queue[i] / PFC_ACCEL_SUBCYCLES,
            .accesses = hbm->accesses[i],
            .row_hits = hbm->row_hits[i],
            .row_conflicts = hbm->row_conflicts[i],
            .turnarounds = hbm->turnarounds[i],
            .refreshes = hbm->refreshes[i],
        };

        v[PFC_ACCEL_HBM_READ] += d.read_bytes;
        v[PFC_ACCEL_HBM_WRITE] += d.write_bytes;
        v[PFC_ACCEL_HBM_ACCESSES] += d.accesses;
        v[PFC_ACCEL_HBM_ROW_HIT] += d.row_hits;
        v[PFC_ACCEL_HBM_ROW_MISS] += d.accesses - d.row_hits;
        v[PFC_ACCEL_HBM_ROW_CONFLICT] += d.row_conflicts;
        v[PFC_ACCEL_HBM_TURNAROUND] += d.turnarounds;
        v[PFC_ACCEL_HBM_REFRESH] += d.refreshes;
        busy += hbm->busy[i];
        queue += hbm->queue[i];
        if (detail)
            detail->channels[i] = d;
    }
    if (detail)
        detail->channels_len = chip->hbm_channels;
    v[PFC_ACCEL_HBM_BUSY] = busy / (PFC_ACCEL_SUBCYCLES * chip->hbm_channels);
    v[PFC_ACCEL_HBM_QUEUE] = queue / PFC_ACCEL_SUBCYCLES;
    v[PFC_ACCEL_HBM_LATENCY] = (busy + queue) / PFC_ACCEL_SUBCYCLES;
    v[PFC_ACCEL_HBM_SERVICE] = v[PFC_ACCEL_HBM_LATENCY] - v[PFC_ACCEL_HBM_QUEUE];
}
