/*
 * The file as bytes, and a header with the tables to look records up in. Private to core/trace.
 *
 * All numbers are little-endian. The fixed part (64 bytes): magic, u16 major, u16 minor, u32 length
 * of the whole header, u16 clocks, units, counters, names, metadata pairs, u16 0, u64 digest of the
 * rest of the header, zeros. Then each entry in this order, its text behind a u8 length (u16 for a
 * value of metadata), and zeros up to a multiple of 32. The end record follows the records: type
 * 65535, ticks the digest of all records, a their number, b PFC_TRACE_END_MARK.
 */
#ifndef PFC_CORE_TRACE_LAYOUT_H
#define PFC_CORE_TRACE_LAYOUT_H

#include "core/base/buf.h"
#include "core/trace/trace.h"

#define PFC_TRACE_MAGIC        "PFCTRACE"
#define PFC_TRACE_FIXED_BYTES  64
#define PFC_TRACE_RECORD_BYTES 32
#define PFC_TRACE_TYPE_END     65535
#define PFC_TRACE_END_MARK     UINT64_C(0x31444e4543434650) /* "PFCCEND1" in the file */

/* ---- header.c ---- */

/** A header that owns its memory, and unit positions by id. */
typedef struct pfc_trace_index {
    pfc_trace_header header;
    uint16_t major, minor;
    uint16_t *unit_at;                        /* by id: position + 1 of the unit; 0: none */
    size_t ids;                               /* the highest id and one more */
    uint64_t tick_mask[PFC_TRACE_MAX_CLOCKS]; /* 2^width - 1 of each clock */
    /* Smaller values of a field of that kind contradict nothing; others may. */
    uint64_t below[PFC_TRACE_STATE + 1];
    void *parts[5]; /* the arrays of `header` */
    char *text;     /* all strings */
} pfc_trace_index;

/** The header as bytes, which it appends to `out`. The header has been checked. PFC_ETOOBIG when it
 *  is longer than PFC_TRACE_HEADER_BYTES. */
pfc_code pfc_trace_header_encode(const pfc_trace_header *header, pfc_buf *out,
                                 pfc_err *err) PFC_MUSTCHECK;
/** The length of the whole header from its fixed part, 64 bytes. PFC_EINVAL: not a trace. */
pfc_code pfc_trace_header_length(const uint8_t *fixed, size_t *out, pfc_err *err) PFC_MUSTCHECK;
/** Reads a header of `len` bytes. PFC_EINVAL with the offset of what is wrong. */
pfc_code pfc_trace_index_decode(pfc_trace_index **out, const uint8_t *bytes, size_t len,
                                pfc_err *err) PFC_MUSTCHECK;
void pfc_trace_index_free(pfc_trace_index *index);

/** A unit of the header by its id; NULL: there is none. */
static inline const pfc_trace_unit *pfc_trace_unit_of(const pfc_trace_index *index, uint64_t id)
{
    const size_t at = id < index->ids ? index->unit_at[id] : 0;

    return at ? &index->header.units[at - 1] : NULL;
}

/* ---- digest ---- */

#define PFC_TRACE_DIGEST_START UINT64_C(0xcbf29ce484222325)

/** Adds a word to a digest (FNV-1a over words, with the high bits folded in). It detects damage,
 *  not forgery. */
static inline uint64_t pfc_trace_digest(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * UINT64_C(0x100000001b3);
    return digest ^ (digest >> 32);
}

static inline uint64_t pfc_trace_record_digest(uint64_t digest, const pfc_trace_record *r)
{
    digest = pfc_trace_digest(digest, r->ticks);
    digest = pfc_trace_digest(digest, (uint64_t)r->type | (uint64_t)r->unit << 16 |
                                          (uint64_t)r->corr << 32);
    digest = pfc_trace_digest(digest, r->a);
    return pfc_trace_digest(digest, r->b);
}

/* ---- record.c ---- */

/** Ways in which a record contradicts the header. */
typedef enum pfc_trace_fault {
    PFC_TRACE_FAULT_NONE,
    PFC_TRACE_FAULT_TYPE,
    PFC_TRACE_FAULT_UNIT,
    PFC_TRACE_FAULT_SIDE,
    PFC_TRACE_FAULT_TICKS,
    PFC_TRACE_FAULT_COUNTER,
    PFC_TRACE_FAULT_FIELD
} pfc_trace_fault;

/** The first contradiction of a record; `why` (128 bytes) says it when there is one. */
pfc_trace_fault pfc_trace_record_fault(const pfc_trace_index *index, const pfc_trace_record *record,
                                       char why[128]);
void pfc_trace_record_encode(const pfc_trace_record *record, uint8_t out[PFC_TRACE_RECORD_BYTES]);
void pfc_trace_record_decode(const uint8_t bytes[PFC_TRACE_RECORD_BYTES], pfc_trace_record *out);

/* ---- little-endian numbers ---- */

static inline uint64_t pfc_trace_load(const uint8_t *bytes, unsigned len)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < len; i++)
        v |= (uint64_t)bytes[i] << (8 * i);
    return v;
}

static inline void pfc_trace_store(uint8_t *bytes, uint64_t v, unsigned len)
{
    for (unsigned i = 0; i < len; i++)
        bytes[i] = (uint8_t)(v >> (8 * i));
}

#endif
