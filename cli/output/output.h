/*
 * Printing: text without control characters, JSON, tables, numbers and times.
 */
#ifndef PFC_CLI_OUTPUT_OUTPUT_H
#define PFC_CLI_OUTPUT_OUTPUT_H

#include <stdarg.h>
#include <stdio.h>

#include <jansson.h>

#include "cli/cli.h"

/* ---- out.c: text on stdout and stderr; control characters of others become '?' ---- */

/** printf to stdout. Everything that may hold text of others is printed by it, or as a table. */
void pfc_out(const char *fmt, ...) PFC_PRINTF(1, 2);
/** The same on stderr. */
void pfc_out_err(const char *fmt, ...) PFC_PRINTF(1, 2);
void pfc_out_to(FILE *to, const char *fmt, va_list ap);
/** `text` as one line, whatever is in it. */
void pfc_out_line(FILE *to, const char *text);
/** A JSON text and a newline on stdout; control characters become \u escapes, which mean the same.
 */
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
/** Text that --csv prints instead, such as the unrounded number. */
void pfc_table_raw(pfc_table *table, size_t col, const char *text);
/** A number of the newest row: `text` for people, `v` unrounded for --csv; empty there when `v` is
 * not finite. */
void pfc_table_number(pfc_table *table, size_t col, const char *text, double v);
/** An interval of the newest row: "low .. high" of both texts, for --csv of both numbers. */
void pfc_table_interval(pfc_table *table, size_t col, const char *const text[2],
                        const double ends[2]);
/** A commit of the newest row: 12 digits of its id, for --csv all of them. */
void pfc_table_commit(pfc_table *table, size_t col, const char *id);
/** The last column's text continues in the next lines where the terminal is too narrow for it. */
void pfc_table_wrap(pfc_table *table, size_t col);
/** Where the terminal is too narrow for this column, its text is printed on a line of its own below
 * the row. */
void pfc_table_below(pfc_table *table, size_t col);
/** "red", "green", "yellow" or "brown": colour of a cell of the newest row, where colours are on.
 */
void pfc_table_color(pfc_table *table, size_t col, const char *color);
/** Prints to stdout and frees. */
void pfc_table_print(pfc_table *table);

/** "1.2 s", "3 min 5 s", "2 h 4 min" into out[32]. */
void pfc_show_seconds(double s, char out[32]);

#endif
