/*
 * Documents of a bisection: bisections.options, .culprits and .stopped.
 */
#ifndef PFC_SERVER_REPO_DOCUMENTS_BISECTION_H
#define PFC_SERVER_REPO_DOCUMENTS_BISECTION_H

#include "core/bisect/finding.h"
#include "core/bisect/remaining.h"
#include "server/repo/statements/statement.h"

typedef struct pfc_bisection_options {
    double confidence, noise_rel, layout_noise_rel, delta_rel; /* 0: as core/bisect/bisect.h */
    /* Tolerated change to worse; 0: half of the alert's change, of delta_rel, or as
     * core/bisect/finding.h. */
    double margin_rel;
    bool relink;
    int64_t max_runs;   /* 0: the planner's */
    int priority;       /* of the jobs, 0..100 */
    int parallel;       /* jobs at a time, at most as many as there are runners; 0: 4 */
    const char *source; /* of the jobs: folder or URL; NULL: the project's */
    const char *config; /* of the jobs: perfci.yaml instead of the repository's; NULL */
    /* The branch with the perfci.yaml that counts; NULL: the bisection's. */
    const char *settings_branch;
    /* The commits may come from a stranger: the jobs are those of pull requests, which a runner
     * refuses unless it isolates them. */
    bool stranger;
} pfc_bisection_options;

/** The text of the column; the caller frees it. */
char *pfc_bisection_options_text(const pfc_bisection_options *options);
/** Reads leniently: the options were checked where they came in. `texts` owns what the members of
 *  *out point to. PFC_EINVAL: not JSON. */
pfc_code pfc_bisection_options_parse(const char *text, pfc_bisection_options *out, pfc_texts *texts,
                                     pfc_err *err) PFC_MUSTCHECK;

/** Text of `culprits`, of which the indices are those of `line`, ids of commits; the caller frees
 *  it. */
char *pfc_bisection_culprits_text(const pfc_culprit *culprits, size_t len, const char *const *line);

/** Text of `stopped`: the ends' difference, and the question that a budget left open. left NULL: no
 *  budget ended the search. likeliest: id of the most probable commit, read with `left` only. The
 *  caller frees it. */
char *pfc_bisection_stopped_text(const pfc_finding *finding, const pfc_bisect_remaining *left,
                                 const char *likeliest);

#endif
