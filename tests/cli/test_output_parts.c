/* The output layer on a terminal of a given width and in a file: which characters are escaped, how
 * tables are narrowed, cut, wrapped and coloured, and how they look as CSV. */
#include <locale.h>
#include <math.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output/output.h"

#include "tests/check/check.h"

static char printed[65536];

/* Standard output goes into a file until end_file() returns what was printed. */
static void begin_file(void)
{
    char name[] = "/tmp/pfc-output-XXXXXX";
    const int fd = mkstemp(name);

    cr_assert(fd >= 0);
    unlink(name);
    (void)fflush(stdout);
    (void)dup2(fd, STDOUT_FILENO);
    close(fd);
}

static char *end_file(void)
{
    ssize_t len;

    (void)fflush(stdout);
    len = pread(STDOUT_FILENO, printed, sizeof(printed) - 1, 0);
    cr_assert(len >= 0);
    printed[len] = '\0';
    return printed;
}

/* The first and the last character of each range, and those beside them. */
Test(output, json_escapes_what_a_terminal_obeys_and_nothing_else)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        { "a~b", "a~b" },
        { "a\x7f", "a\\u007f" },
        { "\xc2\x80 \xc2\x9f", "\\u0080 \\u009f" },
        { "\xc2\xa0\xc1", "\xc2\xa0\xc1" },
        { "\xd8\x9b\xd8\x9c\xd8\x9d", "\xd8\x9b\\u061c\xd8\x9d" },
        { "\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90",
          "\xe2\x80\x8d\\u200e\\u200f\xe2\x80\x90" },
        { "\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xaf",
          "\xe2\x80\xa7\\u2028\\u202e\xe2\x80\xaf" },
        { "\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xaf\xe2\x81\xb0",
          "\xe2\x81\xa5\\u2066\\u206f\xe2\x81\xb0" },
        { "\xe2\x82\xac", "\xe2\x82\xac" },
        { "\xef\xbb\xbe\xef\xbb\xbfz", "\xef\xbb\xbe\\ufeffz" },
        { "\xef\xbb\xbf", "\\ufeff" },
        { "", "" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *want = pfc_format("%s\n", rows[i].shown);

        begin_file();
        pfc_out_json(rows[i].text);
        cr_expect(eq(str, end_file(), want), "%zu", i);
        free(want);
    }
}

Test(output, text_of_others_is_plain_and_a_line_is_one)
{
    begin_file();
    pfc_out("%s|%d\n", "a\x1b[31m\tb\nc", 7);
    pfc_out_line(stdout, "a\nb\tc\x07");
    pfc_cli_print_json(json_pack("{s:[i,b]}", "a", 1, 1));
    pfc_cli_print_json(json_string("x"));
    cr_expect(eq(str, end_file(), "a?[31m b\nc|7\na b c?\n{\"a\":[1,true]}\n\"x\"\n"));
}

/* ---- tables ---- */

static const pfc_table_col cols[] = { { "NAME", false }, { "N", true }, { "TEXT", false } };

static void fill(pfc_table *table)
{
    pfc_table_row(table);
    pfc_table_set(table, 0, "a long name of it");
    pfc_table_number(table, 1, "1.5", 1.25);
    pfc_table_set(table, 2, "one two three four five");
    pfc_table_row(table);
    pfc_table_set(table, 0, "b,\"c\"");
    pfc_table_number(table, 1, "?", (double)NAN);
    pfc_table_set(table, 2, NULL);
    pfc_table_color(table, 0, "red");
    pfc_table_row(table);
    pfc_table_setf(table, 0, "%s-%d", "d", 4);
    pfc_table_interval(table, 1, (const char *[]){ "1", "2" }, (const double[]){ 1.25, 2.5 });
    pfc_table_set(table, 2, "\xc3\xa9\xe4\xb8\xad");
}

static char *in_file(const pfc_cli *cli)
{
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    fill(table);
    begin_file();
    pfc_table_print(table);
    return end_file();
}

Test(tables, in_a_file_nothing_is_cut_and_csv_has_the_unrounded_numbers)
{
    cr_expect(eq(str, in_file(&(pfc_cli){ 0 }),
                 "NAME                    N  TEXT\n"
                 "a long name of it     1.5  one two three four five\n"
                 "b,\"c\"                   ?  \n"
                 "d-4                1 .. 2  \xc3\xa9\xe4\xb8\xad\n"));
    cr_expect(eq(str, in_file(&(pfc_cli){ .csv = true }),
                 "name,n,text\n"
                 "a long name of it,1.25,one two three four five\n"
                 "\"b,\"\"c\"\"\",,\n"
                 "d-4,1.25 .. 2.5,\xc3\xa9\xe4\xb8\xad\n"));
}

