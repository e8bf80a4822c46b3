/* The arithmetic of the units, the link's time, device memory and the judge of results. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/driver/memory.h"
#include "kernels/accel/ops/ops.h"

#include "tests/check/check.h"
#include "tests/kernels/accel/small.h"

static pfc_err err;

/* ---- the vector unit ---- */

Test(numbers, exponentials_are_within_their_bound)
{
    double worst = 0.0;

    for (int i = -86999; i <= 87999; i++) {
        const float x = (float)i * 1e-3F;
        const double want = exp((double)x);

        worst = fmax(worst, fabs((double)pfc_accel_exp(x) - want) / want);
    }
    cr_assert(lt(dbl, worst, 2e-7));
}

Test(numbers, exponentials_end_where_floats_do)
{
    cr_assert(eq(flt, pfc_accel_exp(0.0F), 1.0F));
    cr_assert(eq(flt, pfc_accel_exp(-0.0F), 1.0F));
    cr_assert(eq(flt, pfc_accel_exp(-87.0F), 0.0F));
    cr_assert(gt(flt, pfc_accel_exp(nextafterf(-87.0F, 0.0F)), 1e-38F));
    cr_assert(eq(flt, pfc_accel_exp(-INFINITY), 0.0F));
    cr_assert(lt(flt, pfc_accel_exp(88.0F), INFINITY));
    cr_assert(eq(flt, pfc_accel_exp(nextafterf(88.0F, 90.0F)), INFINITY));
    cr_assert(isnan(pfc_accel_exp(NAN)));
}

/* Lane 0 adds 1e8 - 1e8, lane 1 keeps its 1, which a plain sum would lose. */
Test(numbers, sums_go_through_sixteen_lanes)
{
    float x[33] = { 1e8F, 1.0F };

    x[16] = -1e8F;
    cr_assert(eq(flt, pfc_accel_sum(x, 33), 1.0F));
    x[32] = 5.0F;
    cr_assert(eq(flt, pfc_accel_sum(x, 33), 6.0F));
    cr_assert(eq(flt, pfc_accel_sum(x, 32), 1.0F));
    cr_assert(eq(flt, pfc_accel_sum(x, 0), 0.0F));
}

Test(numbers, rows_are_normalised_by_hand)
{
    float x[4] = { 1.0F, 3.0F, 5.0F, 7.0F };
    const float gamma[4] = { 1.0F, 2.0F, 3.0F, 4.0F };
    const float beta[4] = { 10.0F, 20.0F, 30.0F, 40.0F };
    float tiny[2] = { 1e-3F, -1e-3F };
    float weights[3] = { 0.0F, -INFINITY, 0.0F };

    /* mean 4, variance 5 */
    pfc_accel_layernorm_row(x, gamma, beta, 4);
    for (int i = 0; i < 4; i++)
        cr_assert(epsilon_eq(
            dbl, x[i], (2.0 * i - 3.0) / sqrt(5.0 + 1e-5) * gamma[i] + (double)beta[i], 1e-5));
    /* mean square 1e-6, of the size of epsilon */
    pfc_accel_rmsnorm_row(tiny, gamma, 2);
    cr_assert(epsilon_eq(dbl, tiny[0], 1e-3 / sqrt(1.1e-5), 1e-6));
    cr_assert(epsilon_eq(dbl, tiny[1], -2e-3 / sqrt(1.1e-5), 1e-6));
    pfc_accel_softmax_row(weights, 3);
    cr_assert(eq(flt, weights[0], 0.5F));
    cr_assert(eq(flt, weights[1], 0.0F));
    cr_assert(eq(flt, weights[2], 0.5F));
}

