/* Declarations shared by the readers of core/import: the run being built, units, JSON, lines, CSV.
 * Private to it. */
#ifndef PFC_CORE_IMPORT_READER_READER_H
#define PFC_CORE_IMPORT_READER_READER_H

#include "core/import/import.h"

struct pfc_import;

/** A part of the text; not terminated. */
typedef struct pfc_span {
    const char *text;
    size_t len;
} pfc_span;

/** One format: how it is recognised and read. A pair of NULLs: it has no such form. */
typedef struct pfc_import_format {
    const char *name;
    bool (*match_json)(const json_t *doc); /* does the document look like this format? */
    pfc_code (*read_json)(struct pfc_import *in, const json_t *doc);
    bool (*match_text)(const char *text, size_t len);
    pfc_code (*read_text)(struct pfc_import *in, const char *text, size_t len);
    bool bare; /* all of its metrics are the user's own: each needs a direction */
} pfc_import_format;

/** Cache entry: the direction and unit that a name and a unit mean, for the next measurement of
 * that name; a history has one a commit. The strings are owned by a measurement. */
typedef struct pfc_import_meaning {
    const char *metric;
    const char *unit;
    int nature;
} pfc_import_meaning;
#define PFC_IMPORT_MEANINGS 256 /* a power of two */

/** A measurement of unknown direction. */
typedef struct pfc_import_unknown {
    size_t run; /* number of its run among those of a history */
    size_t index;
} pfc_import_unknown;

/** Runs being built, with an index over (benchmark, metric, backend), so that repetitions that
 *  lie apart in the input come together in constant time. */
typedef struct pfc_import {
    pfc_import_opts opts;
    const pfc_import_format *format;
    pfc_run *run;     /* the one being filled */
    uint32_t *slots;  /* measurement number + 1; 0: free */
    size_t slots_len; /* a power of two */
    pfc_run **done;   /* finished points of a history, with opts.split */
    size_t done_len;
    size_t done_cap;
    pfc_import_meaning meanings[PFC_IMPORT_MEANINGS];
    pfc_import_unknown *unknown;
    size_t unknown_len;
    size_t unknown_cap;
    char **notes;
    size_t notes_len;
    pfc_measurement *last; /* that of the last sample; valid until another measurement is made */
    uint32_t point;        /* number of points begun */
    pfc_span json;         /* text of the document that is being read; empty: not one text */
    pfc_err *err;
} pfc_import;

/* ---- run_builder.c, missing_directions.c: runs being built ---- */

/** Identity of a measurement: where its samples are added. Strings are copied. */
typedef struct pfc_import_key {
    const char *benchmark; /* cleaned and cut to the limits on adding */
    const char *metric;
    const char *unit; /* NULL: opts.unit, else from the metric's name */
    bool has_direction;
    bool higher_is_better; /* else opts, else by nature */
    const char *backend;   /* device, environment; NULL: "" */
} pfc_import_key;

/** The measurement of that benchmark, metric and backend, made when new; NULL with *in->err at the
 *  limit. Valid until the next call. */
pfc_measurement *pfc_import_measurement(pfc_import *in, const pfc_import_key *key);
/** Adds a sample to the last block. A value that is not finite turns a measurement without samples
 *  into a skipped one that says so. */
pfc_code pfc_import_sample(pfc_import *in, const pfc_import_key *key, double value) PFC_MUSTCHECK;
/** As pfc_import_sample, to a measurement that was just found, of a finite value. */
pfc_code pfc_import_sample_of(pfc_import *in, pfc_measurement *m, double value) PFC_MUSTCHECK;
/** As pfc_import_sample, in a block (process) of its own when `block` differs from the last one's
 *  number; blocks of one measurement are numbered from 0 without gaps. */
pfc_code pfc_import_block_sample(pfc_import *in, const pfc_import_key *key, size_t block,
                                 double value) PFC_MUSTCHECK;
