/* Sessions: what their blocks decide becomes alerts in the same judging. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/rng.h"
#include "server/services/alerts/withheld.h"
#include "server/services/history/history.h"
#include "server/services/sessions/changes.h"
#include "server/services/sessions/judge.h"
#include "server/services/sessions/sessions.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

#define BASE   20 /* commits 1..BASE are measured singly before the first session */
#define ROUNDS 12

/* A session of these commits, in history order; the first is the anchor, the second the base. */
typedef struct night {
    unsigned number; /* of the session, from 1 */
    const unsigned *commits;
    size_t len;
    unsigned slower_from; /* commit; 0: none */
    double rel;
    unsigned back_at; /* commit from which the level is the first one again; 0: none */
    double noise;     /* of one visit; 0: 0.005 */
    size_t rounds;    /* 0: ROUNDS */
    unsigned
        known; /* commit that the session's document leaves out: it was judged before; 0: none */
    double machine; /* its speed, all night; 0: it changes by 8 % within the night, and by 5 %
                       between nights */
} night;

static char *session_id(unsigned number)
{
    return pfc_format("5e55%028x", number);
}

static double level_of(const night *n, unsigned commit)
{
    const bool slow =
        n->slower_from && commit >= n->slower_from && !(n->back_at && commit >= n->back_at);

    return 100 * (slow ? 1 + n->rel : 1);
}

static double machine_at(const night *n, size_t block)
{
    if (n->machine > 0)
        return n->machine;
    return (block / 5 % 2 ? 1.08 : 1.0) * (1 + 0.05 * n->number);
}

static void ingest_build(pfc_db *db, int64_t p, const night *n, size_t build)
{
    const size_t rounds = n->rounds ? n->rounds : ROUNDS;
    char *id = session_id(n->number);
    pfc_run *run = fx_run(n->commits[build]);
    pfc_measurement *m;
    pfc_rng rng;

    pfc_rng_seed(&rng, n->number * 1000 + build);
    run->started_at += 3600.0 * n->number; /* after the single ones */
    run->finished_at = run->started_at + 60;
    run->session_id = id;
    run->session_anchor = pfc_strdup(fx_sha(n->commits[0]));
    run->session_base = pfc_strdup(fx_sha(n->commits[1]));
    fx_measure(run, "step", "time_ns", 100, 0, 2 * rounds, 2 * rounds, 1);
    m = &run->measurements[0];
    m->visits = pfc_calloc(2 * rounds, sizeof(*m->visits));
    for (size_t b = 0; b < 2 * rounds; b++) {
        const size_t place = (build + b / 2) % n->len;

        m->visits[b] =
            (pfc_session_position){ (uint32_t)b, (uint32_t)(b % 2 ? n->len - 1 - place : place) };
        m->samples[b] = level_of(n, n->commits[build]) * machine_at(n, b) *
                        exp((n->noise > 0 ? n->noise : 0.005) * pfc_rng_normal(&rng));
    }
    fx_ingest(db, p, run);
}

static void measure_night(pfc_db *db, int64_t p, const night *n)
{
    pfc_session *s = pfc_calloc(1, sizeof(*s));
    bool repeated;
    pfc_err err = { 0 };

    for (size_t i = 0; i < n->len; i++)
        ingest_build(db, p, n, i);
    s->id = session_id(n->number);
    s->anchor = pfc_strdup(fx_sha(n->commits[0]));
    s->base = pfc_strdup(fx_sha(n->commits[1]));
    s->machine_class = pfc_strdup("test");
    s->machine = pfc_strdup("");
    s->started_at = 1.7e9;
    s->finished_at = 1.7e9 + 600;
    s->blocks = (int64_t)(2 * (n->rounds ? n->rounds : ROUNDS));
    s->commits = pfc_calloc(n->len, sizeof(*s->commits));
    for (size_t i = 2; i < n->len; i++) {
        if (n->commits[i] == n->known)
            continue;
        s->commits[s->commits_len++] =
            (pfc_session_commit){ .commit = pfc_strdup(fx_sha(n->commits[i])),
                                  .needs_s = (double)NAN };
    }
    cr_assert(eq(int, pfc_session_store(db, "test", p, s, &repeated, &err), PFC_OK), "%s", err.msg);
    pfc_session_free(s);
    fx_detect(db);
}

