/* Launches of two builds in turns, until the rule of pairs_judge.c has its answer. */
#include "bench/harness/pairs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/cells.h"
#include "core/base/clock.h"

/* Short turns, because what disturbs a shared machine comes and goes within milliseconds and must
 * meet both sides: of the lengths tried, shorter ones had the smaller spread of the ratios. */
#define TURN_SAMPLES      5 /* their median is the turn */
#define TURN_SAMPLES_LONG 3 /* of calls over 300 us */
#define TURN_WARM_SAMPLES 3 /* about 60 us: the other side has just used L1 and L2 */
#define MAX_SECONDS       60.0

/* One comparison while it is made. */
typedef struct duel {
    const pfc_side *sides[2];
    const pfc_paired_opts *opts;
    pfc_block_spec spec;
    pfc_rng rng;
    pfc_paired *out;
    double *log_ratio; /* of each launch */
    size_t log_cap, blocks_cap;
    size_t raw_len[2]; /* samples kept of A and of B */
    size_t first;      /* launches of the first confirmation; 0: still sought */
} duel;

static void end_both(const duel *d)
{
    for (int i = 0; i < 2; i++)
        d->sides[i]->end(d->sides[i]->arg);
}

/* A build that dies while it is measured is a finding about the build. */
static void mark_broken(pfc_paired *out, size_t side, pfc_status status, const char *reason)
{
    out->status = status;
    out->broken_a = side == 0;
    free(out->reason);
    out->reason = pfc_format("%s: %s", side ? "B" : "A", reason ? reason : "no reason given");
}

/* Both sides anew, in random order. False: broken or skipped, and out says so. */
static pfc_code launch(duel *d, bool *ready, pfc_turn *turn, pfc_err *err)
{
    const size_t first = (size_t)pfc_rng_below(&d->rng, 2);

    *ready = true;
    for (size_t k = 0; k < 2 && *ready; k++) {
        const size_t side = k ? 1 - first : first;
        pfc_launched up = { 0 };
        const pfc_code code = d->sides[side]->launch(d->sides[side]->arg, &d->spec, &up, err);

        if (code)
            return code;
        if (up.status != PFC_STATUS_OK) {
            *ready = false;
            mark_broken(d->out, side, up.status, up.reason);
        }
        free(up.reason);
        turn->calls = PFC_MAX(turn->calls, up.calls);
        turn->cpu_clock = turn->cpu_clock || up.cpu_clock;
    }
    return PFC_OK;
}

/* Injected work is a whole number of calls: as many as make the share exact. */
static void finish_turn(const duel *d, pfc_turn *turn)
{
    if (d->opts->extra_rel > 0.0) {
        const uint64_t step = (uint64_t)llround(1.0 / d->opts->extra_rel);
        turn->calls = (turn->calls + step - 1) / step * step;
    }
    turn->per = turn->calls;
    turn->samples = d->opts->turn_samples ? d->opts->turn_samples : TURN_SAMPLES;
    turn->warm = (d->opts->warm_samples ? d->opts->warm_samples : TURN_WARM_SAMPLES) * turn->calls;
    if (turn->cpu_clock) {
        turn->samples = PFC_MIN(turn->samples, (size_t)TURN_SAMPLES_LONG);
        turn->warm = 1;
    }
}

static void keep(duel *d, size_t side, const double *samples, size_t n)
{
    double **raw = side ? &d->out->b : &d->out->a;

    *raw = pfc_realloc(*raw, d->raw_len[side] + n, sizeof(**raw));
    memcpy(*raw + d->raw_len[side], samples, n * sizeof(*samples));
    d->raw_len[side] += n;
}

static pfc_code one_turn(duel *d, size_t side, const pfc_turn *turn, double *log_ns, pfc_err *err)
{
    double samples[PFC_TURN_MAX_SAMPLES];
    pfc_turn mine = *turn;
    pfc_err inner = { 0 };
    pfc_code code;

    if (side == 1 && d->opts->extra_rel > 0.0)
        mine.calls += (uint64_t)llround((double)mine.calls * d->opts->extra_rel);
    code = d->sides[side]->turn(d->sides[side]->arg, &mine, samples, &inner);
    if (code == PFC_EIO)
        mark_broken(d->out, side, PFC_STATUS_BROKEN, inner.msg);
    if (code)
        return pfc_err_set(err, code, "%s", inner.msg);
    keep(d, side, samples, mine.samples);
    *log_ns = log(pfc_stats_median(samples, mine.samples));
    return PFC_OK;
}

/* Four turns, ABBA or BAAB: what drifts evenly over them cancels. */
static pfc_code quad(duel *d, const pfc_turn *turn, double *log_ratio, pfc_err *err)
{
    const size_t first = (size_t)pfc_rng_below(&d->rng, 2);
    const size_t order[4] = { first, 1 - first, 1 - first, first };
    double sum = 0.0;

    for (size_t k = 0; k < 4; k++) {
        double log_ns = 0.0;
        const pfc_code code = one_turn(d, order[k], turn, &log_ns, err);

        if (code)
            return code;
        sum += order[k] ? log_ns : -log_ns;
    }
    *log_ratio = 0.5 * sum;
    return PFC_OK;
}