Test(numbers, bf16_keeps_what_is_not_a_number)
{
    static const struct {
        uint32_t bits;
        uint16_t want;
    } rows[] = { { 0x7f800001, 0x7fc0 }, { 0xff800001, 0xffc0 }, { 0x7fc00000, 0x7fc0 },
                 { 0x7fffffff, 0x7fff }, { 0x7f800000, 0x7f80 }, { 0xff800000, 0xff80 },
                 { 0x7f7fffff, 0x7f80 }, { 0x3f808000, 0x3f80 }, { 0x3f818000, 0x3f82 },
                 { 0x3f808001, 0x3f81 }, { 0x3f807fff, 0x3f80 }, { 0x00000001, 0x0000 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        float v;

        memcpy(&v, &rows[i].bits, sizeof v);
        cr_assert(eq(u16, pfc_accel_f32_to_bf16(v), rows[i].want), "row %zu", i);
    }
}

/* ---- the array ---- */

/* Small integers: every order gives the same. */
static void fill_integers(float *x, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        x[i] = (float)((int)((i * 7 + seed * 13 + i / 5) % 9) - 4);
}

static void check_product(size_t m, size_t n, size_t k, bool accumulate)
{
    float *a = pfc_calloc(m * k + 1, sizeof *a);
    float *b = pfc_calloc(k * n + 1, sizeof *b);
    float *part = pfc_calloc(m * n + 1, sizeof *part);
    float *f32 = pfc_calloc(m * n + 1, sizeof *f32);
    int32_t *int8 = pfc_calloc(m * n + 1, sizeof *int8);

    fill_integers(a, m * k, 1);
    fill_integers(b, k * n, 2);
    for (size_t i = 0; i <= m * n; i++) {
        f32[i] = (float)i + 0.5F;
        int8[i] = (int32_t)i + 3;
    }
    pfc_accel_matmul_f32(f32, a, b, m, n, k, accumulate);
    pfc_accel_matmul_int8(int8, a, b, part, m, n, k, accumulate);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            int sum = 0;

            for (size_t p = 0; p < k; p++)
                sum += (int)a[i * k + p] * (int)b[p * n + j];
            if (f32[i * n + j] != (float)sum + (accumulate ? (float)(i * n + j) + 0.5F : 0.0F))
                cr_assert(false, "f32 %zu x %zu x %zu at %zu, %zu", m, n, k, i, j);
            if (int8[i * n + j] != sum + (accumulate ? (int32_t)(i * n + j) + 3 : 0))
                cr_assert(false, "int8 %zu x %zu x %zu at %zu, %zu", m, n, k, i, j);
        }
    }
    cr_assert(eq(flt, f32[m * n], (float)(m * n) + 0.5F)); /* nothing behind */
    cr_assert(eq(i32, int8[m * n], (int32_t)(m * n) + 3));
    free(a);
    free(b);
    free(part);
    free(f32);
    free(int8);
}

/* Columns go in pieces of 256, depth in pieces of 128 and of 1024, four steps at a time. */
Test(numbers, products_of_every_remainder_are_exact)
{
    static const size_t ns[] = { 1, 2, 5, 255, 256, 257, 513 };
    static const size_t ks[] = { 0, 1, 2, 3, 4, 5, 127, 128, 129, 257 };

    for (size_t m = 1; m <= 3; m++)
        for (size_t j = 0; j < PFC_ARRAY_LEN(ns); j++)
            for (size_t p = 0; p < PFC_ARRAY_LEN(ks); p++)
                check_product(m, ns[j], ks[p], (m + j + p) % 2 == 0);
    check_product(2, 3, 1023, true);
    check_product(2, 3, 1024, true);
    check_product(2, 3, 1025, false);
    check_product(0, 4, 4, false);
    check_product(4, 0, 4, false);
}

/* 2^14 at most each: 1025 of them pass the 24 bits of a float. Sums wrap. */
Test(numbers, int8_sums_are_exact_and_wrap)
{
    static float a[3000];
    static float part[1];
    int32_t sum = 1;

    for (size_t i = 0; i < 3000; i++)
        a[i] = -128.0F;
    pfc_accel_matmul_int8(&sum, a, a, part, 1, 1, 1025, true);
    cr_assert(eq(i32, sum, 1025 * 16384 + 1));
    a[2999] = -127.0F;
    sum = INT32_MAX;
    pfc_accel_matmul_int8(&sum, a, a, part, 1, 1, 3000, true);
    cr_assert(eq(u32, (uint32_t)sum, 0x7fffffffu + 2999u * 16384u + 16129u));
}

