/* Turns: a ramp of the machine cancels, every look keeps its level, and what is missing is
 * foreseen. */
#include <math.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/blocks/pair_rounds.h"

#include "tests/check/check.h"
#include "tests/support/rounds.h"

#define ROUNDS 60

typedef struct session {
    double a[2 * ROUNDS], b[2 * ROUNDS];
    char order[PFC_INTERLEAVED_ROUND * ROUNDS + 1];
    size_t turns;
} session;

/* One more round; the machine is slower by `ramp` at the end of ROUNDS rounds than at the start. */
static void add_round(session *s, pfc_rng *rng, double shift, double noise, double ramp)
{
    static const char *const orders[] = { "abba", "baab" };
    const char *order = orders[pfc_rng_below(rng, 2)];

    for (size_t i = 0; i < PFC_INTERLEAVED_ROUND; i++) {
        const double at = (double)s->turns / (PFC_INTERLEAVED_ROUND * ROUNDS);
        const double v = 100 * (1 + ramp * at) * exp(noise * pfc_rng_normal(rng));
        size_t done = 0;

        for (size_t k = 0; k < s->turns; k++)
            done += s->order[k] == order[i];
        if (order[i] == 'b')
            s->b[done] = v * (1 + shift);
        else
            s->a[done] = v;
        s->order[s->turns++] = order[i];
        s->order[s->turns] = '\0';
    }
}

static pfc_interleaved_result judge(const session *s, double alpha)
{
    const pfc_seq_opts opts = { .alpha = alpha };
    pfc_interleaved_result r;
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 pfc_interleaved_compare(s->a, s->turns / 2, s->b, s->turns / 2, s->order, &opts,
                                         &r, &err),
                 PFC_OK),
              "%s", err.msg);
    return r;
}

/* Rounds until it is decided. */
static pfc_interleaved_result decide(session *s, pfc_rng *rng, double shift, double noise,
                                     double ramp)
{
    pfc_interleaved_result r;

    *s = (session){ 0 };
    do {
        add_round(s, rng, shift, noise, ramp);
        r = judge(s, 0);
    } while (r.cmp.verdict == PFC_VERDICT_INCONCLUSIVE && r.rounds < ROUNDS);
    return r;
}

/* The machine becomes slower by 60 % over the session, by 5 % over any five of its rounds; noise is
 * 0.1 %. Within a round the ramp cancels: 0 is the same and 1 % is different, both at once. */
Test(turns, a_ramp_of_the_machine_decides_nothing_and_hides_nothing)
{
    pfc_rng rng;

    pfc_rng_seed(&rng, 5);
    for (int i = 0; i < PFC_ROUNDS(200); i++) {
        session s;
        pfc_interleaved_result r = decide(&s, &rng, 0, 0.001, 0.6);

        cr_assert(eq(int, (int)r.cmp.verdict, (int)PFC_VERDICT_SAME));
        cr_assert(le(sz, r.rounds, 8));
        r = decide(&s, &rng, 0.01, 0.001, 0.6);
        cr_assert(eq(int, (int)r.cmp.verdict, (int)PFC_VERDICT_DIFFERENT));
        cr_assert(epsilon_eq(dbl, r.cmp.rel_change, 0.01, 0.003));
        cr_assert(r.cmp.rel_low <= 0.0105 && r.cmp.rel_high >= 0.0095);
        cr_assert(le(sz, r.rounds, 8));
        cr_assert(eq(sz, r.more, 0));
    }
}

/* At alpha 0.05, 300 sessions without a difference, looked at after each of 40 rounds. */
Test(turns, looking_after_every_round_is_wrong_no_more_often_than_promised)
{
    size_t alarms = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 6);
    for (int i = 0; i < PFC_ROUNDS(300); i++) {
        session s = { 0 };

        for (int k = 0; k < 40; k++)
            add_round(&s, &rng, 0, 0.02, 0.05);
        /* p never grows: the last says whether any look was below alpha. */
        alarms += judge(&s, 0.05).cmp.p < 0.05;
    }
    /* 15 are promised; 22 is two standard deviations above */
    cr_assert(le(sz, alarms, 22), "%zu", alarms);
}

Test(turns, what_is_still_needed_is_foreseen)
{
    double foreseen = 0, needed = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 7);
    for (int i = 0; i < 60; i++) {
        session s = { 0 };
        pfc_interleaved_result r;

        for (int k = 0; k < 6; k++)
            add_round(&s, &rng, 0.03, 0.02, 0);
        r = judge(&s, 0);
        foreseen += (double)(r.rounds + r.more) / 60;
        while (r.cmp.verdict == PFC_VERDICT_INCONCLUSIVE && r.rounds < ROUNDS) {
            cr_assert(gt(sz, r.more, 0));
            add_round(&s, &rng, 0.03, 0.02, 0);
            r = judge(&s, 0);
        }
        needed += (double)r.rounds / 60;
    }
    cr_assert(foreseen > needed / 2 && foreseen < needed * 2, "%g foreseen, %g needed", foreseen,
              needed);
}

Test(turns, too_few_rounds_decide_nothing_and_a_wrong_order_is_refused)
{
    const double v[] = { 100, 100, 100, 100 };
    pfc_interleaved_result r;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_interleaved_compare(v, 2, v, 2, "abba", NULL, &r, &err), PFC_OK));
    cr_assert(eq(int, (int)r.cmp.verdict, (int)PFC_VERDICT_INCONCLUSIVE));
    cr_assert(eq(sz, r.rounds, 1));
    cr_assert(eq(sz, r.more, 3)); /* the least that decide anything are four */
    cr_assert(eq(int, pfc_interleaved_compare(v, 2, v, 2, "aabb", NULL, &r, &err), PFC_OK));
    cr_assert(eq(int, pfc_interleaved_compare(v, 3, v, 1, "abaa", NULL, &r, &err), PFC_EINVAL));
    cr_assert(
        eq(int, pfc_interleaved_compare(v, 2, v, 2, "abab abba", NULL, &r, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_interleaved_compare(v, 4, v, 4, "abba", NULL, &r, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_interleaved_compare((double[]){ 1, 0 }, 2, v, 2, "abba", NULL, &r, &err),
                 PFC_EINVAL));
}
