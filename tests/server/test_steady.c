/* Series judged by their new points alone: the same results as judging their whole history. */

#include "core/base/rng.h"
#include "server/services/detect/detect.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

#define COMMITS 280

/* Six series: quiet ones, steps up and down, one that comes back, a metric without noise. */
static void ingest(pfc_db *db, int64_t p, unsigned n)
{
    static const char *const names[] = { "quiet/a", "quiet/b", "slower", "faster", "back" };
    pfc_run *run = fx_run(n);

    for (size_t s = 0; s < PFC_ARRAY_LEN(names); s++) {
        double level = 100.0 * (double)(s + 1);

        if (s == 2 && n >= 200)
            level *= 1.04;
        if (s == 3 && n >= 240)
            level *= 0.95;
        if (s == 4 && n >= 150 && n < 260)
            level *= 1.06;
        fx_measure(run, names[s], "time_ns", level, 0.01, 3, 3, n * 17 + s);
    }
    fx_exact(run, "exact", "cycles", n < 280 ? 4096 : 4100);
    fx_ingest(db, p, run);
}

/* All that judging stores of the series and their live changes, one line each. */
static char *results_of(const char *url, bool state)
{
    char sql[2000];

    (void)snprintf(
        sql, sizeof(sql),
        "SELECT string_agg(line, E'\\n' ORDER BY line) FROM ("
        " SELECT concat_ws('|', n.name, s.points, c.sha, s.last_median, s.spark::text, s.noise_rel,"
        "  s.watching, s.watching_of, s.detectable_rel, s.level_points, s.settled_points,"
        "  s.settled_position, s.anchor_points, s.anchor_position, t.position%s) AS line"
        " FROM series s JOIN benchmarks n ON n.project_id = s.project_id AND n.id = s.benchmark_id"
        " LEFT JOIN commits c ON c.project_id = s.project_id AND c.id = s.last_commit_id"
        " LEFT JOIN series_states t ON t.project_id = s.project_id AND t.series_id = s.id"
        " UNION ALL SELECT concat_ws('|', n.name, 'change', c.sha, cl.sha, ch.sha, x.before, "
        "x.after,"
        "  x.rel_change, x.rel_low, x.rel_high, x.p, x.regression, x.confirmed, x.firm, u.sha)"
        " FROM change_points x JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id"
        " JOIN benchmarks n ON n.project_id = s.project_id AND n.id = s.benchmark_id"
        " JOIN commits c ON c.project_id = x.project_id AND c.id = x.commit_id"
        " JOIN commits cl ON cl.project_id = x.project_id AND cl.id = x.commit_low_id"
        " JOIN commits ch ON ch.project_id = x.project_id AND ch.id = x.commit_high_id"
        " LEFT JOIN commits u ON u.project_id = x.project_id AND u.id = x.undone_commit_id"
        " WHERE x.gone_at IS NULL) lines",
        state ? ", encode(t.state, 'hex')" : "");
    return pfc_test_sql_value(url, sql);
}

/* Both databases hold the same; ends both. */
static void expect_same_results(fx_ground *parts, fx_ground *whole)
{
    char *expected = results_of(whole->url, true), *got = results_of(parts->url, true);

    cr_assert(eq(str, got, expected));
    free(expected);
    free(got);
    fx_end(parts);
    fx_end(whole);
}

/* Series whose history has been read so far: only then is noise, and with it this row, written. */
static void count_readings(const char *url)
{
    pfc_test_sql(url, "CREATE TABLE readings (series_id bigint)");
    pfc_test_sql(
        url,
        "CREATE FUNCTION note_reading() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$"
        "BEGIN INSERT INTO readings VALUES (new.id); RETURN new; END $$");
    pfc_test_sql(url,
                 "CREATE TRIGGER readings AFTER UPDATE OF settled_points ON series FOR EACH ROW"
                 " EXECUTE FUNCTION note_reading()");
}

