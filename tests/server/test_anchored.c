/* Ratios to the anchor, from visits to the points of a series. */
#include <math.h>
#include <stdlib.h>

#include "core/base/rng.h"
#include "server/services/detect/detect.h"
#include "server/services/history/history.h"
#include "server/services/sessions/anchored.h"
#include "server/services/sessions/report.h"
#include "server/workers/workers.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

enum { ROUNDS = 12, BUILDS_MAX = 6 };

/* A session to be made. Levels are of time_ns; the same builds have the throughput 1000 / level. */
typedef struct made {
    unsigned number; /* its id */
    unsigned anchor, base;
    const char *machine_class;
    double machine; /* factor of that night */
    size_t len;
    struct {
        unsigned commit;
        double level;
    } builds[BUILDS_MAX];
    const char *commits; /* of the document */
} made;

static void id_of(unsigned number, char out[33])
{
    (void)snprintf(out, 33, "%032x", number);
}

/* Visits with 0.2 % of noise, blocks mirrored, and a machine that is slower in every third block.
 */
static void put_visits(pfc_run *run, const made *s, size_t build, const char *metric, pfc_rng *rng)
{
    pfc_measurement *m;

    fx_measure(run, "gemm/a", metric, 1, 0, 2 * ROUNDS, 2 * ROUNDS, 1);
    m = &run->measurements[run->measurements_len - 1];
    m->higher_is_better = strcmp(metric, "gflops") == 0;
    m->visits = pfc_calloc(2 * ROUNDS, sizeof(*m->visits));
    for (uint32_t b = 0; b < 2 * ROUNDS; b++) {
        const uint32_t first = (uint32_t)((build + b / 2) % s->len);
        const double time = s->builds[build].level * s->machine * (b % 3 ? 1 : 1.1) *
                            exp(0.002 * pfc_rng_normal(rng));

        m->samples[b] = m->higher_is_better ? 1000 / time : time;
        m->visits[b] = (pfc_session_position){ b, b % 2 ? (uint32_t)s->len - 1 - first : first };
    }
}

static void post(pfc_db *db, int64_t p, const made *s)
{
    char id[33], *text;
    pfc_session *session = NULL;
    bool repeated;
    pfc_rng rng;
    pfc_err err = { 0 };

    id_of(s->number, id);
    pfc_rng_seed(&rng, s->number);
    for (size_t i = 0; i < s->len; i++) {
        pfc_run *run = fx_run(s->builds[i].commit);

        run->session_id = pfc_strdup(id);
        run->session_anchor = pfc_strdup(fx_sha(s->anchor));
        run->session_base = pfc_strdup(fx_sha(s->base));
        run->started_at += 86400.0 * s->number;
        run->finished_at += 86400.0 * s->number;
        free(run->machine.machine_class);
        run->machine.machine_class = pfc_strdup(s->machine_class);
        put_visits(run, s, i, "time_ns", &rng);
        put_visits(run, s, i, "gflops", &rng);
        fx_ingest(db, p, run);
    }
    text = pfc_format("{\"id\":\"%s\",\"anchor\":\"%s\",\"base\":\"%s\",\"machine_class\":\"%s\","
                      "\"started_at\":\"2026-11-22T01:00:00Z\","
                      "\"finished_at\":\"2026-11-22T01:20:00Z\",\"spent_s\":120,\"blocks\":%d,"
                      "\"commits\":[%s]}",
                      id, fx_sha(s->anchor), fx_sha(s->base), s->machine_class, 2 * ROUNDS,
                      s->commits ? s->commits : "");
    cr_assert(eq(int, pfc_session_from_json(text, strlen(text), &session, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_session_store(db, "test", p, session, &repeated, &err), PFC_OK), "%s",
              err.msg);
    pfc_session_free(session);
    free(text);
    fx_detect(db);
}

/* The series of that metric and machine class. */
static pfc_window window_of(pfc_db *db, const char *url, const char *metric, const char *class,
                            int points)
{
    char *sql = pfc_format("SELECT id FROM series WHERE metric = '%s' AND machine_class = '%s'",
                           metric, class);
    char *id = pfc_test_sql_value(url, sql);
    pfc_window w = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 pfc_series_window(db, strtoll(id, NULL, 10),
                                   &(pfc_window_opts){ .points = points }, &w, &err),
                 PFC_OK),
              "%s", err.msg);
    free(id);
    free(sql);
    return w;
}

