/*
 * The parts of the command line that are pure: reading series, judging runs, Markdown, guesses.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bisect/commits.h"
#include "cli/compare/compare.h"
#include "cli/detect/series_read.h"
#include "cli/local/stack.h"
#include "cli/measure/measure.h"
#include "cli/output/output.h"
#include "core/comparison/document_pairs.h"
#include "core/forge/forge.h"
#include "core/suspects/suspects.h"

#include "tests/check/check.h"

/* ---- series ---- */

static pfc_code parse(const char *text, pfc_series_in *out, size_t *at)
{
    pfc_err err = { 0 };

    return pfc_series_parse(text, strlen(text), NULL, false, out, at, &err);
}

Test(series, numbers_are_read_exactly_as_strtod_reads_them)
{
    static const char *const numbers[] = { "0",
                                           "-0",
                                           "1",
                                           "123456789012345678",
                                           "0.1",
                                           "1e5",
                                           "-1.5E-3",
                                           "9007199254740993",
                                           "1e-320",
                                           "0.30000000000000004",
                                           "179769313486231570e291",
                                           "3.14159265358979323846264338327950288" };
    pfc_series_in s = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(numbers); i++) {
        char text[256];
        size_t at = 0;

        (void)snprintf(text, sizeof(text), "{\"id\":\"a\",\"points\":[{\"t\":1,\"v\":%s}]}",
                       numbers[i]);
        cr_assert(eq(int, parse(text, &s, &at), PFC_OK), "%s", numbers[i]);
        cr_assert(eq(dbl, s.points[0].v, strtod(numbers[i], NULL)), "%s", numbers[i]);
    }
    pfc_series_clear(&s);
}

Test(series, repeats_belong_to_their_points)
{
    const char *text =
        "{\"points\": [{\"v\": 2, \"repeats\": [1, 2, 3]}, {\"v\": null, \"t\": null},"
        " {\"repeats\": [], \"v\": 4}, {\"v\": 5, \"repeats\": [5, 6]}], \"id\": \"x\"}";
    pfc_series_in s = { 0 };
    size_t at = 0;

    cr_assert(eq(int, parse(text, &s, &at), PFC_OK));
    cr_assert(eq(sz, s.len, 4));
    cr_assert(eq(sz, s.points[0].repeats_len, 3));
    cr_assert(eq(dbl, s.points[0].repeats[2], 3));
    cr_assert(isnan(s.points[1].v) && isnan(s.points[1].t));
    cr_assert(s.points[2].repeats == NULL);
    cr_assert(eq(dbl, s.points[3].repeats[1], 6));
    pfc_series_clear(&s);
}

Test(series, faults_are_found_at_their_byte)
{
    static const struct {
        const char *text;
        size_t at;
    } bad[] = {
        { "", 0 },
        { "[]", 0 },
        { "{\"id\":\"a\",\"points\":[{\"v\":tru}]}", 25 },
        { "{\"id\":\"a\" \"points\":[]}", 10 },
        { "{\"id\":\"a\",\"points\":[{\"v\":1}]", 28 },
        { "{\"id\":\"a\",\"points\":[{\"v\":1,}]}", 27 },
        { "{\"id\":\"\x01\",\"points\":[]}", 7 },
        { "{\"id\":\"\xff\",\"points\":[]}", 8 },
        { "{\"id\":\"a\",\"points\":[]}x", 22 },
    };
    pfc_series_in s = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        size_t at = 99;

        cr_assert(eq(int, parse(bad[i].text, &s, &at), PFC_EINVAL), "%s", bad[i].text);
        cr_assert(eq(sz, at, bad[i].at), "%s", bad[i].text);
    }
    pfc_series_clear(&s);
}

typedef struct collected {
    size_t series;
    size_t bad;
    size_t bad_line;
    double last;
} collected;

static void on_series(void *arg, const pfc_series_in *s, size_t line)
{
    collected *c = arg;

    (void)line;
    c->series++;
    c->last = s->len ? s->points[s->len - 1].v : NAN;
}

