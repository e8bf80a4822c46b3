/*
 * The confirmation of a named commit.
 */
#include "core/bisect/confirm.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/rng.h"
#include "core/stats/sequential.h"

/* Share of the stated change: a smaller difference refutes. With a tenth, refuting a small false
 * step took over a hundred runs; the search overstates a true step by far less than threefold. */
#define SAME_SHARE (1.0 / 3.0)
#define SAME_LEAST 0.001
#define ALPHA      0.01

struct pfc_confirm {
    pfc_confirm_opts opts;
    pfc_seq seq;
    pfc_rng rng;
    bool after_first; /* order of the pair in progress */
    bool half;        /* the first run of the pair has a value */
    double first;     /* value of that run */
    size_t pairs;
    double *d; /* differences of logarithms, room for max_pairs; owned */
    pfc_confirm_verdict verdict;
    bool over;
    pfc_compare_result exact;
};

pfc_code pfc_confirm_new(pfc_confirm **out, const pfc_confirm_opts *opts, pfc_err *err)
{
    pfc_confirm *c;
    pfc_seq_opts seq = { .paired = true,
                         .alpha = (opts->alpha > 0 ? opts->alpha : ALPHA) / PFC_SEQ_TESTS };
    pfc_code code;

    if (opts->max_pairs > PFC_CONFIRM_MAX_PAIRS)
        return pfc_err_set_field(err, PFC_EINVAL, "max_pairs",
                                 "confirm: expected at most %d pairs, got %zu",
                                 PFC_CONFIRM_MAX_PAIRS, opts->max_pairs);
    if (!isfinite(opts->expected_rel) || opts->expected_rel <= -1)
        return pfc_err_set_field(err, PFC_EINVAL, "expected_rel",
                                 "confirm: expected a relative change above -1, got %g",
                                 opts->expected_rel);
    seq.margin = fmax(SAME_SHARE * fabs(opts->expected_rel), SAME_LEAST);
    c = pfc_alloc(sizeof *c);
    c->opts = *opts;
    if (!c->opts.max_pairs)
        c->opts.max_pairs = PFC_CONFIRM_PAIRS;
    code = pfc_seq_init(&c->seq, &seq, err);
    if (code) {
        free(c);
        return code;
    }
    c->d = pfc_calloc(c->opts.max_pairs, sizeof *c->d);
    pfc_rng_seed(&c->rng, opts->seed);
    c->after_first = pfc_rng_below(&c->rng, 2) == 1;
    *out = c;
    return PFC_OK;
}

void pfc_confirm_free(pfc_confirm *c)
{
    if (!c)
        return;
    pfc_seq_clear(&c->seq);
    free(c->d);
    free(c);
}

bool pfc_confirm_next(const pfc_confirm *c, pfc_confirm_step *out)
{
    if (c->over)
        return false;
    out->after = c->half != c->after_first;
    out->build = c->opts.relink ? c->opts.first_build + (unsigned)c->pairs : 0;
    return true;
}

static bool is_worse(const pfc_confirm *c, double rel_change)
{
    return c->opts.higher_is_better ? rel_change < 0 : rel_change > 0;
}

static void judge(pfc_confirm *c, pfc_verdict verdict, double rel_change)
{
    if (verdict == PFC_VERDICT_DIFFERENT)
        c->verdict = is_worse(c, rel_change) ? PFC_CONFIRM_CONFIRMED : PFC_CONFIRM_REFUTED;
    else if (verdict == PFC_VERDICT_SAME)
        c->verdict = PFC_CONFIRM_REFUTED;
    c->over = c->verdict != PFC_CONFIRM_OPEN || c->pairs >= c->opts.max_pairs;
}

static void judge_exact(pfc_confirm *c, double before, double after)
{
    const double rel = after / before - 1;

    c->exact = (pfc_compare_result){ .verdict = rel == 0 ? PFC_VERDICT_SAME : PFC_VERDICT_DIFFERENT,
                                     .rel_change = rel,
                                     .rel_low = rel,
                                     .rel_high = rel,
                                     .p = rel == 0 ? 1 : 0 };
    judge(c, c->exact.verdict, rel);
}

pfc_code pfc_confirm_add_value(pfc_confirm *c, double value, pfc_err *err)
{
    pfc_verdict verdict;
    double rel_change;
    double before;
    double after;
    pfc_code code;

    if (c->over)
        return pfc_err_set(err, PFC_EINVAL, "confirm: got a value after the last pair");
    if (!isfinite(value) || value <= 0)
        return pfc_err_set_field(err, PFC_EINVAL, "value",
                                 "confirm: expected a finite value above zero, got %g", value);
    if (!c->half) {
        c->first = value;
        c->half = true;
        return PFC_OK;
    }
    before = c->after_first ? value : c->first;
    after = c->after_first ? c->first : value;
    code = pfc_seq_pair(&c->seq, before, after, err);
    if (code)
        return code;
    c->half = false;
    c->d[c->pairs++] = log(after) - log(before);
    /* The second pair of a block has the reverse order, which cancels a linear drift; the order of
     * the next block is drawn. */
    c->after_first = c->pairs % 2 ? !c->after_first : pfc_rng_below(&c->rng, 2) == 1;
    if (c->opts.exact) {
        judge_exact(c, before, after);
        return PFC_OK;
    }
    verdict = pfc_seq_both_verdict(&c->seq, c->d, &rel_change);
    judge(c, verdict, rel_change);
    return PFC_OK;
}

pfc_code pfc_confirm_add_pair(pfc_confirm *c, double before, double after, pfc_err *err)
{
    pfc_confirm_step step;
    pfc_code code = PFC_OK;

    for (int half = 0; half < 2 && !code && pfc_confirm_next(c, &step); half++)
        code = pfc_confirm_add_value(c, step.after ? after : before, err);
    return code;
}

void pfc_confirm_result_get(const pfc_confirm *c, pfc_confirm_result *out)
{
    *out = (pfc_confirm_result){ .verdict = c->verdict,
                                 .pairs = c->pairs,
                                 .layouts = c->opts.relink ? (unsigned)c->pairs : 1 };
    if (c->opts.exact && c->pairs)
        out->cmp = c->exact;
    else
        pfc_seq_both(&c->seq, c->d, &out->cmp);
}

const char *pfc_confirm_verdict_name(pfc_confirm_verdict verdict)
{
    static const char *const names[] = { "open", "confirmed", "refuted" };

    return names[verdict];
}
