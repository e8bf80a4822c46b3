/* Shapes that are made: ranges, seeded and boundary ones, those of models; globs; contradictions.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/suite/suite.h"
#include "core/base/buf.h"

#include "tests/check/check.h"

#define HEAD "suite: t\nbackends: [cpu-scalar]\nbenchmarks:\n"

static pfc_suite *parse(const char *text)
{
    pfc_suite *suite = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_suite_parse(text, strlen(text), "s.yaml", &suite, &err), PFC_OK), "%s",
              err.msg);
    return suite;
}

static void refuse(const char *text, const char *want)
{
    pfc_suite *suite = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_suite_parse(text, strlen(text), "s.yaml", &suite, &err), PFC_EINVAL),
              "%s", text);
    cr_assert(ne(ptr, strstr(err.msg, want), NULL), "'%s' lacks '%s'", err.msg, want);
}

static bool has(const pfc_suite *s, const char *name)
{
    for (size_t i = 0; i < s->cases_len; i++) {
        if (strcmp(s->cases[i].name, name) == 0)
            return true;
    }
    return false;
}

Test(suite_shapes, a_range_multiplies_or_adds_and_stops_below_its_end)
{
    pfc_suite *s =
        parse(HEAD "  - op: gemm\n"
                   "    cross: {m: {from: 64, to: 600, step: x2}, n: 8, k: [4, 5]}\n"
                   "  - op: softmax\n"
                   "    cross: {rows: {from: 1, to: 7, step: 3}, cols: {from: 2, to: 3}}\n");

    cr_assert(eq(sz, s->cases_len, 4 * 2 + 3 * 2)); /* 64 128 256 512; 1 4 7 x 2 3 */
    cr_assert(has(s, "gemm/f32/m64n8k4"));
    cr_assert(has(s, "gemm/f32/m512n8k5"));
    cr_assert(has(s, "softmax/f32/rows7cols3"));
    pfc_suite_free(s);
}

Test(suite_shapes, a_range_that_cannot_be_is_refused)
{
    refuse(HEAD "  - {op: gemm, cross: {m: {from: 8, to: 4}, n: 1, k: 1}}\n",
           "s.yaml:4: m: the range ends at 4, before its start 8");
    refuse(HEAD "  - {op: gemm, cross: {m: {from: 8, to: 9, step: x1}, n: 1, k: 1}}\n",
           "step: expected a number to add");
    refuse(HEAD "  - {op: gemm, cross: {m: {from: 8, to: 9, step: 0}, n: 1, k: 1}}\n",
           "step: expected");
    refuse(HEAD "  - {op: gemm, cross: {m: {from: 8}, n: 1, k: 1}}\n", "expected 'from' and 'to'");
    refuse(HEAD "  - {op: gemm, cross: {pad: {from: 0, to: 8, step: x2}, m: 1, n: 1, k: 1}}\n",
           "cannot start at 0");
    refuse(HEAD "  - {op: gemm, cross: {m: {from: 1, to: 60000}, n: 1, k: 1}}\n", "combinations");
    refuse(HEAD "  - {op: gemm, cross: {m: [1, 2, 1], n: 1, k: 1}}\n", "m: 1 is named twice");
}

#define RANDOM(seed)                                                                               \
    HEAD "  - {op: gemm, random: {count: 40, seed: " seed ", m: [1, 512], n: [7, 300], k: 64}}\n"

