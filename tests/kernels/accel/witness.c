/* pfc-accel-witness ROWS COLS CASES SEED: random int8 problems for an array of that size, for the
 * array in Verilog. Each is four lines: "m n k", A, B, and what the engine in scalesim-ws says: its
 * cycles and C. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/accel/reference/compare.h"

#define MOST 40 /* of a side */

static void print_matrix(const int8_t *v, size_t len)
{
    for (size_t i = 0; i < len; i++)
        printf("%d ", v[i]);
    putchar('\n');
}

static pfc_code one(pfc_rng *rng, uint32_t rows, uint32_t cols, pfc_err *err)
{
    pfc_accel_compare p;
    uint64_t cycles = 0;
    int32_t *c;
    pfc_code code;

    pfc_accel_compare_draw(&p, rng, MOST);
    p.rows = rows;
    p.cols = cols;
    p.load_rows = 1;
    c = pfc_calloc((size_t)p.m * p.n, sizeof(*c));
    code = pfc_accel_compare_engine(&p, PFC_ACCEL_SCALESIM_WS, c, &cycles, err);
    printf("%u %u %u\n", p.m, p.n, p.k);
    print_matrix(p.a, (size_t)p.m * p.k);
    print_matrix(p.b, (size_t)p.k * p.n);
    printf("%llu", (unsigned long long)cycles);
    for (size_t i = 0; i < (size_t)p.m * p.n; i++)
        printf(" %d", c[i]);
    putchar('\n');
    free(c);
    pfc_accel_compare_free(&p);
    return code;
}

int main(int argc, char **argv)
{
    pfc_err err = { 0 };
    pfc_rng rng;

    if (argc != 5)
        return 2;
    pfc_rng_seed(&rng, strtoull(argv[4], NULL, 10));
    for (unsigned long i = strtoul(argv[3], NULL, 10); i > 0; i--) {
        if (one(&rng, (uint32_t)strtoul(argv[1], NULL, 10), (uint32_t)strtoul(argv[2], NULL, 10),
                &err)) {
            fprintf(stderr, "pfc-accel-witness: %s\n", err.msg);
            return 1;
        }
    }
    return 0;
}
