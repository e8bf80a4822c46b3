/* Owners of alerts, by the project's rules and its repository's CODEOWNERS file. */
#include <stdlib.h>
#include <string.h>

#include "server/services/alerts/alerts.h"
#include "server/services/history/history.h"
#include "server/services/owners/owners.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

typedef struct ground {
    pfc_db *db;
    char *url;
    int64_t project;
} ground;

static ground begin(void)
{
    ground g = { 0 };

    g.db = pfc_test_db_open(3, &g.url);
    g.project = plant_project(g.db, 9);
    return g;
}

static void end(ground *g)
{
    free(g->url);
    pfc_db_close(g->db);
}

/* Paths separated by commas. */
static void touch(const ground *g, unsigned n, const char *paths)
{
    plant_sql(g->url, "UPDATE commits SET paths = string_to_array('%s', ',') WHERE sha = '%s'",
              paths, fx_sha(n));
}

static void built_from(const ground *g, const char *benchmark, const char *file, const char *glob)
{
    const pfc_sources sources = { .benchmark = benchmark,
                                  .commit = fx_sha(9),
                                  .files = &file,
                                  .files_len = file != NULL,
                                  .globs = &glob,
                                  .globs_len = glob != NULL };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_sources_store(g->db, "test", g->project, &sources, &err), PFC_OK), "%s",
              err.msg);
}

static void set_rules(const ground *g, const char *rules)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_owner_rules_set(g->db, "test", g->project, rules, &err), PFC_OK), "%s",
              err.msg);
}

static pfc_codeowners_stored store_file(const ground *g, unsigned n, const char *text)
{
    const pfc_codeowners_file file = { .commit = fx_sha(n), .path = "CODEOWNERS", .text = text };
    pfc_codeowners_stored out;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_codeowners_store(g->db, "test", g->project, &file, &out, &err), PFC_OK),
              "%s", err.msg);
    return out;
}

/* want NULL: none. */
static void expect_owner(const ground *g, int64_t alert, const char *want)
{
    pfc_alerts row = { 0 };
    pfc_err err = { 0 };
    const char *got;

    cr_assert(eq(int, pfc_alerts_get(g->db, alert, &row, &err), PFC_OK), "%s", err.msg);
    got = row.items[0].owner;
    cr_expect(want ? got && strcmp(got, want) == 0 : got == NULL, "expected %s, got %s",
              want ? want : "none", got ? got : "none");
    pfc_rows_clear(&row);
}

static size_t count_of(const ground *g, const char *owner)
{
    const pfc_alert_filter filter = { .project_id = g->project, .owner = owner };
    pfc_alerts list = { 0 }, leaders = { 0 }, best = { 0 };
    pfc_err err = { 0 };
    size_t len;

    cr_assert(eq(int, pfc_alerts_list(g->db, &filter, (pfc_page){ 0 }, &list, &err), PFC_OK));
    cr_assert(eq(int, pfc_alerts_by_worth(g->db, &filter, 100, &best, &err), PFC_OK));
    cr_assert(eq(
        int, pfc_alert_leaders(g->db, &filter, false, (pfc_page){ .limit = 100 }, &leaders, &err),
        PFC_OK));
    len = list.len;
    cr_expect(eq(sz, best.len, len));
    cr_expect(eq(sz, leaders.len, len));
    pfc_rows_clear(&list);
    pfc_rows_clear(&best);
    pfc_rows_clear(&leaders);
    return len;
}

Test(alert_owners, are_those_of_the_benchmark_by_the_projects_own_rules)
{
    ground g = begin();
    const int64_t a = plant_alert(g.url, g.project, &(planted){ .low = 2, .high = 2 });
    const int64_t b =
        plant_alert(g.url, g.project, &(planted){ .low = 3, .high = 3, .benchmark = "gemm/b" });
    const int64_t closed =
        plant_alert(g.url, g.project, &(planted){ .low = 4, .high = 4, .state = "noise" });
    pfc_err err = { 0 };

    plant_sql(g.url, "UPDATE alerts SET owner = '@past', owner_due = false WHERE id = %lld",
              (long long)closed);
    set_rules(&g, "kernel:gemm @gemm @second\nbenchmark:*/b\n");
    expect_owner(&g, a, "@gemm @second");
    expect_owner(&g, b, NULL); /* on purpose */
    expect_owner(&g, closed, "@past");
    cr_expect(eq(sz, count_of(&g, "@second"), 1));
    cr_expect(eq(sz, count_of(&g, "@sec"), 0));
    cr_expect(eq(sz, count_of(&g, "none"), 1));
    cr_expect(eq(sz, count_of(&g, NULL), 3));
    set_rules(&g, "");
    expect_owner(&g, a, NULL);
    cr_assert(
        eq(int, pfc_owner_rules_set(g.db, "test", g.project, "a\n!b @x\n", &err), PFC_EINVAL));
    cr_expect(eq(str, err.field, (char *)"rules"));
    cr_expect(strstr(err.msg, "rules:2: ") != NULL, "%s", err.msg);
    end(&g);
}

