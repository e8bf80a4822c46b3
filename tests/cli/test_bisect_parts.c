/*
 * The parts of a local bisection: commits, state file, figures of runs, units of pairs, the plan
 * made from them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bisect/measuring/runs.h"
#include "cli/bisect/planning.h"
#include "core/base/fs.h"
#include "core/bisect/driver.h"

#include "tests/check/check.h"

static const bisect_globs no_globs = { NULL, 0 };

static char *folder;

static void make_folder(void)
{
    cr_assert(eq(int, pfc_fs_temp_dir("pfc-bisect", &folder, NULL), PFC_OK));
}

static void remove_folder(void)
{
    (void)!pfc_fs_remove_tree(folder, NULL);
    free(folder);
}

static char *file_of(const char *text)
{
    char *path = pfc_fs_join(folder, "file");

    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0644, NULL), PFC_OK));
    return path;
}

TestSuite(bisect_parts, .init = make_folder, .fini = remove_folder);

/* ---- commits ---- */

static pfc_code read_commits(const char *text, const char *good, const char *bad,
                             bisect_commits *out, pfc_err *err)
{
    char *globs[] = { "src/*" };
    const bisect_globs list = { globs, 1 };
    char *path = file_of(text);
    pfc_code code = bisect_commits_file(path, good, bad, &list, out, err);

    free(path);
    return code;
}

Test(bisect_parts, a_file_of_commits_has_ids_and_touched_paths)
{
    bisect_commits c = { 0 };

    cr_assert(eq(int,
                 read_commits("a\tdoc/x,src/y\r\n\nb\n\tsrc/z\nc\tdoc/src/x\nd\tsrc/x", NULL, NULL,
                              &c, NULL),
                 PFC_OK));
    cr_assert(eq(sz, c.len, 4));
    cr_assert(c.items[0].touches && !c.items[1].touches && !c.items[2].touches &&
              c.items[3].touches);
    cr_assert(eq(str, c.items[0].id, "a"));
    cr_assert(eq(str, c.items[3].id, "d"));
    bisect_commits_clear(&c);
}

Test(bisect_parts, good_and_bad_select_a_part_with_both_ends)
{
    bisect_commits c = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, read_commits("a\nb\nc\nd\ne\n", "b", "d", &c, &err), PFC_OK));
    cr_assert(c.len == 3 && strcmp(c.items[0].id, "b") == 0 && strcmp(c.items[2].id, "d") == 0);
    bisect_commits_clear(&c);
    cr_assert(eq(int, read_commits("a\nb\n", "b", NULL, &c, &err), PFC_EINVAL));
    cr_assert(not(zero(ptr, strstr(err.msg, "at least two commits"))));
    bisect_commits_clear(&c);
    cr_assert(eq(int, read_commits("a\nb\nc\n", "c", "a", &c, &err), PFC_EINVAL));
    cr_assert(not(zero(ptr, strstr(err.msg, "--good a --bad c?"))), "%s", err.msg);
    bisect_commits_clear(&c);
    cr_assert(eq(int, read_commits("a\nb\nc\n", "x", NULL, &c, &err), PFC_ENOTFOUND));
    cr_assert(not(zero(ptr, strstr(err.msg, "--good: x"))));
    bisect_commits_clear(&c);
    cr_assert(eq(int, read_commits("a\nb\nc\n", NULL, "x", &c, &err), PFC_ENOTFOUND));
    cr_assert(not(zero(ptr, strstr(err.msg, "--bad: x"))));
    bisect_commits_clear(&c);
    cr_assert(eq(int, read_commits("", NULL, NULL, &c, &err), PFC_EINVAL));
    bisect_commits_clear(&c);
    cr_assert(eq(int, read_commits("b\na\nc\nb\n", NULL, NULL, &c, &err), PFC_EINVAL));
    cr_assert(not(zero(ptr, strstr(err.msg, "b occurs twice"))));
    bisect_commits_clear(&c);
}

/* At most 64 printable characters; the message counts empty lines. */
Test(bisect_parts, ids_have_their_limits)
{
    char id[BISECT_MAX_ID + 2] = "";
    bisect_commits c = { 0 };
    pfc_err err = { 0 };

    memset(id, 'a', BISECT_MAX_ID);
    cr_assert(bisect_is_id(id));
    id[BISECT_MAX_ID] = 'a';
    cr_assert(not(bisect_is_id(id)));
    cr_assert(not(bisect_is_id("")));
    cr_assert(bisect_is_id("!~"));
    cr_assert(not(bisect_is_id("a b")));
    cr_assert(not(bisect_is_id("a\x7f")));
    cr_assert(eq(int, read_commits("a\n\nb c\n", NULL, NULL, &c, &err), PFC_EINVAL));
    cr_assert(not(zero(ptr, strstr(err.msg, "line 3"))));
    bisect_commits_clear(&c);
    cr_assert(eq(int, bisect_commits_file("/nonexistent", NULL, NULL, &no_globs, &c, &err),
                 PFC_ENOTFOUND));
}

