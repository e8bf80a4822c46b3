/* Expected waits: queues small enough to reckon by hand, and a fleet played by other code. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/rng.h"
#include "core/queue/wait.h"
#include "core/stats/stats.h"

#include "tests/check/check.h"

enum { MANY = 2500 }; /* so many of one kind that its factor is 1 within a hundredth */

static double hundred[MANY], ten[MANY];
static const pfc_wait_history histories[] = { { hundred, MANY, false },
                                              { ten, MANY, false },
                                              { NULL, 0, false } };
static const bool any_of_three[] = { true, true, true };

static void fill(void)
{
    for (size_t i = 0; i < MANY; i++) {
        hundred[i] = 100;
        ten[i] = 10;
    }
}

TestSuite(wait, .init = fill);

static void estimate(const pfc_wait_job *jobs, size_t jobs_len, const pfc_wait_slot *slots,
                     size_t slots_len, const bool *fits, size_t fits_len, pfc_wait *out)
{
    const pfc_wait_queue queue = { .jobs = jobs,
                                   .jobs_len = jobs_len,
                                   .slots = slots,
                                   .slots_len = slots_len,
                                   .fits = fits,
                                   .fits_len = fits_len,
                                   .histories = histories,
                                   .histories_len = PFC_ARRAY_LEN(histories),
                                   .seed = 1 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_wait_estimate(&queue, out, &err), PFC_OK), "%s", err.msg);
}

#define ASSERT_NEAR(wait, seconds)                                                                 \
    do {                                                                                           \
        const pfc_wait near_ = (wait);                                                             \
                                                                                                   \
        cr_assert(eq(int, near_.known, PFC_WAIT_KNOWN));                                           \
        cr_assert(epsilon_eq(dbl, near_.middle_s, (seconds), 0.02 * (seconds) + 1e-9));            \
        cr_assert(near_.low_s <= near_.middle_s && near_.middle_s <= near_.high_s);                \
    } while (0)

Test(wait, runners_take_turns_in_order)
{
    const pfc_wait_slot slots[] = { { .busy = true, .job = 0, .elapsed_s = 70 }, { 0 }, { 0 } };
    const pfc_wait_job jobs[] = { { .running = true }, { 0 }, { 0 }, { 0 }, { 0 } };
    pfc_wait out[5];

    estimate(jobs, 5, slots, 2, any_of_three, 1, out);
    ASSERT_NEAR(out[1], 0.0);
    ASSERT_NEAR(out[2], 30.0); /* the busy one is free then */
    ASSERT_NEAR(out[3], 100.0);
    ASSERT_NEAR(out[4], 130.0);
    estimate(jobs, 5, slots, 3, any_of_three, 1, out);
    ASSERT_NEAR(out[2], 0.0);
    ASSERT_NEAR(out[4], 100.0);
}

Test(wait, only_runners_that_fit_count)
{
    const bool fits[] = { true, false, false, true, false, false };
    const pfc_wait_slot slots[2] = { 0 };
    const pfc_wait_job jobs[] = {
        { .fit = 0 }, { .fit = 0 }, { .fit = 1, .history = 1 }, { .fit = 1 }, { .fit = 2 }
    };
    pfc_wait out[5];

    estimate(jobs, 5, slots, 2, fits, 3, out);
    ASSERT_NEAR(out[1], 100.0);
    ASSERT_NEAR(out[2], 0.0);
    ASSERT_NEAR(out[3], 10.0);
    cr_assert(eq(int, out[4].known, PFC_WAIT_NO_RUNNER));
    cr_assert(isnan(out[4].middle_s));
    estimate(jobs, 5, slots, 0, fits, 3, out);
    cr_assert(eq(int, out[0].known, PFC_WAIT_NO_RUNNER));
}

