/*
 * Traces of devices and their hosts: a header that names clock domains, units and counters, then
 * fixed records of 32 bytes (records.h). docs/reference/trace.md has the layout of the file.
 *
 * The writer is made for simulators: one copy into a buffer for each record. The reader takes files
 * of any size in bounded memory and trusts nothing in them. Records of a device have the ticks of
 * the device's own clock; host time follows from the clock_pair records.
 *
 * A writer or reader belongs to one thread at a time; several may exist.
 */
#ifndef PFC_CORE_TRACE_TRACE_H
#define PFC_CORE_TRACE_TRACE_H

#include "core/base/err.h"
#include "core/trace/records.h"

/* Limits of a header, each from 0 except for clocks and units, which begin at 1. */
#define PFC_TRACE_MAX_CLOCKS   64
#define PFC_TRACE_MAX_UNITS    1000
#define PFC_TRACE_MAX_COUNTERS 4096
#define PFC_TRACE_MAX_NAMES    65535
#define PFC_TRACE_MAX_META     256
#define PFC_TRACE_MAX_DEVICE   99          /* number of a device */
#define PFC_TRACE_MAX_HZ       10000000000 /* 10 GHz */
#define PFC_TRACE_NAME_BYTES   127         /* longest name, UTF-8, without a terminator */
#define PFC_TRACE_VALUE_BYTES  4095        /* longest value of a metadata pair */
#define PFC_TRACE_HEADER_BYTES (4u << 20)  /* longest header in a file */

/** A clock domain. */
typedef struct pfc_trace_clock {
    const char *name;
    uint64_t nominal_hz; /* 1..PFC_TRACE_MAX_HZ */
    uint32_t width_bits; /* 8..64: ticks are below 2^width and start again at 0 after that */
} pfc_trace_clock;

/** A unit: a line of time. Its records are in order of time. */
typedef struct pfc_trace_unit {
    const char *name;
    uint16_t id;     /* any, unique in the header; records name the unit by it */
    uint16_t kind;   /* PFC_TRACE_KIND_... */
    uint16_t clock;  /* position in `clocks` of the clock of its records */
    uint16_t device; /* 0..PFC_TRACE_MAX_DEVICE; 0 for the host */
    bool overlaps;   /* slices may overlap (several transfers under way); false: they nest */
} pfc_trace_unit;

/** A counter; counter_sample records refer to it by its position in `counters`. */
typedef struct pfc_trace_counter {
    const char *name; /* e.g. "hbm_busy_cycles" */
    const char *unit; /* e.g. "cycles"; "" when it has none */
} pfc_trace_counter;

/** Free text about the trace: "chip", "chip_hash", "kernel", "program_digest", "host_command"... */
typedef struct pfc_trace_meta {
    const char *key; /* unique in the header, not empty */
    const char *value;
} pfc_trace_meta;

/** All strings are UTF-8 without NUL; names of clocks, units and counters are not empty. The writer
 *  copies what it needs; a reader's header lives as long as the reader. */
typedef struct pfc_trace_header {
    const pfc_trace_clock *clocks;
    const pfc_trace_unit *units;
    const pfc_trace_counter *counters;
    const char *const *names; /* of calls, kernels, faults, markers: field n means names[n - 1] */
    const pfc_trace_meta *meta;
    size_t clocks_len, units_len, counters_len, names_len, meta_len;
} pfc_trace_header;

/** A record; records.h says what a and b mean for each type. */
typedef struct pfc_trace_record {
    uint64_t ticks; /* of the unit's clock */
    uint16_t type;  /* PFC_TRACE_... */
    uint16_t unit;  /* id of a unit of the header */
    uint32_t corr;  /* correlation id of the host call that caused it; 0: none */
    uint64_t a, b;
} pfc_trace_record;

/** PFC_EINVAL, naming the entry, when a header breaks one of the rules above. */
pfc_code pfc_trace_header_check(const pfc_trace_header *header, pfc_err *err) PFC_MUSTCHECK;
/** The value of a metadata pair; NULL: there is no such key. */
const char *pfc_trace_meta_value(const pfc_trace_header *header, const char *key);

/* ---- writer.c ---- */

/* 32 KiB: fits into the nearest cache, and a short trace does not pay for a long buffer. */
#define PFC_TRACE_BUFFER_RECORDS 1024

/** A writer; `next` and `end` are for pfc_trace_put alone, the rest is in writer.c. */
typedef struct pfc_trace_writer {
    pfc_trace_record *next, *end;
} pfc_trace_writer;

