/*
 * A CPU's program measured again: instructions by function under valgrind's callgrind, and call
 * stacks by perf. Both commits are built in checkouts of their own. Private to this folder.
 */
#ifndef PFC_CLI_EXPLAIN_MEASURED_H
#define PFC_CLI_EXPLAIN_MEASURED_H

#include "cli/explain/explain.h"

/**
 * Fills e->functions (--callgrind) and e->flame (--perf). Where a tool is missing or not permitted,
 * they say why. PFC_EINVAL when a side names no commit, or the project measures no command;
 * PFC_EBROKEN with the reason when a commit cannot be built or measured.
 */
pfc_code explain_add_measured(const explain_opts *o, const explain_input *in, pfc_explanation *e,
                              pfc_err *err) PFC_MUSTCHECK;

#endif
