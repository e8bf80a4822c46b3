/* The outbox: which notices are open, who gets them when, and what a delivery that failed does. */
#include <math.h>

#include "server/services/notices.h"
#include "server/services/service.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

#define LEASE_S 60.0

/* A notice about commit n of an alert of its own; its id. */
static int64_t plant_notice(const char *url, int64_t project, unsigned n)
{
    const int64_t alert = plant_alert(url, project, &(planted){ .low = n, .high = n });

    return plant_number(url,
                        "INSERT INTO notices (project_id, kind, alert_id, sha, text) VALUES"
                        " (%lld, 'culprit_confirmed', %lld, '%s', 'x') RETURNING id",
                        (long long)project, (long long)alert, fx_sha(n));
}

static pfc_notice_route all_of(const char *receiver, const char *project)
{
    return (pfc_notice_route){ .receiver = receiver,
                               .project = project,
                               .kinds = ",culprit_confirmed,toolchain,recovered,",
                               .benchmarks = "" };
}

static size_t dispatch(pfc_db *db, const char *receiver, const char *project, int days)
{
    pfc_err err = { 0 };
    size_t notices = 99;
    const pfc_notice_route route = all_of(receiver, project);

    cr_assert(eq(int, pfc_notices_dispatch(db, &route, 1, days, &notices, &err), PFC_OK), "%s",
              err.msg);
    return notices;
}

static pfc_delivery take(pfc_db *db)
{
    pfc_delivery d = { 0 };
    pfc_err err = { 0 };
    const pfc_code code = pfc_delivery_take(db, LEASE_S, &d, &err);

    cr_assert(code == PFC_OK || code == PFC_ENOTFOUND, "%s", err.msg);
    return d;
}

static void finish(pfc_db *db, const pfc_delivery *d, pfc_delivery_end end, double after_s)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_delivery_finish(db, d, end, "why", after_s, &err), PFC_OK), "%s",
              err.msg);
}

Test(outbox, lists_the_open_ones_oldest_first_a_page_at_a_time)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9), q = plant_other(db, "q", 9);
    int64_t ids[5], of = 0;
    pfc_notices list = { 0 };
    pfc_err err = { 0 };

    for (unsigned i = 0; i < 5; i++)
        ids[i] = plant_notice(url, i == 2 ? q : p, i + 2);
    for (int again = 0; again < 2; again++)
        cr_assert(eq(int, pfc_notice_done(db, again ? "bob" : "ann", ids[3], &err), PFC_OK));
    cr_expect(
        eq(i64,
           plant_number(url, "SELECT count(*) FROM notices WHERE done_by = 'ann' AND id = %lld",
                        (long long)ids[3]),
           1));
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM audit WHERE action = 'close'"), 1));
    cr_expect(eq(int, pfc_notice_done(db, "ann", 999999, &err), PFC_OK)); /* done is done */

    cr_assert(eq(int, pfc_notices_list(db, 0, (pfc_page){ .limit = 2 }, &list, &err), PFC_OK));
    cr_assert(eq(sz, list.len, 2));
    cr_expect(eq(i64, list.items[0].id, ids[0]));
    cr_expect(eq(i64, list.items[1].id, ids[1]));
    cr_expect(eq(i64, list.next, ids[1]));
    pfc_rows_clear(&list);
    cr_assert(eq(int,
                 pfc_notices_list(db, 0, (pfc_page){ .limit = 2, .cursor = ids[1] }, &list, &err),
                 PFC_OK));
    cr_assert(eq(sz, list.len, 2));
    cr_expect(eq(i64, list.items[0].id, ids[2]));
    cr_expect(eq(i64, list.items[1].id, ids[4]));
    cr_expect(eq(i64, list.next, 0)); /* that was all, although the page is full */
    pfc_rows_clear(&list);
    cr_assert(eq(int, pfc_notices_list(db, q, (pfc_page){ 0 }, &list, &err), PFC_OK));
    cr_assert(eq(sz, list.len, 1));
    cr_expect(eq(i64, list.items[0].id, ids[2]));
    pfc_rows_clear(&list);
    cr_expect(eq(int, pfc_notice_project(db, ids[2], &of, &err), PFC_OK));
    cr_expect(eq(i64, of, q));
    cr_expect(eq(int, pfc_notice_project(db, 999999, &of, &err), PFC_ENOTFOUND));
    free(url);
    pfc_db_close(db);
}

