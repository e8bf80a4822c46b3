/* Every limit of the readers, at it and one past it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/buf.h"
#include "core/import/reader/reader.h"

#include "tests/check/check.h"

static const pfc_import_opts any = { .any_direction = true };

static pfc_buf text_of(void)
{
    pfc_buf buf;

    pfc_buf_init(&buf, 64u * 1024 * 1024);
    return buf;
}

/* Reads it and clears it; the code, and where it is not PFC_OK its sentence in *err. */
static pfc_code read_buf(pfc_buf *buf, const pfc_import_opts *opts, pfc_import_result *r,
                         pfc_err *err)
{
    const pfc_code code = pfc_import_read(opts, pfc_buf_text(buf), buf->len, r, err);

    pfc_buf_clear(buf);
    return code;
}

static void accept(pfc_buf *buf, const pfc_import_opts *opts, pfc_import_result *r)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, read_buf(buf, opts, r, &err), PFC_OK), "%s", err.msg);
}

static void refuse(pfc_buf *buf, const pfc_import_opts *opts, pfc_code want, const char *sentence)
{
    pfc_import_result r = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, read_buf(buf, opts, &r, &err), want));
    cr_expect(eq(str, err.msg, (char *)sentence));
}

static void repeat(pfc_buf *buf, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++)
        pfc_buf_puts(buf, text);
}

/* ---- sizes ---- */

/* Untouched pages of an allocation use no memory. The first byte is not text, so that reading stops
 * there. */
