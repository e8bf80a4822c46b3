/* The verdict of a session for each commit, from boundaries written by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/services/sessions/report.h"

#include "tests/check/check.h"

enum { BUILDS = 4, COMMITS = 3 }; /* base 10, then 11, 12 and 13 */

/* One or two series with up to three boundaries each, over the same builds. */
typedef struct made {
    pfc_session_build builds[BUILDS];
    pfc_block_level levels[BUILDS];
    pfc_boundary raw[2][COMMITS];
    pfc_session_boundary boundaries[2][COMMITS];
    pfc_session_series series[2];
    pfc_session_judgement judgement;
    pfc_session_commit_row rows[COMMITS];
    pfc_session_commit_rows commits;
    pfc_session_row session;
} made;

static void make(made *m)
{
    static const char *const names[] = { "base", "one", "two", "three" };

    memset(m, 0, sizeof(*m));
    for (size_t i = 0; i < BUILDS; i++) {
        m->builds[i] = (pfc_session_build){ .commit_id = 10 + (int64_t)i, .commit = names[i] };
        m->levels[i].visits = 5;
    }
    for (size_t i = 0; i < COMMITS; i++)
        m->rows[i] = (pfc_session_commit_row){ .commit = names[i + 1],
                                               .status = "measured",
                                               .commit_id = 11 + (int64_t)i,
                                               .needs_s = (double)NAN };
    for (size_t s = 0; s < 2; s++)
        m->series[s] = (pfc_session_series){ .id = 70 + (int64_t)s,
                                             .benchmark = "b",
                                             .metric = "time_ns",
                                             .backend = "",
                                             .judged = true,
                                             .boundaries = m->boundaries[s],
                                             .fit = { .levels = m->levels, .levels_len = BUILDS } };
    m->commits = (pfc_session_commit_rows){ .items = m->rows, .len = COMMITS };
    m->judgement = (pfc_session_judgement){
        .builds = m->builds, .builds_len = BUILDS, .series = m->series, .series_len = 1
    };
    m->session.spent_s = 100;
}

/* The next boundary of series s: build `to` against the one before it. */
static pfc_session_boundary *add(made *m, size_t s, size_t to, pfc_verdict verdict, bool regression,
                                 double change)
{
    const size_t i = m->series[s].boundaries_len++;

    m->raw[s][i] = (pfc_boundary){ .from = to - 1,
                                   .to = to,
                                   .rel_change = change,
                                   .rel_low = change - 0.01,
                                   .rel_high = change + 0.01,
                                   .any_low = change - 0.015,
                                   .any_high = change + 0.015 };
    m->boundaries[s][i] =
        (pfc_session_boundary){ .b = &m->raw[s][i], .verdict = verdict, .regression = regression };
    m->judgement.series_len = PFC_MAX(m->judgement.series_len, s + 1);
    return &m->boundaries[s][i];
}

static pfc_session_verdict verdict_of(const made *m, size_t commit)
{
    pfc_session_verdict *all = pfc_session_verdicts(&m->session, &m->commits, &m->judgement);
    pfc_session_verdict one = all[commit];

    free(all);
    return one;
}

#define WORD(m, commit) ((char *)(uintptr_t)verdict_of(m, commit).word)

Test(verdicts, one_series_that_regressed_is_slower_whatever_the_others_say)
{
    made m;
    pfc_session_verdict v;

    make(&m);
    add(&m, 0, 1, PFC_VERDICT_DIFFERENT, false, -0.2);
    add(&m, 1, 1, PFC_VERDICT_DIFFERENT, true, 0.05);
    v = verdict_of(&m, 0);
    cr_assert(eq(str, (char *)(uintptr_t)v.word, "slower"));
    cr_assert(eq(i64, v.worst_series->id, 71)); /* the regression, though the gain is larger */
    cr_assert(isnan(v.within));
    cr_assert(isnan(v.needs_s));
}

/* Of a throughput the worse direction is down; the word is "slower" all the same. */
Test(verdicts, a_throughput_that_fell_is_slower)
{
    made m;

    make(&m);
    m.series[0].higher_is_better = true;
    add(&m, 0, 1, PFC_VERDICT_DIFFERENT, true, -0.1);
    cr_assert(eq(str, WORD(&m, 0), "slower"));
}

Test(verdicts, faster_counts_more_than_undecided)
{
    made m;

    make(&m);
    add(&m, 0, 1, PFC_VERDICT_DIFFERENT, false, -0.1);
    add(&m, 1, 1, PFC_VERDICT_INCONCLUSIVE, true, 0.3);
    cr_assert(eq(str, WORD(&m, 0), "faster"));
    cr_assert(eq(i64, verdict_of(&m, 0).worst_series->id, 70)); /* what is sure */
}

/* Ends of the intervals: 0.004 + 0.015 and -0.008 - 0.015. */
Test(verdicts, same_says_the_largest_end_of_its_intervals)
{
    made m;

    make(&m);
    add(&m, 0, 2, PFC_VERDICT_SAME, false, 0.004);
    add(&m, 1, 2, PFC_VERDICT_SAME, false, -0.008);
    cr_assert(eq(str, WORD(&m, 1), "same"));
    cr_assert(epsilon_eq(dbl, verdict_of(&m, 1).within, 0.023, 1e-12));
    m.series[1].exact = true;
    cr_assert(epsilon_eq(dbl, verdict_of(&m, 1).within, 0.019, 1e-12));
}

