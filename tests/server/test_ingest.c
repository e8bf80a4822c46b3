/* Runs: stored whole, once. */
#include <pthread.h>

#include "server/services/access/access.h"
#include "server/services/ingest/ingest.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/support/cluster_hooks.h"

static char *count(const char *url, const char *table)
{
    char *sql = pfc_format("SELECT count(*) FROM %s", table);
    char *value = pfc_test_sql_value(url, sql);

    free(sql);
    return value;
}

#define ASSERT_COUNT(url, table, want)                                                             \
    do {                                                                                           \
        char *n_ = count((url), (table));                                                          \
        cr_assert(eq(str, n_, (want)), "rows of %s", (table));                                     \
        free(n_);                                                                                  \
    } while (0)

static pfc_run *two_benchmarks(unsigned n)
{
    pfc_run *run = fx_run(n);

    fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 12, 3, n);
    fx_measure(run, "gemm/b", "time_ns", 200, 0.01, 12, 3, n + 1);
    return run;
}

Test(ingest, the_same_document_again_gives_the_same_answer)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_run *run = two_benchmarks(1);
    pfc_ingest_result first = { 0 }, again = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, "key-1", &first, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(not(first.repeated));
    cr_assert(eq(i64, first.series, 2));
    cr_assert(eq(i64, first.samples, 24));
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, "key-1", &again, &err), PFC_OK));
    cr_assert(again.repeated);
    cr_assert(eq(i64, again.run_id, first.run_id));
    cr_assert(eq(i64, again.series, first.series));
    cr_assert(eq(i64, again.samples, first.samples));
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &again, &err), PFC_OK));
    cr_assert(again.repeated);
    ASSERT_COUNT(url, "runs", "1");
    ASSERT_COUNT(url, "measurements", "2");
    ASSERT_COUNT(url, "jobs", "1");
    pfc_run_free(run);
    free(url);
    pfc_db_close(db);
}

Test(ingest, another_document_under_the_same_id_or_key_is_a_conflict)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_run *run = two_benchmarks(1), *other = two_benchmarks(2);
    pfc_ingest_result result = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, "key-1", &result, &err), PFC_OK));
    run->measurements[0].samples[0] *= 2;
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, "key-1", &result, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, other, "key-1", &result, &err), PFC_ECONFLICT));
    run->measurements[0].samples[0] /= 2;
    run->finished_at += 1;
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_ECONFLICT));
    ASSERT_COUNT(url, "runs", "1");
    ASSERT_COUNT(url, "measurements", "2");
    pfc_run_free(run);
    pfc_run_free(other);
    free(url);
    pfc_db_close(db);
}

Test(ingest, parts_of_a_split_run_come_together)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), id;
    pfc_run *run = two_benchmarks(1), *part = fx_run(1), *whole = NULL;
    pfc_ingest_result result = { 0 };
    pfc_err err = { 0 };

    free(part->id);
    part->id = pfc_strdup(run->id);
    fx_measure(part, "gemm/c", "time_ns", 300, 0.01, 4, 1, 9);
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_OK));
    id = result.run_id;
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, part, NULL, &result, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(i64, result.run_id, id));
    cr_assert(not(result.repeated));
    cr_assert(eq(int, pfc_run_load(db, p, id, &whole, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, whole->measurements_len, 3));
    ASSERT_COUNT(url, "runs", "1");
    /* each part is judged and recorded */
    ASSERT_COUNT(url, "run_parts q JOIN runs r ON r.id = q.run_id", "2");
    ASSERT_COUNT(url, "jobs j JOIN runs r ON r.id = j.run_id WHERE j.kind = 'detect'", "2");
    ASSERT_COUNT(url, "audit WHERE action = 'ingest'", "2");
    pfc_run_free(whole);
    pfc_run_free(run);
    pfc_run_free(part);
    free(url);
    pfc_db_close(db);
}

Test(ingest, a_stored_run_is_given_back_as_it_came)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_run *run = two_benchmarks(1), *back = NULL;
    pfc_measurement *broken = pfc_run_add(run);
    pfc_ingest_result result = { 0 };
    pfc_err err = { 0 };

    broken->benchmark = pfc_strdup("gemm/z");
    broken->metric = pfc_strdup("time_ns");
    broken->backend = pfc_strdup("cpu-scalar");
    broken->unit = pfc_strdup("ns");
    broken->status = PFC_STATUS_BROKEN;
    broken->reason = pfc_strdup("wrong result: element 3");
    run->branch = pfc_strdup("main");
    run->measurements[0].samples[0] = 0.1 + 0.2; /* needs 17 digits */
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(i64, result.series, 2));
    cr_assert(eq(int, pfc_run_load(db, p, result.run_id, &back, &err), PFC_OK), "%s", err.msg);

    char *want = pfc_run_to_text(run), *got = pfc_run_to_text(back);
    cr_assert(eq(str, got, want));
    free(want);
    free(got);
    pfc_run_free(run);
    pfc_run_free(back);
    pfc_db_close(db);
}