/* The last point of that commit. */
static const pfc_window_point *point_of(const pfc_window *w, unsigned n)
{
    const pfc_window_point *found = NULL;

    for (size_t i = 0; i < w->points.len; i++) {
        if (pfc_streq(w->points.items[i].commit, fx_sha(n)))
            found = &w->points.items[i];
    }
    cr_assert(ne(ptr, (void *)(uintptr_t)found, NULL), "commit %u", n);
    return found;
}

static double sql_number(const char *url, const char *sql)
{
    char *text = pfc_test_sql_value(url, sql);
    double value = text ? strtod(text, NULL) : (double)NAN;

    free(text);
    return value;
}

static void expect(const char *url, const char *sql, const char *want)
{
    char *got = pfc_test_sql_value(url, sql);

    cr_assert(eq(str, got ? got : (char *)"", (char *)(uintptr_t)want), "%s", sql);
    free(got);
}

#define NEAR(value, want) cr_assert(epsilon_eq(dbl, value, want, 0.005 * (want)), "%.17g", value)

static const made first_night = {
    .number = 1,
    .anchor = 1,
    .base = 2,
    .machine_class = "test-cpu",
    .machine = 1,
    .len = 4,
    .builds = { { 1, 100 }, { 2, 102 }, { 3, 102 }, { 4, 112 } },
    .commits = "{\"commit\":\"0000000000000000000000000000000000000003\",\"status\":\"measured\"},"
               "{\"commit\":\"0000000000000000000000000000000000000004\",\"status\":\"measured\"},"
               "{\"commit\":\"0000000000000000000000000000000000000005\",\"status\":\"broken\","
               "\"reason\":\"make: exit status 2\"}"
};
static const made second_night = {
    .number = 2,
    .anchor = 1,
    .base = 4,
    .machine_class = "test-cpu",
    .machine = 1.25,
    .len = 3,
    .builds = { { 1, 100 }, { 4, 112 }, { 6, 106.4 } },
    .commits = "{\"commit\":\"0000000000000000000000000000000000000006\",\"status\":\"measured\"}"
};
/* Another anchor, which the night before has measured. */
static const made third_night = {
    .number = 3,
    .anchor = 6,
    .base = 6,
    .machine_class = "test-cpu",
    .machine = 0.9,
    .len = 2,
    .builds = { { 6, 106.4 }, { 7, 106.4 } },
    .commits = "{\"commit\":\"0000000000000000000000000000000000000007\",\"status\":\"measured\"}"
};

Test(anchored, a_project_changes_over_in_the_middle_of_its_history)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);
    pfc_window w;
    pfc_run *plain = fx_run(1);

    fx_commits(db, p, 1, 8);
    fx_measure(plain, "gemm/a", "time_ns", 100, 0.002, 6, 3, 1);
    fx_ingest(db, p, plain);
    fx_detect(db);
    w = window_of(db, url, "time_ns", "test-cpu", 0);
    cr_assert_null(w.series.items[0].anchor);
    cr_assert(isnan(w.points.items[0].ratio));
    pfc_window_clear(&w);

    post(db, p, &first_night);
    post(db, p, &second_night);
    w = window_of(db, url, "time_ns", "test-cpu", 0);
    cr_assert(eq(str, (char *)(uintptr_t)w.series.items[0].anchor, (char *)(uintptr_t)fx_sha(1)));
    cr_assert(eq(sz, w.points.len, 8));
    cr_assert_null(w.points.items[0].session); /* as it was */
    cr_assert(isnan(w.points.items[0].ratio));
    cr_assert(eq(dbl, point_of(&w, 1)->ratio, 1));
    cr_assert(
        eq(str, (char *)(uintptr_t)point_of(&w, 3)->session, "00000000000000000000000000000001"));
    NEAR(point_of(&w, 3)->ratio, 1.02);
    /* The second night's machine is 25 % slower: its medians are, its ratios are not. */
    NEAR(point_of(&w, 4)->median, 112 * 1.25);
    NEAR(point_of(&w, 4)->ratio, 1.12);
    NEAR(point_of(&w, 6)->ratio, 1.064);
    cr_assert(lt(dbl, point_of(&w, 6)->ratio_low, point_of(&w, 6)->ratio));
    cr_assert(gt(dbl, point_of(&w, 6)->ratio_high, point_of(&w, 6)->ratio));
    pfc_window_clear(&w);
    w = window_of(db, url, "gflops", "test-cpu", 0);
    NEAR(point_of(&w, 6)->ratio, 1 / 1.064);
    pfc_window_clear(&w);
    pfc_db_close(db);
    free(url);
}

