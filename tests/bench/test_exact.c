/* Exact counts: what callgrind writes, and what becomes of counts that are right, wrong or unequal.
 */
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "bench/harness/exact/exact.h"

#include "tests/bench/fake.h"

#define SUITE                                                                                      \
    "suite: t\n"                                                                                   \
    "backends: [cpu-scalar, \"accel:*\"]\n"                                                        \
    "benchmarks: [{op: gemm, shapes: [{m: 10, n: 10, k: 10}]}]\n"

static pfc_backends backends;
static pfc_suite *suite;
static pfc_run *run;
static pfc_err err;

/* The answer of the fake counter, and how often it was called. */
static struct {
    pfc_code code;
    uint64_t step; /* added by each count: 0 for one that is exact */
    uint64_t next;
    int calls;
} counting;

static pfc_code fake_count(void *arg, const pfc_block_spec *spec, pfc_call_counts *out,
                           pfc_err *why)
{
    (void)arg;
    (void)spec;
    counting.calls++;
    if (counting.code)
        return pfc_err_set(why, counting.code, "made-up reason");
    *out = (pfc_call_counts){ .instructions = 1000 + counting.next, .reads = 300, .writes = 20 };
    counting.next += counting.step;
    return PFC_OK;
}

static void setup(void)
{
    fake_reset(&backends);
    err = (pfc_err){ 0 };
    run = pfc_run_new();
    memset(&counting, 0, sizeof(counting));
    cr_assert(eq(int, pfc_suite_parse(SUITE, strlen(SUITE), "t", &suite, &err), PFC_OK), "%s",
              err.msg);
}

static void teardown(void)
{
    pfc_backends_clear(&backends);
    pfc_suite_free(suite);
    pfc_run_free(run);
}

static pfc_code count(void)
{
    const pfc_measure_opts opts = { .block = fake_block, .block_arg = &backends, .cpu = -1 };

    return pfc_suite_count(suite, &backends, &opts, fake_count, NULL, run, &err);
}

static const pfc_measurement *find(const char *metric, const char *backend)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        if (pfc_streq(m->metric, metric) && pfc_streq(m->backend, backend))
            return m;
    }
    return NULL;
}

TestSuite(exact, .init = setup, .fini = teardown);

Test(exact, a_count_is_one_exact_sample_beside_those_of_exact_backends)
{
    const pfc_measurement *m;

    cr_assert(eq(int, count(), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, counting.calls, 2));
    cr_assert(eq(sz, fake.checked, 2)); /* right before anything is counted, on both backends */
    m = find("instructions", "cpu-scalar");
    cr_assert(m && m->exact && m->samples_len == 1 && m->status == PFC_STATUS_OK);
    cr_assert(epsilon_eq(dbl, m->samples[0], 1000, 0));
    cr_assert(epsilon_eq(dbl, find("data_reads", "cpu-scalar")->samples[0], 300, 0));
    cr_assert(epsilon_eq(dbl, find("data_writes", "cpu-scalar")->samples[0], 20, 0));
    cr_assert(eq(ptr, (void *)find("time_ns", "cpu-scalar"), NULL));
    cr_assert(epsilon_eq(dbl, find("cycles", "accel:test")->samples[0], 500, 0));
}

Test(exact, two_counts_that_differ_by_one_instruction_are_an_error)
{
    counting.step = 1;
    cr_assert(eq(int, count(), PFC_OK));
    cr_assert(eq(int, find("instructions", "cpu-scalar")->status, PFC_STATUS_BROKEN));
    cr_assert(ne(ptr, strstr(find("instructions", "cpu-scalar")->reason, "1000 and 1001"), NULL));
    cr_assert(pfc_run_is_broken(run));
}

Test(exact, a_wrong_result_is_not_counted)
{
    fake.wrong = "gemm/f32/m10n10k10";
    cr_assert(eq(int, count(), PFC_OK));
    cr_assert(eq(int, counting.calls, 0));
    cr_assert(eq(int, find("instructions", "cpu-scalar")->status, PFC_STATUS_BROKEN));
    cr_assert(eq(str, find("instructions", "cpu-scalar")->reason, "row 3: expected 1.5, got 2.5"));
}

Test(exact, what_cannot_be_counted_is_skipped_and_what_fails_is_broken)
{
    counting.code = PFC_EUNAVAIL;
    cr_assert(eq(int, count(), PFC_OK));
    cr_assert(eq(int, find("instructions", "cpu-scalar")->status, PFC_STATUS_SKIPPED));
    cr_assert(eq(str, find("instructions", "cpu-scalar")->reason, "made-up reason"));
    teardown();
    setup();
    counting.code = PFC_EBROKEN;
    cr_assert(eq(int, count(), PFC_OK));
    cr_assert(eq(int, find("instructions", "cpu-scalar")->status, PFC_STATUS_BROKEN));
    teardown();
    setup();
    counting.code = PFC_EIO; /* the tool is not there: nothing can be counted */
    cr_assert(eq(int, count(), PFC_EIO));
    cr_assert(eq(sz, run->measurements_len, 0));
}

Test(exact, the_totals_are_read_by_the_names_of_their_events)
{
    pfc_call_counts n = { 0 };

    cr_assert(eq(int,
                 pfc_callgrind_read("version: 1\nevents: Ir Dr Dw I1mr D1mr\nfn=(1)\n"
                                    "10 5\ntotals: 70334 24496 965 12\n",
                                    &n, &err),
                 PFC_OK));
    cr_assert(eq(u64, n.instructions, 70334));
    cr_assert(eq(u64, n.reads, 24496));
    cr_assert(eq(u64, n.writes, 965));
    cr_assert(eq(int, pfc_callgrind_read("events: Dw Ir\ntotals: 7 9", &n, &err), PFC_OK));
    cr_assert(eq(u64, n.instructions, 9));
    cr_assert(eq(u64, n.writes, 7));
}

Test(exact, output_without_counts_is_refused)
{
    static const char *const bad[] = { "",
                                       "events: Ir\n",
                                       "totals: 5\n",
                                       "events: Ir\ntotals: 0\n",
                                       "events: Ir\ntotals: x\n",
                                       "events: Ir\ntotals: -4\n",
                                       "events: Dr Dw\ntotals: 4 4\n",
                                       "events: Ir\ntotals: 99999999999999999999\n" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        pfc_call_counts n = { 0 };
        pfc_err why = { 0 };
        cr_assert(eq(int, pfc_callgrind_read(bad[i], &n, &why), PFC_EINVAL), "%s", bad[i]);
        cr_assert(gt(sz, strlen(why.msg), 10));
        cr_assert(eq(u64, n.instructions, 0));
    }
}
