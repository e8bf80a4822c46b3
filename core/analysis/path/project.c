/*
 * Projection: the graph evaluated again with one resource that takes no time. Units take their
 * commands in order, a command starts when its unit is free and its waits have ended. Transfers
 * share the channels of device memory: each moves in pieces, a piece takes an equal share of its
 * transfer's recorded service from each channel that the transfer uses, and a channel serves pieces
 * in the order in which they come. Removing one resource thus saves no more than the throughput of
 * the others allows.
 */
#include <stdlib.h>
#include <string.h>

#include "core/analysis/path/graph.h"
#include "core/base/base.h"

#define SUB        1024       /* parts of a tick: the grain of a channel's time */
#define MAX_WINDOW 64         /* longest window of pieces in flight */
#define MAX_PIECES (1u << 19) /* of all transfers; more are moved several at once */

typedef struct state {
    uint32_t pos;
    bool active;
    uint64_t free_at, drained;
    uint64_t at; /* of its next step; NEVER: not known yet */
    /* of the transfer under way */
    uint64_t issue, done, pieces, moved;
    uint64_t window[MAX_WINDOW];
    uint64_t banks, banks_until;
} state;

typedef struct eval {
    const pfc_path_graph *g;
    pfc_resource without;
    state *units;
    uint64_t *slot_done; /* by slot; NEVER: not signalled yet */
    uint64_t *reached;   /* by slot: when all slots of its semaphore up to it were signalled */
    uint64_t channel[PFC_PATH_CHANNELS], refresh_at[PFC_PATH_CHANNELS]; /* SUB */
    uint64_t piece_bytes, window;
    bool signalled; /* since the waiting units were looked at */
    uint64_t end;
} eval;

static bool gone(const eval *e, pfc_resource r)
{
    return e->without == r;
}

/* ---- waits ---- */

static uint64_t ready_at(const eval *e, size_t unit)
{
    const pfc_path_unit *u = &e->g->units[unit];
    const state *s = &e->units[unit];
    const pfc_path_node *n;
    uint64_t at = s->free_at;

    if (s->active)
        return s->issue;
    if (s->pos == u->len)
        return PFC_PATH_NEVER;
    n = &e->g->nodes[u->nodes[s->pos]];
    for (size_t i = 0; i < n->waits_len; i++) {
        const uint64_t reached = e->reached[e->g->waits[n->waits + i]];

        if (reached == PFC_PATH_NEVER)
            return PFC_PATH_NEVER;
        at = PFC_MAX(at, reached);
    }
    return at;
}

static void signal_done(eval *e, const pfc_path_node *n, uint64_t done)
{
    e->end = PFC_MAX(e->end, done);
    if (n->slot == PFC_PATH_NONE)
        return;
    e->slot_done[n->slot] = done;
    /* Extends the stretch of signalled slots from the semaphore's first one on. */
    for (uint32_t s = n->slot; s < e->g->slots_len && e->slot_done[s] != PFC_PATH_NEVER; s++) {
        const bool first = e->g->first_slot[s] == s;

        if (s != n->slot && first)
            break;
        if (!first && e->reached[s - 1] == PFC_PATH_NEVER)
            break;
        e->reached[s] = first ? e->slot_done[s] : PFC_MAX(e->reached[s - 1], e->slot_done[s]);
        e->signalled = true;
    }
}

/* ---- units that compute ---- */

/* Transfers cannot be held up, so the unit that computes waits for the banks that they use. */
static uint64_t bank_wait(const eval *e, const pfc_path_node *n, uint64_t at, uint64_t most)
{
    uint64_t wait = 0;

    if (gone(e, PFC_RESOURCE_SCRATCHPAD))
        return 0;
    if (!e->g->device.port_bytes || !n->banks)
        return PFC_MIN(n->part[PFC_PART_BANK], most);
    for (size_t i = 0; i < e->g->units_len; i++) {
        const state *s = &e->units[i];
        const uint64_t shared = s->active || at < s->banks_until ? s->banks & n->banks : 0;
        const pfc_path_node *t;
        uint64_t bytes;

        if (!shared)
            continue;
        t = &e->g->nodes[e->g->units[i].nodes[s->pos - 1]];
        bytes = t->bytes * (uint64_t)__builtin_popcountll(shared) /
                (uint64_t)__builtin_popcountll(s->banks);
        wait += (bytes + e->g->device.port_bytes - 1) / e->g->device.port_bytes;
    }
    return PFC_MIN(wait, most);
}

