/* The limiter: rules of a small file whose results are computed by hand, and the built-in ones. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/limiter/limiter.h"
#include "core/base/fs.h"

#include "tests/check/check.h"

static const char small[] =
    "since: 2\n"
    "least: 0.02\n"
    "definitions:\n"
    "  load: hbm_busy_cycles / cycles\n"
    "savings:\n"
    "  compute: tensor_busy / cycles\n"
    "  memory: load - 0.1\n"
    "  vector: default(vector_share, -1)\n"
    "confidence:\n"
    "  counters: [[0, 0.4], [0.5, 0.8], [1, 1]]\n"
    "  trace: [[0, 0.6], [1, 0.99]]\n"
    "causes:\n"
    "  - {id: misses, resource: memory, value: hbm_row_misses / hbm_accesses, threshold: 0.3, "
    "format: percent,\n"
    "     share: 0.2, text: \"{value} of the accesses miss, more than {threshold}\"}\n"
    "  - {id: transfers, resource: [memory, dma], value: dma_bytes / dma_transfers, threshold: "
    "4096, below: true,\n"
    "     format: bytes, share: 0.25, text: \"a transfer moves {value}, fewer than {threshold}\"}\n"
    "  - {id: turns, resource: memory, value: hbm_turnarounds, threshold: 1, text: \"{value} "
    "turnarounds\"}\n"
    "  - {id: never, resource: memory, when: load > 2, value: 5, threshold: 1, text: \"never\"}\n"
    "  - {id: absent, resource: memory, value: no_such_number, threshold: 1, text: \"never\"}\n"
    "  - {id: busy, resource: compute, value: tensor_busy, threshold: 1, text: \"busy\"}\n";

typedef struct number {
    const char *name;
    double value;
} number;

static const number run[] = {
    { "cycles", 1000 },       { "tensor_busy", 300 },   { "hbm_busy_cycles", 700 },
    { "hbm_row_misses", 40 }, { "hbm_accesses", 100 },  { "dma_bytes", 20000 },
    { "dma_transfers", 10 },  { "hbm_turnarounds", 7 },
};

static void fill(pfc_profile *p, const number *numbers, size_t len)
{
    pfc_err err = { 0 };

    pfc_profile_init(p, "run 1");
    for (size_t i = 0; i < len; i++)
        cr_assert(eq(int, pfc_profile_set(p, numbers[i].name, numbers[i].value, &err), PFC_OK));
}

static void set(pfc_profile *p, const char *name, double value)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_profile_set(p, name, value, &err), PFC_OK));
}

static void judge_by(const char *text, const pfc_profile *p, pfc_limiter_view view,
                     pfc_limiter_verdict *out)
{
    pfc_limiter_rules *rules = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_limiter_rules_parse("x.yaml", text, strlen(text), &rules, &err), PFC_OK),
              "%s", err.msg);
    pfc_limiter_judge(rules, p, view, out);
    pfc_limiter_rules_free(rules);
}

/* memory saves 0.7 - 0.1 = 0.6, compute 0.3, vector nothing; the ratio (0.6 - 0.3) / 0.6 is 0.5. */
Test(limiter, the_largest_saving_is_the_limiter)
{
    pfc_limiter_verdict v;
    pfc_profile p;

    fill(&p, run, PFC_ARRAY_LEN(run));
    judge_by(small, &p, PFC_LIMITER_COUNTERS, &v);
    cr_expect(eq(int, v.view, PFC_LIMITER_COUNTERS));
    cr_expect(not(v.inconclusive));
    cr_expect(eq(int, v.first, PFC_RESOURCE_MEMORY));
    cr_expect(eq(int, v.second, PFC_RESOURCE_COMPUTE));
    cr_expect(epsilon_eq(dbl, v.saving[PFC_RESOURCE_MEMORY], 0.6, 1e-12));
    cr_expect(epsilon_eq(dbl, v.saving[PFC_RESOURCE_COMPUTE], 0.3, 1e-12));
    cr_expect(eq(dbl, v.saving[PFC_RESOURCE_VECTOR], 0));
    cr_expect(epsilon_eq(dbl, v.confidence, 0.8, 1e-12));
    cr_expect(eq(str, v.disagreement, ""));
    pfc_profile_clear(&p);
}