/* A fresh process of each side and its quads. */
static pfc_code one_launch(duel *d, bool *ready, pfc_err *err)
{
    const size_t quads = d->opts->quads ? d->opts->quads : 1;
    double *ratios = pfc_calloc(quads, sizeof(*ratios));
    pfc_turn turn = { 0 };
    pfc_paired *out = d->out;
    pfc_code code = launch(d, ready, &turn, err);

    if (!code && *ready)
        finish_turn(d, &turn);
    for (size_t q = 0; !code && *ready && q < quads; q++)
        code = quad(d, &turn, &ratios[q], err);
    end_both(d);
    if (out->status != PFC_STATUS_OK) {
        *ready = false;
        code = PFC_OK;
    }
    if (!code && *ready) {
        d->log_ratio = pfc_grow(d->log_ratio, out->launches, &d->log_cap, sizeof(*d->log_ratio));
        out->blocks = pfc_grow(out->blocks, out->launches, &d->blocks_cap, sizeof(*out->blocks));
        d->log_ratio[out->launches] = pfc_stats_median(ratios, quads);
        out->blocks[out->launches] = (uint32_t)(2 * quads * turn.samples);
        out->samples_len += out->blocks[out->launches];
        out->launches++;
        out->pairs += 2 * quads;
        out->calls = turn.calls;
        out->cpu_clock = turn.cpu_clock;
    }
    free(ratios);
    return code;
}

/* The estimate over all launches, whatever confirmed it. */
static void summarize(duel *d)
{
    const pfc_compare_opts opts = { .alpha = d->opts->alpha,
                                    .margin = d->opts->margin,
                                    .paired = true };
    pfc_paired *out = d->out;
    pfc_compare_result r = { 0 };
    double *ones = pfc_calloc(out->launches, sizeof(*ones));
    double *ratio = pfc_calloc(out->launches, sizeof(*ratio));

    for (size_t i = 0; i < out->launches; i++) {
        ones[i] = 1.0;
        ratio[i] = exp(d->log_ratio[i]);
    }
    if (pfc_stats_compare(ones, out->launches, ratio, out->launches, &opts, &r, NULL))
        r.rel_change = r.rel_low = r.rel_high = NAN;
    out->rel_change = r.rel_change;
    out->rel_low = r.rel_low;
    out->rel_high = r.rel_high;
    out->noise_rel = r.noise_rel;
    out->detectable_rel = r.detectable_rel;
    free(ones);
    free(ratio);
}

/* One step of the rule after a launch; true when there is an answer. */
static bool decided(duel *d)
{
    pfc_paired *out = d->out;
    const size_t first = d->first ? d->first : out->launches;

    switch (pfc_paired_judge(d->log_ratio, out->launches, first, d->opts, &out->p)) {
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
                        const char *backend, const pfc_paired_opts *opts, pfc_paired *out,
                        pfc_err *err)
{
    const double limit = opts->max_seconds > 0.0 ? opts->max_seconds : MAX_SECONDS;
    const int64_t started = pfc_clock_ns();
    duel d = { .sides = { a, b }, .opts = opts, .out = out };
    bool done = false;
    pfc_code code = PFC_OK;

    *out = (pfc_paired){ .p = 1.0 };
    d.spec = (pfc_block_spec){ .c = c,
                               .backend = backend,
                               .seed = opts->seed ? opts->seed : 1,
                               .samples = 1,
                               .max_seconds = c->settings.max_seconds,
                               .warmup_seconds = c->settings.warmup_seconds,
                               .check = true,
                               .cpu = opts->cpu };
    pfc_rng_seed(&d.rng, opts->seed ? opts->seed : 1);
    while (!code && !done) {
        bool ready = false;

        if (opts->cancelled && opts->cancelled(opts->cancelled_arg)) {
            code = pfc_err_set(err, PFC_EUNAVAIL, "the comparison was cancelled");
            break;
        }
        code = one_launch(&d, &ready, err);
        d.spec.check = false; /* the builds do not change between launches */
        done = code || !ready || decided(&d);
        if (!done && (double)(pfc_clock_ns() - started) * 1e-9 > limit)
            done = true; /* inconclusive, with what there is */
    }
    if (!code && out->status == PFC_STATUS_OK)
        summarize(&d);
    out->seconds = (double)(pfc_clock_ns() - started) * 1e-9;
    free(d.log_ratio);
    return code ? pfc_err_wrap(err, "%s on %s", c->name, backend) : PFC_OK;
}

void pfc_paired_clear(pfc_paired *paired)
{
    free(paired->reason);
    free(paired->a);
    free(paired->b);
    free(paired->blocks);
    *paired = (pfc_paired){ 0 };
}
