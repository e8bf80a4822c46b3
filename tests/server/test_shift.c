/* Machines that moved without a canary: one event, or the commits' alerts. */
#include <math.h>

#include "server/services/alerts/alerts.h"
#include "server/services/alerts/environment.h"
#include "server/services/history/history.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

#define LAST    40
#define STEP_AT 21
#define WORKS   8

static const char *const works[WORKS] = { "gemm/a",      "gemm/b", "gemm/c", "attention/a",
                                          "attention/b", "norm/a", "norm/b", "norm/c" };

/* A run of commit n on a host of its own class; times[k] of works[k]. kernel: or a whole
 * fingerprint. */
static pfc_run *run_on(unsigned n, const char *host, const char *kernel, const double *times)
{
    pfc_run *run = fx_run(n);
    pfc_err err = { 0 };

    free(run->machine.name);
    free(run->machine.machine_class);
    run->machine.name = pfc_strdup(host);
    run->machine.machine_class = pfc_format("class-%s", host);
    if (kernel[0] == '{') {
        pfc_labels_clear(&run->machine.fingerprint);
        cr_assert(eq(int, pfc_labels_parse(kernel, &run->machine.fingerprint, &err), PFC_OK), "%s",
                  err.msg);
    } else {
        pfc_labels_set(&run->machine.fingerprint, "kernel", kernel);
    }
    pfc_machine_hash(&run->machine);
    for (size_t k = 0; k < WORKS; k++)
        fx_measure(run, works[k], "time_ns", times[k], 0.004, 9, 3,
                   (uint64_t)n * 31 + k * 977 + (uint64_t)host[0]);
    return run;
}

/* Commits 1..LAST on a host, everything `loss` slower from STEP_AT on, works[special] by its own.
 */
static void measure_from(pfc_db *db, int64_t p, const char *host, const char *kernel_before,
                         const char *kernel_after, double loss, size_t special, double special_loss)
{
    for (unsigned n = 1; n <= LAST; n++) {
        double times[WORKS];

        for (size_t k = 0; k < WORKS; k++)
            times[k] = 100 * (1 + (n < STEP_AT ? 0 : k == special ? special_loss : loss));
        fx_ingest(db, p, run_on(n, host, n < STEP_AT ? kernel_before : kernel_after, times));
    }
}

static void measure(pfc_db *db, int64_t p, const char *host, const char *kernel_after, double loss,
                    size_t special, double special_loss)
{
    measure_from(db, p, host, "6.1", kernel_after, loss, special, special_loss);
}

static size_t count(const char *url, const char *where)
{
    char *sql = pfc_format("SELECT count(*) FROM alerts a JOIN series s ON s.id = a.series_id"
                           " JOIN benchmarks b ON b.id = s.benchmark_id WHERE %s",
                           where);
    char *text = pfc_test_sql_value(url, sql);
    const size_t n = strtoul(text, NULL, 10);

    free(text);
    free(sql);
    return n;
}

static pfc_environment_events events_of(pfc_db *db, int64_t p, bool open_only)
{
    pfc_environment_events events = { 0 };
    pfc_err err = { 0 };

    cr_assert(
        eq(int, pfc_environment_list(db, p, open_only, (pfc_page){ 0 }, &events, &err), PFC_OK),
        "%s", err.msg);
    return events;
}

static size_t events_len(pfc_db *db, int64_t p, bool open_only)
{
    pfc_environment_events events = events_of(db, p, open_only);
    const size_t len = events.len;

    pfc_rows_clear(&events);
    return len;
}

