/* Which jobs a runner may take: found by their labels in the database, and compared in memory. */
#include <stdlib.h>

#include "server/repo/documents/labels.h"
#include "server/services/queue/queue.h"
#include "server/services/queue/seekers.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/support/support.h"

#define PAIRS 6 /* labels that a job may have; two of them exclude one another */

static const struct pair {
    const char *name, *value;
} pairs[PAIRS] = { { "tasks", "blocks" }, { "machine_class", "lab" }, { "backend", "cpu" },
                   { "rack", "1" },       { "gpu", "h100" },          { "disk", "fast" } };

/* The labels of a set of pairs. */
static pfc_labels labels_of(unsigned set)
{
    pfc_labels labels = { 0 };

    for (unsigned i = 0; i < PAIRS; i++)
        if (set & 1u << i)
            pfc_labels_set(&labels, pairs[i].name, pairs[i].value);
    return labels;
}

static int64_t add_job(const char *url, int64_t p, const char *labels, int priority)
{
    char *sql = pfc_format("INSERT INTO jobs (project_id, kind, sha, labels, priority) VALUES"
                           " (%lld, 'measure', repeat('0', 40), '%s', %d) RETURNING id",
                           (long long)p, labels, priority);
    char *id = pfc_test_sql_value(url, sql);
    const int64_t number = strtoll(id, NULL, 10);

    free(sql);
    free(id);
    return number;
}

/* The runner that has the pairs of the set, and no other. */
typedef struct seeking {
    pfc_lease_request request;
    pfc_labels labels;
    const char *backends[1];
} seeking;

static void seeking_init(seeking *s, unsigned set)
{
    s->backends[0] = "cpu";
    s->labels = labels_of(set & ~6u);
    s->request = (pfc_lease_request){ .runner = "r1",
                                      .machine_class = set & 2u ? "lab" : "other",
                                      .labels = &s->labels,
                                      .backends = s->backends,
                                      .backends_len = set & 4u ? 1 : 0 };
}

static int64_t lease(pfc_db *db, const pfc_lease_request *request)
{
    char secret[PFC_LEASE_SIZE];
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    pfc_code code = pfc_job_lease(db, request, &jobs, secret, &err);
    int64_t id = code ? 0 : jobs.items[0].id;

    cr_assert(code == PFC_OK || code == PFC_ENOTFOUND, "%s", err.msg);
    pfc_rows_clear(&jobs);
    return id;
}

/* Every set of labels against every runner: the database, the runner in memory, and set theory. */
Test(needs, a_runner_gets_the_jobs_whose_labels_it_has_and_no_others)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), ids[1u << PAIRS];

    for (unsigned wanted = 0; wanted < 1u << PAIRS; wanted++) {
        pfc_labels labels = labels_of(wanted);
        char *text = pfc_labels_text(&labels);

        ids[wanted] = add_job(url, p, text, 0);
        free(text);
        pfc_labels_clear(&labels);
    }
    for (unsigned has = 0; has < 1u << PAIRS; has += 5) {
        seeking s;
        pfc_job_seeker *seeker;
        unsigned expected = 0, got = 0;

        seeking_init(&s, has);
        seeker = pfc_job_seeker_new(&s.request);
        for (unsigned wanted = 0; wanted < 1u << PAIRS; wanted++) {
            pfc_job_need need = { .project_id = p,
                                  .labels = labels_of(wanted),
                                  .labels_known = true };
            const bool fits = (wanted & ~has) == 0;

            cr_assert(eq(int, pfc_job_seeker_suits(seeker, &need), fits), "wanted %x, has %x",
                      wanted, has);
            expected += fits;
            pfc_labels_clear(&need.labels);
        }
        for (int64_t id; (id = lease(db, &s.request)) != 0; got++) {
            unsigned wanted = 0;

            while (ids[wanted] != id)
                wanted++;
            cr_assert(eq(u32, wanted & ~has, 0), "job %x, runner %x", wanted, has);
        }
        cr_assert(eq(u32, got, expected), "has %x", has);
        pfc_test_sql(url, "UPDATE jobs SET state = 'queued', lease_until = NULL, tries = 0");
        pfc_job_seeker_free(seeker);
        pfc_labels_clear(&s.labels);
    }
    free(url);
    pfc_db_close(db);
}

