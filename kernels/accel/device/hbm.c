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
#define LANES      8
/* Below so many blocks they are served one by one: a vector would be mostly empty. */
#define FEW_BLOCKS 9ull
typedef uint64_t lanes __attribute__((vector_size(LANES * sizeof(uint64_t))));

/* Division by a number of channels or banks, which may be no power of two: the high half of a
 * product with 2^63 / d rounded up, so that d = 1 fits, too. Exact for x < 2^56, since the rounding
 * adds less than x * d / 2^63 < 1 / d to the quotient for d <= 128. */
__extension__ typedef unsigned __int128 wide;

static uint64_t reciprocal(uint64_t d)
{
    return pfc_accel_ceil_div(1ull << 63, d);
}

static inline uint64_t divided(uint64_t x, uint64_t by)
{
    return (uint64_t)((wide)(2 * x) * by >> 64);
}

/* The memory of the model consists of slices. A slice holds these numbers of LANES channels: first
 * the first number of each channel, then the second number of each. All numbers of a channel thus
 * have constant distances from its first one. */
enum {
    FREE_AT,      /* subcycles */
    NEXT_REFRESH, /* subcycles */
    WROTE,        /* direction of the last transfer: 0 or 1 */
    QUEUE,        /* subcycles before accesses start */
    EVENTS,       /* accesses, hits and turnarounds that are not yet in the next four slots */
    READS,
    WRITES,
    ROW_HITS,
    TURNAROUNDS,
    REFRESHES,
    OPENED,      /* rows that were opened in a bank without one and closed by a refresh */
    BURSTS_READ, /* that accesses had beyond a whole block's, modulo 2^64: blocks may be partial */
    BURSTS_WRITTEN,
    TOOK,    /* subcycles of bursts beyond those of a whole block, modulo 2^64 */
    OPEN_ROW /* of the first bank, then of the others; UINT64_MAX: none */
};

void pfc_accel_hbm_init(pfc_accel_hbm *hbm, const pfc_accel_chip *chip)
{
    const size_t slices = pfc_accel_ceil_div(chip->hbm_channels, LANES);

    memset(hbm, 0, sizeof(*hbm));
    hbm->chip = chip;
    hbm->block_shift = (unsigned)__builtin_ctzll(chip->hbm_interleave);
    hbm->burst_shift = (unsigned)__builtin_ctzll(chip->hbm_burst);
    hbm->row_shift = (unsigned)__builtin_ctzll(chip->hbm_row_bytes);
    hbm->by_channels = reciprocal(chip->hbm_channels);
    hbm->by_banks = reciprocal(chip->hbm_banks);
    if ((chip->hbm_channels & (chip->hbm_channels - 1)) == 0) {
        hbm->channels_mask = chip->hbm_channels - 1;
        hbm->channels_shift = (unsigned)__builtin_ctzll(chip->hbm_channels);
    }
    if ((chip->hbm_banks & (chip->hbm_banks - 1)) == 0)
        hbm->bank_mask = chip->hbm_banks - 1;
    hbm->miss = chip->hbm_row_miss * PFC_ACCEL_SUBCYCLES;
    hbm->turn = chip->hbm_turnaround * PFC_ACCEL_SUBCYCLES;
    hbm->slice = (OPEN_ROW + chip->hbm_banks) * LANES;
    hbm->memory = pfc_calloc(slices * hbm->slice, sizeof(*hbm->memory));
    for (size_t c = 0; c < slices * LANES; c++) {
        uint64_t *slots = hbm->memory + c / LANES * hbm->slice + c % LANES;

        slots[NEXT_REFRESH * LANES] = chip->hbm_refresh_every * PFC_ACCEL_SUBCYCLES;
        for (size_t b = 0; b < chip->hbm_banks; b++)
            slots[(OPEN_ROW + b) * LANES] = UINT64_MAX;
    }
    hbm->slots = pfc_calloc(2 * chip->hbm_channels, sizeof(*hbm->slots));
    for (size_t c = 0; c < 2 * chip->hbm_channels; c++) {
        const size_t channel = c % chip->hbm_channels;

        hbm->slots[c] = hbm->memory + channel / LANES * hbm->slice + channel % LANES;
    }
    hbm->took_len = PFC_MIN((chip->hbm_interleave >> hbm->burst_shift) + 1, TABLE_LEN);
    hbm->took = pfc_calloc(hbm->took_len, sizeof(*hbm->took));
    for (size_t i = 0; i < hbm->took_len; i++)
        hbm->took[i] = burst_subcycles(chip, (uint64_t)i << hbm->burst_shift);
    hbm->block_bursts = chip->hbm_interleave >> hbm->burst_shift;
    hbm->block_took = burst_subcycles(chip, chip->hbm_interleave);
}

