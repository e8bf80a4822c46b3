/* Checks of records in the order of the file: time, pairs, waits, correlation ids. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/trace/check/check_priv.h"
#include "core/trace/check/map.h"
#include "core/trace/reader_priv.h"
#include "core/trace/semaphores.h"

#define MAX_OPEN  4096
#define MAX_WAITS 4096

/* Correlation ids in pages, so that ids that count up need 8 bytes each. */
#define PAGE_IDS  4096
#define PAGES_MAX 1024

/* An open slice or wait. */
typedef struct open_slice {
    uint64_t ticks, record, offset, a, b;
    uint32_t corr;
    uint16_t type;
    uint16_t unit; /* id */
} open_slice;

/* A unit's state. */
typedef struct unit_state {
    uint64_t ticks, busy_until; /* of the newest record; the end of the newest complete slice */
    open_slice *open;           /* innermost last, when they nest */
    size_t open_len, open_cap;
    bool seen, busy;
    bool lossy; /* a drop record came: pairs are no longer checked */
} unit_state;

/* Of each id: 0 never seen, else record number * 4 + SUBMITTED + DONE. */
typedef struct id_page {
    uint32_t first; /* id */
    uint64_t ids[PAGE_IDS];
} id_page;

enum { SUBMITTED = 1, DONE = 2 };

typedef struct checker {
    const pfc_trace_index *index;
    const pfc_trace_reader *reader;
    pfc_trace_report *report;
    unit_state *units;
    open_slice waits[MAX_WAITS];
    size_t waits_len;
    pfc_trace_semaphores semaphores;
    id_page *pages[PAGES_MAX];
    pfc_trace_map page_at; /* from the number of a page to its position in `pages` */
    bool has_host;
} checker;

#define FOUND(c, kind, ...)                                                                        \
    pfc_trace_found((c)->report, PFC_TRACE_CHECK_##kind, pfc_trace_reader_number((c)->reader),     \
                    pfc_trace_reader_offset((c)->reader), __VA_ARGS__)

static open_slice slice_of(const checker *c, const pfc_trace_record *r)
{
    return (open_slice){ .ticks = r->ticks,
                         .record = pfc_trace_reader_number(c->reader),
                         .offset = pfc_trace_reader_offset(c->reader),
                         .a = r->a,
                         .b = r->b,
                         .corr = r->corr,
                         .type = r->type,
                         .unit = r->unit };
}

/* ---- time ---- */

/* From `from` to `to` is a step backward: more than half the clock's range forward. */
static bool is_backward(uint64_t mask, uint64_t from, uint64_t to)
{
    return ((to - from) & mask) > mask / 2;
}

static void check_time(checker *c, const pfc_trace_unit *unit, unit_state *u,
                       const pfc_trace_record *r)
{
    if (u->seen && !unit->overlaps &&
        is_backward(c->index->tick_mask[unit->clock], u->ticks, r->ticks))
        FOUND(c, BACKWARD, "unit %u: ticks %" PRIu64 " come after %" PRIu64, unit->id, r->ticks,
              u->ticks);
    u->ticks = r->ticks;
    u->seen = true;
}

/* ---- slices ---- */

static void begin_slice(checker *c, const pfc_trace_unit *unit, unit_state *u,
                        const pfc_trace_record *r)
{
    if (u->open_len == MAX_OPEN) {
        FOUND(c, LIMIT, "unit %u: more than %d slices are open", unit->id, MAX_OPEN);
        u->open_len = 0;
        u->lossy = true;
    }
    if (unit->overlaps)
        for (size_t i = 0; i < u->open_len; i++)
            if (u->open[i].type == r->type && u->open[i].corr == r->corr && u->open[i].a == r->a)
                FOUND(c, TWICE,
                      "unit %u: %s with id %u and a = %" PRIu64 " is open since record %" PRIu64,
                      unit->id, pfc_trace_row_of(r->type)->name, r->corr, r->a, u->open[i].record);
    u->open = pfc_grow(u->open, u->open_len, &u->open_cap, sizeof(*u->open));
    u->open[u->open_len++] = slice_of(c, r);
}

/* The newest open slice that the record ends, + 1; 0: none. */
static size_t find_begin(const pfc_trace_unit *unit, const unit_state *u, const pfc_trace_record *r)
{
    const uint16_t begin = pfc_trace_row_of(r->type)->partner;
    size_t at = u->open_len;

    while (at > 0 && !(u->open[at - 1].type == begin && u->open[at - 1].corr == r->corr &&
                       (!unit->overlaps || u->open[at - 1].a == r->a)))
        at--;
    return at;
}

