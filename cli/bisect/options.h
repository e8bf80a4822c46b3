/*
 * The flags of `perfci bisect`. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_OPTIONS_H
#define PFC_CLI_BISECT_OPTIONS_H

#include "core/base/base.h"

#define BISECT_MAX_GLOBS 256

/* The points between the two ends. */
typedef enum bisect_axis_kind {
    BISECT_COMMITS,
    BISECT_TOOLCHAIN,
    BISECT_DEPENDENCY
} bisect_axis_kind;

typedef struct bisect_opts {
    const char *repo, *good, *bad; /* repo: folder; good and bad: revisions or ids */
    const char *config;            /* the perfci.yaml; NULL: see core/git/project_file.h */
    const char *metric, *benchmark, *backend, *filter;
    const char *measure, *suite, *build, *relink_command; /* NULL: perfci.yaml's */
    const char *commits_file;
    const char *work;                 /* checkouts; NULL: below the user's cache folder */
    const char *url, *data, *project; /* of the service, for --post */
    char *globs[BISECT_MAX_GLOBS];
    size_t globs_len;
    double confidence, noise, layout_noise, delta, margin, timeout_s; /* 0: not given */
    int64_t max_runs;
    int better;  /* +1 higher, -1 lower, 0 not given */
    int paired;  /* +1 yes, -1 no, 0: with checkouts, where the machine has speed states */
    int confirm; /* +1 yes, -1 no, 0: where this command checks commits out and builds them */
    bool time;   /* of a measuring command: its wall time and memory instead of its output */
    bool relink, first_only, no_checkout, resume, dry_run, post, markdown, all_parents;
    bool verbose;  /* a line for each run, and the whole report */
    bool remote;   /* on the service's runners */
    int64_t alert; /* with remote: its metric, range and suspects; 0: none */
    bisect_axis_kind axis;
    const char *points, *submodule, *at;
    int argc; /* of the call, for the command that repeats it */
    char **argv;
} bisect_opts;

/* Is a named commit confirmed by new pairs before it is reported? */
static inline bool bisect_confirms(const bisect_opts *opts)
{
    /* Without checkouts the command builds nothing and the cost of a run is unknown: on request. */
    return opts->confirm ? opts->confirm > 0 : !opts->no_checkout;
}

#endif
