/*
 * HBM beside a plain model of it: one block after the other, with the divisions written out and
 * every counter summed where the event happens. The device model packs its counters, computes some
 * of them from others, and serves rows and stretches of channels in ways of their own; on any chip
 * and any sequence of accesses both must give the same cycles and the same sums.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "kernels/accel/device/parts.h"

#include "tests/check/check.h"

#define CHIPS    400
#define REQUESTS 250
#define MANY     4000 /* in one channel: more accesses than 16 bits count */

typedef struct channel {
    uint64_t free_at, next_refresh; /* subcycles */
    uint64_t busy, queue;           /* subcycles */
    uint64_t open[PFC_ACCEL_MAX_BANKS];
    bool wrote;
    pfc_accel_channel_detail sums; /* without the two in cycles */
} channel;

typedef struct model {
    const pfc_accel_chip *chip;
    channel channels[PFC_ACCEL_MAX_CHANNELS];
} model;

static pfc_rng rng;

static uint64_t draw(uint64_t from, uint64_t to)
{
    return from + pfc_rng_below(&rng, to - from + 1);
}

static void start(model *m, const pfc_accel_chip *chip)
{
    memset(m, 0, sizeof(*m));
    m->chip = chip;
    for (size_t i = 0; i < chip->hbm_channels; i++) {
        m->channels[i].next_refresh = chip->hbm_refresh_every * PFC_ACCEL_SUBCYCLES;
        memset(m->channels[i].open, 0xff, sizeof(m->channels[i].open));
    }
}

/* Refreshes that are due at `at`; the last one may still be going on. */
static void refresh(const model *m, channel *c, uint64_t at)
{
    while (at >= c->next_refresh) {
        const uint64_t end = c->next_refresh + m->chip->hbm_refresh * PFC_ACCEL_SUBCYCLES;

        if (at - c->next_refresh < m->chip->hbm_refresh_every * PFC_ACCEL_SUBCYCLES)
            c->free_at = PFC_MAX(c->free_at, end);
        c->next_refresh += m->chip->hbm_refresh_every * PFC_ACCEL_SUBCYCLES;
        c->sums.refreshes++;
        memset(c->open, 0xff, sizeof(c->open));
    }
}

/* Bytes of one block; returns the subcycle in which they are served. */
static uint64_t block(model *m, uint64_t addr, uint64_t bytes, bool write, uint64_t now)
{
    const pfc_accel_chip *chip = m->chip;
    const uint64_t number = addr / chip->hbm_interleave;
    const uint64_t group = number / chip->hbm_channels;
    channel *c = &m->channels[(number + group + group / chip->hbm_channels) % chip->hbm_channels];
    const uint64_t row =
        (group * chip->hbm_interleave + addr % chip->hbm_interleave) / chip->hbm_row_bytes;
    const uint64_t bursts = (addr + bytes - 1) / chip->hbm_burst - addr / chip->hbm_burst + 1;
    uint64_t *open = &c->open[row % chip->hbm_banks];
    uint64_t took = pfc_accel_ceil_div(bursts * chip->hbm_burst * PFC_ACCEL_SUBCYCLES *
                                           chip->clock_mhz * chip->hbm_channels,
                                       chip->hbm_mbps);
    uint64_t from = PFC_MAX(c->free_at, now);

    refresh(m, c, from);
    from = PFC_MAX(c->free_at, now);
    c->sums.row_hits += *open == row;
    c->sums.row_conflicts += *open != row && *open != UINT64_MAX;
    if (*open != row)
        took += chip->hbm_row_miss * PFC_ACCEL_SUBCYCLES;
    if (c->wrote != write) {
        took += chip->hbm_turnaround * PFC_ACCEL_SUBCYCLES;
        c->sums.turnarounds++;
    }
    *open = row;
    c->wrote = write;
    c->sums.accesses++;
    *(write ? &c->sums.write_bytes : &c->sums.read_bytes) += bursts * chip->hbm_burst;
    c->queue += from - now;
    c->busy += took;
    c->free_at = from + took;
    return c->free_at;
}

static uint64_t access_of(model *m, uint64_t addr, uint64_t bytes, bool write, uint64_t at)
{
    uint64_t done = at * PFC_ACCEL_SUBCYCLES;

    while (bytes) {
        const uint64_t left = m->chip->hbm_interleave - addr % m->chip->hbm_interleave;
        const uint64_t len = PFC_MIN(bytes, left);
        const uint64_t end = block(m, addr, len, write, at * PFC_ACCEL_SUBCYCLES);

        done = PFC_MAX(done, end);
        addr += len;
        bytes -= len;
    }
    return pfc_accel_ceil_div(done, PFC_ACCEL_SUBCYCLES);
}

