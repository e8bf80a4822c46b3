/*
 * Comparisons of equal code with recorded noise: launches of one program on one machine, in the
 * order in which they were made (bench/studies/night/traces, recorded by record.py there). A run
 * takes the next launches of the recording, five a benchmark as the shipped suites do, so what
 * lasts longer than a benchmark differs between benchmarks of a run and between runs, as it did.
 * Nothing is drawn from a distribution. tests/core/stats/test_between.c
 * grades the power, too.
 */
#include <math.h>
#include <stdlib.h>

#include <jansson.h>

#include "core/base/fs.h"
#include "core/base/parse.h"
#include "server/services/history/against_parent.h"
#include "server/services/history/compare.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/support/cluster_hooks.h"
#include "tests/support/rounds.h"

#define KERNELS     6
#define GROUPS      35 /* a group is measured before the next */
#define SERIES      (KERNELS * GROUPS)
#define LAUNCHES    5
#define COMPARISONS PFC_ROUNDS(200u)
#define CANARY      1    /* the kernel whose scatter is smallest */
#define MOVED       1.05 /* of its usual time: the machine moved */

typedef struct recording {
    double (*times)[KERNELS];
    size_t len;
    double usual; /* of the canary */
} recording;

static int compare_doubles(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median_of(double *x, size_t n)
{
    qsort(x, n, sizeof(*x), compare_doubles);
    return x[n / 2];
}

static recording read_recording(const char *name)
{
    char *path = pfc_format("%s/bench/studies/night/traces/%s.json", PFC_TEST_SOURCE, name);
    json_t *doc = json_load_file(path, 0, NULL), *runs = json_object_get(doc, "runs");
    recording r = { .len = json_array_size(runs) };
    double *canary;

    cr_assert(r.len > 1000, "%s", path);
    r.times = pfc_calloc(r.len, sizeof(*r.times));
    canary = pfc_calloc(r.len, sizeof(*canary));
    for (size_t i = 0; i < r.len; i++) {
        for (size_t k = 0; k < KERNELS; k++)
            r.times[i][k] = json_number_value(json_array_get(json_array_get(runs, i), k));
        canary[i] = r.times[i][CANARY];
    }
    r.usual = median_of(canary, r.len);
    free(canary);
    json_decref(doc);
    free(path);
    return r;
}

static void store(pfc_db *db, int64_t p, const recording *r, unsigned n)
{
    pfc_run *run = fx_run(n);
    double canary[GROUPS * LAUNCHES];

    for (size_t s = 0; s < SERIES; s++) {
        const size_t group = s / KERNELS, kernel = s % KERNELS;
        const size_t first = n * GROUPS * LAUNCHES + group * LAUNCHES;
        char name[24];

        (void)snprintf(name, sizeof(name), "kernel%zu/%02zu", kernel, group);
        fx_measure(run, name, "time_ns", 1, 0, LAUNCHES, LAUNCHES, 1);
        for (size_t i = 0; i < LAUNCHES; i++)
            run->measurements[s].samples[i] = r->times[(first + i) % r->len][kernel];
        for (size_t i = 0; i < LAUNCHES && kernel == CANARY; i++)
            canary[group * LAUNCHES + i] = r->times[(first + i) % r->len][CANARY];
    }
    run->infra = median_of(canary, GROUPS * LAUNCHES) > MOVED * r->usual;
    fx_ingest(db, p, run);
}

typedef struct tally {
    size_t different, most, moved;
    long alerts;
} tally;

static void count_rows(const pfc_comparison *c, tally *t)
{
    size_t different = 0;

    for (size_t i = 0; i < c->rows_len; i++) {
        different += c->rows[i].result.verdict == PFC_VERDICT_DIFFERENT;
        t->moved += c->rows[i].moved;
    }
    t->different += different;
    t->most = PFC_MAX(t->most, different);
}

/* The commit's page; and the comparison's page and the tooltip of a point, which show pfc_compare's
 * rows. */
static void compare_pages(pfc_db *db, int64_t p, unsigned n, tally *t)
{
    pfc_commit_rows row = { 0 };
    pfc_comparison page = { 0 }, other = { 0 };
    bool measured = false;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_commits_get(db, p, fx_sha(n), &row, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_compare_parent(db, p, row.items, &measured, &page, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(measured);
    cr_assert(eq(sz, page.rows_len, SERIES));
    count_rows(&page, t);
    if (n % 50 == 0) {
        cr_assert(eq(int, pfc_compare_commits(db, p, fx_sha(n - 1), fx_sha(n), &other, &err), 0));
        cr_assert(eq(sz, other.regressions, page.regressions));
        cr_assert(eq(sz, other.improvements, page.improvements));
        pfc_comparison_clear(&other);
    }
    pfc_rows_clear(&row);
    pfc_comparison_clear(&page);
}

static tally run_history(void)
{
    recording r = read_recording("quiet");
    fx_ground g = fx_begin(2);
    tally t = { 0 };
    char *alerts;

    fx_commits(g.db, g.project, 1, COMPARISONS + 1);
    for (unsigned n = 1; n <= COMPARISONS + 1; n++)
        store(g.db, g.project, &r, n);
    fx_detect(g.db);
    for (unsigned n = 2; n <= COMPARISONS + 1; n++)
        compare_pages(g.db, g.project, n, &t);
    alerts = pfc_test_sql_value(g.url, "SELECT count(*) FROM alerts");
    t.alerts = atol(alerts);
    free(alerts);
    free(r.times);
    fx_end(&g);
    (void)fprintf(stderr,
                  "%.3f of %d rows different a comparison (at most %zu), %ld alerts, %zu rows "
                  "open because the machine moved\n",
                  (double)t.different / COMPARISONS, SERIES, t.most, t.alerts, t.moved);
    return t;
}

static void expect_few(const tally *t)
{
    cr_expect(le(sz, t->different, COMPARISONS), "%zu rows in %u comparisons", t->different,
              COMPARISONS);
    /* the alerts' page and the overview: what the detector says of the same history */
    cr_expect(le(long, t->alerts, (long)COMPARISONS / 20));
}

Test(equal_code, with_recorded_noise_at_most_one_row_a_comparison_is_different)
{
    tally t = run_history();

    expect_few(&t);
    cr_expect(gt(sz, t.moved, 0)); /* its end was recorded beside another program */
}
