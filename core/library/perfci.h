/*
 * libperfci: the judgements of perfci for other programs, without a server and without files of its
 * own. Change points of a series, the comparison of two samples or of two run documents, the plan
 * of a bisection, and reading run documents. A verdict is the one that `perfci detect`,
 * `perfci compare` and `perfci bisect` of the same version give for the same values.
 *
 * Application binary interface (ABI)
 *   The shared object's name carries PERFCI_ABI. Within one ABI no function is removed or changed,
 *   and structs only grow at their end. Each struct that crosses the interface begins with `size`:
 *   set it to sizeof the struct as compiled, by the macros PERFCI_..._INIT. The library reads and
 *   writes that many bytes at most. An enumeration is passed as int and may grow.
 *
 * Errors
 *   A function that can fail returns PERFCI_OK or a negative code, and writes its out parameters
 *   only on PERFCI_OK. perfci_error_message() then has one sentence with the expected and the
 *   received value. Out of memory ends the process; every size is bounded before it is allocated.
 *
 * Ownership and threads
 *   A handle from an out parameter is freed by its ..._free function, which accepts NULL. A string
 *   or array read from a handle lives as long as the handle. Inputs are copied or only read during
 *   the call. Different threads may use different handles at the same time; a handle of type
 *   `const` in a call may be shared, a plan (perfci_bisection) may not.
 */
#ifndef PERFCI_H
#define PERFCI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PERFCI_API __attribute__((visibility("default")))
#else
#define PERFCI_API
#endif

#define PERFCI_ABI 1

/* Codes. New ones may follow; treat an unknown negative code as PERFCI_EOTHER. */
#define PERFCI_OK        0
#define PERFCI_EINVAL    (-1) /* an argument or a document is wrong */
#define PERFCI_ENOTFOUND (-2) /* the file does not exist */
#define PERFCI_EIO       (-6) /* the file cannot be read */
#define PERFCI_ETOOBIG   (-9) /* over a limit that the message states */
#define PERFCI_EOTHER    (-7)

/* Verdicts of a comparison. */
#define PERFCI_SAME         0 /* the interval of the change lies within the margin */
#define PERFCI_IMPROVEMENT  1
#define PERFCI_INCONCLUSIVE 2 /* neither shown: more values are needed */
#define PERFCI_REGRESSION   3
#define PERFCI_BROKEN       4 /* a side has no values: its reason is in the run document */

/** Version of the library, such as "0.1.0". Static. */
PERFCI_API const char *perfci_version(void);
/** PERFCI_ABI of the library that is loaded. */
PERFCI_API int perfci_abi(void);
/** The last failed call's sentence in this thread, "" before any; valid until the thread's next
 * failed call. */
PERFCI_API const char *perfci_error_message(void);
/** The part of the input that the last failed call names, for example
 * "measurements[3].samples"; "" when it names none. */
PERFCI_API const char *perfci_error_field(void);
/** "same", "improvement", "inconclusive", "regression", "broken"; "unknown" for other values. */
PERFCI_API const char *perfci_verdict_name(int verdict);

/* ---- change points of a series ---- */

#define PERFCI_MAX_POINTS 1000000

/** A history: one value a commit or run. Arrays have `len` entries, 1..PERFCI_MAX_POINTS. */
typedef struct perfci_series {
    size_t size;
    size_t len;
    const double *values; /* NaN: missing; infinity is refused */
    const double *times;  /* Unix seconds; NULL: not known. With finite times points are judged in
                             their order, equal times in the order given; else in the order given */
    const size_t *repeat_counts; /* raw repeats behind each value; NULL: not known */
    const double *repeats; /* all of them, point after point; NULL exactly when repeat_counts is */
    const uint64_t *machine_states; /* a number for each state of the machine, 0: unknown; NULL */
} perfci_series;

typedef struct perfci_detect_options {
    size_t size;
    int higher_is_better; /* 0 or 1 */
    int exact;            /* values without noise: any lasting difference is a change */
    double min_change;    /* smallest relative change that counts, (0, 1e6]; 0: 0.005, or the noise
                             of a point where that is less */
    double alpha;         /* expected false changes per series without any, (0, 0.5]; 0: 0.01 */
} perfci_detect_options;

typedef struct perfci_change {
    size_t size;
    size_t index;                 /* first point of the new level: a position in the given arrays */
    size_t index_low, index_high; /* ends of the 90 % confidence set of the location */
    double before, after;         /* levels, in the unit of the values */
    double rel_change, rel_low, rel_high; /* (after - before) / before, and its interval; infinite
                                             after a level of zero */
    double p;                             /* of a step this clear at a place named beforehand */
    int regression;                       /* 1: worse, by the metric's direction */
    int confirmed;                        /* 1; 0: provisional, too few points after it yet */
} perfci_change;

typedef struct perfci_detection perfci_detection;

#define PERFCI_SERIES_INIT                                                                         \
    {                                                                                              \
        sizeof(perfci_series), 0, NULL, NULL, NULL, NULL, NULL                                     \
    }
#define PERFCI_DETECT_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(perfci_detect_options), 0, 0, 0.0, 0.0                                              \
    }
