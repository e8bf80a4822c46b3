/* Pairs on two modelled builds: which differences are found, which are not, and a side that dies.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/pairs/pairs.h"

#include "tests/bench/fake.h"
#include "tests/check/check.h"
#include "tests/support/rounds.h"

/* A build: its time a call, one clock and one drift for both. */
typedef struct build {
    double call_ns;
    double level; /* of this launch */
    double launch_rel, noise_rel;
    double outlier_share; /* of launches, which take a fifth longer */
    size_t launches, turns, ends;
    size_t dies_at_turn;     /* 0: never */
    uint64_t preempted_each; /* samples taken again, of each turn */
    const char *broken;
    bool checked_last;
    pfc_rng *rng;
} build;

static pfc_rng rng;
static double drift_per_turn; /* relative, of the machine: both sides alike */
static double machine;
static pfc_suite *suite;
static pfc_err err;

static pfc_code launch(void *arg, const pfc_block_spec *spec, pfc_launched *out, pfc_err *e)
{
    build *b = arg;

    (void)e;
    b->launches++;
    b->checked_last = spec->check;
    b->level = exp(b->launch_rel * pfc_rng_normal(&rng));
    if (pfc_rng_double(&rng) < b->outlier_share)
        b->level *= 1.2;
    *out = (pfc_launched){ .calls = 20 };
    if (b->broken) {
        out->status = PFC_STATUS_BROKEN;
        out->reason = pfc_strdup(b->broken);
    }
    return PFC_OK;
}

static pfc_code turn(void *arg, const pfc_pair_turn *t, double *samples, uint64_t *preempted,
                     pfc_err *e)
{
    build *b = arg;

    b->turns++;
    *preempted += b->preempted_each;
    if (b->dies_at_turn && b->turns >= b->dies_at_turn)
        return pfc_err_set(e, PFC_EIO, "the measuring process ended before its answer");
    machine *= 1.0 + drift_per_turn;
    for (size_t i = 0; i < t->samples; i++)
        samples[i] = b->call_ns * b->level * machine * (double)t->calls / (double)t->per *
                     exp(b->noise_rel * pfc_rng_normal(&rng));
    return PFC_OK;
}

static void end(void *arg)
{
    ((build *)arg)->ends++;
}

static pfc_code block(void *arg, const pfc_block_spec *spec, pfc_block *out, pfc_err *e)
{
    (void)arg;
    (void)spec;
    (void)e;
    *out = (pfc_block){ .status = PFC_STATUS_OK, .len = 1, .batch = 1 };
    out->samples = pfc_calloc(1, sizeof(double));
    out->samples[0] = 100;
    out->exact = pfc_calloc(1, sizeof(*out->exact));
    out->exact->cycles = 100;
    return PFC_OK;
}

static pfc_side side(build *b)
{
    return (pfc_side){ .launch = launch, .turn = turn, .end = end, .block = block, .arg = b };
}

static void setup(void)
{
    const char *text = "suite: t\nbackends: [cpu-scalar, \"accel:*\"]\nbenchmarks:\n"
                       "  - {op: gemm, shapes: [{m: 8, n: 8, k: 8}]}\n";

    pfc_rng_seed(&rng, 11);
    drift_per_turn = 0;
    machine = 1;
    err = (pfc_err){ 0 };
    cr_assert(eq(int, pfc_suite_parse(text, strlen(text), "t", &suite, &err), PFC_OK));
}

static void teardown(void)
{
    pfc_suite_free(suite);
}

TestSuite(pairs, .init = setup, .fini = teardown);

static const build quiet = { .call_ns = 1000, .launch_rel = 0.003, .noise_rel = 0.0065 };

static pfc_pair_result compare(build *a, build *b, const pfc_paired_opts *opts)
{
    const pfc_side sa = side(a);
    const pfc_side sb = side(b);
    pfc_pair_result out;

    cr_assert(
        eq(int, pfc_paired_run(&sa, &sb, &suite->cases[0], "cpu-scalar", opts, &out, &err), PFC_OK),
        "%s", err.msg);
    return out;
}