void pfc_accel_hbm_free(pfc_accel_hbm *hbm)
{
    free(hbm->memory);
    free(hbm->slots);
    free(hbm->took);
}

static uint64_t open_rows(const pfc_accel_hbm *hbm, const uint64_t *slots)
{
    uint64_t len = 0;

    for (size_t b = 0; b < hbm->chip->hbm_banks; b++)
        len += slots[(OPEN_ROW + b) * LANES] != UINT64_MAX;
    return len;
}

/* A refresh that fell into idle time costs nothing but what is left of it: the channel is taken
 * until its end. */
static void refresh(const pfc_accel_hbm *hbm, uint64_t *slots, uint64_t start)
{
    const pfc_accel_chip *chip = hbm->chip;
    const uint64_t every = chip->hbm_refresh_every * PFC_ACCEL_SUBCYCLES;
    const uint64_t next = slots[NEXT_REFRESH * LANES];
    const uint64_t missed = (start - next) / every;
    const uint64_t end = next + missed * every + chip->hbm_refresh * PFC_ACCEL_SUBCYCLES;
    uint64_t opened = 0;

    slots[NEXT_REFRESH * LANES] = next + (missed + 1) * every;
    slots[REFRESHES * LANES] += missed + 1;
    for (size_t b = 0; b < chip->hbm_banks; b++) {
        opened += slots[(OPEN_ROW + b) * LANES] != UINT64_MAX;
        slots[(OPEN_ROW + b) * LANES] = UINT64_MAX;
    }
    slots[OPENED * LANES] += opened;
    slots[FREE_AT * LANES] = PFC_MAX(slots[FREE_AT * LANES], end);
}

/* Vectors do not pass through function calls: how they would depends on the machine built for. */
#define GET(to, from)    memcpy(&(to), (from), sizeof(to))
#define PUT(to, from)    memcpy((to), &(from), sizeof(from))
#define ALL(x)           ((lanes){ 0 } + (uint64_t)(x))
/* The other half, and quarter, of each lane: two steps leave two lanes to look at. */
#define HALF(v)          __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3)
#define QUARTER(v)       __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5)
/* Lanes of a where the mask is set, else those of b. */
#define PICK(mask, a, b) (((a) & (mask)) | ((b) & ~(mask)))

/*
 * An access adds to one number of its channel, which holds four sums of 16 bits; they are moved to
 * sums of 64 bits before any of them overflows. A loop that adds to many arrays would be bound by
 * its stores. The other counters follow from these four: all accesses but the hits are misses; the
 * misses that found an open row are conflicts; the time in which accesses are served is that of
 * their bursts, of their misses and of their turnarounds.
 */
#define EVENT(i)    (1ull << (16 * (i)))
#define READ        EVENT(0)
#define WRITE       EVENT(1)
#define HIT         EVENT(2)
#define TURN        EVENT(3)
#define SPILL_AFTER 65535 /* accesses of all channels together */

static void spill_events(pfc_accel_hbm *hbm)
{
    for (size_t i = 0; i < hbm->chip->hbm_channels; i++) {
        uint64_t *slots = hbm->slots[i];
        const uint64_t e = slots[EVENTS * LANES];

        slots[READS * LANES] += e & 0xffff;
        slots[WRITES * LANES] += e >> 16 & 0xffff;
        slots[ROW_HITS * LANES] += e >> 32 & 0xffff;
        slots[TURNAROUNDS * LANES] += e >> 48;
        slots[EVENTS * LANES] = 0;
    }
    hbm->unspilled = 0;
}

