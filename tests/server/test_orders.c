/* Orders and leases at their limits: what is accepted, what is refused, and whose it is. */

#include "server/services/queue/queue.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

static pfc_code order(pfc_db *db, int64_t p, const pfc_job_spec *spec, int64_t *id, bool *created,
                      pfc_err *err)
{
    pfc_jobs jobs = { 0 };
    pfc_code code;

    *err = (pfc_err){ 0 };
    code = pfc_job_enqueue(db, "test", p, spec, created, &jobs, err);
    *id = code ? 0 : jobs.items[0].id;
    pfc_rows_clear(&jobs);
    return code;
}

/* `pairs` labels of names and values that long. */
static pfc_labels labels_of(size_t pairs, int name_len, int value_len)
{
    pfc_labels labels = { 0 };

    for (size_t i = 0; i < pairs; i++) {
        char *name = pfc_format("%0*zu", name_len, i), *value = pfc_format("%0*d", value_len, 1);

        pfc_labels_set(&labels, name, value);
        free(name);
        free(value);
    }
    return labels;
}

Test(orders, are_accepted_at_their_limits_and_refused_beyond)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = fx_project(db);
    pfc_labels labels[] = {
        labels_of(1, 8, PFC_WIRE_MAX_NAME),        labels_of(1, 8, PFC_WIRE_MAX_NAME + 1),
        labels_of(1, PFC_WIRE_MAX_NAME, 8),        labels_of(1, PFC_WIRE_MAX_NAME + 1, 8),
        labels_of(PFC_WIRE_MAX_FINGERPRINT, 8, 8), labels_of(PFC_WIRE_MAX_FINGERPRINT + 1, 8, 8)
    };
    int64_t parent = 0, parents[PFC_JOB_MAX_PARENTS + 1], id;
    bool created = false;
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 order(db, p, &(pfc_job_spec){ .kind = "measure", .commit = fx_sha(99) }, &parent,
                       &created, &err),
                 PFC_OK));
    for (size_t i = 0; i < PFC_ARRAY_LEN(parents); i++)
        parents[i] = parent;
    const struct {
        pfc_job_spec spec;
        const char *field; /* NULL: accepted */
    } rows[] = {
        { { .priority = 0 }, NULL },
        { { .priority = 100 }, NULL },
        { { .priority = 101 }, "priority" },
        { { .priority = -2 }, "priority" },
        { { .priority = PFC_JOB_BY_KIND }, NULL },
        { { .parents = parents, .parents_len = PFC_JOB_MAX_PARENTS }, NULL },
        { { .parents = parents, .parents_len = PFC_JOB_MAX_PARENTS + 1 }, "parents" },
        { { .labels = &labels[0] }, NULL },
        { { .labels = &labels[1] }, "labels" },
        { { .labels = &labels[2] }, NULL },
        { { .labels = &labels[3] }, "labels" },
        { { .labels = &labels[4] }, NULL },
        { { .labels = &labels[5] }, "labels" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_job_spec spec = rows[i].spec;

        spec.kind = "measure";
        spec.commit = fx_sha((unsigned)i + 1);
        cr_expect(
            eq(int, order(db, p, &spec, &id, &created, &err), rows[i].field ? PFC_EINVAL : PFC_OK),
            "%zu: %s", i, err.msg);
        if (rows[i].field)
            cr_expect(eq(str, err.field, (char *)(uintptr_t)rows[i].field), "%zu", i);
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(labels); i++)
        pfc_labels_clear(&labels[i]);
    pfc_db_close(db);
}

