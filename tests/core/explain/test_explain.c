/* Explanations of run documents: which benchmark, how it is judged, which warnings it has. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/base/buf.h"
#include "core/base/fs.h"

#include "tests/check/check.h"
#include "tests/core/explain/explain_case.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static pfc_explain_rules rules;
static pfc_explanation *e;
static pfc_run *before, *after;
static pfc_err err;

static void set_up(void)
{
    err = (pfc_err){ 0 };
    e = pfc_calloc(1, sizeof(*e));
    before = case_run(ID_A, 600);
    after = case_run(ID_B, 900);
    cr_assert(eq(int, pfc_explain_rules_load(NULL, &rules, &err), PFC_OK), "%s", err.msg);
}

static void tear_down(void)
{
    pfc_explanation_clear(e);
    free(e);
    pfc_run_free(before);
    pfc_run_free(after);
    pfc_explain_rules_clear(&rules);
}

TestSuite(explain, .init = set_up, .fini = tear_down);

static pfc_code pair(const pfc_explain_what *what)
{
    pfc_explanation_clear(e);
    return pfc_explain_pair(&rules, before, after, what, NULL, e, &err);
}

Test(explain, without_a_name_the_benchmark_that_became_worse_most_is_taken)
{
    cr_assert(eq(int, pair(&(pfc_explain_what){ 0 }), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, e->benchmark, CASE_GEMM));
    cr_assert(eq(str, e->metric, "cycles"));
    cr_assert(eq(dbl, e->before.value, 600.0));
    cr_assert(eq(dbl, e->after.value, 900.0));
    cr_assert(eq(str, e->before.run, ID_A));
    cr_assert(eq(str, e->after.run, ID_B));
    cr_assert(eq(str, (char *)e->judged.verdict, "regression"));
    cr_assert(epsilon_eq(dbl, e->judged.rel_change, 0.5, 1e-12));
    cr_assert(eq(sz, e->warnings_len, 0));
    cr_assert(eq(dbl, e->delta->delta, 300.0));
    cr_assert(eq(int, e->delta->causes[0].resource, PFC_RESOURCE_MEMORY));
}

Test(explain, a_named_metric_counts_in_its_own_direction)
{
    const pfc_explain_what what = { CASE_GEMM, CASE_CHIP, "gemm_tflops" };

    cr_assert(eq(int, pair(&what), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)e->judged.verdict, "regression"));
    cr_assert(lt(dbl, e->judged.rel_change, 0.0));
    cr_assert(eq(dbl, e->delta->delta, 300.0));
    pfc_explanation_clear(e);
    cr_assert(eq(int, pfc_explain_pair(&rules, after, before, &what, NULL, e, &err), PFC_OK));
    cr_assert(eq(str, (char *)e->judged.verdict, "improvement"));
}

Test(explain, equal_values_are_the_same_and_have_no_cause)
{
    const pfc_explain_what what = { .benchmark = CASE_ATTENTION };

    cr_assert(eq(int, pair(&what), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)e->judged.verdict, "same"));
    cr_assert(eq(sz, e->delta->causes_len, 0));
}

Test(explain, one_run_alone_has_no_difference)
{
    const pfc_explain_what what = { .benchmark = CASE_GEMM };

    cr_assert(eq(int, pfc_explain_run(&rules, after, &what, e, &err), PFC_OK), "%s", err.msg);
    cr_assert(not(e->pair));
    cr_assert(e->delta == NULL);
    cr_assert(eq(dbl, e->after.value, 900.0));
}

/* A trace is made again of a kernel alone: the copies of a region are not recorded, and neither is
 * what a CPU did. */
