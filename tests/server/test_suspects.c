/* Suspects of an alert, out of what is stored about its range. */
#include <string.h>

#include "server/services/bisect/bisect.h"
#include "server/services/history/history.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/support/cluster_hooks.h"

#define CULPRIT 25

/* Commits 1..50, each with one path; CULPRIT and two others touch the kernel, the rest other
 * things. */
static void commits_with_paths(pfc_db *db, int64_t project)
{
    for (unsigned n = 1; n <= 50; n++) {
        char *kernel = (char[]){ "kernels/gemm.c" }, *docs = (char[]){ "docs/tour.md" };
        char *other = (char[]){ "server/main.c" }, *parent = pfc_strdup(fx_sha(n - 1));
        char **path = n == CULPRIT || n == 3 || n == 40 ? &kernel : n % 2 ? &docs : &other;
        pfc_commit commit = { .id = pfc_strdup(fx_sha(n)),
                              .parents = &parent,
                              .parents_len = n > 1,
                              .author = (char[]){ "Ada" },
                              .time = 1.7e9 + 60.0 * n,
                              .subject = (char[]){ "change" },
                              .paths = path,
                              .paths_len = 1 };
        size_t fresh;
        pfc_err err = { 0 };

        cr_assert(
            eq(int, pfc_commits_store(db, "test", project, NULL, &commit, 1, &fresh, &err), PFC_OK),
            "%s", err.msg);
        free(commit.id);
        free(parent);
    }
}

/* Every fifth commit is measured, and some from where the level has changed. */
static void measure(pfc_db *db, int64_t project, const char *object, const char *compiler)
{
    for (unsigned n = 1; n <= 50; n++) {
        pfc_run *run;

        if (n % 3 != 1)
            continue;
        run = fx_run(n);
        if (compiler)
            pfc_labels_set(&run->machine.fingerprint, "compiler",
                           n >= CULPRIT ? compiler : "gcc 12.2");
        pfc_machine_hash(&run->machine);
        fx_measure(run, "gemm/a", "time_ns", n >= CULPRIT ? 115 : 100, 0.005, 12, 3, n * 17);
        if (object)
            pfc_labels_set(&run->measurements[0].extra, "object", object);
        fx_ingest(db, project, run);
    }
    fx_detect(db);
}

static pfc_alert_ranking rank_only_alert(pfc_db *db, int64_t project)
{
    const pfc_alert_filter filter = { .project_id = project };
    pfc_alert_ranking ranking = { 0 };
    pfc_alerts alerts = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, alerts.len, 1));
    cr_assert(eq(int, pfc_alert_rank(db, alerts.items[0].id, &ranking, &err), PFC_OK), "%s",
              err.msg);
    pfc_rows_clear(&alerts);
    return ranking;
}

static void tell_sources(pfc_db *db, int64_t project)
{
    static const char *const files[] = { "kernels/gemm.c", "core/buf.c" };
    const pfc_sources sources = {
        .benchmark = "*", .commit = fx_sha(50), .files = files, .files_len = 2
    };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_sources_store(db, "test", project, &sources, &err), PFC_OK), "%s",
              err.msg);
}

Test(suspects, an_unmeasured_commit_is_named_by_its_paths)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_alert_ranking r;
    const pfc_suspect *first;

    commits_with_paths(db, p);
    tell_sources(db, p);
    measure(db, p, NULL, NULL);
    r = rank_only_alert(db, p);
    first = &r.suspects.items[0];
    cr_assert(eq(int, (int)first->kind, (int)PFC_SUSPECT_IS_COMMIT));
    cr_assert(eq(str, (char *)r.commits.items[first->index].sha, (char *)fx_sha(CULPRIT)));
    cr_assert(gt(dbl, first->probability, 0.7));
    cr_assert(eq(sz, r.sources, 2));
    cr_assert(eq(sz, r.suspects.len, r.commits.len + 1));
    pfc_alert_ranking_clear(&r);
    pfc_db_close(db);
}

Test(suspects, the_same_object_code_throughout_leaves_none_of_these)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_alert_ranking r;

    commits_with_paths(db, p);
    tell_sources(db, p);
    measure(db, p, NULL, NULL);
    measure(db, p, "00ff00ff", NULL); /* the alert is there already */
    r = rank_only_alert(db, p);
    cr_assert(eq(str, (char *)r.alert.items[0].state, "infrastructure"));
    cr_assert(eq(int, (int)r.suspects.items[0].kind, (int)PFC_SUSPECT_IS_NOTHING));
    for (size_t i = 1; i < r.suspects.len; i++)
        cr_assert(r.suspects.items[i].ruled_out);
    pfc_alert_ranking_clear(&r);
    pfc_db_close(db);
}

/* Results of a machine whose speed changed are no evidence for or against a commit. */
Test(suspects, runs_of_a_machine_that_moved_clear_no_commit)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_alert_ranking before, after;

    commits_with_paths(db, p);
    tell_sources(db, p);
    measure(db, p, NULL, NULL);
    before = rank_only_alert(db, p);
    for (unsigned n = 20; n <= 30; n++) {
        pfc_run *run = fx_run(n);

        run->infra = true;
        pfc_labels_set(&run->machine.fingerprint, "compiler", "gcc 13");
        pfc_machine_hash(&run->machine);
        fx_measure(run, "gemm/a", "time_ns", n < CULPRIT ? 115 : 100, 0.005, 12, 3, n * 31);
        pfc_labels_set(&run->measurements[0].extra, "object", "00ff00ff");
        fx_ingest(db, p, run);
    }
    fx_detect(db);
    after = rank_only_alert(db, p);
    cr_assert(eq(sz, after.suspects.len, before.suspects.len));
    for (size_t i = 0; i < after.suspects.len; i++) {
        const pfc_suspect *a = &after.suspects.items[i], *b = &before.suspects.items[i];

        cr_expect(eq(int, (int)a->kind, (int)b->kind));
        cr_expect(eq(sz, a->index, b->index));
        cr_expect(eq(int, a->ruled_out, b->ruled_out));
        cr_expect(epsilon_eq(dbl, a->probability, b->probability, 1e-9));
    }
    pfc_alert_ranking_clear(&before);
    pfc_alert_ranking_clear(&after);
    pfc_db_close(db);
}

Test(suspects, an_unknown_alert_is_not_found)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    pfc_alert_ranking r = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alert_rank(db, 4711, &r, &err), PFC_ENOTFOUND));
    pfc_db_close(db);
}