/* Floats are summed in ascending k without fused steps: 1e8 + 1 - 1e8 loses the 1. */
Test(numbers, float_sums_are_in_ascending_order)
{
    const float a[5] = { 1e8F, 1.0F, -1e8F, 3.0F, 1.0F };
    const float b[5] = { 1.0F, 1.0F, 1.0F, 1.0F, 1.0F };
    float sum = 0.0F;

    pfc_accel_matmul_f32(&sum, a, b, 1, 1, 5, false);
    cr_assert(eq(flt, sum, 4.0F));
}

/* ---- the link ---- */

/* 128 bytes are a packet of 154. Lanes give 984, 1969, 3938 and 7375 MB/s, 96 % of them data; at
   1 GHz a cycle is a nanosecond. */
Test(numbers, link_time_by_generation_lanes_and_payload)
{
    static const struct {
        uint64_t gen, lanes, payload, latency_ns, clock_mhz, bytes;
        uint64_t cycles;
    } rows[] = {
        { 3, 1, 128, 0, 1000, 128, 164 },     /* 154000 / 944.64 = 163.03 */
        { 4, 1, 128, 0, 1000, 128, 82 },      /* / 1890.24 = 81.47 */
        { 5, 1, 128, 0, 1000, 128, 41 },      /* / 3780.48 = 40.74 */
        { 6, 1, 128, 0, 1000, 128, 22 },      /* / 7080 = 21.75 */
        { 3, 1, 128, 0, 1000, 129, 192 },     /* two packets: 181000 / 944.64 = 191.6 */
        { 3, 1, 64, 0, 1000, 128, 191 },      /* 180 on the wire: 190.55 */
        { 3, 16, 128, 0, 1000, 12800, 1019 }, /* 15400000 / 15114.24 = 1018.9 */
        { 3, 1, 128, 0, 2000, 128, 327 },     /* 326.05 cycles of half a nanosecond */
        { 3, 1, 128, 400, 1000, 128, 564 },
        { 3, 1, 128, 401, 1500, 128, 602 + 245 }, /* 601.5 and 244.5 */
        { 3, 1, 128, 400, 1000, 0, 0 },
        { 3, 1, 128, 0, 1000, 1, 29 }, /* 27000 / 944.64 = 28.6 */
    };
    small s;

    small_init(&s, PFC_ACCEL_INT8);
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        s.chip.pcie_gen = rows[i].gen;
        s.chip.pcie_lanes = rows[i].lanes;
        s.chip.pcie_payload = rows[i].payload;
        s.chip.pcie_latency_ns = rows[i].latency_ns;
        s.chip.clock_mhz = rows[i].clock_mhz;
        cr_assert(eq(u64, pfc_accel_pcie_cycles(&s.chip, rows[i].bytes), rows[i].cycles), "row %zu",
                  i);
    }
    s.chip.clock_mhz = 1500;
    cr_assert(eq(u64, pfc_accel_ns_to_cycles(&s.chip, 2), 3));
    cr_assert(eq(u64, pfc_accel_ns_to_cycles(&s.chip, 1), 2));
    cr_assert(eq(u64, pfc_accel_ns_to_cycles(&s.chip, 0), 0));
}

/* ---- device memory ---- */

