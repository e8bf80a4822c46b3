/* A trace of every case of the suites for the simulated accelerator, on every chip, is without
 * faults: of the kernel alone, and of a region with the host, its queues and the link. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/suite/suite.h"
#include "core/trace/check/check.h"
#include "kernels/accel/ops/ops.h"

#include "tests/check/check.h"
#include "tests/support/rounds.h"

static pfc_err err;

static const size_t every = 1000 / PFC_ROUNDS(1000); /* one case of so many is traced */

/* False: the accelerator has no such kernel. */
static bool problem_of(const pfc_case *c, pfc_accel_problem *out)
{
    *out = (pfc_accel_problem){ 0 };
    if (pfc_accel_kernel_parse(c->op->name, &out->kernel, &err) ||
        pfc_accel_dtype_parse(c->dtype, &out->dtype, &err))
        return false;
    for (size_t i = 0; pfc_accel_param_name(out->kernel, i); i++)
        for (size_t k = 0; k < c->op->params_len; k++)
            if (strcmp(pfc_accel_param_name(out->kernel, i), c->op->params[k].name) == 0)
                out->p[i] = c->params[k];
    return true;
}

static void expect_sound(const char *path, const char *name, const char *chip)
{
    pfc_trace_report report;

    cr_assert(eq(int, pfc_trace_check(path, 3, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(u64, report.faults, 0), "%s on %s, %s: %s", name, chip, path,
              report.findings_len ? report.findings[0].what : "");
    cr_assert(gt(u64, report.records, 10));
    pfc_trace_report_clear(&report);
}

static void check_case(const pfc_case *c, const pfc_accel_problem *problem,
                       const pfc_accel_chip *chip, const char *path)
{
    const pfc_accel_case_opts timing = { .timing_only = true };
    const pfc_accel_trace_opts trace = { .path = path, .kernel = c->op->name, .every = 5000 };
    const pfc_accel_region_opts region = { .launches = 2,
                                           .copies = PFC_ACCEL_COPIES_OVERLAPPED,
                                           .trace = &trace };
    pfc_accel_case *made = NULL;
    pfc_accel_region out;
    pfc_accel_result result;
    pfc_code code = pfc_accel_case_new(&made, problem, chip, chip->mode, &timing, &err);

    if (code == PFC_EUNAVAIL) /* a type that the operation lacks: suites skip it */
        return;
    cr_assert(eq(int, code, PFC_OK), "%s on %s: %s", c->name, chip->name, err.msg);
    cr_assert(eq(int, pfc_accel_case_run_detail(made, &result, NULL, &trace, &err), PFC_OK), "%s",
              err.msg);
    expect_sound(path, c->name, chip->name);
    cr_assert(eq(int, pfc_accel_case_region(made, &region, &out, &err), PFC_OK), "%s", err.msg);
    expect_sound(path, c->name, chip->name);
    pfc_accel_case_free(made);
}

static size_t check_suite(const char *name, const char *path)
{
    pfc_suite *suite = NULL;
    pfc_accel_chip chip;
    pfc_accel_problem problem;
    size_t checked = 0;

    cr_assert(eq(int, pfc_suite_load(name, &suite, &err), PFC_OK), "%s", err.msg);
    for (size_t k = 0; pfc_accel_chip_name(k); k++) {
        char backend[80];

        cr_assert(eq(int, pfc_accel_chip_load(pfc_accel_chip_name(k), &chip, &err), PFC_OK));
        snprintf(backend, sizeof(backend), "accel:%s", chip.name);
        for (size_t i = 0; i < suite->cases_len; i++) {
            if (!pfc_case_wants(&suite->cases[i], backend) ||
                !problem_of(&suite->cases[i], &problem))
                continue;
            if (checked++ % every == 0)
                check_case(&suite->cases[i], &problem, &chip, path);
        }
    }
    pfc_suite_free(suite);
    return checked;
}

/* Of the records as they are, and of JSON as Perfetto opens it. */
static void check_all(const char *suffix)
{
    char path[64] = "/tmp/perfci-suite-trace-XXXXXX";
    const int fd = mkstemp(path);
    char *file;

    cr_assert(ge(int, fd, 0));
    close(fd);
    file = pfc_strdup(path);
    strcat(path, suffix);
    cr_assert(gt(sz, check_suite("accel", path), 100));
    cr_assert(gt(sz, check_suite("quick", path), 5));
    unlink(path);
    unlink(file);
    free(file);
}

Test(suite_traces, records_of_every_case_are_without_faults)
{
    check_all(".pct");
}

Test(suite_traces, json_of_every_case_is_without_faults)
{
    check_all(".json");
}
