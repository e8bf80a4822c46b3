/*
 * jobs.task: what a runner is to do beyond measuring a commit with a suite. The service makes it
 * and does not read it: runners do, and handlers show the blocks.
 */
#ifndef PFC_SERVER_REPO_DOCUMENTS_JOB_TASK_H
#define PFC_SERVER_REPO_DOCUMENTS_JOB_TASK_H

#include "core/base/base.h"

/** Whether an earlier result of the same pair may replace this job's measurement. */
typedef enum pfc_job_reuse {
    PFC_JOB_REUSE_NONE,    /* the runner makes no key of the pair */
    PFC_JOB_REUSE_NEVER,   /* the pair is measured; later jobs may use the result */
    PFC_JOB_REUSE_ALLOWED, /* the runner asks for an earlier result first */
} pfc_job_reuse;

/** Builds that one runner measures together in blocks, as one session (core/blocks/blocks.h). */
typedef struct pfc_job_blocks {
    const char *const *commits; /* new commits in the order of history; 40 digits, all different */
    size_t commits_len;         /* 1..PFC_JOB_MAX_COMMITS; the last one is the job's commit */
    const char *base;           /* the last judged commit; not among `commits` */
    /* Subset of `commits` that was judged before; measured for comparison with later commits. */
    const char *const *known;
    size_t known_len;
    const char *const *anchors; /* the first that builds is the anchor; not among `commits` */
    size_t anchors_len;         /* at most PFC_JOB_MAX_ANCHORS; 0: the base is the anchor */
    double budget_s;            /* measuring time, 1..PFC_JOB_MAX_BUDGET_S */
    double margin;              /* relative change to tolerate; 0: the runner's default */
    int64_t rounds;             /* fixed number of rounds; 0: until all builds are decided */
    pfc_job_reuse reuse;        /* of one commit against its base */
} pfc_job_blocks;

/** Options of a job that a client ordered. */
typedef struct pfc_job_options {
    const char *config;          /* perfci.yaml instead of the repository's; NULL */
    const char *settings_branch; /* whose perfci.yaml counts; NULL: that of the job's branch */
    const char *filter;          /* benchmarks to measure; NULL: all */
    const char *const *backends; /* empty: all */
    size_t backends_len;
    bool traces;                  /* the runner stores the traces that the measurement leaves */
    const pfc_job_blocks *blocks; /* NULL: the commit alone is measured */
} pfc_job_options;

/** One measurement of a bisection or of a verification. */
typedef struct pfc_job_search {
    const char *metric, *benchmark, *backend; /* benchmark, backend NULL: any */
    unsigned layout;                          /* of the build; 0: the ordinary one */
    const char *config, *settings_branch;     /* as of pfc_job_options */
    const char *pair; /* commit that is measured in the same lease as well; NULL: none */
    bool pair_first;  /* `pair` is measured before the job's commit */
    bool traces;      /* as of pfc_job_options */
} pfc_job_search;

/** The text of the column; the caller frees it. NULL: no option is set. Equal options have equal
 *  texts. */
char *pfc_job_options_text(const pfc_job_options *options);
/** The text of the column; the caller frees it. Never NULL. */
char *pfc_job_search_text(const pfc_job_search *search);

#endif
