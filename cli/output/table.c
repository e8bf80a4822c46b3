/*
 * Tables on stdout, and the way values are shown to people.
 *
 * On a terminal a table is as wide as the terminal (COLUMNS counts before what the terminal says):
 * the widest text columns are shortened first, with "…" where text was cut; numbers are never cut.
 * Files and pipes get whole cells. With --csv the same rows are written as comma-separated values
 * with a header, numbers unrounded.
 */
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "cli/cli.h"
#include "cli/output/output.h"
#include "core/base/parse.h"

enum {
    GAP = 2,          /* blanks between columns */
    FLOOR = 8,        /* a text column does not become narrower than this or its title ... */
    FLOOR_BELOW = 24, /* a text that may stand below the row does when it would become narrower */
    FLOOR_NARROW = 3, /* ... unless nothing else makes the table fit */
    BELOW_INDENT = 7, /* blanks before a text below its row */
    MAX_COLS = 16,
    MAX_TERMINAL = 10000,
};

typedef struct cell {
    char *text;
    char *raw; /* for --csv; NULL: the text */
    const char *color;
} cell;

struct pfc_table {
    const pfc_cli *cli;
    const pfc_table_col *cols;
    size_t len;
    cell *cells; /* rows of len */
    size_t rows, cap;
    unsigned below, hidden; /* columns, a bit each: may stand below the row; do so now */
    size_t wrap;            /* the column whose text continues in the next lines; len: none */
};

pfc_table *pfc_table_new(const pfc_cli *cli, const pfc_table_col *cols, size_t len)
{
    pfc_table *table = pfc_alloc(sizeof(*table));

    if (len > MAX_COLS)
        pfc_die("table: at most %d columns, got %zu", MAX_COLS, len);
    *table = (pfc_table){ .cli = cli, .cols = cols, .len = len, .wrap = len };
    return table;
}

void pfc_table_wrap(pfc_table *table, size_t col)
{
    table->wrap = col;
}

void pfc_table_below(pfc_table *table, size_t col)
{
    table->below |= 1u << col;
}

void pfc_table_row(pfc_table *table)
{
    const size_t used = table->rows * table->len;

    if (table->rows == table->cap) {
        table->cap = PFC_MAX(2 * table->cap, (size_t)16);
        table->cells = pfc_realloc(table->cells, table->cap * table->len, sizeof(*table->cells));
    }
    for (size_t i = 0; i < table->len; i++)
        table->cells[used + i] = (cell){ 0 };
    table->rows++;
}

static cell *newest(const pfc_table *table, size_t col)
{
    return &table->cells[(table->rows - 1) * table->len + col];
}

static void keep(char **to, const char *text)
{
    free(*to);
    *to = pfc_strdup(text ? text : "");
    pfc_text_plain(*to, false);
}

