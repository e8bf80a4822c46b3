/* Bisections over the commits of a pull request: their branch, their jobs, and when they end. */
#include <stdlib.h>
#include <string.h>

#include "server/services/bot/bot.h"
#include "server/services/history/history.h"
#include "server/services/queue/queue.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

#define BASE    3u /* of main; 4 and 5 are newer commits of main */
#define FIRST   21u
#define COMMITS 4u

typedef struct pulls {
    pfc_db *db;
    char *url;
    pfc_pull pull;
    char *line[COMMITS + 1];
} pulls;

static pulls begin(void)
{
    pulls p = { 0 };

    p.db = pfc_test_db_open(3, &p.url);
    p.pull = (pfc_pull){ .project_id = fx_project(p.db),
                         .number = 7,
                         .base_branch = "main",
                         .fork = true,
                         .machine_class = "quiet" };
    fx_commits(p.db, p.pull.project_id, 1, 5);
    for (unsigned i = 0; i <= COMMITS; i++)
        p.line[i] = pfc_strdup(fx_sha(i ? FIRST + i : BASE));
    p.pull.merge_base = p.line[0];
    p.pull.head_sha = p.line[COMMITS];
    pfc_test_sql(p.url, "INSERT INTO pulls (project_id, number, due_at)"
                        " SELECT id, 7, NULL FROM projects");
    return p;
}

static void end(pulls *p)
{
    for (unsigned i = 0; i <= COMMITS; i++)
        free(p->line[i]);
    free(p->url);
    pfc_db_close(p->db);
}

static int64_t start(const pulls *p, int64_t comment)
{
    const pfc_pull_search search = { .metric = "gemm_tflops",
                                     .rel_change = -0.2,
                                     .line = (const char *const *)p->line,
                                     .line_len = COMMITS + 1 };
    pfc_err err = { 0 };
    int64_t id = 0;

    cr_assert(eq(int, pfc_pull_bisect(p->db, "github:ann", &p->pull, comment, &search, &id, &err),
                 PFC_OK),
              "%s", err.msg);
    return id;
}

static void expect(const pulls *p, const char *query, const char *expected)
{
    char *value = pfc_test_sql_value(p->url, query);

    cr_expect(eq(str, value, (char *)(uintptr_t)expected), "%s", query);
    free(value);
}

/* The base has a time and a parent, the others are known from this line alone. */
Test(pull_bisections, the_line_is_in_the_order_that_was_given_on_a_branch_of_its_own)
{
    pulls p = begin();
    pfc_err err = { 0 };
    const int64_t id = start(&p, 31);

    cr_expect(eq(i64, start(&p, 31), id)); /* the same comment: the same search */
    cr_expect(ne(i64, start(&p, 32), id));
    expect(&p,
           "SELECT string_agg(position || '=' || right(sha, 2), ' ' ORDER BY position)"
           " FROM branch_commits b JOIN commits c ON c.id = b.commit_id"
           " WHERE branch = 'pull/7/bisect/31'",
           "1=03 2=16 3=17 4=18 5=19");
    expect(&p, "SELECT count(*) FROM branch_commits WHERE branch = 'main'", "5");
    cr_assert(eq(int, pfc_bisections_advance(p.db, &err), PFC_OK), "%s", err.msg);
    /* A runner refuses a job of this kind unless it isolates it, and reads the settings of main. */
    expect(&p,
           "SELECT string_agg(DISTINCT concat_ws(' ', kind, branch, labels ->> 'machine_class',"
           " task ->> 'settings_branch', task ->> 'metric'), ',') FROM jobs",
           "pull_request pull/7/bisect/31 quiet main gemm_tflops");
    expect(&p, "SELECT round((options ->> 'margin')::numeric, 6) FROM bisections LIMIT 1",
           "0.111572"); /* half of log(0.8) */
    end(&p);
}