/* Every part of an order but its urgency makes it another one; the order of labels does not. */
Test(orders, that_differ_in_anything_are_two_and_those_that_do_not_are_one)
{
    static const char *const one[] = { "cpu-avx2" }, *const two[] = { "cpu-avx2", "cpu-scalar" };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 2), q = plant_other(db, "q", 2);
    const char *sha = fx_sha(1);
    bool created = false;
    int64_t first, id;
    pfc_err err = { 0 };
    pfc_job_spec base = { .kind = "measure",
                          .commit = sha,
                          .suite = "quick",
                          .labels = fx_labels("{\"a\": \"1\", \"b\": \"2\"}"),
                          .config = "c",
                          .filter = "f",
                          .backends = one,
                          .backends_len = 1 };

    cr_assert(eq(int, order(db, p, &base, &first, &created, &err), PFC_OK), "%s", err.msg);
    cr_assert(created);
    pfc_job_spec same[] = { base, base };
    pfc_job_spec other[] = { base, base, base, base, base, base, base };

    same[0].labels = fx_labels("{\"b\": \"2\", \"a\": \"1\"}");
    same[1].priority = 70;
    for (size_t i = 0; i < PFC_ARRAY_LEN(same); i++) {
        cr_assert(eq(int, order(db, p, &same[i], &id, &created, &err), PFC_OK), "%s", err.msg);
        cr_expect(not(created), "%zu", i);
        cr_expect(eq(i64, id, first), "%zu", i);
    }
    other[0].kind = "nightly";
    other[1].commit = fx_sha(2);
    other[2].suite = "full";
    other[3].labels = fx_labels("{\"a\": \"1\", \"b\": \"3\"}");
    other[4].config = "d";
    other[5].filter = "g";
    other[6].backends = two;
    other[6].backends_len = 2;
    for (size_t i = 0; i < PFC_ARRAY_LEN(other); i++) {
        cr_assert(eq(int, order(db, p, &other[i], &id, &created, &err), PFC_OK), "%s", err.msg);
        cr_expect(created, "%zu", i);
    }
    other[0] = base;
    other[0].parents = &first;
    other[0].parents_len = 1;
    cr_assert(eq(int, order(db, p, &other[0], &id, &created, &err), PFC_OK), "%s", err.msg);
    cr_expect(created);
    cr_assert(eq(int, order(db, q, &base, &id, &created, &err), PFC_OK), "%s", err.msg);
    cr_expect(created);
    cr_expect(
        eq(i64, plant_number(url, "SELECT count(*) FROM audit WHERE action = 'enqueue'"), 10));
    free(url);
    pfc_db_close(db);
}

/* Jobs of the server itself cannot be leased or cancelled; finished jobs stay as
 * it is. */
Test(orders, only_what_waits_or_runs_for_a_runner_is_cancelled)
{
    static const char *const ended[] = { "done", "failed" };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 2);
    const int64_t own = plant_number(url, "SELECT id FROM jobs WHERE kind = 'detect'");
    bool created = false;
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    int64_t id;

    cr_expect(eq(int, pfc_job_cancel(db, "ann", own, &jobs, &err), PFC_ECONFLICT));
    cr_expect(eq(i64,
                 plant_number(url, "SELECT count(*) FROM jobs WHERE kind = 'detect' AND state ="
                                   " 'queued' AND NOT cancel_requested"),
                 1));
    cr_expect(eq(int, pfc_job_cancel(db, "ann", 999999, &jobs, &err), PFC_ENOTFOUND));
    for (size_t i = 0; i < PFC_ARRAY_LEN(ended); i++) {
        cr_assert(eq(int,
                     order(db, p, &(pfc_job_spec){ .kind = "measure", .commit = fx_sha(1) }, &id,
                           &created, &err),
                     PFC_OK));
        plant_sql(url, "UPDATE jobs SET state = '%s', finished_at = now() WHERE id = %lld",
                  ended[i], (long long)id);
        cr_expect(eq(int, pfc_job_cancel(db, "ann", id, &jobs, &err), PFC_ECONFLICT));
        cr_expect(eq(i64,
                     plant_number(url,
                                  "SELECT count(*) FROM jobs WHERE id = %lld AND state = '%s'"
                                  " AND NOT cancel_requested",
                                  (long long)id, ended[i]),
                     1));
    }
    /* Cancelled is cancelled: once more is no conflict. */
    cr_assert(eq(int,
                 order(db, p, &(pfc_job_spec){ .kind = "measure", .commit = fx_sha(1) }, &id,
                       &created, &err),
                 PFC_OK));
    for (int again = 0; again < 2; again++) {
        cr_assert(eq(int, pfc_job_cancel(db, "ann", id, &jobs, &err), PFC_OK));
        cr_expect(eq(str, (char *)(uintptr_t)jobs.items[0].state, (char *)"cancelled"));
        pfc_rows_clear(&jobs);
    }
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM audit WHERE action = 'cancel'"), 1));
    free(url);
    pfc_db_close(db);
}

