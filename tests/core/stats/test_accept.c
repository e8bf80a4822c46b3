/* After a level that a person has accepted: the next step alerts early, an unchanged series never.
 */
#include <math.h>

#include "core/base/rng.h"
#include "core/changepoint/changepoint.h"
#include "core/changepoint/fdr.h"

#include "tests/check/check.h"

#define BEFORE 30
#define LEVEL  25

typedef enum kind { NORMAL, HEAVY_TAILS, ALIKE } kind;

static double noise(pfc_rng *rng, kind k, double *last)
{
    double x = pfc_rng_normal(rng), sum = 0;

    if (k == HEAVY_TAILS) { /* Student's t, 4 degrees of freedom */
        for (int i = 0; i < 4; i++)
            sum += pow(pfc_rng_normal(rng), 2);
        return x / sqrt(sum / 4);
    }
    return *last = k == ALIKE ? 0.5 * *last + sqrt(0.75) * x : x;
}

/* Points until the alert, among `after` that follow the accepted level times 1 + step; 0: none. */
static size_t points_until(kind k, double sigma, double step, bool higher, size_t after,
                           uint64_t seed)
{
    const pfc_detect_opts opts = { .higher_is_better = higher };
    pfc_point points[BEFORE + LEVEL + 64];
    size_t n = 0;
    double last = 0, level = 100;
    pfc_rng rng;

    pfc_rng_seed(&rng, seed);
    for (size_t i = 0; i < BEFORE + LEVEL + after; i++) {
        pfc_detection found = { 0 };
        pfc_err err = { 0 };
        bool alert = false;

        level *= i == BEFORE ? (higher ? 1 / 1.15 : 1.15) : i == BEFORE + LEVEL ? 1 + step : 1;
        points[n++] =
            (pfc_point){ .t = (double)NAN, .v = level * exp(sigma * noise(&rng, k, &last)) };
        if (n <= BEFORE + LEVEL)
            continue;
        cr_assert(eq(int, pfc_stats_detect(points, n, &opts, &found, &err), PFC_OK), "%s", err.msg);
        if (found.changes_len > 1) {
            const pfc_change *c = &found.changes[found.changes_len - 1];

            alert =
                c->index > BEFORE + 3 && c->regression &&
                pfc_alert_justified_accepted(c, n, pfc_stats_change_or_spike(points, n, &found));
        }
        pfc_detection_clear(&found);
        if (alert)
            return n - BEFORE - LEVEL;
    }
    return 0;
}

/* 3 % at a noise of 0.3 % a point, both directions. */
Test(accept, three_per_cent_are_alerted_by_the_third_point)
{
    size_t soon = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        const bool higher = seed % 2;
        const size_t n = points_until(NORMAL, 0.003, higher ? -0.03 : 0.03, higher, 5, seed);

        soon += n > 0 && n <= 3;
    }
    cr_assert(ge(sz, soon, 39), "%zu of 40", soon);
}

/* A look after each of 40 points: as many alerts as the rule for all levels opens there. */
Test(accept, nothing_changes_and_nothing_is_alerted)
{
    static const size_t most[] = { 0, 1, 3 };

    for (int k = NORMAL; k <= ALIKE; k++) {
        size_t alerts = 0;

        for (uint64_t seed = 1; seed <= 60; seed++)
            alerts += points_until((kind)k, 0.004, 0, seed % 2, 40, seed) > 0;
        cr_assert(le(sz, alerts, most[k]), "noise %d: %zu of 60", k, alerts);
    }
}

/* Three points on their own, of a series that had such an excursion before, may be another. */
Test(accept, a_series_with_excursions_waits_for_five_points)
{
    const pfc_change change = {
        .index = 60, .rel_change = 0.03, .rel_low = 0.025, .rel_high = 0.035, .p = PFC_P_MIN
    };

    cr_assert(pfc_alert_justified_accepted(&change, 63, 12));
    cr_assert(not(pfc_alert_justified_accepted(&change, 63, 3)));
    cr_assert(not(pfc_alert_justified_accepted(&change, 63, (double)NAN)));
    cr_assert(not(pfc_alert_justified_accepted(&change, 62, 12)));
    cr_assert(not(pfc_alert_justified(&change, 63)));
    cr_assert(pfc_alert_justified_accepted(&change, 65, 3));
}
