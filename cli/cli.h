/*
 * The `perfci` command: what its subcommands share. One file a subcommand; each is a function in
 * the table of main.c.
 *
 * Results go to stdout, everything else to stderr; with --json stdout carries JSON alone. The exit
 * statuses are the PFC_EXIT_* below, the same for every subcommand. One thread.
 */
#ifndef PFC_CLI_CLI_H
#define PFC_CLI_CLI_H

#include <argp.h>
#include <stdarg.h>
#include <stdio.h>

#include <jansson.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* What a caller's script branches on. */
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

typedef int (*pfc_cmd_fn)(pfc_cli *cli, int argc, char **argv);

typedef enum pfc_arg_kind {
    PFC_ARG_TEXT,     /* const char *: as given */
    PFC_ARG_DURATION, /* const char *: as given, when it is a time such as 90s */
    PFC_ARG_SECONDS,  /* double: a time such as 90s */
    PFC_ARG_COUNT,    /* size_t from min to max */
    PFC_ARG_FLAG      /* bool: true when given */
} pfc_arg_kind;

/** An option that does nothing but fill a member of the subcommand's input. */
typedef struct pfc_arg_field {
    int key;
    pfc_arg_kind kind;
    size_t at; /* offsetof the member */
    size_t min, max;
} pfc_arg_field;

/** How a subcommand reads its arguments. */
typedef struct pfc_cmd_args {
    const struct argp_option *options;
    argp_parser_t parse;         /* state->input is the `input` given to pfc_cli_parse */
    const char *args_doc;        /* "[FILE...]" */
    const char *doc;             /* what it does, then \v, then examples */
    const pfc_arg_field *fields; /* ended by key 0; NULL: `parse` gets every option */
} pfc_cmd_args;

/** Reads argv into `input` and the global flags into `cli`. Wrong usage, --help and --version end
 *  the process (2, 0, 0), so it is called before anything is opened. */
void pfc_cli_parse(pfc_cli *cli, const pfc_cmd_args *args, int argc, char **argv, void *input);

/** Wrong usage found while reading arguments: prints "perfci x: sentence" and a hint, ends with status 2. */
PFC_NORETURN void pfc_cli_usage(const struct argp_state *state, const char *fmt, ...)
    PFC_PRINTF(2, 3);

/* A flag's value, or the end of the process with a sentence and status 2. `flag` e.g. "--port". */
int64_t pfc_arg_i64(struct argp_state *state, const char *text, int64_t min, int64_t max,
                    const char *flag);
double pfc_arg_double(struct argp_state *state, const char *text, double min, double max,
                      const char *flag);

/** Prints "perfci x: sentence" and a line "hint: ..." (err->hint, else the code's own) on stderr; returns the
 *  status for err->code (see pfc_code_exit). */
int pfc_cli_fail(const pfc_cli *cli, const pfc_err *err);
/** A line for people on stderr; nothing with --quiet. */
void pfc_cli_note(const pfc_cli *cli, const char *fmt, ...) PFC_PRINTF(2, 3);
/** A warning on stderr, also with --quiet. */
void pfc_cli_warn(const pfc_cli *cli, const char *fmt, ...) PFC_PRINTF(2, 3);
/** Rewrites the progress line on stderr when it is a terminal; "" wipes it. */
void pfc_cli_progress(const pfc_cli *cli, const char *fmt, ...) PFC_PRINTF(2, 3);
/** Appends a word as it is typed in a shell: in single quotes when it holds anything special. */
void pfc_shell_word(pfc_buf *out, const char *word);
/** The member of `names` (NULL-terminated) that was probably meant by `typed`; NULL: none near. */
const char *pfc_cli_nearest(const char *typed, const char *const *names);
/** From now on SIGINT and SIGTERM set a flag instead of ending the process; a second one ends it. */
void pfc_cli_catch_signals(void);
/** True once a signal came; the shape of a `cancelled` callback, `unused` may be NULL. */
bool pfc_cli_interrupted(void *unused);

/* ---- out.c: text on stdout and stderr; control characters of others become '?' ---- */

/** printf to stdout. Everything that may hold text of others is printed by it, or as a table. */
void pfc_out(const char *fmt, ...) PFC_PRINTF(1, 2);
/** The same on stderr. */
void pfc_out_err(const char *fmt, ...) PFC_PRINTF(1, 2);
void pfc_out_to(FILE *to, const char *fmt, va_list ap);
/** `text` as one line, whatever is in it. */
void pfc_out_line(FILE *to, const char *text);
/** A JSON text and a newline on stdout; control characters become \u escapes, which mean the same. */
void pfc_out_json(const char *text);
/** The same without newline and flush. */
void pfc_out_json_part(const char *text);
/** The document and a newline on stdout, compact; members keep their order. Takes `doc`. */
void pfc_cli_print_json(json_t *doc);

/* ---- table.c: tables on stdout ---- */

typedef struct pfc_table_col {
    const char *title;
    bool right; /* numbers */
} pfc_table_col;

typedef struct pfc_table pfc_table;

/** cols lives as long as the table; at most 16. */
pfc_table *pfc_table_new(const pfc_cli *cli, const pfc_table_col *cols, size_t len);
/** Starts a row; its cells are set next. */
void pfc_table_row(pfc_table *table);
/** Text of a cell of the newest row; NULL is an empty cell. */
void pfc_table_set(pfc_table *table, size_t col, const char *text);
void pfc_table_setf(pfc_table *table, size_t col, const char *fmt, ...) PFC_PRINTF(3, 4);
/** What --csv prints instead of the text, such as the unrounded number. */
void pfc_table_raw(pfc_table *table, size_t col, const char *text);
/** The last column's text continues in the next lines where the terminal is too narrow for it. */
void pfc_table_wrap(pfc_table *table, size_t col);
/** Where the terminal is too narrow for this column, its text stands in a line of its own below the row. */
void pfc_table_below(pfc_table *table, size_t col);
/** "red", "green", "yellow" or "brown": colour of a cell of the newest row, where colours are on. */
void pfc_table_color(pfc_table *table, size_t col, const char *color);
/** Prints to stdout and frees. */
void pfc_table_print(pfc_table *table);

/** A value with a fitting number of digits: "0.1234", "12.35", "1.235e+09" into out[32]. */
void pfc_show_value(double v, char out[32]);
/** "+5.2 %", "-0.1 %" into out[32]; NAN gives "?". */
void pfc_show_percent(double rel, char out[32]);
/** "1.2 s", "3 min 5 s", "2 h 4 min" into out[32]. */
void pfc_show_seconds(double s, char out[32]);

/* ---- the subcommands ---- */

int pfc_cmd_up(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_down(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_status(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_accel(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_detect(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_replay(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_run(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_push(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_import(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_compare(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_check(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_bisect(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_init(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_token(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_project(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_series(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_alerts(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_events(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_audit(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_config(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_doctor(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_coverage(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_jobs(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_accept(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_why(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_repro(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_store(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_nightly(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_comment(pfc_cli *cli, int argc, char **argv);
int pfc_cmd_suite(pfc_cli *cli, int argc, char **argv);

#endif