Test(outbox, hands_out_what_is_news_once_to_those_who_want_its_project)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const int64_t old = plant_notice(url, p, 2), young = plant_notice(url, p, 3);
    const int64_t closed = plant_notice(url, p, 4);
    pfc_err err = { 0 };

    plant_sql(url,
              "UPDATE notices SET created_at = now() - interval '7 days 1 minute' WHERE id ="
              " %lld",
              (long long)old);
    plant_sql(url,
              "UPDATE notices SET created_at = now() - interval '6 days 23 hours 59 minutes'"
              " WHERE id = %lld",
              (long long)young);
    cr_assert(eq(int, pfc_notice_done(db, "ann", closed, &err), PFC_OK));
    cr_expect(eq(sz, dispatch(db, "chat", "q", 7), 0));
    cr_expect(eq(sz, dispatch(db, "chat", "p", 7), 1));
    cr_expect(eq(sz, dispatch(db, "chat", "p", 7), 0));
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM jobs WHERE kind = 'notify'"), 1));
    cr_expect(eq(i64,
                 plant_number(url, "SELECT (task ->> 'notice')::bigint FROM jobs WHERE kind ="
                                   " 'notify'"),
                 young));
    cr_expect(eq(sz, dispatch(db, "chat", "", 8), 1));
    /* A hundred a call. */
    plant_sql(url,
              "INSERT INTO notices (project_id, kind, alert_id, sha, text) SELECT %lld,"
              " 'culprit_confirmed', a.id, lpad(to_hex(n), 40, '0'), 'x' FROM alerts a,"
              " generate_series(100, 200) n WHERE a.id = (SELECT min(id) FROM alerts)",
              (long long)p);
    cr_expect(eq(sz, dispatch(db, "chat", "", 7), 100));
    cr_expect(eq(sz, dispatch(db, "chat", "", 7), 1));
    free(url);
    pfc_db_close(db);
}

Test(outbox, a_delivery_is_taken_when_it_is_due_the_longest_due_first)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const int64_t a = plant_notice(url, p, 2), b = plant_notice(url, p, 3);
    const int64_t c = plant_notice(url, p, 4);
    pfc_delivery first, second;
    double due_s = 1;
    pfc_err err = { 0 };

#define DUE(notice, when)                                                                          \
    plant_sql(url,                                                                                 \
              "UPDATE jobs SET not_before = now() + interval '" when                               \
              "' WHERE (task ->> 'notice')::bigint = %lld",                                        \
              (long long)(notice))
    cr_assert(eq(int, pfc_delivery_due(db, &due_s, &err), PFC_OK));
    cr_expect(isinf(due_s));
    cr_expect(eq(sz, dispatch(db, "chat", "", 7), 3));
    DUE(a, "1 hour");
    DUE(b, "-1 minute");
    DUE(c, "-2 minutes");
    cr_assert(eq(int, pfc_delivery_due(db, &due_s, &err), PFC_OK));
    cr_expect(eq(dbl, due_s, 0));
    first = take(db);
    second = take(db);
    cr_expect(eq(i64, first.notice_id, c));
    cr_expect(eq(i64, second.notice_id, b));
    cr_expect(eq(i64, first.project_id, p));
    cr_expect(eq(str, first.receiver, (char *)"chat"));
    cr_expect(eq(i64, first.tries, 1));
    cr_expect(not(first.closed));
    cr_expect(eq(i64, take(db).job_id, 0));
    cr_assert(eq(int, pfc_delivery_due(db, &due_s, &err), PFC_OK));
    cr_expect(due_s > 3500 && due_s <= 3600);
    /* A notice that was closed in the meantime is marked so; an expired lease cannot be renewed. */
    cr_assert(eq(int, pfc_notice_done(db, "ann", a, &err), PFC_OK));
    DUE(a, "0 minutes");
    cr_expect(take(db).closed);
    cr_expect(eq(int, pfc_delivery_prolong(db, &first, LEASE_S, &err), PFC_OK));
    plant_sql(url,
              "UPDATE jobs SET state = 'queued', lease_until = NULL, lease_hash = NULL WHERE"
              " id = %lld",
              (long long)first.job_id);
    cr_expect(eq(int, pfc_delivery_prolong(db, &first, LEASE_S, &err), PFC_ENOTFOUND));
    free(url);
    pfc_db_close(db);
}