/**
 * Opens a trace for writing. The content goes to a temporary file beside `path`, which
 * pfc_trace_writer_close renames, so that a run that dies leaves no file that looks whole. A path
 * that exists and is no regular file (a pipe, /dev/stdout) is written directly.
 *
 * path    ends in ".json": Chrome JSON as Perfetto reads it (export.h); else the binary format
 * header  checked and copied
 *
 * PFC_EINVAL for a header that breaks its rules, PFC_ENOTFOUND or PFC_EIO when the file cannot be
 * created. Ends in pfc_trace_writer_close or pfc_trace_writer_drop.
 */
pfc_code pfc_trace_writer_open(pfc_trace_writer **out, const char *path,
                               const pfc_trace_header *header, pfc_err *err) PFC_MUSTCHECK;

/** Takes the records of a trace instead of a file: for an analysis in the same process. */
typedef struct pfc_trace_consumer {
    /* Called once, before the records. The header lives until the writer is closed or dropped. */
    pfc_code (*begin)(void *arg, const pfc_trace_header *header, pfc_err *err);
    /* Takes the next `len` records, which do not contradict the header. A failure is kept and
     * reported by pfc_trace_writer_close; no further records come then. */
    pfc_code (*records)(void *arg, const pfc_trace_record *records, size_t len, pfc_err *err);
    void *arg; /* of both functions */
} pfc_trace_consumer;

/** Opens a trace whose records go to `to`, which outlives the writer. PFC_EINVAL for a header that
 *  breaks its rules; the code of to->begin. */
pfc_code pfc_trace_writer_open_consumer(pfc_trace_writer **out, const pfc_trace_consumer *to,
                                        const pfc_trace_header *header, pfc_err *err) PFC_MUSTCHECK;

/** For pfc_trace_put: checks and writes out what is buffered. The first failure is kept, later
 *  records are then discarded. */
void pfc_trace_writer_flush(pfc_trace_writer *w);

/** Adds a record. Failures (a full disk, a record that contradicts the header) are reported by
 *  pfc_trace_writer_close. The records of a unit come in order of time. */
static inline void pfc_trace_put(pfc_trace_writer *w, const pfc_trace_record *record)
{
    if (__builtin_expect(w->next == w->end, 0))
        pfc_trace_writer_flush(w);
    *w->next++ = *record;
}

/** True once a record was refused or a write failed: a long run can stop early. */
bool pfc_trace_writer_failed(const pfc_trace_writer *w);

/** Writes the rest and the end record, and gives the file its name. On failure (PFC_EINVAL: record
 *  N contradicts the header; PFC_EIO) there is no file, or the one that was there before. Frees the
 *  writer in any case; NULL is PFC_OK. */
pfc_code pfc_trace_writer_close(pfc_trace_writer *w, pfc_err *err) PFC_MUSTCHECK;
/** Frees the writer and removes what it wrote. Accepts NULL. */
void pfc_trace_writer_drop(pfc_trace_writer *w);

/* ---- reader.c ---- */

typedef struct pfc_trace_reader pfc_trace_reader;

typedef enum pfc_trace_reading {
    PFC_TRACE_STRICT, /* the first fault of any kind ends the reading */
    PFC_TRACE_LENIENT /* records that contradict the header are passed on, for the checker */
} pfc_trace_reading;

/**
 * Opens a trace in the binary format and reads its header; "-" is standard input. Uses at most
 * 12 MiB, however long the file is.
 *
 * PFC_ENOTFOUND or PFC_EIO when it cannot be read; PFC_EINVAL when it is not a trace, is of
 * another major version, or its header is cut off or contradicts itself.
 */
pfc_code pfc_trace_reader_open(pfc_trace_reader **out, const char *path, pfc_trace_reading reading,
                               pfc_err *err) PFC_MUSTCHECK;
/** The same on bytes in memory, which outlive the reader; `name` stands for them in errors. */
pfc_code pfc_trace_reader_open_bytes(pfc_trace_reader **out, const void *bytes, size_t len,
                                     const char *name, pfc_trace_reading reading,
                                     pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_trace_reader_free(pfc_trace_reader *reader);
const pfc_trace_header *pfc_trace_reader_header(const pfc_trace_reader *reader);

/**
 * The next record into *out. *more is false at the end of a whole file: the end record is there,
 * its count and digest are those of the records read, and nothing follows.
 *
 * PFC_EINVAL, with the number (from 1) and byte offset of the record: the file is cut off, the
 * count or the digest differs, or bytes follow the end; with PFC_TRACE_STRICT also when the record
 * contradicts the header. PFC_EIO when reading fails. After a failure it fails the same way again.
 */
pfc_code pfc_trace_read(pfc_trace_reader *reader, pfc_trace_record *out, bool *more,
                        pfc_err *err) PFC_MUSTCHECK;
/** Records returned so far: the number of the newest one, from 1. */
uint64_t pfc_trace_reader_number(const pfc_trace_reader *reader);
/** Byte offset in the file of the newest record. */
uint64_t pfc_trace_reader_offset(const pfc_trace_reader *reader);

#endif
