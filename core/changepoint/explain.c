/* Movements of a series that are not changes: a trend, a wave, machine states. Each is tried only
 * where the residuals of plain levels show signs of it, and kept when it raises the penalised
 * likelihood. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/changepoint/fourier.h"
#include "core/changepoint/segment/fit.h"
#include "core/stats/sort.h"

#define TREND_MIN_POINTS 30
#define TREND_PRICE      4.0 /* penalty of the first coefficient, in nats */
#define TREND_PRICE_MORE 3.0 /* penalty of each further one, in nats */
#define NEWEST           12  /* points of the newest level that a trend may not explain away */
#define TREND_HOPE       8.0 /* gain of a dropped change, in nats */
/* error, in nats, of the estimate of a trend's gain before the trend is fitted */
#define TREND_SLACK      2.0
#define TREND_DEGREE     PFC_TREND_DEGREE

#define HIGH_STEP         3.5 /* height of a high step, in sigma */
#define WAVE_MIN_POINTS   60
#define WAVE_MAX_POINTS   16384 /* for longer series a prefix is enough to find the wave */
#define WAVE_PRICE        12.0
#define WAVE_MIN_PERIODS  3.0
#define WAVE_MIN_PERIOD   4.0
#define STATES_MIN_POINTS 40
#define STATES_PRICE      7.0
#define BINS              128

/* Smooth trends are Legendre polynomials over the series. */
static void basis(double x, double p[TREND_DEGREE])
{
    p[0] = x;
    p[1] = 0.5 * (3.0 * x * x - 1.0);
    p[2] = 0.5 * (5.0 * x * x - 3.0) * x;
}

static void fill_basis(const pfc_fit *f, double (*out)[TREND_DEGREE])
{
    for (size_t i = 0; i < f->n; i++)
        basis(2.0 * (double)i / (double)(f->n - 1) - 1.0, out[i]);
}

/* Solves the symmetric a x = b of size d in place by elimination; a is positive or singular. */
static void solve(double a[TREND_DEGREE][TREND_DEGREE], double *b, int d)
{
    for (int i = 0; i < d; i++) {
        double pivot = a[i][i] > 1e-9 ? a[i][i] : 1e9;
        for (int r = i + 1; r < d; r++) {
            double m = a[r][i] / pivot;
            for (int c = i; c < d; c++)
                a[r][c] -= m * a[i][c];
            b[r] -= m * b[i];
        }
        a[i][i] = pivot;
    }
    for (int i = d; i-- > 0;) {
        for (int c = i + 1; c < d; c++)
            b[i] -= a[i][c] * b[c];
        b[i] /= a[i][i];
    }
}

/* Adds the products of one level: basis and residual, both less their means over the level. */
static void add_level(const pfc_fit *f, size_t from, size_t to, int d,
                      double a[TREND_DEGREE][TREND_DEGREE], double *b)
{
    double n = (double)(to - from);
    double mean[TREND_DEGREE] = { 0 };
    memcpy(f->scratch, f->z + from, (to - from) * sizeof *f->z);
    double centre = pfc_stats_median_spend(f->scratch, to - from);
    /* A wide bound at first: a level that holds a whole trend spreads far around its median. */
    double bound = 6.0;
    for (size_t i = from; i < to; i++) {
        const double *p = f->basis[i];
        for (int k = 0; k < d; k++)
            mean[k] += p[k] / n;
    }
    for (size_t i = from; i < to; i++) {
        double r = PFC_MAX(-bound, PFC_MIN(bound, f->z[i] - centre));
        const double *p = f->basis[i];
        for (int k = 0; k < d; k++) {
            b[k] += (p[k] - mean[k]) * r;
            for (int c = 0; c < d; c++)
                a[k][c] += (p[k] - mean[k]) * (p[c] - mean[c]);
        }
    }
}

/* Least squares of a trend within the levels of the fit, in sigma; returns the nats it explains. */
static double trend_of(const pfc_fit *f, int degree, double b[TREND_DEGREE])
{
    double a[TREND_DEGREE][TREND_DEGREE] = { 0 };
    double product[TREND_DEGREE];
    memset(b, 0, TREND_DEGREE * sizeof *b);
    for (size_t k = 0; k <= f->changes; k++)
        add_level(f, pfc_level_from(f, k), pfc_level_to(f, k), degree, a, b);
    memcpy(product, b, sizeof product);
    solve(a, b, degree);
    double gain = 0.0;
    for (int k = 0; k < degree; k++)
        gain += 0.5 * product[k] * b[k];
    return gain / f->noise.inflate;
}

