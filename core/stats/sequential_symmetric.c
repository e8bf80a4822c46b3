/* Bets on the signs of differences, sized by how large the differences are. */
#include <math.h>
#include <stdlib.h>

#include "core/stats/sequential.h"
#include "core/stats/sort.h"

/* The alternatives: a shift and the noise about it, both in units of the scale below. That scale is
 * taken about the value under test, so a shift of x standard deviations makes it
 * 1.4826 * median |N(x, 1)| of them; the rows are x = 0.15, 0.3, 0.6, 1.2, 2.4, 5 and 10. */
static const struct guess {
    double shift, noise;
} guesses[] = { { 0.148, 0.989 }, { 0.287, 0.956 }, { 0.504, 0.840 }, { 0.664, 0.553 },
                { 0.674, 0.281 }, { 0.674, 0.135 }, { 0.674, 0.067 } };

#define GUESSES    (sizeof guesses / sizeof guesses[0])
/* degrees of freedom of the t densities: with heavy tails an outlier changes the bet little */
#define FREEDOM    5.0
#define FARTHEST   1e6 /* farthest shift that is searched, in scales */
#define BISECTIONS 40
#define DOUBLINGS  60

/* The bets so far: what became of the money put on each guess, above and below. */
typedef struct bets {
    double up[GUESSES], down[GUESSES];
    double scale;
} bets;

/* The usual size of the first n differences, without their signs: what is known of them before
 * the sign of the last is looked at. */
static double scale_of(const double *d, size_t n, double shift, double *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(d[i] - shift);
    return 1.4826 * pfc_stats_median_inplace(scratch, n);
}

/* Share of the wealth to bet on "above" for a difference of `size` scales: from the probabilities
 * of its two signs under this alternative, by the density of t with 5 degrees of freedom. */
static double stake_of(const struct guess *g, double size)
{
    const double wide = FREEDOM * g->noise * g->noise;
    const double near = size - g->shift;
    const double far = size + g->shift;
    const double ratio = (wide + far * far) / (wide + near * near);
    const double likelihood_ratio = ratio * ratio * ratio;

    return (likelihood_ratio - 1.0) / (likelihood_ratio + 1.0);
}

/* One more sign; returns the wealth. */
static double bet(bets *b, double off)
{
    const double size = b->scale > 0.0 ? fmin(fabs(off) / b->scale, FARTHEST) : FARTHEST;
    double sum = 0.0;

    for (size_t k = 0; k < GUESSES; k++) {
        const double stake = off == 0.0 ? 0.0 : copysign(stake_of(&guesses[k], size), off);
        b->up[k] *= 1.0 + stake;
        b->down[k] *= 1.0 - stake;
        sum += b->up[k] + b->down[k];
    }
    return sum;
}

double pfc_seq_symmetric_p(const double *d, size_t n, double shift)
{
    double *scratch = pfc_calloc(n ? n : 1, sizeof *scratch);
    double most = 1.0;
    bets b = { .scale = 0.0 };

    for (size_t k = 0; k < GUESSES; k++)
        b.up[k] = b.down[k] = 0.5 / (double)GUESSES;
    for (size_t i = 0; i < n && most < 1.0 / PFC_P_MIN; i++) {
        /* The scale is computed again at every power of two: a sort for each value would cost n^2
         * log n. */
        if (((i + 1) & i) == 0)
            b.scale = scale_of(d, i + 1, shift, scratch);
        most = fmax(most, bet(&b, d[i] - shift));
    }
    free(scratch);
    return fmax(1.0 / most, PFC_P_MIN);
}

/* The farthest shift on one side of `from` that is not excluded. */
static double end_of(const double *d, size_t n, double alpha, double from, double step)
{
    double in = from;
    double out = from + step;

    for (int i = 0; pfc_seq_symmetric_p(d, n, out) >= alpha; i++) {
        if (i == DOUBLINGS)
            return copysign((double)INFINITY, step);
        in = out;
        step *= 2.0;
        out = from + step;
    }
    for (int i = 0; i < BISECTIONS; i++) {
        const double mid = 0.5 * in + 0.5 * out;
        if (pfc_seq_symmetric_p(d, n, mid) >= alpha)
            in = mid;
        else
            out = mid;
    }
    return out;
}

pfc_interval pfc_seq_symmetric_interval(const double *d, size_t n, double alpha)
{
    const double at = pfc_stats_median(d, n);
    double step = pfc_stats_mad(d, n) / sqrt((double)n);

    step = fmax(step, 1e-9);
    return (pfc_interval){ at, end_of(d, n, alpha, at, -step), end_of(d, n, alpha, at, step) };
}
