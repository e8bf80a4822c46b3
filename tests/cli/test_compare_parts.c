/*
 * The judgement of two runs in memory: directions, sides that are missing or broken, what a filter
 * leaves, and the exit status of every combination of verdicts.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/compare/compare.h"
#include "core/comment/comment.h"

#include "tests/check/check.h"

static pfc_run *a, *b;
static pfc_cmp cmp;
static pfc_err err;

static void setup(void)
{
    a = pfc_run_new();
    b = pfc_run_new();
}

static void teardown(void)
{
    pfc_cmp_clear(&cmp);
    pfc_run_free(a);
    pfc_run_free(b);
}

TestSuite(compare_parts, .init = setup, .fini = teardown);

/* Twelve samples around `level`, spread by 0.1 %. */
static pfc_measurement *add(pfc_run *run, const char *benchmark, const char *backend, bool higher,
                            double level)
{
    static const double spread[] = {
        -1.7, -1.1, -0.7, -0.4, -0.2, 0, 0.2, 0.4, 0.7, 1.1, 1.7, 0.1
    };
    pfc_measurement *m = pfc_run_add(run);

    m->benchmark = pfc_strdup(benchmark);
    m->metric = pfc_strdup("speed");
    m->backend = pfc_strdup(backend);
    m->unit = pfc_strdup("x");
    m->higher_is_better = higher;
    m->samples_len = PFC_ARRAY_LEN(spread);
    m->samples = pfc_calloc(m->samples_len, sizeof(double));
    m->blocks = pfc_calloc(1, sizeof(*m->blocks));
    m->blocks[0] = (uint32_t)m->samples_len;
    m->blocks_len = 1;
    for (size_t i = 0; i < m->samples_len; i++)
        m->samples[i] = level * (1 + 0.001 * spread[(5 * i) % 12]);
    return m;
}

static void both(const char *benchmark, bool higher, double before, double after)
{
    add(a, benchmark, "cpu", higher, before);
    add(b, benchmark, "cpu", higher, after);
}

static void compare(void)
{
    cr_assert(eq(int, pfc_cmp_runs(a, b, "A", "B", 0, &cmp, &err), PFC_OK), "%s", err.msg);
}

static void set_object(pfc_run *run, size_t i, const char *hash)
{
    pfc_labels_set(&run->measurements[i].extra, PFC_OBJECT, hash);
}

Test(compare_parts, the_object_code_is_compared_where_all_pairs_name_it)
{
    static const struct {
        const char *a[2], *b[2], *expected;
    } rows[] = {
        { { "x", "y" }, { "x", "y" }, "identical" }, { { "x", "x" }, { "x", "y" }, "different" },
        { { "y", "x" }, { "x", "x" }, "different" }, { { "x", "x" }, { "x", NULL }, NULL },
        { { NULL, "x" }, { "x", "x" }, NULL },
    };

    for (size_t r = 0; r < PFC_ARRAY_LEN(rows); r++) {
        teardown();
        setup();
        cmp = (pfc_cmp){ 0 };
        both("one", false, 100, 100);
        both("two", false, 100, 100);
        both(PFC_CANARY_BENCHMARK, false, 100, 100);
        add(b, "three", "cpu", false, 100); /* only in b, without a hash */
        for (size_t i = 0; i < 2; i++) {
            if (rows[r].a[i])
                set_object(a, i, rows[r].a[i]);
            if (rows[r].b[i])
                set_object(b, i, rows[r].b[i]);
        }
        cr_assert(eq(int, pfc_cmp_runs(a, b, "A", "B", 0, &cmp, &err), PFC_OK), "%s", err.msg);
        cr_assert(pfc_streq(cmp.object_code, rows[r].expected), "row %zu: %s", r,
                  cmp.object_code ? cmp.object_code : "not known");
    }
}

static const pfc_cmp_row *row_of(const char *benchmark)
{
    for (size_t i = 0; i < cmp.len; i++) {
        if (strcmp(cmp.rows[i].benchmark, benchmark) == 0)
            return &cmp.rows[i];
    }
    return NULL;
}