Test(suite_shapes, a_seed_gives_the_same_different_shapes_within_their_ranges)
{
    pfc_suite *a = parse(RANDOM("7"));
    pfc_suite *b = parse(RANDOM("7"));
    pfc_suite *c = parse(RANDOM("8"));
    size_t same = 0;
    size_t small = 0;

    cr_assert(eq(sz, a->cases_len, 40));
    for (size_t i = 0; i < 40; i++) {
        cr_assert(eq(str, a->cases[i].name, b->cases[i].name));
        same += strcmp(a->cases[i].name, c->cases[i].name) == 0;
        cr_assert(a->cases[i].params[0] >= 1 && a->cases[i].params[0] <= 512);
        cr_assert(a->cases[i].params[1] >= 7 && a->cases[i].params[1] <= 300);
        cr_assert(eq(i64, a->cases[i].params[2], 64));
        small += a->cases[i].params[0] < 64;
        for (size_t k = 0; k < i; k++)
            cr_assert(ne(str, a->cases[i].name, a->cases[k].name));
    }
    cr_assert(lt(sz, same, 5));
    cr_assert(gt(sz, small, 10)); /* six of ten octaves are below 64; uniform would give 5 of 40 */
    /* Recorded: the same on every machine. */
    cr_assert(eq(str, a->cases[0].name, "gemm/f32/m18n8k64"));
    pfc_suite_free(a);
    pfc_suite_free(b);
    pfc_suite_free(c);
}

/* 1, 5, 6, 7 | 7, 8, 9 | 15, 16, 17 | 31, 32, 33 | 63, 64, 65 */
Test(suite_shapes, boundaries_are_the_widths_of_vectors_and_tiles_and_their_neighbours)
{
    static const int64_t want[] = { 1, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65 };
    pfc_suite *s = parse(HEAD "  - {op: softmax, boundary: {rows: 1, cols: [1, 65]}}\n");

    cr_assert(eq(sz, s->cases_len, PFC_ARRAY_LEN(want)));
    for (size_t i = 0; i < s->cases_len; i++)
        cr_assert(eq(i64, s->cases[i].params[1], want[i]));
    pfc_suite_free(s);

    s = parse(HEAD "  - op: gemm\n"
                   "    boundary: {m: [1, 65], n: [1, 65], k: [1, 65], count: 30, seed: 3}\n");
    cr_assert(eq(sz, s->cases_len, 30));
    for (size_t i = 0; i < s->cases_len; i++) {
        bool found = false;
        for (size_t k = 0; k < PFC_ARRAY_LEN(want); k++)
            found = found || s->cases[i].params[2] == want[k];
        cr_assert(found, "%s", s->cases[i].name);
    }
    pfc_suite_free(s);
}

Test(suite_shapes, a_generator_that_cannot_give_what_is_asked_says_so)
{
    refuse(HEAD "  - {op: gemm, random: {m: [1, 2], n: 1, k: 1}}\n", "random: lacks 'count'");
    refuse(HEAD "  - {op: gemm, random: {count: 3, m: [1, 2], n: 1, k: 1}}\n",
           "expected 3 different shapes, the ranges hold fewer");
    refuse(HEAD "  - {op: gemm, random: {count: 3, m: [9, 2], n: 1, k: 1}}\n", "got 9 above 2");
    refuse(HEAD "  - {op: gemm, random: {count: 3, m: [1, 2, 3], n: 1, k: 1}}\n",
           "expected [low, high]");
    refuse(HEAD "  - {op: gemm, random: {count: 0, m: [1, 2], n: 1, k: 1}}\n", "s.yaml:4: count");
    refuse(HEAD "  - {op: gemm, random: {count: 3, m: [1, 2], n: 1}}\n", "random: lacks 'k'");
    refuse(HEAD "  - {op: gemm, boundary: {m: [2, 4], n: 1, k: 1}}\n",
           "no boundary of m lies in 2..4");
    refuse(HEAD "  - {op: gemm, boundary: {m: [1, 65536], n: [1, 65536], k: [1, 65536]}}\n",
           "more than 5000 shapes; say with 'count'");
}