static inline uint64_t took_of(const pfc_accel_hbm *hbm, uint64_t bursts)
{
    return bursts < hbm->took_len ? hbm->took[bursts]
                                  : burst_subcycles(hbm->chip, bursts << hbm->burst_shift);
}

/* Blocks of the same row of their channels, one in each of n neighbouring ones. */
typedef struct blocks {
    size_t n;
    uint64_t row;
    uint64_t bank; /* of the row: its slot */
    uint64_t took; /* subcycles of the bursts of one block */
    uint64_t write;
    uint64_t at; /* subcycle from which they wait */
} blocks;

/* One block in the channel with those slots. Returns the subcycle in which it is served. */
static inline uint64_t serve_one(const pfc_accel_hbm *hbm, uint64_t *slots, const blocks *b)
{
    uint64_t *const open = slots + b->bank * LANES;
    uint64_t start = PFC_MAX(slots[FREE_AT * LANES], b->at);
    uint64_t all, hit;

    if (__builtin_expect(start >= slots[NEXT_REFRESH * LANES], 0)) {
        refresh(hbm, slots, start);
        start = PFC_MAX(slots[FREE_AT * LANES], b->at);
    }
    hit = *open == b->row; /* a number: no branch on it would be predicted */
    all = b->took + (hbm->miss & (hit - 1));
    *open = b->row;
    if (__builtin_expect(slots[WROTE * LANES] != b->write, 0)) {
        slots[WROTE * LANES] = b->write;
        all += hbm->turn;
        slots[EVENTS * LANES] += TURN;
    }
    slots[FREE_AT * LANES] = start + all;
    slots[QUEUE * LANES] += start - b->at;
    slots[EVENTS * LANES] += (b->write ? WRITE : READ) + hit * HIT;
    return start + all;
}

/* Returns the subcycle in which the last block is served. */
static inline uint64_t serve_few(const pfc_accel_hbm *hbm, size_t channel, const blocks *b)
{
    uint64_t done = b->at;

    for (size_t c = channel; c < channel + b->n; c++) {
        const uint64_t end = serve_one(hbm, hbm->slots[c], b);

        done = PFC_MAX(done, end);
    }
    return done;
}

/* The same by vectors. */
WIDE_TOO static uint64_t serve(const pfc_accel_hbm *hbm, size_t channel, const blocks *b)
{
    static const lanes order = { 0, 1, 2, 3, 4, 5, 6, 7 };
    const size_t n = b->n;
    const lanes miss = ALL(hbm->miss);
    const lanes turn = ALL(hbm->turn);
    const lanes direction = ALL(b->write);
    const lanes access = ALL(b->write ? WRITE : READ);
    const lanes now = ALL(b->at);
    const lanes this_row = ALL(b->row);
    lanes latest = now;

    /* Vectors begin at multiples of their length: the next call loads what this one stored whole,
     * or the processor would wait for the store. */
    for (size_t c = channel / LANES * LANES; c < channel + n; c += LANES) {
        uint64_t *const slots = hbm->memory + c / LANES * hbm->slice;
        uint64_t *const rows = slots + b->bank * LANES;
        const lanes place = ALL((uint64_t)c) + order;
        const lanes on = (lanes)(place >= ALL((uint64_t)channel)) &
                         (lanes)(place < ALL((uint64_t)(channel + n)));
        lanes free_at, open, wrote, sum, due, met;
        lanes start, missed, turned, all, end;

        GET(free_at, slots + FREE_AT * LANES);
        GET(due, slots + NEXT_REFRESH * LANES);
        start = PICK((lanes)(free_at > now), free_at, now);
        due = (lanes)(start >= due) & on;
        met = due | HALF(due);
        met |= QUARTER(met);
        if (met[0] | met[1]) {
            for (size_t i = 0; i < LANES; i++)
                if (due[i])
                    refresh(hbm, slots + i, start[i]);
            GET(free_at, slots + FREE_AT * LANES);
            start = PICK((lanes)(free_at > now), free_at, now);
        }
        GET(open, rows);
        GET(wrote, slots + WROTE * LANES);
        missed = (lanes)(open != this_row);
        turned = (lanes)(wrote != direction);
        all = ALL(b->took) + (miss & missed) + (turn & turned);
        end = start + all;
        latest = PICK((lanes)(end > latest) & on, end, latest);
        free_at = PICK(on, end, free_at);
        PUT(slots + FREE_AT * LANES, free_at);
        wrote = PICK(on, direction, wrote);
        PUT(slots + WROTE * LANES, wrote);
        GET(sum, slots + QUEUE * LANES);
        sum += (start - now) & on;
        PUT(slots + QUEUE * LANES, sum);
        GET(sum, slots + EVENTS * LANES);
        sum += on & (access + (ALL(HIT) & ~missed) + (ALL(TURN) & turned));
        PUT(slots + EVENTS * LANES, sum);
        open = PICK(on, this_row, open);
        PUT(rows, open);
    }
    latest = PICK((lanes)(latest > HALF(latest)), latest, HALF(latest));
    latest = PICK((lanes)(latest > QUARTER(latest)), latest, QUARTER(latest));
    return PFC_MAX(latest[0], latest[1]);
}