/* ---- the state file ---- */

static bisect_state state_of(const char *key)
{
    bisect_state state = { .path = pfc_format("%s/new/state.json", folder) };

    snprintf(state.key, sizeof(state.key), "%s", key);
    return state;
}

Test(bisect_parts, a_state_file_keeps_every_field)
{
    const bisect_run runs[] = {
        { .kind = PFC_OUTCOME_MEASURED,
          .value = 1.5,
          .higher_is_better = true,
          .exact = true,
          .built = true,
          .build_s = 2,
          .measure_s = 3 },
        { .commit = 4, .build = 7, .kind = PFC_OUTCOME_BROKEN, .confirm = true },
        { .commit = 2,
          .kind = PFC_OUTCOME_MEASURED,
          .value = 2,
          .undirected = true,
          .unit = 9,
          .reference = true,
          .link = true },
        { .kind = PFC_OUTCOME_FAILED },
        { .kind = PFC_OUTCOME_TIMED_OUT },
    };
    bisect_state a = state_of("k"), b = state_of("k"), other = state_of("l");
    pfc_err err = { 0 };
    bool found = true;

    cr_assert(eq(int, bisect_state_load(&b, 5, &found, &err), PFC_OK));
    cr_assert(not(found));
    a.seconds = 12.5;
    a.refuted = 1;
    for (size_t i = 0; i < PFC_ARRAY_LEN(runs); i++)
        bisect_state_add(&a, &runs[i]);
    cr_assert(eq(int, bisect_state_save(&a, &err), PFC_OK));
    cr_assert(eq(int, bisect_state_load(&b, 5, &found, &err), PFC_OK));
    cr_assert(found && b.len == a.len && b.refuted == 1 && !b.paired);
    cr_assert(eq(dbl, b.seconds, 12.5));
    for (size_t i = 0; i < b.len; i++) {
        const bisect_run *x = &runs[i], *y = &b.runs[i];

        cr_assert(x->commit == y->commit && x->build == y->build && x->kind == y->kind, "run %zu",
                  i);
        cr_assert(x->higher_is_better == y->higher_is_better && x->exact == y->exact &&
                      x->built == y->built,
                  "run %zu", i);
        cr_assert(x->undirected == y->undirected && x->confirm == y->confirm && x->unit == y->unit,
                  "run %zu", i);
        cr_assert(x->reference == y->reference && x->link == y->link, "run %zu", i);
        cr_assert(eq(dbl, x->value, y->value));
        cr_assert(x->build_s == y->build_s && x->measure_s == y->measure_s);
    }
    cr_assert(eq(int, bisect_state_load(&other, 5, &found, &err), PFC_OK));
    cr_assert(not(found));
    cr_assert(eq(sz, other.len, 0));
    a.paired = true;
    bisect_state_clear(&b);
    b = state_of("k");
    cr_assert(eq(int, bisect_state_save(&a, &err), PFC_OK));
    cr_assert(eq(int, bisect_state_load(&b, 5, &found, &err), PFC_OK));
    cr_assert(b.paired);
    /* Commit 4 does not exist among four. */
    bisect_state_clear(&b);
    b = state_of("k");
    cr_assert(eq(int, bisect_state_load(&b, 4, &found, &err), PFC_EINVAL));
    bisect_state_clear(&a);
    bisect_state_clear(&b);
    bisect_state_clear(&other);
}

Test(bisect_parts, a_damaged_state_file_is_an_error_and_another_version_is_none)
{
    static const char *const bad[] = {
        "{",
        "{\"version\":2}",
        "{\"version\":2,\"key\":\"k\",\"seconds\":1,\"refuted\":0,\"steps\":[{\"commit\":0,"
        "\"build\":0}]}",
        "{\"version\":2,\"key\":\"k\",\"seconds\":1,\"refuted\":0,\"steps\":[{\"commit\":0,"
        "\"build\":0,\"outcome\":\"done\"}]}",
    };
    static const char other[] = "{\"version\":4,\"key\":\"k\"}";
    bool found = true;
    pfc_err err = { 0 };

    for (size_t i = 0; i <= PFC_ARRAY_LEN(bad); i++) {
        const bool damaged = i < PFC_ARRAY_LEN(bad);
        bisect_state state = { .path = file_of(damaged ? bad[i] : other), .key = "k" };

        cr_assert(
            eq(int, bisect_state_load(&state, 5, &found, &err), damaged ? PFC_EINVAL : PFC_OK),
            "text %zu", i);
        cr_assert(damaged || !found);
        bisect_state_clear(&state);
    }
}

