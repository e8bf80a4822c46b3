/* Prints the speed of gemm as JSON, after checking its result against plain loops. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gemm.h"
#include "tune.h"

#define M            48
#define N            48
#define K            192
#define REPEATS      61
#define REFERENCE_US 520.0 /* what one round of the reference is taken to last */

/*
 * With BENCH_CLOCK=steps, time is counted and not read from the clock: one step for each product of
 * two numbers, CALL_STEPS for each dot product, and a random 0.3 % for each launch. Tests use it
 * where the numbers must not depend on the machine.
 */
#define CALL_STEPS   4
#define STEPS(depth) ((double)M * N * (K + (K + (depth)-1) / (depth)*CALL_STEPS))

static double counted_us;

/* Of this launch: in another process another one. */
static double wobble(void)
{
    return 1 + ((unsigned)getpid() * 2654435761u % 1000 - 500.0) * 6e-6;
}

static double thread_us(void)
{
    const char *clock = getenv("BENCH_CLOCK");
    struct timespec now;

    if (clock && strcmp(clock, "steps") == 0)
        return counted_us;
    /* Time of this thread alone: what else the machine runs does not count. */
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* The reference: gemm as it was on the first day. Never to be changed. */
__attribute__((noinline)) static void reference_dot(size_t len, const float *a, const float *b,
                                                    float *sum)
{
    float total = *sum;

    for (size_t p = 0; p < len; p++)
        total += a[p] * b[p];
    *sum = total;
}

/*
 * Time of one round of the reference. gemm's time is given in such rounds, so that a machine that
 * is slower for a while (its clock, a busy neighbour) slows both alike.
 */
static double reference_us(const float *a, const float *b, float *c)
{
    double start = thread_us();

    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++)
            for (size_t p = 0; p < K; p += 32)
                reference_dot(32, a + i * K + p, b + j * K + p, &c[i * N + j]);
    counted_us += 1e-3 * STEPS(32);
    return thread_us() - start;
}

static int wrong(const float *a, const float *b, const float *c)
{
    for (int i = 0; i < M; i += 7) {
        for (int j = 0; j < N; j += 5) {
            double want = 0.0;

            for (int p = 0; p < K; p++)
                want += (double)a[i * K + p] * b[p * N + j];
            if (fabs(want - c[i * N + j]) > 1e-3 * (1.0 + fabs(want)))
                return 1;
        }
    }
    return 0;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(void)
{
    float *a = calloc(M * K, sizeof *a);
    float *b = calloc(K * N, sizeof *b);
    float *c = calloc(M * N, sizeof *c);
    float *spare = calloc(M * N, sizeof *spare);
    double took_us[REPEATS];

    if (a == NULL || b == NULL || c == NULL || spare == NULL)
        return 2;
    for (int i = 0; i < M * K; i++)
        a[i] = (float)((i * 37) % 101) / 101.0f - 0.5f;
    for (int i = 0; i < K * N; i++)
        b[i] = (float)((i * 53) % 97) / 97.0f - 0.5f;
    gemm(M, N, K, a, b, c);
    if (wrong(a, b, c)) {
        fprintf(stderr, "bench: gemm computes a wrong result\n");
        return 3;
    }
    for (int r = 0; r < REPEATS; r++) {
        double before = reference_us(a, b, spare);
        double start = thread_us();
        double gemm_us;

        gemm(M, N, K, a, b, c);
        counted_us += 1e-3 * STEPS(KC) * wobble();
        gemm_us = thread_us() - start;
        took_us[r] = gemm_us / ((before + reference_us(a, b, spare)) / 2) * REFERENCE_US;
    }
    qsort(took_us, REPEATS, sizeof took_us[0], ascending);
    printf("{\"metrics\": {\"gemm_tflops\": %.8f}}\n",
           2.0 * M * N * K / took_us[REPEATS / 2] * 1e-6);
    free(a);
    free(b);
    free(c);
    free(spare);
    return 0;
}