Test(explain, a_run_of_the_accelerator_names_the_command_for_its_trace)
{
    const pfc_explain_what what = { .benchmark = CASE_GEMM };

    cr_assert(eq(int, pfc_explain_run(&rules, after, &what, e, &err), PFC_OK), "%s", err.msg);
    pfc_explanation_repeat_trace(e);
    cr_assert(eq(sz, e->repeat_len, 1));
    cr_expect(eq(str, e->repeat[0],
                 "perfci explain --run " ID_B " --benchmark '" CASE_GEMM "' --backend '" CASE_CHIP
                 "' --trace traces"));
    cr_assert(eq(int, pfc_profile_set(&e->after.profile, "launches", 3, &err), PFC_OK));
    pfc_explanation_repeat_trace(e);
    cr_expect(eq(sz, e->repeat_len, 1));

    cr_assert(eq(int, pair(&what), PFC_OK), "%s", err.msg);
    pfc_explanation_repeat_trace(e);
    cr_assert(eq(sz, e->repeat_len, 1));
    cr_expect(eq(str, e->repeat[0],
                 "perfci explain " ID_A " " ID_B " --benchmark '" CASE_GEMM
                 "' --backend '" CASE_CHIP "' --trace traces"));
    memcpy(e->backend, "gpu:x:", 6);
    pfc_explanation_repeat_trace(e);
    cr_expect(eq(sz, e->repeat_len, 1));
}

Test(explain, a_run_with_several_benchmarks_asks_which)
{
    const pfc_explain_what none = { 0 };
    const pfc_explain_what missing = { .benchmark = "nothing" };

    cr_assert(eq(int, pfc_explain_run(&rules, after, &none, e, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "--benchmark") != NULL, "%s", err.msg);
    pfc_explanation_clear(e);
    cr_assert(eq(int, pfc_explain_run(&rules, after, &missing, e, &err), PFC_ENOTFOUND));
    cr_assert(strstr(err.msg, "nothing") != NULL && strstr(err.msg, ID_B) != NULL, "%s", err.msg);
}

Test(explain, a_broken_benchmark_says_why_it_has_no_value)
{
    const pfc_explain_what what = { CASE_GEMM, CASE_CHIP, "cycles" };

    after->measurements[0].status = PFC_STATUS_BROKEN;
    after->measurements[0].reason = pfc_strdup("wrong result");
    cr_assert(eq(int, pair(&what), PFC_EBROKEN));
    cr_assert(strstr(err.msg, "wrong result") != NULL, "%s", err.msg);
}

Test(explain, a_fingerprint_that_differs_is_said)
{
    pfc_labels_set(&after->machine.fingerprint, "cpu", "y");
    cr_assert(eq(int, pair(&(pfc_explain_what){ 0 }), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, e->warnings_len, 1));
    cr_assert(strstr(e->warnings[0], "cpu") && strstr(e->warnings[0], "\"x\" before") &&
                  strstr(e->warnings[0], "\"y\" after"),
              "%s", e->warnings[0]);
}

Test(explain, counters_that_contradict_leave_the_difference_whole_and_say_so)
{
    pfc_labels_set(&after->measurements[0].extra, "path.load.memory", "1");
    cr_assert(eq(int, pair(&(pfc_explain_what){ 0 }), PFC_OK), "%s", err.msg);
    cr_assert(e->delta == NULL);
    cr_assert(eq(sz, e->warnings_len, 1));
    cr_assert(strstr(e->warnings[0], "critical path") != NULL, "%s", e->warnings[0]);
}

Test(explain, noisy_metrics_are_judged_by_their_samples)
{
    static const double slow[] = { 120, 121, 119, 120, 122, 118, 120, 121, 119, 120 };
    static const double fast[] = { 100, 101, 99, 100, 102, 98, 100, 101, 99, 100 };
    const pfc_explain_what what = { .benchmark = "norm/f32" };

    case_add_cpu(before, fast, 10);
    case_add_cpu(after, slow, 10);
    cr_assert(eq(int, pair(&what), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)e->judged.verdict, "regression"));
    cr_assert(lt(dbl, e->judged.p, 0.01));
    cr_assert(eq(int, e->delta->basis, PFC_DELTA_TOTAL));
    cr_assert(le(dbl, e->after.low, 120.0));
    cr_assert(ge(dbl, e->after.high, 120.0));
    pfc_explanation_clear(e);
    cr_assert(eq(int, pfc_explain_pair(&rules, after, before, &what, NULL, e, &err), PFC_OK));
    cr_assert(eq(str, (char *)e->judged.verdict, "improvement"));
}

Test(explain, exact_benchmarks_come_before_noisy_ones)
{
    static const double fast[] = { 100 };
    static const double slow[] = { 1000 };

    case_add_cpu(before, fast, 1);
    case_add_cpu(after, slow, 1);
    cr_assert(eq(int, pair(&(pfc_explain_what){ 0 }), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, e->benchmark, CASE_GEMM));
}

