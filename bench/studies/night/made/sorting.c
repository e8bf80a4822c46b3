/* Branches: sorts small rows of pseudo-random numbers by insertion. */
#include "kernels.h"

enum { ROWS = 1000, WIDTH = 48 };

__attribute__((noinline)) static unsigned sorting_row(unsigned seed)
{
    unsigned row[WIDTH];

    for (int i = 0; i < WIDTH; i++) {
        unsigned value = seed = seed * 1664525u + 1013904223u;
        int j = i;

        for (; j > 0 && row[j - 1] > value; j--)
            row[j] = row[j - 1];
        row[j] = value;
    }
    return row[WIDTH / 2];
}

double sorting(void)
{
    double sum = 0;

    for (int row = 0; row < ROWS; row++)
        sum += sorting_row((unsigned)row);
    return sum;
}
