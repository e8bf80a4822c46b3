/*
 * Comparisons: two runs judged benchmark by benchmark. The command line shows them
 * (cli/compare/compare.h), libperfci gives them to other tools.
 */
#ifndef PFC_CORE_COMPARISON_COMPARISON_H
#define PFC_CORE_COMPARISON_COMPARISON_H

#include "core/stats/stats.h"
#include "core/wire/wire.h"

#define PFC_CMP_MAX_ROWS PFC_WIRE_MAX_MEASUREMENTS

typedef enum pfc_cmp_verdict {
    PFC_CMP_SAME,
    PFC_CMP_IMPROVEMENT,
    PFC_CMP_INCONCLUSIVE,
    PFC_CMP_REGRESSION,
    PFC_CMP_BROKEN, /* no samples on one side: `reason` says why */
    PFC_CMP_VERDICTS,
} pfc_cmp_verdict;

typedef struct pfc_cmp_side {
    double median, low, high;
    int64_t n;
    const char *reproducibility; /* "exact", "confirmed" or "single"; NULL: no result */
} pfc_cmp_side;

typedef struct pfc_cmp_row {
    char *benchmark, *metric, *backend, *unit;
    char *machine_class; /* of stored results; NULL: one machine */
    json_t
        *differs; /* array: what of the fingerprint differs in this row; NULL: see the comparison */
    char *reason; /* when broken */
    bool broken_a, broken_b;
    bool higher_is_better;
    bool exact;     /* without noise: any difference is real */
    bool secondary; /* shown, but no reason to fail */
    pfc_cmp_side a, b;
    const char *reproducibility; /* the lesser of both sides; NULL: one has no result */
    double rel_change, rel_low, rel_high, p, p_adjusted, noise_rel; /* NAN: unknown */
    int64_t series_id;  /* at the service; 0: not known */
    size_t rounds;      /* interleaved rounds behind the verdict; 0: not interleaved */
    size_t more_rounds; /* undecided and interleaved: further rounds that are likely to decide; else
                           0 */
    size_t more_runs;   /* likewise runs on each side, when not interleaved; else 0 */
    pfc_cmp_verdict verdict;
    json_t *stored; /* the row as the service sent it; NULL: judged here */
} pfc_cmp_row;

/* A fingerprint's entry that is not the same on both sides; NULL: not recorded there. */
typedef struct pfc_cmp_difference {
    char *field, *a, *b;
} pfc_cmp_difference;

/** An earlier comparison whose result is used for this one: nothing was measured for it. */
typedef struct pfc_cmp_reused {
    char *from;        /* "run 812", "session 01ab..." or where it is kept; NULL: not reused */
    char *measured_at; /* RFC 3339 */
} pfc_cmp_reused;

typedef struct pfc_cmp {
    char *a, *b; /* what was compared: a commit, file or run */
    pfc_cmp_row *rows;
    size_t len, cap;
    pfc_cmp_difference *differs; /* between the machines */
    size_t differs_len;
    bool stored; /* the service judged what it has: made at two times, perhaps on two machines */
    bool across; /* verdicts across machines or compilers were asked for */
    int64_t hidden_a, hidden_b;     /* stored results of that side that a quarantine hides */
    json_t *only_a, *only_b;        /* arrays: "benchmark metric backend" of one side alone */
    size_t count[PFC_CMP_VERDICTS]; /* without the canary's row and secondary ones */
    size_t rounds;      /* interleaved rounds of two measurements a side; 0: not measured here by
                           commands */
    char *failure;      /* why there is no comparison at all; NULL */
    int failure_status; /* its exit status */
    char *nothing;      /* why there is nothing to compare, which is no failure; NULL */
    json_t *repeat;     /* words of the command that makes it again; NULL: not known */
    /* explanation of the row with the largest regression, in the shape of GET /explain; NULL: not
       known */
    json_t *explanation;
    char *object_code; /* "identical" or "different" on both sides; NULL: not known */
    json_t *functions; /* array of {"name", "before", "after"}: instructions of the functions whose
                           number changed; NULL: not known */
    json_t *means;     /* of the service: geometric means, as in GET /compare; NULL: not known */
    json_t *between;   /* likewise the commits between both; NULL */
    char *how_a, *how_b;   /* of the service: how each end was found; NULL */
    double canary_rel;     /* how much the machine's canary changed; 0: it did not, or is unknown */
    pfc_cmp_reused reused; /* owned */
} pfc_cmp;