#define PERFCI_CHANGE_INIT                                                                         \
    {                                                                                              \
        sizeof(perfci_change), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                     \
    }

/** Change points of one series. options: NULL means all defaults. O(n log n) in the usual case.
 *  PERFCI_EINVAL for a value out of range, PERFCI_ETOOBIG for too many points. */
PERFCI_API int perfci_detect(const perfci_series *series, const perfci_detect_options *options,
                             perfci_detection **out);
/** Number of changes, in the order of the history. */
PERFCI_API size_t perfci_detection_len(const perfci_detection *detection);
/** The i-th change. PERFCI_EINVAL when there is none. */
PERFCI_API int perfci_detection_change(const perfci_detection *detection, size_t i,
                                       perfci_change *out);
/** Relative noise of one point around its level. */
PERFCI_API double perfci_detection_noise(const perfci_detection *detection);
/** Newest points that may be a new level, 0: none. */
PERFCI_API size_t perfci_detection_watching(const perfci_detection *detection);
PERFCI_API void perfci_detection_free(perfci_detection *detection);

/* ---- two samples ---- */

#define PERFCI_MAX_SAMPLES 100000

/** Timings or other numbers of one side. */
typedef struct perfci_samples {
    size_t size;
    const double *values;   /* > 0 and finite, block after block */
    size_t len;             /* 1..PERFCI_MAX_SAMPLES */
    const uint32_t *blocks; /* values of each process launch; sums to len; NULL: one block. With
                               three or more on both sides the blocks' medians are compared */
    size_t blocks_len;
} perfci_samples;

typedef struct perfci_compare_options {
    size_t size;
    int higher_is_better; /* 0 or 1; of run documents: not used, each measurement says it */
    int exact;            /* values without noise; of run documents: not used */
    double margin; /* relative change that does not matter, (0, 10]; 0: 0.01, of pairs 0.005 */
} perfci_compare_options;

typedef struct perfci_comparison {
    size_t size;
    int verdict;                          /* of b against a: PERFCI_SAME, ... */
    double median_a, median_b;            /* NaN without values, like the numbers below */
    double rel_change, rel_low, rel_high; /* (b - a) / a, and its 99 % interval */
    double p;                             /* two-sided; NaN: no test was made */
    double p_adjusted;                    /* for the number of rows compared together */
    double noise_rel;                     /* larger of both sides' relative noise */
    size_t n_a, n_b;                      /* values */
    size_t more;                          /* inconclusive: further runs of each side, or interleaved
                                             rounds, that are likely to decide; 0: not known */
    int secondary;                        /* 1: shown, but not part of the overall verdict */
    const char *benchmark, *metric, *backend, *unit; /* of two run documents, else "" */
    const char *reason;                              /* when broken, else "" */
} perfci_comparison;

#define PERFCI_SAMPLES_INIT                                                                        \
    {                                                                                              \
        sizeof(perfci_samples), NULL, 0, NULL, 0                                                   \
    }
#define PERFCI_COMPARE_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(perfci_compare_options), 0, 0, 0.0                                                  \
    }
#define PERFCI_COMPARISON_INIT                                                                     \
    {                                                                                              \
        sizeof(perfci_comparison), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL,  \
            NULL                                                                                   \
    }

/** Is b different from a? Mann-Whitney test and Hodges-Lehmann shift. Fewer than 3 values a side:
 *  PERFCI_INCONCLUSIVE. options: NULL means all defaults. out->size must be set. */
PERFCI_API int perfci_compare(const perfci_samples *a, const perfci_samples *b,
                              const perfci_compare_options *options, perfci_comparison *out);

/* ---- run documents ---- */

#define PERFCI_MAX_RUN_BYTES (16u * 1024u * 1024u)

typedef struct perfci_run perfci_run;

/* Status of a measurement. */
#define PERFCI_MEASURED        0
#define PERFCI_MEASURED_BROKEN 1 /* no samples: `reason` says why */
#define PERFCI_MEASURED_NOT    2 /* not available on that machine: `reason` says why */

typedef struct perfci_measurement {
    size_t size;
    const char *benchmark, *metric, *backend, *unit;
    int status; /* PERFCI_MEASURED, ... */
    int higher_is_better;
    int exact;
    const char *reason; /* "" when measured */
    const double *samples;
    size_t samples_len;
    const uint32_t *blocks; /* samples of each process launch */
    size_t blocks_len;
    double median; /* NaN without samples */
} perfci_measurement;

#define PERFCI_MEASUREMENT_INIT                                                                    \
    {                                                                                              \
        sizeof(perfci_measurement), NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, 0, NULL, 0, 0     \
    }

/** Reads a run document (perfci run --json, perfci-bench --out) of `len` bytes of UTF-8 JSON, at
 *  most PERFCI_MAX_RUN_BYTES. Unknown members are refused. */
PERFCI_API int perfci_run_parse(const char *text, size_t len, perfci_run **out);
/** Likewise from a file. */
PERFCI_API int perfci_run_read(const char *path, perfci_run **out);
PERFCI_API void perfci_run_free(perfci_run *run);
/** A text of the run: "id", "project", "commit", "branch", "suite", "machine", "machine_class",
 *  "fingerprint_hash"; "fingerprint.NAME" for an entry of the fingerprint. "" when it has none. */