Test(suite_shapes, models_are_named_and_share_shapes)
{
    pfc_suite *s = parse(HEAD "  - {op: gemm, model: gpt2}\n"
                              "  - {op: gemm, model: {name: bert-base, phases: [prefill]}}\n"
                              "  - {model: {name: llama-3-8b, phases: [decode], batch: 8}}\n");

    cr_assert(has(s, "gemm/f32/m128n2304k768")); /* GPT-2's QKV */
    cr_assert(has(s, "gemm/f32/m128n768k768"));  /* GPT-2's projection, BERT's Q */
    cr_assert(has(s, "gemm/f32/m8n14336k4096"));
    cr_assert(has(s, "attention/f32/h256s128d128q1kv64"));
    cr_assert(has(s, "rmsnorm/f32/rows8cols4096"));
    pfc_suite_free(s);
    refuse(HEAD "  - {op: gemm, model: gpt5}\n",
           "s.yaml:4: model: unknown model 'gpt5' (known: llama-2");
    refuse(HEAD "  - {op: gemm, model: {name: bert-base, phases: [decode]}}\n", "it has no decode");
    refuse(HEAD "  - {op: gemm, model: {name: gpt2, phases: [run]}}\n",
           "expected prefill, decode or");
    refuse(HEAD "  - {op: gemm, model: {name: gpt2, phases: [decode, decode]}}\n", "named twice");
    refuse(HEAD "  - {op: gemm, model: {name: gpt2, sequence: 2000}}\n", "sequence");
    refuse(HEAD "  - {op: gemm, model: {phases: [decode]}}\n", "model: lacks 'name'");
    refuse(HEAD "  - {dtype: f32, shapes: []}\n", "entry lacks 'op'");
    refuse(HEAD "  - {model: gpt2, shapes: [{m: 1, n: 1, k: 1}]}\n",
           "expected an 'op' beside 'shapes'");
}

Test(suite_shapes, a_generated_shape_that_is_there_is_fine_but_two_wishes_for_one_are_not)
{
    pfc_suite *s = parse(HEAD "  - {op: softmax, shapes: [{rows: 1, cols: 8}]}\n"
                              "  - {op: softmax, boundary: {rows: 1, cols: [7, 9]}}\n");

    cr_assert(eq(sz, s->cases_len, 3));
    pfc_suite_free(s);
    refuse(
        HEAD "  - {op: softmax, shapes: [{rows: 1, cols: 8}]}\n"
             "  - {op: softmax, boundary: {rows: 1, cols: [7, 9]}, backends: [cpu-avx2]}\n",
        "s.yaml:5: benchmarks: softmax/f32/rows1cols8 is there already, from s.yaml:4, with other");
    refuse(HEAD "  - {op: softmax, shapes: [{rows: 1, cols: 8}]}\n"
                "  - {op: softmax, cross: {rows: 1, cols: [7, 8]}}\n",
           "s.yaml:5: benchmarks: softmax/f32/rows1cols8 is named twice, first at s.yaml:4");
}

Test(suite_shapes, contradictions_are_reported)
{
    refuse(HEAD "  - {op: attention, shapes: [{h: 4, s: 8, d: 4, q: 9}]}\n",
           "s.yaml:4: attention: q, the queries, is over s");
    refuse(HEAD "  - {op: attention, shapes: [{h: 4, s: 8, d: 4, kv: 3}]}\n",
           "kv, the heads of keys and values, divides not h");
    refuse("suite: t\nsettings: {processes: 9, min_samples: 1, max_samples: 4}\nbenchmarks: []\n",
           "9 processes take at least a sample each, and max_samples is 4");
    refuse("suite: t\nbackends: [cpu-avx2, cpu-scalar, cpu-avx2]\nbenchmarks: []\n",
           "s.yaml:2: backends: 'cpu-avx2' is named twice");
    refuse(HEAD "  - {op: gemm, shapes: [{m: 1, n: 1, k: 1}], settings: {max_total_seconds: 60}}\n",
           "s.yaml:4: settings: max_total_seconds limits a whole run");
    refuse("suite: t\ngroups: {a: [], a: []}\nbenchmarks: []\n", "s.yaml");
}

/* Three queries, the last of 8, see 6 + 7 + 8 keys: 21 pairs, 4 flops x 4 columns x 2 heads. */
Test(suite_shapes, work_of_few_queries_is_their_part_of_the_triangle)
{
    pfc_suite *s =
        parse(HEAD "  - op: attention\n"
                   "    shapes: [{h: 2, s: 8, d: 4, causal: 1, q: 3}, {h: 2, s: 8, d: 4, q: 1}]\n");

    cr_assert(epsilon_eq(dbl, pfc_case_work(&s->cases[0]) * 1e12, 672, 1e-9));
    cr_assert(epsilon_eq(dbl, pfc_case_work(&s->cases[1]) * 1e12, 256, 1e-9));
    pfc_suite_free(s);
}

