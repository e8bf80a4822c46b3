/* The reports of perfci-bench on made-up runs: every column, limit and footnote. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/program.h"
#include "core/base/fs.h"

#include "tests/check/check.h"

static pfc_run *run;

static void setup(void)
{
    run = pfc_run_new();
    run->started_at = 100;
    run->finished_at = 110;
}

static void teardown(void)
{
    pfc_run_free(run);
}

static pfc_measurement *add(const char *benchmark, const char *metric, pfc_status status)
{
    pfc_measurement *m = pfc_run_add(run);

    m->benchmark = pfc_strdup(benchmark);
    m->metric = pfc_strdup(metric);
    m->backend = pfc_strdup("cpu-avx2");
    m->unit = pfc_strdup("TFLOP/s");
    m->status = status;
    if (status != PFC_STATUS_OK)
        m->reason = pfc_strdup("no reason");
    return m;
}

/* Two launches of two equal samples: median, interval and noise are known. */
static void give_samples(pfc_measurement *m, double value)
{
    m->samples = pfc_calloc(4, sizeof(*m->samples));
    m->blocks = pfc_calloc(2, sizeof(*m->blocks));
    for (int i = 0; i < 4; i++)
        m->samples[i] = value;
    m->blocks[0] = m->blocks[1] = 2;
    m->samples_len = 4;
    m->blocks_len = 2;
}

static char *table(void)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    pfc_bench_table(out, run);
    (void)fclose(out);
    return text;
}

static void expect_in(const char *text, const char *part)
{
    cr_assert(ne(ptr, strstr(text, part), NULL), "expected \"%s\" in:\n%s", part, text);
}

static void expect_not_in(const char *text, const char *part)
{
    cr_assert(eq(ptr, strstr(text, part), NULL), "expected no \"%s\" in:\n%s", part, text);
}

TestSuite(bench_report, .init = setup, .fini = teardown);

Test(bench_report, a_row_has_every_column)
{
    pfc_measurement *m = add("gemm/f32/m8", "gemm_tflops", PFC_STATUS_OK);
    char *text;

    give_samples(m, 2);
    pfc_labels_set(&m->extra, "bound", "fma");
    pfc_labels_set(&m->extra, "percent_of_peak", "42.5");
    text = table();
    expect_in(text,
              "benchmark   backend      metric                 median unit     95 % interval  ");
    expect_in(text, "gemm/f32/m8 cpu-avx2     gemm_tflops                 2 TFLOP/s  [2, 2]       "
                    "               4    0.00   42.5  fma\n");
    expect_not_in(text, "!");
    expect_not_in(text, "Time:");
    expect_not_in(text, "canary");
    free(text);
}

Test(bench_report, exact_broken_and_skipped_have_their_own_rows)
{
    pfc_measurement *m = add("b", "cycles", PFC_STATUS_OK);
    char *text;

    give_samples(m, 123456);
    m->exact = true;
    (void)add("broken", "time_ns", PFC_STATUS_BROKEN);
    (void)add("skipped", "time_ns", PFC_STATUS_SKIPPED);
    give_samples(add("timed", "time_ns", PFC_STATUS_OK), 1); /* its throughput is the row */
    text = table();
    expect_in(text, "b         cpu-avx2     cycles                 123456 TFLOP/s  exact          "
                    "             4       0\n");
    expect_in(text, "broken    cpu-avx2     time_ns          BROKEN: no reason\n");
    expect_in(text, "skipped   cpu-avx2     skipped: no reason\n");
    expect_not_in(text, "timed");
    cr_assert(eq(str, text + strlen(text) - 10, "no reason\n")); /* skipped ones come last */
    free(text);
}

/* 4 + 2 s measured with 0.5 + 0.25 s of the harness (12.5 %), 1.5 s of set-up; 10 - 6 - 1.5 s
 * remain. */