Test(shift, a_step_of_one_machine_is_one_event_with_its_alerts_under_it)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);
    pfc_environment_events events;
    pfc_alert_filter filter = { .project_id = p };
    pfc_alerts alerts = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, LAST);
    measure(db, p, "mover", "6.5", 0.08, WORKS, 0);
    measure(db, p, "steady", "6.1", 0, WORKS, 0);
    fx_detect(db);
    cr_assert(eq(sz, count(url, "a.state <> 'infrastructure'"), 0));
    cr_assert(eq(sz, count(url, "a.state = 'infrastructure'"), WORKS));
    events = events_of(db, p, true);
    cr_assert(eq(sz, events.len, 1));
    cr_assert(eq(str, (char *)events.items[0].kind, "step"));
    cr_assert(eq(str, (char *)events.items[0].machine, "mover"));
    cr_assert(eq(str, (char *)events.items[0].cause, "kernel: 6.1 -> 6.5"));
    cr_assert(
        ne(ptr, strstr(events.items[0].reasons_json, "did not change on other machines"), NULL));
    cr_assert(eq(str, (char *)events.items[0].first_commit, (char *)fx_sha(STEP_AT)));
    cr_assert(eq(i64, events.items[0].series, WORKS));
    cr_assert(epsilon_eq(dbl, events.items[0].loss, 0.08, 0.01));
    filter.event_id = events.items[0].id;
    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK));
    cr_assert(eq(sz, alerts.len, WORKS));
    cr_assert(eq(i64, alerts.items[0].event_id, events.items[0].id));
    pfc_rows_clear(&alerts);
    pfc_rows_clear(&events);
    free(url);
    pfc_db_close(db);
}

Test(shift, a_commit_that_slows_everything_everywhere_stays_a_commits)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, LAST);
    measure(db, p, "mover", "6.5", 0.08, WORKS, 0); /* though its kernel changed there, too */
    measure(db, p, "steady", "6.1", 0.08, WORKS, 0);
    fx_detect(db);
    cr_assert(eq(sz, count(url, "a.state = 'untriaged' AND a.event_id IS NULL"), 2 * WORKS));
    cr_assert(eq(sz, events_len(db, p, false), 0));
    free(url);
    pfc_db_close(db);
}

Test(shift, a_commit_at_the_same_place_keeps_its_alerts)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, LAST);
    measure(db, p, "mover", "6.1", 0.06, 3, 0.15);
    measure(db, p, "steady", "6.1", 0, 3, 0.09);
    fx_detect(db);
    cr_assert(eq(sz, count(url, "a.state = 'infrastructure'"), WORKS - 1));
    cr_assert(eq(sz, count(url, "a.state = 'untriaged' AND b.name = 'attention/a'"), 2));
    cr_assert(eq(sz, events_len(db, p, true), 1));
    free(url);
    pfc_db_close(db);
}

/* Two victims of a deadlock, and a look at who holds the branch when an event is written. */
static const char collide[] =
    "CREATE SEQUENCE collided; CREATE FUNCTION collide() RETURNS trigger LANGUAGE plpgsql AS $$"
    " BEGIN IF NOT EXISTS (SELECT 1 FROM branches b WHERE b.project_id = NEW.project_id AND b.name "
    "= "
    "NEW.branch AND b.xmax = pg_current_xact_id()::xid) THEN"
    " RAISE EXCEPTION 'the branch is not held'; END IF;"
    " IF nextval('collided') <= 2 THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01';"
    " END IF; RETURN NEW; END $$;"
    "CREATE TRIGGER collide BEFORE UPDATE ON machine_shifts FOR EACH ROW EXECUTE FUNCTION "
    "collide()";