Test(numbers, device_memory_is_given_out_first_fit)
{
    pfc_accel_heap heap = { .capacity = 4096 };
    pfc_accel_range *range = NULL;
    uint64_t at[4] = { 0 };

    /* the first address is 1 MiB; sizes are rounded up to 256 */
    cr_assert(eq(int, pfc_accel_heap_take(&heap, 1, &at[0], &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_heap_take(&heap, 256, &at[1], &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_heap_take(&heap, 257, &at[2], &err), PFC_OK));
    cr_assert(eq(u64, at[0], 1 << 20));
    cr_assert(eq(u64, at[1], (1 << 20) + 256));
    cr_assert(eq(u64, at[2], (1 << 20) + 512));
    cr_assert(eq(u64, heap.used, 1024));
    /* 3072 are left */
    cr_assert(eq(int, pfc_accel_heap_take(&heap, 3073, &at[3], &err), PFC_ETOOBIG));
    cr_assert(strstr(err.msg, "3072 of 4096 are free") != NULL, "%s", err.msg);
    cr_assert(eq(int, pfc_accel_heap_take(&heap, 3072, &at[3], &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(u64, heap.used, 4096));
    cr_assert(eq(int, pfc_accel_heap_give(&heap, at[1], &err), PFC_OK));
    cr_assert(eq(u64, heap.used, 4096 - 256));
    cr_assert(eq(int, pfc_accel_heap_take(&heap, 257, &at[1], &err), PFC_ETOOBIG));
    cr_assert(eq(int, pfc_accel_heap_take(&heap, 256, &at[1], &err), PFC_OK));
    cr_assert(eq(u64, at[1], (1 << 20) + 256));
    /* ranges do not run into each other */
    cr_assert(eq(int, pfc_accel_heap_find(&heap, at[2], 512, "x", &range, &err), PFC_OK));
    cr_assert(eq(u64, range->at, at[2]));
    cr_assert(eq(int, pfc_accel_heap_find(&heap, at[2] + 511, 1, "x", &range, &err), PFC_OK));
    cr_assert(eq(u64, range->at, at[2]));
    cr_assert(eq(int, pfc_accel_heap_find(&heap, at[2] + 512, 1, "x", &range, &err), PFC_OK));
    cr_assert(eq(u64, range->at, at[3]));
    cr_assert(eq(int, pfc_accel_heap_find(&heap, at[2], 513, "x", &range, &err), PFC_EINVAL));
    cr_assert(
        eq(int, pfc_accel_heap_find(&heap, (1 << 20) + 4096, 1, "x", &range, &err), PFC_EINVAL));
    pfc_accel_heap_clear(&heap);
    cr_assert(eq(u64, heap.used, 0));
}

Test(numbers, allocations_are_bounded_in_number)
{
    pfc_accel_heap heap = { .capacity = 1 << 30 };
    uint64_t at = 0;

    for (int i = 0; i < PFC_ACCEL_MAX_ALLOCS; i++)
        cr_assert(eq(int, pfc_accel_heap_take(&heap, 1, &at, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_heap_take(&heap, 1, &at, &err), PFC_ETOOBIG));
    cr_assert(strstr(err.msg, "at most 4096 allocations") != NULL, "%s", err.msg);
    cr_assert(eq(int, pfc_accel_heap_give(&heap, at, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_heap_take(&heap, 1, &at, &err), PFC_OK));
    pfc_accel_heap_clear(&heap);
}

/* ---- the judge ---- */

static pfc_accel_case *ran(pfc_accel_kernel kernel, pfc_accel_dtype dtype, const int64_t p[4],
                           uint64_t seed)
{
    pfc_accel_problem problem = { .kernel = kernel, .dtype = dtype };
    const pfc_accel_case_opts opts = { .seed = seed };
    pfc_accel_chip chip;
    pfc_accel_case *c = NULL;
    pfc_accel_result r;

    memcpy(problem.p, p, 4 * sizeof *p);
    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_case_new(&c, &problem, &chip, chip.mode, &opts, &err), PFC_OK),
              "%s", err.msg);
    cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK), "%s", err.msg);
    return c;
}

/* A relative error of `found` in the first or last element is found, one of `passed` is rounding.
   For sums of 64 the bound is 66 u = 3.9e-6 of the sizes of the terms. */
Test(numbers, the_judge_finds_errors_of_a_few_roundings)
{
    static const struct {
        pfc_accel_kernel kernel;
        int64_t p[4];
        double passed;
        double found;
    } rows[] = {
        { PFC_ACCEL_GEMM, { 7, 5, 64 }, 1e-7, 4e-4 },
        { PFC_ACCEL_ATTENTION, { 2, 9, 16, 0 }, 1e-7, 4e-4 },
        { PFC_ACCEL_ATTENTION, { 2, 9, 16, 1 }, 1e-7, 4e-4 },
        { PFC_ACCEL_LAYERNORM, { 3, 64 }, 1e-7, 4e-5 },
        { PFC_ACCEL_RMSNORM, { 3, 64 }, 1e-6, 1e-5 },
        { PFC_ACCEL_SOFTMAX, { 3, 64 }, 1e-6, 1e-5 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_accel_case *c = ran(rows[i].kernel, PFC_ACCEL_F32, rows[i].p, 5);
        const size_t last_arg = pfc_accel_case_program(c)->args_len - 1;
        uint64_t bytes = 0;
        float *out = (float *)pfc_accel_case_arg(c, last_arg, &bytes);
        const size_t places[] = { 0, bytes / 4 / 2, bytes / 4 - 1 };

        for (size_t p = 0; p < PFC_ARRAY_LEN(places); p++) {
            float *at = &out[places[p]];
            const float before = *at;

            for (int sign = -1; sign <= 1; sign += 2) {
                *at = (float)((double)before * (1.0 + sign * rows[i].passed));
                cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_OK), "row %zu: %s", i,
                          err.msg);
                *at = (float)((double)before + sign * rows[i].found * fmax(1.0, fabs(before)));
                if (rows[i].kernel >= PFC_ACCEL_RMSNORM)
                    *at = (float)((double)before * (1.0 + sign * rows[i].found));
                cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_EBROKEN), "row %zu place %zu",
                          i, places[p]);
            }
            *at = NAN;
            cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_EBROKEN), "row %zu", i);
            *at = before;
        }
        pfc_accel_case_free(c);
    }
}