Test(compare_parts, worse_is_more_of_what_should_be_less_and_less_of_what_should_be_more)
{
    static const struct {
        const char *name;
        bool higher;
        double after;
        pfc_cmp_verdict verdict;
    } rows[] = {
        { "less_up", false, 110, PFC_CMP_REGRESSION },
        { "less_down", false, 90, PFC_CMP_IMPROVEMENT },
        { "more_up", true, 110, PFC_CMP_IMPROVEMENT },
        { "more_down", true, 90, PFC_CMP_REGRESSION },
        { "less_same", false, 100, PFC_CMP_SAME },
        { "more_same", true, 100, PFC_CMP_SAME },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        both(rows[i].name, rows[i].higher, 100, rows[i].after);
    compare();
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_cmp_row *row = row_of(rows[i].name);

        cr_assert(eq(int, row->verdict, rows[i].verdict), "%s", rows[i].name);
        cr_assert(epsilon_eq(dbl, row->rel_change, rows[i].after / 100 - 1, 0.002));
        cr_assert(row->rel_low <= row->rel_change && row->rel_change <= row->rel_high);
        cr_assert(epsilon_eq(dbl, row->a.median, 100, 0.1));
        cr_assert(epsilon_eq(dbl, row->b.median, rows[i].after, 0.1));
        cr_assert(eq(i64, row->a.n, 12));
    }
    cr_assert(eq(sz, cmp.count[PFC_CMP_REGRESSION], 2));
    cr_assert(eq(sz, cmp.count[PFC_CMP_IMPROVEMENT], 2));
    cr_assert(eq(sz, cmp.count[PFC_CMP_SAME], 2));
    cr_assert(eq(int, pfc_cmp_exit(&cmp), PFC_EXIT_REGRESSION));
    cr_assert(eq(str, cmp.a, "A"));
    cr_assert(eq(str, cmp.b, "B"));
}

Test(compare_parts, a_side_that_is_missing_or_broken_is_named)
{
    pfc_measurement *m;

    both("kept", false, 100, 100);
    add(a, "only_a", "cpu", false, 1);
    add(b, "only_b", "gpu", false, 1);
    both("skipped", false, 100, 100);
    a->measurements[2].status = PFC_STATUS_SKIPPED;
    both("broken_a", false, 100, 100);
    m = &a->measurements[3];
    m->status = PFC_STATUS_BROKEN;
    m->reason = pfc_strdup("row 3");
    both("broken_b", false, 100, 100);
    m = &b->measurements[4];
    m->status = PFC_STATUS_BROKEN;
    m->reason = pfc_strdup("row 4");
    compare();
    cr_assert(eq(sz, cmp.len, 3));
    cr_assert(eq(sz, json_array_size(cmp.only_a), 1));
    cr_assert(
        eq(str, (char *)json_string_value(json_array_get(cmp.only_a, 0)), "only_a speed cpu"));
    cr_assert(
        eq(str, (char *)json_string_value(json_array_get(cmp.only_b, 0)), "only_b speed gpu"));
    cr_assert(eq(ptr, (void *)row_of("skipped"), NULL));
    cr_assert(row_of("broken_a")->broken_a && !row_of("broken_a")->broken_b);
    cr_assert(row_of("broken_b")->broken_b && !row_of("broken_b")->broken_a);
    cr_assert(eq(str, row_of("broken_a")->reason, "row 3"));
    cr_assert(eq(str, row_of("broken_b")->reason, "row 4"));
    cr_assert(eq(sz, cmp.count[PFC_CMP_BROKEN], 2));
    cr_assert(eq(int, pfc_cmp_exit(&cmp), PFC_EXIT_BROKEN));
}

Test(compare_parts, secondary_rows_and_the_canary_do_not_count)
{
    both("gemm", false, 100, 100);
    both("memory", false, 100, 150);
    pfc_labels_set(&b->measurements[1].extra, PFC_ROLE, PFC_ROLE_SECONDARY);
    both(PFC_CANARY_BENCHMARK, false, 100, 120);
    compare();
    cr_assert(eq(int, row_of("memory")->verdict, PFC_CMP_REGRESSION));
    cr_assert(row_of("memory")->secondary);
    cr_assert(eq(int, row_of(PFC_CANARY_BENCHMARK)->verdict, PFC_CMP_INCONCLUSIVE));
    cr_assert(epsilon_eq(dbl, cmp.canary_rel, 0.2, 0.01));
    cr_assert(eq(sz, cmp.count[PFC_CMP_SAME], 1));
    cr_assert(eq(sz, cmp.count[PFC_CMP_REGRESSION], 0));
    cr_assert(eq(int, pfc_cmp_exit(&cmp), PFC_EXIT_OK));
}