/* Tries, state and whether the notice is closed after each way to end. */
Test(outbox, a_delivery_ends_as_it_went_and_closes_its_notice_when_it_was_sent)
{
    static const struct {
        pfc_delivery_end end;
        const char *state;
        int64_t tries, closed, ended;
    } rows[] = {
        { PFC_DELIVERY_SENT, "done", 1, 1, 1 },         { PFC_DELIVERY_LATER, "queued", 1, 0, 0 },
        { PFC_DELIVERY_BACK, "queued", 0, 0, 0 },       { PFC_DELIVERY_DEAD, "failed", 1, 0, 1 },
        { PFC_DELIVERY_DROPPED, "cancelled", 1, 0, 1 },
    };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const int64_t notice = plant_notice(url, p, (unsigned)i + 2);
        pfc_delivery d, wrong;

        cr_assert(eq(sz, dispatch(db, "chat", "p", 7), 1));
        wrong = d = take(db);
        cr_assert(eq(i64, d.notice_id, notice));
        wrong.lease_hash[0] = wrong.lease_hash[0] == '0' ? '1' : '0';
        finish(db, &wrong, rows[i].end, 600);
        cr_expect(
            eq(i64, plant_number(url, "SELECT count(*) FROM jobs WHERE state = 'leased'"), 1));
        finish(db, &d, rows[i].end, 600);
        cr_expect(eq(i64,
                     plant_number(url,
                                  "SELECT count(*) FROM jobs WHERE id = %lld AND state = '%s'"
                                  " AND tries = %lld AND (finished_at IS NOT NULL) = (%lld = 1)"
                                  " AND reason = 'why'",
                                  (long long)d.job_id, rows[i].state, (long long)rows[i].tries,
                                  (long long)rows[i].ended),
                     1),
                  "%zu", i);
        cr_expect(eq(i64,
                     plant_number(url,
                                  "SELECT count(*) FROM notices WHERE id = %lld AND done_at IS"
                                  " NOT NULL AND done_by = 'notify'",
                                  (long long)notice),
                     rows[i].closed),
                  "%zu", i);
    }
    free(url);
    pfc_db_close(db);
}

Test(outbox, a_notice_is_closed_when_all_have_it_and_its_dead_letters_alone_are_tried_again)
{
    const pfc_notice_route routes[] = { all_of("chat", ""), all_of("hook", "p"),
                                        all_of("mail", "") };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9), q = plant_other(db, "q", 9);
    const int64_t notice = plant_notice(url, p, 2), other = plant_notice(url, p, 3);
    size_t n = 0;
    pfc_delivery d;
    pfc_err err = { 0 };

