/*
 * The noise between runs: its estimate, what it leaves of a comparison, and the rates of both
 * mistakes with recorded noise (bench/studies/night/traces: launches of one program on one machine,
 * in their order). A run takes the next launches of the recording for each of its 210 rows.
 *
 * PFC_EQUAL_CODE=1 prints the table of bench/results/comparisons.md.
 */
#include <math.h>
#include <stdlib.h>

#include <jansson.h>

#include "core/base/parse.h"
#include "core/stats/between_runs.h"
#include "core/stats/comparison_family.h"

#include "tests/check/check.h"

#define KERNELS      6
#define GROUPS       35
#define ROWS         (KERNELS * GROUPS)
#define RUNS         201
#define MAX_LAUNCHES 40
#define NEWEST       64   /* runs of a series that the service keeps for its noise */
#define QUIET        1980 /* launches of the quiet recording before another program started */

/* ---- arithmetic ---- */

/* Steps of log 1.01, 40 of 40: sigma is that over the quantiles of the normal distribution. */
Test(between, sigma_is_the_larger_of_two_quantiles)
{
    double x[41];
    pfc_between b;

    for (size_t i = 0; i < 41; i++)
        x[i] = i % 2 ? 101 : 100;
    b = pfc_stats_between(x, 41);
    cr_assert(epsilon_eq(dbl, b.sigma, log(1.01) / 0.6744897501960817 / sqrt(2), 1e-12));
    cr_assert(epsilon_eq(dbl, b.freedom, 4.0, 1e-12));

    /* Of 40 steps three are 10 %, and two are left out: the third is at 1 - 1/2 2/40. */
    for (size_t i = 0; i < 41; i++)
        x[i] = 100 * (i >= 10 ? 1.1 : 1) * (i >= 20 ? 1.1 : 1) * (i >= 30 ? 1.1 : 1);
    b = pfc_stats_between(x, 41);
    cr_assert(epsilon_eq(dbl, b.sigma, log(1.1) / 1.9599639845400545 / sqrt(2), 1e-12));
}

/* A change of the code, and its fix, are two steps. */
Test(between, two_steps_are_no_noise_and_few_runs_know_none)
{
    double x[PFC_BETWEEN_LEAST];

    for (size_t i = 0; i < PFC_BETWEEN_LEAST; i++)
        x[i] = i == 7 ? 150 : 100;
    cr_assert(eq(dbl, pfc_stats_between(x, PFC_BETWEEN_LEAST).sigma, 0.0));
    cr_assert(isnan(pfc_stats_between(x, PFC_BETWEEN_LEAST - 1).sigma));
    cr_assert(isnan(pfc_stats_between(x, 0).sigma));
    x[3] = 0;
    cr_assert(isnan(pfc_stats_between(x, PFC_BETWEEN_LEAST).sigma));
}

/* R: 2 * pt(-log(1.05) / (0.01 * sqrt(2)), 20) = 0.0025317; qt(0.995, 20) = 2.845340 */
Test(between, a_difference_is_weighed_against_that_of_two_runs)
{
    const pfc_between noise = { .sigma = 0.01, .freedom = 20 };
    pfc_compare_result r = { .verdict = PFC_VERDICT_DIFFERENT,
                             .rel_change = 0.05,
                             .p = 0.0079,
                             .rel_low = 0.045,
                             .rel_high = 0.055 };
    pfc_compare_result four = r, small = r, none = r;

    pfc_stats_compare_between(&r, &noise, 1, 1, 0, 0);
    cr_assert(eq(int, (int)r.verdict, PFC_VERDICT_DIFFERENT));
    cr_assert(epsilon_eq(dbl, r.p, 0.0025317, 1e-6), "%g", r.p);
    cr_assert(epsilon_eq(dbl, log1p(r.rel_low), log(1.05) - 2.845340 * 0.01 * sqrt(2), 1e-6));
    cr_assert(epsilon_eq(dbl, log1p(r.rel_high), log(1.05) + 2.845340 * 0.01 * sqrt(2), 1e-6));
    pfc_stats_compare_between(&four, &noise, 4, 4, 0, 0);
    cr_assert(epsilon_eq(dbl, log1p(four.rel_low), log(1.05) - 2.845340 * 0.01 / sqrt(2), 1e-6));

    small.rel_change = 0.02; /* clear between launches, usual between runs */
    small.rel_low = 0.015;
    pfc_stats_compare_between(&small, &noise, 1, 1, 0, 0);
    cr_assert(eq(int, (int)small.verdict, PFC_VERDICT_INCONCLUSIVE));
    cr_assert(lt(dbl, small.rel_low, 0.0));

    pfc_stats_compare_between(&none, &(pfc_between){ .sigma = (double)NAN }, 1, 1, 0, 0);
    cr_assert(eq(dbl, none.p, 0.0079));
    pfc_stats_compare_between(&none, &(pfc_between){ .sigma = 0 }, 1, 1, 0, 0);
    cr_assert(eq(dbl, none.rel_low, 0.045));
}

