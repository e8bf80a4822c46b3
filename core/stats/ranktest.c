/* Mann-Whitney, Wilcoxon signed rank and the Hodges-Lehmann shift. */
#include "core/stats/ranktest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats/dist.h"
#include "core/stats/sort.h"
#include "core/stats/stats.h"

#define SIGNED_EXACT_MAX 30
#define U_CELLS          (PFC_RANKTEST_EXACT_MAX * PFC_RANKTEST_EXACT_MAX / 4 + 1)
#define W_CELLS          (SIGNED_EXACT_MAX * (SIGNED_EXACT_MAX + 1) / 2 + 1)

/* counts[u]: orderings of na + nb values with statistic u, as coefficients of the Gaussian
 * binomial, multiplied out factor by factor. Returns their sum. */
static double u_counts(size_t na, size_t nb, double *counts)
{
    size_t cells = na * nb + 1;
    memset(counts, 0, U_CELLS * sizeof *counts);
    counts[0] = 1.0;
    for (size_t i = 1; i <= na; i++) {
        for (size_t u = cells; u-- > nb + i;)
            counts[u] -= counts[u - nb - i];
        for (size_t u = i; u < cells; u++)
            counts[u] += counts[u - i];
    }
    double total = 0.0;
    for (size_t u = 0; u < cells; u++)
        total += counts[u];
    return total;
}

/* counts[w]: sign patterns of ranks 1..n with positive rank sum w; their sum is 2^n. */
static double w_counts(size_t n, double *counts)
{
    memset(counts, 0, W_CELLS * sizeof *counts);
    counts[0] = 1.0;
    for (size_t i = 1; i <= n; i++) {
        for (size_t w = n * (n + 1) / 2 + 1; w-- > i;)
            counts[w] += counts[w - i];
    }
    return ldexp(1.0, (int)n);
}

static double count_tail2(const double *counts, double total, size_t cells, double stat)
{
    double mirrored = PFC_MIN(stat, (double)(cells - 1) - stat);
    double tail = 0.0;
    for (size_t u = 0; u < cells && (double)u <= mirrored + 0.25; u++)
        tail += counts[u];
    return PFC_MIN(1.0, 2.0 * tail / total);
}

static double normal_tail2(double stat, double mean, double var)
{
    double off = PFC_MAX(fabs(stat - mean) - 0.5, 0.0);
    if (!(var > 0.0))
        return 1.0;
    /* A p-value of 0 would claim certainty; the smallest double is what is left of it. */
    return PFC_MAX(pfc_stats_normal_tail2(off / sqrt(var)), 1e-300);
}

/* U of b over sorted a and b (ties count half), and the sum of t^3 - t over groups of ties. */
static double u_statistic(const double *a, size_t na, const double *b, size_t nb, double *ties)
{
    double u = 0.0;
    size_t i = 0;
    size_t j = 0;
    *ties = 0.0;
    while (i < na || j < nb) {
        double v = j >= nb || (i < na && a[i] <= b[j]) ? a[i] : b[j];
        size_t ia = i;
        size_t jb = j;
        while (i < na && a[i] == v)
            i++;
        while (j < nb && b[j] == v)
            j++;
        double ca = (double)(i - ia);
        double cb = (double)(j - jb);
        double t = ca + cb;
        u += cb * ((double)ia + 0.5 * ca);
        *ties += t * t * t - t;
    }
    return u;
}

double pfc_ranktest_p(const double *a, size_t na, const double *b, size_t nb, double *superior)
{
    double *sa = pfc_stats_copy(a, na);
    double *sb = pfc_stats_copy(b, nb);
    double ties;
    pfc_stats_sort(sa, na);
    pfc_stats_sort(sb, nb);
    double u = u_statistic(sa, na, sb, nb, &ties);
    free(sa);
    free(sb);
    double pairs = (double)na * (double)nb;
    double n = (double)(na + nb);
    if (superior)
        *superior = u / pairs;
    if (na + nb <= PFC_RANKTEST_EXACT_MAX && ties == 0.0) {
        double counts[U_CELLS];
        double total = u_counts(na, nb, counts);
        return count_tail2(counts, total, na * nb + 1, u);
    }
    return normal_tail2(u, 0.5 * pairs, pairs / 12.0 * (n + 1.0 - ties / (n * (n - 1.0))));
}

static int by_size(const void *a, const void *b)
{
    double x = fabs(*(const double *)a);
    double y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

double pfc_signed_rank_p(const double *d, size_t n)
{
    double *x = pfc_stats_copy(d, n);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (d[i] != 0.0)
            x[kept++] = d[i];
    }
    qsort(x, kept, sizeof *x, by_size);
    double w = 0.0;
    double ties = 0.0;
    for (size_t i = 0; i < kept;) {
        size_t end = i;
        size_t up = 0;
        while (end < kept && fabs(x[end]) == fabs(x[i]))
            up += x[end++] > 0.0;
        double t = (double)(end - i);
        w += (double)up * 0.5 * (double)(i + 1 + end);
        ties += t * t * t - t;
        i = end;
    }
    free(x);
    if (kept == 0)
        return 1.0;
    if (kept <= SIGNED_EXACT_MAX && ties == 0.0) {
        double counts[W_CELLS];
        double total = w_counts(kept, counts);
        return count_tail2(counts, total, kept * (kept + 1) / 2 + 1, w);
    }
    double m = (double)kept;
    return normal_tail2(w, 0.25 * m * (m + 1.0),
                        m * (m + 1.0) * (2.0 * m + 1.0) / 24.0 - ties / 48.0);
}