/* Half-way between [0, 0.4] and [0.5, 0.8] is 0.6; a ratio of 1 is the last point. */
Test(limiter, confidence_is_interpolated_in_the_table)
{
    pfc_limiter_verdict v;
    pfc_profile p;

    fill(&p, run, PFC_ARRAY_LEN(run));
    set(&p, "tensor_busy", 450);
    judge_by(small, &p, PFC_LIMITER_COUNTERS, &v);
    cr_expect(epsilon_eq(dbl, v.confidence, 0.6, 1e-9));
    set(&p, "tensor_busy", 0);
    judge_by(small, &p, PFC_LIMITER_COUNTERS, &v);
    cr_expect(eq(int, v.second, PFC_RESOURCE_NONE));
    cr_expect(eq(dbl, v.confidence, 1));
    set(&p, "tensor_busy", 600);
    judge_by(small, &p, PFC_LIMITER_COUNTERS, &v);
    cr_expect(epsilon_eq(dbl, v.confidence, 0.4, 1e-9));
    pfc_profile_clear(&p);
}

Test(limiter, causes_of_the_limiter_are_sentences_by_share)
{
    pfc_limiter_verdict v;
    pfc_profile p;

    fill(&p, run, PFC_ARRAY_LEN(run));
    judge_by(small, &p, PFC_LIMITER_COUNTERS, &v);
    cr_assert(eq(sz, v.causes_len, 3));
    cr_expect(eq(str, v.causes[0].id, "transfers"));
    cr_expect(eq(str, v.causes[0].text, "a transfer moves 2000 bytes, fewer than 4096 bytes"));
    cr_expect(eq(dbl, v.causes[0].share, 0.25));
    cr_expect(eq(str, v.causes[1].id, "misses"));
    cr_expect(eq(str, v.causes[1].text, "40.0 % of the accesses miss, more than 30.0 %"));
    cr_expect(eq(str, v.causes[2].text, "7 turnarounds"));
    cr_expect(isnan(v.causes[2].share));
    pfc_profile_clear(&p);
}

/* The trace saves compute 0.5, memory 0.25: ratio 0.5, half-way from 0.6 to 0.99. */
Test(limiter, the_trace_is_used_where_there_is_one_and_the_difference_is_said)
{
    pfc_limiter_verdict v;
    pfc_profile p;

    fill(&p, run, PFC_ARRAY_LEN(run));
    set(&p, "recoverable_compute_cycles", 500);
    set(&p, "recoverable_memory_cycles", 250);
    judge_by(small, &p, PFC_LIMITER_BEST, &v);
    cr_expect(eq(int, v.view, PFC_LIMITER_TRACE));
    cr_expect(eq(int, v.first, PFC_RESOURCE_COMPUTE));
    cr_expect(eq(int, v.second, PFC_RESOURCE_MEMORY));
    cr_expect(epsilon_eq(dbl, v.confidence, 0.795, 1e-12));
    cr_expect(eq(str, v.disagreement,
                 "the trace names compute (saves 50.0 %), the view of the "
                 "counters memory (saves 60.0 %)"));
    cr_expect(eq(str, v.causes[0].id, "busy"));
    judge_by(small, &p, PFC_LIMITER_COUNTERS, &v);
    cr_expect(eq(int, v.first, PFC_RESOURCE_MEMORY));
    cr_expect(eq(str, v.disagreement,
                 "the view of the counters names memory (saves 60.0 %), the "
                 "trace compute (saves 50.0 %)"));
    set(&p, "recoverable_memory_cycles", 700);
    judge_by(small, &p, PFC_LIMITER_BEST, &v);
    cr_expect(eq(str, v.disagreement, ""));
    pfc_profile_clear(&p);
}

Test(limiter, without_a_trace_the_counters_judge_and_the_trace_view_says_so)
{
    pfc_limiter_verdict v;
    pfc_profile p;

    fill(&p, run, PFC_ARRAY_LEN(run));
    judge_by(small, &p, PFC_LIMITER_BEST, &v);
    cr_expect(eq(int, v.view, PFC_LIMITER_COUNTERS));
    cr_expect(eq(int, v.first, PFC_RESOURCE_MEMORY));
    judge_by(small, &p, PFC_LIMITER_TRACE, &v);
    cr_expect(v.inconclusive);
    cr_expect(eq(int, v.first, PFC_RESOURCE_NONE));
    cr_expect(eq(str, v.reason, "the run has no trace: no number \"recoverable_RESOURCE_cycles\""));
    pfc_profile_clear(&p);
}