Test(bench_report, the_time_is_split_and_footnotes_follow)
{
    static const char *const values[2][3] = { { "4", "0.5", "1" }, { "2", "0.25", "0.5" } };
    char *text;

    for (int i = 0; i < 2; i++) {
        pfc_measurement *m = add(i ? "b" : "a", "gemm_tflops", PFC_STATUS_OK);

        give_samples(m, 1);
        pfc_labels_set(&m->extra, "measured_seconds", values[i][0]);
        pfc_labels_set(&m->extra, "harness_seconds", values[i][1]);
        pfc_labels_set(&m->extra, "setup_seconds", values[i][2]);
        pfc_labels_set(&m->extra, "throttled", i ? "second" : "first");
    }
    run->infra = true;
    text = table();
    expect_in(text,
              "Time: 10.00 s, of it 5.25 s warm-up and samples, 0.7500 s harness between them "
              "(12.50 %), 1.50 s inputs and checks, 2.50 s launches and exact backends.\n");
    expect_in(text, "0.00  !\n");
    expect_in(text, "!: the machine was held back while this was measured (first).\n");
    expect_not_in(text, "second");
    expect_in(text, "The canary moved");
    free(text);
}

Test(bench_report, the_progress_line_counts_and_is_wiped_at_the_end)
{
    pfc_progress at = { .done = 3,
                        .total = 12,
                        .elapsed_s = 2,
                        .estimate_s = 8,
                        .benchmark = "gemm",
                        .backend = "cpu" };
    char *dir = NULL, *path, *text = NULL;
    size_t len = 0;

    cr_assert(eq(int, pfc_fs_temp_dir("report", &dir, NULL), PFC_OK));
    path = pfc_fs_join(dir, "stderr");
    cr_assert(ne(ptr, freopen(path, "w", stderr), NULL));
    pfc_bench_progress(NULL, &at);
    at.done = 12;
    at.elapsed_s = 9;
    pfc_bench_progress(NULL, &at);
    cr_assert(eq(int, pfc_fs_read(path, 4096, &text, &len, NULL), PFC_OK));
    cr_assert(
        eq(str, text,
           "\r\033[K[######..................] 3/12  2 s, at most 6 s left  gemm cpu"
           "\r\033[K[########################] 12/12  9 s, at most 0 s left  gemm cpu\r\033[K"));
    cr_assert(eq(int, pfc_fs_remove_tree(dir, NULL), PFC_OK));
    free(text);
    free(path);
    free(dir);
}

/* ---- noise ---- */

static void add_noise(const char *benchmark, const char *detectable, bool gates, bool alarmed)
{
    static const char *const facts[][2] = {
        { "pair_sample_noise_rel", "0.012" },
        { "pair_autocorrelation", "0.34" },
        { "pair_unpaired_noise_rel", "0.056" },
        { "pair_noise_rel", "0.0078" },
        { "pair_ratio_autocorrelation", "-0.5" },
        { "pair_rel_change", "0.0021" },
        { "pair_rel_low", "-0.001" },
        { "pair_rel_high", "0.005" },
        { "pairs_1pct", "37" },
        { "pairs_half_pct", "121" },
        { "pairs", "50" },
    };
    pfc_measurement *m = add(benchmark, "time_ns", PFC_STATUS_OK);

    for (size_t i = 0; i < PFC_ARRAY_LEN(facts); i++)
        pfc_labels_set(&m->extra, facts[i][0], facts[i][1]);
    pfc_labels_set(&m->extra, "pair_detectable_rel", detectable);
    pfc_labels_set(&m->extra, "pair_gates", gates ? "true" : "false");
    pfc_labels_set(&m->extra, "pair_verdict", alarmed ? "different" : "same");
}

static char *noise(bool json)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    pfc_bench_noise(out, run, json);
    (void)fclose(out);
    return text;
}