/* Launches that differ by 0.3 %, samples by 0.65 %: what this kind of machine has. */
Test(pairs, one_per_cent_is_confirmed_within_a_hundred_pairs)
{
    size_t confirmed = 0;

    for (uint64_t i = 0; i < 200; i++) {
        const pfc_paired_opts opts = { .seed = i + 1, .cpu = -1 };
        build a = quiet;
        build b = quiet;
        b.call_ns = 1010;
        pfc_pair_result p = compare(&a, &b, &opts);
        confirmed += p.verdict == PFC_VERDICT_DIFFERENT && p.rel_change > 0 && p.pairs <= 100;
        pfc_paired_clear(&p);
    }
    cr_assert(ge(sz, confirmed, 190), "%zu", confirmed);
}

Test(pairs, the_same_build_twice_is_never_different_more_than_one_time_in_a_hundred)
{
    size_t alarms = 0;
    size_t same = 0;

    for (uint64_t i = 0; i < 1000; i++) {
        const pfc_paired_opts opts = { .seed = i + 1, .cpu = -1 };
        build a = quiet;
        build b = quiet;
        a.outlier_share = b.outlier_share = 0.02;
        pfc_pair_result p = compare(&a, &b, &opts);
        alarms += p.verdict == PFC_VERDICT_DIFFERENT;
        same += p.verdict == PFC_VERDICT_SAME;
        pfc_paired_clear(&p);
    }
    cr_assert(le(sz, alarms, 10), "%zu", alarms);
    cr_assert(ge(sz, same, 700), "%zu", same);
}

/* Noise so large that chance alone often passes one test: the second confirmation is what holds. */
Test(pairs, noise_beyond_the_margin_raises_no_alarm_either)
{
    size_t alarms = 0;

    for (uint64_t i = 0; i < PFC_ROUNDS(500); i++) {
        const pfc_paired_opts opts = { .seed = i + 1, .cpu = -1, .max_pairs = 100 };
        build a = { .call_ns = 1000, .launch_rel = 0.03, .noise_rel = 0.05 };
        build b = a;
        pfc_pair_result p = compare(&a, &b, &opts);
        alarms += p.verdict == PFC_VERDICT_DIFFERENT;
        pfc_paired_clear(&p);
    }
    cr_assert(le(sz, alarms, 5), "%zu", alarms);
}

/* Forty launches of one pair of 20 turns and four cold ones: 5 % over the whole. A drift cancels in
 * ABBA to first order, and what is left does not add up, because the order is drawn again. */
Test(pairs, a_drift_of_five_per_cent_moves_the_estimate_by_less_than_a_hundredth_of_one)
{
    const pfc_paired_opts opts = { .cpu = -1, .min_launches = 40, .margin = 0.001 };
    build a = { .call_ns = 1000, .noise_rel = 1e-4 };
    build b = a;
    pfc_pair_result p;

    drift_per_turn = 0.05 / (40 * 24);
    p = compare(&a, &b, &opts);
    cr_assert(eq(int, p.verdict, PFC_VERDICT_SAME));
    cr_assert(eq(sz, p.launches, 40));
    cr_assert(lt(dbl, fabs(p.rel_change), 1e-4));
    cr_assert(gt(dbl, machine, 1.049));
    pfc_paired_clear(&p);
}

/* Coverage of the 95 % interval over comparisons that stop by their own rule: with nothing to find,
 * and with a change of a whole and of a third of the noise of a launch's ratio. 1,000 comparisons
 * each: 93 to 97 % is 2.9 standard deviations of a true 95 %. */
Test(pairs, stated_intervals_hold_the_truth_as_often_as_they_say)
{
    static const double changes[] = { 0.0, 0.0047, 0.0014 };
    enum { TRIES = PFC_ROUNDS(1000) };
    const double away = 2.9 * sqrt(0.95 * 0.05 * TRIES);

    for (size_t k = 0; k < 3; k++) {
        size_t held = 0;
        size_t held_any = 0;

        for (uint64_t i = 0; i < TRIES; i++) {
            const pfc_paired_opts opts = {
                .seed = i + 1, .cpu = -1, .margin = 0.001, .max_pairs = 60
            };
            build a = quiet;
            build b = quiet;
            b.call_ns = 1000 * (1 + changes[k]);
            pfc_pair_result p = compare(&a, &b, &opts);
            held += p.rel_low <= changes[k] && changes[k] <= p.rel_high;
            held_any += p.any_low <= changes[k] && changes[k] <= p.any_high;
            pfc_paired_clear(&p);
        }
        cr_assert(le(dbl, fabs((double)held - 0.95 * TRIES), away), "change %g: %zu", changes[k],
                  held);
        cr_assert(ge(sz, 100 * held_any, 99 * TRIES), "change %g: %zu", changes[k], held_any);
    }
}

