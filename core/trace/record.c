/* The tables of records.h as data; encodes, decodes and validates one record. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/trace/layout.h"

/* Indexed by number; a number without a row has no name. */
static const pfc_trace_row rows[] = {
#define PFC_X(number_, id, name_, phase_, side_, category_, partner_, a_kind_, a_name_, a_unit_,   \
              b_kind_, b_name_, b_unit_, meaning_)                                                 \
    [number_] = { .number = (number_),                                                             \
                  .partner = PFC_TRACE_##partner_,                                                 \
                  .phase = PFC_TRACE_##phase_,                                                     \
                  .side = PFC_TRACE_SIDE_##side_,                                                  \
                  .a_kind = PFC_TRACE_##a_kind_,                                                   \
                  .b_kind = PFC_TRACE_##b_kind_,                                                   \
                  .name = (name_),                                                                 \
                  .category = (category_),                                                         \
                  .a_name = (a_name_),                                                             \
                  .a_unit = (a_unit_),                                                             \
                  .b_name = (b_name_),                                                             \
                  .b_unit = (b_unit_),                                                             \
                  .meaning = (meaning_) },
    PFC_TRACE_RECORDS(PFC_X)
#undef PFC_X
};

static const pfc_trace_word kinds[] = {
#define PFC_X(number_, id, name_, track_, meaning_)                                                \
    [number_] = { .number = (number_), .track = (track_), .name = (name_), .meaning = (meaning_) },
    PFC_TRACE_KINDS(PFC_X)
#undef PFC_X
};

static const pfc_trace_word states[] = {
#define PFC_X(number_, id, name_, meaning_)                                                        \
    [number_] = { .number = (number_), .name = (name_), .meaning = (meaning_) },
    PFC_TRACE_STATES(PFC_X)
#undef PFC_X
};

const pfc_trace_row *pfc_trace_row_of(uint16_t type)
{
    return type < PFC_ARRAY_LEN(rows) && rows[type].name ? &rows[type] : NULL;
}

const pfc_trace_row *pfc_trace_row_at(unsigned i)
{
    for (size_t type = 0; type < PFC_ARRAY_LEN(rows); type++)
        if (rows[type].name && i-- == 0)
            return &rows[type];
    return NULL;
}

const pfc_trace_word *pfc_trace_kind_of(uint64_t number)
{
    return number < PFC_ARRAY_LEN(kinds) && kinds[number].name ? &kinds[number] : NULL;
}

const pfc_trace_word *pfc_trace_state_of(uint64_t number)
{
    return number < PFC_ARRAY_LEN(states) && states[number].name ? &states[number] : NULL;
}

const char *pfc_trace_phase_name(pfc_trace_phase phase)
{
    static const char *const names[] = {
        [PFC_TRACE_BEGIN] = "begin",     [PFC_TRACE_END] = "end",
        [PFC_TRACE_COMPLETE] = "slice",  [PFC_TRACE_WAIT] = "wait",
        [PFC_TRACE_SIGNAL] = "signal",   [PFC_TRACE_INSTANT] = "instant",
        [PFC_TRACE_COUNTER] = "counter", [PFC_TRACE_DETAIL] = "detail",
    };

    return names[phase];
}

const char *pfc_trace_side_name(pfc_trace_side side)
{
    static const char *const names[] = {
        [PFC_TRACE_SIDE_HOST] = "host",
        [PFC_TRACE_SIDE_DEVICE] = "device",
        [PFC_TRACE_SIDE_ANY] = "any",
    };

    return names[side];
}

const char *pfc_trace_field_name(pfc_trace_field field)
{
    static const char *const names[] = {
        [PFC_TRACE_UNUSED] = "unused", [PFC_TRACE_NUMBER] = "number", [PFC_TRACE_NAME] = "name",
        [PFC_TRACE_UNIT_ID] = "unit",  [PFC_TRACE_SERIES] = "series", [PFC_TRACE_CLOCK] = "clock",
        [PFC_TRACE_STATE] = "state",
    };

    return names[field];
}

/* ---- contradictions ---- */

static bool field_ok(const pfc_trace_index *index, pfc_trace_field kind, uint64_t value)
{
    switch (kind) {
    case PFC_TRACE_NUMBER:
        break;
    case PFC_TRACE_UNUSED:
        return value == 0;
    case PFC_TRACE_NAME:
        return value <= index->header.names_len;
    case PFC_TRACE_UNIT_ID:
        return pfc_trace_unit_of(index, value) != NULL;
    case PFC_TRACE_SERIES:
        return value < index->header.counters_len;
    case PFC_TRACE_CLOCK:
        return value < index->header.clocks_len;
    case PFC_TRACE_STATE:
        return pfc_trace_state_of(value) != NULL;
    }
    return true;
}

