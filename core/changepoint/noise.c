/* Noise from the residuals: scale, tails, correlation. */
#include <math.h>
#include <string.h>

#include "core/changepoint/segment/vector_width.h"
#include "core/changepoint/stages.h"
#include "core/stats/sort.h"

#define HEAD_START  1.5 /* nats */
#define CLIP        2.5 /* sigma at which residuals are cut for the correlation */
#define SEGMENT_MIN 8   /* points of a level that the correlation is read from */
#define INFLATE_MAX 8.0
#define LANES       4 /* partial sums, one for each element of a vector */

typedef struct tails {
    double freedom;
    double quartile; /* of the t distribution */
    double log_norm; /* log of its density at 0 */
} tails;

/* Quartiles and densities at 0 of Student t; any table of the distribution has them. */
static const tails shapes[] = { { 2.0, 0.816497, -1.039721 },
                                { 3.0, 0.764892, -1.000888 },
                                { 5.0, 0.726687, -0.968620 },
                                { 10.0, 0.699812, -0.943898 },
                                { 30.0, 0.682756, -0.927271 } };

/* Sum of log(1 + x^2 / freedom) over x = r / unit, by products of 64: each factor is below 202, so
 * they stay in range. Four products side by side, in this order on every machine. */
WIDEST static double sum_of_logs(const double *r, size_t n, double unit, double freedom)
{
    double part = 1.0 / (unit * unit * freedom);
    double most = 400.0 / freedom;
    double logs = 0.0;
    size_t i = 0;
    while (i + LANES <= n) {
        double product[LANES] = { 1.0, 1.0, 1.0, 1.0 };
        size_t to = PFC_MIN(n / LANES * LANES, i + 32 * LANES);
        for (; i < to; i += LANES) {
            for (size_t k = 0; k < LANES; k++) {
                double x = r[i + k] * r[i + k] * part;
                product[k] *= 1.0 + (x < most ? x : most);
            }
        }
        logs += log(product[0] * product[1]) + log(product[2] * product[3]);
    }
    for (; i < n; i++)
        logs += log1p(PFC_MIN(r[i] * r[i] * part, most));
    return logs;
}

static double fit_freedom(const double *r, size_t n, double sigma, double *log_norm)
{
    double best = -(double)INFINITY;
    double freedom = 30.0;
    for (size_t s = 0; s < PFC_ARRAY_LEN(shapes); s++) {
        double unit = sigma * 0.67449 / shapes[s].quartile;
        double half = 0.5 * (shapes[s].freedom + 1.0);
        double likelihood = -half * sum_of_logs(r, n, unit, shapes[s].freedom) +
                            (double)n * (shapes[s].log_norm - log(unit / sigma));
        /* A few residuals look heavy-tailed by chance, so the distribution closest to the normal
         * one gets an initial advantage. */
        if (shapes[s].freedom >= 30.0)
            likelihood += HEAD_START;
        if (likelihood > best) {
            best = likelihood;
            freedom = shapes[s].freedom;
            *log_norm = shapes[s].log_norm - log(unit / sigma);
        }
    }
    return freedom;
}

static double quartile_of(double freedom)
{
    for (size_t s = 0; s < PFC_ARRAY_LEN(shapes); s++) {
        if (shapes[s].freedom == freedom)
            return shapes[s].quartile;
    }
    return 0.67449;
}

WIDEST static double shares(const double *r, size_t n, double wide)
{
    double sum[LANES] = { 0.0 };
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            double x2 = r[i + k] * r[i + k];
            sum[k] += x2 / (wide + x2);
        }
    }
    for (; i < n; i++)
        sum[0] += r[i] * r[i] / (wide + r[i] * r[i]);
    return sum[0] + sum[1] + sum[2] + sum[3];
}

/* Likeliest scale of t noise, in steps of expectation maximisation from the median's answer: the
 * median alone wavers by 12 nats in 200 points, more than a trend is worth. */
static double fit_scale(const double *r, size_t n, double sigma, double freedom)
{
    double match = 0.67449 / quartile_of(freedom); /* scale of t noise with these quartiles */
    double s2 = sigma * sigma * match * match;
    for (int round = 0; round < 4; round++) {
        double sum = shares(r, n, freedom * s2);
        s2 *= sum * (freedom + 1.0) / (double)n;
    }
    /* Never far from the median: half of all points may be anything. */
    return PFC_MAX(0.7 * sigma, PFC_MIN(sqrt(s2) / match, 1.4 * sigma));
}

typedef struct sums {
    double product;
    double square;
    double pairs;
    double levels;
} sums;