Test(pull_bisections, a_newer_head_cancels_the_search_and_a_cancelled_one_is_said)
{
    pulls p = begin();
    const pfc_pull_key key = { .project_id = p.pull.project_id, .number = 7 };
    pfc_pull_bisections open = { 0 };
    pfc_pull_key taken = { 0 };
    pfc_err err = { 0 };
    pfc_tx *lock = NULL;
    double due_s = 0;
    const int64_t id = start(&p, 31);

    cr_assert(eq(int, pfc_bisections_advance(p.db, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_pull_supersede(p.db, &key, p.pull.head_sha, &err), PFC_OK), "%s",
              err.msg);
    expect(&p, "SELECT state FROM bisections", "running");
    cr_expect(eq(int, pfc_pull_take(p.db, &lock, &taken, &due_s, &err), PFC_ENOTFOUND));
    cr_assert(eq(int, pfc_pull_supersede(p.db, &key, fx_sha(99), &err), PFC_OK), "%s", err.msg);
    expect(&p, "SELECT state FROM bisections", "cancelled");
    expect(&p, "SELECT DISTINCT state FROM jobs", "cancelled");
    /* Its answer is out of date, so that the pull request is due. */
    cr_assert(eq(int, pfc_pull_take(p.db, &lock, &taken, &due_s, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(i64, taken.number, 7));
    pfc_tx_free(lock);
    cr_assert(eq(int, pfc_pull_bisections_open(p.db, &key, &open, &err), PFC_OK));
    cr_assert(eq(sz, open.len, 1));
    cr_expect(eq(str, (char *)(uintptr_t)open.items[0].now, "ended"));
    pfc_rows_clear(&open);
    cr_assert(eq(int, pfc_pull_bisection_said(p.db, &key, id, "ended", &err), PFC_OK));
    cr_expect(eq(int, pfc_pull_take(p.db, &lock, &taken, &due_s, &err), PFC_ENOTFOUND));
    end(&p);
}

Test(pull_bisections, a_culprit_that_is_checked_is_said_once_and_its_end_again)
{
    pulls p = begin();
    const pfc_pull_key key = { .project_id = p.pull.project_id, .number = 7 };
    static const struct {
        const char *sql, *now;
        bool due;
    } steps[] = {
        { "SELECT 1", "running", false },
        { "UPDATE bisections SET state = 'done', verdict = 'found'; INSERT INTO verifications"
          " (project_id, bisection_id, before, after, expected_rel, first_build) SELECT project_id,"
          " id, repeat('1', 40), repeat('2', 40), -0.1, 1 FROM bisections",
          "checking", true },
        { "UPDATE pull_bisections SET said = 'checking'", "checking", false },
        { "UPDATE verifications SET state = 'confirmed'", "ended", true },
        { "UPDATE pulls SET tries = 1", "ended", false }, /* after a failed look time counts */
    };

    (void)start(&p, 31);
    for (size_t i = 0; i < PFC_ARRAY_LEN(steps); i++) {
        pfc_pull_bisections open = { 0 };
        pfc_pull_key taken = { 0 };
        pfc_err err = { 0 };
        pfc_tx *lock = NULL;
        double due_s = 0;

        pfc_test_sql(p.url, steps[i].sql);
        cr_assert(eq(int, pfc_pull_bisections_open(p.db, &key, &open, &err), PFC_OK), "%s",
                  err.msg);
        cr_assert(eq(sz, open.len, 1));
        cr_expect(eq(str, (char *)(uintptr_t)open.items[0].now, (char *)(uintptr_t)steps[i].now));
        cr_expect(eq(int, pfc_pull_take(p.db, &lock, &taken, &due_s, &err),
                     steps[i].due ? PFC_OK : PFC_ENOTFOUND),
                  "step %zu", i);
        pfc_tx_free(lock);
        pfc_rows_clear(&open);
    }
    end(&p);
}

/* A pair is judged from the base to the head. */
Test(pull_bisections, the_pair_of_a_pull_request_follows_its_base_although_that_has_a_later_time)
{
    pulls p = begin();
    pfc_err err = { 0 };

    p.pull.budget_s = 20;
    for (unsigned head = 0; head < 2; head++) { /* a push: a second head on the same base */
        p.pull.head_sha = p.line[COMMITS - head];
        cr_assert(eq(int, pfc_pull_measure(p.db, "bot", &p.pull, NULL, true, &err), PFC_OK), "%s",
                  err.msg);
    }
    expect(&p,
           "SELECT string_agg(position || '=' || right(sha, 2), ' ' ORDER BY position)"
           " FROM branch_commits b JOIN commits c ON c.id = b.commit_id WHERE branch ~ '^pull/'",
           "1=03 2=19 3=18");
    end(&p);
}