static void expect_inconclusive(const pfc_profile *p, const char *reason)
{
    pfc_limiter_verdict v;

    judge_by(small, p, PFC_LIMITER_COUNTERS, &v);
    cr_expect(v.inconclusive);
    cr_expect(eq(int, v.first, PFC_RESOURCE_NONE));
    cr_expect(eq(int, v.second, PFC_RESOURCE_NONE));
    cr_expect(eq(dbl, v.confidence, 0));
    cr_expect(eq(sz, v.causes_len, 0));
    cr_expect(eq(str, v.reason, (char *)reason));
}

Test(limiter, a_missing_counter_makes_it_inconclusive_with_its_name)
{
    pfc_profile p;

    fill(&p, run + 2, PFC_ARRAY_LEN(run) - 2);
    set(&p, "cycles", 1000);
    expect_inconclusive(&p, "the saving of compute is not available: tensor_busy");
    pfc_profile_clear(&p);
}

Test(limiter, a_broken_law_makes_it_inconclusive)
{
    pfc_profile p;

    fill(&p, run, PFC_ARRAY_LEN(run));
    set(&p, "hbm_busy_cycles", -1);
    expect_inconclusive(&p, "run 1: hbm_busy_cycles is -1: expected no negative amount");
    set(&p, "hbm_busy_cycles", 700);
    set(&p, "cycles", 0);
    expect_inconclusive(&p, "run 1: the total is 0: expected more than 0");
    pfc_profile_clear(&p);
}

Test(limiter, an_older_simulator_makes_it_inconclusive)
{
    pfc_limiter_verdict v;
    pfc_profile p;
    pfc_err err = { 0 };

    fill(&p, run, PFC_ARRAY_LEN(run));
    cr_assert(eq(int, pfc_profile_set_fact(&p, "simulator", "accel-1", &err), PFC_OK));
    expect_inconclusive(&p, "the run was recorded by simulator 1, whose counters have other "
                            "meanings: expected 2 or newer");
    cr_assert(eq(int, pfc_profile_set_fact(&p, "simulator", "accel-2", &err), PFC_OK));
    judge_by(small, &p, PFC_LIMITER_COUNTERS, &v);
    cr_expect(not(v.inconclusive));
    pfc_profile_clear(&p);
}

/* memory saves 0.015, compute 0.01: both are below 0.02. */
Test(limiter, no_resource_alone_is_inconclusive)
{
    pfc_profile p;

    fill(&p, run, PFC_ARRAY_LEN(run));
    set(&p, "tensor_busy", 10);
    set(&p, "hbm_busy_cycles", 115);
    expect_inconclusive(&p, "no resource alone would save 2.0 % of the time: several limit it "
                            "together");
    pfc_profile_clear(&p);
}

Test(limiter, a_wrong_file_is_refused_with_its_line)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "since: 2\nleast: 0.1\nsavings:\n  speed: 1\n",
          "x.yaml:4: expected a resource such as compute or memory, got \"speed\"" },
        { "since: 2\nleast: 2\n", "x.yaml:2: " },
        { "since: 2\nleast: 0.1\nsavings: {}\nconfidence: {counters: [[0.5, 1], [0.5, 1]]}\n",
          "x.yaml:4: confidence: expected increasing ratios" },
        { "since: 2\nleast: 0.1\nsavings: {}\nconfidence: {counters: [[0, 1]]}\n",
          "x.yaml:4: expected the key \"trace\"" },
        { "since: 2\nleast: 0.1\nsavings: {}\nconfidence: {counters: [[0, 1]], trace: [[0, 1]]}\n"
          "causes:\n  - {id: a, resource: memory, threshold: 1, text: t}\n",
          "x.yaml:6: causes: a: expected the key \"value\"" },
        { "since: 2\nleast: 0.1\nsavings: {}\nconfidence: {counters: [[0, 1]], trace: [[0, 1]]}\n"
          "causes:\n  - {id: a, resource: memory, value: 1, threshold: 1, text: t, format: x}\n",
          "x.yaml:6: format: expected percent, number or bytes, got \"x\"" },
        { "since: 2\nrules: 3\n", "x.yaml:2: the file: unknown key 'rules'" },
        { "since: 2\nleast: 0.1\nsavings:\n  memory: 1 +\n", "x.yaml:4:14: expected a number" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_limiter_rules *r = NULL;
        pfc_err err = { 0 };

        cr_expect(
            eq(int,
               pfc_limiter_rules_parse("x.yaml", cases[i].text, strlen(cases[i].text), &r, &err),
               PFC_EINVAL),
            "%s", cases[i].text);
        cr_expect(eq(int, strncmp(err.msg, cases[i].message, strlen(cases[i].message)), 0), "%s",
                  err.msg);
        cr_expect(r == NULL);
    }
}