Test(steady, points_one_by_one_give_the_results_of_the_whole_history)
{
    fx_ground whole = fx_begin(3), parts = fx_begin(3);
    char *expected, *got, *readings;

    count_readings(parts.url);
    fx_commits(whole.db, whole.project, 1, COMMITS);
    fx_commits(parts.db, parts.project, 1, COMMITS);
    for (unsigned n = 1; n <= COMMITS; n++)
        ingest(whole.db, whole.project, n);
    fx_detect(whole.db);
    for (unsigned n = 1; n <= COMMITS; n++) {
        ingest(parts.db, parts.project, n);
        if (n % 4 == 0 || n > COMMITS - 24)
            fx_detect(parts.db);
    }
    expected = results_of(whole.url, true);
    got = results_of(parts.url, true);
    cr_assert(eq(str, got, expected));
    cr_assert(ne(ptr, strstr(expected, "change"), NULL));
    /* Most of the points of quiet series did without their history. */
    readings = pfc_test_sql_value(
        parts.url, "SELECT count(*) FROM readings r JOIN series s ON s.id = r.series_id"
                   " JOIN benchmarks n ON n.id = s.benchmark_id WHERE n.name LIKE 'quiet/%'");
    cr_assert(lt(int, atoi(readings), 2 * 70));
    cr_assert(gt(int, atoi(readings), 2 * 10));
    free(readings);
    free(expected);
    free(got);
    fx_end(&parts);
    fx_end(&whole);
}

/* Two runs of a commit that began in the same moment, so that their own ids order them: the later
 * one to be stored has the lower id. */
static void ingest_pair(pfc_db *db, int64_t p, unsigned n)
{
    for (unsigned i = 0; i < 2; i++) {
        pfc_run *run = fx_run(n);

        free(run->id);
        run->id = pfc_format("%032x", 2 * n + 1 - i);
        fx_measure(run, "quiet/a", "time_ns", 100, 0.01, 3, 3, n * 17 + i);
        fx_measure(run, "slower", "time_ns", n >= 120 ? 104 : 100, 0.01, 3, 3, n * 31 + i);
        fx_ingest(db, p, run);
    }
}

Test(steady, runs_that_began_together_are_ordered_by_their_own_ids)
{
    fx_ground whole = fx_begin(3), parts = fx_begin(3);

    fx_commits(whole.db, whole.project, 1, 160);
    fx_commits(parts.db, parts.project, 1, 160);
    for (unsigned n = 1; n <= 160; n++)
        ingest_pair(whole.db, whole.project, n);
    fx_detect(whole.db);
    for (unsigned n = 1; n <= 160; n++) {
        ingest_pair(parts.db, parts.project, n);
        fx_detect(parts.db);
    }
    expect_same_results(&parts, &whole);
}

Test(steady, points_in_a_random_order_give_the_results_of_the_whole_history)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        fx_ground whole = fx_begin(3), parts = fx_begin(3);
        unsigned order[COMMITS];
        char *expected, *got;
        pfc_rng rng;

        pfc_rng_seed(&rng, seed);
        /* Mostly in order: each may come up to 12 places late. */
        for (unsigned i = 0; i < COMMITS; i++)
            order[i] = i + 1;
        for (unsigned i = 0; i + 1 < COMMITS; i++) {
            const unsigned late = i + (unsigned)pfc_rng_below(&rng, 12), kept = order[i];

            if (late >= COMMITS || pfc_rng_below(&rng, 6) != 0)
                continue;
            order[i] = order[late];
            order[late] = kept;
        }
        fx_commits(whole.db, whole.project, 1, COMMITS);
        fx_commits(parts.db, parts.project, 1, COMMITS);
        for (unsigned n = 1; n <= COMMITS; n++)
            ingest(whole.db, whole.project, n);
        fx_detect(whole.db);
        for (unsigned i = 0; i < COMMITS; i++) {
            ingest(parts.db, parts.project, order[i]);
            if (pfc_rng_below(&rng, 7) == 0)
                fx_detect(parts.db);
        }
        fx_detect(parts.db);
        expected = results_of(whole.url, true);
        got = results_of(parts.url, true);
        cr_assert(eq(str, got, expected), "seed %zu", (size_t)seed);
        free(expected);
        free(got);
        fx_end(&parts);
        fx_end(&whole);
    }
}

/* ---- a series that is settled in part ---- */

#define LONG 1300 /* points that were judged together, before the others come one by one */
#define LAST 1400
#define LATE 1310 /* its run has the lowest number of all, and brings its point late */
#define AWAY 1330 /* measured late */