/** Marks it as broken or skipped. */
pfc_code pfc_import_failed(pfc_import *in, const pfc_import_key *key, pfc_status status,
                           const char *reason) PFC_MUSTCHECK;
/** Begins a new point of a history: the following samples are of another commit or time. Texts may
 * be NULL, time 0. */
pfc_code pfc_import_point(pfc_import *in, const char *commit, const char *branch,
                          double time_unix_s) PFC_MUSTCHECK;
/** Sets the time of the run from a date as its format writes it; NULL and texts that are not dates
 * are ignored. */
void pfc_import_date(pfc_import *in, const char *text);
/** The run's own commit, when it is a full id. */
void pfc_import_commit(pfc_import *in, const char *commit);
/** A fact beside the samples, as text; a number that is not finite is left out. */
void pfc_import_extra(pfc_measurement *m, const char *name, double value);
/** Adds a parameter, name and value shortened to the wire's limits; ignored without a name, and
 * after the 64th. */
void pfc_import_param(pfc_measurement *m, const char *name, const char *value);
/** A sentence for the user; repeated ones once, at most PFC_IMPORT_MAX_NOTES. */
void pfc_import_note(pfc_import *in, const char *fmt, ...) PFC_PRINTF(2, 3);
/** PFC_EINVAL that asks for unknown directions, or leaves those measurements out: see
 * pfc_import_read. Called when all runs are in in->done. */
pfc_code pfc_import_require_directions(pfc_import *in) PFC_MUSTCHECK;
/** The benchmark's name when the text has none. */
const char *pfc_import_nameless(const pfc_import *in, const char *fallback);

/* ---- units.c ---- */

/** The unit in one spelling ("GFLOPs" and "gflops" are "GFLOP/s"); unknown ones as they are. */
const char *pfc_import_unit_spelled(const char *unit);
/** The base unit (ns, bytes, B/s, Hz, FLOP/s, items/s, ...) and the factor that converts a value to
 * it; unknown units unchanged, with factor 1. */
const char *pfc_import_unit_base(const char *unit, double *scale);
/** Times become ns, all others keep their size: the spelled unit and the factor. */
const char *pfc_import_unit_time(const char *unit, double *scale);
/** Nanoseconds of a time's unit; NAN when it is none. */
double pfc_import_unit_ns(const char *unit);

/* ---- directions.c ---- */

#define PFC_IMPORT_UNIT_BYTES 48

/** The unit that a metric's name carries ("TFLOP/s" of "gemm_tflops", "tokens/s" of
 * "tokens_per_s"), or "". Returns `out`. */
const char *pfc_import_unit_of(const char *metric, char out[PFC_IMPORT_UNIT_BYTES]);

/* ---- json.c ---- */

/** JSON as tools write it: bare NaN, Infinity and -Infinity are read as null. The caller releases
 * *out. */
pfc_code pfc_import_json(const char *text, size_t len, json_t **out, pfc_err *err) PFC_MUSTCHECK;
/** The same with the string PFC_IMPORT_NAN in their place: asv's null and NaN mean two things. */
pfc_code pfc_import_json_with_nan(const char *text, size_t len, json_t **out,
                                  pfc_err *err) PFC_MUSTCHECK;
#define PFC_IMPORT_NAN "NaN"
/** Bytes of the object or array that the text begins with, up to its last bracket; 0: it is
 *  not closed. The content is not checked. */
size_t pfc_import_json_end(const char *text, size_t len);
/** JSON lines as one array; other lines among them are fine. */
pfc_code pfc_import_json_lines(const char *text, size_t len, json_t **out,
                               pfc_err *err) PFC_MUSTCHECK;
/** Number of a value: finite, else NAN (null, absent, not a number). Numbers in strings count. */
double pfc_import_json_number(const json_t *value);
/** Number of a member, as above. */
double pfc_import_number(const json_t *obj, const char *key);
/** String of a member, or NULL. */
const char *pfc_import_string(const json_t *obj, const char *key);
/** First member of an object, for matching: its value (*key may be NULL), or NULL. */
const json_t *pfc_import_first(const json_t *obj, const char **key);