Test(pairs, injected_work_is_found_at_its_size)
{
    const pfc_paired_opts opts = { .cpu = -1, .extra_rel = 0.02 };
    build a = quiet;
    build b = quiet;
    pfc_pair_result p = compare(&a, &b, &opts);

    cr_assert(eq(int, p.verdict, PFC_VERDICT_DIFFERENT));
    cr_assert(eq(sz, p.confirmations, 2));
    cr_assert(epsilon_eq(dbl, p.rel_change, 0.02, 0.005));
    cr_assert(epsilon_eq(dbl, p.min_rel, 0.02, 0.02)); /* the fastest sample of each side */
    cr_assert(lt(dbl, p.p, 0.01));
    cr_assert(eq(u64, p.calls % 50, 0)); /* 2 % of them is a whole number */
    cr_assert(eq(sz, p.launches, a.launches));
    cr_assert(eq(sz, a.launches, b.launches));
    cr_assert(eq(sz, p.pairs, p.launches)); /* a launch costs the model nothing: a pair each */
    cr_assert(eq(sz, p.samples_len, p.pairs * PFC_PAIR_TURNS));
    pfc_paired_clear(&p);
}

Test(pairs, the_result_is_checked_once_and_every_launch_is_ended)
{
    const pfc_paired_opts opts = { .cpu = -1 };
    build a = quiet;
    build b = quiet;
    pfc_pair_result p = compare(&a, &b, &opts);

    cr_assert(not(a.checked_last));
    cr_assert(ge(sz, a.ends, a.launches));
    cr_assert(ge(sz, b.ends, b.launches));
    pfc_paired_clear(&p);
}

Test(pairs, a_side_that_is_wrong_or_dies_breaks_its_benchmark_and_no_more)
{
    const pfc_paired_opts opts = { .cpu = -1 };
    build a = quiet;
    build b = quiet;
    pfc_pair_result p;

    b.broken = "row 3: expected 1.5, got 2.5";
    p = compare(&a, &b, &opts);
    cr_assert(eq(int, p.status, PFC_STATUS_BROKEN));
    cr_assert(eq(str, p.reason, "B: row 3: expected 1.5, got 2.5"));
    cr_assert(not(p.broken_a));
    pfc_paired_clear(&p);

    b = quiet;
    a.dies_at_turn = 5;
    a.turns = 0;
    p = compare(&a, &b, &opts);
    cr_assert(eq(int, p.status, PFC_STATUS_BROKEN));
    cr_assert(p.broken_a);
    cr_assert(ne(ptr, strstr(p.reason, "A: the measuring process ended"), NULL));
    cr_assert(ge(sz, b.ends, b.launches));
    pfc_paired_clear(&p);
}

static bool yes(void *arg)
{
    (void)arg;
    return true;
}

Test(pairs, a_cancelled_comparison_says_so)
{
    const pfc_paired_opts opts = { .cpu = -1, .cancelled = yes };
    build a = quiet;
    const pfc_side s = side(&a);
    pfc_pair_result p;

    cr_assert(eq(int, pfc_paired_run(&s, &s, &suite->cases[0], "cpu-scalar", &opts, &p, &err),
                 PFC_EUNAVAIL));
    pfc_paired_clear(&p);
}

/* Signs that all agree double the money at most: 100 needs seven doublings, and what is kept for
 * smaller changes costs one or two more. Then the same again on fresh launches. */
