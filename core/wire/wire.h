/*
 * The JSON documents that runner, server and CLI exchange, read strictly by jansson.
 *
 * Reading is bounded (sizes below), refuses duplicate keys, non-finite numbers and deep nesting,
 * and names the path of the first fault in err->field, e.g. "measurements[3].samples[0][2]".
 * Unknown members are refused with their path, so that a typo never loses data silently.
 * Everything is thread-safe; every struct owns its strings and arrays.
 */
#ifndef PFC_CORE_WIRE_WIRE_H
#define PFC_CORE_WIRE_WIRE_H

#include <jansson.h>

#include "core/base/buf.h"

/* A fixed piece of work in each run: it measures the speed of the machine, not of the code. */
#define PFC_CANARY_BENCHMARK "canary"

/* Under this name in a measurement's extra: the hash of the code that was measured. */
#define PFC_OBJECT "object"

/* Under "role" in a measurement's extra: it is shown and judged, but decides no exit status. */
#define PFC_ROLE           "role"
#define PFC_ROLE_SECONDARY "secondary"

#define PFC_WIRE_MAX_BODY_BYTES   (16u * 1024 * 1024)
#define PFC_WIRE_MAX_DEPTH        32
#define PFC_WIRE_MAX_MEASUREMENTS 20000
#define PFC_WIRE_MAX_SAMPLES      100000 /* of one measurement */
#define PFC_WIRE_MAX_NAME         200 /* bytes of a name: benchmark, metric, backend, unit, class */
#define PFC_WIRE_MAX_FINGERPRINT  128 /* pairs of a fingerprint, and of params */
#define PFC_WIRE_MAX_EXTRA        512 /* pairs of a measurement's extra */
#define PFC_WIRE_MAX_CEILINGS     256 /* of a run document */
#define PFC_WIRE_MAX_RATE         1e30    /* operations, bytes, and values of ceilings */
#define PFC_WIRE_MAX_NESTED       1000000 /* arrays and objects of a run document */
#define PFC_WIRE_MAX_COMMITS      5000    /* of one POST */
#define PFC_WIRE_MAX_PATHS        2000    /* touched paths of one commit */
#define PFC_WIRE_MAX_TAGS         16      /* of a commit */
#define PFC_WIRE_MAX_PLACE        100000  /* number of a block, or of a position in it */
#define PFC_WIRE_MAX_TEXT         4096    /* subjects, reasons, paths */
#define PFC_WIRE_MAX_ID           ((INT64_C(1) << 53) - 1) /* exact in every JSON reader */

/* Value of a fingerprint's entry that could not be read. Entries are never empty and never guessed.
 */
#define PFC_NOT_AVAILABLE "not available"

/** A key with its value: an entry of a fingerprint, a benchmark parameter, a label of a runner. */
typedef struct pfc_label_entry {
    char *name;
    char *value;
} pfc_label_entry;

typedef struct pfc_labels {
    pfc_label_entry *items;
    size_t len;
    size_t cap;
} pfc_labels;

void pfc_labels_set(pfc_labels *pairs, const char *name, const char *value); /* adds or replaces */
const char *pfc_labels_get(const pfc_labels *pairs, const char *name);       /* NULL: absent */
/** Sets each of `more` in `pairs`, in its order; NULL: none. */
void pfc_labels_set_all(pfc_labels *pairs, const pfc_labels *more);
void pfc_labels_clear(pfc_labels *pairs);
json_t *pfc_labels_to_json(const pfc_labels *pairs); /* object, sorted by name */
/** Adds the texts of a JSON object, which is as pfc_labels_to_json made it, in its order. */
pfc_code pfc_labels_parse(const char *text, pfc_labels *out, pfc_err *err) PFC_MUSTCHECK;

typedef enum pfc_status {
    PFC_STATUS_OK,      /* has samples */
    PFC_STATUS_BROKEN,  /* wrong result or crash: no samples, `reason` says what */
    PFC_STATUS_SKIPPED, /* not available here: no samples, `reason` says why */
} pfc_status;

/** Where in a session a launch was made: the block, and the position in it, both from 0. */
typedef struct pfc_session_position {
    uint32_t block, position;
} pfc_session_position;

/**
 * All samples of one benchmark, metric and backend in one run. Samples are raw and lie in blocks,
 * one block a process launch, because the variance between processes is its own.
 */
typedef struct pfc_measurement {
    char *benchmark;       /* "gemm/f32/m512n512k512"; "headline" for a headline metric */
    char *metric;          /* "time_ns", "gemm_tflops", "cycles", ... */
    char *backend;         /* "cpu-avx2", "accel:pfc-edge", "" when it means nothing */
    char *unit;            /* "ns", "TFLOP/s", "GB/s", "cycles", "bytes" */
    bool higher_is_better; /* JSON: "direction": "higher" | "lower" */
    bool exact;            /* deterministic: one repeat is enough, any difference is real */
    pfc_status status;
    char *reason;    /* NULL when ok */
    double *samples; /* finite; samples_len of them, block after block */
    size_t samples_len;
    uint32_t *blocks; /* samples in each process; sums to samples_len */
    size_t blocks_len;
    pfc_session_position *visits; /* of each entry of `blocks`, strictly ascending by block, then
                                     position; NULL: not measured in a session */
    pfc_labels params;            /* benchmark parameters: "m", "n", "k", "causal", ... */
    pfc_labels extra;  /* further facts: "percent_of_peak", "median_low", ... (numbers as text) */
    double operations; /* arithmetic operations of one execution, a multiply-add is two; 0: none, or
                          not known */
    double bytes;      /* least memory traffic of one execution: inputs read once, outputs written
                          once; 0: not known */
} pfc_measurement;