Test(compare_parts, what_the_machines_differ_in_is_listed)
{
    both("gemm", false, 100, 100);
    pfc_labels_set(&a->machine.fingerprint, "compiler", "gcc 12");
    pfc_labels_set(&b->machine.fingerprint, "compiler", "gcc 13");
    pfc_labels_set(&a->machine.fingerprint, "cpu", "X");
    pfc_labels_set(&b->machine.fingerprint, "cpu", "X");
    compare();
    cr_assert(eq(sz, cmp.differs_len, 1));
    cr_assert(eq(str, cmp.differs[0].field, "compiler"));
    cr_assert(eq(str, cmp.differs[0].a, "gcc 12"));
    cr_assert(eq(str, cmp.differs[0].b, "gcc 13"));
}

/* ---- exit statuses ---- */

Test(compare_parts, every_combination_has_its_exit_status)
{
    static const struct {
        size_t same, better, open, worse, broken;
        bool stored, differs, across;
        int status;
    } rows[] = {
        { 1, 0, 0, 0, 0, false, false, false, PFC_EXIT_OK },
        { 0, 1, 0, 0, 0, false, false, false, PFC_EXIT_OK },
        { 0, 0, 0, 0, 0, false, false, false, PFC_EXIT_INCONCLUSIVE },
        { 0, 0, 1, 0, 0, false, false, false, PFC_EXIT_INCONCLUSIVE },
        { 1, 0, 1, 0, 0, false, false, false, PFC_EXIT_INCONCLUSIVE },
        { 1, 1, 1, 1, 0, false, false, false, PFC_EXIT_REGRESSION },
        { 0, 0, 0, 1, 0, false, false, false, PFC_EXIT_REGRESSION },
        { 1, 1, 1, 1, 1, false, false, false, PFC_EXIT_BROKEN },
        { 1, 0, 0, 0, 0, true, true, false, PFC_EXIT_INCONCLUSIVE },
        { 0, 0, 0, 1, 0, true, true, false, PFC_EXIT_INCONCLUSIVE },
        { 0, 0, 0, 1, 0, true, true, true, PFC_EXIT_REGRESSION },
        { 1, 0, 0, 0, 0, true, true, true, PFC_EXIT_OK },
        { 0, 0, 0, 1, 0, false, true, false, PFC_EXIT_REGRESSION },
        { 0, 0, 0, 1, 0, true, false, false, PFC_EXIT_REGRESSION },
        { 0, 0, 0, 0, 1, true, true, false, PFC_EXIT_BROKEN },
    };
    pfc_cmp_difference differs = { .field = "compiler", .a = "gcc 12", .b = "gcc 13" };
    pfc_cmp_difference backend = { .field = "backend", .a = "cpu", .b = "hip" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_cmp made = { .count = { [PFC_CMP_SAME] = rows[i].same,
                                          [PFC_CMP_IMPROVEMENT] = rows[i].better,
                                          [PFC_CMP_INCONCLUSIVE] = rows[i].open,
                                          [PFC_CMP_REGRESSION] = rows[i].worse,
                                          [PFC_CMP_BROKEN] = rows[i].broken },
                               .stored = rows[i].stored,
                               .differs = &differs,
                               .differs_len = rows[i].differs,
                               .across = rows[i].across };

        cr_assert(eq(int, pfc_cmp_exit(&made), rows[i].status), "row %zu", i);
    }
    /* another backend was asked for, and leaves nothing undecided */
    cr_assert(eq(int,
                 pfc_cmp_exit(&(pfc_cmp){ .count = { [PFC_CMP_REGRESSION] = 1 },
                                          .stored = true,
                                          .differs = &backend,
                                          .differs_len = 1 }),
                 PFC_EXIT_REGRESSION));
    {
        const pfc_cmp failed = { .failure = "no build", .failure_status = PFC_EXIT_BROKEN };
        const pfc_cmp nothing = { .nothing = "no change", .count = { [PFC_CMP_REGRESSION] = 1 } };

        cr_assert(eq(int, pfc_cmp_exit(&failed), PFC_EXIT_BROKEN));
        cr_assert(eq(int, pfc_cmp_exit(&nothing), PFC_EXIT_OK));
    }
    cr_assert(eq(str, (char *)pfc_cmp_name(PFC_CMP_REGRESSION), "regression"));
    cr_assert(eq(str, (char *)pfc_cmp_name(PFC_CMP_IMPROVEMENT), "improvement"));
    cr_assert(eq(str, (char *)pfc_cmp_name(PFC_CMP_VERDICTS), "broken"));
}