Test(alert_owners, are_those_of_the_files_that_the_culprit_touched)
{
    ground g = begin();
    const int64_t a = plant_alert(g.url, g.project, &(planted){ .low = 2, .high = 4 });
    const pfc_alert_change named = { .culprit = fx_sha(3), .reason = "bisected" };
    pfc_alerts row = { 0 };
    pfc_err err = { 0 };

    touch(&g, 4, "docs/a.md,kernels/gemm/avx2.c");
    touch(&g, 3, "core/buf.c,docs/x.md,docs/y.md");
    cr_expect(
        store_file(&g, 5, "* @all\n/docs/ @writers\n/core/ @core\n/kernels/ @kernels\n").reason ==
        NULL);
    expect_owner(&g, a, "@writers"); /* of equally many, the first one's */
    built_from(&g, "*", "kernels/gemm/avx2.c", NULL);
    set_rules(&g, "");
    expect_owner(&g, a, "@kernels"); /* the file that is known to be the benchmark's */
    built_from(&g, "gemm/a", NULL, "core");
    cr_assert(eq(int, pfc_alert_update(g.db, "test", a, &named, &row, &err), PFC_OK), "%s",
              err.msg);
    pfc_rows_clear(&row);
    expect_owner(&g, a, "@core"); /* by the culprit's files and the benchmark's own globs */
    set_rules(&g, "/core/ @rule\n");
    expect_owner(&g, a, "@rule"); /* rules come first */
    end(&g);
}

Test(alert_owners, fall_back_to_those_of_the_benchmarks_files)
{
    ground g = begin();
    const int64_t a = plant_alert(g.url, g.project, &(planted){ .low = 2, .high = 2 });

    touch(&g, 2, "docs/a.md");
    built_from(&g, "gemm/a", "kernels/gemm/avx2.c", NULL);
    (void)store_file(&g, 5, "/kernels/ @kernels\n/docs/ @writers\n");
    expect_owner(&g, a, "@kernels");
    end(&g);
}

Test(alert_owners, of_a_group_are_one)
{
    ground g = begin();
    int64_t ids[3];

    for (unsigned i = 0; i < 3; i++)
        ids[i] = plant_alert(
            g.url, g.project,
            &(planted){ .low = i + 2, .high = i + 2, .benchmark = i == 1 ? "gemm/b" : "gemm/a" });
    plant_sql(g.url, "UPDATE alerts SET group_id = 7");
    set_rules(&g, "benchmark:gemm/a @a\nbenchmark:gemm/b @b\n");
    for (unsigned i = 0; i < 3; i++)
        expect_owner(&g, ids[i], "@a");
    end(&g);
}

Test(alert_owners, of_a_detected_group_are_found_with_it)
{
    fx_ground g = fx_begin(3);
    pfc_alerts list = { 0 };
    pfc_err err = { 0 };

    fx_commits(g.db, g.project, 1, 40);
    cr_assert(
        eq(int, pfc_owner_rules_set(g.db, "t", g.project, "kernel:gemm @gemm\n", &err), PFC_OK));
    for (unsigned n = 1; n <= 40; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", n >= 20 ? 130 : 100, 0.005, 8, 2, n);
        fx_ingest(g.db, g.project, run);
    }
    fx_detect(g.db);
    cr_assert(eq(int,
                 pfc_alerts_list(g.db, &(pfc_alert_filter){ .project_id = g.project },
                                 (pfc_page){ 0 }, &list, &err),
                 PFC_OK));
    cr_assert(eq(sz, list.len, 1));
    cr_expect(eq(str, (char *)list.items[0].owner, "@gemm"));
    pfc_rows_clear(&list);
    fx_end(&g);
}

Test(alert_owners, are_not_chosen_by_a_fork_or_an_old_commit)
{
    ground g = begin();
    const pfc_codeowners_file elsewhere = { .commit = fx_sha(1),
                                            .path = "x/CODEOWNERS",
                                            .text = "" };
    const pfc_codeowners_file none = { .commit = fx_sha(6) };
    const int64_t a = plant_alert(g.url, g.project, &(planted){ .low = 2, .high = 2 });
    pfc_codeowners_stored out;
    pfc_err err = { 0 };

    touch(&g, 2, "kernels/a.c");
    out = store_file(&g, 5, "* @five\nx y\n");
    cr_expect(out.reason == NULL);
    cr_expect(eq(sz, out.rules, 1));
    cr_expect(eq(sz, out.skipped, 1));
    cr_expect(eq(str, (char *)store_file(&g, 4, "* @four\n").reason,
                 "the file of a later commit is stored"));
    cr_expect(eq(str, (char *)store_file(&g, 77, "* @fork\n").reason,
                 "the commit is not on the project's branch"));
    expect_owner(&g, a, "@five");
    cr_expect(store_file(&g, 5, "* @again\n").reason == NULL); /* of the same commit */
    expect_owner(&g, a, "@again");
    cr_expect(
        eq(int, pfc_codeowners_store(g.db, "t", g.project, &elsewhere, &out, &err), PFC_EINVAL));
    cr_expect(eq(str, err.field, (char *)"path"));
    cr_expect(eq(int, pfc_codeowners_store(g.db, "t", g.project, &none, &out, &err), PFC_OK));
    expect_owner(&g, a, NULL); /* the file was removed */
    end(&g);
}