static void measure_singly(pfc_db *db, int64_t p, unsigned first, unsigned last, double value)
{
    for (unsigned n = first; n <= last; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "step", "time_ns", value, 0.005, 3, 1, n * 17);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
}

static pfc_alerts alerts_of(pfc_db *db, int64_t p)
{
    const pfc_alert_filter filter = { .project_id = p };
    pfc_alerts alerts = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK), "%s",
              err.msg);
    return alerts;
}

static void expect_alert(pfc_db *db, int64_t p, const char *state)
{
    pfc_alerts alerts = alerts_of(db, p);

    cr_assert(eq(sz, alerts.len, *state ? 1 : 0));
    if (alerts.len)
        cr_assert(eq(str, (char *)alerts.items[0].state, (char *)state));
    pfc_rows_clear(&alerts);
}

static pfc_window window_of(pfc_db *db, int64_t p)
{
    const pfc_series_filter filter = { .benchmark = "step" };
    const pfc_window_opts opts = { 0 };
    pfc_series_rows rows = { 0 };
    pfc_window w = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_series_list(db, p, &filter, (pfc_page){ 0 }, &rows, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, rows.len, 1));
    cr_assert(eq(int, pfc_series_window(db, rows.items[0].id, &opts, &w, &err), PFC_OK), "%s",
              err.msg);
    pfc_rows_clear(&rows);
    return w;
}

static void expect_changes(pfc_db *db, int64_t p, size_t n, const char *code)
{
    pfc_window w = window_of(db, p);

    cr_assert(eq(sz, w.changes.len, n));
    if (n) {
        const pfc_window_change *c = &w.changes.items[n - 1];
        const char *got = NULL;
        char *sentence =
            pfc_withheld_sentence(&(pfc_withheld){ c->alert_id, c->regression, c->alertable,
                                                   c->withheld, c->withheld_detail },
                                  &got);

        cr_assert(eq(str, (char *)(got ? got : ""), (char *)code), "%s", sentence);
        free(sentence);
    }
    pfc_window_clear(&w);
}

static pfc_candidates candidates_of(pfc_db *db, int64_t p)
{
    pfc_candidates out = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_candidates_list(db, p, NULL, NULL, 100, &out, &err), PFC_OK), "%s",
              err.msg);
    return out;
}

/* 3 % at commit 23, on a machine that changes its speed by 8 % within the night and by 5 % between
 * nights. */
Test(blocks_evidence, a_step_of_three_per_cent_is_an_alert_in_the_night_of_its_commit)
{
    static const unsigned commits[] = { 1, 20, 21, 22, 23, 24 };
    const night n = { .number = 1, .commits = commits, .len = 6, .slower_from = 23, .rel = 0.03 };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_alerts alerts;

    fx_commits(db, p, 1, 40);
    measure_singly(db, p, 1, BASE, 100);
    measure_night(db, p, &n);
    alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 1));
    cr_assert(eq(str, (char *)alerts.items[0].commit, (char *)fx_sha(23)));
    cr_assert(eq(str, (char *)alerts.items[0].commit_low, (char *)fx_sha(23)));
    cr_assert(eq(str, (char *)alerts.items[0].commit_high, (char *)fx_sha(23)));
    cr_assert(epsilon_eq(dbl, alerts.items[0].rel_change, 0.03, 0.006));
    cr_assert(le(dbl, alerts.items[0].rel_low, 0.03));
    cr_assert(ge(dbl, alerts.items[0].rel_high, 0.03));
    pfc_rows_clear(&alerts);
    pfc_db_close(db);
}

/* Commit 22 was undecided and is measured again with its predecessor; the new ones come after 30.
 * Changes between 22 and 30 is not theirs: no alert, and no verdict of 30. */