/* The night stopped measuring it: the fit's interval lies within the margin, 0.004 + 0.01. */
Test(verdicts, what_the_fit_leaves_within_the_margin_is_the_same_unless_the_session_needs_more)
{
    made m;

    make(&m);
    add(&m, 0, 2, PFC_VERDICT_INCONCLUSIVE, false, 0.004)->within = true;
    cr_assert(eq(str, WORD(&m, 1), "same"));
    cr_assert(epsilon_eq(dbl, verdict_of(&m, 1).within, 0.014, 1e-12));
    m.rows[1].needs_s = 45;
    cr_assert(eq(str, WORD(&m, 1), "undecided"));
}

/* 100 s for 20 visits: a round of two builds has 4 visits, 20 s. The wider boundary needs 3 rounds.
 */
Test(verdicts, one_open_series_leaves_the_commit_undecided_with_the_time_it_needs)
{
    made m;

    make(&m);
    add(&m, 0, 2, PFC_VERDICT_SAME, false, 0.001);
    add(&m, 1, 2, PFC_VERDICT_INCONCLUSIVE, false, 0.02);
    m.raw[1][0].more = 3;
    cr_assert(eq(str, WORD(&m, 1), "undecided"));
    cr_assert(epsilon_eq(dbl, verdict_of(&m, 1).needs_s, 60, 1e-9));
    m.rows[1].needs_s = 45; /* the session's own word counts more */
    cr_assert(epsilon_eq(dbl, verdict_of(&m, 1).needs_s, 45, 1e-9));
}

/* The most of what its boundaries need, and one round at least. */
Test(verdicts, an_open_commit_needs_a_round_at_least_and_the_most_that_a_series_needs)
{
    made m;

    make(&m);
    add(&m, 0, 2, PFC_VERDICT_INCONCLUSIVE, false, 0.02);
    cr_assert(epsilon_eq(dbl, verdict_of(&m, 1).needs_s, 20, 1e-9));
    m.raw[0][0].more = 4;
    add(&m, 1, 2, PFC_VERDICT_INCONCLUSIVE, false, 0.02);
    m.raw[1][0].more = 2;
    cr_assert(epsilon_eq(dbl, verdict_of(&m, 1).needs_s, 80, 1e-9));
    m.raw[0][0].more = 999999;
    cr_assert(epsilon_eq(dbl, verdict_of(&m, 1).needs_s, 20.0 * 999999, 1e-3));
    m.raw[0][0].more = 1000000; /* no number of rounds decides it */
    cr_assert(isnan(verdict_of(&m, 1).needs_s));
}

Test(verdicts, a_commit_without_a_boundary_is_undecided_and_without_values_what_the_session_said)
{
    made m;

    make(&m);
    cr_assert(eq(str, WORD(&m, 0), "undecided"));
    cr_assert(isnan(verdict_of(&m, 0).needs_s));
    m.rows[0].status = "broken";
    m.rows[1].status = "not_measured";
    m.rows[2].status = "identical";
    m.rows[2].same_as_id = 10;
    cr_assert(eq(str, WORD(&m, 0), "broken"));
    cr_assert(eq(str, WORD(&m, 1), "not_measured"));
    cr_assert(eq(str, WORD(&m, 2), "identical"));
}

Test(verdicts, a_series_that_a_rule_leaves_out_does_not_count)
{
    made m;

    make(&m);
    add(&m, 0, 1, PFC_VERDICT_SAME, false, 0.001);
    add(&m, 1, 1, PFC_VERDICT_DIFFERENT, true, 0.5);
    m.series[1].judged = false;
    cr_assert(eq(str, WORD(&m, 0), "same"));
}

/* One and two are one program, which was built as two: the boundary is where it came in. */
Test(verdicts, the_boundary_of_identical_commits_is_the_first_ones)
{
    made m;

    make(&m);
    m.rows[0].status = "identical";
    m.rows[0].same_as_id = 12;
    add(&m, 0, 2, PFC_VERDICT_DIFFERENT, true, 0.1);
    add(&m, 0, 3, PFC_VERDICT_SAME, false, 0.001);
    cr_assert(eq(str, WORD(&m, 0), "slower"));
    cr_assert(eq(str, WORD(&m, 1), "identical"));
    cr_assert(eq(str, WORD(&m, 2), "same"));
    cr_assert(eq(str, (char *)(uintptr_t)pfc_session_owner(&m.commits, &m.judgement, 2), "one"));
    cr_assert(eq(str, (char *)(uintptr_t)pfc_session_owner(&m.commits, &m.judgement, 3), "three"));
    cr_assert(eq(str, (char *)(uintptr_t)pfc_session_owner(&m.commits, &m.judgement, 0), "base"));

    /* The usual case: the first was built, and the one after it is the same. */
    make(&m);
    m.rows[1].status = "identical";
    m.rows[1].same_as_id = 11;
    add(&m, 0, 1, PFC_VERDICT_DIFFERENT, true, 0.1);
    cr_assert(eq(str, WORD(&m, 0), "slower"));
    cr_assert(eq(str, WORD(&m, 1), "identical"));
}
