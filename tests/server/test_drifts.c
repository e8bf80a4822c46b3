/* Drifts and machines of two speeds at their limits, from histories made in memory. */
#include <math.h>
#include <stdlib.h>

#include "core/changepoint/changepoint.h"
#include "server/services/alerts/alerts.h"
#include "server/services/detect/detect.h"
#include "server/services/detect/flaps.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

#define DAY_S  86400.0
#define POINTS 260
#define NIL    (double)NAN

static pfc_point points[POINTS];
static pfc_point_meta meta[POINTS];

/* ---- drifts ---- */

typedef struct drifting {
    double total; /* relative change from the first point to the last, evenly */
    double days;  /* between them */
    double flat;  /* then so many days without any change */
    double min_change;
    bool higher_is_better, exact, left_out;
    bool alert;
} drifting;

typedef struct judging {
    int64_t project;
    const pfc_judged *series;
    const pfc_history *history;
} judging;

/* n points: `drift` of them over its days, the rest over the flat ones. The noise is a zigzag. */
static pfc_history make_history(const drifting *d, size_t n, size_t drift, int64_t first_commit)
{
    for (size_t i = 0; i < n; i++) {
        const double part = i < drift ? (double)i / (double)(drift - 1) : 1;
        const double rest = i < drift ? 0 : (double)(i - drift + 1) / (double)(n - drift);

        points[i] = (pfc_point){ .t = 1.7e9 + DAY_S * (d->days * part + d->flat * rest),
                                 .v = 100 * pow(1 + d->total, part) * (i % 2 ? 1.0002 : 0.9998) };
        meta[i] = (pfc_point_meta){ .commit_id = first_commit + (int64_t)i,
                                    .position = (int64_t)i + 1,
                                    .median = points[i].v };
    }
    return (pfc_history){ .points = points, .meta = meta, .len = n };
}

static pfc_code judge(pfc_tx *tx, void *into, pfc_err *err)
{
    const judging *j = into;
    const pfc_detection none = { .noise_rel = NIL };

    return pfc_drift_judge(tx, j->project, j->series, j->history, &none, true, err);
}

static void must_judge(pfc_db *db, int64_t p, const pfc_judged *series, const pfc_history *h)
{
    judging j = { .project = p, .series = series, .history = h };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_db_write(db, judge, &j, &err), PFC_OK), "%s", err.msg);
}

static int64_t series_of(const char *url, const char *benchmark)
{
    return plant_number(url,
                        "SELECT s.id FROM series s JOIN benchmarks b ON b.id = s.benchmark_id"
                        " WHERE b.name = '%s'",
                        benchmark);
}

/* Two per cent for the worse over four weeks of the last half year; no less, and not for the
 * better. */
Test(drifts, are_alerted_where_the_series_became_worse_by_enough_for_long_enough)
{
    static const drifting rows[] = {
        { .total = 0.024, .days = 70, .alert = true },
        { .total = 0.017, .days = 70 },
        { .total = -0.05, .days = 70 },
        { .total = -0.024, .days = 70, .higher_is_better = true, .alert = true },
        { .total = -0.017, .days = 70, .higher_is_better = true },
        { .total = 0.05, .days = 70, .higher_is_better = true },
        { .total = 0.06, .days = 70, .min_change = 0.05, .alert = true },
        { .total = 0.04, .days = 70, .min_change = 0.05 },
        { .total = -0.06, .days = 70, .min_change = 0.05, .higher_is_better = true, .alert = true },
        { .total = -0.04, .days = 70, .min_change = 0.05, .higher_is_better = true },
        { .total = 0.05, .days = 28, .alert = true },
        { .total = 0.05, .days = 27 },
        { .total = 0.05, .days = 28, .flat = 183 },
        { .total = 0.05, .days = 70, .exact = true },
        { .total = 0.05, .days = 70, .left_out = true },
    };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 120);
    const int64_t first = plant_number(url, "SELECT min(id) FROM commits");
    const int64_t id = series_of(url, "gemm/a");

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const drifting *d = &rows[i];
        const pfc_judged series = { .id = id,
                                    .branch = "main",
                                    .higher_is_better = d->higher_is_better,
                                    .exact = d->exact,
                                    .settings = { .min_change = d->min_change,
                                                  .judged = !d->left_out } };
        const pfc_history h = make_history(d, d->flat > 0 ? 120 : 60, 60, first);

        must_judge(db, p, &series, &h);
        cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM alerts"), d->alert), "%zu", i);
        if (d->alert)
            cr_expect(eq(i64,
                         plant_number(url,
                                      "SELECT count(*) FROM change_points x JOIN alerts a ON"
                                      " a.change_point_id = x.id WHERE x.kind = 'drift' AND"
                                      " x.regression AND (x.rel_change > 0) = %s AND"
                                      " x.commit_low_id = %lld AND x.commit_high_id = %lld",
                                      d->total > 0 ? "true" : "false", (long long)first,
                                      (long long)first + 59),
                         1),
                      "%zu", i);
        pfc_test_sql(url,
                     "DELETE FROM alert_events; DELETE FROM alerts; DELETE FROM change_points");
    }
    free(url);
    pfc_db_close(db);
}