void pfc_table_set(pfc_table *table, size_t col, const char *text)
{
    keep(&newest(table, col)->text, text);
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

void pfc_table_raw(pfc_table *table, size_t col, const char *text)
{
    keep(&newest(table, col)->raw, text);
}

void pfc_table_number(pfc_table *table, size_t col, const char *text, double v)
{
    char raw[32] = "";

    if (isfinite(v))
        (void)snprintf(raw, sizeof(raw), "%.12g", v);
    pfc_table_set(table, col, text);
    pfc_table_raw(table, col, raw);
}

void pfc_table_interval(pfc_table *table, size_t col, const char *const text[2],
                        const double ends[2])
{
    char raw[64] = "";

    if (isfinite(ends[0]) && isfinite(ends[1]))
        (void)snprintf(raw, sizeof(raw), "%.12g .. %.12g", ends[0], ends[1]);
    pfc_table_setf(table, col, "%s .. %s", text[0], text[1]);
    pfc_table_raw(table, col, raw);
}

void pfc_table_commit(pfc_table *table, size_t col, const char *id)
{
    pfc_table_setf(table, col, "%.12s", id);
    pfc_table_raw(table, col, id);
}

void pfc_table_color(pfc_table *table, size_t col, const char *color)
{
    newest(table, col)->color = color;
}

/* ---- width ---- */

/* The columns that the character at *p takes on a terminal; *p moves behind it. */
static size_t take_character(const char **p)
{
    mbstate_t state = { 0 };
    wchar_t c = 0;
    const size_t size = mbrtowc(&c, *p, strlen(*p), &state);
    int width;

    if (size == 0 || size > MB_LEN_MAX) { /* a locale without it: one column a character */
        do
            (*p)++;
        while (((unsigned char)**p & 0xc0) == 0x80);
        return 1;
    }
    *p += size;
    width = wcwidth(c);
    return width < 0 ? 1 : (size_t)width;
}

static size_t width_of(const char *text)
{
    size_t width = 0;

    while (*text)
        width += take_character(&text);
    return width;
}

/* The bytes of `text` that fit into `width` columns. */
static size_t fitting(const char *text, size_t width)
{
    const char *p = text, *next = text;

    while (*p) {
        const size_t one = take_character(&next);

        if (one > width)
            break;
        width -= one;
        p = next;
    }
    return (size_t)(p - text);
}

/* The columns of the terminal; 0: no terminal, no limit. */
static size_t terminal_width(void)
{
    const char *said = getenv("COLUMNS");
    struct winsize size = { 0 };
    int64_t columns = 0;

    if (!isatty(STDOUT_FILENO))
        return 0;
    if (said && !pfc_parse_i64(said, 1, MAX_TERMINAL, "COLUMNS", &columns, NULL))
        return (size_t)columns;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return size.ws_col;
    return 80;
}

static bool hidden(const pfc_table *table, size_t col)
{
    return table->hidden & (1u << col);
}

/* Narrows the widest text column by one, as long as one is wider than its floor. */
static bool narrow(const pfc_table *table, size_t *width, size_t floor, bool keep_titles)
{
    size_t best = table->len;

    for (size_t i = 0; i < table->len; i++) {
        const size_t title = keep_titles ? width_of(table->cols[i].title) : 0;

        if (!hidden(table, i) && !table->cols[i].right && width[i] > PFC_MAX(floor, title) &&
            (best == table->len || width[i] > width[best]))
            best = i;
    }
    if (best < table->len)
        width[best]--;
    return best < table->len;
}

static void fit(const pfc_table *table, size_t most, size_t *width)
{
    size_t sum = 0;

    for (size_t i = 0; i < table->len; i++) {
        if (hidden(table, i))
            continue;
        width[i] = width_of(table->cols[i].title);
        for (size_t r = 0; r < table->rows; r++) {
            const char *text = table->cells[r * table->len + i].text;

            if (text)
                width[i] = PFC_MAX(width[i], width_of(text));
        }
        sum += width[i] + (sum ? GAP : 0);
    }
    while (most && sum > most && narrow(table, width, FLOOR, true))
        sum--;
    while (most && sum > most && narrow(table, width, FLOOR_NARROW, false))
        sum--;
}

/* ---- printing ---- */

static const char *escape_of(const char *color)
{
    static const struct {
        const char *name, *escape;
    } known[] = { { "bold", "\033[1m" },
                  { "red", "\033[31m" },
                  { "green", "\033[32m" },
                  { "brown", "\033[33m" },
                  { "yellow", "\033[1;33m" } };

    for (size_t i = 0; color && i < PFC_ARRAY_LEN(known); i++)
        if (strcmp(known[i].name, color) == 0)
            return known[i].escape;
    return NULL;
}

/* One line of a cell, padded unless it is the last; returns what of the text is left for the next
 * line. */
static const char *print_cell(const pfc_table *table, size_t col, const char *text, size_t width,
                              const char *color)
{
    const char *escape = table->cli->color ? escape_of(color) : NULL;
    const bool wrap = col == table->wrap;
    const unsigned behind = ((1u << table->len) - 1) & ~((2u << col) - 1);
    const bool last = (behind & ~table->hidden) == 0;
    size_t bytes = fitting(text, width);
    const char *rest = text + bytes;
    const bool cut = *rest && !wrap;
    size_t used;
    char *shown;

    if (cut)
        bytes = fitting(text, width - 1);
    /* Wrapped text breaks at a blank, where there is one in its second half. */
    for (size_t i = bytes; wrap && *rest && i > bytes / 2; i--)
        if (text[i] == ' ') {
            bytes = i;
            rest = text + i + 1;
            break;
        }
    shown = pfc_format("%.*s%s", (int)bytes, text, cut ? "…" : "");
    used = width_of(shown);
    if (table->cols[col].right)
        printf("%*s", (int)(width - PFC_MIN(used, width)), "");
    printf("%s%s%s", escape ? escape : "", shown, escape ? "\033[0m" : "");
    if (!last)
        printf("%*s", (int)((table->cols[col].right ? 0 : width - PFC_MIN(used, width)) + GAP), "");
    free(shown);
    return wrap ? rest : "";
}

static void print_row(const pfc_table *table, const cell *cells, const size_t *width)
{
    const char *rest = "";

    for (size_t i = 0; i < table->len; i++) {
        if (hidden(table, i))
            continue;

        const char *text = cells[i].text ? cells[i].text : "";
        const char *left = print_cell(table, i, text, width[i], cells[i].color);

        if (i == table->wrap)
            rest = left;
    }
    putchar('\n');
    while (*rest) {
        for (size_t i = 0; i < table->wrap; i++)
            printf("%*s", (int)(width[i] + GAP), "");
        rest = print_cell(table, table->wrap, rest, width[table->wrap], NULL);
        putchar('\n');
    }
}

static void print_csv_field(const char *text, bool last)
{
    const bool quoted = strpbrk(text, ",\"\r\n") != NULL;

    if (quoted)
        putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    if (quoted)
        putchar('"');
    putchar(last ? '\n' : ',');
}

static void print_csv(const pfc_table *table)
{
    for (size_t i = 0; i < table->len; i++) {
        char *title = pfc_strdup(table->cols[i].title);

        for (char *p = title; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        print_csv_field(title, i + 1 == table->len);
        free(title);
    }
    for (size_t k = 0; k < table->rows * table->len; k++) {
        const cell *c = &table->cells[k];

        print_csv_field(c->raw ? c->raw : c->text ? c->text : "", (k + 1) % table->len == 0);
    }
}

/* A line for each hidden cell of the row. */
static void print_below(const pfc_table *table, const cell *cells, size_t most)
{
    for (size_t i = 0; i < table->len; i++) {
        const char *text = cells[i].text;
        const size_t room = most > BELOW_INDENT ? most - BELOW_INDENT : 1;
        const bool cut = text && width_of(text) > room;

        if (hidden(table, i) && text && *text)
            printf("%*s%.*s%s\n", BELOW_INDENT, "", (int)fitting(text, cut ? room - 1 : room), text,
                   cut ? "…" : "");
    }
}

/* Puts texts below the rows when they would lose too much beside them. */
static void hide_narrow(pfc_table *table, size_t most, size_t *width)
{
    size_t whole[MAX_COLS];

    if (!most || !table->below)
        return;
    fit(table, 0, whole);
    for (size_t i = 0; i < table->len; i++)
        if (table->below & (1u << i) && width[i] < PFC_MIN(whole[i], (size_t)FLOOR_BELOW))
            table->hidden = table->below;
    if (table->hidden)
        fit(table, most, width);
}

static void print_people(pfc_table *table)
{
    const size_t most = terminal_width();
    cell titles[MAX_COLS] = { 0 };
    size_t width[MAX_COLS];

    fit(table, most, width);
    hide_narrow(table, most, width);
    for (size_t i = 0; i < table->len; i++)
        titles[i] = (cell){ .text = pfc_strdup(table->cols[i].title), .color = "bold" };
    print_row(table, titles, width);
    for (size_t r = 0; r < table->rows; r++) {
        print_row(table, &table->cells[r * table->len], width);
        print_below(table, &table->cells[r * table->len], most);
    }
    for (size_t i = 0; i < table->len; i++)
        free(titles[i].text);
}

void pfc_table_print(pfc_table *table)
{
    if (table->cli->csv)
        print_csv(table);
    else
        print_people(table);
    fflush(stdout);
    for (size_t k = 0; k < table->rows * table->len; k++) {
        free(table->cells[k].text);
        free(table->cells[k].raw);
    }
    free(table->cells);
    free(table);
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