static void end_slice(checker *c, const pfc_trace_unit *unit, unit_state *u,
                      const pfc_trace_record *r)
{
    const char *name = pfc_trace_row_of(r->type)->name;
    const size_t at = find_begin(unit, u, r);

    if (at == 0) {
        if (!u->lossy)
            FOUND(c, END_WITHOUT_BEGIN, "unit %u: %s with id %u ends nothing", unit->id, name,
                  r->corr);
        return;
    }
    if (is_backward(c->index->tick_mask[unit->clock], u->open[at - 1].ticks, r->ticks))
        FOUND(c, END_BEFORE_BEGIN, "unit %u: %s is before its begin in record %" PRIu64, unit->id,
              name, u->open[at - 1].record);
    if (unit->overlaps) {
        memmove(&u->open[at - 1], &u->open[at], (u->open_len - at) * sizeof(*u->open));
        u->open_len--;
        return;
    }
    if (at < u->open_len)
        FOUND(c, NESTING,
              "unit %u: %s ends the slice of record %" PRIu64 " before that of record %" PRIu64,
              unit->id, name, u->open[at - 1].record, u->open[u->open_len - 1].record);
    /* Only the slice that ended leaves: the others may end later. */
    memmove(&u->open[at - 1], &u->open[at], (u->open_len - at) * sizeof(*u->open));
    u->open_len--;
}

/* A begin or end within a complete slice (a fetch) crosses it. */
static void check_busy(checker *c, const pfc_trace_unit *unit, unit_state *u,
                       const pfc_trace_record *r)
{
    const uint64_t mask = c->index->tick_mask[unit->clock];
    const pfc_trace_phase phase = pfc_trace_row_of(r->type)->phase;

    if (unit->overlaps ||
        (phase != PFC_TRACE_BEGIN && phase != PFC_TRACE_END && phase != PFC_TRACE_COMPLETE))
        return;
    if (u->busy && u->busy_until != r->ticks && is_backward(mask, u->busy_until, r->ticks))
        FOUND(c, NESTING, "unit %u: %s is within a slice that ends at tick %" PRIu64, unit->id,
              pfc_trace_row_of(r->type)->name, u->busy_until);
    u->busy = phase == PFC_TRACE_COMPLETE;
    if (u->busy && r->b > mask / 2)
        FOUND(c, END_BEFORE_BEGIN,
              "unit %u: a duration of %" PRIu64 " ticks is more than half of the clock's range",
              unit->id, r->b);
    u->busy_until = (r->ticks + r->b) & mask;
}

/* ---- semaphores ---- */

static void begin_wait(checker *c, const pfc_trace_record *r)
{
    if (pfc_trace_semaphore_reached(&c->semaphores, r->a, r->b))
        return;
    if (c->waits_len == MAX_WAITS) {
        FOUND(c, LIMIT, "more than %d waits for semaphores are open", MAX_WAITS);
        return;
    }
    c->waits[c->waits_len++] = slice_of(c, r);
}

static void signal_waits(checker *c, const pfc_trace_record *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->waits_len; i++)
        if (c->waits[i].a != r->a || c->waits[i].b > r->b)
            c->waits[kept++] = c->waits[i];
    c->waits_len = kept;
    pfc_trace_semaphore_set(&c->semaphores, r->a, r->b);
}

/* ---- correlation ids ---- */

/* The place of an id; NULL: too many ids. */
static uint64_t *place_of(checker *c, uint32_t corr)
{
    pfc_trace_entry *entry = pfc_trace_map_find(&c->page_at, corr / PAGE_IDS);

    if (!entry) {
        entry = pfc_trace_map_add(&c->page_at, corr / PAGE_IDS, 1);
        if (!entry)
            return NULL;
        entry->at = c->page_at.len - 1;
        c->pages[entry->at] = pfc_alloc(sizeof(id_page));
        c->pages[entry->at]->first = corr - corr % PAGE_IDS;
    }
    return &c->pages[entry->at]->ids[corr % PAGE_IDS];
}

static void check_correlation(checker *c, const pfc_trace_unit *unit, const pfc_trace_record *r)
{
    const uint64_t record = pfc_trace_reader_number(c->reader);
    uint64_t *place;

    if (r->corr == 0 || !c->has_host || c->report->dropped)
        return;
    place = place_of(c, r->corr);
    if (!place)
        return;
    if (unit->kind == PFC_TRACE_KIND_HOST) {
        if (r->type == PFC_TRACE_SUBMIT)
            *place = record * 4 + SUBMITTED;
        else if (!*place && r->type == PFC_TRACE_API_ENTER)
            *place = record * 4;
        return;
    }
    if (!*place) {
        FOUND(c, FLOW_BEGIN, "unit %u: %s has the id %u, which no earlier call of the host has",
              unit->id, pfc_trace_row_of(r->type)->name, r->corr);
        *place = record * 4;
    }
    *place |= DONE;
}

/* ---- all ---- */

static void check_drop(checker *c, unit_state *u, const pfc_trace_record *r)
{
    c->report->dropped += r->a;
    u->lossy = true;
    u->busy = false;
    u->open_len = 0;
}