/* Ticks of a matrix unit beside the preload; *stall is the wait for weights of the last fold. */
static uint64_t matrix_ticks(const eval *e, const pfc_path_node *n, uint64_t *stall)
{
    const uint64_t *p = n->part;
    const uint64_t stream = gone(e, PFC_RESOURCE_COMPUTE) ? 0 : p[PFC_PART_STREAM];
    const uint64_t load =
        gone(e, PFC_RESOURCE_WEIGHTS) ? 0 : p[PFC_PART_WEIGHTS] + p[PFC_PART_WEIGHTS_HIDDEN];
    const uint64_t fill = gone(e, PFC_RESOURCE_LATENCY) ? 0 : p[PFC_PART_FILL];

    *stall = 0;
    if (p[PFC_PART_FILL]) /* its phases follow each other: weights, stream, drain */
        return stream + load + fill;
    if (load > stream)
        *stall = (load - stream) / PFC_MAX(n->folds, 1);
    return PFC_MAX(stream, load);
}

static void step_compute(eval *e, size_t unit, const pfc_path_node *n, uint64_t at)
{
    state *s = &e->units[unit];
    const bool vector = e->g->units[unit].kind == PFC_TRACE_KIND_VECTOR;
    const bool no_latency = gone(e, PFC_RESOURCE_LATENCY);
    const bool empty = at > s->free_at || s->pos == 1;
    uint64_t depth = no_latency ? 0 : n->part[PFC_PART_DEPTH];
    uint64_t preload = 0;
    uint64_t stall = 0;
    uint64_t busy;

    if (vector) {
        busy = n->part[PFC_PART_STREAM] + (no_latency ? 0 : n->part[PFC_PART_REDUCE]);
        if (gone(e, PFC_RESOURCE_VECTOR))
            busy = depth = 0;
    } else {
        busy = matrix_ticks(e, n, &stall);
        if (empty && !gone(e, PFC_RESOURCE_WEIGHTS))
            preload = n->part[PFC_PART_PRELOAD];
    }
    s->free_at = at + preload + busy + bank_wait(e, n, at, busy);
    s->drained = PFC_MAX(s->drained, s->free_at + (depth > stall ? depth - stall : 0));
    signal_done(e, n, s->drained);
}

/* ---- transfers ---- */

static uint64_t serve_channel(eval *e, size_t c, uint64_t from, uint64_t took)
{
    const uint64_t every = e->g->device.refresh_every * SUB;
    uint64_t start = PFC_MAX(e->channel[c], from);

    if (start >= e->refresh_at[c]) {
        const uint64_t began = start / every * every;

        start = PFC_MAX(start, began + e->g->device.refresh * SUB);
        e->refresh_at[c] = began + every;
    }
    return e->channel[c] = start + took;
}

/* When the channels have served a piece that comes at `at`. */
static uint64_t serve(eval *e, const pfc_path_node *n, uint64_t at, uint64_t pieces)
{
    const unsigned used =
        (unsigned)(__builtin_popcountll(n->channels[0]) + __builtin_popcountll(n->channels[1]));
    uint64_t done = at * SUB;
    uint64_t took;

    if (used == 0 || gone(e, PFC_RESOURCE_MEMORY))
        return at;
    took = n->part[PFC_PART_SERVICE] * SUB / used / pieces;
    for (size_t word = 0; word < PFC_PATH_CHANNELS / 64; word++)
        for (uint64_t rest = n->channels[word]; rest; rest &= rest - 1) {
            const size_t c = 64 * word + (size_t)__builtin_ctzll(rest);
            const uint64_t end = serve_channel(e, c, at * SUB, took);

            done = PFC_MAX(done, end);
        }
    return (done + SUB - 1) / SUB;
}

static void finish_transfer(eval *e, size_t unit, const pfc_path_node *n)
{
    state *s = &e->units[unit];
    const uint64_t latency = gone(e, PFC_RESOURCE_LATENCY) ? 0 : n->part[PFC_PART_LATENCY];

    s->active = false;
    s->free_at = s->issue;
    s->banks_until = s->done;
    s->drained = PFC_MAX(s->drained, PFC_MAX(s->done, s->free_at) + latency);
    signal_done(e, n, s->drained);
}