/* v1.0 at commit 8, then a tag of each commit that is no release, more than a page of them. */
Test(drifts, are_compared_with_a_release_behind_many_tags_of_other_kinds)
{
    static const drifting slow = { .total = 0.05, .days = 119 };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 120);
    const int64_t first = plant_number(url, "SELECT min(id) FROM commits");
    const pfc_judged series = { .id = series_of(url, "gemm/a"),
                                .branch = "main",
                                .settings = { .judged = true } };
    const pfc_history h = make_history(&slow, 120, 120, first);

    plant_sql(url,
              "UPDATE commits SET tags = CASE WHEN id = %lld THEN '{candidate,v1.0.1,v1.0}'"
              " ELSE ARRAY['nightly-' || id] END::text[] WHERE id >= %lld",
              (long long)first + 7, (long long)first + 7);
    must_judge(db, p, &series, &h);
    cr_expect(eq(i64,
                 plant_number(url,
                              "SELECT count(*) FROM change_points WHERE kind = 'drift' AND"
                              " reference_tag = 'v1.0' AND reference_commit_id = %lld",
                              (long long)first + 7),
                 1));
    free(url);
    pfc_db_close(db);
}

static void expect_drift(const char *url, const char *state, bool gone, size_t events)
{
    cr_expect(eq(i64,
                 plant_number(url,
                              "SELECT count(*) FROM change_points x JOIN alerts a ON"
                              " a.change_point_id = x.id WHERE a.state = '%s' AND"
                              " (x.gone_at IS NOT NULL) = %s",
                              state, gone ? "true" : "false"),
                 1));
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM alerts"), 1));
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM alert_events"), (int64_t)events));
}

/* A person's word on it stands, whether the drift is there or not. */
Test(drifts, close_when_they_are_gone_and_open_again_unless_a_person_has_spoken)
{
    const drifting up = { .total = 0.05, .days = 70 }, flat = { .days = 70 };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 120);
    const int64_t first = plant_number(url, "SELECT min(id) FROM commits");
    const pfc_judged series = { .id = series_of(url, "gemm/a"),
                                .branch = "main",
                                .settings = { .judged = true } };
    pfc_alerts alerts = { 0 };
    pfc_history h;
    pfc_err err = { 0 };
    int64_t id;

    for (size_t again = 0; again < 2; again++) { /* the same again is no other */
        h = make_history(&up, 60, 60, first);
        must_judge(db, p, &series, &h);
        expect_drift(url, "untriaged", false, 1);
    }
    h = make_history(&flat, 60, 60, first);
    must_judge(db, p, &series, &h);
    expect_drift(url, "noise", true, 2);
    h = make_history(&up, 60, 60, first);
    must_judge(db, p, &series, &h);
    expect_drift(url, "untriaged", false, 3);
    id = plant_number(url, "SELECT id FROM alerts");
    cr_assert(eq(int,
                 pfc_alert_update(db, "ann", id, &(pfc_alert_change){ .state = "acknowledged" },
                                  &alerts, &err),
                 PFC_OK));
    pfc_rows_clear(&alerts);
    h = make_history(&flat, 60, 60, first);
    must_judge(db, p, &series, &h);
    expect_drift(url, "acknowledged", true, 4);
    cr_assert(
        eq(int,
           pfc_alert_update(db, "ann", id, &(pfc_alert_change){ .state = "noise" }, &alerts, &err),
           PFC_OK));
    pfc_rows_clear(&alerts);
    h = make_history(&up, 60, 60, first);
    must_judge(db, p, &series, &h);
    expect_drift(url, "noise", false, 5);
    free(url);
    pfc_db_close(db);
}

