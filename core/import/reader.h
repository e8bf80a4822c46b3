/* What the readers of this folder share. */
#ifndef PFC_CORE_IMPORT_READER_H
#define PFC_CORE_IMPORT_READER_H

#include "core/import/import.h"

/** A run in the making, with an index over (benchmark, metric), so that repetitions that lie apart
 *  in the input come together in constant time. */
typedef struct pfc_import {
    pfc_import_opts opts;
    pfc_run *run;
    uint32_t *slots;  /* measurement number + 1; 0: free */
    size_t slots_len; /* a power of two */
    pfc_err *err;
} pfc_import;

/** One format. Exactly one of the two readers is set. */
typedef struct pfc_import_format {
    const char *name;
    bool (*match_json)(const json_t *doc); /* does the document look like this format? */
    pfc_code (*read_json)(pfc_import *in, const json_t *doc);
    pfc_code (*read_text)(pfc_import *in, const char *text, size_t len);
} pfc_import_format;

extern const pfc_import_format pfc_import_numbers;
extern const pfc_import_format pfc_import_perfci;
extern const pfc_import_format pfc_import_google_benchmark;
extern const pfc_import_format pfc_import_hyperfine;
extern const pfc_import_format pfc_import_pytest_benchmark;
extern const pfc_import_format pfc_import_github_action;
extern const pfc_import_format pfc_import_bmf;

/** What a measurement is, before it has samples. */
typedef struct pfc_import_key {
    const char *benchmark; /* cleaned and cut to the limits on adding */
    const char *metric;
    const char *unit; /* NULL: from the metric's name */
    bool has_direction;
    bool higher_is_better; /* else opts, else by nature */
} pfc_import_key;

/** The measurement of that benchmark and metric, made when new; NULL with *in->err at the limit.
 *  Valid until the next call. */
pfc_measurement *pfc_import_measurement(pfc_import *in, const pfc_import_key *key);
/** Adds a sample to the only block. A value that is not finite turns a measurement without samples
 *  into a skipped one that says so. */
pfc_code pfc_import_sample(pfc_import *in, const pfc_import_key *key, double value);
/** Marks it as broken or skipped. */
pfc_code pfc_import_failed(pfc_import *in, const pfc_import_key *key, pfc_status status,
                           const char *reason);

/** JSON with what tools really write: bare NaN, Infinity and -Infinity are read as null. */
pfc_code pfc_import_json(const char *text, size_t len, json_t **out, pfc_err *err) PFC_MUSTCHECK;
/** Number of a member: finite, else NAN (null, absent, or not a number). */
double pfc_import_number(const json_t *obj, const char *key);
/** String of a member, or NULL. */
const char *pfc_import_string(const json_t *obj, const char *key);
/** The unit that a metric's name carries ("_tflops", "_ns", ...), or "". */
const char *pfc_import_unit_of(const char *metric);

#endif
