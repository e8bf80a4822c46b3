/* Rounds from turns. */
#include "core/blocks/pair_rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEED_MOST 100000 /* rounds; a longer estimate is reported as never */

/* The rounds of the turns; caller frees. */
static pfc_code rounds_of(const double *a, size_t na, const double *b, size_t nb, const char *order,
                          pfc_round **out, size_t *len, pfc_err *err)
{
    const size_t turns = strlen(order);
    pfc_round *rounds = pfc_calloc(turns / PFC_INTERLEAVED_ROUND + 1, sizeof *rounds);
    size_t at[2] = { 0, 0 };
    size_t taken[2] = { 0, 0 };
    *len = 0;
    for (size_t i = 0; i < turns; i++) {
        const size_t side = order[i] == 'b';
        const size_t place = taken[0] + taken[1];
        if ((order[i] != 'a' && order[i] != 'b') || at[side] >= (side ? nb : na))
            break;
        const double v = side ? b[at[1]] : a[at[0]];
        at[side]++;
        taken[side]++;
        if (!(v > 0.0) || !isfinite(v)) {
            free(rounds);
            return pfc_err_set_field(err, PFC_EINVAL, side ? "b" : "a",
                                     "side %s: expected finite values above 0, got %g",
                                     side ? "b" : "a", v);
        }
        rounds[*len].y[place] = log(v);
        rounds[*len].to[place] = side;
        rounds[*len].gap[place] = 1;
        if (place + 1 < PFC_INTERLEAVED_ROUND)
            continue;
        if (taken[0] != taken[1])
            break;
        (*len)++;
        taken[0] = taken[1] = 0;
    }
    if (at[0] + at[1] != turns || at[0] != na || at[1] != nb ||
        taken[0] + taken[1] >= PFC_INTERLEAVED_ROUND) {
        free(rounds);
        return pfc_err_set_field(
            err, PFC_EINVAL, "order",
            "order of turns: expected rounds of two turns a side for %zu and %zu "
            "values, got \"%.40s\"",
            na, nb, order);
    }
    *out = rounds;
    return PFC_OK;
}

/* ---- three tests ---- */

/* Their parts of alpha: 1 / NORMAL + 1 / SIGNS + 1 / ORDER = 1. */
#define NORMAL     3.0
#define SIGNS      6.0
#define ORDER      2.0
#define BISECTIONS 12

/* Mean log ratio of each round; caller frees. */
static double *differences(const pfc_round *rounds, size_t n)
{
    double *d = pfc_calloc(n ? n : 1, sizeof *d);

    for (size_t i = 0; i < n; i++) {
        double sum = 0.0;

        for (size_t k = 0; k < PFC_ROUND_VISITS; k++)
            sum += rounds[i].to[k] ? rounds[i].y[k] : -rounds[i].y[k];
        d[i] = sum / (PFC_ROUND_VISITS / 2.0);
    }
    return d;
}

static double alpha_of(const pfc_seq_opts *opts)
{
    return opts && opts->alpha > 0.0 ? opts->alpha : 0.01;
}

static pfc_code start(pfc_seq *seq, const double *d, size_t n, const pfc_seq_opts *opts,
                      pfc_err *err)
{
    pfc_seq_opts o = opts ? *opts : (pfc_seq_opts){ 0 };
    pfc_code code;

    o.paired = true;
    o.method = PFC_SEQ_NORMAL;
    o.alpha = alpha_of(opts) / NORMAL;
    code = pfc_seq_init(seq, &o, err);
    for (size_t i = 0; i < n && !code; i++)
        code = pfc_seq_pair(seq, 1.0, exp(d[i]), err);
    return code;
}

typedef struct evidence {
    const pfc_round *rounds;
    const double *d; /* of each round */
    size_t n;
    double alpha; /* of all tests together */
} evidence;

/* By the two tests that need no normal noise. */
static bool excluded(const evidence *e, double shift)
{
    return pfc_seq_symmetric_p(e->d, e->n, shift) < e->alpha / SIGNS ||
           pfc_oriented_p(e->rounds, e->n, shift) < e->alpha / ORDER;
}

/* Returns the shift closest to zero, on the side of `from`, that is not excluded. */
static double nearest(const evidence *e, double from)
{
    double out = 0.0;
    double in = from;

    for (int i = 0; i < BISECTIONS; i++) {
        const double mid = 0.5 * (in + out);

        if (excluded(e, mid))
            out = mid;
        else
            in = mid;
    }
    return out;
}