Test(limits, results_of_256_mib_are_looked_at_and_one_byte_more_is_not)
{
    const size_t max = 256u * 1024 * 1024;
    char *text = mmap(NULL, max + 1, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pfc_import_result r = { 0 };
    pfc_err err = { 0 };

    cr_assert(ne(ptr, text, MAP_FAILED));
    text[0] = '\xff';
    cr_expect(eq(int, pfc_import_read(NULL, text, max, &r, &err), PFC_EINVAL));
    cr_expect(eq(str, err.msg, "results: expected UTF-8 text"));
    cr_expect(eq(int, pfc_import_read(NULL, text, max + 1, &r, &err), PFC_ETOOBIG));
    cr_expect(eq(str, err.msg, "results of 268435457 bytes, at most 268435456 are read"));
    munmap(text, max + 1);
}

/* A quote that opens at the start: the scan for words that JSON lacks passes over the rest. */
Test(limits, json_of_64_mib_is_looked_at_and_one_byte_more_is_not)
{
    const size_t max = 64u * 1024 * 1024;
    char *text = mmap(NULL, max + 1, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    json_t *doc = NULL;
    pfc_err err = { 0 };

    cr_assert(ne(ptr, text, MAP_FAILED));
    text[0] = '"';
    cr_expect(eq(int, pfc_import_json(text, max, &doc, &err), PFC_EINVAL));
    cr_expect(eq(int, pfc_import_json(text, max + 1, &doc, &err), PFC_ETOOBIG));
    cr_expect(eq(str, err.msg, "JSON of 67108865 bytes, at most 67108864 are read"));
    munmap(text, max + 1);
}

Test(limits, a_mapping_has_at_most_64_kib)
{
    for (size_t more = 0; more < 2; more++) {
        pfc_buf map = text_of();
        pfc_buf text = text_of();
        pfc_import_opts opts = { .map_name = "m.yaml" };
        pfc_import_result r = { 0 };

        pfc_buf_puts(&map, "metrics: [t_ms]\n#");
        repeat(&map, "x", 65536 - map.len + more);
        pfc_buf_puts(&text, "a,t_ms\n1,2\n");
        opts.map = pfc_buf_text(&map);
        if (more) {
            refuse(&text, &opts, PFC_ETOOBIG, "m.yaml: 65537 bytes, at most 65536 are read");
        } else {
            accept(&text, &opts, &r);
            pfc_import_result_clear(&r);
        }
        pfc_buf_clear(&map);
    }
}

/* ---- counts ---- */

Test(limits, a_measurement_has_at_most_100000_samples)
{
    pfc_buf buf = text_of();
    pfc_import_result r = { 0 };

    repeat(&buf, "1\n", 99999);
    pfc_buf_puts(&buf, "2\n");
    accept(&buf, &any, &r);
    cr_expect(eq(sz, r.runs[0]->measurements[0].samples_len, 100000));
    cr_expect(eq(dbl, r.runs[0]->measurements[0].samples[99999], 2));
    cr_expect(eq(u32, r.runs[0]->measurements[0].blocks[0], 100000));
    pfc_import_result_clear(&r);
    buf = text_of();
    repeat(&buf, "1\n", 100001);
    refuse(&buf, &any, PFC_ETOOBIG, "command: more than 100000 samples");
}

static pfc_buf metrics(size_t len)
{
    pfc_buf buf = text_of();

    pfc_buf_puts(&buf, "{\"metrics\":{");
    for (size_t i = 0; i < len; i++)
        pfc_buf_printf(&buf, "%s\"m%zu\":%zu", i ? "," : "", i, i);
    pfc_buf_puts(&buf, "}}");
    return buf;
}

Test(limits, a_run_has_at_most_20000_measurements)
{
    pfc_buf buf = metrics(20000);
    pfc_import_result r = { 0 };

    accept(&buf, &any, &r);
    cr_expect(eq(sz, r.runs[0]->measurements_len, 20000));
    cr_expect(eq(str, r.runs[0]->measurements[19999].metric, "m19999"));
    cr_expect(eq(dbl, r.runs[0]->measurements[19999].samples[0], 19999));
    pfc_import_result_clear(&r);
    buf = metrics(20001);
    refuse(&buf, &any, PFC_ETOOBIG, "more than 20000 measurements");
}

/* ncu's table of raw values: a fault in a row ends the reading, the rows after it do not hide
 * it. */
Test(limits, a_fault_in_a_row_of_ncu_is_the_answer)
{
    pfc_buf buf = text_of();

    pfc_buf_puts(&buf, "\"ID\",\"Process ID\",\"Kernel "
                       "Name\",\"gpu__time_duration.sum\"\n\"\",\"\",\"\",\"ns\"\n");
    for (size_t i = 0; i < 20001; i++)
        pfc_buf_printf(&buf, "\"%zu\",\"1\",\"k%zu\",\"5\"\n", i, i);
    pfc_buf_puts(&buf, "\"1\",\"1\",\"k1\",\"5\"\n");
    refuse(&buf, &any, PFC_ETOOBIG, "more than 20000 measurements");
}

static pfc_buf history(size_t commits)
{
    pfc_buf buf = text_of();

    pfc_buf_puts(&buf, "commit,t_ms\n");
    for (size_t i = 0; i < commits; i++)
        pfc_buf_printf(&buf, "c%zu,1\n", i);
    return buf;
}

Test(limits, a_history_has_at_most_5000_commits)
{
    const pfc_import_opts split = { .split = true };
    pfc_buf buf = history(5000);
    pfc_import_result r = { 0 };

    accept(&buf, &split, &r);
    cr_expect(eq(sz, r.runs_len, 5000));
    cr_expect(eq(str, r.runs[4999]->commit, "c4999"));
    pfc_import_result_clear(&r);
    buf = history(5001);
    refuse(&buf, &split, PFC_ETOOBIG, "a history of more than 5000 commits");
    buf = history(5001);
    accept(&buf, NULL, &r);
    cr_expect(eq(sz, r.runs[0]->measurements[0].blocks_len, 5001));
    pfc_import_result_clear(&r);
}

Test(limits, at_most_20_notes_are_kept_and_equal_ones_once)
{
    pfc_buf buf = text_of();
    pfc_import_result r = { 0 };

    pfc_buf_puts(&buf, "{\"results\":[");
    for (size_t i = 0; i < 22; i++)
        pfc_buf_printf(&buf, "%s{\"command\":\"c%zu\",\"times\":[1,2],\"exit_codes\":[0,1]}",
                       i ? "," : "", i < 2 ? 0 : i);
    pfc_buf_puts(&buf, "]}");
    accept(&buf, NULL, &r);
    cr_expect(eq(sz, r.notes_len, 20));
    cr_expect(eq(str, r.notes[0], "c0: 1 of 2 runs ended with an error and are left out"));
    cr_expect(eq(str, r.notes[1], "c2: 1 of 2 runs ended with an error and are left out"));
    cr_expect(eq(str, r.notes[19], "c20: 1 of 2 runs ended with an error and are left out"));
    pfc_import_result_clear(&r);
}

Test(limits, a_benchmark_has_at_most_64_parameters)
{
    for (size_t n = 64; n <= 65; n++) {
        pfc_buf buf = text_of();
        pfc_import_result r = { 0 };

        pfc_buf_puts(&buf, "{\"results\":[{\"command\":\"c\",\"mean\":1,\"parameters\":{");
        for (size_t i = 0; i < n; i++)
            pfc_buf_printf(&buf, "%s\"p%zu\":%zu", i ? "," : "", i, i);
        pfc_buf_puts(&buf, "}}]}");
        accept(&buf, NULL, &r);
        cr_expect(eq(sz, r.runs[0]->measurements[0].params.len, 64));
        cr_expect(eq(str, r.runs[0]->measurements[0].params.items[63].name, "p63"));
        pfc_import_result_clear(&r);
    }
}

Test(limits, a_row_gives_at_most_32_parameters_of_at_most_100_bytes)
{
    for (size_t n = 31; n <= 33; n++) {
        pfc_buf buf = text_of();
        pfc_import_result r = { 0 };

        pfc_buf_puts(&buf, "name");
        for (size_t i = 1; i < n; i++)
            pfc_buf_printf(&buf, ",p%zu", i);
        pfc_buf_puts(&buf, ",t_ms\na");
        for (size_t i = 1; i < n; i++)
            pfc_buf_printf(&buf, ",%zu", i);
        pfc_buf_puts(&buf, ",5\n");
        accept(&buf, NULL, &r);
        cr_expect(eq(sz, r.runs[0]->measurements[0].params.len, n < 32 ? n : 32));
        pfc_import_result_clear(&r);
    }
    for (size_t n = 100; n <= 101; n++) {
        pfc_buf buf = text_of();
        pfc_import_result r = { 0 };

        pfc_buf_puts(&buf, "name,t_ms\n");
        repeat(&buf, "x", n);
        pfc_buf_puts(&buf, ",5\n");
        accept(&buf, NULL, &r);
        cr_expect(eq(sz, r.runs[0]->measurements[0].params.len, n == 100));
        pfc_import_result_clear(&r);
    }
}

Test(limits, a_table_has_at_most_4096_columns)
{
    for (size_t n = 4095; n <= 4097; n++) {
        pfc_buf buf = text_of();
        bool more = false;
        pfc_csv csv;

        for (size_t i = 0; i < n; i++)
            pfc_buf_printf(&buf, "%sx", i ? "," : "");
        pfc_csv_init(&csv, pfc_buf_text(&buf), buf.len, 1, ',');
        cr_expect(eq(int, pfc_csv_row(&csv, &more, NULL), PFC_OK));
        cr_expect(eq(sz, csv.cells_len, n < 4096 ? n : 4096));
        pfc_csv_clear(&csv);
        pfc_buf_clear(&buf);
    }
}

/* ---- how far a format is looked for ---- */

Test(limits, a_header_or_a_line_of_a_tool_is_looked_for_so_far)
{
    static const struct {
        const char *what;
        size_t lines; /* of talk before it that are passed over */
        const char *text;
    } rows[] = {
        { "hyperfine", 4999, "command,mean,stddev,median\na,1,1,1\n" },
        { "go", 4999, "BenchmarkA 1 5 ns/op\n" },
        { "google-benchmark", 4999, "Benchmark Time CPU Iterations\nBM 1 ns 1 ns 1\n" },
        { "asv", 4999,
          "[1%] \xc2\xb7\xc2\xb7\xc2\xb7 time_a 5\xc2\xb1"
          "1ns\n" },
        { "nccl-tests", 4999, "# size count time busbw\n1 2 3 4\n" },
        { "criterion", 19999, "a time: [1 ns 2 ns 3 ns]\n" },
        { "nvbench", 19999, "# Benchmark Results\n## a\n| CPU Time |\n|---|\n| 1 ms |\n" },
        { "jmh", 99999, "Benchmark Mode Cnt Score Units\na avgt 5 1.5 us/op\n" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        for (size_t more = 0; more < 2; more++) {
            pfc_buf buf = text_of();
            pfc_import_result r = { 0 };
            pfc_err err = { 0 };
            pfc_code code;

            repeat(&buf, "talk\n", rows[i].lines + more);
            pfc_buf_puts(&buf, rows[i].text);
            code = read_buf(&buf, NULL, &r, &err);
            cr_expect(eq(int, code, more ? PFC_EINVAL : PFC_OK), "%s after %zu: %s", rows[i].what,
                      rows[i].lines + more, err.msg);
            if (!code)
                cr_expect(eq(str, (char *)r.format, (char *)rows[i].what));
            pfc_import_result_clear(&r);
        }
    }
}

/* The first 1000 rows decide the role of a column: a word after them is an error in its row. */
Test(limits, a_thousand_rows_say_what_a_column_is)
{
    for (size_t n = 999; n <= 1000; n++) {
        pfc_buf buf = text_of();
        pfc_import_result r = { 0 };

        pfc_buf_puts(&buf, "name,x\n");
        repeat(&buf, "a,1.5\n", n);
        pfc_buf_puts(&buf, "a,word\n");
        if (n < 1000)
            refuse(&buf, &any, PFC_EINVAL, "line 1: expected a number or JSON, got 'name,x'");
        else
            refuse(&buf, &any, PFC_EINVAL, "line 1002, column x: expected a number, got 'word'");
        pfc_import_result_clear(&r);
    }
}

/* Of the lines behind a document that begin with a bracket 100 are tried as another one. */
Test(limits, a_hundred_lines_of_talk_are_tried_as_documents)
{
    for (size_t n = 99; n <= 100; n++) {
        pfc_buf buf = text_of();
        pfc_import_result r = { 0 };

        pfc_buf_puts(&buf, "{\"metrics\":\n{\"t_ms\":1}}\n");
        repeat(&buf, "[ x ]\n", n);
        pfc_buf_puts(&buf, "{\"metrics\":{\"t_ms\":2}}\n");
        accept(&buf, NULL, &r);
        cr_expect(eq(sz, r.runs[0]->measurements[0].samples_len, n < 100 ? 2 : 1), "%zu", n);
        pfc_import_result_clear(&r);
    }
    for (size_t n = 99; n <= 100; n++) {
        pfc_buf buf = text_of();
        pfc_import_result r = { 0 };
        pfc_err err = { 0 };

        repeat(&buf, "talk {\n", n);
        pfc_buf_puts(&buf, "talk {\"metrics\":{\"t_ms\":2}}\n");
        cr_expect(eq(int, read_buf(&buf, NULL, &r, &err), n < 100 ? PFC_OK : PFC_EINVAL), "%zu", n);
        pfc_import_result_clear(&r);
    }
}

/* ---- names ---- */

static char *name_of(const char *first, size_t len, const char *end)
{
    pfc_buf buf = text_of();
    pfc_import_result r = { 0 };
    char *name;

    pfc_buf_printf(&buf, "[{\"unit\":\"s\",\"value\":1,\"name\":\"%s", first);
    repeat(&buf, "a", len - strlen(first) - strlen(end));
    pfc_buf_printf(&buf, "%s\"}]", end);
    accept(&buf, NULL, &r);
    name = pfc_strdup(r.runs[0]->measurements[0].benchmark);
    pfc_import_result_clear(&r);
    return name;
}

Test(limits, a_name_of_200_bytes_stays_and_a_longer_one_ends_in_its_hash)
{
    char *whole = name_of("x", 200, "b");
    char *cut = name_of("x", 201, "b");
    char *other = name_of("x", 201, "c");

    cr_expect(eq(sz, strlen(whole), 200));
    cr_expect(eq(chr, whole[199], 'b'));
    /* sha256sum of the whole name: 188 bytes are kept, two dots, eight digits. */
    cr_expect(eq(sz, strlen(cut), 198));
    cr_expect(eq(int, strncmp(cut + 187, "a..", 3), 0), "%s", cut);
    cr_expect(eq(int, strncmp(cut, other, 190), 0));
    cr_expect(ne(str, cut, other));
    free(whole);
    free(cut);
    free(other);
}

Test(limits, a_long_name_is_not_cut_inside_a_character)
{
    char *name = name_of("", 187, "");
    pfc_buf buf = text_of();
    pfc_import_result r = { 0 };

    pfc_buf_printf(&buf, "[{\"unit\":\"s\",\"value\":1,\"name\":\"%s\xe2\x82\xac", name);
    repeat(&buf, "b", 20);
    pfc_buf_puts(&buf, "\"}]");
    accept(&buf, NULL, &r);
    cr_expect(eq(int, strncmp(r.runs[0]->measurements[0].benchmark, name, 187), 0));
    cr_expect(eq(int, strncmp(r.runs[0]->measurements[0].benchmark + 187, "..", 2), 0));
    cr_expect(eq(sz, strlen(r.runs[0]->measurements[0].benchmark), 197));
    pfc_import_result_clear(&r);
    free(name);
}

Test(limits, control_characters_of_a_name_become_blanks)
{
    char *name = name_of("a\\tb\\u0001\\u001f\\u007f\\u0080", 30, "\\n");

    cr_expect(eq(int, strncmp(name, "a b   \xc2\x80", 8), 0), "%s", name);
    cr_expect(eq(chr, name[strlen(name) - 1], ' '));
    free(name);
}