Test(wait, parents_and_back_off_hold_a_job_but_not_those_behind_it)
{
    const size_t of_first[] = { 0 }, of_both[] = { 0, 1 };
    const pfc_wait_slot slots[2] = { 0 };
    const pfc_wait_job jobs[] = {
        { .history = 0 },                                                    /* 0 .. 100 */
        { .history = 1, .parents = of_first, .parents_len = 1 },             /* 100 .. 110 */
        { .history = 1, .parents = of_both, .parents_len = 2 },              /* 110 */
        { .history = 1, .due_s = 40 },                                       /* 40 .. 50 */
        { .history = 1 },                                                    /* 0 .. 10 */
        { .history = 1, .due_s = 5, .parents = of_first, .parents_len = 1 }, /* 100 */
    };
    pfc_wait out[6];

    estimate(jobs, 6, slots, 2, any_of_three, 1, out);
    ASSERT_NEAR(out[0], 0.0);
    ASSERT_NEAR(out[4], 0.0);
    ASSERT_NEAR(out[3], 40.0);
    ASSERT_NEAR(out[1], 100.0);
    ASSERT_NEAR(out[5], 100.0);
    ASSERT_NEAR(out[2], 110.0);
}

Test(wait, what_cannot_be_known_says_why)
{
    const size_t of_unknown[] = { 0 }, of_each_other[] = { 4, 3 };
    const bool fits[] = { true, false };
    const pfc_wait_slot slots[1] = { 0 };
    const pfc_wait_job jobs[] = {
        { .history = 2 }, /* begins now, its end is unknown */
        { .history = 1 }, /* behind it */
        { .history = 1, .parents = of_unknown, .parents_len = 1 }, /* after it */
        { .parents = &of_each_other[0], .parents_len = 1 },
        { .parents = &of_each_other[1], .parents_len = 1 },
    };
    pfc_wait out[5];

    estimate(jobs, 5, slots, 1, fits, 2, out);
    ASSERT_NEAR(out[0], 0.0);
    cr_assert(eq(int, out[1].known, PFC_WAIT_NO_HISTORY));
    cr_assert(eq(int, out[2].known, PFC_WAIT_PARENT));
    cr_assert(eq(sz, out[2].parent, 0));
    cr_assert(eq(int, out[3].known, PFC_WAIT_PARENT));
    cr_assert(eq(sz, out[3].parent, 4));
}

Test(wait, longer_than_any_of_its_kind_is_given_up_to_as_long_again)
{
    const pfc_wait_slot slots[] = { { .busy = true, .job = 0, .elapsed_s = 400 } };
    const pfc_wait_job jobs[] = { { .running = true }, { 0 } };
    pfc_wait out[2];

    estimate(jobs, 2, slots, 1, any_of_three, 1, out);
    cr_assert(out[1].low_s < 100 && out[1].low_s >= 0);
    cr_assert(out[1].high_s > 300 && out[1].high_s <= 400);
}

Test(wait, few_finished_jobs_make_the_range_wide)
{
    const double few[] = { 100 };
    const pfc_wait_history known[] = { { few, 1, false }, { hundred, MANY, false } };
    const pfc_wait_slot slots[1] = { 0 };
    const pfc_wait_job jobs[] = { { 0 }, { 0 } }, sure[] = { { .history = 1 }, { 0 } };
    pfc_wait_queue queue = { .jobs = jobs,
                             .jobs_len = 2,
                             .slots = slots,
                             .slots_len = 1,
                             .fits = any_of_three,
                             .fits_len = 1,
                             .histories = known,
                             .histories_len = 2 };
    pfc_wait wide[2], narrow[2];

    cr_assert(eq(int, pfc_wait_estimate(&queue, wide, NULL), PFC_OK));
    queue.jobs = sure;
    cr_assert(eq(int, pfc_wait_estimate(&queue, narrow, NULL), PFC_OK));
    cr_assert(wide[1].low_s < 80 && wide[1].high_s > 120);
    cr_assert(narrow[1].low_s > 95 && narrow[1].high_s < 105);
}

