/* Rounds from turns. */
#include "core/stats/turns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEED_MOST 100000 /* rounds: more than that is "not in any time" */

/* Mean log ratio of each whole round; caller frees. */
static pfc_code rounds_of(const double *a, size_t na, const double *b, size_t nb, const char *order,
                          double **out, size_t *len, pfc_err *err)
{
    const size_t turns = strlen(order);
    double *d = pfc_calloc(turns / PFC_TURNS_ROUND + 1, sizeof *d);
    size_t at[2] = { 0, 0 };
    size_t taken[2] = { 0, 0 };
    double sum = 0.0;
    *len = 0;
    for (size_t i = 0; i < turns; i++) {
        const size_t side = order[i] == 'b';
        if ((order[i] != 'a' && order[i] != 'b') || at[side] >= (side ? nb : na))
            break;
        const double v = side ? b[at[1]] : a[at[0]];
        at[side]++;
        taken[side]++;
        if (!(v > 0.0) || !isfinite(v)) {
            free(d);
            return pfc_err_set_field(err, PFC_EINVAL, side ? "b" : "a",
                                     "side %s: expected finite values above 0, got %g",
                                     side ? "b" : "a", v);
        }
        sum += side ? log(v) : -log(v);
        if (taken[0] + taken[1] < PFC_TURNS_ROUND)
            continue;
        if (taken[0] != taken[1])
            break;
        d[(*len)++] = sum / (PFC_TURNS_ROUND / 2);
        taken[0] = taken[1] = 0;
        sum = 0.0;
    }
    if (at[0] + at[1] != turns || at[0] != na || at[1] != nb ||
        taken[0] + taken[1] >= PFC_TURNS_ROUND) {
        free(d);
        return pfc_err_set_field(
            err, PFC_EINVAL, "order",
            "order of turns: expected rounds of two turns a side for %zu and %zu "
            "values, got \"%.40s\"",
            na, nb, order);
    }
    *out = d;
    return PFC_OK;
}

static size_t still_needed(const pfc_seq *seq, size_t n)
{
    const size_t need = n >= seq->opts.min_values ? pfc_seq_need(seq, NEED_MOST) : 0;

    /* The estimate is of a mean course; one that it says is over goes on by a round at a time. */
    return PFC_MAX(PFC_MAX(need, seq->opts.min_values), n + 1) - n;
}

pfc_code pfc_turns_compare(const double *a, size_t na, const double *b, size_t nb,
                           const char *order, const pfc_seq_opts *opts, pfc_turns_result *out,
                           pfc_err *err)
{
    pfc_seq_opts o = opts ? *opts : (pfc_seq_opts){ 0 };
    pfc_seq seq = { 0 };
    double *d = NULL;
    size_t n = 0;
    pfc_code code;

    o.paired = true;
    o.method = PFC_SEQ_NORMAL;
    o.alpha = (o.alpha > 0.0 ? o.alpha : 0.01) / PFC_SEQ_TESTS;
    code = pfc_seq_init(&seq, &o, err);
    if (!code)
        code = rounds_of(a, na, b, nb, order, &d, &n, err);
    for (size_t i = 0; i < n && !code; i++)
        code = pfc_seq_pair(&seq, 1.0, exp(d[i]), err);
    if (!code) {
        *out = (pfc_turns_result){ .rounds = n };
        pfc_seq_both(&seq, d, &out->cmp);
        out->more = out->cmp.verdict == PFC_VERDICT_INCONCLUSIVE ? still_needed(&seq, n) : 0;
    }
    free(d);
    pfc_seq_clear(&seq);
    return code;
}