/* One step of bf16, 2^-8 to 2^-7 of the value, is rounding for none of the rows; int8 is exact. */
Test(numbers, the_judge_allows_one_rounding_of_bf16_and_none_of_int8)
{
    static const int64_t p[4] = { 7, 5, 9 };
    pfc_accel_case *c = ran(PFC_ACCEL_GEMM, PFC_ACCEL_BF16, p, 6);
    uint64_t bytes = 0;
    uint16_t *out = (uint16_t *)pfc_accel_case_arg(c, 2, &bytes);
    int32_t *sums;

    cr_assert(eq(u64, bytes, 70));
    for (size_t i = 0; i < 35; i += 17) {
        out[i] += 3;
        cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_EBROKEN), "%zu", i);
        out[i] -= 3;
        cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_OK), "%s", err.msg);
    }
    pfc_accel_case_free(c);
    c = ran(PFC_ACCEL_GEMM, PFC_ACCEL_INT8, p, 6);
    sums = (int32_t *)pfc_accel_case_arg(c, 2, &bytes);
    cr_assert(eq(u64, bytes, 140));
    for (size_t i = 0; i < 35; i += 17) {
        sums[i]++;
        cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_EBROKEN), "%zu", i);
        sums[i] -= 2;
        cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_EBROKEN), "%zu", i);
        sums[i]++;
        cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_OK), "%s", err.msg);
    }
    pfc_accel_case_free(c);
}