static void expect_dismissal(pfc_db *db, const char *url, int64_t p)
{
    pfc_environment_events events = events_of(db, p, true), after = { 0 };
    const int64_t id = events.items[0].id;
    pfc_audit_rows audit = { 0 };
    pfc_err err = { 0 };

    pfc_test_sql(url, collide);
    cr_assert(
        eq(int, pfc_shift_dismiss(db, "ann", id, true, "the flags changed", &after, &err), PFC_OK),
        "%s", err.msg);
    cr_assert(eq(str, (char *)after.items[0].dismissed_by, "ann"));
    pfc_rows_clear(&after);
    cr_assert(eq(sz, count(url, "a.state = 'untriaged' AND a.event_id IS NULL"), WORKS));
    cr_assert(eq(sz, events_len(db, p, true), 0));
    /* It stays dismissed when the place is looked at again. */
    pfc_test_sql(url, "UPDATE alerts SET regroup = true");
    cr_assert(eq(int, pfc_alerts_open(db, p, "main", 0, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, count(url, "a.state = 'untriaged'"), WORKS));
    cr_assert(eq(int, pfc_shift_dismiss(db, "ann", id, false, NULL, &after, &err), PFC_OK), "%s",
              err.msg);
    pfc_rows_clear(&after);
    cr_assert(eq(sz, count(url, "a.state = 'infrastructure' AND a.event_id IS NOT NULL"), WORKS));
    cr_assert(eq(int, pfc_audit_list(db, p, (pfc_page){ 0 }, &audit, &err), PFC_OK));
    size_t said = 0;
    for (size_t i = 0; i < audit.len; i++)
        said += pfc_streq(audit.items[i].action, "dismiss") ||
                pfc_streq(audit.items[i].action, "restore");
    cr_assert(eq(sz, said, 2));
    pfc_rows_clear(&audit);
    pfc_rows_clear(&events);
    cr_assert(
        eq(int, pfc_shift_dismiss(db, "ann", 999999, true, NULL, &after, &err), PFC_ENOTFOUND));
}

/* One machine with nothing that tells: alerts. Another one's runs come later and tell; a person may
 * say otherwise, and take that back. */
Test(shift, what_comes_later_tells_and_a_person_may_undo_it)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, LAST);
    measure(db, p, "mover", "6.1", 0.08, WORKS, 0);
    fx_detect(db);
    cr_assert(eq(sz, count(url, "a.state = 'untriaged'"), WORKS));
    cr_assert(eq(sz, events_len(db, p, false), 0));
    measure(db, p, "steady", "6.1", 0, WORKS, 0);
    fx_detect(db);
    cr_assert(eq(sz, count(url, "a.state = 'infrastructure'"), WORKS));
    cr_assert(eq(sz, events_len(db, p, true), 1));
    expect_dismissal(db, url, p);
    free(url);
    pfc_db_close(db);
}

/* The kernel changed where everything became slower: the machine's. Then another machine, whose
 * kernel is what it was, shows the same: the commit's. */
Test(shift, an_event_is_taken_back_when_another_machine_shows_the_same)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, LAST);
    measure(db, p, "mover", "6.5", 0.08, WORKS, 0);
    fx_detect(db);
    cr_assert(eq(sz, count(url, "a.state = 'infrastructure'"), WORKS));
    cr_assert(eq(sz, events_len(db, p, true), 1));
    measure(db, p, "steady", "6.1", 0.08, WORKS, 0);
    fx_detect(db);
    cr_assert(eq(sz, count(url, "a.state = 'untriaged' AND a.event_id IS NULL"), 2 * WORKS));
    cr_assert(eq(sz, events_len(db, p, true), 0));
    cr_assert(eq(sz, events_len(db, p, false), 1)); /* ended, and still told */
    free(url);
    pfc_db_close(db);
}

/* A person's word on an alert stands, whatever the machine is said to have done. */
Test(shift, what_a_person_has_said_of_an_alert_stands)
{
    const pfc_alert_change mine = { .state = "investigating" };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db), id;
    pfc_alerts after = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, LAST);
    measure(db, p, "mover", "6.1", 0.08, WORKS, 0);
    fx_detect(db);
    char *first = pfc_test_sql_value(url, "SELECT min(id) FROM alerts");
    id = strtoll(first, NULL, 10);
    free(first);
    cr_assert(eq(int, pfc_alert_update(db, "ann", id, &mine, &after, &err), PFC_OK), "%s", err.msg);
    pfc_rows_clear(&after);
    measure(db, p, "steady", "6.1", 0, WORKS, 0);
    fx_detect(db);
    cr_assert(eq(sz, count(url, "a.state = 'infrastructure'"), WORKS - 1));
    cr_assert(eq(sz, count(url, "a.state = 'investigating' AND a.event_id IS NOT NULL"), 1));
    free(url);
    pfc_db_close(db);
}