Test(ingest, what_cannot_be_right_is_refused_before_it_is_stored)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_run *run = two_benchmarks(1), *other = two_benchmarks(2);
    pfc_ingest_result result = { 0 };
    pfc_err err = { 0 };
    char *commit = run->commit;

    run->commit = NULL;
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_EINVAL));
    cr_assert(eq(str, err.field, "commit"));
    run->commit = commit;
    cr_assert(eq(int, pfc_run_ingest(db, "test", p + 1, run, NULL, &result, &err), PFC_ENOTFOUND));
    fx_measure(run, "gemm/a", "time_ns", 1, 0.01, 2, 1, 1); /* twice in one document */
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_EINVAL));
    ASSERT_COUNT(url, "runs", "0");
    ASSERT_COUNT(url, "commits", "0");

    fx_ingest(db, p, two_benchmarks(1));
    free(other->measurements[1].unit);
    other->measurements[1].unit = pfc_strdup("s");
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, other, NULL, &result, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "unit ns"), NULL), "%s", err.msg);
    cr_assert(eq(str, err.field, "measurements[1].unit"));
    ASSERT_COUNT(url, "runs", "1");
    pfc_run_free(run);
    pfc_run_free(other);
    free(url);
    pfc_db_close(db);
}

Test(ingest, a_machine_without_a_name_is_fine)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_run *run = two_benchmarks(1);
    pfc_ingest_result result = { 0 };
    pfc_err err = { 0 };

    free(run->machine.name);
    run->machine.name = NULL;
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(result.repeated);
    pfc_run_free(run);
    pfc_db_close(db);
}

typedef struct racer {
    pfc_db *db;
    int64_t project;
    const pfc_run *run;
    const char *key;
    pfc_ingest_result result;
    pfc_code code;
    pfc_err err;
} racer;

static void *race(void *arg)
{
    racer *r = arg;

    r->code = pfc_run_ingest(r->db, "test", r->project, r->run, r->key, &r->result, &r->err);
    return NULL;
}

Test(ingest, eight_threads_with_one_document_store_it_once)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(8, &url);
    int64_t p = fx_project(db);

    for (unsigned round = 1; round <= 5; round++) {
        pfc_run *run = two_benchmarks(round);
        pthread_t threads[8];
        racer racers[8];
        int first = 0;

        for (int i = 0; i < 8; i++) {
            racers[i] =
                (racer){ .db = db, .project = p, .run = run, .key = i % 2 ? NULL : run->id };
            cr_assert(eq(int, pthread_create(&threads[i], NULL, race, &racers[i]), 0));
        }
        for (int i = 0; i < 8; i++)
            cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
        for (int i = 0; i < 8; i++) {
            cr_assert(eq(int, racers[i].code, PFC_OK), "%s", racers[i].err.msg);
            cr_assert(eq(i64, racers[i].result.run_id, racers[0].result.run_id));
            first += !racers[i].result.repeated;
        }
        cr_assert(eq(int, first, 1));
        pfc_run_free(run);
    }
    ASSERT_COUNT(url, "runs", "5");
    ASSERT_COUNT(url, "measurements", "10");
    ASSERT_COUNT(url, "series", "2");
    free(url);
    pfc_db_close(db);
}

Test(ingest, eight_threads_with_different_documents_store_them_all)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(8, &url);
    int64_t p = fx_project(db);
    pthread_t threads[8];
    racer racers[8];
    pfc_run *runs[8];

    /* A new project: the first transaction creates commits, machine, benchmarks and series. */
    for (unsigned i = 0; i < 8; i++) {
        runs[i] = two_benchmarks(i + 1);
        racers[i] = (racer){ .db = db, .project = p, .run = runs[i] };
        cr_assert(eq(int, pthread_create(&threads[i], NULL, race, &racers[i]), 0));
    }
    for (int i = 0; i < 8; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
    for (int i = 0; i < 8; i++) {
        cr_assert(eq(int, racers[i].code, PFC_OK), "%s", racers[i].err.msg);
        pfc_run_free(runs[i]);
    }
    ASSERT_COUNT(url, "runs", "8");
    ASSERT_COUNT(url, "measurements", "16");
    ASSERT_COUNT(url, "series", "2");
    ASSERT_COUNT(url, "machines", "1");
    ASSERT_COUNT(url, "measurements_default", "0"); /* partitions were there */
    for (unsigned n = 1; n <= 8; n++)
        cr_assert(eq(i64, fx_position(db, p, n), n)); /* stubs in the order of time */
    free(url);
    pfc_db_close(db);
}