Test(wait, places_out_of_range_are_refused)
{
    const size_t beyond[] = { 7 };
    const double wrong[] = { NAN };
    const pfc_wait_history bad = { wrong, 1, false };
    const pfc_wait_job jobs[] = { { .fit = 1 },
                                  { .history = 3 },
                                  { .due_s = INFINITY },
                                  { .parents = beyond, .parents_len = 1 } };
    const pfc_wait_slot slot = { .busy = true, .job = 0 };
    const pfc_wait_job fine = { 0 };
    pfc_wait out;
    pfc_err err = { 0 };
    pfc_wait_queue queue = { .jobs_len = 1,
                             .fits = any_of_three,
                             .fits_len = 1,
                             .histories = histories,
                             .histories_len = 3 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(jobs); i++) {
        queue.jobs = &jobs[i];
        cr_assert(eq(int, pfc_wait_estimate(&queue, &out, &err), PFC_EINVAL), "%zu", i);
    }
    queue.jobs = &fine;
    cr_assert(eq(int, pfc_wait_estimate(&queue, &out, &err), PFC_OK));
    queue.slots = &slot; /* holds what does not run */
    queue.slots_len = 1;
    cr_assert(eq(int, pfc_wait_estimate(&queue, &out, &err), PFC_EINVAL));
    queue.slots_len = 0;
    queue.histories = &bad;
    queue.histories_len = 1;
    cr_assert(eq(int, pfc_wait_estimate(&queue, &out, &err), PFC_EINVAL));
}

/* ---- a fleet: what was expected against what then happened ---- */

enum { JOBS = 90, RUNNERS = 5, KINDS = 3, PAST = 20, FLEETS = 60 };

/* The truth, by other code: a second at a time, each free runner looks through the whole list. */
typedef struct fleet {
    pfc_rng rng;
    double took[JOBS], began[JOBS], ended[JOBS];
    pfc_wait_job jobs[JOBS];
    size_t parent[JOBS];
    double past[KINDS][PAST];
    size_t holds[RUNNERS]; /* JOBS: nothing */
} fleet;

/* Runners 0 and 1 are of one class, the others of another; a third of the jobs requires the first
 * class. */
static const bool classes[] = { true, true, false, false, false, true, true, true, true, true };

static double truth(pfc_rng *rng, size_t kind)
{
    static const double middle[KINDS] = { 60, 240, 900 }, spread[KINDS] = { 0.15, 0.3, 0.6 };

    return middle[kind] * exp(spread[kind] * pfc_rng_normal(rng));
}

static void make_fleet(fleet *f, uint64_t seed)
{
    pfc_rng_seed(&f->rng, seed);
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < PAST; i++)
            f->past[k][i] = truth(&f->rng, k);
    }
    for (size_t j = 0; j < JOBS; j++) {
        f->jobs[j] = (pfc_wait_job){ .history = pfc_rng_below(&f->rng, KINDS),
                                     .fit = pfc_rng_below(&f->rng, 3) != 0 };
        if (j > 0 && pfc_rng_below(&f->rng, 8) == 0) {
            f->parent[j] = pfc_rng_below(&f->rng, j);
            f->jobs[j].parents = &f->parent[j];
            f->jobs[j].parents_len = 1;
        }
        f->took[j] = ceil(truth(&f->rng, f->jobs[j].history));
        f->began[j] = f->ended[j] = INFINITY;
    }
    for (size_t r = 0; r < RUNNERS; r++)
        f->holds[r] = JOBS;
}

static void second(fleet *f, double now)
{
    for (size_t r = 0; r < RUNNERS; r++) {
        if (f->holds[r] < JOBS && f->began[f->holds[r]] + f->took[f->holds[r]] <= now) {
            f->ended[f->holds[r]] = now;
            f->holds[r] = JOBS;
        }
    }
    for (size_t r = 0; r < RUNNERS; r++) {
        for (size_t j = 0; j < JOBS && f->holds[r] == JOBS; j++) {
            const bool held = f->jobs[j].parents_len && f->ended[f->parent[j]] > now;

            if (f->began[j] > now && !held && classes[f->jobs[j].fit * RUNNERS + r]) {
                f->began[j] = now;
                f->holds[r] = j;
            }
        }
    }
}