Test(between, what_the_launches_left_open_stays_open_and_same_needs_the_margin)
{
    const pfc_between noise = { .sigma = 0.01, .freedom = 20 };
    pfc_compare_result open = { .verdict = PFC_VERDICT_INCONCLUSIVE,
                                .rel_change = 0.2,
                                .p = 0.02,
                                .rel_low = -0.01,
                                .rel_high = 0.4 };
    pfc_compare_result same = {
        .verdict = PFC_VERDICT_SAME, .p = 0.9, .rel_low = -0.002, .rel_high = 0.002
    };
    pfc_compare_result wide = same;

    pfc_stats_compare_between(&open, &noise, 1, 1, 0, 0);
    cr_assert(eq(int, (int)open.verdict, PFC_VERDICT_INCONCLUSIVE));
    cr_assert(eq(dbl, open.p, 0.02));
    pfc_stats_compare_between(&same, &noise, 1, 1, 0, 0);
    cr_assert(eq(int, (int)same.verdict, PFC_VERDICT_INCONCLUSIVE));
    pfc_stats_compare_between(&wide, &noise, 1, 1, 0, 0.05);
    cr_assert(eq(int, (int)wide.verdict, PFC_VERDICT_SAME));
}

/* Numerical integration of Student's density with 20 / 3 degrees of freedom: 5.856e-06 beyond
 * log(1.2) / (0.01 * sqrt(2)); the interval has all 20. Three launches a side reach 0.1 at best,
 * wherever they lie. */
Test(between, few_launches_leave_the_verdict_to_the_noise_between_runs)
{
    const pfc_between noise = { .sigma = 0.01, .freedom = 20 };
    const double a[] = { 100, 101, 102 }, b[] = { 120, 121.2, 122.4 }, c[] = { 100, 101, 102 };
    pfc_compare_result r = { 0 }, small = { 0 }, same = { 0 }, five = { 0 };
    const double x[] = { 100, 101, 102, 103, 104 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_stats_compare(a, 3, b, 3, NULL, &r, &err), PFC_OK));
    cr_assert(r.few);
    cr_assert(eq(int, (int)r.verdict, PFC_VERDICT_INCONCLUSIVE));
    small = r;
    small.rel_change = 0.03;
    pfc_stats_compare_between(&r, &noise, 1, 1, 0, 0);
    cr_assert(eq(int, (int)r.verdict, PFC_VERDICT_DIFFERENT));
    cr_assert(epsilon_eq(dbl, r.p, 5.85576e-06, 5.9e-10), "%.5g", r.p);
    cr_assert(epsilon_eq(dbl, log1p(r.rel_low), log(1.2) - 2.845340 * 0.01 * sqrt(2), 1e-6));
    pfc_stats_compare_between(&small, &noise, 1, 1, 0, 0);
    cr_assert(eq(int, (int)small.verdict, PFC_VERDICT_INCONCLUSIVE));
    cr_assert(eq(int, pfc_stats_compare(a, 3, c, 3, NULL, &same, &err), PFC_OK));
    pfc_stats_compare_between(&same, &noise, 1, 1, 0, 0.06);
    cr_assert(eq(int, (int)same.verdict, PFC_VERDICT_SAME));
    cr_assert(eq(int, pfc_stats_compare(x, 5, x, 5, NULL, &five, &err), PFC_OK));
    cr_assert(not(five.few));
}

/* ---- recorded noise ---- */

