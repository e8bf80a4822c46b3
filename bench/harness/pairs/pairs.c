/* Launches of two builds in turns, until the rule of pairs_judge.c has its answer. */
#include "bench/harness/pairs/pairs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/block/reserved_core.h"
#include "bench/harness/cells.h"
#include "core/base/clock.h"
#include "core/stats/sequential.h"

#define MAX_LAUNCH_PAIRS 8
#define LEAST_LAUNCHES   40   /* that a comparison can make within its pairs */
#define CHEAP_LAUNCH_S   0.02 /* not worth saving */
#define TURN_WARM        1    /* samples: the other side has just used L1 and L2 */
#define COLD_CALL_NS     1e6  /* a call this long finds nothing of its own in the caches */
#define MAX_SECONDS      60.0

/* One comparison while it is made. */
typedef struct duel {
    const pfc_side *sides[2];
    const pfc_paired_opts *opts;
    pfc_block_spec spec;
    pfc_rng rng;
    pfc_pair_result *out;
    pfc_pair_turn turn; /* as the first launch settled it: the same for all */
    size_t turns;       /* of each side in a pair */
    size_t per_launch;  /* pairs; 0: not yet chosen */
    size_t log_cap, blocks_cap;
    size_t raw_len[2], raw_cap[2]; /* samples kept of A and of B */
    double fastest[2];
    size_t first; /* launches of the first confirmation; 0: still sought */
} duel;

static void end_both(const duel *d)
{
    for (int i = 0; i < 2; i++)
        d->sides[i]->end(d->sides[i]->arg);
}

/* A build that dies while it is measured is a finding about the build. */
static void mark_broken(pfc_pair_result *out, size_t side, pfc_status status, const char *reason)
{
    out->status = status;
    out->broken_a = side == 0;
    free(out->reason);
    out->reason = pfc_format("%s: %s", side ? "B" : "A", reason ? reason : "no reason given");
}

/* Launches both sides again, in random order. *ready false: one is broken or skipped, and `out` has
 * the reason. */
static pfc_code launch(duel *d, bool *ready, pfc_launched *slower, pfc_err *err)
{
    const size_t first = (size_t)pfc_rng_below(&d->rng, 2);

    *ready = true;
    for (size_t k = 0; k < 2 && *ready; k++) {
        const size_t side = k ? 1 - first : first;
        pfc_launched up = { 0 };
        pfc_block_spec spec = d->spec;
        pfc_code code;

        if (side == 1 && d->opts->case_b)
            spec.c = d->opts->case_b;
        code = d->sides[side]->launch(d->sides[side]->arg, &spec, &up, err);
        if (code)
            return code;
        if (up.status != PFC_STATUS_OK) {
            *ready = false;
            mark_broken(d->out, side, up.status, up.reason);
        }
        free(up.reason);
        slower->calls = PFC_MAX(slower->calls, up.calls);
        slower->call_ns = PFC_MAX(slower->call_ns, up.call_ns);
        slower->cpu_clock = slower->cpu_clock || up.cpu_clock;
    }
    return PFC_OK;
}

/* Sets the size of a turn for all launches. Injected work is a whole number of calls, enough to
 * make the share exact. */
static void settle_turn(duel *d, const pfc_launched *up)
{
    const pfc_paired_opts *o = d->opts;
    pfc_pair_turn *turn = &d->turn;

    turn->calls = PFC_MAX(up->calls, 1);
    if (o->extra_rel > 0.0) {
        const uint64_t step = (uint64_t)llround(1.0 / o->extra_rel);
        turn->calls = (turn->calls + step - 1) / step * step;
    }
    turn->per = turn->calls;
    turn->samples = 1;
    turn->cpu_clock = up->cpu_clock;
    turn->warm = (o->warm_samples ? o->warm_samples : TURN_WARM) * turn->calls;
    if (!o->warm_samples && (up->call_ns > COLD_CALL_NS || o->copies > 1))
        turn->warm = 0;
    d->turns = o->turns ? o->turns : up->cpu_clock ? PFC_PAIR_TURNS_LONG : PFC_PAIR_TURNS;
    d->turns = (d->turns + 1) / 2 * 2;
    d->out->calls = turn->calls;
    d->out->cpu_clock = turn->cpu_clock;
}

static size_t pairs_limit(const duel *d)
{
    return d->opts->max_pairs ? d->opts->max_pairs : PFC_PAIRS_DEFAULT;
}

/* Pairs of a launch: the square root of what a launch costs in pairs, which is the best division
 * when launches differ by as much as pairs do (Kalibera & Jones, with equal variances); but never
 * so many that too few launches are left to confirm anything twice. */