Test(pairs, the_rule_wants_launches_of_one_mind_and_then_as_many_more)
{
    const pfc_paired_opts opts = { 0 };
    double d[40];
    double p = 1;
    size_t first = 1;
    size_t n;

    for (int i = 0; i < 40; i++)
        d[i] = 0.02 + 0.0001 * (i % 7);
    while (pfc_paired_judge(d, first, first, 40, &opts, &p) == PFC_PAIRED_MORE)
        first++;
    cr_assert(eq(int, pfc_paired_judge(d, first, first, 40, &opts, &p), PFC_PAIRED_CONFIRM));
    cr_assert(ge(sz, first, 8));
    cr_assert(le(sz, first, 12), "%zu", first);
    cr_assert(lt(dbl, p, 0.01));
    for (n = first + 1; pfc_paired_judge(d, n, first, 40, &opts, &p) == PFC_PAIRED_MORE;)
        n++;
    cr_assert(eq(int, pfc_paired_judge(d, n, first, 40, &opts, &p), PFC_PAIRED_DIFFERENT));
    cr_assert(ge(sz, n, 16));
    cr_assert(le(sz, n, 2 * first));
    cr_assert(lt(dbl, p, 1e-4));
    for (size_t i = first; i < 40; i++)
        d[i] = -d[i]; /* the second says the opposite */
    cr_assert(eq(int, pfc_paired_judge(d, n, first, 40, &opts, &p), PFC_PAIRED_MORE));
    cr_assert(eq(int, pfc_paired_judge(d, 40, first, 40, &opts, &p), PFC_PAIRED_OPEN));
    for (int i = 0; i < 20; i++)
        d[i] = 0.0001 * (i % 5 - 2);
    cr_assert(eq(int, pfc_paired_judge(d, 20, 20, 40, &opts, &p), PFC_PAIRED_SAME));
}

/* Confirmed by chance, but below what matters: layout moves kernels by as much. */
Test(pairs, a_difference_below_the_margin_is_not_called_one)
{
    const pfc_paired_opts opts = { .margin = 0.01 };
    double d[20];
    double p = 1;

    for (int i = 0; i < 20; i++)
        d[i] = 0.004 + 0.001 * (i % 8);
    for (size_t n = 1; n <= 20; n++)
        cr_assert(ne(int, pfc_paired_judge(d, n, n, 40, &opts, &p), PFC_PAIRED_CONFIRM));
    cr_assert(lt(dbl, p, 0.01));
}

/* Launches of 10 samples a side with sd 1 % within; levels of the machine differ by 5 %, which both
 * sides share; ratios by 2 % beyond that: each spread comes back, and what it allows. */
Test(pairs, noise_of_samples_launches_and_ratios_is_distinguished)
{
    enum { LAUNCHES = 400, EACH = 10 };
    static double a[LAUNCHES * EACH], b[LAUNCHES * EACH], ratios[LAUNCHES];
    static uint32_t blocks[LAUNCHES];
    pfc_pair_result p = { .a = a,
                          .b = b,
                          .log_ratio = ratios,
                          .blocks = blocks,
                          .samples_len = LAUNCHES * EACH,
                          .launches = LAUNCHES,
                          .pairs = LAUNCHES };
    pfc_pair_noise noise;

    for (size_t k = 0; k < LAUNCHES; k++) {
        const double level = 1000 * exp(0.05 * pfc_rng_normal(&rng));
        ratios[k] = 0.02 * pfc_rng_normal(&rng);
        blocks[k] = EACH;
        for (size_t i = 0; i < EACH; i++) {
            a[k * EACH + i] = level * exp(0.01 * pfc_rng_normal(&rng));
            b[k * EACH + i] = level * exp(0.01 * pfc_rng_normal(&rng));
        }
    }
    cr_assert(eq(int, pfc_noise_of(&p, 200, &noise, &err), PFC_OK), "%s", err.msg);
    /* the median is taken from the same ten: an eighth less is left */
    cr_assert(epsilon_eq(dbl, noise.sample_rel, 0.00875, 0.0005));
    cr_assert(epsilon_eq(dbl, noise.unpaired_rel, 0.05, 0.005));
    cr_assert(epsilon_eq(dbl, noise.ratio_rel, 0.02, 0.002));
    /* residuals about a median of ten lean against each other by about a tenth */
    cr_assert(lt(dbl, fabs(noise.autocorrelation), 0.15));
    cr_assert(lt(dbl, fabs(noise.ratio_autocorrelation), 0.1));
    /* 18 + 44 * (2 / 1)^2 = 194, and four times the second part for half the change */
    cr_assert(epsilon_eq(dbl, noise.pairs_1pct, 194, 35));
    cr_assert(epsilon_eq(dbl, (noise.pairs_half_pct - 18) / (noise.pairs_1pct - 18), 4, 0.1));
    cr_assert(epsilon_eq(dbl, noise.detectable_rel, 0.02 * sqrt(44.0 / 182), 0.001));
    cr_assert(noise.gates);
    for (size_t k = 0; k < LAUNCHES; k++)
        ratios[k] *= 10; /* 20 %: 200 pairs cannot show 5 % */
    cr_assert(eq(int, pfc_noise_of(&p, 200, &noise, &err), PFC_OK));
    cr_assert(not(noise.gates));
    p.launches = 5;
    cr_assert(eq(int, pfc_noise_of(&p, 200, &noise, &err), PFC_EINVAL));
}