static void remove_trend(pfc_fit *f, int degree)
{
    double b[TREND_DEGREE];
    trend_of(f, degree, b);
    for (size_t i = 0; i < f->n; i++) {
        const double *p = f->basis[i];
        for (int k = 0; k < degree; k++)
            f->a[i] -= b[k] * p[k] * f->unit;
    }
    f->degree = degree;
}

static bool keep_if_likelier(pfc_fit *f, pfc_fit *other, double price)
{
    if (!(other->nll + price < f->nll))
        return false;
    pfc_fit t = *f;
    *f = *other;
    *other = t;
    return true;
}

/* Levels of a staircase that only follows a trend are no levels: keeps the high steps. */
static void keep_high_steps(pfc_fit *f)
{
    size_t kept = 0;
    for (size_t k = 0; k <= f->changes; k++) {
        size_t from = pfc_level_from(f, k);
        size_t len = pfc_level_to(f, k) - from;
        memcpy(f->scratch, f->z + from, len * sizeof *f->z);
        f->mean[k] = pfc_stats_median_spend(f->scratch, len);
    }
    for (size_t k = 0; k < f->changes; k++) {
        /* A polynomial would bend to a few new points at the end, so they stay a level of their
         * own. */
        bool newest = k + 1 == f->changes && f->n - f->starts[k] < NEWEST;
        if (newest || pfc_is_confirmed_start(f, f->starts[k]) ||
            fabs(f->mean[k + 1] - f->mean[k]) >= HIGH_STEP)
            f->starts[kept++] = f->starts[k];
    }
    f->changes = kept;
}

/* Half the bounded sum of squares around the levels: the unexplained part, in nats. */
static double unexplained(const pfc_fit *f)
{
    double sum = 0.0;
    for (size_t k = 0; k <= f->changes; k++) {
        size_t from = pfc_level_from(f, k);
        size_t to = pfc_level_to(f, k);
        memcpy(f->scratch, f->z + from, (to - from) * sizeof *f->z);
        double centre = pfc_stats_median_spend(f->scratch, to - from);
        for (size_t i = from; i < to; i++) {
            double r = f->z[i] - centre;
            sum += 0.5 * PFC_MIN(r * r, 9.0);
        }
    }
    return sum / f->noise.inflate;
}

static double trend_price(int had, int degree)
{
    return TREND_PRICE_MORE * (degree - had) + (had == 0 ? TREND_PRICE - TREND_PRICE_MORE : 0.0);
}

/* Where all steps stay, the trend must pay for itself by what it explains within the levels. */
static bool trend_pays(const pfc_fit *f)
{
    double b[TREND_DEGREE];
    bool pays = false;
    if (trend_of(f, TREND_DEGREE, b) <= trend_price(f->degree, 1) - TREND_SLACK)
        return false;
    for (int degree = 1; degree <= TREND_DEGREE && !pays; degree++)
        pays = trend_of(f, degree, b) > trend_price(f->degree, degree) - TREND_SLACK;
    return pays;
}

/* A look before the tries, which cost several segmentations each: would a trend with nothing but
 * the high steps come near what the levels explain? */
static bool trend_thinkable(const pfc_fit *f, pfc_fit *other)
{
    double b[TREND_DEGREE];
    pfc_fit_copy(other, f);
    keep_high_steps(other);
    if (other->changes == f->changes)
        return trend_pays(f);
    trend_of(other, TREND_DEGREE, b);
    for (size_t i = 0; i < f->n; i++) {
        const double *p = f->basis[i];
        for (int k = 0; k < TREND_DEGREE; k++)
            other->z[i] -= b[k] * p[k];
    }
    double saved = TREND_HOPE * (double)(f->changes - other->changes + 1);
    return unexplained(other) < unexplained(f) + saved;
}

static bool try_trend(pfc_fit *f, pfc_fit *other, int degree)
{
    double price = trend_price(f->degree, degree);
    pfc_fit_copy(other, f);
    keep_high_steps(other);
    for (int round = 0; round < 2; round++) {
        remove_trend(other, degree);
        pfc_fit_levels(other);
    }
    remove_trend(other, degree);
    pfc_fit_run(other, other->unit);
    return keep_if_likelier(f, other, price);
}