/* ---- filters ---- */

static pfc_code take_only(const char *filter, const char *const *backends, size_t backends_len)
{
    const pfc_benchmark_filter what = { filter, backends, backends_len };

    err = (pfc_err){ 0 };
    return pfc_cmp_select(&cmp, &what, &err);
}

Test(compare_parts, a_filter_takes_rows_and_their_counts_away)
{
    static const char *const cpu[] = { "cpu" };
    static const char *const none[] = { "tpu" };

    both("gemm/8", false, 100, 120);
    both("gemm/9", false, 100, 100);
    both("norm/8", false, 100, 120);
    both("norm/memory", false, 100, 120);
    pfc_labels_set(&b->measurements[3].extra, PFC_ROLE, PFC_ROLE_SECONDARY);
    both(PFC_CANARY_BENCHMARK, false, 100, 100);
    compare();
    cr_assert(eq(sz, cmp.count[PFC_CMP_REGRESSION], 2));
    cr_assert(eq(int, take_only(NULL, NULL, 0), PFC_OK));
    cr_assert(eq(sz, cmp.len, 5));
    cr_assert(eq(int, take_only("nothing", NULL, 0), PFC_ENOTFOUND));
    cr_assert(ne(ptr, strstr(err.msg, "gemm/8 on cpu"), NULL), "%s", err.msg);
    cr_assert(eq(ptr, strstr(err.msg, PFC_CANARY_BENCHMARK), NULL), "%s", err.msg);
    cr_assert(eq(sz, cmp.len, 5)); /* unchanged */
    cr_assert(eq(int, take_only("(", NULL, 0), PFC_EINVAL));
    cr_assert(eq(int, take_only(PFC_CANARY_BENCHMARK, NULL, 0), PFC_ENOTFOUND));
    cr_assert(eq(int, take_only(NULL, none, 1), PFC_ENOTFOUND));
    cr_assert(eq(int, take_only(NULL, cpu, 1), PFC_OK));
    cr_assert(eq(sz, cmp.len, 5));
    cr_assert(eq(int, take_only("gemm", NULL, 0), PFC_OK));
    cr_assert(eq(sz, cmp.len, 3)); /* the canary stays */
    cr_assert(ne(ptr, (void *)row_of(PFC_CANARY_BENCHMARK), NULL));
    cr_assert(eq(sz, cmp.count[PFC_CMP_REGRESSION], 1));
    cr_assert(eq(sz, cmp.count[PFC_CMP_SAME], 1));
    cr_assert(eq(int, take_only("gemm/9", NULL, 0), PFC_OK));
    cr_assert(eq(sz, cmp.count[PFC_CMP_REGRESSION], 0));
    cr_assert(eq(int, pfc_cmp_exit(&cmp), PFC_EXIT_OK));
}

/* ---- pairs that were judged where they were measured ---- */

static pfc_cmp_verdict paired(const char *verdict, const char *change, const char *low,
                              const char *high, const char *gates)
{
    pfc_labels *extra;

    teardown();
    setup();
    both("gemm", false, 100, 100);
    extra = &b->measurements[0].extra;
    pfc_labels_set(extra, "pair_verdict", verdict);
    pfc_labels_set(extra, "pair_rel_change", change);
    pfc_labels_set(extra, "pair_rel_low", low);
    pfc_labels_set(extra, "pair_rel_high", high);
    pfc_labels_set(extra, "pair_p", "0.0001");
    pfc_labels_set(extra, "pair_noise_rel", "0.002");
    pfc_labels_set(extra, "pairs", "40");
    if (gates)
        pfc_labels_set(extra, "pair_gates", gates);
    compare();
    return cmp.rows[0].verdict;
}

