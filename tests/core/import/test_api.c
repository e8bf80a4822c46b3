/* The functions of import.h around the readers, and limits of single formats. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/import/import.h"

#include "tests/check/check.h"

static pfc_import_result read_all(const char *text, const pfc_import_opts *opts)
{
    pfc_import_result r = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_import_read(opts, text, strlen(text), &r, &err), PFC_OK), "%.80s: %s",
              text, err.msg);
    return r;
}

Test(api, every_format_is_listed_under_the_name_that_reads_it)
{
    const char *const *names = pfc_import_formats();
    size_t len = 0;

    for (; names[len]; len++) {
        const pfc_import_opts opts = { .format = names[len] };
        pfc_import_result r = { 0 };
        pfc_err err = { 0 };

        cr_expect(eq(int, pfc_import_read(&opts, "[]", 2, &r, &err), PFC_EINVAL));
        cr_expect(eq(ptr, strstr(err.msg, "unknown format"), NULL), "%s", names[len]);
    }
    cr_expect(eq(sz, len, 23));
}

Test(api, text_gives_one_run_whatever_the_options_say_of_points)
{
    static const char text[] = "commit,t_ms\naa,1\nbb,2\n";
    static const char empty[] = "{\"context\":{},\"benchmarks\":[]}";
    const pfc_import_opts opts = { .split = true, .allow_empty = true };
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_import_text(&opts, text, strlen(text), &run, &err), PFC_OK));
    cr_expect(eq(sz, run->measurements_len, 1));
    cr_expect(eq(sz, run->measurements[0].samples_len, 2));
    cr_expect(eq(ptr, run->commit, NULL));
    pfc_run_free(run);
    run = NULL;
    cr_expect(eq(int, pfc_import_text(&opts, empty, strlen(empty), &run, &err), PFC_EINVAL));
    cr_expect(eq(str, err.msg, "the results hold no benchmark"));
    cr_expect(eq(ptr, run, NULL));
}

Test(api, faults_need_no_place_for_their_sentence)
{
    static const char *const texts[] = { "",     "x",
                                         "{",    "{\"value\":1}",
                                         "\xff", "name,score\na,1.5\n" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++) {
        pfc_import_result r = { 0 };
        pfc_run *run = NULL;

        cr_expect(eq(int, pfc_import_read(NULL, texts[i], strlen(texts[i]), &r, NULL), PFC_EINVAL));
        cr_expect(
            eq(int, pfc_import_text(NULL, texts[i], strlen(texts[i]), &run, NULL), PFC_EINVAL));
        cr_expect(eq(ptr, run, NULL));
        cr_expect(eq(ptr, r.runs, NULL));
    }
}

/* ---- the primary metric ---- */

Test(api, a_benchmark_is_about_its_time_or_what_it_gives_first)
{
    static const struct {
        const char *benchmark, *metric, *backend;
        bool primary;
    } rows[] = { { "a", "bytes_per_second", "", false },
                 { "a", "time_ns", "", true },
                 { "a", "gpu_time_ns", "", false },
                 { "b", "x", "", true },
                 { "b", "y", "", false },
                 { "b", "y", "gpu", true },
                 { "b", "gpu_time_ns", "cpu", true },
                 { "c", "x", "", false },
                 { "c", "gpu_time_ns", "", true },
                 { "d", "x", "", false },
                 { "d", "Duration", "", true },
                 { "e", "x", "", false },
                 { "e", "throughput", "", true },
                 { "f", "x", "", false },
                 { "f", "execution_time_ns", "", true },
                 { "g", "x", "", false },
                 { "g", "cpu_time_ns", "", true },
                 { "h", "x", "", false },
                 { "h", "latency", "", true },
                 { "i", "x", "", false },
                 { "i", "gpu__time_duration.sum", "", true } };
    pfc_run *run = pfc_run_new();

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_measurement *m = pfc_run_add(run);
        m->benchmark = pfc_strdup(rows[i].benchmark);
        m->metric = pfc_strdup(rows[i].metric);
        m->backend = pfc_strdup(rows[i].backend);
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(eq(int, pfc_import_is_primary(run, i), rows[i].primary), "%s %s %s",
                  rows[i].benchmark, rows[i].metric, rows[i].backend);
    pfc_run_free(run);
}

