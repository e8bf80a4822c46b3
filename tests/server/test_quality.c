/* Quality of alerts: who judged them, and the times to triage, culprit and fix. */
#include <math.h>
#include <stdlib.h>

#include "server/services/quality/quality.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

typedef struct ground {
    pfc_db *db;
    char *url;
    int64_t project;
} ground;

static ground begin(void)
{
    ground g = { 0 };

    g.db = pfc_test_db_open(3, &g.url);
    g.project = plant_project(g.db, 40);
    plant_sql(g.url, "UPDATE benchmarks SET name = 'norm/b' WHERE name = 'gemm/b'");
    return g;
}

static void end(ground *g)
{
    free(g->url);
    pfc_db_close(g->db);
}

/* An alert opened at the beginning of the month that many months ago. */
static int64_t alert(const ground *g, const char *benchmark, const char *state, unsigned place,
                     int months_ago)
{
    const int64_t id = plant_alert(
        g->url, g->project,
        &(planted){ .benchmark = benchmark, .state = state, .low = place, .high = place });

    plant_sql(g->url, "DELETE FROM alert_events WHERE alert_id = %lld", (long long)id);
    plant_sql(g->url,
              "UPDATE alerts SET created_at = (date_trunc('month', now() AT TIME ZONE 'UTC')"
              " - make_interval(months => %d)) AT TIME ZONE 'UTC' WHERE id = %lld",
              months_ago, (long long)id);
    return id;
}

static void event(const ground *g, int64_t id, double hours, const char *actor, const char *to,
                  const char *reason)
{
    plant_sql(g->url,
              "INSERT INTO alert_events (project_id, alert_id, at, actor, state_from, state_to, "
              "reason) SELECT project_id, id, created_at + make_interval(secs => %f), '%s', "
              "'untriaged', '%s', '%s' FROM alerts WHERE id = %lld",
              hours * 3600, actor, to, reason, (long long)id);
}

static pfc_quality read_newest(const ground *g, int months, int most)
{
    pfc_quality quality = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_quality_read(g->db, g->project, months, most, &quality, &err), PFC_OK),
              "%s", err.msg);
    return quality;
}

static pfc_quality read_quality(const ground *g, int months)
{
    return read_newest(g, months, PFC_QUALITY_MAX_ALERTS);
}

static void expect_counts(const pfc_quality_row *r, const char *want)
{
    char *got =
        pfc_format("%lld: %lld %lld %lld %lld %lld", (long long)r->alerts, (long long)r->confirmed,
                   (long long)r->false_alarms, (long long)r->untriaged, (long long)r->withdrawn,
                   (long long)r->recovered);

    cr_expect(eq(str, got, (char *)(uintptr_t)want));
    free(got);
}

Test(quality, a_project_without_alerts_has_a_row_of_zeros)
{
    ground g = begin();
    pfc_quality q = read_quality(&g, 12);

    cr_assert(eq(sz, q.rows.len, 1));
    expect_counts(&q.rows.items[0], "0: 0 0 0 0 0");
    cr_expect(isnan(q.rows.items[0].triage_median));
    cr_expect(eq(sz, q.months, 0));
    cr_expect(eq(sz, q.kernels, 0));
    pfc_quality_clear(&q);
    end(&g);
}

Test(quality, every_alert_is_counted_once_by_its_judge)
{
    ground g = begin();
    pfc_quality q;
    int64_t id;

    id = alert(&g, "gemm/a", "fixed", 2, 0);
    event(&g, id, 1, "ann", "acknowledged", "");
    event(&g, id, 30, "ann", "fixed", "");
    id = alert(&g, "norm/b", "noise", 3, 0);
    event(&g, id, 3, "ann", "noise", "");
    alert(&g, "gemm/a", "untriaged", 4, 1);
    id = alert(&g, "gemm/a", "noise", 5, 1);
    event(&g, id, 1, "detector", "noise", "went away");
    id = alert(&g, "gemm/a", "verified_fixed", 6, 1);
    event(&g, id, 5, "detector", "verified_fixed", "went away");
    /* The service's own verification is no person. */
    id = alert(&g, "gemm/a", "untriaged", 7, 1);
    event(&g, id, 2, "verification", "untriaged", "culprit confirmed: 0123, by bisection 1");
    /* Not counted: a broken benchmark, an alert of a month before, one of another project. */
    plant_alert(g.url, g.project, &(planted){ .kind = "broken", .low = 8, .high = 8 });
    alert(&g, "gemm/a", "untriaged", 9, 12);
    plant_alert(g.url, plant_other(g.db, "q", 9), &(planted){ .low = 2, .high = 2 });

    q = read_quality(&g, 12);
    cr_assert(eq(sz, q.months, 2));
    cr_assert(eq(sz, q.kernels, 2));
    expect_counts(&q.rows.items[0], "6: 1 1 2 1 1");
    expect_counts(&q.rows.items[1], "2: 1 1 0 0 0"); /* the newest month first */
    expect_counts(&q.rows.items[2], "4: 0 0 2 1 1");
    cr_expect(eq(str, (char *)(uintptr_t)q.rows.items[3].kernel, "gemm"));
    expect_counts(&q.rows.items[3], "5: 1 0 2 1 1");
    cr_expect(eq(str, (char *)(uintptr_t)q.rows.items[4].kernel, "norm"));
    cr_expect(eq(i64, q.rows.items[0].triage_n, 2));
    cr_expect(eq(i64, q.rows.items[0].culprit_n, 1));
    cr_expect(epsilon_eq(dbl, q.rows.items[0].culprit_median, 7200, 1e-6));
    cr_expect(eq(i64, q.rows.items[0].fix_n, 2));
    pfc_quality_clear(&q);
    q = read_quality(&g, 13);
    cr_expect(eq(i64, q.rows.items[0].alerts, 7));
    pfc_quality_clear(&q);
    end(&g);
}