Test(blocks_evidence, what_changed_between_two_nights_of_builds_is_no_new_change)
{
    static const unsigned commits[] = { 1, 21, 22, 30, 31, 32 };
    night n = {
        .number = 1, .commits = commits, .len = 6, .slower_from = 30, .rel = 0.05, .known = 30
    };
    pfc_session_judgement j = { 0 };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    char *id = session_id(1);
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 40);
    measure_singly(db, p, 1, BASE, 100);
    measure_night(db, p, &n);
    expect_alert(db, p, "");
    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, &err), PFC_OK));
    cr_assert(eq(int, pfc_session_judge(tx, p, id, &j, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, j.series[0].boundaries_len, 3)); /* of 22, 31 and 32 */
    for (size_t i = 0; i < 3; i++)
        cr_assert(ne(sz, j.series[0].boundaries[i].b->to, 3));
    pfc_session_judgement_clear(&j);
    pfc_tx_free(tx);
    free(id);
    /* As one of the session's commits it is. */
    n.number = 2;
    n.known = 0;
    measure_night(db, p, &n);
    expect_alert(db, p, "untriaged");
    pfc_db_close(db);
}

/* Four rounds of eight builds: too few for the two builds beside the step, enough for all of them
 * by their order. The fit leaves open which of a few commits it is; the alert says all of them. */
Test(blocks_evidence, a_step_that_many_builds_tell_has_the_place_that_the_fit_leaves_open)
{
    static const unsigned commits[] = { 1, 20, 21, 22, 23, 24, 25, 26 };
    size_t answer = 0, open = 0;

    for (unsigned number = 1; number <= 12; number++) {
        const night n = { .number = number,
                          .commits = commits,
                          .len = 8,
                          .slower_from = 23,
                          .rel = 0.03,
                          .noise = 0.02,
                          .rounds = 4,
                          .machine = 1 };
        pfc_db *db = pfc_test_db_open(3, NULL);
        int64_t p = fx_project(db);
        pfc_alerts alerts;

        fx_commits(db, p, 1, 40);
        measure_singly(db, p, 1, BASE, 100);
        measure_night(db, p, &n);
        alerts = alerts_of(db, p);
        if (alerts.len) {
            const pfc_alert *a = &alerts.items[0];

            answer++;
            open += strcmp(a->commit_low, a->commit_high) != 0;
            cr_assert(le(int, strcmp(a->commit_low, fx_sha(23)), 0), "night %u", number);
            cr_assert(ge(int, strcmp(a->commit_high, fx_sha(23)), 0), "night %u", number);
        }
        pfc_rows_clear(&alerts);
        pfc_db_close(db);
    }
    cr_assert(ge(sz, answer, 1));
    cr_assert(ge(sz, open, 1));
}

Test(blocks_evidence, a_night_in_which_nothing_changed_has_no_alert)
{
    static const unsigned commits[] = { 1, 20, 21, 22, 23, 24 };
    const night n = { .number = 1, .commits = commits, .len = 6 };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 40);
    measure_singly(db, p, 1, BASE, 100);
    measure_night(db, p, &n);
    expect_alert(db, p, "");
    pfc_db_close(db);
}

Test(blocks_evidence, an_improvement_is_a_change_point_without_alert)
{
    static const unsigned commits[] = { 1, 20, 21, 22 };
    const night n = {
        .number = 1, .commits = commits, .len = 4, .slower_from = 22, .rel = -0.04, .machine = 1
    };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 40);
    measure_singly(db, p, 1, BASE, 100);
    measure_night(db, p, &n);
    expect_alert(db, p, "");
    expect_changes(db, p, 1, "improvement");
    pfc_db_close(db);
}