/* Uses these two tests if the normal test is inconclusive. */
static void decide(const evidence *e, double margin, bool zero, pfc_compare_result *out)
{
    const double at = pfc_stats_median(e->d, e->n);
    const double wide = log1p(fmin(margin, 0.999));

    out->rel_change = expm1(at);
    if (zero) {
        const double end = expm1(nearest(e, at));

        out->verdict = PFC_VERDICT_DIFFERENT;
        if (at > 0.0)
            out->rel_low = fmax(out->rel_low, end);
        else
            out->rel_high = fmin(out->rel_high, end);
    } else if (excluded(e, wide) && excluded(e, -wide)) {
        out->verdict = PFC_VERDICT_SAME;
        out->rel_low = fmax(out->rel_low, expm1(-wide));
        out->rel_high = fmin(out->rel_high, expm1(wide));
    }
}

/* The interval of the test by signs and sizes cuts the normal one's. */
static void cut(const evidence *e, bool zero, pfc_compare_result *out)
{
    pfc_interval by_sign = pfc_seq_symmetric_interval(e->d, e->n, e->alpha / SIGNS);
    double low;
    double high;

    /* Its p need not fall evenly to both sides: what it does not exclude at 0 is no difference. */
    if (!zero) {
        by_sign.low = fmin(by_sign.low, 0.0);
        by_sign.high = fmax(by_sign.high, 0.0);
    }
    low = fmax(out->rel_low, expm1(by_sign.low));
    high = fmin(out->rel_high, expm1(by_sign.high));
    if (low > high)
        return; /* the shift itself changes over time: there is no common answer */
    out->rel_low = low;
    out->rel_high = high;
}

static double p_of(const pfc_compare_result *normal, const evidence *e)
{
    const double signs = SIGNS * pfc_seq_symmetric_p(e->d, e->n, 0.0);
    const double order = ORDER * pfc_oriented_p(e->rounds, e->n, 0.0);

    return fmin(fmin(NORMAL * normal->p, 1.0), fmin(signs, order));
}

/* The sooner of two ways to a decision: as the spread of the normal test falls, and as the bets on
 * the order have grown so far. The estimate is of a mean course; one that it says is over goes on
 * by a round at a time. */
static size_t still_needed(const pfc_seq *seq, const evidence *e)
{
    const size_t n = e->n;
    size_t need = n >= seq->opts.min_values ? pfc_seq_need(seq, NEED_MOST) : 0;
    const double wealth = -log(pfc_oriented_p(e->rounds, n, 0.0));

    if (need && wealth > 1.0) {
        const double rounds = ceil((double)n * log(ORDER / e->alpha) / wealth);

        need = PFC_MIN(need, (size_t)fmin(rounds, NEED_MOST));
    }
    return PFC_MAX(PFC_MAX(need, seq->opts.min_values), n + 1) - n;
}

pfc_code pfc_rounds_judge(const pfc_round *rounds, size_t n, const pfc_seq_opts *opts,
                          pfc_interleaved_result *out, pfc_err *err)
{
    double *d = differences(rounds, n);
    const evidence e = { rounds, d, n, alpha_of(opts) };
    pfc_seq seq = { 0 };
    const pfc_code code = start(&seq, d, n, opts, err);

    if (!code) {
        pfc_compare_result *r = &out->cmp;

        *out = (pfc_interleaved_result){ .rounds = n };
        pfc_seq_result(&seq, r);
        if (n >= seq.opts.min_values) {
            const bool zero = excluded(&e, 0.0);

            cut(&e, zero, r);
            if (r->verdict == PFC_VERDICT_INCONCLUSIVE)
                decide(&e, seq.opts.margin, zero, r);
        }
        if (n)
            r->p = p_of(r, &e);
        out->more = r->verdict == PFC_VERDICT_INCONCLUSIVE ? still_needed(&seq, &e) : 0;
    }
    free(d);
    pfc_seq_clear(&seq);
    return code;
}

double pfc_rounds_p(const pfc_round *rounds, size_t n, const pfc_seq_opts *opts)
{
    double *d = differences(rounds, n);
    const evidence e = { rounds, d, n, alpha_of(opts) };
    pfc_seq seq = { 0 };
    pfc_compare_result r = { .p = 1.0 };

    if (n && !start(&seq, d, n, opts, NULL)) {
        pfc_seq_result(&seq, &r);
        r.p = p_of(&r, &e);
    }
    free(d);
    pfc_seq_clear(&seq);
    return r.p;
}

pfc_code pfc_interleaved_compare(const double *a, size_t na, const double *b, size_t nb,
                                 const char *order, const pfc_seq_opts *opts,
                                 pfc_interleaved_result *out, pfc_err *err)
{
    pfc_round *rounds = NULL;
    size_t n = 0;
    pfc_code code = rounds_of(a, na, b, nb, order, &rounds, &n, err);

    if (!code)
        code = pfc_rounds_judge(rounds, n, opts, out, err);
    free(rounds);
    return code;
}