Test(suite_shapes, backends_are_globs_that_can_match)
{
    pfc_suite *s = parse("suite: t\nbackends: [\"cpu-avx*\", \"accel:pfc-?dge\"]\nbenchmarks:\n"
                         "  - {op: gemm, shapes: [{m: 1, n: 1, k: 1}]}\n");

    cr_assert(pfc_case_wants(&s->cases[0], "cpu-avx512"));
    cr_assert(not(pfc_case_wants(&s->cases[0], "cpu-scalar")));
    cr_assert(pfc_case_wants(&s->cases[0], "accel:pfc-edge"));
    cr_assert(not(pfc_case_wants(&s->cases[0], "accel:pfc-server")));
    pfc_suite_free(s);
    refuse("suite: t\nbackends: [\"gpu-*\"]\nbenchmarks: []\n", "unknown backend 'gpu-*'");
    refuse("suite: t\nbackends: [\"accel:A B*\"]\nbenchmarks: []\n", "unknown backend");
}

Test(suite_shapes, a_budget_of_the_run_is_read)
{
    pfc_suite *s = parse("suite: t\nsettings: {max_total_seconds: 600, launch_seconds: 3}\n"
                         "backends: [cpu-scalar]\n"
                         "benchmarks: [{op: gemm, shapes: [{m: 1, n: 1, k: 1}]}]\n");

    cr_assert(epsilon_eq(dbl, s->max_total_seconds, 600, 0));
    cr_assert(epsilon_eq(dbl, s->cases[0].settings.launch_seconds, 3, 0));
    pfc_suite_free(s);
}