Test(bench_report, noise_as_json_has_each_value_under_its_name)
{
    char *text;

    add_noise("gemm", "0.01", true, false);
    (void)add("other", "time_ns", PFC_STATUS_OK); /* without pairs: no line */
    pfc_labels_set(&add("slow", "time_ns", PFC_STATUS_OK)->extra, "pair_launches", "5");
    text = noise(true);
    cr_assert(
        eq(str, text,
           "{\"benchmark\":\"gemm\",\"backend\":\"cpu-avx2\",\"sample_noise_rel\":0.012,"
           "\"autocorrelation\":0.34,\"unpaired_noise_rel\":0.056,\"noise_rel\":0.0078,"
           "\"ratio_autocorrelation\":-0.5,\"aa_rel\":0.0021,\"aa_low\":-0.001,\"aa_high\":0.005,"
           "\"aa_different\":false,\"detectable_rel\":0.01,\"pairs_1pct\":37.0,"
           "\"pairs_half_pct\":121.0,\"pairs\":50.0,\"gates\":true}\n"
           "{\"benchmark\":\"slow\",\"backend\":\"cpu-avx2\",\"not_known\":\"5 launches ended in "
           "time, expected at least 6\"}\n"));
    free(text);
}

/* The axis is logarithmic from 0.05 to 50 %: three decades in 42 characters. 1 % is log 20 / log
 * 1000 = 0.434 of it: 1 + 0.434 * 41 = 18 characters; marks at 0.333, 0.434 and 0.667 of 41. */
Test(bench_report, noise_as_text_has_rows_and_bars)
{
    char *text;

    add_noise("gemm", "0.01", true, false);
    add_noise("least", "0.0001", true, true);
    add_noise("most", "0.9", false, false);
    text = noise(false);
    expect_in(
        text,
        "gemm      cpu-avx2         1.20     0.34       5.60     0.78    -0.50   +0.21     1.00"
        "      37     121  yes\n");
    expect_in(
        text,
        "least     cpu-avx2         1.20     0.34       5.60     0.78    -0.50   +0.21!    0.01"
        "      37     121  yes\n");
    expect_in(text, "   90.00      37     121  report only\n");
    expect_in(text, "gemm      cpu-avx2     ==================         |               1.00 %\n");
    expect_in(text, "least     cpu-avx2     =            |   |         |               0.01 %\n");
    expect_in(text, "most      cpu-avx2     .......................................... 90.00 %\n");
    free(text);
}

Test(bench_report, the_plot_has_marks_bars_and_escaped_names)
{
    char *dir = NULL, *path, *text = NULL;
    size_t len = 0;

    add_noise("a<b&\"c\"", "0.01", true, false);
    add_noise("least", "0.0001", false, false);
    cr_assert(eq(int, pfc_fs_temp_dir("report", &dir, NULL), PFC_OK));
    path = pfc_fs_join(dir, "noise.svg");
    cr_assert(eq(int, pfc_bench_noise_svg(path, run, NULL), PFC_OK));
    cr_assert(eq(int, pfc_fs_read(path, 1 << 20, &text, &len, NULL), PFC_OK));
    expect_in(text, "viewBox=\"0 0 870 76\""); /* 330 + 420 + 120; 40 + 2 rows of 18 */
    expect_in(
        text,
        "<line x1=\"372.1\" x2=\"372.1\" y1=\"20\" y2=\"66\""); /* 330 + 420 log 2 / log 1000 */
    expect_in(text, ">0.1 %</text>");
    expect_in(text, "a&#60;b&#38;&#34;c&#34; cpu-avx2</text>");
    expect_in(text, "<text x=\"324\" y=\"42\"");
    expect_in(text, "<rect x=\"330\" y=\"32\" width=\"182.1\" height=\"13\" fill=\"#1b6ca8\"/>");
    expect_in(text, "<text x=\"516.1\" y=\"42\">1.00 %</text>");
    expect_in(text, "<rect x=\"330\" y=\"50\" width=\"1.0\" height=\"13\" fill=\"#b7b7b7\"/>");
    expect_in(text, "<text x=\"334.0\" y=\"60\">0.01 %, report only</text>");
    cr_assert(eq(str, text + len - 7, "</svg>\n"));
    cr_assert(ne(int, pfc_bench_noise_svg("/no/such/folder/x.svg", run, NULL), PFC_OK));
    cr_assert(eq(int, pfc_fs_remove_tree(dir, NULL), PFC_OK));
    free(text);
    free(path);
    free(dir);
}
