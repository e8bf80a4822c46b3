/* --filter and --backend over the measurements of a run. */
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/wire/benchmark_filter.h"

#include "tests/check/check.h"

static pfc_run *some_run(void)
{
    static const char *const names[][2] = {
        { "gemm/1", "cpu" }, { "canary", "" }, { "gemm/1", "gpu" }, { "softmax", "cpu" }
    };
    pfc_run *run = pfc_run_new();

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++) {
        pfc_measurement *m;

        pfc_run_add_value(run, names[i][0], "time_ns", "ns", (double)i, false);
        m = &run->measurements[i];
        free(m->backend);
        m->backend = pfc_strdup(names[i][1]);
    }
    return run;
}

Test(select, keeps_what_fits_in_order_and_the_canary)
{
    const char *const cpu[] = { "cpu" };
    const pfc_benchmark_filter what = { .filter = "^gemm", .backends = cpu, .backends_len = 1 };
    pfc_run *run = some_run();
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_run_filter(run, &what, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, run->measurements_len, 2));
    cr_assert(eq(str, run->measurements[0].benchmark, (char *)"gemm/1"));
    cr_assert(eq(str, run->measurements[1].benchmark, (char *)"canary"));
    pfc_run_free(run);
}

Test(select, nothing_asked_for_is_everything)
{
    const pfc_benchmark_filter what = { 0 };
    pfc_run *run = some_run();

    cr_assert(eq(int, pfc_run_filter(run, &what, NULL), PFC_OK));
    cr_assert(eq(sz, run->measurements_len, 4));
    pfc_run_free(run);
}

Test(select, what_fits_nothing_names_what_there_is_and_changes_nothing)
{
    const char *const abacus[] = { "abacus" };
    pfc_benchmark_filter what = { .filter = "canary" };
    pfc_run *run = some_run();
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_run_filter(run, &what, &err), PFC_ENOTFOUND));
    cr_assert(
        eq(str, err.msg,
           (char *)"no benchmark fits --filter \"canary\"; there are gemm/1 on cpu, gemm/1 on "
                   "gpu, softmax on cpu"));
    what = (pfc_benchmark_filter){ .backends = abacus, .backends_len = 1 };
    cr_assert(eq(int, pfc_run_filter(run, &what, &err), PFC_ENOTFOUND));
    cr_assert(ne(ptr, strstr(err.msg, "--backend \"abacus\""), NULL));
    cr_assert(eq(sz, run->measurements_len, 4));
    pfc_run_free(run);
}

Test(select, many_names_are_cut_and_a_wrong_expression_is_said)
{
    pfc_benchmark_filter what = { .filter = "nosuch" };
    pfc_run *run = pfc_run_new();
    pfc_err err = { 0 };

    for (int i = 0; i < 500; i++) {
        char name[64];

        (void)snprintf(name, sizeof(name), "benchmark/with/a/long/name/%d", i);
        pfc_run_add_value(run, name, "time_ns", "ns", 1, false);
    }
    cr_assert(eq(int, pfc_run_filter(run, &what, &err), PFC_ENOTFOUND));
    cr_assert(ne(ptr, strstr(err.msg, "name/0, "), NULL));
    cr_assert(ne(ptr, strstr(err.msg, ", ..."), NULL));
    what.filter = "[";
    cr_assert(eq(int, pfc_run_filter(run, &what, &err), PFC_EINVAL));
    pfc_run_free(run);
}
