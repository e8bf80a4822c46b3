/* Recorded answers of sessions in blocks: see recorded.h. */
#include <stdlib.h>

#include "core/base/rng.h"
#include "core/blocks/blocks_priv.h"
#include "core/blocks/order_test.h"

#include "tests/core/stats/recorded.h"
#include "tests/core/stats/recorded_blocks.h"

typedef struct session {
    size_t builds, rounds;
    double noise, state,
        jump;       /* gap and chance of a change of the machine's speed before a visit */
    double step[2]; /* of builds from 2 and 5 on */
    double drift;   /* over a visit */
} session;

static const session sessions[] = {
    { 2, 10, 0.01, 0, 0, { 0, 0 }, 0 },
    { 2, 8, 0.004, 0.06, 0.1, { 0, 0 }, 0 },
    { 4, 8, 0.01, 0, 0, { 0.03, 0 }, 0 },
    { 8, 6, 0.006, 0.08, 0.08, { 0.02, -0.02 }, 0 },
    { 6, 10, 0.01, 0.05, 0.3, { 0.03, 0 }, 0.0002 },
    { 7, 12, 0.02, 0, 0, { 0.015, 0.015 }, 0.001 },
};

static size_t measure(const session *s, pfc_visit *out)
{
    bool slow = false;
    size_t n = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 31);
    for (uint32_t block = 0; block < 2 * s->rounds; block++) {
        size_t order[PFC_BLOCK_BUILDS];

        for (size_t i = 0; i < s->builds; i++)
            order[i] = i;
        pfc_rng_shuffle(&rng, order, s->builds);
        for (uint32_t i = 0; i < s->builds; i++, n++) {
            slow ^= pfc_rng_double(&rng) < s->jump;
            out[n] = (pfc_visit){ (uint32_t)order[i], block, i,
                                  exp(3 + s->drift * (double)n + (slow ? s->state : 0) +
                                      (order[i] >= 2 ? s->step[0] : 0) +
                                      (order[i] >= 5 ? s->step[1] : 0) +
                                      s->noise * pfc_rng_normal(&rng)) };
        }
    }
    return n;
}

Test(recorded, judgements_of_sessions_are_what_they_were)
{
    for (size_t k = 0; k < PFC_ARRAY_LEN(sessions); k++) {
        const pfc_blocks_opts opts = { .builds = sessions[k].builds };
        pfc_visit visits[200];
        const size_t n = measure(&sessions[k], visits);
        record fit = { .len = 0 }, tests = { .len = 0 };
        pfc_blocks_fit f;

        cr_assert(eq(int, pfc_blocks_judge(visits, n, &opts, &f, NULL), PFC_OK));
        note(&fit, f.noise_rel);
        note(&fit, (double)f.moves);
        for (size_t i = 1; i < f.levels_len; i++) {
            note(&fit, f.levels[i].ratio);
            note(&fit, f.levels[i].low);
            note(&fit, f.levels[i].log_se);
        }
        for (size_t i = 0; i < f.boundaries_len; i++) {
            const pfc_boundary *b = &f.boundaries[i];

            note(&tests, b->rel_change);
            note(&tests, b->any_low);
            note(&tests, b->any_high);
            note(&tests, log(b->p));
            note(&tests, log(b->screen_p));
            note(&tests, (double)b->more + 1000 * b->by_order + 10000 * (double)b->verdict);
        }
        pfc_blocks_fit_clear(&f);
        check_recorded(&fit, &recorded_fits[k]);
        check_recorded(&tests, &recorded_tests[k]);
    }
}

/* The filters alone: bets on the order of two builds and of many, and the machine's states. */
Test(recorded, bets_on_the_order_and_states_are_what_they_were)
{
    for (size_t k = 0; k < PFC_ARRAY_LEN(sessions); k++) {
        const pfc_blocks_opts opts = { .builds = sessions[k].builds };
        pfc_visit visits[200];
        const size_t n = measure(&sessions[k], visits);
        double effect[PFC_BLOCK_BUILDS] = { 0 }, level[200], sigma;
        pfc_orders *orders = pfc_orders_new();
        record r = { .len = 0 };
        pfc_round *rounds;
        pfc_spot *spots;
        size_t len;

        cr_assert(eq(int, pfc_spots_sort(visits, n, &opts, &spots, NULL), PFC_OK));
        rounds = pfc_rounds_of(spots, n, 0, (uint32_t)opts.builds - 1, &len);
        for (size_t i = 1; i <= len; i += 3) {
            note(&r, log(pfc_oriented_p(rounds, i, 0)));
            note(&r, log(pfc_oriented_p(rounds, i, 0.04)));
        }
        free(rounds);
        pfc_orders_take(orders, spots, n);
        for (uint32_t split = 1; split < opts.builds; split++)
            note(&r, log(pfc_orders_p(orders, 0, (uint32_t)opts.builds - 1, split)));
        pfc_orders_free(orders);
        pfc_states_find(spots, n, opts.builds, 0, effect, level, &sigma);
        note(&r, sigma);
        for (size_t i = 1; i < opts.builds; i++)
            note(&r, effect[i]);
        for (size_t i = 0; i < n; i += n / 5)
            note(&r, level[i]);
        free(spots);
        check_recorded(&r, &recorded_bets[k]);
    }
}
