/* Latency: looks keys up in a table, each step waiting for the one before. */
#include "kernels.h"

enum { ROWS = 9000, LOOKUPS = 32, SLOTS = 1 << 12 };

static unsigned slots[SLOTS];

__attribute__((noinline)) static unsigned table_row(unsigned key)
{
    for (int i = 0; i < LOOKUPS; i++)
        key = (key ^ slots[key % SLOTS] ^ (unsigned)i) * 2654435761u >> 3;
    return key;
}

double table(void)
{
    double sum = 0;

    if (!slots[1])
        for (unsigned i = 0; i < SLOTS; i++)
            slots[i] = i * 2246822519u + 1;
    for (int row = 0; row < ROWS; row++)
        sum += table_row((unsigned)row);
    return sum;
}
