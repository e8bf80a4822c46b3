/* The modes of other simulators against what those simulators print. */
#include <stdio.h>
#include <string.h>

#include "kernels/accel/ops/ops.h"

#include "tests/check/check.h"

static pfc_accel_result run(const char *mode, unsigned rows, unsigned cols, unsigned m, unsigned n,
                            unsigned k)
{
    const pfc_accel_problem problem = { .kernel = PFC_ACCEL_GEMM,
                                        .dtype = PFC_ACCEL_INT8,
                                        .p = { m, n, k } };
    const pfc_accel_case_opts opts = { .timing_only = true };
    pfc_accel_mode how;
    pfc_accel_chip chip;
    pfc_accel_case *c = NULL;
    pfc_accel_result r = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_mode_parse(mode, &how, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_chip_set_array(&chip, rows, cols, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_case_new(&c, &problem, &chip, how, &opts, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK), "%s", err.msg);
    pfc_accel_case_free(c);
    return r;
}

Test(scalesim, cycles_utilization_and_traffic_are_those_of_the_original)
{
    FILE *f = fopen(PFC_TEST_DATA "/accel/scalesim.csv", "r");
    char line[512];
    int seen = 0;

    cr_assert(f != NULL);
    while (fgets(line, sizeof(line), f)) {
        unsigned m, n, k, rows, cols;
        unsigned long long cycles, ifmap, filter, ofmap;
        double util;
        char flow[8];
        char mode[32];
        pfc_accel_result r;

        if (sscanf(line, "%u,%u,%u,%u,%u,%7[a-z],%llu,%lf,%llu,%llu,%llu", &m, &n, &k, &rows, &cols,
                   flow, &cycles, &util, &ifmap, &filter, &ofmap) != 11)
            continue;
        snprintf(mode, sizeof(mode), "scalesim-%s", flow);
        r = run(mode, rows, cols, m, n, k);
        cr_assert(eq(u64, r.cycles, cycles), "%s", line);
        cr_assert(epsilon_eq(dbl, r.utilization * 100.0, util, 1e-9 * util), "%s", line);
        cr_assert(eq(u64, r.counters.v[PFC_ACCEL_READS_IFMAP], ifmap), "%s", line);
        cr_assert(eq(u64, r.counters.v[PFC_ACCEL_READS_FILTER], filter), "%s", line);
        cr_assert(eq(u64, r.counters.v[PFC_ACCEL_WRITES_OFMAP], ofmap), "%s", line);
        seen++;
    }
    fclose(f);
    cr_assert(eq(int, seen, 54));
}

/* 3N - 2 for an NxNxN product on an NxN array, output-stationary: the RTL's count in figure 6 of
 * Samajdar et al., ISPASS 2020 (10, 22, 46, 94, 190). The report prints one less. */
Test(scalesim, output_stationary_squares_match_the_rtl)
{
    static const unsigned rtl[] = { 10, 22, 46, 94, 190 };

    for (unsigned i = 0; i < PFC_ARRAY_LEN(rtl); i++) {
        const unsigned n = 4u << i;

        cr_assert(eq(u64, run("scalesim-os", n, n, n, n, n).cycles + 1, rtl[i]));
    }
}

/* By hand, 16x16 array, one fold of 64 rows: 2*16-1 to load, 16+16-2+64 to the last result. Three
 * folds along k: two more issue intervals of max(64, 16). */
Test(scalesim, onnxim_rule_by_hand)
{
    cr_assert(eq(u64, run("onnxim-ws", 16, 16, 64, 16, 16).cycles, 31 + 94));
    cr_assert(eq(u64, run("onnxim-ws", 16, 16, 64, 16, 48).cycles, 31 + 94 + 2 * 64));
    /* two rows: intervals are the preload's 16 */
    cr_assert(eq(u64, run("onnxim-ws", 16, 16, 2, 16, 48).cycles, 31 + 30 + 4 + 2 * 16));
}

Test(scalesim, pipelined_lies_between_ideal_and_scalesim)
{
    static const unsigned dims[] = { 1, 2, 7, 16, 17, 64, 100, 257 };

    for (size_t i = 0; i < 8 * 8 * 8; i++) {
        const unsigned m = dims[i % 8];
        const unsigned n = dims[i / 8 % 8];
        const unsigned k = dims[i / 64];
        const uint64_t mine = pfc_accel_tensor_cycles(PFC_ACCEL_PIPELINED_WS, 16, 8, m, n, k);

        cr_assert(le(u64, mine, pfc_accel_tensor_cycles(PFC_ACCEL_SCALESIM_WS, 16, 8, m, n, k)));
        cr_assert(ge(u64, mine * 16 * 8, (uint64_t)m * n * k));
    }
}

Test(scalesim, no_work_takes_no_cycles)
{
    cr_assert(eq(u64, run("scalesim-ws", 8, 8, 0, 4, 4).cycles, 0));
    cr_assert(eq(u64, run("scalesim-os", 8, 8, 4, 4, 0).cycles, 0));
    cr_assert(eq(u64, run("onnxim-ws", 8, 8, 4, 0, 4).cycles, 0));
}
