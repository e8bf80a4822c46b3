/*
 * The `perfci` command: what its subcommands share. One file a subcommand; each is a function in
 * the table of main.c.
 *
 * Results go to stdout, everything else to stderr; with --json stdout carries JSON alone. The exit
 * statuses are the PFC_EXIT_* below, the same for every subcommand. One thread.
 */
#ifndef PFC_CLI_CLI_H
#define PFC_CLI_CLI_H

#include "cli/options.h"
#include "core/base/buf.h"
#include "core/base/err.h"

/* Exit statuses; scripts branch on them. */
#define PFC_EXIT_OK           0 /* no regression, or done */
#define PFC_EXIT_REGRESSION   1
#define PFC_EXIT_USAGE        2
#define PFC_EXIT_INCONCLUSIVE 3
#define PFC_EXIT_BROKEN       4 /* build failed, wrong result */
#define PFC_EXIT_INFRA        5 /* network, database, timeout */

/* ---- frame.c: global flags, usage, errors ---- */

/** The flags that every subcommand takes, and what they come to. */
typedef struct pfc_cli {
    const char *name; /* "perfci bisect": how messages begin */
    bool json;
    bool csv;      /* tables as comma-separated values */
    bool quiet;    /* no notes, no progress */
    bool color;    /* stdout takes colours: --color, NO_COLOR, terminal */
    bool progress; /* stderr is a terminal and neither --quiet nor --json was given */
} pfc_cli;

/** Reads argv into `input` and the global flags into `cli`. Wrong usage, --help and --version end
 *  the process (2, 0, 0), so it is called before anything is opened. */
void pfc_cli_parse(pfc_cli *cli, const pfc_subcommand *command, int argc, char **argv, void *input);

/** The options that every subcommand takes, as pfc_options_json. */
json_t *pfc_cli_options_json(void);

/** Wrong usage found while reading arguments: prints "perfci x: sentence" and a hint, ends with
 * status 2. */
PFC_NORETURN void pfc_cli_usage(const struct argp_state *state, const char *fmt, ...)
    PFC_PRINTF(2, 3);

/** Prints "perfci x: sentence" and a line "hint: ..." (err->hint, else the code's own) on stderr;
 * returns the status for err->code (see pfc_code_exit). */
int pfc_cli_fail(const pfc_cli *cli, const pfc_err *err);
/** The next step after an error of this code that names none of its own; NULL: there is no general
 * one. */
const char *pfc_cli_hint(pfc_code code);
/** A line for people on stderr; nothing with --quiet. */
void pfc_cli_note(const pfc_cli *cli, const char *fmt, ...) PFC_PRINTF(2, 3);
/** A warning on stderr, also with --quiet. */
void pfc_cli_warn(const pfc_cli *cli, const char *fmt, ...) PFC_PRINTF(2, 3);
/** Rewrites the progress line on stderr when it is a terminal; "" wipes it. */
void pfc_cli_progress(const pfc_cli *cli, const char *fmt, ...) PFC_PRINTF(2, 3);
/** The member of `names` (NULL-terminated) that was probably meant by `typed`; NULL: none near. */
const char *pfc_cli_nearest(const char *typed, const char *const *names);
/** From now on SIGINT and SIGTERM set a flag instead of ending the process; a second one ends it.
 */
void pfc_cli_catch_signals(void);
/** True once a signal came; the shape of a `cancelled` callback, `unused` may be NULL. */
bool pfc_cli_interrupted(void *unused);

#endif