Test(numbers, inputs_fill_their_range_and_follow_the_seed)
{
    static const int64_t p[4] = { 40, 40, 50 };
    pfc_accel_case *c[2] = { ran(PFC_ACCEL_GEMM, PFC_ACCEL_F32, p, 1),
                             ran(PFC_ACCEL_GEMM, PFC_ACCEL_F32, p, 2) };
    pfc_accel_case *bytes8 = ran(PFC_ACCEL_GEMM, PFC_ACCEL_INT8, p, 1);
    uint64_t bytes = 0;
    const float *a = pfc_accel_case_arg(c[0], 0, &bytes);
    const int8_t *small_ones = pfc_accel_case_arg(bytes8, 0, &bytes);
    float low = 1.0F;
    float high = -1.0F;
    int lowest = 127;
    int highest = -128;

    for (size_t i = 0; i < 2000; i++) {
        low = fminf(low, a[i]);
        high = fmaxf(high, a[i]);
        lowest = PFC_MIN(lowest, small_ones[i]);
        highest = PFC_MAX(highest, small_ones[i]);
    }
    cr_assert(ge(flt, low, -1.0F));
    cr_assert(lt(flt, low, -0.99F));
    cr_assert(lt(flt, high, 1.0F));
    cr_assert(gt(flt, high, 0.99F));
    cr_assert(lt(int, lowest, -125));
    cr_assert(gt(int, highest, 125));
    cr_assert(ne(flt, a[0], ((const float *)pfc_accel_case_arg(c[1], 0, &bytes))[0]));
    cr_assert(pfc_accel_case_arg(c[0], 3, &bytes) == NULL);
    cr_assert(eq(u64, bytes, 0));
    for (size_t i = 0; i < 2; i++)
        pfc_accel_case_free(c[i]);
    pfc_accel_case_free(bytes8);
}

/* The fields of a result other than its cycles, computed by hand. */
Test(numbers, a_result_has_time_use_and_copies)
{
    static const int64_t p[4] = { 20, 30, 40 };
    static const int64_t row[4] = { 20, 30 };
    pfc_accel_problem problem = { .kernel = PFC_ACCEL_GEMM, .dtype = PFC_ACCEL_BF16 };
    pfc_accel_case_opts opts = { .seed = 1 };
    pfc_accel_chip chip;
    pfc_accel_case *c = NULL;
    pfc_accel_result r;

    memcpy(problem.p, p, sizeof p);
    cr_assert(eq(int, pfc_accel_chip_load("pfc-server", &chip, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_case_new(&c, &problem, &chip, chip.mode, &opts, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK));
    cr_assert(r.functional);
    cr_assert(eq(u64, r.cycles, r.counters.v[PFC_ACCEL_CYCLES]));
    cr_assert(epsilon_eq(dbl, r.time_ns, (double)r.cycles / 2.0, 1e-9)); /* 2 GHz */
    cr_assert(epsilon_eq(dbl, r.utilization, 24000.0 / ((double)r.cycles * 128 * 128), 1e-12));
    cr_assert(eq(u64, r.counters.v[PFC_ACCEL_PCIE_DOWN], 2 * (800 + 1200)));
    cr_assert(eq(u64, r.counters.v[PFC_ACCEL_PCIE_UP], 2 * 600));
    cr_assert(eq(u64, r.counters.v[PFC_ACCEL_PCIE_BUSY],
                 pfc_accel_pcie_cycles(&chip, 1600) + pfc_accel_pcie_cycles(&chip, 2400) +
                     pfc_accel_pcie_cycles(&chip, 1200)));
    /* both copies down, the launch of 2400 ns, the kernel, the copy up */
    cr_assert(eq(u64, r.ticks,
                 pfc_accel_pcie_cycles(&chip, 1600) + pfc_accel_pcie_cycles(&chip, 2400) + 4800 +
                     r.cycles + pfc_accel_pcie_cycles(&chip, 1200)));
    pfc_accel_case_free(c);

    problem = (pfc_accel_problem){ .kernel = PFC_ACCEL_SOFTMAX, .dtype = PFC_ACCEL_F32 };
    memcpy(problem.p, row, sizeof row);
    opts.timing_only = true;
    cr_assert(eq(int, pfc_accel_case_new(&c, &problem, &chip, chip.mode, &opts, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK));
    cr_assert(not(r.functional));
    /* 600 elements in 3 passes and an exponential of 4, 512 lanes */
    cr_assert(epsilon_eq(dbl, r.utilization, 4200.0 / ((double)r.cycles * 512), 1e-12));
    cr_assert(eq(u64, r.counters.v[PFC_ACCEL_PCIE_DOWN], 0));
    cr_assert(eq(int, pfc_accel_case_check(c, &err), PFC_ECONFLICT));
    pfc_accel_case_free(c);
}