/* One difference in a setting, in either direction, is another wish. */
Test(suite_shapes, each_setting_counts_when_two_wishes_are_compared)
{
    static const struct {
        const char *more;
        bool same;
    } rows[] = {
        { "", true },
        { "settings: {processes: 5}", true }, /* the suite's own */
        { "settings: {processes: 6}", false },
        { "settings: {processes: 4}", false },
        { "settings: {min_samples: 31}", false },
        { "settings: {max_samples: 301}", false },
        { "settings: {max_seconds: 5.5}", false },
        { "settings: {max_seconds: 4.5}", false },
        { "settings: {warmup_seconds: 0.6}", false },
        { "settings: {warmup_seconds: 0.4}", false },
        { "settings: {interval_rel: 0.03}", false },
        { "settings: {interval_rel: 0.01}", false },
        { "settings: {launch_seconds: 31}", false },
        { "settings: {launch_seconds: 29}", false },
        { "headline: true", false },
        { "backends: [cpu-scalar]", true },
        { "backends: [cpu-scalar, cpu-avx2]", false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *text = pfc_format(
            "suite: t\nbackends: [cpu-scalar]\n"
            "settings: {processes: 5, min_samples: 30, max_samples: 300, max_seconds: 5, "
            "warmup_seconds: 0.5, interval_rel: 0.02, launch_seconds: 30}\nbenchmarks:\n"
            "  - {op: softmax, headline: false, shapes: [{rows: 1, cols: 8}]}\n"
            "  - {op: softmax, boundary: {rows: 1, cols: [7, 9]}%s%s%s}\n",
            strstr(rows[i].more, "headline") ? "" : ", headline: false",
            rows[i].more[0] ? ", " : "", rows[i].more);

        if (rows[i].same)
            pfc_suite_free(parse(text));
        else
            refuse(text, "is there already");
        free(text);
    }
}

Test(suite_shapes, ranges_and_steps_hold_at_their_limits)
{
    static const struct {
        const char *cross;
        size_t cases; /* 0: refused */
        const char *last;
    } rows[] = {
        { "rows: {from: 8, to: 8}, cols: 1", 1, "softmax/f32/rows8cols1" },
        { "rows: {from: 8, to: 7}, cols: 1", 0, "ends at 7" },
        { "rows: {from: 1, to: 5000}, cols: 1", 5000, "softmax/f32/rows5000cols1" },
        { "rows: {from: 1, to: 5001}, cols: 1", 0, "expected 1..5000 combinations" },
        { "rows: {from: 1, to: 50}, cols: {from: 1, to: 100}", 5000, "softmax/f32/rows50cols100" },
        { "rows: {from: 1, to: 50}, cols: {from: 1, to: 101}", 0, "expected 1..5000 combinations" },
        { "rows: {from: 1, to: 65536, step: x65536}, cols: 1", 2, "softmax/f32/rows65536cols1" },
        { "rows: {from: 1, to: 9, step: x65537}, cols: 1", 0, "step: expected a number to add" },
        { "rows: {from: 1, to: 9, step: x1}, cols: 1", 0, "step: expected a number to add" },
        { "rows: {from: 1, to: 9, step: x3}, cols: 1", 3, "softmax/f32/rows9cols1" },
        { "rows: {from: 1, to: 9, step: 1048576}, cols: 1", 1, "softmax/f32/rows1cols1" },
        { "rows: {from: 1, to: 9, step: 1048577}, cols: 1", 0, "step: expected a number to add" },
        { "rows: {from: 1, to: 9, step: 8}, cols: 1", 2, "softmax/f32/rows9cols1" },
        { "rows: [3, 2], cols: [5, 4]", 4, "softmax/f32/rows2cols4" },
        { "rows: [], cols: 1", 0, "expected 1..5000 combinations" },
        { "rows: 1048576, cols: 1", 1, "softmax/f32/rows1048576cols1" },
        { "rows: 1048577, cols: 1", 0, "rows" },
        { "rows: 0, cols: 1", 0, "rows" },
        { "rows: 1", 0, "cross: lacks 'cols'" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *text = pfc_format(HEAD "  - {op: softmax, cross: {%s}}\n", rows[i].cross);

        if (rows[i].cases) {
            pfc_suite *s = parse(text);

            cr_assert(eq(sz, s->cases_len, rows[i].cases), "row %zu", i);
            cr_assert(eq(str, s->cases[s->cases_len - 1].name, (char *)rows[i].last), "row %zu", i);
            pfc_suite_free(s);
        } else {
            refuse(text, rows[i].last);
        }
        free(text);
    }
}

Test(suite_shapes, the_last_parameter_of_a_combination_changes_fastest)
{
    static const char *const want[] = { "softmax/f32/rows3cols5", "softmax/f32/rows3cols4",
                                        "softmax/f32/rows2cols5", "softmax/f32/rows2cols4" };
    pfc_suite *s = parse(HEAD "  - {op: softmax, cross: {rows: [3, 2], cols: [5, 4]}}\n");

    for (size_t i = 0; i < PFC_ARRAY_LEN(want); i++)
        cr_assert(eq(str, s->cases[i].name, (char *)want[i]));
    pfc_suite_free(s);
}

Test(suite_shapes, a_suite_has_at_most_5000_benchmarks)
{
    pfc_suite *s = parse(HEAD "  - {op: softmax, cross: {rows: {from: 1, to: 4999}, cols: 1}}\n"
                              "  - {op: softmax, shapes: [{rows: 1, cols: 2}]}\n");

    cr_assert(eq(sz, s->cases_len, 5000));
    pfc_suite_free(s);
    refuse(HEAD "  - {op: softmax, cross: {rows: {from: 1, to: 5000}, cols: 1}}\n"
                "  - {op: softmax, shapes: [{rows: 1, cols: 2}]}\n",
           "s.yaml:5: benchmarks: more than 5000");
}

Test(suite_shapes, a_switch_is_a_word_or_a_digit)
{
    static const struct {
        const char *causal;
        int64_t value; /* -1: refused */
    } rows[] = { { "true", 1 }, { "false", 0 }, { "1", 1 },      { "0", 0 },
                 { "2", -1 },   { "-1", -1 },   { "maybe", -1 }, { "truth", -1 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *text = pfc_format(
            HEAD "  - {op: attention, shapes: [{h: 1, s: 2, d: 3, causal: %s}]}\n", rows[i].causal);

        if (rows[i].value < 0) {
            refuse(text, "causal");
        } else {
            pfc_suite *s = parse(text);

            cr_assert(eq(i64, s->cases[0].params[3], rows[i].value), "row %zu", i);
            pfc_suite_free(s);
        }
        free(text);
    }
    refuse(HEAD "  - {op: gemm, shapes: [{m: true, n: 1, k: 1}]}\n", "m");
    refuse(HEAD "  - {op: gemm, shapes: [{m: 1, n: 1}]}\n", "gemm: shape lacks 'k'");
    refuse(HEAD "  - {op: gemm, shapes: [{m: 1, n: 1, k: 1, j: 1}]}\n", "j");
    refuse(HEAD "  - {op: gemm, shapes: {m: 1, n: 1, k: 1}}\n", "shapes");
    refuse(HEAD "  - {op: gemm, shapes: [3]}\n", "shape");
    refuse(HEAD "  - {op: gemm, cross: [3]}\n", "cross");
}

Test(suite_shapes, generators_hold_at_their_limits)
{
    static const struct {
        const char *entry;
        size_t cases; /* 0: refused */
        const char *what;
    } rows[] = {
        { "random: {count: 2, rows: [1, 2], cols: 1}", 2, "" },
        { "random: {count: 3, rows: [1, 2], cols: 1}", 0, "the ranges hold fewer" },
        { "random: {count: 4, rows: [1, 2], cols: [3, 4]}", 4, "" },
        { "random: {count: 5000, rows: [1, 1048576], cols: [1, 1048576]}", 5000, "" },
        { "random: {count: 5001, rows: [1, 1048576], cols: [1, 1048576]}", 0, "count" },
        { "random: {count: 1, seed: -1, rows: 1, cols: 1}", 0, "seed" },
        { "random: {count: 1, seed: 0, rows: 1, cols: 1}", 1, "" },
        { "random: {count: 1, rows: [2, 2], cols: 1}", 1, "" },
        { "random: {count: 1, rows: [2], cols: 1}", 0, "expected [low, high]" },
        { "random: {count: 1, sed: 0, rows: 1, cols: 1}", 0, "sed" },
        { "boundary: {rows: [1, 1048576], cols: 3}", 56,
          "" }, /* 1, 5, 6, 7; three to each of 18 powers, but 7 and 2^20 + 1 */
        { "boundary: {rows: 2, cols: 3}", 1, "" }, /* one value needs no boundary */
        { "boundary: {rows: [1, 8], cols: [1, 8], count: 25}", 25, "" },
        { "boundary: {rows: [1, 8], cols: [1, 8], count: 26}", 0, "the ranges hold fewer" },
        { "boundary: {rows: [1, 8], cols: [1, 8]}", 25, "" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *text = pfc_format(HEAD "  - {op: softmax, %s}\n", rows[i].entry);

        if (rows[i].cases) {
            pfc_suite *s = parse(text);

            cr_expect(eq(sz, s->cases_len, rows[i].cases), "row %zu", i);
            pfc_suite_free(s);
        } else {
            refuse(text, rows[i].what);
        }
        free(text);
    }
}

/* Octaves are drawn first: of 1..3 half of the shapes is 1. Every value of a range is drawn. */
Test(suite_shapes, each_value_of_a_range_can_be_drawn)
{
    bool seen[18] = { false };

    for (int seed = 1; seed <= 40; seed++) {
        char *text = pfc_format(
            HEAD "  - {op: softmax, random: {count: 4, seed: %d, rows: [5, 17], cols: 1}}\n", seed);
        pfc_suite *s = parse(text);

        for (size_t i = 0; i < s->cases_len; i++) {
            cr_assert(s->cases[i].params[0] >= 5 && s->cases[i].params[0] <= 17);
            seen[s->cases[i].params[0]] = true;
        }
        pfc_suite_free(s);
        free(text);
    }
    for (int v = 5; v <= 17; v++)
        cr_assert(seen[v], "%d", v);
}