static void on_bad(void *arg, size_t line, const char *why)
{
    collected *c = arg;

    (void)why;
    c->bad++;
    c->bad_line = line;
}

/* From a file without a name. */
static collected read_all(const char *text)
{
    collected c = { 0 };
    const pfc_series_sink sink = { .series = on_series, .bad = on_bad, .arg = &c };
    pfc_err err = { 0 };
    char name[] = "/tmp/pfc-series-XXXXXX";
    int fd = mkstemp(name);

    cr_assert(fd >= 0);
    unlink(name);
    cr_assert(eq(int, (int)write(fd, text, strlen(text)), (int)strlen(text)));
    cr_assert(eq(int, (int)lseek(fd, 0, SEEK_SET), 0));
    cr_assert(eq(int, pfc_series_read(fd, NULL, &sink, &err), PFC_OK));
    close(fd);
    return c;
}

Test(series, csv_quotes_gaps_and_text_columns)
{
    collected c = read_all("time,\"a, \"\"b\"\"\",branch\n2026-11-22T10:00:00Z,\"1.5\",main\n"
                           "2026-11-22 11:00:00,,main\n1763809200, 2.5 ,topic\n");

    cr_assert(eq(sz, c.series, 1));
    cr_assert(eq(sz, c.bad, 0));
    cr_assert(eq(dbl, c.last, 2.5));
}

Test(series, an_array_goes_on_after_a_bad_element)
{
    collected c = read_all(
        "[{\"id\":\"a\",\"points\":[]},\n {\"id\":1},\n {\"id\":\"c\",\"points\":[{\"v\":7}]}]");

    cr_assert(eq(sz, c.series, 2));
    cr_assert(eq(sz, c.bad, 1));
    cr_assert(eq(sz, c.bad_line, 2));
    cr_assert(eq(dbl, c.last, 7));
}

/* ---- Markdown ---- */

static char *markdown(void (*put)(pfc_buf *, const char *), const char *text)
{
    pfc_buf buf;

    pfc_buf_init(&buf, 4096);
    put(&buf, text);
    return pfc_buf_take(&buf);
}

Test(comment, text_from_outside_is_no_markup)
{
    char *out = markdown(pfc_markdown_text, "<b>|@me #1 [x](y) `c` *z*\n");

    cr_assert(eq(str, out, "&lt;b&gt;\\|@&#8203;me #&#8203;1 \\[x\\]\\(y\\) \\`c\\` \\*z\\* "));
    free(out);
    /* An entity, too, would be a mention when it is shown. */
    out = markdown(pfc_markdown_text, "&#64;all https://a.b WWW.a.b w.w 1.5 %");
    cr_assert(eq(str, out, "&amp;#&#8203;64;all https\\://a.b WWW\\.a.b w.w 1.5 %"));
    free(out);
    out = markdown(pfc_markdown_code, "a`|b\n");
    cr_assert(eq(str, out, "`a'\\|b'`"));
    free(out);
}

Test(comment, the_marker_must_begin_the_comment_and_keys_differ)
{
    char marker[PFC_COMMENT_MARKER_MAX];
    char other[PFC_COMMENT_MARKER_MAX];

    pfc_comment_marker("pull-request", marker);
    pfc_comment_marker("pull-request-2", other);
    cr_assert(eq(str, marker, "<!-- perfci:pull-request -->"));
    cr_assert(pfc_comment_is_ours("<!-- perfci:pull-request -->\n### fine", marker));
    cr_assert(not(pfc_comment_is_ours("> <!-- perfci:pull-request -->", marker)));
    cr_assert(not(pfc_comment_is_ours("<!-- perfci:pull-request-2 -->", marker)));
    cr_assert(not(pfc_comment_is_ours("<!-- perfci:pull-request -->", other)));
    cr_assert(not(pfc_comment_is_ours("", marker)));
}

/* ---- comparisons ---- */