static inline uint64_t bank_of(const pfc_accel_hbm *hbm, uint64_t row)
{
    if (hbm->bank_mask) /* as on all chips of the tree */
        return OPEN_ROW + (row & hbm->bank_mask);
    return OPEN_ROW + row - divided(row, hbm->by_banks) * hbm->chip->hbm_banks;
}

/* A part of one block. */
static uint64_t serve_partial(const pfc_accel_hbm *hbm, uint64_t *slots, blocks b, uint64_t bursts)
{
    b.took = took_of(hbm, bursts);
    slots[TOOK * LANES] += b.took - hbm->block_took;
    slots[(b.write ? BURSTS_WRITTEN : BURSTS_READ) * LANES] += bursts - hbm->block_bursts;
    return serve_one(hbm, slots, &b);
}

/* Serves what lies in one group of blocks, one block a channel: first and last may be partial. */
static inline uint64_t serve_group(const pfc_accel_hbm *hbm, uint64_t group, uint64_t channel,
                                   uint64_t addr, uint64_t bytes, uint64_t write, uint64_t at)
{
    const uint64_t channels = hbm->chip->hbm_channels;
    const uint64_t mask = hbm->chip->hbm_interleave - 1;
    const uint64_t local = group << hbm->block_shift;
    blocks b = { .took = hbm->block_took, .write = write, .at = at };
    uint64_t done = at;

    while (bytes) {
        const uint64_t from = addr & mask;
        uint64_t len = PFC_MIN(bytes, mask + 1 - from);
        uint64_t end;

        b.n = 1;
        b.row = (local + from) >> hbm->row_shift;
        b.bank = bank_of(hbm, b.row);
        if (len <= mask) {
            end = serve_partial(hbm, hbm->slots[channel], b,
                                ((from + len - 1) >> hbm->burst_shift) -
                                    (from >> hbm->burst_shift) + 1);
        } else { /* whole blocks up to the last channel */
            b.n = PFC_MIN(bytes >> hbm->block_shift, channels - channel);
            len = b.n << hbm->block_shift;
            end = b.n < FEW_BLOCKS ? serve_few(hbm, channel, &b) : serve(hbm, channel, &b);
        }
        done = PFC_MAX(done, end);
        addr += len;
        bytes -= len;
        channel = channel + b.n == channels ? 0 : channel + b.n;
    }
    return done;
}

/* A block of all, by its number: its group, and its channel, which is rotated from group to group,
 * or the rows of a matrix whose width is a power of two would all begin in one channel. */
static inline uint64_t group_of(const pfc_accel_hbm *hbm, uint64_t block, uint64_t *channel)
{
    uint64_t group, rotated;

    if (hbm->channels_mask) { /* shifts and masks, as on most chips */
        group = block >> hbm->channels_shift;
        *channel = (block + group + (group >> hbm->channels_shift)) & hbm->channels_mask;
        return group;
    }
    group = divided(block, hbm->by_channels);
    rotated = block + group + divided(group, hbm->by_channels);
    *channel = rotated - divided(rotated, hbm->by_channels) * hbm->chip->hbm_channels;
    return group;
}