/* The points of commits first..last: noise, a step up at 1340 and one at 1370. */
static void insert_points(const char *url, unsigned first, unsigned last)
{
    char sql[2400];

    (void)snprintf(
        sql, sizeof(sql),
        "INSERT INTO runs (project_id, run_id, header_hash, commit_id, branch, suite, suite_hash,"
        "  machine_id, infra, started_at, finished_at)"
        " SELECT r.project_id, md5(c.sha), 'h', c.id, 'main', r.suite, r.suite_hash, r.machine_id,"
        "  false, c.time, c.time"
        " FROM (SELECT * FROM runs ORDER BY id LIMIT 1) r JOIN commits c USING (project_id)"
        " JOIN branch_commits b ON b.project_id = c.project_id AND b.commit_id = c.id"
        " WHERE b.position BETWEEN %u AND %u ORDER BY b.position ON CONFLICT DO NOTHING;"
        "INSERT INTO measurements (project_id, series_id, run_id, commit_id, n, median, low, high,"
        "  min, samples, blocks)"
        " SELECT v.project_id, s.id, v.id, v.commit_id, 3, l.x, l.x, l.x, l.x,"
        "  ARRAY[l.x * 0.999, l.x, l.x * 1.002], '{1,1,1}'"
        " FROM runs v JOIN series s USING (project_id)"
        " JOIN branch_commits b ON b.project_id = v.project_id AND b.commit_id = v.commit_id,"
        " LATERAL (SELECT 100 * (1 + 0.01 * (hashint4((b.position + 7 * s.id)::int) / "
        "2147483648.0))"
        "  * CASE WHEN b.position >= 1370 THEN 1.12 WHEN b.position >= 1340 THEN 1.06 ELSE 1 END "
        "AS x) l WHERE b.position BETWEEN %u AND %u;"
        "INSERT INTO jobs (project_id, kind, run_id, branch) SELECT v.project_id, 'detect', v.id,"
        "  'main' FROM runs v JOIN branch_commits b"
        "  ON b.project_id = v.project_id AND b.commit_id = v.commit_id"
        " WHERE b.position BETWEEN %u AND %u",
        first, last, first, last, first, last);
    pfc_test_sql(url, sql);
}

static void insert_run(const char *url, unsigned n)
{
    char sql[700];

    (void)snprintf(
        sql, sizeof(sql),
        "INSERT INTO runs (project_id, run_id, header_hash, commit_id, branch, suite,"
        "  suite_hash, machine_id, infra, started_at, finished_at)"
        " SELECT r.project_id, md5(c.sha), 'h', c.id, 'main', r.suite, r.suite_hash,"
        "  r.machine_id, false, c.time, c.time FROM (SELECT * FROM runs ORDER BY id LIMIT 1) r"
        " JOIN commits c ON c.project_id = r.project_id AND c.sha = '%s'",
        fx_sha(n));
    pfc_test_sql(url, sql);
}

/* A run with the lowest number that brings its point late, and the first points. */
static void begin_long(fx_ground *g)
{
    pfc_run *run = fx_run(1);

    fx_commits(g->db, g->project, 1, LAST);
    fx_measure(run, "long", "time_ns", 100, 0.01, 3, 3, 1);
    fx_ingest(g->db, g->project, run);
    insert_run(g->url, LATE);
    insert_points(g->url, 2, LONG);
}

static void judge_waiting(pfc_db *db, pfc_detected *sum)
{
    pfc_detected one = { 0 };
    pfc_err err = { 0 };
    pfc_code code;

    while (!(code = pfc_detect_next(db, &one, &err))) {
        sum->series += one.series;
        sum->passed += one.passed;
        sum->reused += one.reused;
    }
    cr_assert(eq(int, code, PFC_ENOTFOUND), "%s", err.msg);
}