/* The text on a terminal of so many columns. wrap, below: a column; cols' number: none. */
static char *on_terminal(const char *columns, size_t wrap, size_t below, bool color)
{
    const pfc_cli cli = { .color = color };
    pfc_table *table = pfc_table_new(&cli, cols, PFC_ARRAY_LEN(cols));
    int master = -1, slave = -1;
    size_t len = 0;

    cr_assert(eq(int, openpty(&master, &slave, NULL, NULL, NULL), 0));
    (void)setenv("COLUMNS", columns, 1);
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    fill(table);
    if (wrap < PFC_ARRAY_LEN(cols))
        pfc_table_wrap(table, wrap);
    if (below < PFC_ARRAY_LEN(cols))
        pfc_table_below(table, below);
    (void)fflush(stdout);
    (void)dup2(slave, STDOUT_FILENO);
    pfc_table_print(table);
    (void)fflush(stdout);
    /* The kernel hands the bytes over later: reading blocks until a mark that follows them. */
    cr_assert(eq(int, (int)write(slave, "\x04", 1), 1));
    do {
        const ssize_t got = read(master, printed + len, sizeof(printed) - 1 - len);

        cr_assert(got > 0);
        len += (size_t)got;
    } while (printed[len - 1] != '\x04');
    printed[len - 1] = '\0';
    for (char *p = printed, *to = printed;; p++) { /* a terminal's own \r */
        if (*p != '\r')
            *to++ = *p;
        if (!*p)
            break;
    }
    close(master);
    close(slave);
    return printed;
}

static void expect_terminal(const char *columns, size_t wrap, size_t below, bool color,
                            const char *want)
{
    cr_expect(eq(str, on_terminal(columns, wrap, below, color), (char *)want), "%s columns",
              columns);
}

Test(tables, a_terminal_that_is_too_narrow_cuts_the_widest_column)
{
    expect_terminal("50", 9, 9, false,
                    "NAME                    N  TEXT\n"
                    "a long name of it     1.5  one two three four five\n"
                    "b,\"c\"                   ?  \n"
                    "d-4                1 .. 2  \xc3\xa9\xe4\xb8\xad\n");
    expect_terminal("49", 9, 9, false,
                    "NAME                    N  TEXT\n"
                    "a long name of it     1.5  one two three four fi\xe2\x80\xa6\n"
                    "b,\"c\"                   ?  \n"
                    "d-4                1 .. 2  \xc3\xa9\xe4\xb8\xad\n");
    expect_terminal("36", 9, 9, false,
                    "NAME                N  TEXT\n"
                    "a long name \xe2\x80\xa6     1.5  one two thre\xe2\x80\xa6\n"
                    "b,\"c\"               ?  \n"
                    "d-4            1 .. 2  \xc3\xa9\xe4\xb8\xad\n");
    expect_terminal("12", 9, 9, false,
                    "NA\xe2\x80\xa6       N  TE\xe2\x80\xa6\n"
                    "a \xe2\x80\xa6     1.5  on\xe2\x80\xa6\n"
                    "b,\xe2\x80\xa6       ?  \n"
                    "d-4  1 .. 2  \xc3\xa9\xe4\xb8\xad\n");
}

Test(tables, a_wrapped_column_goes_on_in_the_next_lines)
{
    expect_terminal("40", 2, 9, false,
                    "NAME                  N  TEXT\n"
                    "a long name of\xe2\x80\xa6     1.5  one two three\n"
                    "                         four five\n"
                    "b,\"c\"                 ?  \n"
                    "d-4              1 .. 2  \xc3\xa9\xe4\xb8\xad\n");
    expect_terminal("34", 2, 9, false,
                    "NAME               N  TEXT\n"
                    "a long name\xe2\x80\xa6     1.5  one two\n"
                    "                      three four\n"
                    "                      five\n"
                    "b,\"c\"              ?  \n"
                    "d-4           1 .. 2  \xc3\xa9\xe4\xb8\xad\n");
}

Test(tables, a_column_below_has_lines_of_its_own_where_it_does_not_fit)
{
    expect_terminal("60", 9, 2, false,
                    "NAME                    N  TEXT\n"
                    "a long name of it     1.5  one two three four five\n"
                    "b,\"c\"                   ?  \n"
                    "d-4                1 .. 2  \xc3\xa9\xe4\xb8\xad\n");
    expect_terminal("40", 9, 2, false,
                    "NAME                    N\n"
                    "a long name of it     1.5\n"
                    "       one two three four five\n"
                    "b,\"c\"                   ?\n"
                    "d-4                1 .. 2\n"
                    "       \xc3\xa9\xe4\xb8\xad\n");
    expect_terminal("20", 9, 2, false,
                    "NAME               N\n"
                    "a long name\xe2\x80\xa6     1.5\n"
                    "       one two thre\xe2\x80\xa6\n"
                    "b,\"c\"              ?\n"
                    "d-4           1 .. 2\n"
                    "       \xc3\xa9\xe4\xb8\xad\n");
}

Test(tables, colours_surround_a_cell_where_they_are_on)
{
    expect_terminal("60", 9, 9, true,
                    "\x1b[1mNAME\x1b[0m                    \x1b[1mN\x1b[0m  \x1b[1mTEXT\x1b[0m\n"
                    "a long name of it     1.5  one two three four five\n"
                    "\x1b[31mb,\"c\"\x1b[0m                   ?  \n"
                    "d-4                1 .. 2  \xc3\xa9\xe4\xb8\xad\n");
    expect_terminal(
        "12", 9, 9, true,
        "\x1b[1mNA\xe2\x80\xa6\x1b[0m       \x1b[1mN\x1b[0m  \x1b[1mTE\xe2\x80\xa6\x1b[0m\n"
        "a \xe2\x80\xa6     1.5  on\xe2\x80\xa6\n"
        "\x1b[31mb,\xe2\x80\xa6\x1b[0m       ?  \n"
        "d-4  1 .. 2  \xc3\xa9\xe4\xb8\xad\n");
}
