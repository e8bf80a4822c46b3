/* Every change without an alert says why. */
#include <math.h>
#include <stdio.h>

#include "core/base/rng.h"
#include "server/services/alerts/withheld.h"
#include "server/services/history/history.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/support/cluster_hooks.h"

/* The newest change of a series, and why it has no alert. */
typedef struct seen {
    int64_t alert_id, position;
    double p, rel_change;
    bool alertable, exact_place;
    char code[32], sentence[256];
} seen;

static void why(seen *out, const pfc_withheld *change)
{
    const char *code = NULL;
    char *sentence = pfc_withheld_sentence(change, &code);

    (void)snprintf(out->code, sizeof(out->code), "%s", code ? code : "");
    (void)snprintf(out->sentence, sizeof(out->sentence), "%s", sentence ? sentence : "");
    free(sentence);
}

/* The newest change of the only series of that benchmark; `changes`: how many it has. */
static seen change_of(pfc_db *db, int64_t p, const char *benchmark, size_t changes)
{
    const pfc_series_filter filter = { .benchmark = benchmark };
    const pfc_window_opts opts = { 0 };
    pfc_series_rows rows = { 0 };
    pfc_window w = { 0 };
    pfc_err err = { 0 };
    seen s = { 0 }, listed = { 0 };

    cr_assert(eq(int, pfc_series_list(db, p, &filter, (pfc_page){ 0 }, &rows, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, rows.len, 1));
    cr_assert(eq(int, pfc_series_window(db, rows.items[0].id, &opts, &w, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, w.changes.len, changes), "%s", benchmark);
    if (changes) {
        const pfc_window_change *c = &w.changes.items[changes - 1];
        const pfc_series *series = &rows.items[0];

        s = (seen){ .alert_id = c->alert_id,
                    .position = c->position,
                    .p = c->p,
                    .rel_change = c->rel_change,
                    .alertable = c->alertable,
                    .exact_place = c->index_low == c->index_high };
        why(&s, &(pfc_withheld){ c->alert_id, c->regression, c->alertable, c->withheld,
                                 c->withheld_detail });
        /* The list of series says the same of its newest change. */
        why(&listed, &(pfc_withheld){ series->change_alert_id, series->change_regression,
                                      series->change_alertable, series->change_withheld,
                                      series->change_withheld_detail_json });
        cr_assert(eq(str, listed.sentence, s.sentence));
    }
    pfc_window_clear(&w);
    pfc_rows_clear(&rows);
    return s;
}

/* One value a commit, first..last. */
static void ingest_values(pfc_db *db, int64_t p, unsigned first, unsigned last,
                          unsigned slower_from, double rel, double noise, uint64_t seed)
{
    pfc_rng rng;

    pfc_rng_seed(&rng, seed);
    for (unsigned n = first; n <= last; n++) {
        const double level = n >= slower_from ? 100 * (1 + rel) : 100;
        pfc_run *run = fx_run(n);

        fx_measure(run, "step", "time_ns", level * exp(noise * pfc_rng_normal(&rng)), 0, 1, 1, n);
        fx_measure(run, "flat", "time_ns", 100, 0.01, 1, 1, n * 31);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
}

/* A step of 1.6 % in a noise of 1 %. With this seed the detector finds p = 3.1e-7, one place, and
 * 54 points lie behind it; the level that the stream of tests has left for the 16th commit is
 * lower. */
Test(withheld, a_firm_change_without_an_alert_says_the_level_that_withholds_it)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    seen s;

    fx_commits(db, p, 1, 70);
    ingest_values(db, p, 1, 70, 16, 0.016, 0.01, 10);
    s = change_of(db, p, "step", 1);
    cr_assert(s.alertable);
    cr_assert(s.exact_place);
    cr_assert(eq(i64, s.position, 16));
    cr_assert(epsilon_eq(dbl, s.p, 3.1e-7, 0.05e-7), "p %g", s.p);
    cr_assert(eq(i64, s.alert_id, 0));
    cr_assert(eq(str, s.code, "fdr"));
    /* LORD++ at test 16, without discoveries, is 6.4e-5 (0.025 x 0.0772 x ln 16 / (16 exp
     * sqrt ln 16)), shared by two series. */
    cr_assert(
        eq(str, s.sentence,
           "no alert: p 0.0055 (3.1e-07 at each of 70 points) is above the level 3.2e-05 that 2 "
           "series of this commit share (FDR 5 %)"));
    pfc_db_close(db);
}

Test(withheld, a_change_that_is_not_firm_says_how_many_points_it_has)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    seen s;

    fx_commits(db, p, 1, 60);
    ingest_values(db, p, 1, 43, 41, 0.2, 0.01, 1);
    s = change_of(db, p, "step", 1);
    cr_assert(not(s.alertable));
    cr_assert(eq(str, s.sentence, "no alert: 3 of 5 points so far"));
    ingest_values(db, p, 44, 50, 41, 0.2, 0.01, 2);
    s = change_of(db, p, "step", 1);
    cr_assert(ne(i64, s.alert_id, 0));
    cr_assert(eq(str, s.sentence, ""));
    pfc_db_close(db);
}

Test(withheld, an_improvement_says_so)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    seen s;

    fx_commits(db, p, 1, 60);
    ingest_values(db, p, 1, 60, 31, -0.1, 0.01, 1);
    s = change_of(db, p, "step", 1);
    cr_assert(eq(str, s.code, "improvement"));
    cr_assert(eq(str, s.sentence, "no alert: it is an improvement"));
    pfc_db_close(db);
}

/* The canary runs the same code in every run. */
Test(withheld, a_step_of_the_canary_is_the_machines)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    seen s;

    fx_commits(db, p, 1, 60);
    for (unsigned n = 1; n <= 60; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "canary", "time_ns", n > 30 ? 110 : 100, 0.005, 9, 3, n * 7);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
    s = change_of(db, p, "canary", 1);
    cr_assert(eq(str, s.code, "machine"));
    pfc_db_close(db);
}

/* The page of a commit lists the same changes as its series. */
Test(withheld, a_commit_lists_its_changes_with_the_same_sentence)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_commit_rows commit = { 0 };
    pfc_commit_changes changes = { 0 };
    pfc_err err = { 0 };
    seen s, listed = { 0 };

    fx_commits(db, p, 1, 60);
    ingest_values(db, p, 1, 43, 41, 0.2, 0.01, 1);
    s = change_of(db, p, "step", 1);
    cr_assert(eq(int, pfc_commits_get(db, p, fx_sha(41), &commit, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_commit_changes_list(db, p, commit.items[0].id, &changes, &err), PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, changes.len, 1));
    cr_assert(eq(str, (char *)changes.items[0].benchmark, "step"));
    why(&listed, &(pfc_withheld){ changes.items[0].alert_id, changes.items[0].regression,
                                  changes.items[0].alertable, changes.items[0].withheld,
                                  changes.items[0].withheld_detail_json });
    cr_assert(eq(str, listed.sentence, s.sentence));
    pfc_rows_clear(&changes);
    pfc_rows_clear(&commit);
    pfc_db_close(db);
}