Test(explain, a_headline_is_explained_where_it_is_named_or_alone)
{
    const pfc_explain_what named = { .benchmark = "headline" };

    for (int i = 0; i < 2; i++) {
        pfc_run *run = i ? after : before;

        free(run->measurements[3].benchmark);
        run->measurements[3].benchmark = pfc_strdup("headline");
    }
    cr_assert(eq(int, pair(&(pfc_explain_what){ 0 }), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, e->benchmark, CASE_GEMM));
    cr_assert(eq(int, pair(&named), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, e->benchmark, "headline"));
    for (int i = 0; i < 6; i++) {
        pfc_run *run = i % 2 ? after : before;

        free(run->measurements[i / 2].benchmark);
        run->measurements[i / 2].benchmark = pfc_strdup("headline");
    }
    cr_assert(eq(int, pair(&(pfc_explain_what){ 0 }), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, e->benchmark, "headline"));
}

Test(explain, a_given_judgement_is_taken_over)
{
    const pfc_explain_judged judged = { "inconclusive", 0.1, 0.0, 0.2, 0.3 };

    cr_assert(
        eq(int, pfc_explain_pair(&rules, before, after, &(pfc_explain_what){ 0 }, &judged, e, &err),
           PFC_OK));
    cr_assert(eq(str, (char *)e->judged.verdict, "inconclusive"));
    cr_assert(eq(dbl, e->judged.p, 0.3));
}

Test(explain, a_suite_is_ranked_by_what_could_be_gained)
{
    pfc_explain_rank *ranks = NULL;
    size_t len = 0;

    cr_assert(eq(int, pfc_explain_suite(&rules, after, &ranks, &len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, len, 2)); /* no headline, no canary, each benchmark once */
    for (size_t i = 0; i < len; i++)
        cr_assert(eq(dbl, ranks[i].ceiling, 450.0));
    for (size_t i = 1; i < len; i++)
        cr_assert(ge(dbl, ranks[i - 1].recoverable / ranks[i - 1].total,
                     ranks[i].recoverable / ranks[i].total));
    pfc_explain_ranks_free(ranks, len);
}

Test(explain, a_profile_has_counters_parameters_and_other_metrics)
{
    pfc_profile p;

    cr_assert(eq(int, pfc_explain_profile(after, CASE_GEMM, CASE_CHIP, &p, &err), PFC_OK));
    cr_assert(eq(dbl, pfc_profile_or(&p, "cycles", 0), 900.0));
    cr_assert(eq(dbl, pfc_profile_or(&p, "param_m", 0), 64.0));
    cr_assert(epsilon_eq(dbl, pfc_profile_or(&p, "metric_gemm_tflops", 0), 1e6 / 900, 1e-6));
    cr_assert(eq(str, (char *)pfc_profile_fact_of(&p, "choice"), "tiles of m 16"));
    cr_assert(eq(str, (char *)pfc_profile_fact_of(&p, "backend"), CASE_CHIP));
    pfc_profile_clear(&p);
}

/* Each file of the folder counts, whichever others are there. */
Test(explain, a_folder_may_hold_the_rules_of_cpus_alone)
{
    char dir[] = "/tmp/pfc-rules-XXXXXX";
    pfc_explain_rules own = { 0 };
    char *path;

    cr_assert(mkdtemp(dir) != NULL);
    path = pfc_format("%s/limiter_cpu.yaml", dir);
    cr_assert(eq(int, pfc_fs_write_atomic(path, "nonsense: 1\n", 12, 0644, &err), PFC_OK));
    cr_assert(eq(int, pfc_explain_rules_load(dir, &own, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "limiter_cpu.yaml") != NULL, "%s", err.msg);
    pfc_explain_rules_clear(&own);
    free(path);
    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK), "%s", err.msg);
    err = (pfc_err){ 0 };
}

Test(explain, a_folder_of_rules_has_to_be_one)
{
    pfc_explain_rules none = { 0 };

    cr_assert(eq(int, pfc_explain_rules_load("/nonexistent", &none, &err), PFC_ENOTFOUND));
    pfc_explain_rules_clear(&none);
}
