/* Medians, with the values reordered in place. Most of the detector's time is spent here, so a
 * sample narrows the range first, and no branch depends on a single value. */
#include <math.h>

#include "core/stats/sort.h"

#define FEW    16 /* values in a sample of the input */
#define MARGIN 2  /* order statistics of the sample on each side of the wanted one */
#define LEAST  32 /* from this many values on, sampling is faster */

/* Counting and moving are the same in vectors of any width, so the answer is that of the plain
 * loops on every machine. */
#if defined(__x86_64__)
#include <immintrin.h>
#define WIDE __attribute__((target("avx512f,popcnt")))

static bool has_wide(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("popcnt");
}

WIDE static inline __mmask8 lanes(size_t left)
{
    return (__mmask8)(left < 8 ? (1u << left) - 1 : 0xffu);
}

WIDE static inline size_t bits(__mmask8 mask)
{
    return (size_t)__builtin_popcount(mask);
}

WIDE static void count_wide(const double *x, size_t n, double low, double high, size_t *under,
                            size_t *upto)
{
    __m512d l = _mm512_set1_pd(low);
    __m512d h = _mm512_set1_pd(high);
    size_t less = 0;
    size_t most = 0;
    for (size_t i = 0; i < n; i += 8) {
        __mmask8 in = lanes(n - i);
        __m512d v = _mm512_maskz_loadu_pd(in, x + i);
        less += bits(_mm512_mask_cmp_pd_mask(in, v, l, _CMP_LT_OQ));
        most += bits(_mm512_mask_cmp_pd_mask(in, v, h, _CMP_LE_OQ));
    }
    *under = less;
    *upto = most;
}

WIDE static size_t keep_wide(double *x, size_t n, double low, double high)
{
    __m512d l = _mm512_set1_pd(low);
    __m512d h = _mm512_set1_pd(high);
    size_t kept = 0;
    for (size_t i = 0; i < n; i += 8) {
        __mmask8 in = lanes(n - i);
        __m512d v = _mm512_maskz_loadu_pd(in, x + i);
        in = _mm512_mask_cmp_pd_mask(in, v, l, _CMP_GE_OQ);
        in = _mm512_mask_cmp_pd_mask(in, v, h, _CMP_LE_OQ);
        size_t more = bits(in);
        _mm512_mask_storeu_pd(x + kept, lanes(more), _mm512_maskz_compress_pd(in, v));
        kept += more;
    }
    return kept;
}

/* The order statistics a and b of n <= LEAST values: the largest with at most so many below them.
 */
WIDE static void order_wide(const double *x, size_t n, size_t a, size_t b, double *low,
                            double *high)
{
    const __m512d far = _mm512_set1_pd((double)INFINITY);
    const __m512d none = _mm512_set1_pd(-(double)INFINITY);
    const __m512i one = _mm512_set1_epi64(1);
    const __m512i most_a = _mm512_set1_epi64((int64_t)a);
    const __m512i most_b = _mm512_set1_epi64((int64_t)b);
    __m512d l = none;
    __m512d h = none;
    for (size_t k = 0; k < n; k += 8) {
        __mmask8 in = lanes(n - k);
        __m512d v = _mm512_mask_loadu_pd(far, in, x + k);
        __m512i less = _mm512_setzero_si512();
        for (size_t j = 0; j < n; j++)
            less = _mm512_mask_add_epi64(
                less, _mm512_cmp_pd_mask(_mm512_set1_pd(x[j]), v, _CMP_LT_OQ), less, one);
        __mmask8 upto_a = _mm512_mask_cmple_epi64_mask(in, less, most_a);
        __mmask8 upto_b = _mm512_mask_cmple_epi64_mask(in, less, most_b);
        l = _mm512_max_pd(l, _mm512_mask_mov_pd(none, upto_a, v));
        h = _mm512_max_pd(h, _mm512_mask_mov_pd(none, upto_b, v));
    }
    *low = _mm512_reduce_max_pd(l);
    *high = _mm512_reduce_max_pd(h);
}
#else
static bool has_wide(void)
{
    return false;
}
#define count_wide count
#define keep_wide  keep
#define order_wide order
#endif

static void count(const double *x, size_t n, double low, double high, size_t *under, size_t *upto)
{
    *under = *upto = 0;
    for (size_t i = 0; i < n; i++) {
        *under += x[i] < low;
        *upto += x[i] <= high;
    }
}

/* Moves what lies in [low, high] to the front and returns how many that are. */
static size_t keep(double *x, size_t n, double low, double high)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        double v = x[i];
        x[kept] = v;
        kept += (size_t)((v >= low) & (v <= high));
    }
    return kept;
}

static void order(const double *x, size_t n, size_t a, size_t b, double *low, double *high)
{
    *low = *high = -(double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        size_t less = 0;
        for (size_t j = 0; j < n; j++)
            less += x[j] < x[i];
        *low = less <= a && x[i] > *low ? x[i] : *low;
        *high = less <= b && x[i] > *high ? x[i] : *high;
    }
}

/* Finds, by a sample, two order statistics that probably enclose the k-th value. */
static void bracket(const double *x, size_t n, size_t k, bool wide, double *low, double *high)
{
    double few[FEW];
    size_t at = k * (FEW - 1) / (n - 1);
    size_t a = at > MARGIN ? at - MARGIN : 0;
    size_t b = PFC_MIN(at + 1 + MARGIN, (size_t)FEW - 1);
    for (size_t i = 0; i < FEW; i++)
        few[i] = x[i * (n / FEW)];
    if (wide)
        order_wide(few, FEW, a, b, low, high);
    else
        order(few, FEW, a, b, low, high);
}

static double middle(double low, double high)
{
    /* Halves first: the sum of two huge values would overflow. */
    return low == high ? low : 0.5 * low + 0.5 * high;
}

double pfc_stats_median_spend(double *x, size_t n)
{
    size_t k = (n - 1) / 2; /* the median is the mean of the k-th and the l-th of what is left */
    size_t l = n / 2;
    bool wide = has_wide();
    double low;
    double high;
    while (n > LEAST) {
        size_t under;
        size_t upto;
        bracket(x, n, k, wide, &low, &high);
        if (wide)
            count_wide(x, n, low, high, &under, &upto);
        else
            count(x, n, low, high, &under, &upto);
        if (l < under) { /* the range does not hold the k-th value */
            high = nextafter(low, -(double)INFINITY);
            low = -(double)INFINITY;
            upto = under;
            under = 0;
        } else if (k >= upto) {
            low = nextafter(high, (double)INFINITY);
            high = (double)INFINITY;
            under = upto;
            upto = n;
        }
        /* If many values are equal or the range was wrong, sampling cannot succeed: use the plain
         * selection. */
        if (k < under || l >= upto || 4 * (upto - under) > 3 * n) {
            low = pfc_stats_select(x, n, k);
            return middle(low, l > k ? pfc_stats_select(x + l, n - l, 0) : low);
        }
        n = wide ? keep_wide(x, n, low, high) : keep(x, n, low, high);
        k -= under;
        l -= under;
    }
    if (wide)
        order_wide(x, n, k, l, &low, &high);
    else
        order(x, n, k, l, &low, &high);
    return middle(low, high);
}
