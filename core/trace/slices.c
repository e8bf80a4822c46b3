/* Pairs of begin and end, and waits with their signals: see slices.h. */
#include "core/trace/slices.h"

#include <stdlib.h>
#include <string.h>

void pfc_trace_slices_init(pfc_trace_slices *s, const pfc_trace_index *index,
                           const pfc_trace_slices_to *to)
{
    s->index = index;
    s->to = *to;
    s->units = pfc_calloc(index->header.units_len, sizeof(*s->units));
}

void pfc_trace_slices_clear(pfc_trace_slices *s)
{
    for (size_t i = 0; s->units && i < s->index->header.units_len; i++) {
        free(s->units[i].open);
        free(s->units[i].lanes);
    }
    free(s->units);
    s->units = NULL;
    pfc_trace_semaphores_clear(&s->semaphores);
}

/* ---- slices that nest ---- */

pfc_code pfc_trace_slices_push(pfc_trace_slices *s, size_t unit, const pfc_trace_record *r,
                               int64_t ns, pfc_err *err)
{
    pfc_trace_stack *stack = &s->units[unit];

    if (stack->depth == PFC_TRACE_MAX_DEPTH)
        return pfc_err_set(err, PFC_EINVAL, "unit %u: more than %d slices are nested",
                           s->index->header.units[unit].id, PFC_TRACE_MAX_DEPTH);
    stack->open = pfc_grow(stack->open, stack->depth, &stack->cap, sizeof(*stack->open));
    stack->open[stack->depth++] = pfc_trace_open_of(r, unit, ns);
    return PFC_OK;
}

/* Ends the innermost slice. */
static void end_inner(pfc_trace_slices *s, pfc_trace_stack *stack, int64_t ns,
                      const pfc_trace_record *end, bool cut)
{
    stack->depth--;
    s->to.slice(s->to.arg, &(pfc_trace_ended){ .slice = &stack->open[stack->depth],
                                               .depth = stack->depth,
                                               .end_ns = ns,
                                               .end = end,
                                               .cut = cut });
}

bool pfc_trace_slices_pop(pfc_trace_slices *s, size_t unit, const pfc_trace_record *r, int64_t ns)
{
    pfc_trace_stack *stack = &s->units[unit];
    const uint16_t begin = pfc_trace_row_of(r->type)->partner;
    size_t at = stack->depth;

    while (at > 0 && !(stack->open[at - 1].type == begin && stack->open[at - 1].corr == r->corr))
        at--;
    if (at == 0)
        return false;
    while (stack->depth > at)
        end_inner(s, stack, ns, NULL, true);
    end_inner(s, stack, ns, r, false);
    return true;
}

/* ---- slices that overlap ---- */

size_t pfc_trace_slices_begin(pfc_trace_slices *s, size_t unit, const pfc_trace_record *r,
                              int64_t ns, bool *fresh)
{
    pfc_trace_stack *stack = &s->units[unit];
    size_t lane = 0;

    if (!stack->lanes)
        stack->lanes = pfc_calloc(PFC_TRACE_MAX_LANES, sizeof(*stack->lanes));
    while (lane < stack->lanes_len && (stack->lanes[lane].open || stack->lanes[lane].free_ns > ns))
        lane++;
    *fresh = lane == stack->lanes_len;
    if (lane == PFC_TRACE_MAX_LANES)
        return SIZE_MAX;
    stack->lanes_len += *fresh;
    stack->lanes[lane] = (pfc_trace_slot){ .slice = pfc_trace_open_of(r, unit, ns), .open = true };
    return lane;
}

static void end_lane(pfc_trace_slices *s, const pfc_trace_slot *slot, size_t lane, int64_t ns,
                     const pfc_trace_record *end)
{
    s->to.slice(s->to.arg, &(pfc_trace_ended){
                               .slice = &slot->slice, .lane = lane, .end_ns = ns, .end = end });
}

bool pfc_trace_slices_end(pfc_trace_slices *s, size_t unit, const pfc_trace_record *r, int64_t ns)
{
    pfc_trace_stack *stack = &s->units[unit];
    const uint16_t begin = pfc_trace_row_of(r->type)->partner;

    for (size_t lane = 0; lane < stack->lanes_len; lane++) {
        pfc_trace_slot *slot = &stack->lanes[lane];

        if (!slot->open || slot->slice.type != begin || slot->slice.corr != r->corr ||
            slot->slice.a != r->a)
            continue;
        end_lane(s, slot, lane, ns, r);
        slot->open = false;
        slot->free_ns = PFC_MAX(ns, slot->slice.ns);
        return true;
    }
    return false;
}

/* ---- semaphores ---- */

bool pfc_trace_slices_wait(pfc_trace_slices *s, size_t unit, const pfc_trace_record *r, int64_t ns)
{
    const pfc_trace_open wait = pfc_trace_open_of(r, unit, ns);

    if (pfc_trace_semaphore_reached(&s->semaphores, r->a, r->b))
        s->to.wait(s->to.arg, &wait, ns);
    else if (s->waits_len == PFC_TRACE_MAX_WAITS)
        return false;
    else
        s->waits[s->waits_len++] = wait;
    return true;
}

void pfc_trace_slices_signal(pfc_trace_slices *s, const pfc_trace_record *r, int64_t ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->waits_len; i++) {
        const pfc_trace_open wait = s->waits[i];

        if (wait.a == r->a && wait.b <= r->b)
            s->to.wait(s->to.arg, &wait, PFC_MAX(ns, wait.ns));
        else
            s->waits[kept++] = wait;
    }
    s->waits_len = kept;
    pfc_trace_semaphore_set(&s->semaphores, r->a, r->b);
}

/* ---- the end ---- */

void pfc_trace_slices_close(pfc_trace_slices *s, int64_t ns)
{
    for (size_t i = 0; i < s->index->header.units_len; i++) {
        pfc_trace_stack *stack = &s->units[i];

        while (stack->depth > 0)
            end_inner(s, stack, ns, NULL, false);
        for (size_t lane = 0; lane < stack->lanes_len; lane++)
            if (stack->lanes[lane].open)
                end_lane(s, &stack->lanes[lane], lane, ns, NULL);
    }
    for (size_t i = 0; i < s->waits_len; i++)
        s->to.wait(s->to.arg, &s->waits[i], ns);
    s->waits_len = 0;
}

const char *pfc_trace_slice_name(const pfc_trace_header *header, const pfc_trace_row *row,
                                 uint64_t a, size_t *len)
{
    const char *cut = row->phase == PFC_TRACE_BEGIN ? strrchr(row->name, '_') : NULL;
    const bool named = row->a_kind == PFC_TRACE_NAME && a > 0;
    const char *name = named ? header->names[a - 1] : row->name;

    *len = !named && cut ? (size_t)(cut - row->name) : strlen(name);
    return name;
}