PERFCI_API const char *perfci_run_text(const perfci_run *run, const char *name);
/** Unix seconds. */
PERFCI_API double perfci_run_started_at(const perfci_run *run);
PERFCI_API double perfci_run_finished_at(const perfci_run *run);
PERFCI_API size_t perfci_run_len(const perfci_run *run);
/** The i-th measurement. PERFCI_EINVAL when there is none. */
PERFCI_API int perfci_run_measurement(const perfci_run *run, size_t i, perfci_measurement *out);

typedef struct perfci_comparisons perfci_comparisons;

/** Judges b against a, measurement by measurement, as `perfci compare A B` does: verdicts account
 *  for the number of rows, interleaved documents are judged by their rounds. */
PERFCI_API int perfci_run_compare(const perfci_run *a, const perfci_run *b,
                                  const perfci_compare_options *options, perfci_comparisons **out);
PERFCI_API size_t perfci_comparisons_len(const perfci_comparisons *comparisons);
/** The i-th row; its strings live as long as `comparisons`. PERFCI_EINVAL when there is none. */
PERFCI_API int perfci_comparisons_row(const perfci_comparisons *comparisons, size_t i,
                                      perfci_comparison *out);
/** The verdict of all rows: broken before regression before inconclusive. */
PERFCI_API int perfci_comparisons_verdict(const perfci_comparisons *comparisons);
PERFCI_API void perfci_comparisons_free(perfci_comparisons *comparisons);

/* ---- the plan of a bisection ---- */

#define PERFCI_MAX_COMMITS 100000

/** Commits are numbered 0..commits-1, oldest first; 0 is good, the last one is bad. */
typedef struct perfci_bisect_options {
    size_t size;
    size_t commits; /* 2..PERFCI_MAX_COMMITS, both ends included */
    int higher_is_better;
    int exact;           /* values without noise */
    int first_only;      /* 1: stop at the first step that is named */
    double confidence;   /* of the answer, (0.5, 1); 0: 0.99 */
    double noise_rel;    /* known relative standard deviation from run to run; 0: estimated */
    double margin;       /* largest change to worse that does not count; 0: by the noise */
    double build_cost;   /* of one build, in measurements; 0: none */
    size_t max_runs;     /* 0: a default that grows with the logarithm of `commits` */
    const double *prior; /* weight of each commit, > 0, `commits` entries (entry 0 is not used);
                            NULL: equal */
    uint64_t seed;
} perfci_bisect_options;

typedef struct perfci_culprit {
    size_t size;
    size_t first, last; /* set of commits, inclusive; one commit: first == last */
    double probability;
    double rel_change, rel_low, rel_high;
} perfci_culprit;

typedef struct perfci_bisection perfci_bisection;

#define PERFCI_BISECT_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(perfci_bisect_options), 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0, NULL, 0                  \
    }
#define PERFCI_CULPRIT_INIT                                                                        \
    {                                                                                              \
        sizeof(perfci_culprit), 0, 0, 0, 0, 0, 0                                                   \
    }

/* Verdicts of a bisection. */
#define PERFCI_BISECT_FOUND         0
#define PERFCI_BISECT_RANGE         1 /* a set of commits that could not be separated */
#define PERFCI_BISECT_NO_REGRESSION 2
#define PERFCI_BISECT_INCONCLUSIVE  3

PERFCI_API int perfci_bisect_new(const perfci_bisect_options *options, perfci_bisection **out);
PERFCI_API void perfci_bisect_free(perfci_bisection *plan);
/** The next commit to measure once. 1: measure *commit; 0: the search is over, *commit unchanged.
 *  Depends only on the options and on what was added. */
PERFCI_API int perfci_bisect_next(perfci_bisection *plan, size_t *commit);
/** A measurement of `commit` gave `value` (> 0, finite). */
PERFCI_API int perfci_bisect_add(perfci_bisection *plan, size_t commit, double value);
/** `commit` cannot be measured, for example because it does not build. */
PERFCI_API int perfci_bisect_skip(perfci_bisection *plan, size_t commit);
/** A measurement of `commit` failed and may succeed when repeated. */
PERFCI_API int perfci_bisect_failed(perfci_bisection *plan, size_t commit);
/** Probability that each commit is the first bad one: out[0..commits). */
PERFCI_API void perfci_bisect_posterior(const perfci_bisection *plan, double *out);
/** Expected number of further measurements; 0 when the search is over. */
PERFCI_API double perfci_bisect_expected_runs(const perfci_bisection *plan);
/** The answer so far: PERFCI_BISECT_FOUND, ... . culprits: filled with up to `cap` of them, the
 *  most probable first, each with `size` set by the caller; may be NULL when cap is 0. *len: how
 *  many there are. */
PERFCI_API int perfci_bisect_report(const perfci_bisection *plan, perfci_culprit *culprits,
                                    size_t cap, size_t *len);

#ifdef __cplusplus
}
#endif

#endif
