/* Radix-2 transform (Cooley & Tukey 1965) and Fisher's test of the largest line. */
#include "core/changepoint/fourier.h"

#include <math.h>
#include <stdlib.h>

#define CLIP   4.0
#define CHANCE 1e-4 /* probability that the strongest line of white noise counts as a wave */

static void transform(double *re, double *im, size_t n)
{
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double t = re[i];
            re[i] = re[j];
            re[j] = t;
            t = im[i];
            im[i] = im[j];
            im[j] = t;
        }
    }
    double *c = pfc_calloc(n, sizeof *c);
    double *s = c + n / 2;
    for (size_t k = 0; k < n / 2; k++) {
        double angle = -2.0 * M_PI * (double)k / (double)n;
        c[k] = cos(angle);
        s[k] = sin(angle);
    }
    for (size_t len = 2; len <= n; len <<= 1) {
        size_t stride = n / len;
        for (size_t i = 0; i < n; i += len) {
            for (size_t k = 0; k < len / 2; k++) {
                size_t j = i + k + len / 2;
                double x = re[j] * c[k * stride] - im[j] * s[k * stride];
                double y = re[j] * s[k * stride] + im[j] * c[k * stride];
                re[j] = re[i + k] - x;
                im[j] = im[i + k] - y;
                re[i + k] += x;
                im[i + k] += y;
            }
        }
    }
    free(c);
}

double pfc_fourier_period(const double *z, size_t n, double shortest, double longest)
{
    size_t size = 4;
    while (size < 4 * n)
        size *= 2;
    double *re = pfc_calloc(size, sizeof *re);
    double *im = pfc_calloc(size, sizeof *im);
    for (size_t i = 0; i + 1 < n; i++)
        re[i] = fmax(-CLIP, fmin(CLIP, z[i + 1] - z[i]));
    transform(re, im, size);
    size_t first = (size_t)ceil((double)size / longest);
    size_t last = (size_t)floor((double)size / shortest);
    double sum = 0.0;
    double best = 0.0;
    size_t at = 0;
    for (size_t k = 1; k < size / 2; k++) {
        /* White noise differenced has the spectrum 4 sin^2(w / 2): divided out. */
        double s = 2.0 * sin(M_PI * (double)k / (double)size);
        double power = (re[k] * re[k] + im[k] * im[k]) / (s * s);
        re[k] = power;
        if (k >= first && k <= last && power > best) {
            best = power;
            at = k;
        }
        if (k >= first)
            sum += power;
    }
    double mean = sum / (double)(size / 2 - first);
    double lines = 0.5 * (double)n;
    double period = 0.0;
    /* A line, not a slope: it must be a peak, well above its own neighbours on the low side. */
    bool peak = at > first && at < last && re[at - 1] <= best && re[at + 1] <= best;
    if (peak && best > mean * log(lines / CHANCE)) {
        double a = re[at - 1];
        double c = re[at + 1];
        double shift = 0.5 * (a - c) / (a - 2.0 * best + c);
        period = (double)size / ((double)at + shift);
    }
    free(re);
    free(im);
    return period;
}