/**
 * Judges `b` against `a`. Values of one process launch are correlated: with three or more blocks a
 * side the medians of the blocks are compared, otherwise the samples. The decisions account for the
 * number of rows (core/stats/comparison_family.h), as those of the service do.
 * margin: relative change that does not matter; 0: 0.01. Clear *out in every case.
 */
pfc_code pfc_cmp_runs(const pfc_run *a, const pfc_run *b, const char *name_a, const char *name_b,
                      double margin, pfc_cmp *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_cmp_clear(pfc_cmp *cmp);
void pfc_cmp_row_clear(pfc_cmp_row *row);
/** An empty row at the end, with no number known; valid until the next. */
pfc_cmp_row *pfc_cmp_add_row(pfc_cmp *cmp);
/** Fills cmp->count. The canary's code is the same on both sides: when it differs, the machine did.
 *  Its row decides nothing, and its change goes to cmp->canary_rel. */
void pfc_cmp_count(pfc_cmp *cmp);
/** The verdict of all rows that decide: broken before regression before inconclusive; inconclusive
 * also without a row that shows anything, and for stored results of different machines or compilers
 * without `across`. Else improvement with one, else same. Identical object code, of which nothing
 * was measured, is the same. */
pfc_cmp_verdict pfc_cmp_overall(const pfc_cmp *cmp);
/** Something other than the backend, which is chosen, differs between both sides. */
bool pfc_cmp_machines_differ(const pfc_cmp *cmp);
/** Stored results of different machines or compilers, and `across` was not asked for. */
bool pfc_cmp_is_undecided(const pfc_cmp *cmp);
/** Identical object code on both sides, and therefore no rows? */
bool pfc_cmp_is_unmeasured(const pfc_cmp *cmp);
/** Reads the JSON of pfc_cmp_to_json or of GET /compare. Clear *out, also on failure. */
pfc_code pfc_cmp_from_json(const json_t *doc, pfc_cmp *out, pfc_err *err) PFC_MUSTCHECK;
/** The same, or {"error": {"status", "message"}}, which `check --json` prints when there is no
 * comparison: out->failure. "a" and "b" may be beside it. */
pfc_code pfc_cmp_from_document(const json_t *doc, pfc_cmp *out, pfc_err *err) PFC_MUSTCHECK;
/** In the shape of GET /compare; caller decrefs. */
json_t *pfc_cmp_to_json(const pfc_cmp *cmp);
/** Sets "object_code" ("identical", "different" or "unknown") and "functions" of a document. The
 *  only writer of both: for the command line, GET /compare and the comment of a pull request.
 *  object_code NULL: not known. Takes `functions`, an array of pfc_cmp_function; NULL: none. */
void pfc_cmp_put_code(json_t *doc, const char *object_code, json_t *functions);
/** {"name", "before", "after"}: instructions of a function; caller decrefs. */
json_t *pfc_cmp_function(const char *name, int64_t before, int64_t after);
/** The member "reused" of a document, for pfc_cmp_from_json; caller decrefs. */
json_t *pfc_cmp_reused_json(const char *from, const char *measured_at);
/** The sentence about a reused result, for comment and terminal; caller frees. NULL: not reused. */
char *pfc_cmp_reused_sentence(const pfc_cmp *cmp);
/** "regression", "improvement", "same", "inconclusive", "broken". */
const char *pfc_cmp_name(pfc_cmp_verdict verdict);

#endif