/* Residuals in sigma, clipped, because spikes would hide the correlation. */
WIDEST static void clip(const double *r, size_t n, double sigma, double *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        double x = r[i] / sigma;
        x = x < CLIP ? x : CLIP;
        out[i] = x > -CLIP ? x : -CLIP;
    }
}

/* Products of neighbours and squares of one level's residuals. */
WIDEST static void add_level(sums *s, const double *x, size_t n)
{
    double product[LANES] = { 0.0 };
    double square[LANES] = { 0.0 };
    size_t i = 1;
    if (n < SEGMENT_MIN)
        return;
    for (; i + LANES <= n; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            product[k] += x[i + k] * x[i + k - 1];
            square[k] += 0.5 * (x[i + k] * x[i + k] + x[i + k - 1] * x[i + k - 1]);
        }
    }
    for (; i < n; i++) {
        product[0] += x[i] * x[i - 1];
        square[0] += 0.5 * (x[i] * x[i] + x[i - 1] * x[i - 1]);
    }
    s->product += product[0] + product[1] + product[2] + product[3];
    s->square += square[0] + square[1] + square[2] + square[3];
    s->pairs += (double)(n - 1);
    s->levels += 1.0;
}

/* Long-run variance of AR(1) noise over its variance; 1 unless the correlation is beyond chance. */
static double inflation(const sums *s)
{
    if (s->pairs < 2.0 * SEGMENT_MIN || !(s->square > 0.0))
        return 1.0;
    double rho = s->product / s->square;
    rho += (1.0 + 3.0 * rho) * s->levels / s->pairs; /* fitted levels make it too small */
    if (rho < 2.0 / sqrt(s->pairs))
        return 1.0;
    rho = PFC_MIN(rho, 0.9);
    return PFC_MIN((1.0 + rho) / (1.0 - rho), INFLATE_MAX);
}

pfc_noise pfc_noise_known(double freedom, double inflate)
{
    pfc_noise out = { .sigma = 1.0, .freedom = freedom, .inflate = inflate };
    for (size_t s = 0; s < PFC_ARRAY_LEN(shapes); s++) {
        if (shapes[s].freedom == freedom)
            out.log_norm = shapes[s].log_norm - log(0.67449 / shapes[s].quartile);
    }
    return out;
}

WIDEST static void residuals(const double *z, size_t n, double median, double widen,
                             double *restrict r)
{
    for (size_t i = 0; i < n; i++)
        r[i] = (z[i] - median) * widen;
}

WIDEST static void sizes(const double *r, size_t n, double *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = fabs(r[i]);
}

WIDEST static double share_beyond(const double *r, size_t n, double limit)
{
    double far[LANES] = { 0.0 };
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t k = 0; k < LANES; k++)
            far[k] += fabs(r[i + k]) > limit ? 1.0 : 0.0;
    }
    for (; i < n; i++)
        far[0] += fabs(r[i]) > limit ? 1.0 : 0.0;
    return (far[0] + far[1] + far[2] + far[3]) / (double)n;
}

pfc_noise pfc_noise_of(const double *z, size_t n, const uint32_t *starts, size_t changes,
                       double *scratch)
{
    pfc_noise out = { .sigma = 1.0, .freedom = 5.0, .inflate = 1.0, .log_norm = -0.96862 };
    size_t kept = 0;
    double *r = scratch; /* residuals of levels of 3 points and more, one after another */
    double *work = scratch + n;
    for (size_t k = 0; k <= changes; k++) {
        size_t from = k ? starts[k - 1] : 0;
        size_t len = (k < changes ? starts[k] : n) - from;
        if (len < 3)
            continue;
        memcpy(work, z + from, len * sizeof *z);
        double median = pfc_stats_median_spend(work, len);
        residuals(z + from, len, median, sqrt((double)len / ((double)len - 1.0)), r + kept);
        kept += len;
    }
    if (kept < 4)
        return out;
    sizes(r, kept, work);
    double mad = 1.482602218505602 * pfc_stats_median_spend(work, kept);
    if (!(mad > 0.0))
        return out;
    out.freedom = fit_freedom(r, kept, mad, &out.log_norm);
    out.sigma = fit_scale(r, kept, mad, out.freedom);
    out.spikes = share_beyond(r, kept, 4.0 * out.sigma);
    sums s = { 0 };
    size_t at = 0;
    clip(r, kept, out.sigma, work);
    for (size_t k = 0; k <= changes; k++) {
        size_t from = k ? starts[k - 1] : 0;
        size_t len = (k < changes ? starts[k] : n) - from;
        if (len < 3)
            continue;
        add_level(&s, work + at, len);
        at += len;
    }
    out.inflate = inflation(&s);
    return out;
}