/* ---- retries ---- */

static pfc_code again(pfc_db *db, int64_t p, int64_t id, bool admin, int64_t *made, bool *created,
                      pfc_err *err)
{
    pfc_jobs jobs = { 0 };
    pfc_code code;

    *err = (pfc_err){ 0 };
    code = pfc_job_retry(db, "ann", p, id, admin, created, &jobs, err);
    *made = code ? 0 : jobs.items[0].id;
    pfc_rows_clear(&jobs);
    return code;
}

static void end_as(const char *url, int64_t id, const char *state)
{
    plant_sql(url, "UPDATE jobs SET state = '%s', finished_at = now() WHERE id = %lld", state,
              (long long)id);
}

/* Number of properties that differ. */
static int64_t differences(const char *url, int64_t a, int64_t b)
{
    return plant_number(
        url,
        "SELECT count(*) FROM jobs a, jobs b,"
        " unnest(ARRAY[a.kind, a.sha, a.branch, a.suite, a.source, a.priority::text,"
        " a.labels::text, a.task::text, a.dedupe], ARRAY[b.kind, b.sha, b.branch,"
        " b.suite, b.source, b.priority::text, b.labels::text, b.task::text,"
        " b.dedupe]) AS v (x, y)"
        " WHERE a.id = %lld AND b.id = %lld AND v.x IS DISTINCT FROM v.y",
        (long long)a, (long long)b);
}

Test(orders, that_failed_are_retried_with_all_that_they_were_ordered_with)
{
    static const char *const backends[] = { "cpu-avx2" };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 3);
    pfc_labels labels = labels_of(2, 4, 4);
    int64_t ids[2], id, made, twice;
    bool created = false;
    pfc_err err = { 0 };

    for (size_t i = 0; i < 2; i++) { /* the parent that is open, and the parent that is done */
        const pfc_job_spec parent = { .kind = "measure", .commit = fx_sha((unsigned)i + 1) };

        cr_assert(eq(int, order(db, p, &parent, &ids[i], &created, &err), PFC_OK));
    }
    cr_assert(eq(int,
                 order(db, p,
                       &(pfc_job_spec){ .kind = "backfill",
                                        .commit = fx_sha(3),
                                        .branch = "main",
                                        .suite = "night",
                                        .source = "/src/fork",
                                        .labels = &labels,
                                        .priority = 33,
                                        .parents = ids,
                                        .parents_len = 2,
                                        .config = "project: p\n",
                                        .filter = "gemm/.*",
                                        .backends = backends,
                                        .backends_len = 1 },
                       &id, &created, &err),
                 PFC_OK),
              "%s", err.msg);
    end_as(url, ids[1], "done");
    end_as(url, id, "failed");
    cr_assert(eq(int, again(db, p, id, true, &made, &created, &err), PFC_OK), "%s", err.msg);
    cr_expect(created);
    cr_expect(ne(i64, made, id));
    cr_expect(eq(i64, differences(url, id, made), 0));
    cr_expect(eq(i64,
                 plant_number(url,
                              "SELECT count(*) FROM jobs WHERE id = %lld AND state = 'queued'"
                              " AND parents = ARRAY[%lld::bigint] AND tries = 0",
                              (long long)made, (long long)ids[0]),
                 1));
    /* A second retry finds the first one; a failed retry is retried again. */
    cr_assert(eq(int, again(db, p, id, true, &twice, &created, &err), PFC_OK), "%s", err.msg);
    cr_expect(not(created));
    cr_expect(eq(i64, twice, made));
    end_as(url, made, "cancelled");
    cr_assert(eq(int, again(db, p, made, true, &twice, &created, &err), PFC_OK), "%s", err.msg);
    cr_expect(created);
    cr_expect(eq(i64, differences(url, id, twice), 0));
    cr_expect(eq(i64,
                 plant_number(url,
                              "SELECT count(*) FROM audit WHERE action = 'retry' AND actor = 'ann'"
                              " AND detail = 'of job %lld'",
                              (long long)id),
                 1));
    pfc_labels_clear(&labels);
    free(url);
    pfc_db_close(db);
}

