/* The graph after its last record: order of each unit, waits that name signals, checked costs. */
#include <inttypes.h>
#include <stdlib.h>

#include "core/analysis/path/build.h"
#include "core/base/base.h"

static pfc_code wrong(const pfc_path_node *n, const char *what, pfc_err *err)
{
    return pfc_err_set(err, PFC_EINVAL, "command %" PRIu32 " of the trace: %s", n->number, what);
}

/* ---- order of the units ---- */

static void order_units(pfc_path_graph *g)
{
    uint32_t *next;

    g->order = pfc_calloc(g->len + 1, sizeof(*g->order));
    next = g->order;
    for (size_t u = 0; u < g->units_len; u++) {
        g->units[u].nodes = next;
        next += g->units[u].len;
        g->units[u].len = 0;
    }
    for (size_t i = 0; i < g->len; i++) {
        pfc_path_unit *u = &g->units[g->nodes[i].unit];

        u->nodes[u->len++] = (uint32_t)i;
    }
}

/* ---- signals and waits ---- */

static void place_signals(pfc_path_builder *b)
{
    pfc_path_graph *g = &b->graph;
    uint32_t next = 0;

    g->slots_len = b->signals_len;
    g->slots = pfc_calloc(g->slots_len + 1, sizeof(*g->slots));
    g->first_slot = pfc_calloc(g->slots_len + 1, sizeof(*g->first_slot));
    for (size_t s = 0; s < b->semaphores_len; s++) {
        b->semaphores[s].first = next;
        next += b->semaphores[s].slots;
        b->semaphores[s].slots = 0;
    }
    for (size_t i = 0; i < b->signals_len; i++) {
        pfc_path_semaphore *s = &b->semaphores[b->signals[i].semaphore];
        const uint32_t slot = s->first + s->slots++;

        g->slots[slot] = (uint32_t)i; /* the signal, until the waits are resolved */
        g->first_slot[slot] = s->first;
        g->nodes[b->signals[i].node].slot = slot;
    }
}

/* The first signal of the semaphore that reaches the value: values only rise. */
static uint32_t slot_of(const pfc_path_builder *b, const pfc_path_wait_for *w)
{
    const pfc_path_semaphore *s = &b->semaphores[w->semaphore];
    uint32_t low = s->first;
    uint32_t high = s->first + s->slots - 1;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (b->signals[b->graph.slots[middle]].value >= w->value)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void resolve_waits(pfc_path_builder *b)
{
    pfc_path_graph *g = &b->graph;

    for (size_t i = 0; i < g->waits_len; i++)
        g->waits[i] = slot_of(b, &b->wait_for[i]);
    for (size_t i = 0; i < g->slots_len; i++)
        g->slots[i] = b->signals[g->slots[i]].node;
}

/* ---- costs ---- */

/* Ticks that the costs leave open belong to the stream, or they are the preload. */
static pfc_code close_compute(pfc_path_node *n, pfc_err *err)
{
    uint64_t *p = n->part;
    const uint64_t known = p[PFC_PART_STREAM] + p[PFC_PART_WEIGHTS] + p[PFC_PART_FILL] +
                           p[PFC_PART_REDUCE] + p[PFC_PART_BANK];
    const uint64_t took = n->end - n->begin;
    uint64_t rest;

    if (known > took)
        return wrong(n, "its costs are longer than the command", err);
    rest = took - known;
    n->preloaded = p[PFC_PART_PRELOAD] > 0 && rest >= p[PFC_PART_PRELOAD];
    p[PFC_PART_STREAM] += rest - (n->preloaded ? p[PFC_PART_PRELOAD] : 0);
    return PFC_OK;
}

static pfc_code close_transfer(pfc_path_node *n, pfc_err *err)
{
    uint64_t *p = n->part;
    const uint64_t arrived = n->end;

    n->end = n->begin + p[PFC_PART_SETUP] + p[PFC_PART_RATE] + p[PFC_PART_WINDOW];
    if (n->end + p[PFC_PART_LATENCY] > arrived)
        return wrong(n, "its costs are longer than the transfer", err);
    p[PFC_PART_TAIL] = arrived - p[PFC_PART_LATENCY] - n->end;
    return PFC_OK;
}

static pfc_code close_node(pfc_path_graph *g, pfc_path_node *n, pfc_err *err)
{
    pfc_code code;

    if (n->end == PFC_PATH_NEVER)
        return wrong(n, "it has no end", err);
    if (n->done == PFC_PATH_NEVER)
        n->done = n->end;
    if (n->done < n->end)
        return wrong(n, "its signal comes before its end", err);
    code = pfc_path_is_transfer(g, n) ? close_transfer(n, err) : close_compute(n, err);
    if (!code && n->before != PFC_PATH_NONE && n->begin < g->nodes[n->before].end)
        code = wrong(n, "it begins before its unit is free", err);
    g->total = PFC_MAX(g->total, n->done);
    return code;
}

pfc_code pfc_path_close(pfc_path_builder *b, pfc_err *err)
{
    pfc_path_graph *g = &b->graph;
    pfc_code code = PFC_OK;

    if (g->len == 0)
        return pfc_err_set(err, PFC_EINVAL,
                           "the trace has no command records: expected a trace of version 1.1 or "
                           "later with commands");
    order_units(g);
    place_signals(b);
    resolve_waits(b);
    for (size_t i = 0; i < g->len && !code; i++)
        code = close_node(g, &g->nodes[i], err);
    return code;
}