/* Of several sets of labels the most urgent job is taken, the oldest of equal ones. */
Test(needs, the_order_of_the_queue_holds_over_all_labels)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), ids[5];
    seeking s;

    seeking_init(&s, 63);
    ids[3] = add_job(url, p, "{\"gpu\":\"h100\"}", 10);
    ids[0] = add_job(url, p, "{\"rack\":\"1\"}", 80);
    ids[4] = add_job(url, p, "{}", 10);
    ids[1] = add_job(url, p, "{\"gpu\":\"h100\",\"rack\":\"1\"}", 40);
    ids[2] = add_job(url, p, "{\"gpu\":\"h100\"}", 40);
    (void)add_job(url, p, "{\"gpu\":\"other\"}", 90);
    for (size_t i = 0; i < PFC_ARRAY_LEN(ids); i++)
        cr_assert(eq(i64, lease(db, &s.request), ids[i]), "%zu", i);
    cr_assert(eq(i64, lease(db, &s.request), 0));
    pfc_labels_clear(&s.labels);
    free(url);
    pfc_db_close(db);
}

Test(needs, a_seeker_of_one_project_and_an_avoided_one)
{
    const pfc_lease_request request = { .runner = "r1", .machine_class = "lab", .project_id = 7 };
    pfc_job_seeker *seeker = pfc_job_seeker_new(&request);
    static const struct {
        pfc_job_need need;
        bool suits;
    } rows[] = { { { .project_id = 7, .labels_known = true }, true },
                 { { .project_id = 8, .labels_known = true }, false },
                 { { .project_id = 7, .labels_known = true, .avoid = "r1" }, false },
                 { { .project_id = 7, .labels_known = true, .avoid = "r2" }, true },
                 { { .project_id = 7 }, true } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(int, pfc_job_seeker_suits(seeker, &rows[i].need), rows[i].suits), "%zu", i);
    pfc_job_seeker_free(seeker);
}

/* The plan must not walk through jobs of other runners: two look-ups a set of labels that is found
 * under a pair of the runner, however many jobs wait. Those that share a pair with it and have one
 * of their own beside are found under that one. */
Test(needs, jobs_that_fit_no_runner_are_not_read)
{
    char *url = NULL, *read;
    pfc_db *db = pfc_test_db_open(1, &url);
    int64_t p = fx_project(db), before, after;
    seeking s;
    char *sql = pfc_format(
        "INSERT INTO jobs (project_id, kind, sha, labels) SELECT %lld, 'measure', repeat('0', 40),"
        " jsonb_build_object('tasks', 'blocks', 'ticket', n::text) FROM generate_series(1, 5000) n;"
        " INSERT INTO jobs (project_id, kind, sha, labels) SELECT %lld, 'measure', repeat('0', 40),"
        " '{\"gpu\": \"none\"}' FROM generate_series(1, 5000) n;"
        " INSERT INTO jobs (project_id, kind, sha, labels) SELECT %lld, 'measure', repeat('0', 40),"
        " jsonb_build_object('rack', '1', 'ticket', n::text) FROM generate_series(1, 2000) n;"
        " SELECT pg_stat_force_next_flush()", /* the reads of the inserts: before the reset */
        (long long)p, (long long)p, (long long)p);
    static const char reads[] = "SELECT pg_stat_force_next_flush(); SELECT idx_tup_fetch +"
                                " seq_tup_read FROM pg_stat_user_tables WHERE relname = 'jobs'";

    pfc_test_sql(url, sql);
    pfc_test_sql(url, "ANALYZE jobs");
    seeking_init(&s, 63);
    cr_assert(eq(i64, lease(db, &s.request), 0)); /* the counters of this session are flushed now */
    pfc_test_sql(url, "SELECT pg_stat_reset()");
    for (int i = 0; i < 8; i++) /* the plan for any values begins with the sixth */
        cr_assert(eq(i64, lease(db, &s.request), 0));
    pfc_db_close(db);
    read = pfc_test_sql_value(url, reads);
    before = 0;
    after = strtoll(read, NULL, 10);
    cr_assert(lt(i64, after - before, 800), "%s rows read in 8 leases", read);
    free(read);
    free(sql);
    pfc_labels_clear(&s.labels);
    free(url);
}