static bool ended(const fleet *f)
{
    for (size_t j = 0; j < JOBS; j++) {
        if (!isfinite(f->ended[j]))
            return false;
    }
    return true;
}

/* The queue as the service would see it at `now`. place[] gets where each open job is, or JOBS. */
static size_t look(const fleet *f, double now, pfc_wait_job *jobs, size_t *parents,
                   pfc_wait_slot *slots, size_t *place)
{
    size_t len = 0;

    for (size_t j = 0; j < JOBS; j++)
        place[j] = f->ended[j] <= now ? JOBS : len++;
    len = 0;
    for (size_t j = 0; j < JOBS; j++) {
        if (place[j] == JOBS)
            continue;
        jobs[len] = f->jobs[j];
        jobs[len].running = f->began[j] <= now;
        jobs[len].parents_len = 0;
        if (f->jobs[j].parents_len && place[f->parent[j]] < JOBS && !jobs[len].running) {
            parents[len] = place[f->parent[j]];
            jobs[len].parents = &parents[len];
            jobs[len].parents_len = 1;
        }
        len++;
    }
    for (size_t r = 0; r < RUNNERS; r++) {
        const size_t j = f->holds[r];

        slots[r] = (pfc_wait_slot){ .busy = j < JOBS };
        if (j < JOBS)
            slots[r] = (pfc_wait_slot){ true, place[j], now - f->began[j] };
    }
    return len;
}

Test(wait, a_fleet_begins_its_jobs_when_it_was_expected_to)
{
    static double errors[FLEETS * JOBS];
    size_t asked = 0, inside = 0, below = 0;

    for (uint64_t seed = 1; seed <= FLEETS; seed++) {
        static fleet f;
        pfc_wait_job jobs[JOBS];
        pfc_wait_slot slots[RUNNERS];
        pfc_wait out[JOBS];
        size_t parents[JOBS], place[JOBS];
        pfc_wait_history past[KINDS];
        const double asked_at = (double)(300 + 20 * seed);
        double now = 0;

        make_fleet(&f, seed);
        for (; now <= asked_at; now++)
            second(&f, now);
        now--;
        for (size_t k = 0; k < KINDS; k++)
            past[k] = (pfc_wait_history){ f.past[k], PAST, false };
        const size_t len = look(&f, now, jobs, parents, slots, place);
        const pfc_wait_queue queue = { jobs, len, slots, RUNNERS, classes, 2, past, KINDS, seed };

        cr_assert(eq(int, pfc_wait_estimate(&queue, out, NULL), PFC_OK));
        for (double t = now + 1; t < 100000 && !ended(&f); t++)
            second(&f, t);
        for (size_t j = 0; j < JOBS; j++) {
            const double waited = f.began[j] - now;

            cr_assert(isfinite(f.ended[j]), "the fleet never ended");
            if (place[j] == JOBS || jobs[place[j]].running)
                continue;
            const pfc_wait *w = &out[place[j]];

            cr_assert(eq(int, w->known, PFC_WAIT_KNOWN));
            inside += waited >= w->low_s - 1 && waited <= w->high_s + 1;
            below += waited < w->middle_s;
            errors[asked++] = fabs(w->middle_s - waited) / fmax(waited, 60);
        }
    }
    const double in = (double)inside / (double)asked, early = (double)below / (double)asked;

    printf("expected wait: %zu jobs, %.0f %% inside the range of 80 %%, %.0f %% earlier than the "
           "middle; error of the middle: median %.0f %%, nine in ten below %.0f %%\n",
           asked, 100 * in, 100 * early, 100 * pfc_stats_median(errors, asked),
           100 * pfc_stats_quantile(errors, asked, 0.9));
    cr_assert(gt(sz, asked, 3000));
    cr_assert(in > 0.68 && in < 0.90);
    cr_assert(early > 0.40 && early < 0.60);
    cr_assert(pfc_stats_median(errors, asked) < 0.20);
    cr_assert(pfc_stats_quantile(errors, asked, 0.9) < 0.50);
}
