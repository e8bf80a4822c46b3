/* The normal distribution and the binomial with p = 1/2. */
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
