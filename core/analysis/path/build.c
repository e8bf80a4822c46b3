/*
 * Records of a trace become the graph of its run. Everything is checked here: a command depends
 * only on signals that stand before it in the trace, so the graph has no cycle, and the ticks of
 * each command are the sum of its costs.
 */
#include "core/analysis/path/build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/base/parse.h"

#define MAX_SEMAPHORES (1u << 22)
#define MAX_OPEN       4096 /* commands of a unit under way */

static pfc_code wrong(const pfc_path_builder *b, pfc_err *err, const char *what, uint64_t value)
{
    return pfc_err_set(err, PFC_EINVAL, "trace record %" PRIu64 ": %s %" PRIu64, b->path->records,
                       what, value);
}

/* ---- header ---- */

static uint64_t constant(const pfc_trace_header *header, const char *key, int64_t max)
{
    const char *text = pfc_trace_meta_value(header, key);
    int64_t value = 0;

    return text && pfc_parse_i64(text, 0, max, key, &value, NULL) == PFC_OK ? (uint64_t)value : 0;
}

pfc_code pfc_path_begin(pfc_path_builder *b, const pfc_trace_header *header, pfc_err *err)
{
    pfc_path_device *d = &b->graph.device;

    (void)err;
    b->header = header;
    pfc_path_region_begin(&b->region, header);
    b->graph.units_len = header->units_len;
    b->graph.units = pfc_calloc(header->units_len, sizeof(*b->graph.units));
    b->units = pfc_calloc(header->units_len, sizeof(*b->units));
    for (size_t i = 0; i < header->units_len; i++) {
        b->graph.units[i].kind = header->units[i].kind;
        b->unit_at[header->units[i].id] = (uint16_t)(i + 1);
        b->units[i].last = PFC_PATH_NONE;
    }
    d->channels = constant(header, "chip_hbm_channels", PFC_PATH_CHANNELS);
    d->piece_bytes = constant(header, "dma_piece_bytes", 1 << 30);
    d->window = constant(header, "chip_dma_window", 1 << 20);
    d->refresh = constant(header, "chip_hbm_refresh", 1 << 30);
    d->refresh_every = constant(header, "chip_hbm_refresh_every", 1 << 30);
    d->port_bytes = constant(header, "chip_sram_port_bytes", 1 << 30);
    if (d->refresh >= d->refresh_every)
        d->refresh = d->refresh_every = 0;
    return PFC_OK;
}

/* ---- phases and lines ---- */