/* The same machine, as an earlier version described it, as a command's run does, and as a suite's;
 * then the last again with another kernel. */
static const char *const words[] = {
    "{\"cpu\":\"C\",\"microcode\":\"1\",\"cpus\":\"2\",\"arch\":\"x86_64\",\"kernel\":\"Linux "
    "6.1\","
    "\"libc\":\"l\",\"governor\":\"performance\",\"smt\":\"0\"}",
    "{\"cpu\":\"C (family 6)\",\"microcode\":\"1\",\"cpus\":\"2\",\"topology\":\"1 package\","
    "\"kernel\":\"Linux 6.1 x86_64\",\"libc\":\"l\",\"governor\":\"performance\",\"smt\":\"off\"}",
    "{\"cpu\":\"C (family 6)\",\"microcode\":\"1\",\"cpus\":\"2\",\"topology\":\"1 package\","
    "\"kernel\":\"Linux 6.1 x86_64\",\"libc\":\"l\",\"governor\":\"performance\",\"smt\":\"off\","
    "\"compiler\":\"gcc 12\",\"harness\":\"h\",\"suite\":\"s\"}",
    "{\"cpu\":\"C (family 6)\",\"microcode\":\"1\",\"cpus\":\"2\",\"topology\":\"1 package\","
    "\"kernel\":\"Linux 6.5 x86_64\",\"libc\":\"l\",\"governor\":\"performance\",\"smt\":\"off\","
    "\"compiler\":\"gcc 12\",\"harness\":\"h\",\"suite\":\"s\"}",
};

/* How many events there are when everything became slower where the words changed, and parts of the
 * first series there. cause: of the event. */
static size_t events_between(size_t before, size_t after, size_t *boundaries, const char *cause)
{
    char *url = NULL, *series;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);
    pfc_environment_events events;
    pfc_window w = { 0 };
    pfc_err err = { 0 };
    size_t len;

    fx_commits(db, p, 1, LAST);
    measure_from(db, p, "mover", words[before], words[after], 0.08, WORKS, 0);
    fx_detect(db);
    events = events_of(db, p, false);
    len = events.len;
    cr_expect(eq(sz, count(url, "a.state = 'infrastructure'"), len ? WORKS : 0));
    cr_expect(eq(sz, count(url, "true"), WORKS));
    if (len)
        cr_expect(eq(str, (char *)events.items[0].cause, (char *)cause));
    series = pfc_test_sql_value(url, "SELECT min(id) FROM series");
    cr_assert(
        eq(int, pfc_series_window(db, strtoll(series, NULL, 10), &(pfc_window_opts){ 0 }, &w, &err),
           PFC_OK),
        "%s", err.msg);
    *boundaries = w.boundaries_len;
    pfc_window_clear(&w);
    pfc_rows_clear(&events);
    free(series);
    free(url);
    pfc_db_close(db);
    return len;
}

Test(shift, other_words_for_the_same_machine_are_no_change_of_it)
{
    size_t boundaries = 9;

    cr_assert(eq(sz, events_between(0, 1, &boundaries, NULL), 0));
    cr_assert(eq(sz, boundaries, 0));
}

/* The harness changed: the series is split there, and the change is not attributed to the machine.
 */
Test(shift, a_suite_after_a_command_is_no_change_of_the_machine)
{
    size_t boundaries = 9;

    cr_assert(eq(sz, events_between(1, 2, &boundaries, NULL), 0));
    cr_assert(eq(sz, boundaries, 1));
}

Test(shift, what_changed_with_the_words_is_named_alone)
{
    size_t boundaries = 9;

    cr_assert(
        eq(sz, events_between(0, 3, &boundaries, "kernel: Linux 6.1 -> Linux 6.5 x86_64"), 1));
    cr_assert(eq(sz, boundaries, 1));
}
