/* For the measuring programs of real repositories: data by seed, times, and the result as JSON. */
#ifndef NIGHT_BENCH_H
#define NIGHT_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 7 };

typedef struct bench_case {
    const char *name; /* of the metric */
    void (*run)(void);
    int calls; /* of one timing */
} bench_case;

/* Words of a small vocabulary, so that a compressor finds matches of many lengths. */
static inline void bench_text(unsigned char *out, size_t len)
{
    unsigned seed = 12345, left = 0, word = 0;

    for (size_t i = 0; i < len; i++) {
        if (left == 0) {
            seed = seed * 1664525u + 1013904223u;
            left = 2 + (seed >> 20) % 9;
            word = (seed >> 10) % 700 * 7919u;
            out[i] = ' ';
            continue;
        }
        left--;
        word = word * 69069u + 1;
        out[i] = (unsigned char)('a' + (word >> 16) % 26);
    }
}

static inline double bench_now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static inline int bench_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static inline int bench_main(const bench_case *cases, int n)
{
    double us[REPEATS];
    double(*all)[REPEATS] = calloc((size_t)n, sizeof(us));

    if (!all)
        return 1;
    for (int r = -1; r < REPEATS; r++) /* the first one warms up */
        for (int c = 0; c < n; c++) {
            double start = bench_now_us();

            for (int i = 0; i < cases[c].calls; i++)
                cases[c].run();
            if (r >= 0)
                all[c][r] = bench_now_us() - start;
        }
    printf("{\"metrics\": {");
    for (int c = 0; c < n; c++) {
        qsort(all[c], REPEATS, sizeof(us[0]), bench_by_value);
        printf("%s\"%s\": %.4f", c ? ", " : "", cases[c].name, all[c][REPEATS / 2]);
    }
    printf("}}\n");
    free(all);
    return 0;
}

#endif
