/*
 * Tables on stdout by libsmartcols, and the way values are shown to people.
 */
#include <libsmartcols.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"

struct pfc_table {
    struct libscols_table *scols;
    struct libscols_line *line; /* the newest row; owned by scols */
    bool color;
};

static void need(int rc)
{
    if (rc < 0)
        pfc_die("table: libsmartcols failed with %d", rc);
}

pfc_table *pfc_table_new(const pfc_cli *cli, const pfc_col *cols, size_t len)
{
    pfc_table *table = pfc_alloc(sizeof(*table));

    table->scols = scols_new_table();
    if (!table->scols)
        pfc_die("table: out of memory");
    table->color = cli->color;
    need(scols_table_enable_colors(table->scols, cli->color));
    need(scols_table_set_column_separator(table->scols, "  "));
    /* Files and pipes get whole cells, whatever the width of the terminal. */
    need(scols_table_enable_nowrap(table->scols, true));
    for (size_t i = 0; i < len; i++) {
        struct libscols_column *col = scols_table_new_column(table->scols, cols[i].title, 0,
                                                             cols[i].right ? SCOLS_FL_RIGHT : 0);

        if (!col)
            pfc_die("table: out of memory");
        if (cli->color)
            need(scols_cell_set_color(scols_column_get_header(col), "bold"));
    }
    return table;
}

void pfc_table_row(pfc_table *table)
{
    table->line = scols_table_new_line(table->scols, NULL);
    if (!table->line)
        pfc_die("table: out of memory");
}

void pfc_table_set(pfc_table *table, size_t col, const char *text)
{
    need(scols_line_set_data(table->line, col, text ? text : ""));
}

void pfc_table_setf(pfc_table *table, size_t col, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    pfc_table_set(table, col, text);
}

void pfc_table_color(pfc_table *table, size_t col, const char *color)
{
    if (table->color)
        need(scols_cell_set_color(scols_line_get_cell(table->line, col), color));
}

void pfc_table_print(pfc_table *table)
{
    need(scols_table_set_stream(table->scols, stdout));
    need(scols_print_table(table->scols));
    fflush(stdout);
    scols_unref_table(table->scols);
    free(table);
}

void pfc_show_value(double v, char out[32])
{
    const double size = fabs(v);

    if (!isfinite(v))
        snprintf(out, 32, "?");
    else if (size != 0 && (size >= 1e9 || size < 1e-3))
        snprintf(out, 32, "%.4g", v);
    else if (size >= 10000)
        snprintf(out, 32, "%.0f", v);
    else
        snprintf(out, 32, "%.5g", v);
}

void pfc_show_percent(double rel, char out[32])
{
    if (!isfinite(rel))
        snprintf(out, 32, "?");
    else
        snprintf(out, 32, "%+.*f %%", fabs(rel) < 0.001 && rel != 0 ? 3 : 1, rel * 100);
}

void pfc_show_seconds(double s, char out[32])
{
    if (!isfinite(s))
        snprintf(out, 32, "?");
    else if (s < 60)
        snprintf(out, 32, "%.1f s", s);
    else if (s < 3600)
        snprintf(out, 32, "%d min %d s", (int)(s / 60), (int)fmod(s, 60));
    else
        snprintf(out, 32, "%d h %d min", (int)(s / 3600), (int)(fmod(s, 3600) / 60));
}
