/* Digests: what was collected for a receiver is taken once, as a whole, and again as it was. */
#include <math.h>
#include <string.h>

#include "server/services/notices.h"
#include "server/services/service.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

#define LEASE_S 60.0
#define PAST    1000.0       /* Unix time */
#define FUTURE  4102444800.0 /* 2100-01-01 */

/* A notice about an alert of its own with that change. */
static int64_t plant_notice(const char *url, int64_t p, const char *kind, unsigned n, double rel)
{
    const int64_t alert = plant_alert(url, p, &(planted){ .low = n, .high = n, .rel = rel });

    return plant_number(url,
                        "INSERT INTO notices (project_id, kind, alert_id, sha, text) VALUES"
                        " (%lld, '%s', %lld, '%s', 'x') RETURNING id",
                        (long long)p, kind, (long long)alert, fx_sha(n));
}

static void dispatch(pfc_db *db, double digest_unix_s)
{
    const pfc_notice_route routes[] = {
        { "team", "", ",regression,recovered,", "", "", 0, digest_unix_s },
        { "each", "", ",recovered,", "", "", 3600, 0 },
    };
    pfc_err err = { 0 };
    size_t n;

    cr_assert(eq(int, pfc_notices_dispatch(db, routes, 2, 7, &n, &err), PFC_OK), "%s", err.msg);
}

static pfc_delivery take(pfc_db *db)
{
    pfc_delivery d = { 0 };
    pfc_err err = { 0 };
    const pfc_code code = pfc_delivery_take(db, LEASE_S, &d, &err);

    cr_assert(code == PFC_OK || code == PFC_ENOTFOUND, "%s", err.msg);
    return d;
}

static void finish(pfc_db *db, const pfc_delivery *d, pfc_delivery_end end)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_delivery_finish(db, d, end, "why", 0, &err), PFC_OK), "%s", err.msg);
}

static void expect_content(pfc_db *db, const pfc_delivery *d, const int64_t *ids, size_t len)
{
    pfc_notices list = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_notice_content(db, d, &list, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, list.len, len));
    for (size_t i = 0; i < len; i++)
        cr_expect(eq(i64, list.items[i].id, ids[i]), "%zu", i);
    pfc_rows_clear(&list);
}

static int64_t jobs_in(const char *url, const char *state)
{
    return plant_number(url,
                        "SELECT count(*) FROM jobs WHERE kind = 'notify' AND state = '%s' AND task"
                        " ->> 'receiver' = 'team'",
                        state);
}

Test(digests, wait_for_their_time_and_are_taken_whole_by_worth)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const int64_t recovered = plant_notice(url, p, "recovered", 2, 0.9);
    const int64_t small = plant_notice(url, p, "regression", 3, 0.1);
    const int64_t large = plant_notice(url, p, "regression", 4, 0.5);
    pfc_delivery d;
    double due_s = 0;
    pfc_err err = { 0 };

    dispatch(db, FUTURE);
    cr_expect(eq(i64, take(db).job_id, 0));
    cr_assert(eq(int, pfc_delivery_due(db, &due_s, &err), PFC_OK));
    cr_expect(due_s > 0 && due_s <= 3600); /* the one of the other receiver */
    plant_sql(url, "UPDATE jobs SET not_before = now() WHERE task ->> 'receiver' = 'team'");
    d = take(db);
    cr_expect(eq(str, d.receiver, (char *)"team"));
    cr_expect(eq(sz, strlen(d.digest), 16));
    cr_expect(eq(i64, take(db).job_id, 0)); /* a second server gets none of it */
    expect_content(db, &d, (const int64_t[]){ large, small, recovered }, 3);
    cr_expect(eq(int, pfc_delivery_prolong(db, &d, LEASE_S, &err), PFC_OK));
    /* One is closed meanwhile: it is left out, and is not said to be sent. */
    cr_assert(eq(int, pfc_notice_done(db, "ann", small, &err), PFC_OK));
    expect_content(db, &d, (const int64_t[]){ large, recovered }, 2);
    finish(db, &d, PFC_DELIVERY_SENT);
    cr_expect(eq(i64, jobs_in(url, "done"), 2));
    cr_expect(eq(i64, jobs_in(url, "cancelled"), 1));
    cr_expect(eq(i64,
                 plant_number(url,
                              "SELECT count(*) FROM notices WHERE done_by = 'notify' AND id ="
                              " %lld",
                              (long long)large),
                 1));
    /* The other receiver has not got it yet. */
    cr_expect(eq(i64,
                 plant_number(url,
                              "SELECT count(*) FROM notices WHERE done_at IS NULL AND id ="
                              " %lld",
                              (long long)recovered),
                 1));
    cr_expect(eq(int, pfc_delivery_prolong(db, &d, LEASE_S, &err), PFC_ENOTFOUND));
    plant_sql(url, "UPDATE jobs SET not_before = now() WHERE state = 'queued'");
    d = take(db);
    cr_expect(eq(str, d.receiver, (char *)"each"));
    cr_expect(eq(str, d.digest, (char *)""));
    free(url);
    pfc_db_close(db);
}

/* A server is killed after it has sent, or a receiver fails: the same digest is sent again, under
 * the same number, and what came in between is in the next one. */
Test(digests, are_sent_again_as_they_were)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const int64_t first = plant_notice(url, p, "regression", 2, 0.1);
    const int64_t second = plant_notice(url, p, "regression", 3, 0.2);
    int64_t third;
    pfc_delivery d, again, next;
    pfc_err err = { 0 };
    size_t n = 0;

    dispatch(db, PAST);
    d = take(db);
    third = plant_notice(url, p, "regression", 4, 0.3);
    dispatch(db, PAST);
    plant_sql(url, "UPDATE jobs SET state = 'queued', lease_hash = NULL, lease_until = NULL WHERE"
                   " state = 'leased'"); /* the lease expires */
    again = take(db);
    cr_expect(eq(str, again.digest, d.digest));
    cr_expect(eq(i64, again.tries, 2));
    expect_content(db, &again, (const int64_t[]){ second, first }, 2);
    next = take(db);
    cr_expect(ne(str, next.digest, d.digest));
    expect_content(db, &next, &third, 1);
    finish(db, &d, PFC_DELIVERY_SENT); /* the first server comes back: its lease is lost */
    cr_expect(eq(i64, jobs_in(url, "leased"), 3));
    finish(db, &again, PFC_DELIVERY_LATER);
    again = take(db);
    cr_expect(eq(str, again.digest, d.digest));
    expect_content(db, &again, (const int64_t[]){ second, first }, 2);
    finish(db, &again, PFC_DELIVERY_DEAD);
    finish(db, &next, PFC_DELIVERY_SENT);
    cr_expect(eq(i64, jobs_in(url, "failed"), 2));
    /* A person has one of its notices sent again: that is a digest of its own. */
    cr_assert(eq(int, pfc_notice_again(db, "ann", p, first, &n, &err), PFC_OK));
    cr_expect(eq(sz, n, 1));
    again = take(db);
    cr_expect(ne(str, again.digest, d.digest));
    expect_content(db, &again, &first, 1);
    free(url);
    pfc_db_close(db);
}