static const pfc_trace_check_kind kinds[] = {
    [PFC_TRACE_FAULT_TYPE] = PFC_TRACE_CHECK_TYPE,
    [PFC_TRACE_FAULT_UNIT] = PFC_TRACE_CHECK_UNIT,
    [PFC_TRACE_FAULT_SIDE] = PFC_TRACE_CHECK_SIDE,
    [PFC_TRACE_FAULT_TICKS] = PFC_TRACE_CHECK_TICKS,
    [PFC_TRACE_FAULT_COUNTER] = PFC_TRACE_CHECK_COUNTER,
    [PFC_TRACE_FAULT_FIELD] = PFC_TRACE_CHECK_FIELD,
};

static void check_record(checker *c, const pfc_trace_record *r)
{
    char why[128];
    const pfc_trace_fault fault = pfc_trace_record_fault(c->index, r, why);
    const pfc_trace_unit *unit = pfc_trace_unit_of(c->index, r->unit);
    const pfc_trace_row *row = pfc_trace_row_of(r->type);
    unit_state *u;

    if (fault) {
        pfc_trace_found(c->report, kinds[fault], pfc_trace_reader_number(c->reader),
                        pfc_trace_reader_offset(c->reader), "%s", why);
        return;
    }
    u = &c->units[unit - c->index->header.units];
    check_time(c, unit, u, r);
    check_busy(c, unit, u, r);
    check_correlation(c, unit, r);
    if (row->phase == PFC_TRACE_BEGIN)
        begin_slice(c, unit, u, r);
    else if (row->phase == PFC_TRACE_END)
        end_slice(c, unit, u, r);
    else if (row->phase == PFC_TRACE_WAIT)
        begin_wait(c, r);
    else if (row->phase == PFC_TRACE_SIGNAL)
        signal_waits(c, r);
    else if (r->type == PFC_TRACE_DROP)
        check_drop(c, u, r);
}

static void check_end(checker *c)
{
    for (size_t i = 0; i < c->index->header.units_len; i++)
        for (size_t k = 0; k < c->units[i].open_len; k++) {
            const open_slice *s = &c->units[i].open[k];

            pfc_trace_found(c->report, PFC_TRACE_CHECK_BEGIN_WITHOUT_END, s->record, s->offset,
                            "unit %u: %s with id %u has no end", s->unit,
                            pfc_trace_row_of(s->type)->name, s->corr);
        }
    for (size_t i = 0; i < c->waits_len; i++)
        pfc_trace_found(c->report, PFC_TRACE_CHECK_WAIT, c->waits[i].record, c->waits[i].offset,
                        "unit %u: semaphore %" PRIu64 " never reaches %" PRIu64, c->waits[i].unit,
                        c->waits[i].a, c->waits[i].b);
    for (size_t i = 0; i < c->page_at.len && !c->report->dropped; i++)
        for (uint32_t k = 0; k < PAGE_IDS; k++) {
            const uint64_t id = c->pages[i]->ids[k];

            if ((id & 3) == SUBMITTED)
                pfc_trace_found(c->report, PFC_TRACE_CHECK_FLOW_END, id / 4,
                                pfc_trace_reader_offset_of(c->reader, id / 4),
                                "the command with id %u was submitted, no device worked on it",
                                c->pages[i]->first + k);
        }
}

static void free_checker(checker *c)
{
    for (size_t i = 0; i < c->index->header.units_len; i++)
        free(c->units[i].open);
    for (size_t i = 0; i < c->page_at.len; i++)
        free(c->pages[i]);
    pfc_trace_map_clear(&c->page_at);
    pfc_trace_semaphores_clear(&c->semaphores);
    free(c->units);
    free(c);
}

static bool has_host(const pfc_trace_header *h)
{
    for (size_t i = 0; i < h->units_len; i++)
        if (h->units[i].kind == PFC_TRACE_KIND_HOST)
            return true;
    return false;
}

pfc_code pfc_trace_check_binary(pfc_trace_reader *reader, pfc_trace_report *report, pfc_err *err)
{
    checker *c = pfc_alloc(sizeof(*c));
    pfc_trace_record record;
    pfc_err why = { 0 };
    bool more = true;
    pfc_code code = PFC_OK;

    c->index = pfc_trace_reader_index(reader);
    c->reader = reader;
    c->report = report;
    pfc_trace_map_init(&c->page_at, PAGES_MAX);
    c->has_host = has_host(&c->index->header);
    c->units = pfc_calloc(c->index->header.units_len, sizeof(*c->units));
    while (!code && more) {
        code = pfc_trace_read(reader, &record, &more, &why);
        if (!code && more)
            check_record(c, &record);
    }
    report->records = pfc_trace_reader_number(reader);
    if (code == PFC_EINVAL) /* what is open in a file that is cut off may have ended */
        pfc_trace_found(report, PFC_TRACE_CHECK_FILE, report->records + 1,
                        pfc_trace_reader_offset(reader), "%s", why.msg);
    else if (!code)
        check_end(c);
    free_checker(c);
    if (code == PFC_EIO)
        return pfc_err_set(err, PFC_EIO, "%s", why.msg);
    return PFC_OK;
}
