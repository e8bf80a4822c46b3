/* Directions that must be given because they are never guessed, and values that were once misread.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/import/import.h"

#include "tests/check/check.h"

static pfc_import_result read_all(const char *text, const pfc_import_opts *opts)
{
    pfc_import_result r = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_import_read(opts, text, strlen(text), &r, &err), PFC_OK), "%s", err.msg);
    return r;
}

static void refuse(const char *text, const pfc_import_opts *opts, const char *part)
{
    pfc_import_result r = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_import_read(opts, text, strlen(text), &r, &err), PFC_EINVAL), "%s", text);
    cr_assert(strstr(err.msg, part) || strstr(err.hint, part), "'%s' '%s' lacks '%s'", err.msg,
              err.hint, part);
}

static const pfc_measurement *find(const pfc_import_result *r, const char *benchmark,
                                   const char *metric)
{
    const pfc_run *run = r->runs[0];

    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        if (strcmp(m->benchmark, benchmark) == 0 && strcmp(m->metric, metric) == 0)
            return m;
    }
    return NULL;
}

Test(ask, a_metric_that_says_nothing_is_named_with_the_flag_to_type)
{
    static const char *const texts[] = {
        "{\"metrics\": {\"score\": 7, \"time_ns\": 5}}",
        "name,score\na,1.5\n",
        "time,commit,score\n2026-01-01,a,1\n2026-01-02,b,2\n",
        "{\"b\": {\"score\": {\"value\": 7}}}",
        "[{\"benchmark\": \"b\", \"score\": 7}]",
        "[{\"name\": \"score\", \"value\": 7, \"unit\": \"points\"}]",
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++) {
        refuse(texts[i], NULL, "direction of \"score\" is not known");
        refuse(texts[i], NULL, "--direction \"score=higher\"");
    }
    refuse("7\n8\n", NULL, "direction of \"value\"");
    refuse("{\"value\": 7}", NULL, "direction of \"value\"");
}

Test(ask, what_is_said_by_name_counts_more_than_the_formats_own)
{
    static const pfc_direction directions[] = { { "score", true }, { "time_ns", true } };
    const pfc_import_opts opts = { .directions = directions, .directions_len = 2 };
    pfc_import_result r = read_all("{\"metrics\": {\"score\": 7, \"time_ns\": 5}}", &opts);

    cr_assert(find(&r, "command", "score")->higher_is_better);
    cr_assert(find(&r, "command", "time_ns")->higher_is_better);
    pfc_import_result_clear(&r);
    r = read_all("name,score,time_ms\na,1.5,2\n", &opts);
    cr_assert(eq(dbl, find(&r, "a", "score")->samples[0], 1.5));
    pfc_import_result_clear(&r);
    r = read_all("name,score,time_ms\na,1.5,2\n", NULL);
    cr_assert(eq(sz, r.runs[0]->measurements_len, 1));
    cr_assert(ne(ptr, strstr(r.notes[0], "score"), NULL));
    pfc_import_result_clear(&r);
    r = read_all("[{\"name\": \"score\", \"value\": 7, \"unit\": \"points\"}]", &opts);
    cr_assert(r.runs[0]->measurements[0].higher_is_better);
    pfc_import_result_clear(&r);
    refuse("{\"metrics\": {\"score\": 7, \"other\": 5}}", &opts, "direction of \"other\"");
}

Test(ask, a_command_may_print_a_number_without_a_name)
{
    const pfc_import_opts opts = { .number_is_cost = true };
    pfc_import_result r = read_all("7\n", &opts);

    cr_assert(not(find(&r, "command", "value")->higher_is_better));
    pfc_import_result_clear(&r);
    r = read_all("{\"value\": 7, \"unit\": \"MB/s\"}", &opts);
    cr_assert(find(&r, "command", "value")->higher_is_better);
    pfc_import_result_clear(&r);
    refuse("{\"metrics\": {\"score\": 7}}", &opts, "direction of \"score\"");
    refuse("{\"metric\": \"score\", \"value\": 7}", &opts, "direction of \"score\"");
}

static const char counters[] =
    "{\"context\":{},\"benchmarks\":[{\"name\":\"f\",\"real_time\":3,\"cpu_time\":3,"
    "\"time_unit\":\"ns\",\"widgets\":9,\"tokens_per_s\":4}]}";

Test(ask, a_tools_own_counter_without_a_direction_is_left_out_and_noted)
{
    static const pfc_direction widgets = { "widgets", true };
    const pfc_import_opts opts = { .directions = &widgets, .directions_len = 1 };
    pfc_import_result r = read_all(counters, NULL);

    cr_assert(eq(sz, r.runs[0]->measurements_len, 3));
    cr_assert(eq(ptr, (void *)find(&r, "f", "widgets"), NULL));
    cr_assert(find(&r, "f", "tokens_per_s")->higher_is_better);
    cr_assert(eq(str, find(&r, "f", "tokens_per_s")->unit, "tokens/s"));
    cr_assert(eq(sz, r.notes_len, 1));
    cr_assert(ne(ptr, strstr(r.notes[0], "\"widgets\""), NULL));
    pfc_import_result_clear(&r);
    r = read_all(counters, &opts);
    cr_assert(find(&r, "f", "widgets")->higher_is_better);
    cr_assert(eq(sz, r.notes_len, 0));
    pfc_import_result_clear(&r);
}

Test(ask, bisect_takes_any)
{
    const pfc_import_opts opts = { .any_direction = true };
    pfc_import_result r = read_all("{\"metrics\": {\"score\": 7}}", &opts);

    cr_assert(ne(ptr, (void *)find(&r, "command", "score"), NULL));
    pfc_import_result_clear(&r);
}

/* Catch2, src/catch2/reporters/catch_reporter_console.cpp: a name wider than its column is wrapped.
 * Where the numbers are on its first line, the rest of the name is on the lines of the mean and the
 * deviation. */