/* The single measurements that follow say the opposite; they change nothing and add nothing. */
Test(blocks_evidence, single_measurements_neither_remove_nor_repeat_what_blocks_decided)
{
    static const unsigned commits[] = { 1, 20, 21, 22, 23 };
    const night n = { .number = 1, .commits = commits, .len = 5, .slower_from = 22, .rel = 0.05 };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 60);
    measure_singly(db, p, 1, BASE, 105);
    measure_night(db, p, &n);
    expect_alert(db, p, "untriaged");
    measure_singly(db, p, 24, 60, 105);
    expect_alert(db, p, "untriaged");
    expect_changes(db, p, 1, "");
    pfc_db_close(db);
}

Test(blocks_evidence, a_later_night_that_brings_the_level_back_closes_the_alert)
{
    static const unsigned first[] = { 1, 20, 21, 22 }, second[] = { 1, 22, 23, 24 };
    const night n1 = { .number = 1, .commits = first, .len = 4, .slower_from = 22, .rel = 0.05 };
    const night n2 = {
        .number = 2, .commits = second, .len = 4, .slower_from = 22, .rel = 0.05, .back_at = 24
    };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_alerts alerts;

    fx_commits(db, p, 1, 40);
    measure_singly(db, p, 1, BASE, 100);
    measure_night(db, p, &n1);
    expect_alert(db, p, "untriaged");
    measure_night(db, p, &n2);
    expect_alert(db, p, "verified_fixed");
    alerts = alerts_of(db, p);
    cr_assert(eq(str, (char *)alerts.items[0].undone_commit, (char *)fx_sha(24)));
    pfc_rows_clear(&alerts);
    pfc_db_close(db);
}

/* On a series that sessions measure, a step of single measurements waits for blocks of its two
 * sides. */
Test(blocks_evidence, a_step_of_single_measurements_is_a_candidate_that_blocks_refute)
{
    static const unsigned first[] = { 1, 20, 21, 22 };
    const night n1 = { .number = 1, .commits = first, .len = 4, .machine = 1.05 };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_candidates c;
    unsigned second[5] = { 1 };

    fx_commits(db, p, 1, 80);
    measure_singly(db, p, 1, BASE, 105);
    measure_night(db, p, &n1);
    measure_singly(db, p, 23, 45, 105);
    measure_singly(db, p, 46, 70, 115);
    expect_alert(db, p, "");
    expect_changes(db, p, 1, "needs_blocks");
    c = candidates_of(db, p);
    cr_assert(eq(sz, c.len, 1));
    cr_assert(eq(str, (char *)c.items[0].against, (char *)fx_sha(45)));
    cr_assert(eq(str, (char *)c.items[0].commit, (char *)fx_sha(46)));
    pfc_rows_clear(&c);

    /* The next night measures both sides, with the base and a new commit: they are the same. The
     * first is the anchor, the second the base; history puts the candidate's sides before the base.
     */
    second[1] = 70;
    second[2] = 45;
    second[3] = 46;
    second[4] = 71;
    measure_night(
        db, p,
        &(night){ .number = 2, .commits = second, .len = 5, .noise = 0.002, .machine = 1.05 });
    c = candidates_of(db, p);
    cr_assert(eq(sz, c.len, 0));
    pfc_rows_clear(&c);
    expect_alert(db, p, "");
    expect_changes(db, p, 0, "");
    /* More single measurements do not bring it back. */
    measure_singly(db, p, 72, 80, 115);
    expect_changes(db, p, 0, "");
    pfc_db_close(db);
}

Test(blocks_evidence, a_candidate_that_blocks_confirm_is_an_alert)
{
    static const unsigned first[] = { 1, 20, 21, 22 }, second[] = { 1, 70, 45, 46, 71 };
    const night n1 = { .number = 1, .commits = first, .len = 4, .machine = 1.05 };
    const night n2 = {
        .number = 2, .commits = second, .len = 5, .slower_from = 46, .rel = 0.1, .machine = 1.05
    };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 80);
    measure_singly(db, p, 1, BASE, 105);
    measure_night(db, p, &n1);
    measure_singly(db, p, 23, 45, 105);
    measure_singly(db, p, 46, 70, 115);
    expect_alert(db, p, "");
    measure_night(db, p, &n2);
    expect_alert(db, p, "untriaged");
    expect_changes(db, p, 1, "");
    pfc_db_close(db);
}