/* A chip whose HBM is any that a file may describe; half of them have powers of two. */
static pfc_accel_chip some_chip(void)
{
    pfc_accel_chip chip = { .clock_mhz = draw(100, 3000), .hbm_mbps = draw(1000, 5000000) };

    chip.hbm_channels = draw(0, 1) ? 1ull << draw(0, 7) : draw(1, PFC_ACCEL_MAX_CHANNELS);
    chip.hbm_banks = draw(0, 1) ? 1ull << draw(0, 6) : draw(1, PFC_ACCEL_MAX_BANKS);
    chip.hbm_interleave = 64ull << draw(0, 7);
    chip.hbm_burst = 16ull << draw(0, 2);
    chip.hbm_row_bytes = 256ull << draw(0, 8);
    chip.hbm_row_miss = draw(0, 100);
    chip.hbm_turnaround = draw(0, 50);
    chip.hbm_refresh_every = draw(100, 20000);
    chip.hbm_refresh = draw(0, 99);
    return chip;
}

/* Rows of a group: of whole blocks and in step with them, or anywhere. */
static pfc_accel_rows some_rows(const pfc_accel_chip *chip)
{
    const uint64_t unit = draw(0, 2) ? chip->hbm_interleave : 1;
    pfc_accel_rows r = { .addr = draw(0, 1 << 20) * unit };

    r.width = PFC_MIN(draw(1, 12) * unit, (uint64_t)PFC_ACCEL_DMA_GROUP);
    r.stride = draw(0, 3) ? r.width + draw(0, 300) * unit : 1ull << draw(12, 20);
    r.stride = PFC_MAX(r.stride, r.width);
    r.rows = draw(1, PFC_MAX(PFC_ACCEL_DMA_GROUP / r.width, 1u));
    return r;
}

static void compare_sums(const model *m, const pfc_accel_detail *d)
{
    for (size_t i = 0; i < m->chip->hbm_channels; i++) {
        pfc_accel_channel_detail want = m->channels[i].sums;

        want.busy_cycles = m->channels[i].busy / PFC_ACCEL_SUBCYCLES;
        want.queue_cycles = m->channels[i].queue / PFC_ACCEL_SUBCYCLES;
        cr_assert(memcmp(&d->channels[i], &want, sizeof(want)) == 0, "channel %zu", i);
    }
}

/* The sums that a trace reads while a program runs: those of all channels until now. */
static void compare_cost(const pfc_accel_memory_cost *cost, const model *m)
{
    pfc_accel_memory_cost want = { 0 };

    for (size_t i = 0; i < m->chip->hbm_channels; i++) {
        const channel *c = &m->channels[i];

        want.service += c->busy;
        want.waited += c->queue;
        if (c->sums.accesses)
            want.channels[i / 64] |= 1ull << (i % 64);
    }
    cr_assert(memcmp(cost, &want, sizeof(want)) == 0);
}

/* Every request as rows, or as one piece of up to a group. */
static void compare_requests(pfc_accel_hbm *hbm, model *m, size_t requests)
{
    pfc_accel_hbm_seen seen = { 0 };
    pfc_accel_memory_cost cost = { 0 };
    uint64_t now = 0;

    for (size_t i = 0; i < requests; i++) {
        const bool write = draw(0, 3) == 0;
        const pfc_accel_rows r = some_rows(m->chip);
        uint64_t got;
        uint64_t want = now;

        if (draw(0, 1)) {
            got = pfc_accel_hbm_rows(hbm, &r, write, now);
            for (uint64_t j = 0; j < r.rows; j++) {
                const uint64_t end = access_of(m, r.addr + j * r.stride, r.width, write, now);

                want = PFC_MAX(want, end);
            }
        } else {
            const uint64_t bytes = draw(1, PFC_ACCEL_DMA_GROUP);

            got = pfc_accel_hbm_access(hbm, r.addr, bytes, write, now);
            want = access_of(m, r.addr, bytes, write, now);
        }
        cr_assert(eq(u64, got, want), "request %zu", i);
        pfc_accel_hbm_since(hbm, &seen, &cost);
        compare_cost(&cost, m);
        now += draw(0, 4) ? draw(0, 64) : draw(0, 5000);
    }
}

Test(hbm, equals_a_plain_model_on_any_chip_and_any_accesses)
{
    static pfc_accel_detail detail;
    model *m = calloc(1, sizeof(*m));

    pfc_rng_seed(&rng, 8);
    for (size_t i = 0; i < CHIPS; i++) {
        const bool one_channel = i < 2;
        pfc_accel_chip chip = some_chip();
        pfc_accel_counters counters = { 0 };
        pfc_accel_hbm hbm;

        if (one_channel)
            chip.hbm_channels = 1;
        if (one_channel)
            chip.hbm_interleave = chip.hbm_burst = 64;
        start(m, &chip);
        pfc_accel_hbm_init(&hbm, &chip);
        compare_requests(&hbm, m, one_channel ? MANY : REQUESTS);
        pfc_accel_hbm_close(&hbm, &counters, &detail);
        compare_sums(m, &detail);
        pfc_accel_hbm_free(&hbm);
    }
    free(m);
}
