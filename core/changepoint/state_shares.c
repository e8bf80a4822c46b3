/* Machine states that come in other shares from some point on: a slow path taken more often. */
#include <math.h>

#include "core/changepoint/segment/fit.h"

#define SIDE_MIN        8   /* points on each side of such a change */
#define SHARE_MIN       0.3 /* by how much the share must have moved */
#define CERTAINTY       5.0 /* nats above log n: about one false one in a hundred series */
#define CORRELATION_MAX 0.9

static double entropy(double ups, double n)
{
    double p = ups / n;
    return p <= 0.0 || p >= 1.0 ? 0.0 : -n * (p * log(p) + (1.0 - p) * log1p(-p));
}

/* Correlation of neighbouring states around the shares of the two sides: states that stick make
 * fewer independent draws than there are points. */
static double correlation(const pfc_fit *f, size_t at, double p, double q)
{
    double product = 0.0;
    double square = 1e-9;
    for (size_t i = 0; i < f->n; i++) {
        double r = (double)f->upper[i] - (i < at ? p : q);
        square += r * r;
        if (i > 0 && i != at)
            product += r * ((double)f->upper[i - 1] - (i - 1 < at ? p : q));
    }
    double rho = product / square + 2.0 / (double)f->n;
    return PFC_MAX(0.0, PFC_MIN(rho, CORRELATION_MAX));
}

void pfc_fit_state_shares(pfc_fit *f)
{
    double n = (double)f->n;
    double all = 0.0;
    double before = 0.0;
    double best = 0.0;
    double best_before = 0.0;
    size_t at = 0;
    f->shares_at = 0;
    if (!(f->gap > 0.0) || f->n < 4 * SIDE_MIN)
        return;
    for (size_t i = 0; i < f->n; i++)
        all += f->upper[i];
    double whole = entropy(all, n);
    for (size_t i = 1; i < f->n; i++) {
        before += f->upper[i - 1];
        if (i < SIDE_MIN || i + SIDE_MIN > f->n)
            continue;
        double gain = whole - entropy(before, (double)i) - entropy(all - before, n - (double)i);
        if (gain > best) {
            best = gain;
            best_before = before;
            at = i;
        }
    }
    if (at == 0)
        return;
    /* Next to a change of level the share is that change's shadow. */
    for (size_t k = 0; k < f->changes; k++) {
        size_t start = f->starts[k];
        if ((start > at ? start - at : at - start) < SIDE_MIN)
            return;
    }
    double p = best_before / (double)at;
    double q = (all - best_before) / (n - (double)at);
    double rho = correlation(f, at, p, q);
    double gain = best * (1.0 - rho) / (1.0 + rho);
    if (fabs(p - q) < SHARE_MIN || gain < log(n) + CERTAINTY)
        return;
    f->shares_at = at;
    f->shares_gain = gain;
}