Test(orders, that_did_not_fail_or_are_repeated_by_others_are_not_retried)
{
    static const struct {
        const char *kind, *state, *set;
        bool admin;
        pfc_code code;
    } rows[] = {
        { "measure", "queued", "tries = 0", true, PFC_ECONFLICT },
        { "measure", "done", "tries = 0", true, PFC_ECONFLICT },
        { "bisect", "failed", "tries = 0", true, PFC_ECONFLICT },
        { "verify", "cancelled", "tries = 0", true, PFC_ECONFLICT },
        { "nightly", "failed", "task = '{\"blocks\": {}}'", true, PFC_ECONFLICT },
        { "measure", "failed", "task = '{\"config\": \"x\"}'", false, PFC_EDENIED },
        { "measure", "failed", "task = '{\"config\": \"x\"}'", true, PFC_OK },
        { "measure", "cancelled", "task = '{\"filter\": \"x\"}'", false, PFC_OK },
    };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 3), q = plant_other(db, "q", 3);
    const int64_t own = plant_number(url, "SELECT min(id) FROM jobs WHERE kind = 'detect'");
    int64_t id, made;
    bool created = false;
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_job_spec spec = { .kind = rows[i].kind, .commit = fx_sha(2), .priority = (int)i };

        plant_sql(url, "UPDATE jobs SET state = 'done' WHERE state = 'queued'");
        cr_assert(eq(int, order(db, p, &spec, &id, &created, &err), PFC_OK), "%s", err.msg);
        plant_sql(url, "UPDATE jobs SET %s WHERE id = %lld", rows[i].set, (long long)id);
        end_as(url, id, rows[i].state);
        cr_expect(eq(int, again(db, p, id, rows[i].admin, &made, &created, &err), rows[i].code),
                  "row %zu: %s", i, err.msg);
        cr_expect(eq(int, again(db, q, id, true, &made, &created, &err), PFC_ENOTFOUND));
    }
    cr_expect(eq(int, again(db, p, own, true, &made, &created, &err), PFC_ECONFLICT));
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM audit WHERE action = 'retry'"), 2));
    free(url);
    pfc_db_close(db);
}

/* ---- leases ---- */

static pfc_code ask(pfc_db *db, const pfc_lease_request *request, int64_t *id,
                    char secret[PFC_LEASE_SIZE], pfc_err *err)
{
    pfc_jobs jobs = { 0 };
    pfc_code code;

    *err = (pfc_err){ 0 };
    code = pfc_job_lease(db, request, &jobs, secret, err);
    *id = code ? 0 : jobs.items[0].id;
    pfc_rows_clear(&jobs);
    return code;
}