/* ---- figures ---- */

static void measured(bisect_state *state, size_t commit, unsigned build, double value)
{
    bisect_state_add(state, &(bisect_run){ .commit = commit,
                                           .build = build,
                                           .kind = PFC_OUTCOME_MEASURED,
                                           .value = value });
}

/* Median 3 and median deviation 1, so noise 1.4826 / 3. */
Test(bisect_parts, a_side_has_median_noise_builds_and_layouts)
{
    bisect_state s = { 0 };
    bisect_side side;

    bisect_state_add(&s, &(bisect_run){ .commit = 1, .kind = PFC_OUTCOME_FAILED, .build = 5 });
    side = bisect_side_of(&s, 1);
    cr_assert(side.runs == 0 && side.builds == 0 && isnan(side.median) && isnan(side.noise_rel));
    measured(&s, 1, 0, 2);
    measured(&s, 1, 0, 3);
    measured(&s, 2, 0, 900);
    side = bisect_side_of(&s, 1);
    cr_assert(side.runs == 2 && side.builds == 1 && side.layouts == 0 && isnan(side.noise_rel));
    measured(&s, 1, 2, 4);
    measured(&s, 1, 2, 3);
    measured(&s, 1, 1, 9);
    side = bisect_side_of(&s, 1);
    cr_assert(side.commit == 1 && side.runs == 5 && side.builds == 3 && side.layouts == 2);
    cr_assert(eq(dbl, side.median, 3));
    cr_assert(epsilon_eq(dbl, side.noise_rel, 1.4826 / 3, 1e-12));
    cr_assert(eq(ptr, (void *)bisect_first_measured(&s), &s.runs[1]));
    bisect_state_clear(&s);
}

Test(bisect_parts, three_runs_are_the_fewest_with_a_noise)
{
    bisect_state s = { 0 };

    measured(&s, 0, 0, 1);
    measured(&s, 0, 0, 1);
    cr_assert(isnan(bisect_side_of(&s, 0).noise_rel));
    measured(&s, 0, 0, 2);
    cr_assert(eq(dbl, bisect_side_of(&s, 0).noise_rel, 0));
    bisect_state_clear(&s);
}

/* The first build of 8 s against the first run of 2 s; at most 1000. */
Test(bisect_parts, the_cost_of_a_build_comes_from_the_first_of_each)
{
    bisect_state s = { 0 };
    bisect_costs costs;

    cr_assert(eq(dbl, bisect_build_cost(&s), 0));
    cr_assert(bisect_first_measured(&s) == NULL);
    bisect_state_add(
        &s,
        &(bisect_run){ .kind = PFC_OUTCOME_BROKEN, .built = true, .build_s = 8, .measure_s = 1 });
    cr_assert(eq(dbl, bisect_build_cost(&s), 0));
    bisect_state_add(&s, &(bisect_run){ .kind = PFC_OUTCOME_MEASURED, .value = 1, .measure_s = 2 });
    cr_assert(eq(dbl, bisect_build_cost(&s), 4));
    bisect_state_add(&s, &(bisect_run){ .kind = PFC_OUTCOME_MEASURED,
                                        .value = 1,
                                        .built = true,
                                        .confirm = true,
                                        .build_s = 2,
                                        .measure_s = 4 });
    cr_assert(eq(dbl, bisect_build_cost(&s), 4));
    costs = bisect_costs_of(&s);
    cr_assert(eq(dbl, costs.measure_s, 3));
    cr_assert(eq(dbl, costs.build_s, 5));
    cr_assert(bisect_confirm_runs(&s) == 1 && bisect_build_count(&s) == 2);
    s.runs[0].build_s = 2001;
    cr_assert(eq(dbl, bisect_build_cost(&s), 1000));
    bisect_state_clear(&s);
}

/* ---- units ---- */

