/* Suites: what is read, and what is refused with file and line. */
#include <stdlib.h>
#include <string.h>

#include "bench/suite/suite.h"
#include "core/base/buf.h"
#include "core/base/config/yaml.h"

#include "tests/check/check.h"

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

    cr_assert(ne(int, pfc_suite_parse(text, strlen(text), "s.yaml", &suite, &err), PFC_OK), "%s",
              text);
    cr_assert(eq(ptr, suite, NULL));
    cr_assert(ne(ptr, strstr(err.msg, want), NULL), "'%s' lacks '%s'", err.msg, want);
}

Test(suite, shapes_become_named_benchmarks_with_settings)
{
    pfc_suite *s = parse("suite: t\n"
                         "settings: {processes: 3, max_seconds: 0.5}\n"
                         "backends: [cpu-scalar, \"accel:*\"]\n"
                         "benchmarks:\n"
                         "  - op: gemm\n"
                         "    shapes:\n"
                         "      - {m: 4, n: 8, k: 16}\n"
                         "  - op: attention\n"
                         "    shapes: [{h: 2, s: 8, d: 4, causal: true}]\n"
                         "    headline: false\n"
                         "    settings: {processes: 2}\n"
                         "    backends: [cpu-avx2]\n");

    cr_assert(eq(str, s->name, "t"));
    cr_assert(eq(sz, s->cases_len, 2));
    cr_assert(eq(str, s->cases[0].name, "gemm/f32/m4n8k16"));
    cr_assert(eq(i64, s->cases[0].settings.processes, 3));
    cr_assert(epsilon_eq(dbl, s->cases[0].settings.max_seconds, 0.5, 0));
    cr_assert(s->cases[0].headline);
    cr_assert(eq(str, s->cases[1].name, "attention/f32/h2s8d4causal1"));
    cr_assert(not(s->cases[1].headline));
    cr_assert(eq(i64, s->cases[1].settings.processes, 2));
    cr_assert(epsilon_eq(dbl, s->cases[1].settings.max_seconds, 0.5, 0));
    cr_assert(pfc_case_wants(&s->cases[0], "accel:any-chip"));
    cr_assert(not(pfc_case_wants(&s->cases[1], "accel:any-chip")));
    cr_assert(eq(sz, strlen(s->hash), 64));
    pfc_suite_free(s);
}

/* 2mnk = 2*4*8*16 = 1024 flops; causal pairs of 8 rows = 36, 4 flops x 2 heads x 4 columns each. */
Test(suite, work_is_the_textbook_count)
{
    pfc_suite *s = parse("suite: t\nbackends: [cpu-scalar]\nbenchmarks:\n"
                         "  - {op: gemm, shapes: [{m: 4, n: 8, k: 16}]}\n"
                         "  - {op: attention, shapes: [{h: 2, s: 8, d: 4, causal: 1}]}\n"
                         "  - {op: softmax, shapes: [{rows: 2, cols: 8}]}\n");

    cr_assert(epsilon_eq(dbl, pfc_case_work(&s->cases[0]) * 1e12, 1024, 1e-9));
    cr_assert(epsilon_eq(dbl, pfc_case_work(&s->cases[1]) * 1e12, 1152, 1e-9));
    cr_assert(epsilon_eq(dbl, pfc_case_work(&s->cases[2]) * 1e9, 128, 1e-9));
    pfc_suite_free(s);
}

Test(suite, cross_products_and_groups_expand_in_order)
{
    pfc_suite *s = parse("suite: t\n"
                         "groups:\n"
                         "  small: [{m: 1, n: 1, k: 1}, {m: 2, n: 2, k: 2}]\n"
                         "backends: [cpu-scalar]\n"
                         "benchmarks:\n"
                         "  - {op: gemm, cross: {m: [8, 9], n: [4], k: [2, 3]}, group: small}\n");

    cr_assert(eq(sz, s->cases_len, 6));
    cr_assert(eq(str, s->cases[0].name, "gemm/f32/m8n4k2"));
    cr_assert(eq(str, s->cases[1].name, "gemm/f32/m8n4k3"));
    cr_assert(eq(str, s->cases[3].name, "gemm/f32/m9n4k3"));
    cr_assert(eq(str, s->cases[5].name, "gemm/f32/m2n2k2"));
    pfc_suite_free(s);
}

#define HEAD "suite: t\nbackends: [cpu-scalar]\nbenchmarks:\n"