Test(steady, a_long_series_is_read_from_its_anchor_on)
{
    fx_ground whole = fx_begin(3), parts = fx_begin(3);
    pfc_detected sum = { 0 };
    char *expected, *got;

    begin_long(&whole);
    begin_long(&parts);
    insert_points(whole.url, LONG + 1, LAST);
    fx_detect(whole.db);
    fx_detect(parts.db);
    got = pfc_test_sql_value(parts.url, "SELECT anchor_run > 2 FROM series");
    cr_assert(eq(str, got, (char *)"t"));
    free(got);
    /* Points before the anchor that were read again would be another level. */
    pfc_test_sql(parts.url, "UPDATE measurements m SET median = 50, samples = '{50,50,50}'"
                            " FROM series s WHERE m.run_id < s.anchor_run");
    for (unsigned n = LONG + 1; n <= LAST; n++) {
        if (n != LATE && n != AWAY)
            insert_points(parts.url, n, n);
        if (n == LATE + 8)
            insert_points(parts.url, LATE, LATE);
        if (n == AWAY + 15)
            insert_points(parts.url, AWAY, AWAY);
        judge_waiting(parts.db, &sum);
    }
    expected = results_of(whole.url, true);
    got = results_of(parts.url, true);
    cr_assert(eq(str, got, expected));
    cr_assert(ne(ptr, strstr(expected, "change"), NULL));
    cr_assert(gt(sz, sum.passed, 10));
    cr_assert(gt(sz, sum.reused, 10));
    free(expected);
    free(got);
    fx_end(&parts);
    fx_end(&whole);
}

/* Every fifth run has a lower number than those before it, as when its runner stored it last: a
 * history in memory is not continued without its point. */
Test(steady, newer_points_of_runs_with_lower_numbers_are_not_missed)
{
    fx_ground grounds[] = { fx_begin(3), fx_begin(3) };
    pfc_detected sum = { 0 };
    char *expected, *got;

    for (size_t k = 0; k < PFC_ARRAY_LEN(grounds); k++) {
        fx_ground *g = &grounds[k];
        pfc_run *run = fx_run(1);

        fx_commits(g->db, g->project, 1, 240);
        fx_measure(run, "long", "time_ns", 100, 0.01, 3, 3, 1);
        fx_ingest(g->db, g->project, run);
        for (unsigned n = 105; n <= 240; n += 5)
            insert_run(g->url, n);
        insert_points(g->url, 2, k ? 100 : 240);
        fx_detect(g->db);
    }
    for (unsigned n = 101; n <= 240; n++) {
        insert_points(grounds[1].url, n, n);
        judge_waiting(grounds[1].db, &sum);
    }
    expected = results_of(grounds[0].url, true);
    got = results_of(grounds[1].url, true);
    cr_assert(eq(str, got, expected));
    cr_assert(gt(sz, sum.passed, 60));
    cr_assert(ge(sz, sum.reused, 2));
    free(expected);
    free(got);
    fx_end(&grounds[0]);
    fx_end(&grounds[1]);
}

/* Another server judges some of the points: what this one has in memory is not used then. */
Test(steady, a_history_in_memory_is_used_only_while_it_is_the_newest)
{
    fx_ground whole = fx_begin(3), parts = fx_begin(3);
    pfc_detected sum = { 0 };
    char *expected, *got;

    fx_commits(whole.db, whole.project, 1, 60);
    fx_commits(parts.db, parts.project, 1, 60);
    for (unsigned n = 1; n <= 60; n++)
        ingest(whole.db, whole.project, n);
    fx_detect(whole.db);
    for (unsigned n = 1; n <= 60; n++) {
        ingest(parts.db, parts.project, n);
        judge_waiting(parts.db, &sum);
        if (n == 30) /* as if another server had judged all of it */
            pfc_test_sql(parts.url,
                         "UPDATE runs SET infra = true WHERE id = (SELECT max(id) - 5 FROM runs);"
                         "UPDATE series_states SET generation = generation / 2");
        if (n == 50)
            pfc_test_sql(
                parts.url,
                "UPDATE runs SET infra = false; INSERT INTO jobs (project_id, kind, branch)"
                " SELECT id, 'detect', 'main' FROM projects");
        if (n == 35) {
            got = pfc_test_sql_value(parts.url, "SELECT string_agg(DISTINCT points::text, ' ')"
                                                " FROM series");
            cr_assert(eq(str, got, (char *)"34"));
            free(got);
        }
    }
    expected = results_of(whole.url, true);
    got = results_of(parts.url, true);
    cr_assert(eq(str, got, expected));
    cr_assert(gt(sz, sum.reused, 6 * 40));
    free(expected);
    free(got);
    fx_end(&parts);
    fx_end(&whole);
}