static size_t pairs_of_launch(const duel *d, double launch_s, double pair_s)
{
    const size_t most = PFC_MIN(pairs_limit(d) / LEAST_LAUNCHES, (size_t)MAX_LAUNCH_PAIRS);
    const double ratio = launch_s / fmax(pair_s, 1e-9);

    if (launch_s < CHEAP_LAUNCH_S || !(ratio > 1.0))
        return 1;
    return PFC_MAX(PFC_MIN((size_t)lround(sqrt(ratio)), most), 1);
}

static void keep(duel *d, size_t side, double sample)
{
    double **raw = side ? &d->out->b : &d->out->a;

    *raw = pfc_grow(*raw, d->raw_len[side], &d->raw_cap[side], sizeof(**raw));
    (*raw)[d->raw_len[side]++] = sample;
    if (d->fastest[side] <= 0.0 || sample < d->fastest[side])
        d->fastest[side] = sample;
}

static pfc_code one_turn(duel *d, size_t side, double *sample, pfc_err *err)
{
    pfc_pair_turn mine = d->turn;
    pfc_err inner = { 0 };
    pfc_code code;

    if (side == 1 && d->opts->extra_rel > 0.0)
        mine.calls += (uint64_t)llround((double)mine.calls * d->opts->extra_rel);
    code = d->sides[side]->turn(d->sides[side]->arg, &mine, sample, &d->out->preempted, &inner);
    if (code == PFC_EIO)
        mark_broken(d->out, side, PFC_STATUS_BROKEN, inner.msg);
    return code ? pfc_err_set(err, code, "%s", inner.msg) : PFC_OK;
}

/* Four turns, ABBA or BAAB, in which a linear drift cancels. Gives two log ratios of neighbours. */
static pfc_code round_of_four(duel *d, bool kept, double ratios[2], pfc_err *err)
{
    const size_t first = (size_t)pfc_rng_below(&d->rng, 2);
    const size_t order[4] = { first, 1 - first, 1 - first, first };
    double samples[4] = { 0 };

    for (size_t k = 0; k < 4; k++) {
        const pfc_code code = one_turn(d, order[k], &samples[k], err);

        if (code)
            return code;
        if (kept)
            keep(d, order[k], samples[k]);
    }
    for (size_t k = 0; k < 2; k++)
        ratios[k] = (order[2 * k] ? 1.0 : -1.0) * log(samples[2 * k] / samples[2 * k + 1]);
    return PFC_OK;
}

/* The turns of one pair; its log ratio is the median of the neighbours'. */
static pfc_code one_pair(duel *d, double *log_ratio, pfc_err *err)
{
    double *ratios = pfc_calloc(d->turns, sizeof(*ratios));
    pfc_code code = PFC_OK;

    for (size_t t = 0; t < d->turns && !code; t += 2)
        code = round_of_four(d, true, ratios + t, err);
    if (!code)
        *log_ratio = pfc_stats_median(ratios, d->turns);
    free(ratios);
    return code;
}

static void add_launch(duel *d, const double *ratios, size_t pairs)
{
    pfc_pair_result *out = d->out;

    out->log_ratio = pfc_grow(out->log_ratio, out->launches, &d->log_cap, sizeof(*out->log_ratio));
    out->blocks = pfc_grow(out->blocks, out->launches, &d->blocks_cap, sizeof(*out->blocks));
    out->log_ratio[out->launches] = pfc_stats_mean(ratios, pairs);
    out->blocks[out->launches] = (uint32_t)(pairs * d->turns);
    out->samples_len += out->blocks[out->launches];
    out->launches++;
    out->pairs += pairs;
}

/* A fresh process of each side and its pairs. */
static pfc_code one_launch(duel *d, bool *ready, pfc_err *err)
{
    const int64_t began = pfc_clock_ns();
    double *ratios =
        pfc_calloc(PFC_MAX(d->opts->launch_pairs, (size_t)MAX_LAUNCH_PAIRS), sizeof(*ratios));
    double cold[2];
    pfc_launched up = { 0 };
    size_t pairs = PFC_MAX(d->per_launch, 1);
    int64_t started;
    pfc_code code = launch(d, ready, &up, err);

    if (!code && *ready && d->out->launches == 0)
        settle_turn(d, &up);
    /* The first turns of new processes include their start and are discarded. */
    if (!code && *ready)
        code = round_of_four(d, false, cold, err);
    started = pfc_clock_ns();
    for (size_t q = 0; !code && *ready && q < pairs; q++) {
        code = one_pair(d, &ratios[q], err);
        /* Uses the second launch, because the first one checks the result and has a long
         * warm-up. */
        if (q == 0 && !d->per_launch && d->out->launches == 1)
            pairs = d->per_launch = pairs_of_launch(d, (double)(started - began) * 1e-9,
                                                    (double)(pfc_clock_ns() - started) * 1e-9);
    }
    end_both(d);
    if (d->out->status != PFC_STATUS_OK) {
        *ready = false;
        code = PFC_OK;
    }
    if (!code && *ready)
        add_launch(d, ratios, pairs);
    free(ratios);
    return code;
}