/** The highest rate of a machine, or of a chip that it simulates: a line of the roofline. */
typedef struct pfc_run_ceiling {
    char *name;            /* "f32 arithmetic, one core" */
    bool memory;           /* else arithmetic */
    char *unit;            /* "B/s" of memory, "FLOP/s" or "OP/s" of arithmetic */
    double value;          /* in the unit */
    char *dtype;           /* of the arithmetic, as the parameter of benchmarks; "": each */
    char *level;           /* of memory: "L2", "DRAM"; "" when it means nothing */
    double capacity_bytes; /* traffic up to which the level serves a benchmark; 0: no limit */
    char *backend;         /* "accel:pfc-edge"; "cpu-*": each with that beginning; "": each */
    bool chip_file;        /* read from the file of a simulated chip; else measured */
    double at;             /* when it was measured, Unix seconds; 0: when the run started */
} pfc_run_ceiling;

typedef struct pfc_machine {
    char *name;             /* host label, e.g. the runner's name */
    char *machine_class;    /* the runner's label, by default the CPU model */
    pfc_labels fingerprint; /* cpu, microcode, governor, turbo, smt, kernel, libc, compiler, flags,
                               harness, simulator, ... ; "not available" where it cannot be read */
    char *fingerprint_hash; /* SHA-256 over the sorted pairs; computed, not trusted, on reading */
} pfc_machine;

/** One execution of a suite at a commit on a machine: the run document
 * (schema/json/run.schema.json). */
typedef struct pfc_run {
    char *id;          /* 32 hexadecimal digits, made once by who measured */
    char *project;     /* slug; NULL in perfci-bench's own output */
    char *commit;      /* full id; NULL in perfci-bench's own output */
    char *branch;      /* NULL: the project's default */
    char *suite;       /* name, e.g. "quick" */
    char *suite_hash;  /* SHA-256 of the suite's text, "" when measured by a command */
    double started_at; /* Unix seconds; JSON: RFC 3339 */
    double finished_at;
    int64_t job_id;    /* 0: none */
    int64_t job_fence; /* number of the job's lease that it was measured under; 0: not known */
    bool infra;        /* the canary moved: kept out of detection */
    bool unsandboxed;  /* a runner measured it without isolating the commit's code; false for runs
                          that no runner measured */
    char *session_id;  /* 32 hexadecimal digits: builds measured together in blocks; NULL: none */
    char *session_anchor, *session_base; /* full ids of commits; set when session_id is */
    pfc_machine machine;
    pfc_run_ceiling *ceilings; /* that held during the run */
    size_t ceilings_len;
    size_t ceilings_cap;
    pfc_measurement *measurements;
    size_t measurements_len;
    size_t measurements_cap;
} pfc_run;

/** Parses and validates; *out is the caller's to free. */
pfc_code pfc_run_from_json(const char *text, size_t len, pfc_run **out, pfc_err *err) PFC_MUSTCHECK;
/** The document as JSON; caller decrefs. Never NULL. */
json_t *pfc_run_to_json(const pfc_run *run);
/** Compact text of it; caller frees. */
char *pfc_run_to_text(const pfc_run *run);
pfc_run *pfc_run_new(void);
/** Appends an empty measurement and returns it; valid until the next append. */
pfc_measurement *pfc_run_add(pfc_run *run);
/** Appends an empty ceiling and returns it; valid until the next append. */
pfc_run_ceiling *pfc_run_add_ceiling(pfc_run *run);
/** Removes ceilings, operations and bytes; false: there are none. */
bool pfc_run_drop_roofline(pfc_run *run);
/** The ceilings as a JSON array's text; NULL: there are none; caller frees. */
char *pfc_run_ceilings_text(const pfc_run *run);
/** Appends those of such a text. */
pfc_code pfc_run_ceilings_parse(const char *text, pfc_run *run, pfc_err *err) PFC_MUSTCHECK;
/** Appends one number as a whole measurement, lower is better; `secondary` gives it that role. */
void pfc_run_add_value(pfc_run *run, const char *benchmark, const char *metric, const char *unit,
                       double value, bool secondary);
/** Adds the blocks of `more` (another repeat of the same) to `run`, measurement by measurement; new
 *  ones are appended, one that is broken on either side is broken, as is an exact one with another
 *  value. Takes `more`.
 *  Launches with visits are joined in the order of time. A measurement of `more` is left out when
 * only one of the two has visits, when both have the same visit, or when its visits are of a
 * session that `run` is not of: samples of unknown place would pass for those of a block. A `run`
 * without measurements and session takes that of `more`; one without ceilings takes those. */
