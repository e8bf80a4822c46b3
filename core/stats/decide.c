/* Which candidates stand: evidence against the neighbouring levels only, weakest first. */
#include <math.h>
#include <string.h>

#include "core/stats/fit.h"
#include "core/stats/sort.h"

#define HUBER 1.5

static double level_mean(const pfc_fit *f, size_t from, size_t to)
{
    size_t n = to - from;
    memcpy(f->scratch, f->z + from, n * sizeof *f->z);
    double centre = pfc_stats_median_inplace(f->scratch, n);
    if (n < 3)
        return centre;
    double sum = 0.0;
    double inside = 0.0;
    for (size_t i = from; i < to; i++) {
        double r = f->z[i] - centre;
        sum += PFC_MAX(-HUBER, PFC_MIN(HUBER, r));
        inside += fabs(r) < HUBER;
    }
    return centre + sum / PFC_MAX(inside, 0.3 * (double)n);
}

/* Smallest |z| of a real change among the n places it could have been: a level of about one false
 * candidate in a hundred series, widened where sigma itself rests on few points. */
static double threshold(const pfc_fit *f)
{
    double n = (double)f->n;
    double z = sqrt(2.0 * (log(n) + 4.0));
    double df = n - 2.0 * (double)f->changes - 2.0;
    df = PFC_MAX(df, 2.0);
    return df > 200.0 ? z : sqrt(df * expm1(z * z / df));
}

double pfc_fit_evidence(const pfc_fit *f, size_t k)
{
    double na = (double)(pfc_level_to(f, k) - pfc_level_from(f, k));
    double nb = (double)(pfc_level_to(f, k + 1) - pfc_level_from(f, k + 1));
    return fabs(f->mean[k + 1] - f->mean[k]) / sqrt(f->noise.inflate * (1.0 / na + 1.0 / nb));
}

static void drop(pfc_fit *f, size_t k)
{
    memmove(f->starts + k, f->starts + k + 1, (f->changes - k - 1) * sizeof *f->starts);
    memmove(f->mean + k + 1, f->mean + k + 2, (f->changes - k - 1) * sizeof *f->mean);
    f->changes--;
    f->mean[k] = level_mean(f, pfc_level_from(f, k), pfc_level_to(f, k));
}

static double margin(const pfc_fit *f, size_t k, double need)
{
    size_t left = pfc_level_to(f, k) - pfc_level_from(f, k);
    size_t right = pfc_level_to(f, k + 1) - pfc_level_from(f, k + 1);
    double z = pfc_fit_evidence(f, k);
    bool last = k + 1 == f->changes;
    if (right < 2 || (right < 3 && !last) || left < 2 || (left < 3 && k > 0))
        return z / need - 1000.0;
    return z / need - 1.0;
}

void pfc_fit_decide(pfc_fit *f)
{
    for (size_t k = 0; k <= f->changes; k++)
        f->mean[k] = level_mean(f, pfc_level_from(f, k), pfc_level_to(f, k));
    while (f->changes > 0) {
        double worst = 0.0;
        size_t at = SIZE_MAX;
        double need = threshold(f);
        for (size_t k = 0; k < f->changes; k++) {
            double m = margin(f, k, need);
            if (m < worst) {
                worst = m;
                at = k;
            }
        }
        if (at == SIZE_MAX)
            break;
        drop(f, at);
    }
}
