/*
 * The axis of a bisection: commits, or compilers, flags and versions of a dependency with the code
 * fixed. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_AXIS_H
#define PFC_CLI_BISECT_AXIS_H

#include "cli/bisect/commits.h"
#include "cli/bisect/options.h"

typedef struct bisect_axis {
    bisect_commits commits;
    char **points; /* of another axis: shell text before the commands, by commit; NULL */
} bisect_axis;

/* `globs`: perfci.yaml's, used when the flags give none. `repo`: NULL without one. */
pfc_code bisect_axis_read(bisect_axis *axis, const bisect_opts *opts, pfc_repo *repo,
                          const bisect_globs *globs, pfc_err *err) PFC_MUSTCHECK;
void bisect_axis_clear(bisect_axis *axis);
bool bisect_is_end(const bisect_axis *axis, size_t commit);
const char *bisect_id(const bisect_axis *axis, size_t commit);
size_t bisect_bad(const bisect_axis *axis);
/* "commits" or "points". */
const char *bisect_axis_noun(const bisect_axis *axis);

#endif