#define CLOSED(id)                                                                                 \
    plant_number(url, "SELECT count(*) FROM notices WHERE id = %lld AND done_at IS NOT NULL",      \
                 (long long)(id))
    cr_assert(eq(int, pfc_notices_dispatch(db, routes, 3, 7, &n, &err), PFC_OK));
    cr_assert(eq(sz, n, 2));
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM jobs WHERE kind = 'notify'"), 6));
    plant_sql(url,
              "UPDATE jobs SET state = 'failed', tries = 10, finished_at = now() WHERE kind ="
              " 'notify' AND ((task ->> 'notice')::bigint = %lld OR task ->> 'receiver' ="
              " 'hook')",
              (long long)other);
    d = take(db);
    finish(db, &d, PFC_DELIVERY_SENT, 0);
    d = take(db);
    finish(db, &d, PFC_DELIVERY_SENT, 0);
    cr_expect(eq(i64, CLOSED(notice), 0));
    cr_assert(eq(int, pfc_notice_again(db, "ann", q, notice, &n, &err), PFC_OK));
    cr_expect(eq(sz, n, 0));
    cr_assert(eq(int, pfc_notice_again(db, "ann", p, notice, &n, &err), PFC_OK));
    cr_expect(eq(sz, n, 1));
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM jobs WHERE state = 'failed'"), 3));
    d = take(db);
    cr_expect(eq(str, d.receiver, (char *)"hook"));
    cr_expect(eq(i64, d.tries, 1));
    finish(db, &d, PFC_DELIVERY_SENT, 0);
    cr_expect(eq(i64, CLOSED(notice), 1));
    cr_expect(eq(i64, CLOSED(other), 0));
    cr_assert(eq(int, pfc_notice_again(db, "ann", p, notice, &n, &err), PFC_OK));
    cr_expect(eq(sz, n, 0));
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM audit WHERE action = 'notify'"), 1));
    free(url);
    pfc_db_close(db);
}

/* One message has all alerts of the same project, kind and commit. */
Test(outbox, a_message_holds_what_is_said_of_the_same_commit_in_the_project)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9), q = plant_other(db, "q", 9);
    const int64_t first = plant_notice(url, p, 2), second = plant_notice(url, p, 2);
    pfc_delivery d = { .project_id = p, .notice_id = second };
    pfc_notices list = { 0 };
    pfc_err err = { 0 };

    plant_notice(url, p, 3);
    plant_notice(url, q, 2);
    plant_sql(url,
              "INSERT INTO notices (project_id, kind, alert_id, sha, text) SELECT project_id,"
              " 'toolchain', alert_id, sha, 'x' FROM notices WHERE id = %lld",
              (long long)first);
    cr_assert(eq(int, pfc_notice_content(db, &d, &list, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, list.len, 2));
    cr_expect(eq(i64, list.items[0].id, first));
    cr_expect(eq(i64, list.items[1].id, second));
    cr_expect(eq(str, list.items[0].benchmark, (char *)"gemm/a"));
    cr_expect(eq(dbl, list.items[0].rel_change, 0.1));
    pfc_rows_clear(&list);
    d.project_id = q;
    cr_assert(eq(int, pfc_notice_content(db, &d, &list, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(sz, list.len, 0));
    pfc_rows_clear(&list);
    free(url);
    pfc_db_close(db);
}

/* Which of the receivers have a delivery of the notice, as "a b ". */
static char *takers(const char *url, int64_t notice)
{
    static const char *const names[] = { "culprits", "gemm", "late", "recoveries" };
    char *out = pfc_strdup("");

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++) {
        char *longer;

        if (!plant_number(url,
                          "SELECT count(*) FROM jobs WHERE kind = 'notify' AND (task ->> 'notice')"
                          "::bigint = %lld AND task ->> 'receiver' = '%s'",
                          (long long)notice, names[i]))
            continue;
        longer = pfc_format("%s%s ", out, names[i]);
        free(out);
        out = longer;
    }
    return out;
}

Test(outbox, a_receiver_takes_its_kinds_and_its_benchmarks_when_it_is_not_quiet)
{
    const pfc_notice_route routes[] = {
        { "culprits", "", ",culprit_confirmed,", "", "", 0, 0 },
        { "gemm", "", ",culprit_confirmed,recovered,", "^(?:gemm/a|x)$", "", 0, 0 },
        { "late", "", ",toolchain,culprit_confirmed,", "^(?:.*/b)$", "", 3600, 0 },
        { "recoveries", "", ",recovered,", "", "", 0, 0 },
    };
    static const struct {
        const char *benchmark, *kind, *takers;
        int closed;
    } rows[] = {
        { "gemm/a", "culprit_confirmed", "culprits gemm ", 0 },
        { "gemm/b", "culprit_confirmed", "culprits late ", 0 },
        { "gemm/a", "recovered", "gemm recoveries ", 0 },
        { "gemm/b", "toolchain", "late ", 0 },
        { "gemm/a", "harness", "", 0 }, /* stays for readers of the outbox */
        { "gemm/a", "regression", "", 1 } /* an announcement that no receiver takes */,
        { "gemm/a", "infrastructure", "", 1 },
    };
    int64_t ids[PFC_ARRAY_LEN(rows)];
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    size_t n = 0;
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const int64_t alert =
            plant_alert(url, p, &(planted){ .benchmark = rows[i].benchmark, .low = 2, .high = 2 });

        ids[i] = plant_number(url,
                              "INSERT INTO notices (project_id, kind, alert_id, sha, text) VALUES"
                              " (%lld, '%s', %lld, '%s', 'x') RETURNING id",
                              (long long)p, rows[i].kind, (long long)alert, fx_sha(2));
    }
    cr_assert(eq(int, pfc_notices_dispatch(db, routes, 4, 7, &n, &err), PFC_OK), "%s", err.msg);
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *got = takers(url, ids[i]);

        cr_expect(eq(str, got, (char *)rows[i].takers), "%zu", i);
        cr_expect(eq(i64,
                     plant_number(url,
                                  "SELECT count(*) FROM notices WHERE id = %lld AND done_by ="
                                  " 'notify: no receiver'",
                                  (long long)ids[i]),
                     rows[i].closed),
                  "%zu", i);
        free(got);
    }
    cr_expect(
        eq(i64,
           plant_number(url, "SELECT count(*) FROM jobs WHERE task ->> 'receiver' = 'late' AND"
                             " not_before BETWEEN now() + interval '59 minutes' AND now() +"
                             " interval '61 minutes'"),
           2));
    free(url);
    pfc_db_close(db);
}