void pfc_run_merge(pfc_run *run, pfc_run *more);
void pfc_run_free(pfc_run *run);
void pfc_measurement_clear(pfc_measurement *m);
/* Two values that should have been one, as texts. */
typedef struct pfc_unequal {
    char first[32], other[32];
} pfc_unequal;

/** A double in as few digits as give it back. */
void pfc_wire_number(double value, char out[32]);
/** True for an exact measurement whose samples are not all the same: *out has the first and the
 * first that differs from it. */
bool pfc_measurement_unequal(const pfc_measurement *m, pfc_unequal *out);
/** Median of the samples; NAN when there are none. */
double pfc_measurement_median(const pfc_measurement *m);
/** Sets machine.fingerprint_hash from the pairs. */
void pfc_machine_hash(pfc_machine *machine);
void pfc_machine_clear(pfc_machine *machine);
/** Splits a run whose text is over max_bytes into several documents with one id; *parts has *len
 *  texts, caller frees each and the array. */
pfc_code pfc_run_split(const pfc_run *run, size_t max_bytes, char ***parts, size_t *len,
                       pfc_err *err) PFC_MUSTCHECK;

/** A commit as the server stores it: it has no repository, so this is all it knows. */
typedef struct pfc_commit {
    char *id;       /* 40 hexadecimal digits */
    char **parents; /* full ids, first parent first */
    size_t parents_len;
    char *author;  /* name, no address */
    double time;   /* committer time, Unix seconds */
    char *subject; /* first line */
    char **paths;  /* touched paths against the first parent */
    size_t paths_len;
    char **tags; /* names at it; none: not known, what is stored stays */
    size_t tags_len;
} pfc_commit;

/** {"branch": S?, "commits": [{id, parents, author, time, subject, paths?, tags?}]}, oldest first.
 */
pfc_code pfc_commits_from_json(const char *text, size_t len, char **branch, pfc_commit **out,
                               size_t *out_len, pfc_err *err) PFC_MUSTCHECK;
json_t *pfc_commits_to_json(const char *branch, const pfc_commit *commits, size_t len);
void pfc_commit_clear(pfc_commit *commit);
/** Does a tag's name look like a released version ("v1.2", "1.9.4", "release-2024.1", "lib/v3.0")?
 * Not a release candidate, beta or nightly build, and not a word with a number ("build17"). */
bool pfc_tag_is_release(const char *name);
void pfc_commits_free(pfc_commit *commits, size_t len);

/* ---- strict reading, for every other document ---- */

/** How much of a tree a text may become: an empty object of two bytes is one of 250 in memory. */
typedef struct pfc_json_limits {
    size_t nested; /* arrays and objects */
    size_t values; /* of every kind, these among them */
} pfc_json_limits;

/** Parses text as JSON with the limits above: bounded depth, no duplicates, one value, UTF-8. */
pfc_code pfc_json_parse(const char *text, size_t len, json_t **out, pfc_err *err) PFC_MUSTCHECK;
/** Likewise a text from outside: PFC_ETOOBIG when it is over the limits. */
pfc_code pfc_json_parse_within(const char *text, size_t len, const pfc_json_limits *limits,
                               json_t **out, pfc_err *err) PFC_MUSTCHECK;

/** Where we are in a document, for the path in errors. */
typedef struct pfc_json_at {
    const struct pfc_json_at *up; /* NULL at the root */
    const char *key;              /* member name, or NULL for an array index */
    size_t index;
} pfc_json_at;

/** Sets err->field to the path of `at` plus `key` (may be NULL) and returns PFC_EINVAL. */
pfc_code pfc_json_fault(const pfc_json_at *at, const char *key, pfc_err *err, const char *fmt, ...)
    PFC_PRINTF(4, 5);
/* Members of an object. `required` false: absent (or null) leaves *out alone. Strings are copied
 * (caller frees), at most max_len bytes, no NUL or other control characters but newline and tab. */
pfc_code pfc_json_string(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                         size_t max_len, char **out, pfc_err *err) PFC_MUSTCHECK;
/** As pfc_json_string, for names, which are shown beside others and compared: no character that a
 * terminal obeys (pfc_name_control) either. Free text may hold them and is escaped where it is
 * shown. */
pfc_code pfc_json_name(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                       size_t max_len, char **out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_json_i64(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                      int64_t min, int64_t max, int64_t *out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_json_double(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                         double min, double max, double *out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_json_bool(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                       bool *out, pfc_err *err) PFC_MUSTCHECK;
/** *out is borrowed from obj. */
pfc_code pfc_json_array(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                        size_t max_len, json_t **out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_json_object(const json_t *obj, const pfc_json_at *at, const char *key, bool required,
                         json_t **out, pfc_err *err) PFC_MUSTCHECK;
/** Refuses members whose name is not in the NULL-terminated list. */
pfc_code pfc_json_known(const json_t *obj, const pfc_json_at *at, const char *const *names,
                        pfc_err *err) PFC_MUSTCHECK;

#endif