/* ---- machines of two speeds ---- */

static pfc_code note(pfc_tx *tx, void *into, pfc_err *err)
{
    const judging *j = into;

    return pfc_flaps_note(tx, j->project, j->series, j->history, err);
}

/* Points of `machine`, these values, from `at` on; the number of the next point. */
static size_t put(size_t at, const char *machine, const double *values, size_t len)
{
    for (size_t i = 0; i < len; i++, at++) {
        points[at] = (pfc_point){ .t = 1.7e9 + 60 * (double)at, .v = values[i] };
        meta[at] = (pfc_point_meta){ .position = (int64_t)at + 1, .machine = machine };
    }
    return at;
}

static void expect_speeds(pfc_db *db, const char *url, int64_t p, const pfc_judged *series,
                          size_t len, const char *expected)
{
    const pfc_history h = { .points = points, .meta = meta, .len = len };
    judging j = { .project = p, .series = series, .history = &h };
    pfc_err err = { 0 };
    char *text;

    cr_assert(eq(int, pfc_db_write(db, note, &j, &err), PFC_OK), "%s", err.msg);
    text =
        pfc_test_sql_value(url, "SELECT array_to_string(s.two_speeds, ' ') FROM series s JOIN"
                                " benchmarks b ON b.id = s.benchmark_id WHERE b.name = 'gemm/a'");
    cr_expect(eq(str, text, (char *)(uintptr_t)expected));
    free(text);
}

/* Levels 100 and 120: within five of either, twice at each. */
Test(flap_limits, a_machine_is_named_with_two_points_at_each_of_the_two_levels)
{
    static const double both[] = { 100, 120, 100, 120 }, edges[] = { 95, 105, 115, 125 };
    static const double once[] = { 100, 100, 120, 110 }, off[] = { 94.9, 100, 120, 120 };
    static const double up[] = { 100, 100, 120, 125.1 }, still[] = { 100, 100, 100, 100 };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 250);
    const pfc_judged series = { .id = series_of(url, "gemm/a"), .branch = "main" };
    size_t n = 0;
    char names[20][8];
    char expected[256] = "";

    plant_alert(url, p, &(planted){ .low = 210, .high = 210, .rel = 0.2 });
    plant_alert(url, p, &(planted){ .benchmark = "gemm/b", .low = 210, .high = 210, .rel = 0.2 });
    n = put(n, "both", both, 4);
    n = put(n, "once", once, 4);
    n = put(n, "edges", edges, 4);
    n = put(n, "off", off, 4);
    n = put(n, "up", up, 4);
    expect_speeds(db, url, p, &series, n, "");
    pfc_test_sql(url, "UPDATE change_points SET went_away = 1");
    expect_speeds(db, url, p, &series, n, "");
    pfc_test_sql(url, "UPDATE change_points SET went_away = 2");
    expect_speeds(db, url, p, &series, n, "both edges");
    /* A fall between the same levels is the same. */
    pfc_test_sql(url, "UPDATE change_points SET before = 120, after = 100");
    expect_speeds(db, url, p, &series, n, "both edges");
    /* The newest 200 points: all of "both" is among them, then all but its first. */
    while (n < 200)
        n = put(n, "still", still, 4);
    cr_assert(eq(sz, n, 200));
    expect_speeds(db, url, p, &series, n, "both edges");
    n = put(n, "still", still, 1);
    expect_speeds(db, url, p, &series, n, "edges");
    /* ... and so do the changes. */
    plant_sql(url, "UPDATE change_points SET commit_id = commit_id - 208");
    expect_speeds(db, url, p, &series, n, "edges");
    plant_sql(url, "UPDATE change_points SET commit_id = commit_id - 1");
    expect_speeds(db, url, p, &series, n, "");
    plant_sql(url, "UPDATE change_points SET commit_id = commit_id + 1");
    /* Sixteen names. */
    n = 0;
    for (size_t i = 0; i < 20; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "m%zu", i);
        n = put(n, names[i], both, 4);
        if (i < 16)
            (void)snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%s%s",
                           i ? " " : "", names[i]);
    }
    expect_speeds(db, url, p, &series, n, expected);
    free(url);
    pfc_db_close(db);
}