/* log(4 / 6) of a point of anchor 1 goes along the joint of 6 and 1; the errors add in squares. */
Test(anchored, a_new_anchor_is_joined_to_the_old_one_and_the_error_is_carried_along)
{
#define SESSION1                                                                                   \
    "FROM anchored a JOIN series s ON s.id = a.series_id AND s.metric = 'time_ns' JOIN runs r ON " \
    "r.id = a.run_id JOIN commits c ON c.id = a.commit_id WHERE r.session_id = '" ONE              \
    "' AND c.sha LIKE '%4'"
#define ONE "00000000000000000000000000000001"
#define JOINT                                                                                      \
    "FROM anchored a JOIN series s ON s.id = a.series_id AND s.metric = 'time_ns' JOIN commits c " \
    "ON c.id = a.commit_id WHERE c.sha LIKE '%6' AND a.anchor_id <> a.commit_id"
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);
    pfc_window w;
    double ratio, se;

    fx_commits(db, p, 1, 8);
    post(db, p, &first_night);
    post(db, p, &second_night);
    post(db, p, &third_night);
    w = window_of(db, url, "time_ns", "test-cpu", 0);
    cr_assert(eq(str, (char *)(uintptr_t)w.series.items[0].anchor, (char *)(uintptr_t)fx_sha(6)));
    NEAR(point_of(&w, 7)->ratio, 1);
    NEAR(point_of(&w, 1)->ratio, 100 / 106.4);
    NEAR(point_of(&w, 3)->ratio, 102 / 106.4);
    /* The first of the two points of commit 4 is of the first night. */
    for (size_t i = 0; i < w.points.len; i++) {
        if (!pfc_streq(w.points.items[i].session, ONE) ||
            !pfc_streq(w.points.items[i].commit, fx_sha(4)))
            continue;
        ratio = exp(sql_number(url, "SELECT log_ratio " SESSION1) -
                    sql_number(url, "SELECT log_ratio " JOINT));
        se = hypot(sql_number(url, "SELECT log_se " SESSION1),
                   sql_number(url, "SELECT log_se " JOINT));
        cr_assert(epsilon_eq(dbl, w.points.items[i].ratio, ratio, 1e-9));
        cr_assert(epsilon_eq(dbl, log(w.points.items[i].ratio_high / ratio), 1.959964 * se, 1e-9));
        cr_assert(epsilon_eq(dbl, log(ratio / w.points.items[i].ratio_low), 1.959964 * se, 1e-9));
    }
    pfc_window_clear(&w);

    /* In buckets: the median of their ratios, and the extremes of the ends. */
    w = window_of(db, url, "time_ns", "test-cpu", 2);
    cr_assert(w.bucketed);
    cr_assert(gt(dbl, w.points.items[0].ratio, 100 / 106.4 * 0.99));
    cr_assert(lt(dbl, w.points.items[0].ratio_low, w.points.items[0].ratio));
    pfc_window_clear(&w);
    pfc_db_close(db);
    free(url);
}

/* The anchor has no run: the other nights keep their ratios, this one has none. */
Test(anchored, a_session_whose_anchor_is_broken_has_no_ratios)
{
    made night = second_night;
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);
    pfc_window w;

    night.builds[0] = night.builds[1];
    night.builds[1] = night.builds[2];
    night.len = 2;
    fx_commits(db, p, 1, 8);
    post(db, p, &first_night);
    post(db, p, &night);
    w = window_of(db, url, "time_ns", "test-cpu", 0);
    cr_assert(eq(str, (char *)(uintptr_t)w.series.items[0].anchor, (char *)(uintptr_t)fx_sha(1)));
    NEAR(point_of(&w, 3)->ratio, 1.02);
    cr_assert(isnan(point_of(&w, 6)->ratio));
    cr_assert(ne(ptr, (void *)(uintptr_t)point_of(&w, 6)->session, NULL));
    pfc_window_clear(&w);
    pfc_db_close(db);
    free(url);
}