Test(suite, faults_are_reported_with_file_and_line)
{
    refuse("suite: t\nbenchmark: []\n", "s.yaml:2: suite: unknown key 'benchmark' (known: suite, ");
    refuse(HEAD "  - op: gem\n", "s.yaml:4: op: unknown operation 'gem'");
    refuse(HEAD "  - {op: gemm, dtype: f64}\n", "unknown type 'f64'");
    refuse(HEAD "  - {op: softmax, dtype: int8, shapes: [{rows: 1, cols: 1}]}\n",
           "s.yaml:4: dtype: softmax is computed in f32 and bf16, only gemm in int8");
    refuse("suite: t\nbackends: []\nbenchmarks: []\n", "s.yaml:2: backends: expected at least one");
    refuse("suite: t\nsettings: {max_seconds: 1, max_seconds: 2}\nbenchmarks: []\n",
           "s.yaml:2: expected each key once, 'max_seconds' stands here again");
    refuse("suite: t\nsettings:\n  max_seconds: 0.1\n  warmup_seconds: 5\nbenchmarks: []\n",
           "s.yaml:4: settings: warmup_seconds 5 leaves nothing of max_seconds 0.1");
    refuse(HEAD "  - op: gemm\n    shapes:\n      - {m: 1, n: 1}\n",
           "s.yaml:6: gemm: shape lacks 'k'");
    refuse(HEAD "  - op: gemm\n    shapes:\n      - {m: 1, n: 1, k: 0}\n", "s.yaml:6: ");
    refuse(HEAD "  - op: gemm\n    shapes: [{m: 1, n: 1, k: 1, z: 1}]\n", "unknown key 'z'");
    refuse(HEAD "  - op: gemm\n    shapes: [{m: 1, n: 1, k: 1}, {m: 1, n: 1, k: 1}]\n",
           "gemm/f32/m1n1k1 is named twice");
    refuse(HEAD "  - op: gemm\n", "expected 'shapes', 'cross', 'group', ");
    refuse(HEAD "  - {op: gemm, group: x}\n", "no 'x' under groups");
    refuse(HEAD "  - {op: gemm, cross: {m: [1], n: [1]}}\n", "lacks 'k'");
    refuse(HEAD "  - {op: gemm, shapes: {m: 1}}\n", "expected a list");
    refuse("suite: t\nbackends: [cpu-sse]\nbenchmarks: []\n",
           "s.yaml:2: backends: unknown backend");
    refuse("suite: t\nbenchmarks:\n  - {op: gemm, shapes: [{m: 1, n: 1, k: 1}]}\n",
           "lacks 'backends'");
    refuse("suite: t\nbackends: [cpu-scalar]\n", "expected a list");
    refuse("suite: t\nbackends: [cpu-scalar]\nbenchmarks: []\n", "expected at least one");
    refuse("suite: Bad Name\nbenchmarks: []\n", "s.yaml:1: suite: expected a name");
    refuse("benchmarks: []\n", "lacks its name");
    refuse("suite: t\nsettings: {min_samples: 50, max_samples: 5}\nbenchmarks: []\n",
           "max_samples 5 is below min_samples 50");
    refuse("suite: t\nsettings: {processes: 0}\nbenchmarks: []\n", "s.yaml:2: ");
    refuse("suite: t\nsettings: {max_seconds: nan}\nbenchmarks: []\n", "s.yaml:2: ");
}

Test(suite, what_is_no_yaml_is_refused)
{
    refuse("", "s.yaml");
    refuse("suite: [", "s.yaml:2: expected YAML: flow sequence without a closing bracket");
    refuse("suite: [1", "s.yaml");
    refuse("suite: t\nsuite: u\nbenchmarks: []\n", "s.yaml");
    refuse("suite: \"\xff\"\n", "UTF-8");
    refuse("- 1\n", "expected a mapping");
    refuse("a: &x [1]\nsuite: *x\n", "s.yaml");
}

Test(suite, too_many_benchmarks_are_refused)
{
    pfc_buf buf;

    pfc_buf_init(&buf, 1 << 20);
    pfc_buf_puts(&buf, HEAD "  - op: gemm\n    cross: {n: [1], k: [1], m: [");
    for (int i = 1; i <= PFC_SUITE_MAX_CASES + 1; i++)
        pfc_buf_printf(&buf, "%s%d", i > 1 ? "," : "", i);
    pfc_buf_puts(&buf, "]}\n");
    refuse(pfc_buf_text(&buf), "combinations");
    pfc_buf_clear(&buf);
}

Test(suite, deep_and_large_texts_never_reach_the_parser)
{
    const size_t len = 100000;
    char *text = pfc_alloc(len + 1);
    pfc_suite *suite = NULL;
    pfc_err err = { 0 };

    memset(text, '[', len);
    refuse(text, "nested deeper than 16");
    for (size_t i = 0; i + 1 < len; i += 2)
        memcpy(text + i, "- ", 2);
    refuse(text, "nested deeper than 16");
    free(text);

    text = pfc_alloc(PFC_SUITE_MAX_BYTES + 2);
    memset(text, '#', PFC_SUITE_MAX_BYTES + 1);
    cr_assert(eq(int, pfc_suite_parse(text, PFC_SUITE_MAX_BYTES + 1, "s.yaml", &suite, &err),
                 PFC_ETOOBIG));
    free(text);
}

Test(suite, depth_counts_indentation_lists_and_brackets)
{
    const char *block = "a:\n  b:\n    c:\n      - d\n";
    const char *flat = "a: 1\nb: 2\nc: 3\n";
    int line = 0;

    cr_assert(ge(sz, pfc_yaml_depth(block, strlen(block), 16, &line), 4));
    cr_assert(le(sz, pfc_yaml_depth(flat, strlen(flat), 16, &line), 1));
    cr_assert(ge(sz, pfc_yaml_depth("[[[1]]]", 7, 16, &line), 3));
    cr_assert(ge(sz, pfc_yaml_depth("- - - 1", 7, 16, &line), 3));
}

Test(suite, the_built_in_suites_parse_and_are_found_by_name)
{
    const char *const *names = pfc_suite_builtin_names();
    pfc_err err = { 0 };
    pfc_suite *suite = NULL;

    cr_assert(ne(ptr, (void *)pfc_suite_builtin("quick"), NULL));
    for (size_t i = 0; names[i]; i++) {
        cr_assert(eq(int, pfc_suite_load(names[i], &suite, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(str, suite->name, (char *)names[i]));
        pfc_suite_free(suite);
    }
    cr_assert(eq(int, pfc_suite_load("no-such-suite", &suite, &err), PFC_ENOTFOUND));
    cr_assert(eq(int, pfc_suite_load("/no/such/suite.yaml", &suite, &err), PFC_ENOTFOUND));
}
