/*
 * Wrong usage: checked before argp reads the arguments, so that the message names the option that
 * is wrong and the one that was probably meant. For frame.c only.
 */
#ifndef PFC_CLI_OUTPUT_USAGE_H
#define PFC_CLI_OUTPUT_USAGE_H

#include "cli/cli.h"

/** Prints "name: sentence" and a hint, and ends the process with status 2. */
PFC_NORETURN void pfc_usage_fail(const char *name, const char *fmt, ...) PFC_PRINTF(2, 3);

/** Ends the process when an option in argv is unknown or ambiguous, lacks its value or has one too
 * many. Options behind "--" are not looked at. `own` and `global` end with an empty entry. */
void pfc_usage_check(const pfc_cli *cli, const struct argp_option *own,
                     const struct argp_option *global, int argc, char **argv);

#endif