/* Another machine class has another series, with an anchor of its own. */
Test(anchored, two_machine_classes_do_not_mix)
{
    made other = third_night;
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);
    pfc_window w;

    other.machine_class = "other-cpu";
    fx_commits(db, p, 1, 8);
    post(db, p, &first_night);
    post(db, p, &other);
    w = window_of(db, url, "time_ns", "test-cpu", 0);
    cr_assert(eq(str, (char *)(uintptr_t)w.series.items[0].anchor, (char *)(uintptr_t)fx_sha(1)));
    NEAR(point_of(&w, 4)->ratio, 1.12);
    pfc_window_clear(&w);
    w = window_of(db, url, "time_ns", "other-cpu", 0);
    cr_assert(eq(str, (char *)(uintptr_t)w.series.items[0].anchor, (char *)(uintptr_t)fx_sha(6)));
    cr_assert(eq(dbl, point_of(&w, 6)->ratio, 1));
    cr_assert(eq(sz, w.points.len, 2));
    pfc_window_clear(&w);
    pfc_db_close(db);
    free(url);
}

Test(anchored, the_session_says_what_each_commit_did)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);
    pfc_session_report report;
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 8);
    post(db, p, &first_night);
    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, &err), PFC_OK));
    cr_assert(eq(int,
                 pfc_session_report_load(tx, p, "00000000000000000000000000000001", &report, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, report.judgement.series_len, 2));
    cr_assert(eq(str, (char *)(uintptr_t)report.verdicts[0].word, "same"));
    cr_assert(eq(str, (char *)(uintptr_t)report.verdicts[1].word, "slower"));
    cr_assert(eq(str, (char *)(uintptr_t)report.verdicts[2].word, "broken"));
    pfc_session_report_clear(&report);
    cr_assert(eq(int,
                 pfc_session_report_load(tx, p, "00000000000000000000000000000009", &report, &err),
                 PFC_ENOTFOUND));
    pfc_session_report_clear(&report);
    pfc_tx_free(tx);
    /* Lists have what was said last. */
    expect(url, "SELECT string_agg(verdict, ' ' ORDER BY ordinal) FROM session_commits",
           "same slower broken");
    expect(url, "SELECT (worst->>'rel_change')::float8 <> 0 FROM session_commits WHERE ordinal = 1",
           "t");
    pfc_db_close(db);
    free(url);
}

/* The second night's machine is 25 % slower. Its values are on the scale of the first, so that the
 * history has no step there; of the anchor, which both nights measured, one point is left. */
Test(anchored, the_history_is_on_one_scale)
{
    static const double want[] = { 100, 102, 102, 112, 112, 106.4 };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);
    pfc_judged series = { .branch = "main" };
    pfc_histories all = { 0 };
    const pfc_history *h;
    pfc_tx *tx = NULL;
    double level;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 8);
    post(db, p, &first_night);
    post(db, p, &second_night);
    series.id = (int64_t)sql_number(url, "SELECT id FROM series WHERE metric = 'time_ns'");
    level = sql_number(url, "SELECT avg(m.median) FROM measurements m JOIN series s ON s.id = "
                            "m.series_id AND s.metric = 'time_ns' JOIN commits c ON c.id = "
                            "m.commit_id WHERE c.sha LIKE '%1'"); /* of two: their median */
    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, &err), PFC_OK));
    cr_assert(eq(int, pfc_history_load(tx, p, &series, &all, &err), PFC_OK), "%s", err.msg);
    h = &all.items[0];
    cr_assert(eq(sz, h->len, PFC_ARRAY_LEN(want)));
    for (size_t i = 0; i < h->len; i++) {
        cr_assert(epsilon_eq(dbl, h->points[i].v, want[i] * level / 100, 0.5), "%zu", i);
        cr_assert_null(h->points[i].repeats);
    }
    pfc_histories_clear(&all);
    series.exact = true; /* a ratio would round it */
    cr_assert(eq(int, pfc_history_load(tx, p, &series, &all, &err), PFC_OK), "%s", err.msg);
    h = &all.items[0];
    cr_assert(eq(sz, h->len, 7));
    cr_assert_not_null(h->points[0].repeats);
    pfc_histories_clear(&all);
    pfc_tx_free(tx);
    pfc_db_close(db);
    free(url);
}