static double cut_of_counts(const double *counts, double total, size_t cells, double tail)
{
    double below = 0.0;
    size_t u = 0;
    for (; u < cells; u++) {
        below += counts[u];
        if (below > tail * total * (1.0 + 1e-12))
            break;
    }
    return (double)u;
}

double pfc_ranktest_cut(size_t na, size_t nb, double tail)
{
    if (na + nb <= PFC_RANKTEST_EXACT_MAX) {
        double counts[U_CELLS];
        double total = u_counts(na, nb, counts);
        return cut_of_counts(counts, total, na * nb + 1, tail);
    }
    double pairs = (double)na * (double)nb;
    double sd = sqrt(pairs * (double)(na + nb + 1) / 12.0);
    return PFC_MAX(0.0, floor(0.5 * pairs + pfc_stats_normal_quantile(tail) * sd));
}

double pfc_signed_rank_cut(size_t n, double tail)
{
    if (n <= SIGNED_EXACT_MAX) {
        double counts[W_CELLS];
        double total = w_counts(n, counts);
        return cut_of_counts(counts, total, n * (n + 1) / 2 + 1, tail);
    }
    double m = (double)n;
    double sd = sqrt(m * (m + 1.0) * (2.0 * m + 1.0) / 24.0);
    return PFC_MAX(0.0, floor(0.25 * m * (m + 1.0) + pfc_stats_normal_quantile(tail) * sd));
}

static pfc_code check_sample(const char *name, const double *x, size_t n, size_t min, pfc_err *err)
{
    if (n < min || n > PFC_STATS_MAX_SAMPLES)
        return pfc_err_set_field(err, PFC_EINVAL, name,
                                 "sample %s: expected %zu..%d values, got %zu", name, min,
                                 PFC_STATS_MAX_SAMPLES, n);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            return pfc_err_set_field(err, PFC_EINVAL, name,
                                     "sample %s: expected finite values, value %zu is %g", name, i,
                                     x[i]);
    }
    return PFC_OK;
}

pfc_code pfc_stats_ranktest(const double *a, size_t na, const double *b, size_t nb, double *p,
                            pfc_err *err)
{
    pfc_code code = check_sample("a", a, na, 3, err);
    if (!code)
        code = check_sample("b", b, nb, 3, err);
    if (!code)
        *p = pfc_ranktest_p(a, na, b, nb, NULL);
    return code;
}

/* Doubles in order as integers, so that a bisection over them ends after 64 steps. */
static uint64_t to_ordered(double v)
{
    uint64_t bits;
    v += 0.0; /* -0 becomes +0 */
    memcpy(&bits, &v, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ULL << 63;
}

static double from_ordered(uint64_t key)
{
    uint64_t bits = key >> 63 ? key & ~(1ULL << 63) : ~key;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Number of pairs with b[j] - a[i] <= limit, a and b sorted: one pass, because the border only
 * moves up in b as a grows. */
static double pairs_up_to(const double *a, size_t na, const double *b, size_t nb, double limit)
{
    double count = 0.0;
    size_t j = 0;
    for (size_t i = 0; i < na; i++) {
        while (j < nb && b[j] - a[i] <= limit)
            j++;
        count += (double)j;
    }
    return count;
}

/* The rank-th smallest difference, rank from 1: na * nb of them are never written down. */
static double kth_difference(const double *a, size_t na, const double *b, size_t nb, double rank)
{
    uint64_t low = to_ordered(PFC_MAX(b[0] - a[na - 1], -1.7e308));
    uint64_t high = to_ordered(PFC_MIN(b[nb - 1] - a[0], 1.7e308));
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (pairs_up_to(a, na, b, nb, from_ordered(middle)) >= rank)
            high = middle;
        else
            low = middle + 1;
    }
    return from_ordered(low);
}

pfc_code pfc_stats_shift(const double *a, size_t na, const double *b, size_t nb, double level,
                         pfc_interval *out, pfc_err *err)
{
    pfc_code code = check_sample("a", a, na, 1, err);
    if (!code)
        code = check_sample("b", b, nb, 1, err);
    if (!code && !(level > 0.0 && level < 1.0))
        code = pfc_err_set_field(err, PFC_EINVAL, "level",
                                 "level: expected between 0 and 1, got %g", level);
    if (code)
        return code;
    double *sa = pfc_stats_copy(a, na);
    double *sb = pfc_stats_copy(b, nb);
    pfc_stats_sort(sa, na);
    pfc_stats_sort(sb, nb);
    double pairs = (double)na * (double)nb;
    double cut = pfc_ranktest_cut(na, nb, 0.5 * (1.0 - level));
    double low_rank = PFC_MAX(1.0, cut);
    double lower = kth_difference(sa, na, sb, nb, floor(0.5 * (pairs + 1.0)));
    double upper = kth_difference(sa, na, sb, nb, ceil(0.5 * (pairs + 1.0)));
    out->value = 0.5 * lower + 0.5 * upper;
    out->low = kth_difference(sa, na, sb, nb, low_rank);
    out->high = kth_difference(sa, na, sb, nb, pairs + 1.0 - low_rank);
    free(sa);
    free(sb);
    return PFC_OK;
}