/* Two pools on one database, as of two servers. */
Test(ingest, one_key_raced_for_with_different_documents_has_one_winner)
{
    char *url = NULL;
    pfc_db *dbs[2] = { pfc_test_db_open(4, &url), NULL };
    pfc_err err = { 0 };
    int64_t p = fx_project(dbs[0]);
    pthread_t threads[8];
    racer racers[8];
    pfc_run *runs[8];
    int stored = 0;

    cr_assert(
        eq(int, pfc_db_open(&dbs[1], &(pfc_db_opts){ .url = url, .connections = 4 }, &err), PFC_OK),
        "%s", err.msg);
    for (unsigned i = 0; i < 8; i++) {
        runs[i] = two_benchmarks(i + 1);
        racers[i] = (racer){ .db = dbs[i % 2], .project = p, .run = runs[i], .key = "contested" };
        cr_assert(eq(int, pthread_create(&threads[i], NULL, race, &racers[i]), 0));
    }
    for (int i = 0; i < 8; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
    for (int i = 0; i < 8; i++) {
        stored += racers[i].code == PFC_OK;
        if (racers[i].code != PFC_OK) {
            cr_assert(eq(int, racers[i].code, PFC_ECONFLICT), "%s", racers[i].err.msg);
            cr_assert(
                eq(str, racers[i].err.msg, "Idempotency-Key: it was used for another document"));
        }
        pfc_run_free(runs[i]);
    }
    cr_assert(eq(int, stored, 1));
    ASSERT_COUNT(url, "runs", "1");
    ASSERT_COUNT(url, "run_parts", "1");
    ASSERT_COUNT(url, "jobs", "1");
    free(url);
    pfc_db_close(dbs[0]);
    pfc_db_close(dbs[1]);
}

Test(ingest, a_key_is_of_one_project_and_not_used_up_by_a_refusal)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), q;
    pfc_run *run = two_benchmarks(1), *same = two_benchmarks(1), *next = two_benchmarks(2);
    pfc_projects rows = { 0 };
    pfc_ingest_result first = { 0 }, other = { 0 };
    pfc_err err = { 0 };
    bool created = false;

    cr_assert(
        eq(int, pfc_project_create(db, "test", "q", "main", NULL, &created, &rows, &err), PFC_OK));
    q = rows.items[0].id;
    pfc_rows_clear(&rows);
    free(same->id);
    same->id = pfc_strdup(run->id);
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, "k", &first, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_run_ingest(db, "test", q, same, "k", &other, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(not(other.repeated));
    cr_assert(ne(i64, other.run_id, first.run_id));

    free(next->measurements[0].unit);
    next->measurements[0].unit = pfc_strdup("s"); /* the series has ns */
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, next, "l", &other, &err), PFC_EINVAL));
    free(next->measurements[0].unit);
    next->measurements[0].unit = pfc_strdup("ns");
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, next, "l", &other, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(not(other.repeated));
    ASSERT_COUNT(url, "runs", "3");
    pfc_run_free(run);
    pfc_run_free(same);
    pfc_run_free(next);
    free(url);
    pfc_db_close(db);
}

Test(ingest, a_further_part_does_not_measure_the_same_again)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_run *run = two_benchmarks(1), *part = fx_run(1);
    pfc_ingest_result result = { 0 };
    pfc_err err = { 0 };

    free(part->id);
    part->id = pfc_strdup(run->id);
    fx_measure(part, "gemm/c", "time_ns", 300, 0.01, 4, 1, 9);
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_OK));
    part->infra = true; /* nothing overlaps, but it says something else of the run */
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, part, NULL, &result, &err), PFC_ECONFLICT));
    cr_assert(ne(ptr, strstr(err.msg, "another header"), NULL), "%s", err.msg);
    part->infra = false;
    fx_measure(part, "gemm/b", "time_ns", 300, 0.01, 4, 1, 9);
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, part, NULL, &result, &err), PFC_ECONFLICT));
    ASSERT_COUNT(url, "measurements", "2");
    ASSERT_COUNT(url, "run_parts", "1");
    pfc_run_free(run);
    pfc_run_free(part);
    free(url);
    pfc_db_close(db);
}

/* A run that is stored but never judged looks like a healthy one. */
Test(ingest, a_run_whose_job_cannot_be_made_is_not_stored)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_run *run = two_benchmarks(1);
    pfc_ingest_result result = { 0 };
    pfc_err err = { 0 };

    pfc_test_sql(url, "ALTER TABLE jobs ADD CONSTRAINT none CHECK (kind <> 'detect')");
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, "k", &result, &err), PFC_EINVAL));
    ASSERT_COUNT(url, "runs", "0");
    ASSERT_COUNT(url, "run_parts", "0");
    ASSERT_COUNT(url, "measurements", "0");
    ASSERT_COUNT(url, "audit WHERE action = 'ingest'", "0");
    pfc_test_sql(url, "ALTER TABLE jobs DROP CONSTRAINT none");
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, "k", &result, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(not(result.repeated));
    ASSERT_COUNT(url, "jobs", "1");
    pfc_run_free(run);
    free(url);
    pfc_db_close(db);
}