Test(outbox, an_owners_receiver_comes_before_those_of_the_project)
{
    static const pfc_notice_route routes[] = {
        { "culprits", "", ",recovered,", "", "^", 0, 0 },
        { "gemm", "", ",recovered,", "", "(?:^| )(?:\\@gemm[^ ]*)(?: |$)", 0, 0 },
        { "late", "", ",recovered,toolchain,", "", "", 0, 0 },
    };
    static const struct {
        const char *owner, *kind, *takers; /* owner NULL: none */
    } rows[] = {
        { "@gemm-team", "recovered", "culprits gemm " },
        { "@x @gemm", "recovered", "culprits gemm " },
        { "@x@gemm", "recovered", "culprits late " },
        { NULL, "recovered", "culprits late " },
        { "@gemm", "toolchain", "late " }, /* which the owner's receiver does not take */
    };
    int64_t ids[PFC_ARRAY_LEN(rows)];
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    size_t n = 0;
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const int64_t alert = plant_alert(url, p, &(planted){ .low = 2, .high = 2 });

        plant_sql(url, "UPDATE alerts SET owner = nullif('%s', '') WHERE id = %lld",
                  rows[i].owner ? rows[i].owner : "", (long long)alert);
        ids[i] = plant_number(url,
                              "INSERT INTO notices (project_id, kind, alert_id, sha, text) VALUES"
                              " (%lld, '%s', %lld, '%s', 'x') RETURNING id",
                              (long long)p, rows[i].kind, (long long)alert, fx_sha(2));
    }
    cr_assert(eq(int, pfc_notices_dispatch(db, routes, 3, 7, &n, &err), PFC_OK), "%s", err.msg);
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *got = takers(url, ids[i]);

        cr_expect(eq(str, got, (char *)rows[i].takers), "%zu", i);
        free(got);
    }
    free(url);
    pfc_db_close(db);
}