static pfc_run *run_of(const char *benchmark, double level, bool higher_is_better)
{
    pfc_run *run = pfc_run_new();
    pfc_measurement *m = pfc_run_add(run);

    m->benchmark = pfc_strdup(benchmark);
    m->metric = pfc_strdup("m");
    m->backend = pfc_strdup("");
    m->unit = pfc_strdup("u");
    m->higher_is_better = higher_is_better;
    m->samples_len = 12;
    m->blocks_len = 12;
    m->samples = pfc_calloc(12, sizeof(double));
    m->blocks = pfc_calloc(12, sizeof(uint32_t));
    for (size_t i = 0; i < 12; i++) {
        m->samples[i] = level * (1 + ((double)i - 5.5) / 2000);
        m->blocks[i] = 1;
    }
    return run;
}

static pfc_cmp_verdict compare(double a, double b, bool higher_is_better, int *status)
{
    pfc_run *ra = run_of("x", a, higher_is_better);
    pfc_run *rb = run_of("x", b, higher_is_better);
    pfc_cmp cmp = { 0 };
    pfc_err err = { 0 };
    pfc_cmp_verdict verdict;

    cr_assert(eq(int, pfc_cmp_runs(ra, rb, "a", "b", 0, &cmp, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, cmp.len, 1));
    verdict = cmp.rows[0].verdict;
    *status = pfc_cmp_exit(&cmp);
    pfc_cmp_clear(&cmp);
    pfc_run_free(ra);
    pfc_run_free(rb);
    return verdict;
}

Test(cmp, direction_decides_what_a_change_is_called)
{
    int status = -1;

    cr_assert(eq(int, compare(100, 110, false, &status), PFC_CMP_REGRESSION));
    cr_assert(eq(int, status, 1));
    cr_assert(eq(int, compare(100, 110, true, &status), PFC_CMP_IMPROVEMENT));
    cr_assert(eq(int, status, 0));
    cr_assert(eq(int, compare(100, 90, true, &status), PFC_CMP_REGRESSION));
    cr_assert(eq(int, compare(100, 100, false, &status), PFC_CMP_SAME));
    cr_assert(eq(int, status, 0));
}

static void add_like(pfc_run *run, pfc_run *other)
{
    pfc_measurement *m = pfc_run_add(run);

    *m = other->measurements[0];
    other->measurements[0] = (pfc_measurement){ 0 };
    other->measurements_len = 0;
    pfc_run_free(other);
}

/* The fixed work takes 20 % longer: another machine speed, no regression of the code. */
Test(cmp, the_canary_decides_nothing)
{
    pfc_run *ra = run_of("x", 100, false);
    pfc_run *rb = run_of("x", 100, false);
    pfc_run *alone = run_of(PFC_CANARY_BENCHMARK, 50, false);
    pfc_cmp cmp = { 0 };
    pfc_cmp again = { 0 };
    pfc_err err = { 0 };
    json_t *doc;

    add_like(ra, run_of(PFC_CANARY_BENCHMARK, 50, false));
    add_like(rb, run_of(PFC_CANARY_BENCHMARK, 60, false));
    cr_assert(eq(int, pfc_cmp_runs(ra, rb, "a", "b", 0, &cmp, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, cmp.len, 2));
    cr_assert(eq(int, cmp.rows[1].verdict, PFC_CMP_INCONCLUSIVE));
    cr_assert(epsilon_eq(dbl, cmp.canary_rel, 0.2, 0.02));
    cr_assert(eq(int, pfc_cmp_exit(&cmp), 0));
    /* The service's verdict no longer counts. */
    doc = pfc_cmp_to_json(&cmp);
    json_object_set_new(json_array_get(json_object_get(doc, "rows"), 1), "verdict",
                        json_string("regression"));
    cr_assert(eq(int, pfc_cmp_from_json(doc, &again, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_cmp_exit(&again), 0));
    json_decref(doc);
    pfc_cmp_clear(&cmp);
    pfc_cmp_clear(&again);
    /* With nothing else, nothing was compared. */
    cr_assert(eq(int, pfc_cmp_runs(alone, rb, "a", "b", 0, &cmp, &err), PFC_OK));
    cr_assert(eq(int, pfc_cmp_exit(&cmp), 3));
    pfc_cmp_clear(&cmp);
    pfc_run_free(alone);
    pfc_run_free(ra);
    pfc_run_free(rb);
}

Test(cmp, json_goes_there_and_back)
{
    pfc_run *ra = run_of("x", 100, false);
    pfc_run *rb = run_of("x", 110, false);
    pfc_cmp cmp = { 0 };
    pfc_cmp again = { 0 };
    pfc_err err = { 0 };
    json_t *doc;

    cr_assert(eq(int, pfc_cmp_runs(ra, rb, "a", "b", 0, &cmp, &err), PFC_OK));
    doc = pfc_cmp_to_json(&cmp);
    cr_assert(eq(int, pfc_cmp_from_json(doc, &again, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, again.rows[0].benchmark, "x"));
    cr_assert(eq(dbl, again.rows[0].rel_change, cmp.rows[0].rel_change));
    cr_assert(eq(sz, again.count[PFC_CMP_REGRESSION], 1));
    json_decref(doc);
    pfc_cmp_clear(&cmp);
    pfc_cmp_clear(&again);
    pfc_run_free(ra);
    pfc_run_free(rb);
}

Test(take, merging_keeps_blocks_and_a_broken_side_breaks_the_whole)
{
    pfc_run *run = run_of("x", 100, false);
    pfc_run *bad = run_of("x", 100, false);

    pfc_run_merge(run, run_of("x", 101, false));
    pfc_run_merge(run, run_of("y", 5, false));
    cr_assert(eq(sz, run->measurements_len, 2));
    cr_assert(eq(sz, run->measurements[0].samples_len, 24));
    cr_assert(eq(sz, run->measurements[0].blocks_len, 24));
    cr_assert(not(pfc_take_broken(run)));
    bad->measurements[0].status = PFC_STATUS_BROKEN;
    bad->measurements[0].reason = pfc_strdup("wrong result");
    pfc_run_merge(run, bad);
    cr_assert(pfc_take_broken(run));
    cr_assert(eq(sz, run->measurements[0].samples_len, 0));
    pfc_run_free(run);
}

/* ---- the rest ---- */

Test(bisect, globs_match_files_folders_and_all_below)
{
    char *globs[] = { "kernels", "src/*.c", "docs/" };

    cr_assert(pfc_path_fits("kernels/cpu/gemm.c", globs, 3));
    cr_assert(pfc_path_fits("src/a.c", globs, 3));
    cr_assert(pfc_path_fits("docs/x", globs, 3));
    cr_assert(not(pfc_path_fits("kernels2/x", globs, 3)));
    cr_assert(not(pfc_path_fits("src/a.h", globs, 3)));
    cr_assert(not(pfc_path_fits("a", globs, 0)));
}

/* Two of four candidates touch: 0.8 / 2 + 0.2 / 4 each against 0.2 / 4. */
Test(bisect, the_prior_leaves_a_floor_for_every_commit)
{
    bisect_commit items[5] = { { 0 }, { NULL, true }, { 0 }, { NULL, true }, { 0 } };
    bisect_commits commits = { items, 5, 5 };
    double *prior = bisect_commits_prior(&commits);

    cr_assert(epsilon_eq(dbl, prior[1], 0.45, 1e-12));
    cr_assert(epsilon_eq(dbl, prior[2], 0.05, 1e-12));
    free(prior);
    items[1].touches = items[3].touches = false;
    cr_assert(bisect_commits_prior(&commits) == NULL);
}

Test(frame, the_nearest_command_is_guessed_and_far_ones_are_not)
{
    const char *const names[] = { "up", "down", "detect", "bisect", NULL };

    cr_assert(eq(str, pfc_cli_nearest("detetc", names), "detect"));
    cr_assert(eq(str, pfc_cli_nearest("bisct", names), "bisect"));
    cr_assert(eq(str, pfc_cli_nearest("dwon", names), "down"));
    cr_assert(pfc_cli_nearest("frobnicate", names) == NULL);
}

Test(frame, values_are_shown_with_fitting_digits)
{
    char out[32];

    pfc_show_value(0, out);
    cr_assert(eq(str, out, "0"));
    pfc_show_value(123456.7, out);
    cr_assert(eq(str, out, "123457"));
    pfc_show_value(0.0001234, out);
    cr_assert(eq(str, out, "0.0001234"));
    pfc_show_percent(0.052, out);
    cr_assert(eq(str, out, "+5.2 %"));
    pfc_show_percent(NAN, out);
    cr_assert(eq(str, out, "?"));
    pfc_show_seconds(7384, out);
    cr_assert(eq(str, out, "2 h 3 min"));
}

/* Where the number of digits or the unit changes. */
Test(frame, values_change_their_form_at_exact_limits)
{
    static const struct {
        void (*show)(double, char[32]);
        double v;
        const char *text;
    } cases[] = {
        { pfc_show_value, 999999999, "999999999" },
        { pfc_show_value, 1e9, "1e+09" },
        { pfc_show_value, -1e9, "-1e+09" },
        { pfc_show_value, 0.001, "0.001" },
        { pfc_show_value, 0.00099996, "0.001" },
        { pfc_show_value, 0.000999, "0.000999" },
        { pfc_show_value, 0.0009991234, "0.0009991" },
        { pfc_show_value, 0.0010001234, "0.0010001" },
        { pfc_show_value, 9999.96, "10000" },
        { pfc_show_value, 9999.4, "9999.4" },
        { pfc_show_value, 10000.4, "10000" },
        { pfc_show_value, 123456.6, "123457" },
        { pfc_show_value, -5.25, "-5.25" },
        { pfc_show_value, INFINITY, "?" },
        { pfc_show_percent, 0, "+0.0 %" },
        { pfc_show_percent, 0.001, "+0.1 %" },
        { pfc_show_percent, 0.00099, "+0.099 %" },
        { pfc_show_percent, -0.00099, "-0.099 %" },
        { pfc_show_percent, -0.25, "-25.0 %" },
        { pfc_show_percent, -INFINITY, "?" },
        { pfc_show_seconds, 59.94, "59.9 s" },
        { pfc_show_seconds, 60, "1 min 0 s" },
        { pfc_show_seconds, 3599, "59 min 59 s" },
        { pfc_show_seconds, 3600, "1 h 0 min" },
        { pfc_show_seconds, 90061, "25 h 1 min" },
        { pfc_show_seconds, NAN, "?" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        char out[32];

        cases[i].show(cases[i].v, out);
        cr_expect(eq(str, out, (char *)cases[i].text), "%g", cases[i].v);
    }
}

/* A third of the letters may be wrong, rounded down, and one more. */
Test(frame, a_guess_is_at_most_a_third_of_the_letters_away)
{
    const char *const names[] = { "abcdef", NULL };
    static const struct {
        const char *typed;
        bool near;
    } cases[] = { { "abcdef", true },  { "abcdxy", true },    { "abcxyz", true },
                  { "abxyzw", false }, { "badcfe", true },    { "abcd", true },
                  { "abc", false },    { "abcdefghi", true }, { "abcdefghij", true } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++)
        cr_expect(eq(int, pfc_cli_nearest(cases[i].typed, names) != NULL, cases[i].near), "%s",
                  cases[i].typed);
}

/* A printed word is one word for a shell, whatever it holds. */
Test(frame, words_of_a_shell_are_quoted_when_they_must_be)
{
    static const char *const cases[][2] = { { "a-b_c.d/e,f:g@h%i+j0", "a-b_c.d/e,f:g@h%i+j0" },
                                            { "", "''" },
                                            { "a b", "'a b'" },
                                            { "a'b", "'a'\\''b'" },
                                            { "$x", "'$x'" },
                                            { "v1^", "'v1^'" },
                                            { "a=b", "'a=b'" } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        char *text;
        pfc_buf out;

        pfc_buf_init(&out, 64);
        pfc_shell_word(&out, cases[i][0]);
        text = pfc_buf_take(&out);
        cr_expect(eq(str, text, (char *)cases[i][1]));
        free(text);
    }
}

/* ---- interleaved measurements ---- */

static pfc_run *turn_of(char side, const char *session, const char *order, size_t blocks)
{
    pfc_run *run = run_of("x", 100, false);

    run->measurements[0].blocks_len = blocks;
    pfc_document_pairs_mark(run, side, session, order);
    return run;
}

Test(turns, both_sides_of_one_whole_session_and_nothing_else_are_in_turns)
{
    static const struct {
        char sides[2];
        const char *sessions[2], *orders[2];
        size_t blocks[2];
        int found; /* 0 no, 1 as it is, 2 swapped */
    } cases[] = {
        { { 'a', 'b' }, { "s", "s" }, { "abba", "abba" }, { 2, 2 }, 1 },
        { { 'b', 'a' }, { "s", "s" }, { "abba", "abba" }, { 2, 2 }, 2 },
        { { 'a', 'b' }, { "s", "s" }, { "aab", "aab" }, { 2, 1 }, 1 },
        { { 'b', 'a' }, { "s", "s" }, { "aab", "aab" }, { 1, 2 }, 2 },
        { { 'a', 'b' }, { "s", "s" }, { "aab", "aab" }, { 1, 2 }, 0 },
        { { 'a', 'a' }, { "s", "s" }, { "abba", "abba" }, { 2, 2 }, 0 },
        { { 'a', 'b' }, { "s", "t" }, { "abba", "abba" }, { 2, 2 }, 0 },
        { { 'a', 'b' }, { "s", "s" }, { "abba", "baab" }, { 2, 2 }, 0 },
        { { 'a', 'b' }, { "s", "s" }, { "abba", "abba" }, { 1, 2 }, 0 },
        { { 'a', 'b' }, { "s", "s" }, { "abba", "abba" }, { 2, 3 }, 0 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_run *runs[2];
        bool swapped = false;
        const char *order;

        for (int k = 0; k < 2; k++)
            runs[k] = turn_of(cases[i].sides[k], cases[i].sessions[k], cases[i].orders[k],
                              cases[i].blocks[k]);
        order = pfc_document_pairs_order(&runs[0]->measurements[0], &runs[1]->measurements[0],
                                         &swapped);
        cr_expect(eq(int, order ? 1 + swapped : 0, cases[i].found), "%zu", i);
        pfc_run_free(runs[0]);
        pfc_run_free(runs[1]);
    }
}

Test(stack, only_the_very_process_counts_as_the_member)
{
    pfc_member member = { .name = "me" };
    pfc_err err = { 0 };

    cr_assert(not(pfc_member_alive(&member)));
    cr_assert(eq(int, pfc_member_set(&member, getpid(), &err), PFC_OK));
    cr_assert(pfc_member_alive(&member));
    member.start_ticks++;
    cr_assert(not(pfc_member_alive(&member)));
    member.start_ticks--;
    member.exe[0] = '?';
    cr_assert(not(pfc_member_alive(&member)));
}

/* Whoever starts what was killed must not take the one that is still on its way out for it. */
Test(stack, a_process_that_was_killed_does_not_count_while_it_ends)
{
    for (int trial = 0; trial < 40; trial++) {
        pfc_member member = { .name = "child" };
        pfc_err err = { 0 };
        pid_t pid = fork();

        if (pid == 0) {
            for (;;)
                (void)getppid(); /* awake, so that it is not gone at once */
        }
        cr_assert(gt(int, pid, 0));
        cr_assert(eq(int, pfc_member_set(&member, pid, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, kill(pid, SIGKILL), 0));
        cr_assert(not(pfc_member_alive(&member)), "trial %d", trial);
    }
}