/* pfc_noise_launches states a number of launches: the rule reaches power 0.9 with it. */
Test(pairs, as_many_launches_as_said_confirm_nine_times_in_ten)
{
    static const double spreads[] = { 0.5, 1.0, 2.0 }; /* of the ratios, in changes */

    for (size_t k = 0; k < 3; k++) {
        const size_t limit = (size_t)pfc_noise_launches(spreads[k], 1.0);
        const pfc_paired_opts opts = { .margin = 1e-9 };
        size_t found = 0;
        for (int i = 0; i < 200; i++) {
            pfc_paired_state state = PFC_PAIRED_MORE;
            double d[300];
            double p = 1;
            size_t first = 0;
            cr_assert(le(sz, limit, 300));
            for (size_t n = 1; n <= limit && state <= PFC_PAIRED_CONFIRM; n++) {
                d[n - 1] = 0.01 * (1 + spreads[k] * pfc_rng_normal(&rng));
                state = pfc_paired_judge(d, n, first ? first : n, limit, &opts, &p);
                if (state == PFC_PAIRED_CONFIRM)
                    first = n;
            }
            found += state == PFC_PAIRED_DIFFERENT;
        }
        cr_assert(ge(sz, found, 172), "spread %g: %zu", spreads[k], found);
    }
}

static char *extra(const pfc_measurement *m, const char *name)
{
    const char *v = pfc_labels_get(&m->extra, name);

    return v ? (char *)v : "";
}

Test(pairs, a_suite_gives_two_documents_with_the_verdict_in_b)
{
    pfc_backends backends;
    pfc_run *ra = pfc_run_new();
    pfc_run *rb = pfc_run_new();
    build a = quiet;
    build b = quiet;
    const pfc_side sides[2] = { side(&a), side(&b) };
    pfc_run *const runs[2] = { ra, rb };
    const pfc_measure_opts measure = { 0 };
    const pfc_paired_opts opts = { .cpu = -1 };

    fake_reset(&backends);
    b.call_ns = 1100;
    cr_assert(eq(int, pfc_suite_pair(suite, &backends, sides, &measure, &opts, runs, &err), PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, ra->measurements_len, rb->measurements_len));
    cr_assert(eq(str, rb->measurements[0].metric, "time_ns"));
    cr_assert(eq(str, extra(&rb->measurements[0], "pair_verdict"), "different"));
    cr_assert(epsilon_eq(dbl, atof(extra(&rb->measurements[0], "pair_rel_change")), 0.1, 0.01));
    cr_assert(eq(str, rb->measurements[1].metric, "gemm_tflops"));
    cr_assert(epsilon_eq(dbl, atof(extra(&rb->measurements[1], "pair_rel_change")), -0.0909, 0.01));
    cr_assert(lt(dbl, atof(extra(&rb->measurements[1], "pair_rel_low")),
                 atof(extra(&rb->measurements[1], "pair_rel_high"))));
    cr_assert(eq(sz, ra->measurements[0].samples_len, rb->measurements[0].samples_len));
    cr_assert(eq(str, extra(&ra->measurements[0], "pair_verdict"), ""));
    pfc_run_free(ra);
    pfc_run_free(rb);
    pfc_backends_clear(&backends);
}

/* The child's end of the pipe, on files and a modelled clock. */
static pfc_code serve(const char *input, char **answers)
{
    FILE *in = tmpfile();
    FILE *out = tmpfile();
    pfc_backends backends;
    size_t n;
    pfc_code code;

    fake_reset(&backends);
    cr_assert(ge(int, fputs(input, in), 0));
    rewind(in);
    code = pfc_serve(&backends, in, out, &fake_wall, &fake_cpu, &err);
    rewind(out);
    *answers = pfc_calloc(1, 65536);
    n = fread(*answers, 1, 65535, out);
    (*answers)[n] = '\0';
    fclose(in);
    fclose(out);
    pfc_backends_clear(&backends);
    return code;
}