Test(compare_parts, pairs_keep_the_verdict_of_where_they_were_measured)
{
    cr_assert(eq(int, paired("different", "0.05", "0.04", "0.06", NULL), PFC_CMP_REGRESSION));
    cr_assert(epsilon_eq(dbl, cmp.rows[0].rel_change, 0.05, 1e-12));
    cr_assert(epsilon_eq(dbl, cmp.rows[0].rel_low, 0.04, 1e-12));
    cr_assert(epsilon_eq(dbl, cmp.rows[0].rel_high, 0.06, 1e-12));
    cr_assert(epsilon_eq(dbl, cmp.rows[0].p, 0.0001, 1e-12));
    cr_assert(epsilon_eq(dbl, cmp.rows[0].noise_rel, 0.002, 1e-12));
    cr_assert(eq(int, paired("different", "-0.05", "-0.06", "-0.04", NULL), PFC_CMP_IMPROVEMENT));
    cr_assert(eq(int, paired("different", "0.05", "0.04", "0.06", "false"), PFC_CMP_INCONCLUSIVE));
    cr_assert(eq(int, paired("different", "0.05", "0.04", "0.06", "true"), PFC_CMP_REGRESSION));
    cr_assert(eq(int, paired("inconclusive", "0.05", "-0.01", "0.06", NULL), PFC_CMP_INCONCLUSIVE));
    cr_assert(eq(int, paired("same", "0", "-0.005", "0.005", NULL), PFC_CMP_SAME));
    cr_assert(eq(int, paired("same", "0", "-0.0051", "0.005", NULL), PFC_CMP_INCONCLUSIVE));
    cr_assert(eq(int, paired("same", "0", "-0.005", "0.0051", NULL), PFC_CMP_INCONCLUSIVE));
    cr_assert(eq(int, paired("same", "0", "-0.005", "0.005", "false"), PFC_CMP_SAME));
}

/* ---- the command that makes it again ---- */

static void check_line(const char *const *words, size_t len, const char *expected, bool whole)
{
    pfc_buf out;
    bool is_whole = !whole;
    pfc_cmp made = { .a = (char *)"old", .b = (char *)"new", .repeat = json_array() };

    for (size_t i = 0; i < len; i++)
        json_array_append_new(made.repeat, json_string(words[i]));
    pfc_buf_init(&out, 8192);
    cr_assert(eq(int, pfc_cmp_repeat_line(&made, &out, &is_whole), expected != NULL));
    cr_assert(eq(str, (char *)pfc_buf_text(&out), expected ? (char *)expected : ""));
    cr_assert(eq(int, is_whole, whole));
    pfc_buf_clear(&out);
    json_decref(made.repeat);
}

#define LINE(expected, whole, ...)                                                                 \
    check_line((const char *const[]){ __VA_ARGS__ },                                               \
               sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), expected, whole)

Test(compare_parts, the_line_has_flags_that_are_known_and_the_commands)
{
    LINE("perfci compare a b", true, "perfci", "compare", "a", "b");
    LINE("perfci compare a b --stored --across --filter 'x y'", true, "perfci", "compare", "a", "b",
         "--stored", "--across", "--filter", "x y");
    LINE("perfci compare a b --margin 0.02 --rounds 9 --project p --suite s --config c --backend e",
         true, "perfci", "compare", "a", "b", "--margin", "0.02", "--rounds", "9", "--project", "p",
         "--suite", "s", "--config", "c", "--backend", "e");
    LINE("perfci compare a b --measure './run 2>&1' --stored", true, "perfci", "compare", "a", "b",
         "--measure", "./run 2>&1", "--stored");
    LINE("perfci compare a b --build make", true, "perfci", "compare", "a", "b", "--build", "make");
    LINE("perfci compare a b --stored", false, "perfci", "compare", "a", "b", "--other", "x",
         "--stored");
    /* No such command: the sides that the comparison names. */
    LINE("perfci compare old new", true, "perfci", "check", "a", "b");
    LINE("perfci compare old new", true, "rm", "compare", "a", "b");
    LINE("perfci compare old new", true, "perfci", "compare", "-a", "b");
    LINE("perfci compare old new", true, "perfci", "compare", "a", "-b");
    LINE("perfci compare old new", true, "perfci", "compare", "a");
    LINE("perfci compare 'a`b' b", true, "perfci", "compare", "a`b", "b");
    LINE("perfci compare 'a\nb' b", true, "perfci", "compare", "a\nb", "b");
    LINE(NULL, true, "perfci", "compare", "a\x1b[0m", "b");
    LINE(NULL, true, "perfci", "compare", "a\x7f", "b");
}

/* ---- the explanation ---- */