/* ---- columns of histories ---- */

Test(api, a_commits_column_and_a_times_column_have_many_names)
{
    static const char *const commits[] = { "commit",     "revision",    "sha",        "commit_id",
                                           "commit_sha", "commit_hash", "git_commit", "COMMIT" };
    static const char *const times[] = { "time",      "timestamp",   "date",        "datetime",
                                         "commit_ts", "commit_time", "commit_date", "Time" };
    static const char *const tests[] = { "test", "test_name", "benchmark", "name" };
    const pfc_import_opts split = { .split = true };
    char text[200];

    for (size_t i = 0; i < PFC_ARRAY_LEN(commits); i++) {
        pfc_import_result r;
        (void)snprintf(text, sizeof(text), "%s,t_ms\naa,1\nbb,2\n", commits[i]);
        r = read_all(text, &split);
        cr_expect(eq(sz, r.runs_len, 2), "%s", commits[i]);
        cr_expect(eq(str, r.runs[1]->commit, "bb"), "%s", commits[i]);
        pfc_import_result_clear(&r);
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(times); i++) {
        pfc_import_result r;
        (void)snprintf(text, sizeof(text), "%s,x_ms\n2024-01-01,1\n2024-01-02,2\n", times[i]);
        r = read_all(text, &split);
        cr_expect(eq(str, (char *)r.format, "otava"), "%s", times[i]);
        cr_expect(eq(dbl, r.runs[1]->started_at, 1704153600), "%s", times[i]);
        cr_expect(eq(sz, r.runs[1]->measurements_len, 1), "%s", times[i]);
        pfc_import_result_clear(&r);
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(tests); i++) {
        pfc_import_result r;
        (void)snprintf(text, sizeof(text), "time,%s,x_ms\n2024-01-01,a,1\n", tests[i]);
        r = read_all(text, NULL);
        cr_expect(eq(str, r.runs[0]->measurements[0].benchmark, "a"), "%s", tests[i]);
        pfc_import_result_clear(&r);
    }
}

Test(api, a_mapping_without_a_name_takes_a_column_that_is_called_so)
{
    static const char *const names[] = { "name", "benchmark", "kernel", "op", "operation", "test" };
    static const char *const taken[] = { "backend: name", "time: name", "commit: name",
                                         "branch: name", "only: {name: [\"1706696430\"]}" };
    const char text[] = "name,t\n1706696430,2\n";
    char table[100], map[100];

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++) {
        const pfc_import_opts opts = { .map = "metrics: {t: ms}" };
        pfc_import_result r;

        (void)snprintf(table, sizeof(table), "x,%s,t\ny,a,2\n", names[i]);
        r = read_all(table, &opts);
        cr_expect(eq(str, r.runs[0]->measurements[0].benchmark, "a"), "%s", names[i]);
        pfc_import_result_clear(&r);
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(taken); i++) {
        const pfc_import_opts opts = { .map = map };
        pfc_import_result r;

        (void)snprintf(map, sizeof(map), "metrics: {t: ms}\n%s\n", taken[i]);
        r = read_all(text, &opts);
        cr_expect(eq(str, r.runs[0]->measurements[0].benchmark, "csv"), "%s", taken[i]);
        pfc_import_result_clear(&r);
    }
}

/* ---- limits of single formats ---- */

static char *repeated(const char *first, const char *text, size_t times, const char *last)
{
    pfc_buf buf;

    pfc_buf_init(&buf, 1u << 20);
    pfc_buf_puts(&buf, first);
    for (size_t i = 0; i < times; i++)
        pfc_buf_puts(&buf, text);
    pfc_buf_puts(&buf, last);
    return pfc_buf_take(&buf);
}