/* One round decides nothing: the candidate says what the night left open. */
Test(blocks_evidence, a_candidate_that_blocks_leave_open_says_that_the_budget_ended)
{
    static const unsigned first[] = { 1, 20, 21, 22 }, second[] = { 1, 70, 45, 46, 71 };
    const night n1 = { .number = 1, .commits = first, .len = 4, .machine = 1.05 };
    const night n2 = { .number = 2,
                       .commits = second,
                       .len = 5,
                       .slower_from = 46,
                       .rel = 0.02,
                       .noise = 0.01,
                       .rounds = 1,
                       .machine = 1.05 };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_candidates c;

    fx_commits(db, p, 1, 80);
    measure_singly(db, p, 1, BASE, 105);
    measure_night(db, p, &n1);
    measure_singly(db, p, 23, 45, 105);
    measure_singly(db, p, 46, 70, 115);
    measure_night(db, p, &n2);
    c = candidates_of(db, p);
    cr_assert(eq(sz, c.len, 1));
    cr_assert(eq(str, (char *)c.items[0].withheld, "budget"));
    pfc_rows_clear(&c);
    pfc_db_close(db);
}

/* The alert of the first night went away, by hand here; a later night measures its two sides and
 * finds it. */
Test(blocks_evidence, new_blocks_open_an_alert_again_that_had_gone_away)
{
    static const unsigned commits[] = { 1, 20, 21, 22 };
    const night n1 = { .number = 1, .commits = commits, .len = 4, .slower_from = 22, .rel = 0.05 };
    night n2 = n1;
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 40);
    measure_singly(db, p, 1, BASE, 100);
    measure_night(db, p, &n1);
    expect_alert(db, p, "untriaged");
    pfc_test_sql(
        url, "UPDATE change_points SET gone_at = now(), evidence = NULL WHERE regression;"
             " UPDATE alerts SET state = 'noise';"
             " INSERT INTO alert_events (project_id, alert_id, actor, state_from, state_to, reason)"
             " SELECT project_id, id, 'detector', 'untriaged', 'noise', 'went away' FROM alerts");
    n2.number = 2;
    measure_night(db, p, &n2);
    expect_alert(db, p, "untriaged");
    free(url);
    pfc_db_close(db);
}

/* Posting a session again, or judging its runs again, changes nothing. */
Test(blocks_evidence, judging_a_session_again_changes_nothing)
{
    static const unsigned commits[] = { 1, 20, 21, 22, 23 };
    const night n = {
        .number = 1, .commits = commits, .len = 5, .slower_from = 22, .rel = 0.05, .machine = 1
    };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    char *id = session_id(1);
    pfc_alerts before, after;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 40);
    measure_singly(db, p, 1, BASE, 100);
    measure_night(db, p, &n);
    before = alerts_of(db, p);
    cr_assert(eq(int, pfc_session_apply(db, p, id, &err), PFC_OK), "%s", err.msg);
    after = alerts_of(db, p);
    cr_assert(eq(sz, before.len, 1));
    cr_assert(eq(sz, after.len, 1));
    cr_assert(eq(dbl, before.items[0].updated_at, after.items[0].updated_at));
    expect_changes(db, p, 1, "");
    pfc_rows_clear(&before);
    pfc_rows_clear(&after);
    free(id);
    pfc_db_close(db);
}

Test(blocks_evidence, visits_that_contradict_each_other_are_no_evidence)
{
    static const unsigned commits[] = { 1, 20, 21 };
    const night n = { .number = 1, .commits = commits, .len = 3, .slower_from = 21, .rel = 0.05 };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 40);
    measure_singly(db, p, 1, BASE, 100);
    ingest_build(db, p, &n, 2); /* a second run at the same blocks and positions */
    measure_night(db, p, &n);
    expect_alert(db, p, "");
    pfc_db_close(db);
}