/* Call it before so many accesses: none of the sums in EVENTS overflows then. */
static inline void make_room(pfc_accel_hbm *hbm, uint64_t accesses)
{
    if (hbm->unspilled + accesses > SPILL_AFTER)
        spill_events(hbm);
    hbm->unspilled += accesses;
}

static uint64_t serve_piece(const pfc_accel_hbm *hbm, uint64_t addr, uint64_t bytes, bool write,
                            uint64_t now)
{
    const uint64_t channels = hbm->chip->hbm_channels;
    uint64_t done = now;

    while (bytes) {
        uint64_t channel;
        const uint64_t group = group_of(hbm, addr >> hbm->block_shift, &channel);
        const uint64_t left = ((group + 1) * channels << hbm->block_shift) - addr;
        const uint64_t len = PFC_MIN(bytes, left);
        const uint64_t end = serve_group(hbm, group, channel, addr, len, write, now);

        done = PFC_MAX(done, end);
        addr += len;
        bytes -= len;
    }
    return done;
}

uint64_t pfc_accel_hbm_access(pfc_accel_hbm *hbm, uint64_t addr, uint64_t bytes, bool write,
                              uint64_t at)
{
    make_room(hbm, (bytes >> hbm->block_shift) + 2);
    return pfc_accel_ceil_div(serve_piece(hbm, addr, bytes, write, at * PFC_ACCEL_SUBCYCLES),
                              PFC_ACCEL_SUBCYCLES);
}

/* Rows of few whole blocks: the narrow tiles of a matrix. */
static uint64_t serve_rows(const pfc_accel_hbm *hbm, const pfc_accel_rows *r, bool write,
                           uint64_t now)
{
    const uint64_t channels = hbm->chip->hbm_channels;
    const unsigned to_row = hbm->row_shift - hbm->block_shift;
    const uint64_t step = r->stride >> hbm->block_shift;
    const uint64_t n = r->width >> hbm->block_shift;
    blocks b = { .took = hbm->block_took, .write = write, .at = now };
    uint64_t block = r->addr >> hbm->block_shift;
    uint64_t done = now;

    for (uint64_t i = 0; i < r->rows; i++, block += step) {
        uint64_t channel;
        const uint64_t group = group_of(hbm, block, &channel);
        uint64_t *const *slots = hbm->slots + channel;

        b.row = group >> to_row;
        b.bank = bank_of(hbm, b.row);
        if (block - group * channels + n > channels) { /* rows across two groups are rare */
            const uint64_t end = serve_piece(hbm, block << hbm->block_shift, r->width, write, now);

            done = PFC_MAX(done, end);
            continue;
        }
        for (uint64_t k = 0; k < n; k++) {
            const uint64_t end = serve_one(hbm, slots[k], &b);

            done = PFC_MAX(done, end);
        }
    }
    return done;
}

uint64_t pfc_accel_hbm_rows(pfc_accel_hbm *hbm, const pfc_accel_rows *r, bool write, uint64_t at)
{
    const uint64_t mask = hbm->chip->hbm_interleave - 1;
    const uint64_t now = at * PFC_ACCEL_SUBCYCLES;
    uint64_t done = now;

    make_room(hbm, r->rows * ((r->width >> hbm->block_shift) + 2));
    if (((r->addr | r->stride | r->width) & mask) == 0 && hbm->row_shift >= hbm->block_shift &&
        r->width < FEW_BLOCKS << hbm->block_shift) {
        done = serve_rows(hbm, r, write, now);
        return pfc_accel_ceil_div(done, PFC_ACCEL_SUBCYCLES);
    }
    for (uint64_t i = 0; i < r->rows; i++) {
        const uint64_t end = serve_piece(hbm, r->addr + i * r->stride, r->width, write, now);

        done = PFC_MAX(done, end);
    }
    return pfc_accel_ceil_div(done, PFC_ACCEL_SUBCYCLES);
}