/* The estimate over all launches, whatever confirmed it. */
static void summarize(duel *d)
{
    const double alpha = d->opts->alpha > 0.0 ? d->opts->alpha : 0.01;
    pfc_pair_result *out = d->out;
    const size_t n = out->launches;
    const pfc_interval at = pfc_paired_estimate(out->log_ratio, n, 0.95);
    const pfc_interval any = pfc_seq_symmetric_interval(out->log_ratio, n, alpha);
    pfc_pair_noise noise;

    out->rel_change = at.value;
    out->rel_low = at.low;
    out->rel_high = at.high;
    out->any_low = expm1(any.low);
    out->any_high = expm1(any.high);
    out->min_rel = d->fastest[1] / d->fastest[0] - 1.0;
    out->noise_rel = expm1(pfc_stats_mad(out->log_ratio, n));
    out->detectable_rel = INFINITY;
    if (!pfc_noise_of(out, pairs_limit(d), &noise, NULL))
        out->detectable_rel = noise.detectable_rel;
}

/* One step of the rule after a launch; true when there is an answer. */
static bool decided(duel *d)
{
    pfc_pair_result *out = d->out;
    const size_t first = d->first ? d->first : out->launches;
    const size_t limit = PFC_MAX(pairs_limit(d) / PFC_MAX(d->per_launch, 1), 1);

    switch (pfc_paired_judge(out->log_ratio, out->launches, first, limit, d->opts, &out->p)) {
    case PFC_PAIRED_MORE:
        return false;
    case PFC_PAIRED_CONFIRM:
        d->first = out->launches;
        out->confirmations = 1;
        return false;
    case PFC_PAIRED_DIFFERENT:
        out->confirmations = 2;
        out->verdict = PFC_VERDICT_DIFFERENT;
        return true;
    case PFC_PAIRED_SAME:
        out->verdict = PFC_VERDICT_SAME;
        return true;
    case PFC_PAIRED_OPEN:
        break;
    }
    out->verdict = PFC_VERDICT_INCONCLUSIVE;
    return true;
}

pfc_code pfc_paired_run(const pfc_side *a, const pfc_side *b, const pfc_case *c,
                        const char *backend, const pfc_paired_opts *opts, pfc_pair_result *out,
                        pfc_err *err)
{
    const double limit = opts->max_seconds > 0.0 ? opts->max_seconds : MAX_SECONDS;
    const int64_t started = pfc_clock_ns();
    duel d = { .sides = { a, b }, .opts = opts, .out = out };
    pfc_core core;
    bool done = false;
    pfc_code code = PFC_OK;

    *out = (pfc_pair_result){ .p = 1.0 };
    pfc_core_join(&core, opts->cpu);
    out->fifo = core.fifo;
    d.spec = (pfc_block_spec){ .c = c,
                               .backend = backend,
                               .seed = opts->seed ? opts->seed : 1,
                               .samples = 1,
                               .max_seconds = c->settings.max_seconds,
                               .warmup_seconds = c->settings.warmup_seconds,
                               .check = true,
                               .copies = opts->copies,
                               .cpu = opts->cpu };
    d.per_launch = opts->launch_pairs;
    pfc_rng_seed(&d.rng, opts->seed ? opts->seed : 1);
    while (!code && !done) {
        bool ready = false;

        if (opts->cancelled && opts->cancelled(opts->cancelled_arg)) {
            code = pfc_err_set(err, PFC_EUNAVAIL, "the comparison was cancelled");
            break;
        }
        code = one_launch(&d, &ready, err);
        d.spec.check = false;        /* the builds do not change between launches */
        d.spec.warmup_seconds = 0.0; /* the batch is known; the first turns are not kept */
        done = code || !ready || decided(&d);
        if (!done && (double)(pfc_clock_ns() - started) * 1e-9 > limit)
            done = true; /* inconclusive, with what there is */
    }
    if (!code && out->status == PFC_STATUS_OK)
        summarize(&d);
    out->seconds = (double)(pfc_clock_ns() - started) * 1e-9;
    pfc_core_leave(&core);
    return code ? pfc_err_wrap(err, "%s on %s", c->name, backend) : PFC_OK;
}

void pfc_paired_clear(pfc_pair_result *paired)
{
    free(paired->reason);
    free(paired->a);
    free(paired->b);
    free(paired->blocks);
    free(paired->log_ratio);
    *paired = (pfc_pair_result){ 0 };
}