/* Phases go into names of numbers, so other characters than these become '_'. */
static void copy_name(char *out, size_t cap, const char *text, bool restrict_to_names)
{
    size_t len = 0;

    for (; text[len] && len + 1 < cap; len++) {
        const char c = text[len];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '_' || c == '-';

        out[len] = plain || (!restrict_to_names && c >= ' ' && c != 127) ? c : '_';
    }
    /* A name is never cut within a character. */
    while (text[len] && len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    out[len] = '\0';
}

/* Position of the phase in path.phases; the last place takes all that find no room. */
static uint16_t phase_at(pfc_path *path, const char *text)
{
    char name[sizeof(path->phases[0])];

    copy_name(name, sizeof(name), text, true);
    if (path->phases_len == PFC_PATH_MAX_PHASES - 1)
        copy_name(name, sizeof(name), "other", true);
    for (size_t i = 0; i < path->phases_len; i++)
        if (strcmp(path->phases[i], name) == 0)
            return (uint16_t)i;
    if (path->phases_len == PFC_PATH_MAX_PHASES)
        return PFC_PATH_MAX_PHASES - 1;
    memcpy(path->phases[path->phases_len], name, sizeof(name));
    return (uint16_t)path->phases_len++;
}

static const char *name_of(const pfc_path_builder *b, uint64_t name)
{
    return name > 0 ? b->header->names[name - 1] : "";
}

static void define_phase(pfc_path_builder *b, const pfc_trace_record *r)
{
    if (r->a > 0 && r->a < PFC_ARRAY_LEN(b->phase_of) && *name_of(b, r->b))
        b->phase_of[r->a] = (uint16_t)(phase_at(b->path, name_of(b, r->b)) + 1);
}

static void define_line(pfc_path_builder *b, const pfc_trace_record *r)
{
    pfc_path *path = b->path;

    if (r->a == 0 || r->a > PFC_PATH_MAX_LINES)
        return;
    copy_name(path->lines[r->a - 1], sizeof(path->lines[0]), name_of(b, r->b), false);
    path->lines_len = PFC_MAX(path->lines_len, (size_t)r->a);
}

/* ---- commands ---- */

static pfc_code take_waits(pfc_path_builder *b, pfc_path_unit_state *u, pfc_path_node *n,
                           pfc_err *err)
{
    pfc_path_graph *g = &b->graph;

    n->waits = (uint32_t)g->waits_len;
    if (u->waits_len > UINT16_MAX)
        return wrong(b, err, "a command has more waits than expected, at most", UINT16_MAX);
    for (size_t i = 0; i < u->waits_len; i++) {
        const pfc_path_wait_for *w = &u->waits[i];
        const pfc_path_semaphore *s =
            w->semaphore < b->semaphores_len ? &b->semaphores[w->semaphore] : NULL;

        if (w->value == 0)
            continue;
        if (!s || s->value < w->value)
            return wrong(b, err, "a command begins before a signal ended its wait for semaphore",
                         w->semaphore);
        g->waits = pfc_grow(g->waits, g->waits_len, &g->waits_cap, sizeof(*g->waits));
        b->wait_for = pfc_grow(b->wait_for, g->waits_len, &b->wait_for_cap, sizeof(*b->wait_for));
        b->wait_for[g->waits_len++] = *w;
        n->waits_len++;
    }
    u->waits_len = 0;
    return PFC_OK;
}

static pfc_code take_command(pfc_path_builder *b, size_t unit, const pfc_trace_record *r,
                             pfc_err *err)
{
    pfc_path_graph *g = &b->graph;
    pfc_path_unit_state *u = &b->units[unit];
    const uint64_t phase = r->b & UINT32_MAX;
    const uint64_t line = r->b >> 32;
    pfc_path_node *n;
    pfc_code code;

    if (unit > UINT8_MAX)
        return wrong(b, err, "a command is on a unit beyond the expected ones, at most", UINT8_MAX);
    if (u->open_len == MAX_OPEN)
        return wrong(b, err, "more commands of a unit are under way than expected, at most",
                     MAX_OPEN);
    g->nodes = pfc_grow(g->nodes, g->len, &g->cap, sizeof(*g->nodes));
    n = &g->nodes[g->len];
    memset(n, 0, sizeof(*n));
    n->number = (uint32_t)PFC_MIN(r->a, UINT32_MAX);
    n->begin = n->end = n->done = PFC_PATH_NEVER;
    n->slot = PFC_PATH_NONE;
    n->before = u->last;
    n->unit = (uint8_t)unit;
    n->line = line <= UINT16_MAX ? (uint16_t)line : 0;
    n->phase = phase < PFC_ARRAY_LEN(b->phase_of) && b->phase_of[phase]
                   ? (uint16_t)(b->phase_of[phase] - 1)
                   : phase_at(b->path, "command");
    code = take_waits(b, u, n, err);
    if (code)
        return code;
    u->open = pfc_grow(u->open, u->open_len, &u->open_cap, sizeof(*u->open));
    u->open[u->open_len++] = u->last = (uint32_t)g->len++;
    g->units[unit].len++;
    return PFC_OK;
}

/* The command of that number which is under way on the unit; NULL: there is none. */
static pfc_path_node *open_node(pfc_path_builder *b, size_t unit, uint64_t number)
{
    const pfc_path_unit_state *u = &b->units[unit];

    for (size_t i = u->open_len; i-- > 0;)
        if (b->graph.nodes[u->open[i]].number == number)
            return &b->graph.nodes[u->open[i]];
    return NULL;
}

/* ---- signals ---- */

static pfc_code raise_semaphore(pfc_path_builder *b, const pfc_trace_record *r, pfc_err *err)
{
    pfc_path_semaphore *s;

    if (r->a >= MAX_SEMAPHORES)
        return wrong(b, err, "a semaphore's number is above the highest that is expected:",
                     MAX_SEMAPHORES - 1);
    while (r->a >= b->semaphores_len) {
        const size_t more = PFC_MAX(64, 2 * b->semaphores_len);

        b->semaphores = pfc_realloc(b->semaphores, more, sizeof(*b->semaphores));
        memset(b->semaphores + b->semaphores_len, 0,
               (more - b->semaphores_len) * sizeof(*b->semaphores));
        b->semaphores_len = more;
    }
    s = &b->semaphores[r->a];
    if (r->b <= s->value)
        return wrong(b, err, "a signal does not raise semaphore", r->a);
    s->value = r->b;
    s->slots++;
    return PFC_OK;
}

/* The signal belongs to the oldest command under way on the unit that is complete. */
static pfc_code take_signal(pfc_path_builder *b, size_t unit, const pfc_trace_record *r,
                            pfc_err *err)
{
    pfc_path_unit_state *u = &b->units[unit];
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < u->open_len; i++) {
        pfc_path_node *n = &b->graph.nodes[u->open[i]];

        if (n->end == PFC_PATH_NEVER)
            continue;
        code = raise_semaphore(b, r, err);
        if (code)
            return code;
        b->signals = pfc_grow(b->signals, b->signals_len, &b->signals_cap, sizeof(*b->signals));
        b->signals[b->signals_len++] = (pfc_path_signal){ (uint32_t)r->a, u->open[i], r->b };
        n->done = r->ticks;
        memmove(&u->open[i], &u->open[i + 1], (u->open_len - i - 1) * sizeof(*u->open));
        u->open_len--;
        return PFC_OK;
    }
    return wrong(b, err, "a signal comes from a unit without a complete command: unit", r->unit);
}