/* Subcycles in which a channel served accesses. */
static uint64_t busy_of(const pfc_accel_hbm *hbm, const uint64_t *slots)
{
    const uint64_t e = slots[EVENTS * LANES];
    const uint64_t accesses =
        slots[READS * LANES] + slots[WRITES * LANES] + (e & 0xffff) + (e >> 16 & 0xffff);
    const uint64_t hits = slots[ROW_HITS * LANES] + (e >> 32 & 0xffff);
    const uint64_t turnarounds = slots[TURNAROUNDS * LANES] + (e >> 48);

    return accesses * hbm->block_took + slots[TOOK * LANES] + (accesses - hits) * hbm->miss +
           turnarounds * hbm->turn;
}

/* Sums of a channel whose events are spilled. */
static pfc_accel_channel_detail channel_detail(const pfc_accel_hbm *hbm, const uint64_t *slots)
{
    const uint64_t reads = slots[READS * LANES];
    const uint64_t writes = slots[WRITES * LANES];
    const uint64_t misses = reads + writes - slots[ROW_HITS * LANES];

    return (pfc_accel_channel_detail){
        .read_bytes = (reads * hbm->block_bursts + slots[BURSTS_READ * LANES]) << hbm->burst_shift,
        .write_bytes = (writes * hbm->block_bursts + slots[BURSTS_WRITTEN * LANES])
                       << hbm->burst_shift,
        .busy_cycles = busy_of(hbm, slots) / PFC_ACCEL_SUBCYCLES,
        .queue_cycles = slots[QUEUE * LANES] / PFC_ACCEL_SUBCYCLES,
        .accesses = reads + writes,
        .row_hits = slots[ROW_HITS * LANES],
        .row_conflicts = misses - slots[OPENED * LANES] - open_rows(hbm, slots),
        .turnarounds = slots[TURNAROUNDS * LANES],
        .refreshes = slots[REFRESHES * LANES],
    };
}

void pfc_accel_hbm_since(const pfc_accel_hbm *hbm, pfc_accel_hbm_seen *seen,
                         pfc_accel_memory_cost *cost)
{
    for (size_t i = 0; i < hbm->chip->hbm_channels; i++) {
        const uint64_t *slots = hbm->slots[i];
        uint64_t busy, queue;

        if (slots[FREE_AT * LANES] == seen->free_at[i]) /* every access makes it later */
            continue;
        busy = busy_of(hbm, slots);
        queue = slots[QUEUE * LANES];
        cost->service += busy - seen->busy[i];
        cost->waited += queue - seen->queue[i];
        cost->channels[i / 64] |= 1ull << (i % 64);
        seen->free_at[i] = slots[FREE_AT * LANES];
        seen->busy[i] = busy;
        seen->queue[i] = queue;
    }
}

void pfc_accel_hbm_close(pfc_accel_hbm *hbm, pfc_accel_counters *counters, pfc_accel_detail *detail)
{
    const pfc_accel_chip *chip = hbm->chip;
    uint64_t *v = counters->v;
    uint64_t busy = 0;
    uint64_t queue = 0;

    spill_events(hbm);
    for (size_t i = 0; i < chip->hbm_channels; i++) {
        const pfc_accel_channel_detail d = channel_detail(hbm, hbm->slots[i]);

        v[PFC_ACCEL_HBM_READ] += d.read_bytes;
        v[PFC_ACCEL_HBM_WRITE] += d.write_bytes;
        v[PFC_ACCEL_HBM_ACCESSES] += d.accesses;
        v[PFC_ACCEL_HBM_ROW_HIT] += d.row_hits;
        v[PFC_ACCEL_HBM_ROW_MISS] += d.accesses - d.row_hits;
        v[PFC_ACCEL_HBM_ROW_CONFLICT] += d.row_conflicts;
        v[PFC_ACCEL_HBM_TURNAROUND] += d.turnarounds;
        v[PFC_ACCEL_HBM_REFRESH] += d.refreshes;
        busy += busy_of(hbm, hbm->slots[i]);
        queue += hbm->slots[i][QUEUE * LANES];
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