typedef struct recording {
    double (*times)[KERNELS];
    size_t len;
} recording;

static recording read_recording(const char *name, size_t most)
{
    char *path = pfc_format("%s/bench/studies/night/traces/%s.json", PFC_TEST_SOURCE, name);
    json_t *doc = json_load_file(path, 0, NULL), *runs = json_object_get(doc, "runs");
    recording r = { .len = PFC_MIN(json_array_size(runs), most) };

    cr_assert(r.len > 1000, "%s", path);
    r.times = pfc_calloc(r.len, sizeof(*r.times));
    for (size_t i = 0; i < r.len; i++)
        for (size_t k = 0; k < KERNELS; k++)
            r.times[i][k] = json_number_value(json_array_get(json_array_get(runs, i), k));
    json_decref(doc);
    free(path);
    return r;
}

/* How a comparison's launches lie in the recording. */
typedef struct design {
    size_t launches;
    bool pairs; /* A and B in turn, pair by pair; else a run of A, later one of B */
    bool known; /* the noise between runs is used */
    double plant;
    size_t every; /* one row of so many is planted; 0: none */
} design;

static void read_launches(const recording *r, const design *d, unsigned run, size_t row,
                          size_t side, double *out)
{
    const size_t n = d->launches, group = row / KERNELS;
    size_t first = (run * GROUPS + group) * n;

    for (size_t i = 0; i < n; i++) {
        const size_t at = d->pairs ? 2 * (first + i) + (side ^ (i & 1)) : first + i;

        out[i] = r->times[at % r->len][row % KERNELS];
    }
}

static void estimate_noise(const recording *r, const design *d, pfc_between *noise)
{
    double x[MAX_LAUNCHES], medians[RUNS];

    for (size_t row = 0; row < ROWS; row++) {
        for (unsigned run = 0; run < RUNS; run++) {
            read_launches(r, d, run, row, 0, x);
            medians[run] = pfc_stats_median(x, d->launches);
        }
        noise[row] = pfc_stats_between(medians, RUNS);
    }
}

typedef struct rates {
    size_t different, hits, plants;
} rates;

static void compare_runs(const recording *r, const design *d, const pfc_between *noise,
                         unsigned run, rates *out)
{
    const pfc_compare_opts opts = { .paired = d->pairs };
    pfc_family_row rows[ROWS];
    bool planted[ROWS];
    double a[MAX_LAUNCHES], b[MAX_LAUNCHES];
    pfc_err err = { 0 };

    for (size_t row = 0; row < ROWS; row++) {
        pfc_compare_result result = { 0 };

        planted[row] = d->every && (row + 7 * run) % d->every == 0;
        read_launches(r, d, run, row, 0, a);
        read_launches(r, d, d->pairs ? run : run + 1, row, 1, b);
        for (size_t i = 0; i < d->launches && planted[row]; i++)
            b[i] *= 1 + d->plant;
        cr_assert(eq(int, pfc_stats_compare(a, d->launches, b, d->launches, &opts, &result, &err),
                     PFC_OK));
        if (d->known)
            pfc_stats_compare_between(&result, &noise[row], 1, 1, 0, 0);
        rows[row] = (pfc_family_row){ .p = result.p, .verdict = result.verdict };
    }
    pfc_compare_family(rows, ROWS);
    for (size_t row = 0; row < ROWS; row++) {
        const bool different = rows[row].verdict == PFC_VERDICT_DIFFERENT;

        out->different += different && !planted[row];
        out->hits += different && planted[row];
        out->plants += planted[row];
    }
}

/* Of 200 comparisons. */
static rates grade(const recording *r, const design *d)
{
    pfc_between noise[ROWS] = { 0 };
    rates out = { 0 };

    if (d->known)
        estimate_noise(r, d, noise);
    for (unsigned run = 0; run + 1 < RUNS; run++)
        compare_runs(r, d, noise, run, &out);
    return out;
}

static void print_row(const char *name, const recording *r, const design *d)
{
    const rates got = grade(r, d);

    const char *how = d->pairs ? "interleaved pairs" : d->known ? "runs" : "runs, launches alone";
    const char *rows = d->every == 0 ? "none" : d->every == ROWS ? "1 row" : "21 rows";

    (void)fprintf(stderr, "| %s | %s | %zu | %.2f | %s, %+.0f %% | %.1f %% |\n", name, how,
                  d->launches, (double)got.different / 200, rows, 100 * d->plant,
                  got.plants ? 100.0 * (double)got.hits / (double)got.plants : (double)NAN);
}

