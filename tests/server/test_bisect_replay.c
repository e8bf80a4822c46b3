/* The replay of a bisection: the posterior after each step, which ends where the search ended. */
#include <math.h>

#include "server/services/bisect/bisect.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/server/fleet.h"

Test(bisect_replay, ends_with_the_posterior_of_the_search_and_begins_without_a_suspect)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);
    const pfc_bisection_order order = fleet_whole_line();
    pfc_bisection_replay replay = { 0 };
    pfc_bisection_detail detail = { 0 };
    size_t most = 0;
    pfc_err err = { 0 };
    int64_t id;

    f.broken = CULPRIT - 3;
    id = fleet_start(&f, &order);
    fleet_work(&f, 2, &most);
    fleet_assert_found(&f, id, CULPRIT);
    cr_assert(eq(int, pfc_bisection_replay_get(db, f.project, id, &replay, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_bisection_detail_get(db, f.project, id, &detail, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, replay.places, COMMITS));
    cr_assert(eq(sz, replay.commits_per_place, 1));
    cr_assert(eq(sz, replay.steps_len, detail.steps.len));
    cr_expect(lt(dbl, replay.steps[0].posterior[CULPRIT - 1], 0.05));
    for (size_t i = 0; i < replay.steps_len; i++) {
        const pfc_bisection_replayed *s = &replay.steps[i];
        const pfc_bisection_step *row = &detail.steps.items[i];

        cr_expect(eq(i64, s->n, row->n));
        cr_expect(eq(str, (char *)(uintptr_t)s->commit, (char *)(uintptr_t)row->commit));
        cr_expect(eq(str, (char *)(uintptr_t)s->state, (char *)(uintptr_t)row->state));
        cr_expect(eq(int, isnan(s->value) != 0, strcmp(s->state, "measured") != 0));
        cr_expect(ne(ptr, s->posterior, NULL));
    }
    for (size_t i = 0; i < COMMITS; i++)
        cr_expect(epsilon_eq(dbl, replay.steps[replay.steps_len - 1].posterior[i],
                             detail.posterior[i], 1e-9),
                  "%zu", i);
    pfc_bisection_replay_clear(&replay);
    pfc_bisection_detail_clear(&detail);
    pfc_db_close(db);
}

/* Words: all of them, in any case, anywhere in names, ends, culprits and verdict. */
Test(bisect_replay, the_list_is_searched_by_words)
{
    static const struct {
        const char *words;
        size_t rows;
    } asked[] = {
        { "TIME_ns", 1 }, { "gemm/a found", 1 }, { "gemm/a inconclusive", 0 }, { "", 1 }
    };
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);
    const pfc_bisection_order order = fleet_whole_line();
    pfc_bisections rows = { 0 };
    size_t most = 0;
    pfc_err err = { 0 };

    fleet_start(&f, &order);
    fleet_work(&f, 2, &most);
    for (size_t i = 0; i < PFC_ARRAY_LEN(asked); i++) {
        cr_assert(
            eq(int,
               pfc_bisections_list(db, f.project, asked[i].words, (pfc_page){ 0 }, &rows, &err),
               PFC_OK),
            "%s", err.msg);
        cr_expect(eq(sz, rows.len, asked[i].rows), "%s", asked[i].words);
        pfc_rows_clear(&rows);
    }
    pfc_db_close(db);
}

/* Beyond 300 commits several share a place, and none of their probability is lost. */
Test(bisect_replay, commits_of_a_long_range_share_places)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    fleet f = fleet_begin(db);
    const pfc_bisection_order order = fleet_whole_line();
    pfc_bisection_replay replay = { 0 };
    double sum = 0;
    size_t most = 0;
    pfc_err err = { 0 };
    const int64_t id = fleet_start(&f, &order);

    fleet_work(&f, 2, &most);
    pfc_test_sql(url, "UPDATE bisections SET prior = NULL, line = line || "
                      "(SELECT array_agg(md5(i::text)) FROM generate_series(1, 600) i)");
    cr_assert(eq(int, pfc_bisection_replay_get(db, f.project, id, &replay, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, replay.commits_per_place, 3));
    cr_assert(eq(sz, replay.places, (600 + COMMITS + 2) / 3));
    for (size_t i = 0; i < replay.places; i++)
        sum += replay.steps[0].posterior[i];
    cr_expect(le(dbl, sum, 1.0 + 1e-9));
    cr_expect(gt(dbl, replay.steps[replay.steps_len - 1].posterior[(CULPRIT - 1) / 3], 0.9));
    cr_expect(
        eq(sz, replay.steps[1].place, (size_t)((replay.steps[1].n == 1 ? 0 : COMMITS - 1) / 3)));
    pfc_bisection_replay_clear(&replay);
    pfc_db_close(db);
    free(url);
}