Test(bisect_parts, pairs_of_a_confirmation_become_units)
{
    static const struct {
        size_t commit;
        pfc_outcome_kind kind;
        bool confirm;
        unsigned unit;
        bool reference;
    } rows[] = {
        { 3, PFC_OUTCOME_MEASURED, false, 7, false }, { 4, PFC_OUTCOME_MEASURED, true, 8, false },
        { 3, PFC_OUTCOME_FAILED, true, 0, false },    { 3, PFC_OUTCOME_MEASURED, true, 8, true },
        { 3, PFC_OUTCOME_MEASURED, true, 0, false },  { 3, PFC_OUTCOME_MEASURED, true, 9, true },
        { 4, PFC_OUTCOME_MEASURED, true, 9, false },  { 4, PFC_OUTCOME_MEASURED, true, 0, false },
    };
    bisect_state s = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        bisect_state_add(&s, &(bisect_run){ .commit = rows[i].commit,
                                            .kind = rows[i].kind,
                                            .confirm = rows[i].confirm,
                                            .unit = i == 0 ? 7 : 0 });
    bisect_units_adopt(&s);
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        cr_assert(eq(uint, s.runs[i].unit, rows[i].unit), "run %zu", i);
        cr_assert(eq(int, s.runs[i].reference, rows[i].reference), "run %zu", i);
        cr_assert(eq(int, s.runs[i].link, rows[i].unit > 7), "run %zu", i);
    }
    bisect_state_clear(&s);
}

/* x r r x: 110 / 100 and 112 / 100 give their mean in logarithms. The first units have three pairs.
 */
Test(bisect_parts, a_unit_gives_a_ratio_to_the_good_commit)
{
    const pfc_bisect_step question = { .commit = 5, .build = 1 };
    bisect_units u = { 0 };
    bisect_state s = { 0 };
    bisect_ratio out[2];
    size_t given = 0, runs = 0;
    double *ones, *ratios;

    while (!given) {
        bisect_run run = bisect_units_next(&u, &s, &question);

        cr_assert(eq(uint, run.unit, 1));
        cr_assert(eq(sz, run.commit, run.reference ? 0 : 5));
        cr_assert(eq(uint, run.build, run.reference ? 0 : 1));
        run.kind = PFC_OUTCOME_MEASURED;
        run.value = run.reference ? 100 : 110;
        given = bisect_units_add(&u, &run, out);
        bisect_state_add(&s, &run);
        runs++;
        cr_assert(eq(int, bisect_units_open(&u), !given));
    }
    cr_assert(eq(sz, runs, 6));
    cr_assert(given == 1 && out[0].commit == 5 && out[0].build == 1);
    cr_assert(epsilon_eq(dbl, out[0].ratio, 1.1, 1e-12));
    cr_assert(eq(uint, bisect_units_next(&u, &s, &question).unit, 2));
    cr_assert(eq(sz, bisect_units_of(&u, 5, &ones, &ratios), 1));
    cr_assert(ones[0] == 1 && fabs(ratios[0] - 1.1) < 1e-12);
    free(ones);
    free(ratios);
    /* A pair of a confirmation: commit 6 is 1.2 times commit 5. */
    cr_assert(eq(sz,
                 bisect_units_add(
                     &u, &(bisect_run){ .commit = 6, .unit = 2, .link = true, .value = 60 }, out),
                 0));
    cr_assert(eq(
        sz,
        bisect_units_add(
            &u,
            &(bisect_run){ .commit = 5, .unit = 2, .link = true, .reference = true, .value = 50 },
            out),
        1));
    cr_assert(out[0].commit == 6 && fabs(out[0].ratio - 1.1 * 1.2) < 1e-12);
    /* Of a commit without a unit nothing is known. */
    cr_assert(eq(sz,
                 bisect_units_add(
                     &u, &(bisect_run){ .commit = 9, .unit = 3, .link = true, .value = 60 }, out),
                 0));
    cr_assert(eq(
        sz,
        bisect_units_add(
            &u,
            &(bisect_run){ .commit = 8, .unit = 3, .link = true, .reference = true, .value = 50 },
            out),
        0));
    cr_assert(eq(sz, u.len, 2));
    /* Single runs from before are no part of a unit. */
    cr_assert(eq(sz, bisect_units_add(&u, &(bisect_run){ .commit = 5, .value = 1 }, out), 0));
    cr_assert(not(bisect_units_open(&u)));
    cr_assert(isnan(bisect_units_noise(&u)));
    bisect_units_clear(&u);
    bisect_state_clear(&s);
}

/* ---- the plan ---- */

typedef struct bench {
    bisect_opts opts;
    bisect_commit items[9];
    bisect_axis axis;
    bisect_measuring measuring;
    bisect_state state;
    bisect_planning planning;
} bench;