/* As if another worker had taken the jobs of these runs. */
static void hold(const char *url, unsigned from, unsigned to)
{
    char sql[400];

    (void)snprintf(sql, sizeof(sql),
                   "UPDATE jobs j SET state = 'leased', lease_hash = 'other',"
                   " lease_until = now() + interval '1 hour' FROM runs r JOIN commits c"
                   " ON c.project_id = r.project_id AND c.id = r.commit_id"
                   " WHERE j.run_id = r.id AND j.state = 'queued'"
                   " AND split_part(c.subject, ' ', 2)::int BETWEEN %u AND %u",
                   from, to);
    pfc_test_sql(url, sql);
}

static void release(const char *url)
{
    pfc_test_sql(url, "UPDATE jobs SET state = 'queued', lease_hash = NULL, lease_until = NULL"
                      " WHERE lease_hash = 'other' AND state = 'leased'");
}

static void expect_value(const char *url, const char *sql, const char *expected, unsigned n)
{
    char *got = pfc_test_sql_value(url, sql);

    cr_assert(eq(str, got, (char *)expected), "at %u", n);
    free(got);
}

/* Runs that arrive while others are judged: newer ones are left to their own batch. An older one is
 * judged with the others, and its own batch then has nothing to do. */
Test(steady, runs_that_wait_are_judged_once)
{
    static const char points[] = "SELECT string_agg(DISTINCT points::text, ' ') FROM series";
    fx_ground whole = fx_begin(3), parts = fx_begin(3);

    fx_commits(whole.db, whole.project, 1, 60);
    fx_commits(parts.db, parts.project, 1, 60);
    for (unsigned n = 1; n <= 60; n++)
        ingest(whole.db, whole.project, n);
    fx_detect(whole.db);
    count_readings(parts.url);
    ingest(parts.db, parts.project, 1);
    fx_detect(parts.db);
    for (unsigned n = 2; n + 3 <= 60; n += 4) {
        pfc_detected last = { 0 };
        char text[16];

        for (unsigned k = n; k < n + 4; k++)
            ingest(parts.db, parts.project, k);
        hold(parts.url, n + 1, n + 3);
        fx_detect(parts.db);
        (void)snprintf(text, sizeof(text), "%u", n);
        expect_value(parts.url, points, text, n);
        release(parts.url);
        hold(parts.url, n + 2, n + 2);
        fx_detect(parts.db);
        (void)snprintf(text, sizeof(text), "%u", n + 3);
        expect_value(parts.url, points, text, n);
        pfc_test_sql(parts.url, "DELETE FROM readings");
        release(parts.url);
        judge_waiting(parts.db, &last);
        expect_value(parts.url, "SELECT count(*) FROM readings", "0", n);
        cr_assert(eq(sz, last.reused, 6));
    }
    ingest(parts.db, parts.project, 58);
    ingest(parts.db, parts.project, 59);
    ingest(parts.db, parts.project, 60);
    fx_detect(parts.db);
    expect_same_results(&parts, &whole);
}

/* The first runs of new series while later ones wait, as at the beginning of a long backlog. */
Test(steady, the_first_batch_of_a_series_leaves_later_runs_to_theirs)
{
    static const char points[] = "SELECT string_agg(DISTINCT points::text, ' ') FROM series";
    fx_ground whole = fx_begin(3), parts = fx_begin(3);

    fx_commits(whole.db, whole.project, 1, 60);
    fx_commits(parts.db, parts.project, 1, 60);
    for (unsigned n = 1; n <= 60; n++) {
        ingest(whole.db, whole.project, n);
        ingest(parts.db, parts.project, n);
    }
    fx_detect(whole.db);
    hold(parts.url, 21, 60);
    fx_detect(parts.db);
    expect_value(parts.url, points, "20", 20);
    release(parts.url);
    fx_detect(parts.db);
    expect_value(parts.url, points, "60", 60);
    expect_same_results(&parts, &whole);
}

static void ingest_quiet(pfc_db *db, int64_t p, unsigned n, uint64_t seed)
{
    pfc_run *run = fx_run(n);

    fx_measure(run, "quiet", "time_ns", 100, 0.01, 3, 3, seed);
    fx_ingest(db, p, run);
}