/* for (PFC_JSON_EACH(it, obj)) over members: jansson's iterator takes a non-const object. */
#define PFC_JSON_EACH(it, obj)                                                                     \
    void *it = json_object_iter((json_t *)(uintptr_t)(obj));                                       \
    it;                                                                                            \
    it = json_object_iter_next((json_t *)(uintptr_t)(obj), it)

/* ---- text.c: lines, words, numbers ---- */

typedef struct pfc_lines {
    const char *at;
    const char *end;
    size_t number; /* of the current line, from 1 */
} pfc_lines;

void pfc_lines_init(pfc_lines *lines, const char *text, size_t len);
/** The next line without its end (LF or CRLF); false at the end. */
bool pfc_lines_next(pfc_lines *lines, pfc_span *line);

/** True when `wanted` accepts one of the first `max` lines. */
bool pfc_lines_any(const char *text, size_t len, size_t max, bool (*wanted)(pfc_span line));

pfc_span pfc_span_trim(pfc_span s);
bool pfc_span_is(pfc_span s, const char *text);
bool pfc_span_is_nocase(pfc_span s, const char *text);
bool pfc_span_starts(pfc_span s, const char *text);
bool pfc_span_ends(pfc_span s, const char *text);
/** Where `text` begins in s, or s.len. */
size_t pfc_span_find(pfc_span s, const char *text);
/** Cuts the next word (no spaces) off the front of *s; false when there is none. */
bool pfc_span_word(pfc_span *s, pfc_span *word);
/** Up to `cap` words; returns how many there are. */
size_t pfc_span_words(pfc_span s, pfc_span *words, size_t cap);
/** A terminated copy; caller frees. */
char *pfc_span_dup(pfc_span s);

typedef enum pfc_number_kind {
    PFC_NUMBER,          /* *out is finite */
    PFC_NUMBER_NONE,     /* empty, nan, inf, n/a, null, "-": no value, but its place */
    PFC_NUMBER_NO_NUMBER /* other text */
} pfc_number_kind;

/** A decimal number with thousands separators ("1,208,777.47"), spaces around it, a sign, an
 *  exponent; a following "%" is fine. */
pfc_number_kind pfc_span_number(pfc_span s, double *out);
/** A number and its unit, joined or not: "41.7 us", "1.82GiB/s"; *unit may come out empty. */
bool pfc_span_quantity(pfc_span s, double *value, pfc_span *unit);

/* ---- decode.c: each returns a new text, which the caller frees, or NULL when the text needs no
 * change ---- */

char *pfc_import_from_utf16(const char *text, size_t len, size_t *out_len);
char *pfc_import_without_escapes(const char *text, size_t len, size_t *out_len);
char *pfc_import_without_stamps(const char *text, size_t len, size_t *out_len);

/* ---- csv.c ---- */

#define PFC_CSV_MAX_COLUMNS 4096

/** A reader of CSV as RFC 4180 has it, and as tools write it: any delimiter, CRLF, quotes anywhere,
 *  rows of any length, blank lines. Cells are views into the text, or into `scratch` when they had
 *  doubled quotes; valid until the next row. */
typedef struct pfc_csv {
    const char *at;
    const char *end;
    char delimiter;
    char quote;
    size_t line; /* of the current row, from 1 */
    size_t next_line;
    pfc_span *cells;
    size_t cells_len;
    size_t cells_cap;
    char *scratch;
    size_t scratch_cap;
    pfc_span *names; /* the header's, owned copies in `header` */
    size_t names_len;
    char *header;
} pfc_csv;

/** Places the reader before `text`, whose first line has number `line`. Clear in every case. */
void pfc_csv_init(pfc_csv *csv, const char *text, size_t len, size_t line, char delimiter);
void pfc_csv_clear(pfc_csv *csv);
/** The next row that is not blank nor the header once more; *more false at the end. PFC_EINVAL for
 * a quote without end. */