Test(limiter, a_folder_takes_the_place_of_the_built_in_rules)
{
    pfc_limiter_rules *rules = NULL;
    pfc_limiter_verdict v;
    pfc_profile p;
    pfc_err err = { 0 };
    char *dir = NULL;
    char *path;

    cr_assert(eq(int, pfc_fs_temp_dir("perfci-limiter", &dir, &err), PFC_OK));
    path = pfc_fs_join(dir, "limiter.yaml");
    cr_assert(eq(int, pfc_fs_write_atomic(path, small, strlen(small), 0600, &err), PFC_OK));
    cr_assert(eq(int, pfc_limiter_rules_load(dir, &rules, &err), PFC_OK), "%s", err.msg);
    fill(&p, run, PFC_ARRAY_LEN(run));
    pfc_limiter_judge(rules, &p, PFC_LIMITER_BEST, &v);
    cr_expect(eq(int, v.first, PFC_RESOURCE_MEMORY));
    pfc_limiter_rules_free(rules);
    pfc_profile_clear(&p);
    cr_expect(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK));
    free(path);
    free(dir);
}

/* ---- CPU ---- */

static void judge_cpu(double percent, const char *bound, pfc_limiter_view view,
                      pfc_limiter_verdict *v)
{
    pfc_limiter_rules *rules = NULL;
    pfc_profile p;
    pfc_err err = { 0 };

    pfc_profile_init(&p, "run 1");
    set(&p, "time_ns", 2000);
    if (percent > 0)
        set(&p, "percent_of_peak", percent);
    set(&p, "count_instructions", 500);
    set(&p, "count_cycles", 1000);
    cr_assert(eq(int, pfc_profile_set_fact(&p, "backend", "cpu-avx2", &err), PFC_OK));
    cr_assert(eq(int, pfc_profile_set_fact(&p, "bound", bound, &err), PFC_OK));
    cr_assert(eq(int, pfc_limiter_rules_load(NULL, &rules, &err), PFC_OK), "%s", err.msg);
    pfc_limiter_judge(rules, &p, view, v);
    pfc_limiter_rules_free(rules);
    pfc_profile_clear(&p);
}

/* 60 % of the bound is where latency takes over. */
Test(limiter, a_cpu_is_judged_by_its_place_below_the_roofline)
{
    static const struct {
        double percent;
        const char *bound;
        pfc_resource first;
        double saving;
    } cases[] = {
        { 92, "fma", PFC_RESOURCE_COMPUTE, 0.92 },
        { 70, "bf16", PFC_RESOURCE_COMPUTE, 0.70 },
        { 85, "DRAM read", PFC_RESOURCE_MEMORY, 0.85 },
        { 61, "L2 copy", PFC_RESOURCE_MEMORY, 0.61 },
        { 59, "L2 read", PFC_RESOURCE_LATENCY, 0.41 },
        { 5, "fma", PFC_RESOURCE_LATENCY, 0.95 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_limiter_verdict v;

        judge_cpu(cases[i].percent, cases[i].bound, PFC_LIMITER_BEST, &v);
        cr_expect(eq(int, v.view, PFC_LIMITER_COUNTERS));
        cr_expect(
            eq(str, (char *)pfc_resource_name(v.first), (char *)pfc_resource_name(cases[i].first)),
            "%g %% of %s", cases[i].percent, cases[i].bound);
    }
}

Test(limiter, causes_of_a_cpu_are_sentences_and_events_that_are_not_counted_say_nothing)
{
    pfc_limiter_verdict v;

    judge_cpu(20, "fma", PFC_LIMITER_BEST, &v);
    cr_assert(eq(sz, v.causes_len, 2));
    cr_expect(eq(str, v.causes[0].text,
                 "roofline: the run reaches 20.0 % of its bound, less than 60.0 %"));
    cr_expect(eq(str, v.causes[1].text, "0.5 instructions a cycle, fewer than 1"));
}

Test(limiter, a_cpu_without_ceilings_or_trace_is_inconclusive)
{
    pfc_limiter_verdict v;

    judge_cpu(0, "fma", PFC_LIMITER_BEST, &v);
    cr_expect(v.inconclusive);
    cr_expect(eq(str, v.reason, "the saving of compute is not available: percent_of_peak"));
    judge_cpu(90, "fma", PFC_LIMITER_TRACE, &v);
    cr_expect(v.inconclusive);
    cr_expect(eq(str, v.reason, "the run has no trace: no number \"recoverable_RESOURCE_cycles\""));
}