static void bench_init(bench *b)
{
    *b = (bench){ 0 };
    b->axis.commits = (bisect_commits){ b->items, 9, 9 };
    b->measuring.how.metric = "value";
    b->planning = (bisect_planning){
        .opts = &b->opts, .axis = &b->axis, .measuring = &b->measuring, .state = &b->state
    };
    cr_assert(eq(int, bisect_planning_remake(&b->planning, NULL), PFC_OK));
}

static void bench_add(bench *b, const bisect_run *run)
{
    bisect_state_add(&b->state, run);
    cr_assert(eq(int, bisect_planning_update(&b->planning, run, NULL), PFC_OK));
}

static void bench_clear(bench *b)
{
    bisect_planning_clear(&b->planning);
    bisect_state_clear(&b->state);
}

static size_t runs_of(const bench *b)
{
    pfc_bisect_report report;
    size_t runs;

    pfc_bisect_report_get(b->planning.plan, &report);
    runs = report.runs;
    pfc_bisect_report_clear(&report);
    return runs;
}

/* The loop repeats a failed run of an end, so the plan does not count it; of others three are a
 * skip. */
Test(bisect_parts, failed_runs_of_an_end_are_not_for_the_plan)
{
    bench b;

    bench_init(&b);
    for (size_t i = 0; i < 4; i++) {
        bench_add(&b, &(bisect_run){ .kind = PFC_OUTCOME_FAILED });
        bench_add(&b, &(bisect_run){ .commit = 8, .kind = PFC_OUTCOME_FAILED });
    }
    cr_assert(eq(sz, runs_of(&b), 0));
    bench_add(&b, &(bisect_run){ .commit = 1, .kind = PFC_OUTCOME_FAILED });
    bench_add(&b, &(bisect_run){ .commit = 7, .kind = PFC_OUTCOME_TIMED_OUT });
    cr_assert(eq(sz, runs_of(&b), 2));
    bench_add(&b, &(bisect_run){
                      .commit = 3, .kind = PFC_OUTCOME_MEASURED, .value = 1, .confirm = true });
    cr_assert(eq(sz, runs_of(&b), 2));
    bench_clear(&b);
}

/* A stated direction counts; without any the bad commit is the worse one. */
Test(bisect_parts, the_direction_comes_from_the_metric_or_from_the_ends)
{
    bench b;

    bench_init(&b);
    bench_add(&b,
              &(bisect_run){ .kind = PFC_OUTCOME_MEASURED, .value = 10, .higher_is_better = true });
    cr_assert(b.planning.higher_is_better);
    bench_clear(&b);

    bench_init(&b);
    bench_add(&b, &(bisect_run){ .kind = PFC_OUTCOME_MEASURED, .value = 10, .undirected = true });
    cr_assert(not(b.planning.higher_is_better));
    bench_add(&b, &(bisect_run){
                      .commit = 8, .kind = PFC_OUTCOME_MEASURED, .value = 9, .undirected = true });
    cr_assert(b.planning.higher_is_better);
    bench_clear(&b);

    bench_init(&b);
    b.measuring.how.has_direction = true;
    bench_add(&b,
              &(bisect_run){ .kind = PFC_OUTCOME_MEASURED, .value = 10, .higher_is_better = true });
    cr_assert(not(b.planning.higher_is_better));
    bench_clear(&b);
}

/* Exact values decide with one run of each end. */
Test(bisect_parts, the_first_run_tells_that_a_metric_is_exact)
{
    pfc_bisect_step next;
    bench b;

    bench_init(&b);
    bench_add(&b, &(bisect_run){ .kind = PFC_OUTCOME_MEASURED, .value = 10, .exact = true });
    bench_add(
        &b, &(bisect_run){ .commit = 8, .kind = PFC_OUTCOME_MEASURED, .value = 11, .exact = true });
    pfc_bisect_next(b.planning.plan, &next);
    cr_assert(next.commit == 4 && next.expected_gain_bits == 1);
    bench_clear(&b);
}

Test(bisect_parts, confirmation_is_the_default_with_checkouts)
{
    bisect_opts o = { 0 };

    cr_assert(bisect_confirms(&o));
    o.no_checkout = true;
    cr_assert(not(bisect_confirms(&o)));
    o.confirm = 1;
    cr_assert(bisect_confirms(&o));
    o.no_checkout = false;
    o.confirm = -1;
    cr_assert(not(bisect_confirms(&o)));
}

Test(bisect_parts, a_question_takes_two_runs_in_pairs)
{
    bench b;

    bench_init(&b);
    cr_assert(eq(dbl, bisect_runs_per_question(&b.planning), 1));
    b.state.paired = true;
    cr_assert(eq(dbl, bisect_runs_per_question(&b.planning), 2));
    bench_clear(&b);
}
