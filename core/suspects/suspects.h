/*
 * Suspects: the probability of every commit of an alert's range, measured or not, of being the
 * cause of the change. Pure, deterministic, no I/O; thread-safe.
 *
 * P(commit | everything) is proportional to weight(commit) x likelihood(series | change at commit).
 * The likelihood is that of a step between two levels, with Student-t noise, at the gap in which
 * the commit lies (pfc_suspects_place). Commits between the same two measured ones have the same
 * likelihood, and only their weights differ. The weight is the exponential of a sum of evidence:
 * the touched files compared with the files that the benchmark is built from, its name, and its
 * past; identical object code and documentation rule a commit out. The sizes of the weights are
 * those of a conditional logit (McFadden 1974), rounded; bench/studies/suspects/ compares the
 * ranking with real histories.
 *
 * No probability is 0: a commit keeps PFC_SUSPECT_FLOOR of the mass spread over all, and "none of
 * these" keeps PFC_SUSPECT_NONE, because the range itself may be wrong.
 */
#ifndef PFC_CORE_SUSPECTS_SUSPECTS_H
#define PFC_CORE_SUSPECTS_SUSPECTS_H

#include "core/base/err.h"

#define PFC_SUSPECT_FLOOR       0.02 /* of the mass, spread evenly over all commits */
#define PFC_SUSPECT_NONE        0.03
#define PFC_SUSPECT_MAX_REASONS 6
#define PFC_SUSPECT_MAX_COMMITS 10000

/* ---- paths ---- */

typedef enum pfc_path_kind {
    PFC_PATH_SOURCE,     /* compiled, or included by a compiled file */
    PFC_PATH_BUILD,      /* rules and flags of the build */
    PFC_PATH_DEPENDENCY, /* a pinned version, a submodule, a vendored library */
    PFC_PATH_HARNESS,    /* the benchmark's own driver or suite */
    PFC_PATH_TEST,
    PFC_PATH_DOC,   /* documentation, licences, pictures */
    PFC_PATH_CI,    /* used outside the build: workflows, packaging, editor settings */
    PFC_PATH_OTHER, /* data, scripts: unknown */
} pfc_path_kind;

/** By the path's name alone; bounded by its length. */
pfc_path_kind pfc_path_kind_of(const char *path);
/** Does `path` match one of the globs, or lie below one? "kernels" and "kernels/" match every path
 *  below; '*' matches slashes too. */
bool pfc_path_fits(const char *path, char *const *globs, size_t len);

/* ---- places in the series ---- */

typedef struct pfc_suspect_point {
    int64_t position; /* of the measured commit along the branch */
    double value;     /* median, > 0 */
} pfc_suspect_point;

/**
 * Log-likelihood that the first commit at the new level is at each position first .. first+len-1.
 *
 * points, n      measured medians in the order of positions; several may share one
 * before, after  the two levels, > 0 and different
 * noise_rel      relative spread of one point, >= 0; at least a hundredth of the step is assumed
 * out            len values, the largest 0
 */
void pfc_suspects_place(const pfc_suspect_point *points, size_t n, double before, double after,
                        double noise_rel, int64_t first, size_t len, double *out);

/* ---- the ranking ---- */

typedef struct pfc_suspect_commit {
    const char *subject;      /* NULL: not known */
    const char *const *paths; /* touched; from the repository's root */
    size_t paths_len;
    bool paths_known; /* false: the commit is known from a run only */
    /* Its object code equals that of the measured commit before it: ruled out, unless it touches a
     * file that the project lists as read at run time. */
    bool identical;
    const char *runtime; /* the listed path that it touches; NULL: none */
    double place;        /* log-likelihood, as from pfc_suspects_place */
} pfc_suspect_commit;

/* The sources of one benchmark, by the build graph. */
typedef struct pfc_suspect_sources {
    const char *benchmark;
    const char *const *files;
    size_t len;
    bool moved; /* it changed together with the alert's; false: measured there, and unchanged */
} pfc_suspect_sources;

/* The record of a path in earlier alerts: of `seen` commits of their ranges that touched it,
 * `guilty` were the culprit. */
typedef struct pfc_suspect_past {
    const char *path;
    double guilty, seen;
} pfc_suspect_past;

/* A difference of fingerprints between two neighbouring measured commits. */
typedef struct pfc_suspect_boundary {
    const char *field;        /* "compiler", "harness", "kernel", ... */
    const char *before, *now; /* its values; NULL: absent */
    double place;             /* as for commits */
    bool same_code;           /* the object code is known to be the same on both sides */
} pfc_suspect_boundary;

typedef struct pfc_suspect_case {
    const char *benchmark, *backend, *metric; /* backend may be "" */
    const pfc_suspect_commit *commits;        /* oldest first */
    size_t len;
    char *const *globs; /* perfci.yaml's `paths`, of this benchmark; NULL: none */
    size_t globs_len;
    const pfc_suspect_sources
        *sources; /* the first one is the alert's own benchmark; NULL: unknown */
    size_t sources_len;
    const pfc_suspect_past *past;
    size_t past_len;
    const pfc_suspect_boundary *boundaries;
    size_t boundaries_len;
    size_t exact_moved,
        exact_still; /* exact metrics of this benchmark that moved, and that did not */
} pfc_suspect_case;

typedef enum pfc_suspect_kind {
    PFC_SUSPECT_IS_COMMIT,
    PFC_SUSPECT_IS_TOOLCHAIN, /* compiler, flags, libraries */
    PFC_SUSPECT_IS_HARNESS,   /* perfci itself, the suite, the simulator */
    PFC_SUSPECT_IS_MACHINE,   /* processor, kernel, governor */
    PFC_SUSPECT_IS_NOTHING,   /* none of these */
} pfc_suspect_kind;

typedef struct pfc_suspect {
    pfc_suspect_kind kind;
    size_t index; /* of the commit, or of the boundary */
    double probability;
    bool ruled_out;                         /* by object code or by what it touched */
    char *reasons[PFC_SUSPECT_MAX_REASONS]; /* sentences, the largest weight first */
    size_t reasons_len;
} pfc_suspect;

typedef struct pfc_suspects {
    pfc_suspect *items; /* the most probable first; probabilities sum to 1 */
    size_t len;
} pfc_suspects;

/** Ranks all commits, all boundaries and "none of these". PFC_EINVAL without commits or with more
 *  than PFC_SUSPECT_MAX_COMMITS. Clear *out with pfc_suspects_clear. */
pfc_code pfc_suspects_rank(const pfc_suspect_case *c, pfc_suspects *out,
                           pfc_err *err) PFC_MUSTCHECK;
void pfc_suspects_clear(pfc_suspects *suspects);
/** "commit", "toolchain", "harness", "machine", "none". */
const char *pfc_suspect_kind_name(pfc_suspect_kind kind);
/** The kind to which an entry of a fingerprint belongs. */
pfc_suspect_kind pfc_suspect_kind_of_field(const char *field);

#endif