#define SUMMARY                                                                                    \
    "points, last_commit_id, last_median, spark, noise_rel, watching, watching_of, level_points,"  \
    " detectable_rel, judged_at"

/* The database is set back under a running server to a time after the newest judgement with a
 * history, and other points follow: what the server has in memory has none of the lost ones. */
Test(steady, a_history_in_memory_holds_no_points_of_a_database_that_was_set_back)
{
    fx_ground whole = fx_begin(3), parts = fx_begin(3);
    pfc_detected passed = { 0 }, known = { 0 }, sum = { 0 };
    char *expected, *got;

    fx_commits(whole.db, whole.project, 1, 100);
    fx_commits(parts.db, parts.project, 1, 100);
    for (unsigned n = 1; n <= 62; n++)
        ingest_quiet(parts.db, parts.project, n, n);
    hold(parts.url, 62, 62);
    fx_detect(parts.db);
    for (unsigned n = 63; n <= 66; n++) {
        ingest_quiet(parts.db, parts.project, n, n);
        fx_detect(parts.db);
    }
    pfc_test_sql(parts.url, "CREATE TABLE saved AS SELECT s.id, " SUMMARY ", position, state,"
                            " generation, (SELECT max(id) FROM runs) AS run FROM series s"
                            " JOIN series_states t ON t.series_id = s.id");
    for (unsigned n = 67; n <= 68; n++) {
        ingest_quiet(parts.db, parts.project, n, 1000 + n);
        judge_waiting(parts.db, &passed);
    }
    cr_assert(eq(sz, passed.passed, 2));
    release(parts.url);
    judge_waiting(parts.db, &known); /* run 62: judged already */
    cr_assert(eq(sz, known.reused, 1));
    pfc_test_sql(parts.url,
                 "DELETE FROM jobs WHERE run_id > (SELECT run FROM saved);"
                 "DELETE FROM measurements WHERE run_id > (SELECT run FROM saved);"
                 "DELETE FROM run_parts WHERE run_id > (SELECT run FROM saved);"
                 "DELETE FROM runs WHERE id > (SELECT run FROM saved);"
                 "SELECT setval(pg_get_serial_sequence('runs', 'id'), (SELECT run FROM saved));"
                 "UPDATE series s SET (" SUMMARY ") = (SELECT " SUMMARY " FROM saved);"
                 "UPDATE series_states SET (position, state, generation) ="
                 " (SELECT position, state, generation FROM saved)");
    for (unsigned n = 67; n <= 100; n++) {
        ingest_quiet(parts.db, parts.project, n, n);
        judge_waiting(parts.db, &sum);
    }
    for (unsigned n = 1; n <= 100; n++)
        ingest_quiet(whole.db, whole.project, n, n);
    fx_detect(whole.db);
    expected = results_of(whole.url, true);
    got = results_of(parts.url, true);
    cr_assert(eq(str, got, expected));
    cr_assert(gt(sz, sum.reused, 0));
    free(expected);
    free(got);
    fx_end(&parts);
    fx_end(&whole);
}

/* A state of another version, or of other settings, is not used: the series is judged whole. */
Test(steady, a_state_that_does_not_fit_is_replaced)
{
    fx_ground g = fx_begin(3);
    char *before, *after;

    fx_commits(g.db, g.project, 1, 150);
    for (unsigned n = 1; n <= 149; n++)
        ingest(g.db, g.project, n);
    fx_detect(g.db);
    pfc_test_sql(g.url, "UPDATE series_states SET state = '\\x00112233'");
    ingest(g.db, g.project, 150);
    fx_detect(g.db);
    before = results_of(g.url, true);
    cr_assert(eq(ptr, strstr(before, "00112233"), NULL));
    pfc_test_sql(g.url, "DELETE FROM series_states");
    pfc_test_sql(g.url, "INSERT INTO jobs (project_id, kind, branch, priority) SELECT id, "
                        "'detect', 'main', 0 FROM projects");
    fx_detect(g.db);
    after = results_of(g.url, true);
    cr_assert(eq(str, after, before));
    free(before);
    free(after);
    fx_end(&g);
}