static pfc_trace_fault field_fault(const pfc_trace_row *row, bool is_a, uint64_t value,
                                   char why[128])
{
    const pfc_trace_field kind = is_a ? row->a_kind : row->b_kind;

    snprintf(why, 128, "%s: %s %" PRIu64 " is no %s of the header", row->name,
             is_a ? row->a_name : "field b", value,
             kind == PFC_TRACE_SERIES ? "counter" : pfc_trace_field_name(kind));
    if (kind == PFC_TRACE_UNUSED)
        snprintf(why, 128, "%s: field %c is unused, expected 0, got %" PRIu64, row->name,
                 is_a ? 'a' : 'b', value);
    if (kind == PFC_TRACE_STATE)
        snprintf(why, 128, "%s: there is no state %" PRIu64, row->name, value);
    return kind == PFC_TRACE_SERIES ? PFC_TRACE_FAULT_COUNTER : PFC_TRACE_FAULT_FIELD;
}

pfc_trace_fault pfc_trace_record_fault(const pfc_trace_index *index, const pfc_trace_record *record,
                                       char why[128])
{
    const pfc_trace_row *row = pfc_trace_row_of(record->type);
    const pfc_trace_unit *unit = pfc_trace_unit_of(index, record->unit);

    if (!row) {
        snprintf(why, 128, "there is no record type %u", record->type);
        return PFC_TRACE_FAULT_TYPE;
    }
    if (!unit) {
        snprintf(why, 128, "%s: unit %u is not in the header", row->name, record->unit);
        return PFC_TRACE_FAULT_UNIT;
    }
    if (row->side != PFC_TRACE_SIDE_ANY &&
        (row->side == PFC_TRACE_SIDE_HOST) != (unit->kind == PFC_TRACE_KIND_HOST)) {
        snprintf(why, 128, "%s is a record of the %s, unit %u is of the kind %s", row->name,
                 pfc_trace_side_name(row->side), unit->id, pfc_trace_kind_of(unit->kind)->name);
        return PFC_TRACE_FAULT_SIDE;
    }
    if (record->ticks > index->tick_mask[unit->clock]) {
        snprintf(why, 128, "%s: ticks %" PRIu64 " do not fit in the %u bits of clock %u", row->name,
                 record->ticks, index->header.clocks[unit->clock].width_bits, unit->clock);
        return PFC_TRACE_FAULT_TICKS;
    }
    if (record->a < index->below[row->a_kind] && record->b < index->below[row->b_kind])
        return PFC_TRACE_FAULT_NONE; /* as nearly all records */
    if (!field_ok(index, row->a_kind, record->a))
        return field_fault(row, true, record->a, why);
    if (!field_ok(index, row->b_kind, record->b))
        return field_fault(row, false, record->b, why);
    return PFC_TRACE_FAULT_NONE;
}

/* ---- bytes ---- */

/* In memory a record has the fields of the file in their order, without gaps: on a machine that is
 * little-endian its bytes are those of the file. */
#define SAME_BYTES (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
_Static_assert(sizeof(pfc_trace_record) == PFC_TRACE_RECORD_BYTES &&
                   offsetof(pfc_trace_record, ticks) == 0 &&
                   offsetof(pfc_trace_record, type) == 8 &&
                   offsetof(pfc_trace_record, unit) == 10 &&
                   offsetof(pfc_trace_record, corr) == 12 && offsetof(pfc_trace_record, a) == 16 &&
                   offsetof(pfc_trace_record, b) == 24,
               "records are copied as they are");

void pfc_trace_record_encode(const pfc_trace_record *record, uint8_t out[PFC_TRACE_RECORD_BYTES])
{
    if (SAME_BYTES) {
        memcpy(out, record, PFC_TRACE_RECORD_BYTES);
        return;
    }
    pfc_trace_store(out, record->ticks, 8);
    pfc_trace_store(out + 8, record->type, 2);
    pfc_trace_store(out + 10, record->unit, 2);
    pfc_trace_store(out + 12, record->corr, 4);
    pfc_trace_store(out + 16, record->a, 8);
    pfc_trace_store(out + 24, record->b, 8);
}

void pfc_trace_record_decode(const uint8_t bytes[PFC_TRACE_RECORD_BYTES], pfc_trace_record *out)
{
    if (SAME_BYTES) {
        memcpy(out, bytes, PFC_TRACE_RECORD_BYTES);
        return;
    }
    out->ticks = pfc_trace_load(bytes, 8);
    out->type = (uint16_t)pfc_trace_load(bytes + 8, 2);
    out->unit = (uint16_t)pfc_trace_load(bytes + 10, 2);
    out->corr = (uint32_t)pfc_trace_load(bytes + 12, 4);
    out->a = pfc_trace_load(bytes + 16, 8);
    out->b = pfc_trace_load(bytes + 24, 8);
}
