/* Which changes belong together, and which stored change a new one is: ranges at and beyond
 * their ends. */
#include <stdlib.h>

#include "server/services/alerts/alerts.h"
#include "server/services/detect/known_changes.h"

#include "tests/check/check.h"

/* ---- clusters ---- */

#define ITEMS 4

/* Numbers the clusters of changes, sharpest first, each {position, low, high}. */
static size_t cluster(const int64_t ranges[][3], size_t n, pfc_clustered *items,
                      pfc_clustered **list)
{
    for (size_t i = 0; i < n; i++) {
        items[i] =
            (pfc_clustered){ .position = ranges[i][0], .low = ranges[i][1], .high = ranges[i][2] };
        list[i] = &items[i];
    }
    return pfc_clusters_make(list, n);
}

Test(clusters, changes_with_a_commit_in_common_are_one_and_neighbours_are_not)
{
    static const struct {
        int64_t ranges[ITEMS][3];
        size_t n, clusters, expected[ITEMS];
    } rows[] = {
        /* One common commit, at either end. */
        { { { 5, 5, 5 }, { 4, 3, 5 } }, 2, 1, { 0, 0 } },
        { { { 5, 5, 5 }, { 6, 5, 7 } }, 2, 1, { 0, 0 } },
        { { { 5, 5, 5 }, { 4, 3, 4 } }, 2, 2, { 0, 1 } },
        { { { 5, 5, 5 }, { 6, 6, 7 } }, 2, 2, { 0, 1 } },
        /* All of a cluster: the third meets the first and second, but not what they share. */
        { { { 5, 4, 6 }, { 6, 6, 8 }, { 4, 3, 5 } }, 3, 2, { 0, 0, 1 } },
        { { { 6, 4, 6 }, { 4, 2, 4 }, { 6, 5, 7 } }, 3, 2, { 0, 0, 1 } },
        /* A change that matches two goes to the nearer one, from below and from above; a tie to the
         * first. */
        { { { 10, 10, 10 }, { 20, 20, 20 }, { 14, 9, 21 } }, 3, 2, { 0, 1, 0 } },
        { { { 10, 10, 10 }, { 20, 20, 20 }, { 16, 9, 21 } }, 3, 2, { 0, 1, 1 } },
        { { { 10, 10, 10 }, { 20, 20, 20 }, { 15, 9, 21 } }, 3, 2, { 0, 1, 0 } },
        { { { 20, 20, 20 }, { 10, 10, 10 }, { 9, 8, 21 } }, 3, 2, { 0, 1, 1 } },
    };

    for (size_t r = 0; r < PFC_ARRAY_LEN(rows); r++) {
        pfc_clustered items[ITEMS];
        pfc_clustered *list[ITEMS];

        cr_expect(eq(sz, cluster(rows[r].ranges, rows[r].n, items, list), rows[r].clusters), "%zu",
                  r);
        for (size_t i = 0; i < rows[r].n; i++)
            cr_expect(eq(sz, items[i].cluster, rows[r].expected[i]), "row %zu change %zu", r, i);
    }
}

Test(clusters, have_the_place_of_their_sharpest_change_and_are_judged_oldest_first)
{
    static const int64_t ranges[][3] = {
        { 30, 30, 30 }, { 10, 10, 11 }, { 12, 9, 12 }, { 20, 18, 22 }
    };
    pfc_clustered items[ITEMS];
    pfc_clustered *list[ITEMS];
    size_t *order;

    cr_assert(eq(sz, cluster(ranges, 4, items, list), 3));
    cr_expect(eq(i64, pfc_cluster_position(list, 4, 0), 30));
    cr_expect(eq(i64, pfc_cluster_position(list, 4, 1), 10));
    cr_expect(eq(i64, pfc_cluster_position(list, 4, 2), 20));
    cr_expect(eq(i64, pfc_cluster_position(list, 4, 3), 0));
    order = pfc_clusters_in_order(list, 4, 3);
    cr_expect(eq(sz, order[0], 1));
    cr_expect(eq(sz, order[1], 2));
    cr_expect(eq(sz, order[2], 0));
    free(order);
}

/* Benjamini-Hochberg at 0.1: p(k) <= k / n x 0.1. Changes with an alert keep it. */
Test(clusters, are_judged_among_the_series_that_were_measured_there)
{
    static const struct {
        double p[3];
        bool alerted[3];
        size_t measured;
        bool keep[3];
    } rows[] = {
        { { 0.03, 0.06, 0.2 }, { 0 }, 3, { true, true, false } }, /* 0.033, 0.067, 0.1 */
        { { 0.03, 0.06, 0.2 }, { 0 }, 4, { false, false, false } },
        { { 0.03, 0.06, 0.2 }, { false, false, true }, 4, { false, false, true } },
    };

    for (size_t r = 0; r < PFC_ARRAY_LEN(rows); r++) {
        pfc_clustered items[4] = { 0 };
        pfc_clustered *list[4];

        for (size_t i = 0; i < 4; i++)
            list[i] = &items[i];
        /* Of another cluster: neither counted nor judged. */
        items[3] = (pfc_clustered){ .cluster = 1, .p = 1e-9 };
        for (size_t i = 0; i < 3; i++)
            items[i] = (pfc_clustered){ .p = rows[r].p[i], .alerted = rows[r].alerted[i] };
        pfc_cluster_judge(list, 4, 0, rows[r].measured, 0.1);
        for (size_t i = 0; i < 3; i++)
            cr_expect(eq(int, items[i].keep, rows[r].keep[i]), "row %zu change %zu", r, i);
        cr_expect(not(items[3].keep));
        cr_expect(eq(int, pfc_cluster_kept(list, 4, 0),
                     rows[r].keep[0] || rows[r].keep[1] || rows[r].keep[2]));
        cr_expect(not(pfc_cluster_kept(list, 4, 1)));
    }
}