/* A fresh job of the commit, leased; its id. */
static int64_t leased(pfc_db *db, int64_t p, unsigned n, double lease_s,
                      char secret[PFC_LEASE_SIZE])
{
    const pfc_lease_request request = { .runner = "r1",
                                        .machine_class = "test-cpu",
                                        .lease_s = lease_s };
    bool created = false;
    pfc_err err = { 0 };
    int64_t id, got;

    cr_assert(eq(int,
                 order(db, p, &(pfc_job_spec){ .kind = "measure", .commit = fx_sha(n) }, &id,
                       &created, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(int, ask(db, &request, &got, secret, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, got, id));
    return id;
}

Test(leases, last_as_long_as_is_asked_for_and_an_hour_at_most)
{
    static const struct {
        double asked_s;
        int64_t lasts_s;
    } rows[] = { { 0, PFC_LEASE_S }, { 5, 5 }, { 3600, 3600 }, { 3601, 3600 }, { 1e6, 3600 } };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = fx_project(db);
    char secret[PFC_LEASE_SIZE];
    pfc_err err = { 0 };

#define LASTS(since)                                                                               \
    plant_number(url, "SELECT round(extract(epoch FROM lease_until - " since                       \
                      ")) FROM jobs WHERE state = 'leased'")
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const int64_t id = leased(db, p, (unsigned)i + 1, rows[i].asked_s, secret);
        bool cancel = true;

        cr_expect(eq(i64, LASTS("leased_at"), rows[i].lasts_s), "%zu", i);
        plant_sql(url, "UPDATE jobs SET lease_until = now() + interval '2 hours' WHERE id = %lld",
                  (long long)id);
        cr_expect(eq(int, pfc_job_heartbeat(db, id, secret, NULL, rows[i].asked_s, &cancel, &err),
                     PFC_OK));
        cr_expect(not(cancel));
        /* Time passes between the two statements: less than the limit, and near it. */
        cr_expect(le(i64, LASTS("clock_timestamp()"), rows[i].lasts_s), "%zu", i);
        cr_expect(ge(i64, LASTS("leased_at"), rows[i].lasts_s), "%zu", i);
        cr_expect(eq(int, pfc_job_complete(db, id, secret, "done", NULL, NULL, 0, &err), PFC_OK));
    }
    free(url);
    pfc_db_close(db);
}

/* SECRET or SECRET-NUMBER of the lease at hand: nothing else prolongs, ends or gives back a job. */
Test(leases, are_kept_by_their_secret_and_number_alone)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = fx_project(db);
    char secret[PFC_LEASE_SIZE];
    const int64_t id = leased(db, p, 1, 0, secret);
    char *wrong[6];
    bool cancel = false;
    pfc_err err = { 0 };

    cr_assert(eq(str, secret + 32, (char *)"-1"));
    secret[32] = '\0';
    wrong[0] = pfc_format("%s-0", secret);
    wrong[1] = pfc_format("%s-2", secret);
    wrong[2] = pfc_format("%s-x", secret);
    wrong[3] = pfc_format("%s-", secret);
    wrong[4] = pfc_format("%.31s%c-1", secret, secret[31] == '0' ? '1' : '0');
    wrong[5] = pfc_format("%.31s-1", secret);
    for (size_t i = 0; i < PFC_ARRAY_LEN(wrong); i++) {
        cr_expect(
            eq(int, pfc_job_heartbeat(db, id, wrong[i], NULL, 0, &cancel, &err), PFC_ECONFLICT),
            "%zu", i);
        cr_expect(eq(int, pfc_job_release(db, id, wrong[i], &err), PFC_ECONFLICT), "%zu", i);
        cr_expect(
            eq(int, pfc_job_complete(db, id, wrong[i], "done", NULL, NULL, 0, &err), PFC_ECONFLICT),
            "%zu", i);
        free(wrong[i]);
    }
    cr_expect(eq(int, pfc_job_release(db, 999999, secret, &err), PFC_ENOTFOUND));
    cr_expect(
        eq(int, pfc_job_complete(db, 999999, secret, "done", NULL, NULL, 0, &err), PFC_ENOTFOUND));
    cr_expect(
        eq(int, pfc_job_heartbeat(db, 999999, secret, NULL, 0, &cancel, &err), PFC_ECONFLICT));
    cr_expect(eq(int, pfc_job_complete(db, id, secret, "done", NULL, NULL, 0, &err), PFC_OK));
    /* The same again is fine; nothing prolongs or gives back what has ended. */
    cr_expect(eq(int, pfc_job_complete(db, id, secret, "failed", NULL, NULL, 0, &err), PFC_OK));
    cr_expect(eq(int, pfc_job_heartbeat(db, id, secret, NULL, 0, &cancel, &err), PFC_ECONFLICT));
    cr_expect(eq(i64,
                 plant_number(url, "SELECT count(*) FROM jobs WHERE state = 'done' AND finished_at"
                                   " IS NOT NULL AND lease_until IS NULL"),
                 1));
    free(url);
    pfc_db_close(db);
}

Test(leases, are_of_the_tokens_project_and_asked_for_by_a_named_runner)
{
    pfc_labels many = labels_of(PFC_WIRE_MAX_FINGERPRINT + 1, 8, 8);
    const struct {
        pfc_lease_request request;
        const char *field;
    } wrong[] = {
        { { .machine_class = "c" }, "runner" },
        { { .runner = "", .machine_class = "c" }, "runner" },
        { { .runner = "r" }, "runner" },
        { { .runner = "r", .machine_class = "c", .lease = "0123456789abcdef0123456789abcde" },
          "lease" },
        { { .runner = "r", .machine_class = "c", .lease = "0123456789abcdef0123456789abcdef0" },
          "lease" },
        { { .runner = "r", .machine_class = "c", .lease = "0123456789abcdef0123456789abcdeg" },
          "lease" },
        { { .runner = "r", .machine_class = "c", .labels = &many }, "labels" },
    };
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = plant_project(db, 2), q = plant_other(db, "q", 2);
    pfc_lease_request request = { .runner = "r1", .machine_class = "test-cpu", .project_id = q };
    char secret[PFC_LEASE_SIZE];
    bool created = false;
    int64_t id, got;
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 order(db, p, &(pfc_job_spec){ .kind = "measure", .commit = fx_sha(1) }, &id,
                       &created, &err),
                 PFC_OK));
    for (size_t i = 0; i < PFC_ARRAY_LEN(wrong); i++) {
        cr_expect(eq(int, ask(db, &wrong[i].request, &got, secret, &err), PFC_EINVAL), "%zu", i);
        cr_expect(eq(str, err.field, (char *)(uintptr_t)wrong[i].field), "%zu", i);
    }
    cr_expect(eq(int, ask(db, &request, &got, secret, &err), PFC_ENOTFOUND));
    request.project_id = p;
    cr_expect(eq(int, ask(db, &request, &got, secret, &err), PFC_OK));
    cr_expect(eq(i64, got, id));
    pfc_labels_clear(&many);
    pfc_db_close(db);
}

