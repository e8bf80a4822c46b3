/*
 * A program of another project: it is compiled as C and as C++ against the installed library alone.
 *   use detect [higher]        values from standard input -> a line a change
 *   use compare A.json B.json  -> a line a row, then the overall verdict
 *   use bisect COMMITS FIRST   simulates a step of 10 % at commit FIRST -> the answer
 */
#include <perfci.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s (%s)\n", what, perfci_error_message(), perfci_error_field());
    return 2;
}

static int detect(int higher)
{
    static double values[10000];
    perfci_series series = PERFCI_SERIES_INIT;
    perfci_detect_options options = PERFCI_DETECT_OPTIONS_INIT;
    perfci_detection *found = NULL;
    size_t n = 0;
    size_t i;

    while (n < 10000 && scanf("%lf", &values[n]) == 1)
        n++;
    series.values = values;
    series.len = n;
    options.higher_is_better = higher;
    if (perfci_detect(&series, &options, &found) != PERFCI_OK)
        return failed("detect");
    for (i = 0; i < perfci_detection_len(found); i++) {
        perfci_change c = PERFCI_CHANGE_INIT;

        if (perfci_detection_change(found, i, &c) != PERFCI_OK)
            return failed("change");
        printf("%lu %lu %lu %.12g %.12g %.12g %s %s\n", (unsigned long)c.index,
               (unsigned long)c.index_low, (unsigned long)c.index_high, c.before, c.after,
               c.rel_change, c.regression ? "regression" : "improvement",
               c.confirmed ? "confirmed" : "provisional");
    }
    perfci_detection_free(found);
    return 0;
}

static int compare(const char *file_a, const char *file_b)
{
    perfci_run *a = NULL;
    perfci_run *b = NULL;
    perfci_comparisons *rows = NULL;
    size_t i;

    if (perfci_run_read(file_a, &a) != PERFCI_OK || perfci_run_read(file_b, &b) != PERFCI_OK)
        return failed("read");
    if (perfci_run_compare(a, b, NULL, &rows) != PERFCI_OK)
        return failed("compare");
    for (i = 0; i < perfci_comparisons_len(rows); i++) {
        perfci_comparison row = PERFCI_COMPARISON_INIT;

        if (perfci_comparisons_row(rows, i, &row) != PERFCI_OK)
            return failed("row");
        printf("%s %s %.12g\n", row.benchmark, perfci_verdict_name(row.verdict), row.rel_change);
    }
    puts(perfci_verdict_name(perfci_comparisons_verdict(rows)));
    perfci_comparisons_free(rows);
    perfci_run_free(a);
    perfci_run_free(b);
    return 0;
}

static int bisect(size_t commits, size_t first)
{
    perfci_bisect_options options = PERFCI_BISECT_OPTIONS_INIT;
    perfci_bisection *plan = NULL;
    perfci_culprit culprit = PERFCI_CULPRIT_INIT;
    size_t commit = 0;
    size_t found = 0;
    unsigned runs = 0;

    options.commits = commits;
    options.seed = 1;
    if (perfci_bisect_new(&options, &plan) != PERFCI_OK)
        return failed("bisect");
    while (perfci_bisect_next(plan, &commit)) {
        double noise = 0.001 * (double)(runs++ * 7 % 5) - 0.002;

        if (perfci_bisect_add(plan, commit, (commit >= first ? 1.1 : 1.0) * (1 + noise)))
            return failed("add");
    }
    if (perfci_bisect_report(plan, &culprit, 1, &found) != PERFCI_BISECT_FOUND || found != 1)
        return failed("report");
    printf("%lu %lu\n", (unsigned long)culprit.first, (unsigned long)culprit.last);
    perfci_bisect_free(plan);
    return 0;
}

int main(int argc, char **argv)
{
    if (perfci_abi() != PERFCI_ABI)
        return 2;
    if (argc >= 2 && strcmp(argv[1], "detect") == 0)
        return detect(argc > 2);
    if (argc == 4 && strcmp(argv[1], "compare") == 0)
        return compare(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "bisect") == 0)
        return bisect((size_t)atoi(argv[2]), (size_t)atoi(argv[3]));
    puts(perfci_version());
    return 0;
}