/* A name counts from when it was given first; taking it back is no name. */
Test(quality, a_culprit_that_a_person_names_counts_from_then)
{
    ground g = begin();
    pfc_quality q;
    const int64_t id = alert(&g, "gemm/a", "investigating", 2, 0);

    event(&g, id, 1, "ann", "investigating", "");
    event(&g, id, 2, "ann", "investigating", "taken back");
    event(&g, id, 3, "ann", "investigating", "named");
    event(&g, id, 4, "bob", "investigating", "named again");
    plant_sql(g.url, "UPDATE alert_events SET culprit = '' WHERE reason = 'taken back'");
    plant_sql(g.url, "UPDATE alert_events SET culprit = '%s' WHERE reason LIKE 'named%%'",
              fx_sha(2));
    q = read_quality(&g, 1);
    cr_expect(eq(i64, q.rows.items[0].culprit_n, 1));
    cr_expect(epsilon_eq(dbl, q.rows.items[0].culprit_median, 3 * 3600.0, 1e-6));
    pfc_quality_clear(&q);
    end(&g);
}

/* Of 1, 2, 3, 4 and 15 hours the median is 3; the 90th percentile lies 0.6 of the way from 4 to
 * 15. */
Test(quality, durations_are_from_the_opening_to_the_first_such_change)
{
    static const double hours[] = { 4, 1, 15, 3, 2 };
    ground g = begin();
    pfc_quality q;

    for (unsigned i = 0; i < PFC_ARRAY_LEN(hours); i++) {
        const int64_t id = alert(&g, "gemm/a", "fixed", 2 + i, 0);

        event(&g, id, hours[i] / 2, "detector", "untriaged", "noted");
        event(&g, id, hours[i], "ann", "acknowledged", "");
        event(&g, id, hours[i] + 1, "bob", "fixed", "");
        event(&g, id, hours[i] + 2, "detector", "verified_fixed", "");
    }
    alert(&g, "gemm/a", "untriaged", 9, 0);
    q = read_quality(&g, 1);
    cr_expect(eq(i64, q.rows.items[0].triage_n, 5));
    cr_expect(epsilon_eq(dbl, q.rows.items[0].triage_median, 3 * 3600.0, 1e-6));
    cr_expect(epsilon_eq(dbl, q.rows.items[0].triage_p90, (4 + 0.6 * 11) * 3600.0, 1e-6));
    cr_expect(epsilon_eq(dbl, q.rows.items[0].fix_median, 4 * 3600.0, 1e-6));
    cr_expect(eq(i64, q.rows.items[0].culprit_n, 0));
    cr_expect(isnan(q.rows.items[0].culprit_median));
    pfc_quality_clear(&q);
    end(&g);
}

Test(quality, of_too_many_alerts_the_newest_are_counted)
{
    ground g = begin();
    pfc_quality q;

    alert(&g, "gemm/a", "untriaged", 2, 1);
    for (unsigned i = 0; i < 3; i++)
        alert(&g, "gemm/a", "untriaged", 3 + i, 0);
    q = read_newest(&g, 2, 4);
    cr_expect(eq(i64, q.rows.items[0].alerts, 4));
    cr_expect(q.truncated); /* there may be more */
    pfc_quality_clear(&q);
    q = read_newest(&g, 2, 2);
    cr_expect(eq(i64, q.rows.items[0].alerts, 2));
    cr_expect(q.truncated);
    pfc_quality_clear(&q);
    /* The oldest of these is not of the month: none of it is left out. */
    q = read_newest(&g, 1, 4);
    cr_expect(eq(i64, q.rows.items[0].alerts, 3));
    cr_expect(not(q.truncated));
    pfc_quality_clear(&q);
    end(&g);
}