/* A text with a part `times` over, and how many measurements or what first name it gives. */
static void expect_name(char *text, const char *name)
{
    const pfc_import_opts any = { .any_direction = true };
    pfc_import_result r = read_all(text, &any);

    cr_expect(eq(str, r.runs[0]->measurements[0].benchmark, (char *)name), "%.60s", text);
    pfc_import_result_clear(&r);
    free(text);
}

static void expect_count(char *text, size_t measurements)
{
    const pfc_import_opts any = { .any_direction = true };
    pfc_import_result r = read_all(text, &any);

    cr_expect(eq(sz, r.runs[0]->measurements_len, measurements), "%.60s", text);
    pfc_import_result_clear(&r);
    free(text);
}

Test(api, catch2_keeps_the_names_of_31_nested_sections)
{
    static const char leaf[] =
        "<BenchmarkResults name=\"b\"><mean value=\"1\"/></BenchmarkResults>";
    char *path = repeated("T", " s", 31, "/b");
    char *open = repeated("<TestCase name=\"T\">", "<Section name=\"s\">", 31, leaf);
    char *deeper = repeated("<TestCase name=\"T\">", "<Section name=\"s\">", 33, leaf);
    char *closed = repeated("<TestCase name=\"T\">", "<Section name=\"s\">", 33, "");
    char *all = repeated(closed, "</Section>", 32, leaf);

    expect_name(open, path);
    expect_name(deeper, path);
    expect_name(all, "T s/b");
    free(closed);
    free(path);
}

Test(api, nccl_tests_take_a_collective_of_63_bytes)
{
    static const char table[] = "\n# size count time busbw\n 8 2 1 2\n";
    char *name = repeated("", "x", 63, "/size=8");

    expect_name(repeated("# Collective test starting: ", "x", 63, table), name);
    expect_name(repeated("# Collective test starting: ", "x", 64, table), "nccl/size=8");
    free(name);
}

/* A line has 64 words: a name, a count and 31 pairs. */
Test(api, go_takes_31_pairs_of_a_line)
{
    char *text = pfc_strdup("BenchmarkA 1");

    for (int i = 0; i < 32; i++) {
        char *more = pfc_format("%s %d u%d/s", text, i, i);
        free(text);
        text = more;
    }
    expect_count(text, 31);
}

Test(api, go_keeps_32_units_of_ones_own)
{
    for (size_t n = 31; n <= 32; n++) {
        char *text = repeated("", "Unit other better=higher\n", n,
                              "Unit u better=higher\nBenchmarkA 1 5 u\n");
        const pfc_import_opts any = { .any_direction = true };
        pfc_import_result r = read_all(text, &any);

        cr_expect(eq(int, r.runs[0]->measurements[0].higher_is_better, n < 32), "%zu", n);
        pfc_import_result_clear(&r);
        free(text);
    }
}

Test(api, lnt_refuses_a_metric_of_any_length_that_is_not_its_own)
{
    for (size_t n = 63; n <= 64; n++) {
        const pfc_import_opts opts = { .format = "lnt", .allow_empty = true };
        char *text = repeated("a.", "x", n, " 1\na.exec 2\n");
        pfc_import_result r = { 0 };
        pfc_err err = { 0 };

        /* 63 bytes and their end are what there is room for. */
        cr_expect(eq(int, pfc_import_read(&opts, text, strlen(text), &r, &err), PFC_EINVAL));
        cr_expect(eq(str, err.msg, "line 1: expected TEST.METRIC and a number"));
        free(text);
    }
}

