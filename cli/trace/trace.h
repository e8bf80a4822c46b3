/*
 * Parts of `perfci trace`.
 */
#ifndef PFC_CLI_TRACE_TRACE_H
#define PFC_CLI_TRACE_TRACE_H

#include "cli/cli.h"

/** Of a parser: takes the one argument FILE into *file. */
error_t pfc_trace_take_file(int key, char *arg, struct argp_state *state, char **file);

extern const pfc_subcommand pfc_trace_part_store; /* store.c */
extern const pfc_subcommand pfc_trace_part_fetch;

#endif
