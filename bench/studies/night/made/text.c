/* Strings: writes numbers as words separated by commas, and splits the line again. */
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

enum { ROWS = 400, WIDTH = 24, LINE = 16 * WIDTH };

static char *put_number(char *out, unsigned value)
{
    char digits[12];
    int n = 0;

    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n)
        *out++ = digits[--n];
    return out;
}

__attribute__((noinline)) static long text_row(int row)
{
    char line[LINE], *end = line, *save = NULL;
    unsigned value = (unsigned)row;
    long sum = 0;

    for (int i = 0; i < WIDTH; i++) {
        value = value * 1664525u + 1013904223u;
        end = put_number(end, value);
        *end++ = ',';
    }
    *end = '\0';
    for (char *word = strtok_r(line, ",", &save); word; word = strtok_r(NULL, ",", &save))
        sum += (long)strlen(word) + strtol(word, NULL, 10) % 7;
    return sum;
}

double text(void)
{
    double sum = 0;

    for (int row = 0; row < ROWS; row++)
        sum += (double)text_row(row);
    return sum;
}