static void try_trends(pfc_fit *f, pfc_fit *other)
{
    f->basis = pfc_segment_space_take(f->space, f->n * sizeof *f->basis);
    other->basis = f->basis;
    fill_basis(f, f->basis);
    bool sloping = trend_thinkable(f, other);
    for (int degree = 1; degree <= TREND_DEGREE && sloping && pfc_free_changes(f) > 0; degree++)
        try_trend(f, other, degree);
    pfc_segment_space_give(f->space, f->basis);
    f->basis = other->basis = NULL;
}

/* Residual of a moving mean over one period, which removes the levels and keeps the wave. */
static void fit_wave(pfc_fit *f, double period, const double *residual)
{
    double w = 2.0 * M_PI / period;
    double s[4] = { 0 };
    double xx[4] = { 0 };
    for (size_t i = 0; i < f->n; i++) {
        double angle = w * (double)i;
        double x[4] = { cos(angle), sin(angle), cos(2.0 * angle), sin(2.0 * angle) };
        for (int k = 0; k < 4; k++) {
            s[k] += x[k] * residual[i];
            xx[k] += x[k] * x[k];
        }
    }
    for (size_t i = 0; i < f->n; i++) {
        double angle = w * (double)i;
        double v = s[0] / xx[0] * cos(angle) + s[1] / xx[1] * sin(angle);
        if (period >= 8.0)
            v += s[2] / xx[2] * cos(2.0 * angle) + s[3] / xx[3] * sin(2.0 * angle);
        f->a[i] -= v * f->unit;
    }
    for (int k = 0; k < (period >= 8.0 ? 4 : 2); k++)
        f->wave[k] += s[k] / xx[k] * f->unit;
    f->period = period;
}

static void moving_residual(const double *z, size_t n, size_t half, double *out)
{
    size_t low = 0;
    size_t high = 0;
    double sum = 0.0;
    size_t width = PFC_MIN(n, 2 * half + 1);
    for (size_t i = 0; i < n; i++) {
        size_t to = PFC_MIN(n, PFC_MAX(i + half + 1, width));
        while (high < to)
            sum += z[high++];
        while (high - low > width)
            sum -= z[low++];
        out[i] = z[i] - sum / (double)width;
    }
}

static void level_residual(const pfc_fit *f, double clip, double *out)
{
    for (size_t k = 0; k <= f->changes; k++) {
        size_t from = pfc_level_from(f, k);
        size_t len = pfc_level_to(f, k) - from;
        memcpy(f->scratch, f->z + from, len * sizeof *f->z);
        double centre = pfc_stats_median_spend(f->scratch, len);
        for (size_t i = 0; i < len; i++)
            out[from + i] = PFC_MAX(-clip, PFC_MIN(clip, f->z[from + i] - centre));
    }
}

/* Waves of machines are days and weeks: a period that is nearly one of them is taken for it. */
static double near_calendar(const pfc_fit *f, double period)
{
    static const double lengths_s[] = { 86400.0, 604800.0, 3600.0 };
    double step_s = pfc_clean_series_step_s(f->track, f->scratch);
    for (size_t i = 0; i < PFC_ARRAY_LEN(lengths_s); i++) {
        double points = lengths_s[i] / step_s;
        if (fabs(period / points - 1.0) < 0.05)
            return points;
    }
    return period;
}

static bool try_wave(pfc_fit *f, pfc_fit *other)
{
    if (f->n < WAVE_MIN_POINTS || f->period > 0.0)
        return false;
    double *residual = pfc_calloc(f->n, sizeof *residual);
    size_t n = PFC_MIN(f->n, (size_t)WAVE_MAX_POINTS);
    bool kept = false;
    double period = pfc_fourier_period(f->z, n, WAVE_MIN_PERIOD, (double)n / WAVE_MIN_PERIODS);
    if (period > 0.0) {
        period = near_calendar(f, period);
        pfc_fit_copy(other, f);
        moving_residual(f->z, f->n, (size_t)lrint(0.5 * (period - 1.0)), residual);
        fit_wave(other, period, residual);
        pfc_fit_run(other, f->unit);
        level_residual(other, 3.0, residual);
        fit_wave(other, period, residual);
        pfc_fit_run(other, other->unit);
        kept = keep_if_likelier(f, other, WAVE_PRICE);
    }
    free(residual);
    return kept;
}