static void start_transfer(eval *e, size_t unit, const pfc_path_node *n, uint64_t at)
{
    state *s = &e->units[unit];
    const bool no_dma = gone(e, PFC_RESOURCE_DMA);

    s->issue = s->done = at + (no_dma ? 0 : n->part[PFC_PART_SETUP]);
    s->moved = 0;
    s->banks = n->banks;
    s->pieces = PFC_MAX(1, (n->bytes + e->piece_bytes - 1) / e->piece_bytes);
    s->active = true;
    if (n->part[PFC_PART_SERVICE])
        return;
    /* The trace does not say how memory served it: it takes as long as it took. */
    if (!no_dma)
        s->issue += n->part[PFC_PART_RATE] + n->part[PFC_PART_WINDOW];
    s->done = s->issue + (gone(e, PFC_RESOURCE_MEMORY) ? 0 : n->part[PFC_PART_TAIL]);
    finish_transfer(e, unit, n);
}

static void step_transfer(eval *e, size_t unit, const pfc_path_node *n)
{
    state *s = &e->units[unit];
    const bool no_dma = gone(e, PFC_RESOURCE_DMA);
    const uint64_t rate = no_dma ? 0 : n->part[PFC_PART_RATE];
    const uint64_t free_at =
        s->issue + rate * (s->moved + 1) / s->pieces - rate * s->moved / s->pieces;
    const uint64_t served = serve(e, n, s->issue, s->pieces);
    uint64_t *place = &s->window[s->moved % e->window];
    const uint64_t oldest = s->moved >= e->window && !no_dma ? *place : 0;

    *place = PFC_MAX(served, free_at);
    s->done = PFC_MAX(s->done, *place);
    s->issue = free_at;
    if (++s->moved == s->pieces)
        finish_transfer(e, unit, n);
    else
        s->issue = PFC_MAX(free_at, oldest);
}

/* ---- all ---- */

static void step(eval *e, size_t unit)
{
    const pfc_path_unit *u = &e->g->units[unit];
    state *s = &e->units[unit];

    if (s->active) {
        step_transfer(e, unit, &e->g->nodes[u->nodes[s->pos - 1]]);
    } else {
        const pfc_path_node *n = &e->g->nodes[u->nodes[s->pos++]];

        if (u->kind == PFC_TRACE_KIND_DMA)
            start_transfer(e, unit, n, s->at);
        else
            step_compute(e, unit, n, s->at);
    }
    s->at = ready_at(e, unit);
    if (!e->signalled)
        return;
    e->signalled = false;
    for (size_t i = 0; i < e->g->units_len; i++)
        if (e->units[i].at == PFC_PATH_NEVER)
            e->units[i].at = ready_at(e, i);
}

/* Pieces of all transfers together stay below a limit: the larger ones move several at once. */
static void choose_pieces(eval *e)
{
    const uint64_t piece = e->g->device.piece_bytes ? e->g->device.piece_bytes : 4096;
    uint64_t pieces = 0;
    uint64_t together;

    for (size_t i = 0; i < e->g->len; i++)
        pieces += e->g->nodes[i].bytes / piece;
    together = 1 + pieces / MAX_PIECES;
    e->piece_bytes = piece * together;
    e->window = e->g->device.window ? e->g->device.window : MAX_WINDOW;
    e->window = PFC_MIN(PFC_MAX(e->window / together, 1), MAX_WINDOW);
}

uint64_t pfc_path_evaluate(const pfc_path_graph *g, pfc_resource without)
{
    eval *e = pfc_calloc(1, sizeof(*e));
    uint64_t end;

    e->g = g;
    e->without = without;
    e->units = pfc_calloc(g->units_len + 1, sizeof(*e->units));
    e->slot_done = pfc_alloc((g->slots_len + 1) * sizeof(*e->slot_done));
    e->reached = pfc_alloc((g->slots_len + 1) * sizeof(*e->reached));
    memset(e->slot_done, 0xff, (g->slots_len + 1) * sizeof(*e->slot_done));
    memset(e->reached, 0xff, (g->slots_len + 1) * sizeof(*e->reached));
    for (size_t c = 0; c < PFC_PATH_CHANNELS; c++)
        e->refresh_at[c] = g->device.refresh_every ? g->device.refresh_every * SUB : PFC_PATH_NEVER;
    choose_pieces(e);
    for (size_t i = 0; i < g->units_len; i++)
        e->units[i].at = ready_at(e, i);
    for (;;) {
        size_t which = 0;

        for (size_t i = 1; i < g->units_len; i++)
            if (e->units[i].at < e->units[which].at)
                which = i;
        if (g->units_len == 0 || e->units[which].at == PFC_PATH_NEVER)
            break;
        step(e, which);
    }
    end = e->end;
    free(e->units);
    free(e->slot_done);
    free(e->reached);
    free(e);
    return end;
}