static char *spec_line(const char *backend)
{
    const pfc_block_spec spec = { .c = &suite->cases[0],
                                  .backend = backend,
                                  .seed = 1,
                                  .samples = 1,
                                  .max_seconds = 1,
                                  .warmup_seconds = 0.01,
                                  .check = true,
                                  .cpu = -1 };

    return pfc_block_spec_to_text(&spec);
}

Test(pairs, a_serving_child_answers_turns_with_samples)
{
    char *spec = spec_line("cpu-scalar");
    char *input = pfc_format("%s\n{\"warm\":3,\"calls\":10,\"per\":10,\"samples\":3,"
                             "\"cpu_clock\":false}\n{\"warm\":0,\"calls\":11,\"per\":10,"
                             "\"samples\":1,\"cpu_clock\":true}\n",
                             spec);
    char *out = NULL;

    cr_assert(eq(int, serve(input, &out), PFC_OK), "%s", err.msg);
    cr_assert(ne(ptr, strstr(out, "\"status\":\"ok\""), NULL), "%s", out);
    cr_assert(ne(ptr, strstr(out, "\"calls\":20"), NULL), "%s", out); /* 20 us / 1 us */
    cr_assert(ne(ptr, strstr(out, "{\"samples\":[1000.0,1000.0,1000.0],"), NULL), "%s", out);
    cr_assert(ne(ptr, strstr(out, "{\"samples\":[1100"), NULL), "%s", out);
    free(out);
    free(input);
    free(spec);
}

Test(pairs, a_serving_child_says_what_it_lacks_and_refuses_nonsense)
{
    char *spec = spec_line("cpu-neon");
    char *input = pfc_format("%s\n", spec);
    char *out = NULL;

    cr_assert(eq(int, serve(input, &out), PFC_OK));
    cr_assert(ne(ptr, strstr(out, "\"status\":\"skipped\""), NULL), "%s", out);
    free(out);
    free(input);
    free(spec);

    cr_assert(eq(int, serve("", &out), PFC_EINVAL));
    free(out);
    cr_assert(eq(int, serve("[]\n", &out), PFC_EINVAL));
    free(out);
    spec = spec_line("cpu-scalar");
    input = pfc_format("%s\n{\"warm\":0,\"calls\":0,\"per\":1,\"samples\":1,\"cpu_clock\":false}\n",
                       spec);
    cr_assert(eq(int, serve(input, &out), PFC_EINVAL));
    free(out);
    free(input);
    free(spec);
}

/* The modelled kernel counts what is opened: three problems for one spec, all closed at the end,
 * and a turn goes round them. */
Test(pairs, a_serving_child_goes_round_as_many_copies_as_asked)
{
    const pfc_block_spec spec = { .c = &suite->cases[0],
                                  .backend = "cpu-scalar",
                                  .seed = 1,
                                  .samples = 1,
                                  .max_seconds = 1,
                                  .copies = 3,
                                  .check = true,
                                  .cpu = -1 };
    char *text = pfc_block_spec_to_text(&spec);
    char *input = pfc_format(
        "%s\n{\"warm\":0,\"calls\":7,\"per\":7,\"samples\":1,\"cpu_clock\":false}\n", text);
    char *out = NULL;

    cr_assert(eq(int, serve(input, &out), PFC_OK), "%s", err.msg);
    cr_assert(ne(ptr, strstr(out, "{\"samples\":[1000.0]"), NULL), "%s", out);
    cr_assert(eq(sz, fake.opened, 3));
    cr_assert(eq(sz, fake.checked, 1));
    free(out);
    free(input);
    free(text);
}

/* A program that is no perfci-bench: cat echoes the question, true ends at once. */
Test(pairs, a_foreign_program_is_a_broken_side)
{
    static const char *const programs[] = { "/bin/cat", "/bin/true" };

    for (size_t i = 0; i < 2; i++) {
        pfc_serve_child children[2];
        const pfc_side a = pfc_side_of_program(&children[0], programs[i]);
        const pfc_side b = pfc_side_of_program(&children[1], programs[i]);
        const pfc_paired_opts opts = { .cpu = -1 };
        pfc_pair_result p;

        cr_assert(eq(int, pfc_paired_run(&a, &b, &suite->cases[0], "cpu-scalar", &opts, &p, &err),
                     PFC_OK),
                  "%s", err.msg);
        cr_assert(eq(int, p.status, PFC_STATUS_BROKEN));
        cr_assert(gt(sz, strlen(p.reason), 5));
        pfc_paired_clear(&p);
    }
}