Test(leases, end_with_one_of_four_words_and_what_they_mean)
{
    static const struct {
        const char *status, *reason, *session, *state, *stored;
        bool cancelled; /* its cancellation is requested */
        const char *field;
    } rows[] = {
        { "done", NULL, NULL, "done", NULL, false, NULL },
        { "done", NULL, "0123456789abcdef0123456789abcdef", "done", NULL, true, NULL },
        { "failed", "why", NULL, "failed", "why", false, NULL },
        { "failed", "why", NULL, "cancelled", "why", true, NULL },
        { "broken", "why", NULL, "failed", "broken: why", false, NULL },
        { "broken", NULL, NULL, "failed", "broken: the benchmark cannot be measured", false, NULL },
        { "timed_out", "why", NULL, "failed", "timed out: why", false, NULL },
        { "timed_out", NULL, NULL, "cancelled", "timed out: over its limit", true, NULL },
        { "cancelled", NULL, NULL, "leased", NULL, false, "status" },
        { "done", NULL, "0123456789abcdef0123456789abcde", "leased", NULL, false, "session" },
        { "done", NULL, "0123456789abcdef0123456789abcdef0", "leased", NULL, false, "session" },
        { "done", NULL, "0123456789abcdef0123456789abcdeg", "leased", NULL, false, "session" },
    };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = fx_project(db);

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_job_result result = { .session = rows[i].session };
        char secret[PFC_LEASE_SIZE];
        const int64_t id = leased(db, p, (unsigned)i + 1, 0, secret);
        pfc_jobs jobs = { 0 };
        pfc_err err = { 0 };

        if (rows[i].cancelled) {
            cr_assert(eq(int, pfc_job_cancel(db, "ann", id, &jobs, &err), PFC_OK));
            pfc_rows_clear(&jobs);
        }
        cr_expect(eq(int,
                     pfc_job_finish(db, id, secret, rows[i].status, rows[i].reason, &result, &err),
                     rows[i].field ? PFC_EINVAL : PFC_OK),
                  "%zu: %s", i, err.msg);
        if (rows[i].field)
            cr_expect(eq(str, err.field, (char *)(uintptr_t)rows[i].field), "%zu", i);
        cr_assert(eq(int, pfc_jobs_get(db, id, &jobs, &err), PFC_OK));
        cr_expect(pfc_streq(jobs.items[0].state, rows[i].state), "%zu: %s", i, jobs.items[0].state);
        cr_expect(pfc_streq(jobs.items[0].reason, rows[i].stored), "%zu: %s", i,
                  jobs.items[0].reason ? jobs.items[0].reason : "none");
        cr_expect(pfc_streq(jobs.items[0].session, rows[i].field ? NULL : rows[i].session), "%zu",
                  i);
        pfc_rows_clear(&jobs);
    }
    free(url);
    pfc_db_close(db);
}