/* ---- stored changes ---- */

/* The number of the stored change that is a regression (an improvement) at low..high; -1: none. */
static int match(pfc_known *items, size_t len, int64_t position, int64_t low, int64_t high,
                 bool regression)
{
    const pfc_known *found = pfc_known_match(items, len, position, low, high, regression);

    return found ? (int)(found - items) : -1;
}

Test(known, a_change_is_matched_in_its_own_direction_where_the_ranges_meet)
{
    pfc_known items[] = {
        { .position = 10, .low = 8, .high = 12, .regression = true },
        { .position = 10, .low = 8, .high = 12 },
        { .position = 30, .low = 30, .high = 30, .regression = true, .used = true },
        { .position = 40, .low = 40, .high = 40, .regression = true, .same = true, .gone = true },
        { .position = 50, .low = 50, .high = 50, .regression = true, .same = true },
        { .position = 60, .low = 60, .high = 60, .regression = true, .gone = true },
    };
    const size_t len = PFC_ARRAY_LEN(items);

    cr_expect(eq(int, match(items, len, 10, 10, 10, true), 0));
    cr_expect(eq(int, match(items, len, 10, 10, 10, false), 1));
    cr_expect(eq(int, match(items, len, 12, 12, 14, true), 0));
    cr_expect(eq(int, match(items, len, 13, 13, 14, true), -1));
    cr_expect(eq(int, match(items, len, 8, 6, 8, true), 0));
    cr_expect(eq(int, match(items, len, 7, 6, 7, true), -1));
    cr_expect(eq(int, match(items, len, 30, 30, 30, true), -1));
    cr_expect(eq(int, match(items, len, 40, 40, 40, true), -1));
    cr_expect(eq(int, match(items, len, 50, 50, 50, true), 4));
    cr_expect(eq(int, match(items, len, 60, 60, 60, true), 5));
}

Test(known, the_nearest_one_is_taken_and_a_live_one_before_a_gone_one)
{
    pfc_known items[] = {
        { .position = 10, .low = 8, .high = 20, .regression = true },
        { .position = 16, .low = 8, .high = 20, .regression = true },
        { .position = 14, .low = 8, .high = 20, .regression = true, .gone = true },
        { .position = 13, .low = 8, .high = 20, .regression = true, .gone = true },
    };

    cr_expect(eq(int, match(items, 4, 12, 8, 20, true), 0));
    cr_expect(eq(int, match(items, 4, 14, 8, 20, true), 1));
    cr_expect(eq(int, match(items, 4, 13, 8, 20, true), 0)); /* as far from both: the first */
    cr_expect(eq(int, match(items + 2, 2, 13, 8, 20, true), 1));
}

/* Its ends may lie three commits outside, as points that come later move them. */
Test(known, a_place_is_met_with_its_ends_up_to_three_commits_outside)
{
    static const struct {
        int64_t low, high;
        bool at;
    } rows[] = {
        { 10, 12, true },  { 7, 12, true },   { 6, 12, false }, { 10, 15, true },
        { 10, 16, false }, { 7, 15, true },   { 8, 10, true },  { 7, 9, false },
        { 12, 15, true },  { 13, 14, false }, { 11, 11, true },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_known k = { .low = rows[i].low, .high = rows[i].high };

        cr_expect(eq(int, pfc_known_at(&k, 10, 12), rows[i].at), "%zu", i);
    }
}

Test(known, only_what_a_session_refuted_stays_the_same)
{
    const pfc_known items[] = {
        { .low = 10, .high = 12, .same = true },
        { .low = 20, .high = 22, .gone = true },
        { .low = 30, .high = 32, .same = true, .gone = true },
    };

    cr_expect(not(pfc_known_same(items, 3, 10, 12)));
    cr_expect(not(pfc_known_same(items, 3, 20, 22)));
    cr_expect(pfc_known_same(items, 3, 30, 32));
    cr_expect(pfc_known_same(items, 3, 27, 35));
    cr_expect(not(pfc_known_same(items, 3, 26, 32)));
    cr_expect(not(pfc_known_same(items, 3, 30, 36)));
    cr_expect(not(pfc_known_same(items, 2, 30, 32)));
}

Test(known, the_detector_takes_back_only_its_own_word_on_an_alert)
{
    const pfc_known own = { .alert_id = 1, .alert_state = "noise", .last_actor = "detector" };
    const pfc_known persons = { .alert_id = 1, .alert_state = "noise", .last_actor = "ann" };
    const pfc_known none = { .alert_state = "noise", .last_actor = "detector" };

    cr_expect(pfc_known_own(&own, "noise"));
    cr_expect(not(pfc_known_own(&own, "untriaged")));
    cr_expect(not(pfc_known_own(&persons, "noise")));
    cr_expect(not(pfc_known_own(&none, "noise")));
}