pfc_code pfc_csv_row(pfc_csv *csv, bool *more, pfc_err *err) PFC_MUSTCHECK;
/** Reads a row as the header; a byte-order mark and spaces around names are cut. */
pfc_code pfc_csv_header(pfc_csv *csv, pfc_err *err) PFC_MUSTCHECK;
/** Column of the first of several names, without case; SIZE_MAX when there is none. */
size_t pfc_csv_column(const pfc_csv *csv, const char *const *names);
size_t pfc_csv_column1(const pfc_csv *csv, const char *name);
/** Cell of the current row; empty where the row is shorter, and for SIZE_MAX. */
pfc_span pfc_csv_cell(const pfc_csv *csv, size_t column);
/** The delimiter that the line has most of: comma, semicolon, tab or bar. */
char pfc_csv_delimiter(pfc_span line);
/** Looks in the first lines for a header that has all of `names` (NULL-terminated, without case);
 *  true with the offset of that line and its number (either may be NULL). */
bool pfc_csv_find_header(const char *text, size_t len, const char *const *names, size_t *offset,
                         size_t *line);
/** pfc_csv_find_header and pfc_csv_header in one: the reader stands before the first row. */
pfc_code pfc_csv_open(pfc_csv *csv, const char *text, size_t len, const char *const *names,
                      pfc_err *err) PFC_MUSTCHECK;

/* ---- google_benchmark_text.c, jmh_text.c, nvbench_text.c: a tool's CSV and what it prints, made
 * the document that its JSON would be and read by the ..._doc of the file that reads JSON ---- */

pfc_code pfc_import_google_benchmark_doc(pfc_import *in, const json_t *doc) PFC_MUSTCHECK;
bool pfc_import_google_benchmark_match(const char *text, size_t len);
pfc_code pfc_import_google_benchmark_text(pfc_import *in, const char *text,
                                          size_t len) PFC_MUSTCHECK;
pfc_code pfc_import_jmh_doc(pfc_import *in, const json_t *doc) PFC_MUSTCHECK;
bool pfc_import_jmh_match(const char *text, size_t len);
pfc_code pfc_import_jmh_text(pfc_import *in, const char *text, size_t len) PFC_MUSTCHECK;
pfc_code pfc_import_nvbench_doc(pfc_import *in, const json_t *doc) PFC_MUSTCHECK;
bool pfc_import_nvbench_match(const char *text, size_t len);
pfc_code pfc_import_nvbench_text(pfc_import *in, const char *text, size_t len) PFC_MUSTCHECK;

/* ---- the formats ---- */

extern const pfc_import_format pfc_import_perfci;
extern const pfc_import_format pfc_import_google_benchmark;
extern const pfc_import_format pfc_import_pytest_benchmark;
extern const pfc_import_format pfc_import_nvbench;
extern const pfc_import_format pfc_import_triton;
extern const pfc_import_format pfc_import_ncu;
extern const pfc_import_format pfc_import_rocprof;
extern const pfc_import_format pfc_import_nccl_tests;
extern const pfc_import_format pfc_import_cutlass;
extern const pfc_import_format pfc_import_csv;
extern const pfc_import_format pfc_import_bmf;
extern const pfc_import_format pfc_import_github_action;
extern const pfc_import_format pfc_import_hyperfine;
extern const pfc_import_format pfc_import_criterion;
extern const pfc_import_format pfc_import_asv;
extern const pfc_import_format pfc_import_conbench;
extern const pfc_import_format pfc_import_otava;
extern const pfc_import_format pfc_import_go;
extern const pfc_import_format pfc_import_catch2;
extern const pfc_import_format pfc_import_jmh;
extern const pfc_import_format pfc_import_lnt;
extern const pfc_import_format pfc_import_nvbandwidth;
extern const pfc_import_format pfc_import_numbers;

#endif