/* ---- costs ---- */

/* Place of a cost in node.part. */
static const struct {
    uint16_t type;
    uint8_t part;
    bool transfer;
} costs[] = {
    { PFC_TRACE_COST_STREAM, PFC_PART_STREAM, false },
    { PFC_TRACE_COST_WEIGHTS, PFC_PART_WEIGHTS, false },
    { PFC_TRACE_COST_WEIGHTS_HIDDEN, PFC_PART_WEIGHTS_HIDDEN, false },
    { PFC_TRACE_COST_PRELOAD, PFC_PART_PRELOAD, false },
    { PFC_TRACE_COST_FILL, PFC_PART_FILL, false },
    { PFC_TRACE_COST_DEPTH, PFC_PART_DEPTH, false },
    { PFC_TRACE_COST_REDUCE, PFC_PART_REDUCE, false },
    { PFC_TRACE_COST_BANK, PFC_PART_BANK, false },
    { PFC_TRACE_COST_DMA_SETUP, PFC_PART_SETUP, true },
    { PFC_TRACE_COST_DMA_RATE, PFC_PART_RATE, true },
    { PFC_TRACE_COST_DMA_WINDOW, PFC_PART_WINDOW, true },
    { PFC_TRACE_COST_MEMORY_QUEUE, PFC_PART_QUEUE, true },
    { PFC_TRACE_COST_MEMORY_SERVICE, PFC_PART_SERVICE, true },
    { PFC_TRACE_COST_MEMORY_LATENCY, PFC_PART_LATENCY, true },
};

#define MAX_TICKS (1ull << 48) /* sums of a command's costs stay far below 2^64 */

static pfc_code take_cost(pfc_path_builder *b, size_t unit, const pfc_trace_record *r, pfc_err *err)
{
    const bool transfer = b->graph.units[unit].kind == PFC_TRACE_KIND_DMA;
    pfc_path_node *n = open_node(b, unit, r->a);

    if (!n)
        return wrong(b, err, "a cost is of a command that is not under way:", r->a);
    if (r->type == PFC_TRACE_BANKS)
        n->banks = r->b;
    else if (r->type == PFC_TRACE_CHANNELS)
        n->channels[0] = r->b;
    else if (r->type == PFC_TRACE_CHANNELS_HIGH)
        n->channels[1] = r->b;
    else if (r->b > MAX_TICKS)
        return wrong(b, err, "a cost is above the highest that is expected, 2^48:", r->b);
    else if (r->type == PFC_TRACE_FOLDS)
        n->folds = (uint32_t)PFC_MIN(r->b, UINT32_MAX);
    for (size_t i = 0; i < PFC_ARRAY_LEN(costs); i++) {
        if (costs[i].type != r->type)
            continue;
        if (costs[i].transfer != transfer)
            return wrong(b, err, "a cost is on a unit of the wrong kind: unit", r->unit);
        n->part[costs[i].part] = r->b;
    }
    return PFC_OK;
}

/* ---- records ---- */

/* Ticks from the begin of the run. */
static pfc_code relative(pfc_path_builder *b, pfc_trace_record *r, pfc_err *err)
{
    if (!b->began) {
        b->began = true;
        b->origin = r->ticks;
    }
    if (r->ticks < b->origin)
        return wrong(b, err, "the time is before the begin of the run: tick", r->ticks);
    r->ticks -= b->origin;
    if (r->ticks < b->now)
        return wrong(b, err, "the time goes backward: tick", r->ticks);
    if (r->ticks > MAX_TICKS)
        return wrong(b, err, "the run is longer than expected, 2^48 ticks: tick", r->ticks);
    b->now = r->ticks;
    return PFC_OK;
}

