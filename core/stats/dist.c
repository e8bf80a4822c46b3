/* The normal distribution, Student's t, and the binomial with p = 1/2. */
#include "core/stats/dist.h"

#include <math.h>

double pfc_stats_normal_cdf(double z)
{
    return 0.5 * erfc(-z * M_SQRT1_2);
}

double pfc_stats_normal_tail2(double z)
{
    return erfc(fabs(z) * M_SQRT1_2);
}

/* Continued fraction of the incomplete beta function, by Lentz's method (Numerical Recipes 6.4). */
static double beta_fraction(double x, double a, double b)
{
    const double tiny = 1e-300;
    double c = 1.0;
    double d = 1.0 - (a + b) * x / (a + 1.0);
    double h;

    d = 1.0 / (fabs(d) < tiny ? tiny : d);
    h = d;
    for (int m = 1; m <= 300; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

        d = 1.0 + even * d;
        c = 1.0 + even / c;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        h *= c * d;
        d = 1.0 + odd * d;
        c = 1.0 + odd / c;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        h *= c * d;
        if (fabs(c * d - 1.0) < 1e-14)
            break;
    }
    return h;
}

double pfc_stats_student_tail2(double t, double df)
{
    const double a = 0.5 * df;
    const double x = df / (df + t * t);
    double front;

    if (!(x < 1.0))
        return 1.0;
    if (df > 1e6)
        return pfc_stats_normal_tail2(t);
    front = exp(lgamma(a + 0.5) - lgamma(a) - lgamma(0.5) + a * log(x) + 0.5 * log1p(-x));
    /* The fraction converges fast on one side of the mean alone. */
    if (x < (a + 1.0) / (a + 2.5))
        return front * beta_fraction(x, a, 0.5) / a;
    return 1.0 - front * beta_fraction(1.0 - x, 0.5, a) / 0.5;
}

double pfc_stats_student_cut(double tail, double df)
{
    double low = 0.0;
    double high = 1.0;

    while (pfc_stats_student_tail2(high, df) > tail && high < 1e12)
        high *= 2.0;
    for (int i = 0; i < 60; i++) {
        const double mid = 0.5 * (low + high);

        if (pfc_stats_student_tail2(mid, df) > tail)
            low = mid;
        else
            high = mid;
    }
    return high;
}

static double ratio8(const double *a, const double *b, double r)
{
    double num = a[7];
    double den = b[6];
    for (int i = 6; i >= 0; i--)
        num = num * r + a[i];
    for (int i = 5; i >= 0; i--)
        den = den * r + b[i];
    return num / (den * r + 1.0);
}

/* Coefficients of Algorithm AS 241 (PPND16), Applied Statistics 37(3), 1988, lowest power first. */
double pfc_stats_normal_quantile(double p)
{
    static const double a[] = { 3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427,
                                13731.693765509461125, 45921.953931549871457, 67265.770927008700853,
                                33430.575583588128105, 2509.0809287301226727 };
    static const double b[] = { 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
                                21213.794301586595867, 39307.895800092710610, 28729.085735721942674,
                                5226.4952788528545610 };
    static const double c[] = { 1.42343711074968357734,   4.63033784615654529590,
                                5.76949722146069140550,   3.64784832476320460504,
                                1.27045825245236838258,   0.241780725177450611770,
                                0.0227238449892691845833, 7.74545014278341407640e-4 };
    static const double d[] = { 2.05319162663775882187,   1.67638483018380384940,
                                0.689767334985100004550,  0.148103976427480074590,
                                0.0151986665636164571966, 5.47593808499534494600e-4,
                                1.05075007164441684324e-9 };
    static const double e[] = { 6.65790464350110377720,    5.46378491116411436990,
                                1.78482653991729133580,    0.296560571828504891230,
                                0.0265321895265761230930,  0.00124266094738807843860,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7 };
    static const double f[] = { 0.599832206555887937690,   0.136929880922735805310,
                                0.0148753612908506148525,  7.86869131145613259100e-4,
                                1.84631831751005468180e-5, 1.42151175831644588870e-7,
                                2.04426310338993978564e-15 };
    double q = p - 0.5;
    if (fabs(q) <= 0.425)
        return q * ratio8(a, b, 0.180625 - q * q);
    double r = sqrt(-log(q < 0 ? p : 1.0 - p));
    double z = r <= 5.0 ? ratio8(c, d, r - 1.6) : ratio8(e, f, r - 5.0);
    return q < 0 ? -z : z;
}

size_t pfc_stats_sign_cut(size_t n, double tail)
{
    if (n > 5000) {
        double cut =
            0.5 * ((double)n + 1.0) + 0.5 * pfc_stats_normal_quantile(tail) * sqrt((double)n);
        return cut > 0.0 ? (size_t)cut : 0;
    }
    double log_p = -(double)n * M_LN2; /* log of C(n, k) / 2^n */
    double below = 0.0;
    size_t k = 0;
    for (; k < n; k++) {
        below += exp(log_p);
        if (below > tail)
            break;
        log_p += log((double)(n - k)) - log((double)(k + 1));
    }
    return k;
}