/* Differences of neighbours in bins, as a mixture of none and one switch between two states a gap
 * apart: expectation maximisation (Dempster, Laird & Rubin 1977) over the bins. All in the unit of
 * the bins. Returns the gap, 0 when there is none. */
static double gap_of_bins(const double *bin, double all, double *share)
{
    double s2 = 32.0; /* variance of a difference: four bins are a sigma of a value */
    double gap = 0.0;
    double seen = 0.0;
    for (int i = BINS; i-- > 12;) {
        seen += bin[i];
        if (seen >= 0.5 * *share * all) {
            gap = (double)i + 0.5;
            break;
        }
    }
    double w = PFC_MAX(*share, 0.02);
    for (int round = 0; round < 12 && gap > 0.0; round++) {
        double wide = 0.0;
        double at = 0.0;
        double square = 0.0;
        double mass = 0.0;
        for (int i = 0; i < BINS; i++) {
            if (bin[i] == 0.0)
                continue;
            double x = (double)i + 0.5;
            double none = (1.0 - w) * 2.0 * exp(-0.5 * x * x / s2);
            double one = w * exp(-0.5 * (x - gap) * (x - gap) / s2);
            /* A few differences come from spikes and changes and must not count for either
             * state. */
            double r = one / (none + one + 1e-4);
            double r0 = none / (none + one + 1e-4);
            wide += r * bin[i];
            at += r * bin[i] * x;
            square += bin[i] * (r * (x - gap) * (x - gap) + r0 * x * x);
            mass += bin[i] * (r + r0);
        }
        if (!(wide > 0.0) || !(mass > 0.0))
            return 0.0;
        gap = at / wide;
        w = PFC_MAX(0.01, PFC_MIN(0.7, wide / all));
        s2 = PFC_MAX(0.5, square / mass);
    }
    *share = w;
    return gap > 2.0 * sqrt(s2) ? gap : 0.0;
}

/* Gap between two states in sigma, from the differences of neighbours; 0 when they show none. */
static double find_gap(const pfc_fit *f)
{
    double bin[BINS] = { 0 };
    size_t n = f->n - 1;
    double *d = f->scratch;
    for (size_t i = 0; i < n; i++)
        d[i] = fabs(f->z[i + 1] - f->z[i]);
    /* A low quantile: up to half of the differences may be switches. */
    double unit = pfc_stats_select(d, n, n / 4) / (0.3186 * M_SQRT2);
    if (!(unit > 0.0))
        return 0.0;
    double far = 0.0;
    for (size_t i = 0; i < n; i++) {
        double place = d[i] / unit * 4.0;
        far += d[i] > 3.5 * M_SQRT2 * unit ? 1.0 : 0.0;
        bin[place < BINS - 1 ? (size_t)place : BINS - 1] += 1.0;
    }
    double share = far / (double)n;
    if (share < 0.02 || far < 4.0)
        return 0.0;
    return gap_of_bins(bin, (double)n, &share) * 0.25 * unit;
}

static bool try_states(pfc_fit *f, pfc_fit *other)
{
    static const double moves[4] = { 0.2, 1.7, 1.2, 0.35 };
    if (f->n < STATES_MIN_POINTS || f->n > PFC_STATES_POINTS || f->gap > 0.0)
        return false;
    double gap = find_gap(f);
    if (!(gap > 0.0))
        return false;
    pfc_fit_copy(other, f);
    other->gap = gap * f->unit;
    memcpy(other->move, moves, sizeof moves);
    pfc_fit_run(other, PFC_MIN(f->unit, other->gap / 4.0));
    return keep_if_likelier(f, other, STATES_PRICE);
}

void pfc_fit_explain(pfc_fit *f)
{
    /* There is no change and no sign of a hidden one. Most series are like this, so the later
     * stages would only cost time. */
    size_t found = pfc_free_changes(f);
    if (found == 0 && f->noise.inflate <= 1.5 && f->noise.freedom > 4.0)
        return;
    pfc_fit other;
    pfc_fit_init_like(&other, f);
    try_states(f, &other);
    if (found > 1 || f->noise.inflate > 1.5)
        try_wave(f, &other);
    if (f->n >= TREND_MIN_POINTS && pfc_free_changes(f) > 0)
        try_trends(f, &other);
    pfc_fit_clear(&other);
}