static pfc_code begin_or_end(pfc_path_builder *b, size_t unit, const pfc_trace_record *r,
                             pfc_err *err)
{
    pfc_path_node *n = open_node(b, unit, r->a);
    const bool begins = r->type == PFC_TRACE_TILE_BEGIN || r->type == PFC_TRACE_DMA_ISSUE;

    if (!n)
        return wrong(b, err, "a begin or end is of a command that is not under way:", r->a);
    if (begins ? n->begin != PFC_PATH_NEVER
               : n->begin == PFC_PATH_NEVER || n->end != PFC_PATH_NEVER)
        return wrong(b, err, "a begin or end comes twice, or an end before its begin: command",
                     r->a);
    if (begins) {
        n->begin = r->ticks;
        n->bytes = r->type == PFC_TRACE_DMA_ISSUE ? r->b : 0;
        if (n->bytes > MAX_TICKS)
            return wrong(b, err, "a transfer is larger than expected, 2^48 bytes:", r->b);
    } else {
        n->end = r->ticks; /* of a transfer the arrival, until pfc_path_close */
    }
    return PFC_OK;
}

static pfc_code wait_for(pfc_path_builder *b, size_t unit, const pfc_trace_record *r, pfc_err *err)
{
    pfc_path_unit_state *u = &b->units[unit];

    if (u->waits_len == MAX_OPEN)
        return wrong(b, err, "a command has more waits than expected, at most", MAX_OPEN);
    u->waits = pfc_grow(u->waits, u->waits_len, &u->waits_cap, sizeof(*u->waits));
    u->waits[u->waits_len++] = (pfc_path_wait_for){ r->a, r->b };
    return PFC_OK;
}

static pfc_code take(pfc_path_builder *b, size_t unit, const pfc_trace_record *r, pfc_err *err)
{
    switch (r->type) {
    case PFC_TRACE_SEM_WAIT:
        return wait_for(b, unit, r, err);
    case PFC_TRACE_SEM_SIGNAL:
        return take_signal(b, unit, r, err);
    case PFC_TRACE_COMMAND:
        return take_command(b, unit, r, err);
    case PFC_TRACE_TILE_BEGIN:
    case PFC_TRACE_TILE_END:
    case PFC_TRACE_DMA_ISSUE:
    case PFC_TRACE_DMA_DONE:
        return begin_or_end(b, unit, r, err);
    case PFC_TRACE_PHASE:
        define_phase(b, r);
        return PFC_OK;
    case PFC_TRACE_LINE:
        define_line(b, r);
        return PFC_OK;
    case PFC_TRACE_KERNEL_END:
        b->graph.total = PFC_MAX(b->graph.total, r->ticks);
        return PFC_OK;
    case PFC_TRACE_DROP:
        return wrong(b, err, "records were lost, so no path can be found:", r->a);
    default:
        if (r->type >= PFC_TRACE_COST_STREAM && r->type <= PFC_TRACE_CHANNELS_HIGH)
            return take_cost(b, unit, r, err);
        return PFC_OK;
    }
}

/* In a region: true for records of the kernel whose graph is read. */
static bool belongs_to_kernel(pfc_path_builder *b, uint16_t kind, const pfc_trace_record *r)
{
    const bool sync = r->type == PFC_TRACE_SEM_WAIT || r->type == PFC_TRACE_SEM_SIGNAL;

    if (kind == PFC_TRACE_KIND_HOST || kind == PFC_TRACE_KIND_LINK ||
        (kind == PFC_TRACE_KIND_QUEUE && (sync || r->type == PFC_TRACE_FETCH)))
        return false;
    if (!pfc_path_has_region(&b->region))
        return true;
    if (r->type == PFC_TRACE_KERNEL_BEGIN && !b->kernel_seen) {
        b->kernel_seen = true;
        b->kernel_corr = r->corr;
        b->began = false;
        b->now = 0;
    }
    return b->kernel_seen && r->corr == b->kernel_corr;
}

pfc_code pfc_path_take(pfc_path_builder *b, const pfc_trace_record *record, pfc_err *err)
{
    const uint16_t at = b->unit_at[record->unit];
    pfc_trace_record r = *record;
    pfc_code code;

    b->path->records++;
    if (!at)
        return wrong(b, err, "the header has no unit", r.unit);
    code = pfc_path_region_take(&b->region, b->header, (size_t)at - 1, record, err);
    if (code || !belongs_to_kernel(b, b->graph.units[at - 1].kind, record))
        return code;
    if (++b->kept > PFC_PATH_MAX_RECORDS)
        return pfc_err_set(err, PFC_ETOOBIG, "the trace has more than %llu records",
                           PFC_PATH_MAX_RECORDS);
    code = relative(b, &r, err);
    return code ? code : take(b, (size_t)at - 1, &r, err);
}