/* A number that is no job of the project's may become another's one day, whose evidence it would
 * be. */
Test(ingest, a_job_that_is_none_of_the_projects_is_left_out)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    static const struct {
        int64_t job;
        const char *want;
    } cases[] = { { 71, "71" }, { 72, "" }, { 73, "" }, { 4711, "" }, { 0, "" } };

    pfc_test_sql(url, "INSERT INTO projects (name) VALUES ('other');"
                      "INSERT INTO jobs (id, project_id, kind) OVERRIDING SYSTEM VALUE "
                      "SELECT t.id, p.id, t.kind FROM projects p JOIN (VALUES (71, 'p', 'bisect'), "
                      "(72, 'p', 'detect'), (73, 'other', 'bisect')) AS t (id, name, kind) "
                      "ON t.name = p.name");
    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_run *run = two_benchmarks(1);
        pfc_ingest_result first = { 0 }, again = { 0 };
        pfc_err err = { 0 };
        char *sql, *got;

        run->job_id = cases[i].job;
        cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &first, &err), PFC_OK), "%s",
                  err.msg);
        cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &again, &err), PFC_OK), "%s",
                  err.msg);
        cr_assert(again.repeated); /* the same document all the same */
        cr_assert(eq(i64, again.run_id, first.run_id));
        sql = pfc_format("SELECT job_id FROM runs WHERE id = %lld", (long long)first.run_id);
        got = pfc_test_sql_value(url, sql);
        cr_assert(eq(str, got ? got : (char *)"", (char *)cases[i].want), "job %lld",
                  (long long)run->job_id);
        free(got);
        free(sql);
        pfc_run_free(run);
    }
    free(url);
    pfc_db_close(db);
}

static pfc_run *exact_run(unsigned n, double value, const char *compiler)
{
    pfc_run *run = fx_run(n);

    fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 12, 3, n);
    fx_exact(run, "gemm/a", "cycles", value);
    pfc_labels_set(&run->machine.fingerprint, "compiler", compiler);
    pfc_machine_hash(&run->machine);
    return run;
}

static pfc_code try_exact(pfc_db *db, int64_t p, pfc_run *run, pfc_err *err)
{
    pfc_ingest_result result = { 0 };
    pfc_code code = pfc_run_ingest(db, "test", p, run, NULL, &result, err);

    pfc_run_free(run);
    return code;
}

/* Twice the same is fine, as is another commit or another compiler; another value is refused whole.
 */
Test(ingest, another_value_of_an_exact_metric_at_the_same_commit_is_a_conflict)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_err err = { 0 };
    char *count;
    pfc_run *search;

    fx_commits(db, p, 1, 2);
    cr_assert(eq(int, try_exact(db, p, exact_run(1, 500, "gcc 12"), &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, try_exact(db, p, exact_run(1, 500, "gcc 12"), &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, try_exact(db, p, exact_run(2, 501, "gcc 12"), &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, try_exact(db, p, exact_run(1, 501, "gcc 13"), &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, try_exact(db, p, exact_run(1, 501, "gcc 12"), &err), PFC_ECONFLICT));
    cr_expect(eq(str, err.field, "measurements[1].samples"));
    cr_expect(ne(ptr, strstr(err.msg, "gemm/a cycles on cpu-scalar is exact"), NULL), "%s",
              err.msg);
    cr_expect(ne(ptr, strstr(err.msg, "expected 500, which run"), NULL), "%s", err.msg);
    cr_expect(ne(ptr, strstr(err.msg, "got 501"), NULL), "%s", err.msg);
    count = pfc_test_sql_value(
        url,
        "SELECT (SELECT count(*) FROM runs) || ' ' || (SELECT count(*) FROM measurements) || ' '"
        " || (SELECT count(*) FROM run_parts)");
    cr_expect(eq(str, count, "4 8 4"), "nothing of it is there");
    free(count);
    /* the builds of a bisection have new layouts: their numbers are no conflict */
    pfc_test_sql(url, "INSERT INTO jobs (project_id, kind, state) VALUES (1, 'bisect', 'done')");
    search = exact_run(1, 502, "gcc 12");
    count = pfc_test_sql_value(url, "SELECT max(id) FROM jobs");
    search->job_id = strtol(count, NULL, 10);
    free(count);
    cr_assert(eq(int, try_exact(db, p, search, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, try_exact(db, p, exact_run(1, 500, "gcc 12"), &err), PFC_OK), "%s", err.msg);
    free(url);
    pfc_db_close(db);
}