/* tests/data/explain, with one measurement more; it was `before` and is `after`. */
static pfc_run *run_with(const char *file, const char *metric, bool exact, const char *role,
                         double value)
{
    char *path = pfc_format(PFC_TEST_DATA "/explain/%s.json", file);
    json_t *doc = json_load_file(path, 0, NULL), *samples = json_array();
    json_t *list = json_object_get(doc, "measurements");
    char *text;
    pfc_run *run = NULL;

    for (int i = 0; i < (exact ? 1 : 12); i++)
        json_array_append_new(samples, json_pack("[f]", value * (1 + i % 3 * 0.001)));
    json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:s,s:s,s:b,s:s,s:o,s:{s:s}}", "benchmark",
                                          "other", "metric", metric, "backend", "x", "unit", "u",
                                          "direction", "lower", "exact", exact, "status", "ok",
                                          "samples", samples, "extra", "role", role));
    text = json_dumps(doc, JSON_COMPACT);
    cr_assert(eq(int, pfc_run_from_json(text, strlen(text), &run, &err), PFC_OK), "%s", err.msg);
    free(text);
    json_decref(doc);
    free(path);
    return run;
}

/* The other benchmark recorded nothing that an explanation needs: none comes where it is chosen. */
Test(compare_parts, the_largest_regression_of_a_time_is_explained_and_an_exact_one_first)
{
    static const struct {
        const char *metric, *role;
        bool exact;
        double before, after;
        bool chosen;
    } rows[] = {
        { "cycles", "primary", true, 100, 1000, true },
        { "time_ns", "primary", true, 100, 1000, true },
        { "cycles", "primary", true, 100, 120, false },
        { "cycles", "primary", true, 1000, 100, false },
        { "cycles", "secondary", true, 100, 1000, false },
        { "bytes", "primary", true, 100, 1000, false },
        { "time_ns", "primary", false, 100, 1000, false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_run *before =
            run_with("good", rows[i].metric, rows[i].exact, rows[i].role, rows[i].before);
        pfc_run *after =
            run_with("bad", rows[i].metric, rows[i].exact, rows[i].role, rows[i].after);
        const json_t *name;

        cr_assert(eq(int, pfc_cmp_runs(before, after, "A", "B", 0, &cmp, &err), PFC_OK));
        pfc_cmp_explain(&cmp, before, after);
        name = json_object_get(cmp.explanation, "benchmark");
        cr_expect(eq(int, name == NULL, rows[i].chosen), "%zu", i);
        if (name)
            cr_expect(
                eq(str, (char *)json_string_value(name), "gemm/bf16/m1024n1024k1024/t.schedule"));
        pfc_cmp_clear(&cmp);
        cmp = (pfc_cmp){ 0 };
        pfc_run_free(before);
        pfc_run_free(after);
    }
}

static char *explained(const char *text)
{
    const int out = dup(STDOUT_FILENO);
    static char printed[1024];
    FILE *file = tmpfile();
    size_t len;

    cmp.explanation = json_loads(text, 0, NULL);
    (void)fflush(stdout);
    (void)dup2(fileno(file), STDOUT_FILENO);
    pfc_cmp_print_explanation(&cmp);
    (void)fflush(stdout);
    (void)dup2(out, STDOUT_FILENO);
    close(out);
    rewind(file);
    len = fread(printed, 1, sizeof(printed) - 1, file);
    printed[len] = '\0';
    fclose(file);
    json_decref(cmp.explanation);
    cmp.explanation = NULL;
    return printed;
}

Test(compare_parts, the_line_of_an_explanation_has_its_part_of_the_difference)
{
    cr_expect(eq(str,
                 explained("{\"benchmark\":\"b\",\"unit\":\"ns\",\"delta\":40,\"limiter\":"
                           "{\"before\":\"compute\",\"after\":\"memory\"},\"contributions\":[{"
                           "\"resource\":\"dma\",\"phase\":\"load\",\"value\":10},{\"value\":5}]}"),
                 "b: limiter compute before, memory after; largest part of the difference: dma in "
                 "load, +10 ns (25.0 %)\n"));
    cr_expect(eq(str,
                 explained("{\"benchmark\":\"b\",\"unit\":\"ns\",\"delta\":-40,\"contributions\":[{"
                           "\"resource\":\"dma\",\"phase\":\"load\",\"value\":-30}]}"),
                 "b: limiter inconclusive before, inconclusive after; largest part of the "
                 "difference: dma in load, -30 ns (75.0 %)\n"));
    cr_expect(eq(str, explained("{\"delta\":1,\"contributions\":[]}"), ""));
    cr_expect(eq(str, explained("{\"delta\":0,\"contributions\":[{\"value\":1}]}"), ""));
}