Test(readings, a_catch2_name_over_two_lines_keeps_its_mean)
{
    static const char table[] =
        "-------------------------------------------------------------------------------\n"
        "Case\n"
        "-------------------------------------------------------------------------------\n"
        "a.cpp:5\n"
        "...............................................................................\n"
        "\n"
        "benchmark name                       samples       iterations    estimated\n"
        "                                     mean          low mean      high mean\n"
        "                                     std dev       low std dev   high std dev\n"
        "-------------------------------------------------------------------------------\n"
        "a name that does not fit in              100           208     7.1968 ms \n"
        "one line                              344 ns        341 ns        349 ns \n"
        "                                       19 ns         11 ns         29 ns \n"
        "                                                                          \n"
        "another that is wrapped before \n"
        "its numbers                              100           208     7.1968 ms \n"
        "                                      544 ns        541 ns        549 ns \n"
        "                                       29 ns         11 ns         39 ns \n"
        "                                                                          \n"
        "a third, over                            100           208     7.1968 ms \n"
        "three lines                           744 ns        741 ns        749 ns \n"
        "of it                                  39 ns         11 ns         49 ns \n";
    pfc_import_result r = read_all(table, NULL);

    cr_assert(eq(sz, r.runs[0]->measurements_len, 3));
    cr_assert(
        eq(dbl, find(&r, "Case/a name that does not fit in one line", "time_ns")->samples[0], 344));
    cr_assert(eq(dbl,
                 find(&r, "Case/another that is wrapped before its numbers", "time_ns")->samples[0],
                 544));
    cr_assert(
        eq(dbl, find(&r, "Case/a third, over three lines of it", "time_ns")->samples[0], 744));
    pfc_import_result_clear(&r);
}

/* asv docs/source/dev.rst: "null: the benchmark failed", "NaN: it was skipped". */
Test(readings, asv_tells_failed_from_skipped_and_keeps_environments_apart)
{
    pfc_import_result r =
        read_all("{\"commit_hash\": \"05d283b9694ed6db6e3f2df3f21d832e78bded7f\", \"version\": 2,"
                 "\"env_name\": \"py3.11\", \"date\": 1795080000000,"
                 "\"result_columns\": [\"result\", \"params\"], \"results\": {"
                 "\"time_a\": [[0.001, null, NaN], [[\"1\", \"2\", \"3\"]]]}}",
                 NULL);
    const pfc_measurement *failed = find(&r, "time_a(2)", "time_ns");

    cr_assert(eq(int, failed->status, PFC_STATUS_BROKEN));
    cr_assert(ne(ptr, strstr(failed->reason, "failed"), NULL));
    cr_assert(eq(int, find(&r, "time_a(3)", "time_ns")->status, PFC_STATUS_SKIPPED));
    cr_assert(eq(int, find(&r, "time_a(1)", "time_ns")->status, PFC_STATUS_OK));
    cr_assert(eq(str, failed->backend, "py3.11"));
    cr_assert(eq(dbl, r.runs[0]->started_at, 1795080000));
    pfc_import_result_clear(&r);
    r = read_all("{\"commit_hash\": \"05d283b9694ed6db6e3f2df3f21d832e78bded7f\", \"version\": 1,"
                 "\"python\": \"2.7\", \"requirements\": {\"Cython\": \"\", \"numpy\": \"1.8\"},"
                 "\"results\": {\"time_b\": null, \"time_c\": 1.5}}",
                 NULL);
    cr_assert(eq(str, find(&r, "time_c", "time_ns")->backend, "py2.7-Cython-numpy1.8"));
    cr_assert(eq(int, find(&r, "time_b", "time_ns")->status, PFC_STATUS_BROKEN));
    pfc_import_result_clear(&r);
}

Test(readings, a_table_with_a_column_of_commits_is_a_history)
{
    const pfc_import_opts split = { .split = true };
    pfc_import_result r = read_all(
        "name,commit,branch,time_ms\na,1060,main,1\nb,1060,main,2\na,1061,main,3\n", &split);

    cr_assert(r.has_points);
    cr_assert(eq(sz, r.runs_len, 2));
    cr_assert(eq(str, r.runs[0]->commit, "1060"));
    cr_assert(eq(str, r.runs[1]->branch, "main"));
    cr_assert(eq(sz, r.runs[0]->measurements_len, 2));
    cr_assert(eq(dbl, find(&r, "a", "time_ms")->samples[0], 1));
    pfc_import_result_clear(&r);
}

Test(readings, a_document_behind_text_on_its_line_is_read)
{
    const pfc_import_opts opts = { .number_is_cost = true };
    pfc_import_result r = read_all("INFO result: {\"value\": 3}\n", &opts);

    cr_assert(eq(dbl, find(&r, "command", "value")->samples[0], 3));
    pfc_import_result_clear(&r);
    r = read_all("loading {model}\n10:02 run 1 -> {\"metrics\": {\"time_ms\": 3}} ok\n"
                 "10:03 run 2 -> {\"metrics\": {\"time_ms\": 4}} ok\n",
                 NULL);
    cr_assert(eq(sz, find(&r, "command", "time_ms")->samples_len, 2));
    cr_assert(eq(dbl, find(&r, "command", "time_ms")->samples[1], 4));
    pfc_import_result_clear(&r);
    refuse("INFO {\"user\": 3}\n", &opts, "line 1");
    refuse("INFO {\"value\": \n", &opts, "line 1");
}