static void print_table(const char *name, const recording *r)
{
    static const double plants[] = { 0.05, 0.10, 0.20 };
    static const size_t every[] = { 0, ROWS, 10 }, launches[] = { 1, 2, 3, 4, 5, 10, 20 };

    for (size_t l = 0; l < PFC_ARRAY_LEN(launches); l++) {
        for (int kind = 0; kind < 3; kind++) {
            for (size_t e = 0; e < 3; e++) {
                for (size_t i = 0; i < (e ? 3 : 1); i++)
                    print_row(name, r,
                              &(design){ .launches = launches[l],
                                         .pairs = kind == 2,
                                         .known = kind == 1,
                                         .plant = plants[i],
                                         .every = every[e] });
            }
        }
    }
}

Test(between, with_recorded_noise_at_most_one_row_of_equal_code_is_different)
{
    static const size_t launches[] = { 5, 10 };
    static const char *const names[] = { "quiet", "busy" };
    size_t without = 0;

    for (size_t k = 0; k < 2; k++) {
        recording r = read_recording(names[k], k ? SIZE_MAX : QUIET);

        for (size_t l = 0; l < 2; l++) {
            const rates got = grade(&r, &(design){ .launches = launches[l], .known = true });
            const rates blind = grade(&r, &(design){ .launches = launches[l] });

            cr_expect(le(sz, got.different, 200), "%s, %zu launches: %zu rows", names[k],
                      launches[l], got.different);
            (void)fprintf(stderr, "%s, %zu launches: %.2f rows, by the launches alone %.2f\n",
                          names[k], launches[l], (double)got.different / 200,
                          (double)blind.different / 200);
            without += blind.different;
        }
        if (getenv("PFC_EQUAL_CODE"))
            print_table(names[k], &r);
        free(r.times);
    }
    cr_expect(gt(sz, without, 4 * 200)); /* the recordings are a test: launches alone fail it */
}

/* Of one to four launches ranks decide nothing: the noise between runs decides alone. */
Test(between, with_few_launches_the_noise_between_runs_decides_alone)
{
    static const char *const names[] = { "quiet", "busy" };
    size_t hits = 0;

    for (size_t k = 0; k < 2; k++) {
        recording r = read_recording(names[k], k ? SIZE_MAX : QUIET);

        for (size_t launches = 1; launches < PFC_COMPARE_LEAST; launches++) {
            const rates got = grade(&r, &(design){ .launches = launches, .known = true });
            const rates planted = grade(
                &r, &(design){ .launches = launches, .known = true, .plant = 1.0, .every = 10 });

            cr_expect(le(sz, got.different, 200), "%s, %zu launches: %zu rows", names[k], launches,
                      got.different);
            (void)fprintf(stderr, "%s, %zu launches: %.2f rows, %zu of %zu doubled times\n",
                          names[k], launches, (double)got.different / 200, planted.hits,
                          planted.plants);
            hits += planted.hits;
        }
        free(r.times);
    }
    cr_expect(gt(sz, hits, 0));
}

/* Interleaved on the same recordings, 5 % is found: the state of the machine is on both sides. */
Test(between, five_per_cent_is_found_by_interleaved_pairs)
{
    static const char *const names[] = { "quiet", "busy" };

    for (size_t k = 0; k < 2; k++) {
        recording r = read_recording(names[k], k ? SIZE_MAX : QUIET);
        const rates got =
            grade(&r, &(design){ .launches = 40, .pairs = true, .plant = 0.05, .every = 10 });

        (void)fprintf(stderr, "%s: %zu of %zu plants, %zu others\n", names[k], got.hits, got.plants,
                      got.different);
        cr_expect(ge(sz, got.hits, got.plants * 95 / 100), "%s: %zu of %zu", names[k], got.hits,
                  got.plants);
        cr_expect(le(sz, got.different, 200), "%s: %zu", names[k], got.different);
        free(r.times);
    }
}