Test(api, jmh_takes_a_table_of_64_words)
{
    for (size_t n = 59; n <= 60; n++) {
        char *title = repeated("Benchmark", " (p)", n, " Mode Cnt Score Units\n");
        char *row = repeated("a", " N/A", n, " avgt 5 1.5 us/op\n");
        char *text = pfc_format("%s%s", title, row);
        const pfc_import_opts opts = { .format = "jmh", .allow_empty = true };
        pfc_import_result r = read_all(text, &opts);

        cr_expect(eq(sz, r.runs[0]->measurements_len, n == 59), "%zu", n);
        pfc_import_result_clear(&r);
        free(text);
        free(row);
        free(title);
    }
}

Test(api, nvbench_takes_128_cells_of_a_row)
{
    for (size_t n = 127; n <= 128; n++) {
        char *title = repeated("# Benchmark Results\n## b\n|", " Noise |", n, " CPU Time |\n");
        char *rule = repeated("|", "---|", n + 1, "\n");
        char *row = repeated("|", " 1% |", n, " 1 ms |\n");
        char *text = pfc_format("%s%s%s", title, rule, row);
        const pfc_import_opts opts = { .allow_empty = true };
        pfc_import_result r = read_all(text, &opts);

        cr_expect(eq(sz, r.runs[0]->measurements_len, n == 127), "%zu", n);
        pfc_import_result_clear(&r);
        free(text);
        free(row);
        free(rule);
        free(title);
    }
}

/* The memo of a row has 208 bytes: longer texts, in every column of the table. */
Test(api, ncu_reads_names_longer_than_what_is_remembered_of_a_row)
{
    char section[151];
    pfc_import_result r = { 0 };
    pfc_err err = { 0 };
    pfc_buf buf;

    memset(section, 's', sizeof(section) - 1);
    section[150] = '\0';
    pfc_buf_init(&buf, 16u << 20);
    pfc_buf_puts(&buf, "ID,Kernel Name,Section Name,Metric Name,Metric Unit,Metric Value\n");
    for (int i = 0; i < 15000; i++)
        pfc_buf_printf(&buf, "0,%0150d,%s,Duration,us,%d\n", i, section, i);
    cr_assert(eq(int, pfc_import_read(NULL, pfc_buf_text(&buf), buf.len, &r, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, r.runs[0]->measurements_len, 15000));
    for (int i = 0; i < 15000; i++)
        cr_assert(eq(dbl, r.runs[0]->measurements[i].samples[0], 1e3 * i));
    pfc_import_result_clear(&r);
    pfc_buf_clear(&buf);
}

/* 9,000 rows share the 4,096 slots of the memo, so that rows of different texts meet in one slot:
 * each must find its own measurement again. The differing text is the kernel, then the metric. */
Test(api, ncu_rows_that_share_a_slot_of_the_memo_stay_separate)
{
    enum { ROWS = 9000 };

    for (int column = 0; column < 2; column++) {
        pfc_import_result r = { 0 };
        pfc_err err = { 0 };
        pfc_buf buf;

        pfc_buf_init(&buf, 16u << 20);
        pfc_buf_puts(&buf, "ID,Kernel Name,Section Name,Metric Name,Metric Unit,Metric Value\n");
        for (int i = 0; i < 2 * ROWS; i++)
            pfc_buf_printf(&buf,
                           column ? "0,k,s,Duration %05d,us,%d\n" : "0,k%05d,s,Duration,us,%d\n",
                           i % ROWS, i);
        cr_assert(eq(int, pfc_import_read(NULL, pfc_buf_text(&buf), buf.len, &r, &err), PFC_OK),
                  "%s", err.msg);
        cr_assert(eq(sz, r.runs[0]->measurements_len, ROWS));
        for (int i = 0; i < ROWS; i++) {
            const pfc_measurement *m = &r.runs[0]->measurements[i];

            cr_assert(eq(sz, m->samples_len, 2));
            cr_assert(eq(dbl, m->samples[0], 1e3 * i));
            cr_assert(eq(dbl, m->samples[1], 1e3 * (i + ROWS)));
        }
        pfc_import_result_clear(&r);
        pfc_buf_clear(&buf);
    }
}
