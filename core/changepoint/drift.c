/* Trend of a series without its steps: medians of blocks, Theil-Sen, Mann-Kendall. */
#include "core/changepoint/drift.h"

#include <math.h>
#include <stdlib.h>

#include "core/stats/dist.h"
#include "core/stats/sort.h"

#define BLOCKS_MOST 60
/* points of a block, because neighbouring points are correlated and medians of blocks hardly are */
#define BLOCK_LEAST 3

typedef struct blocks {
    double y[BLOCKS_MOST], t[BLOCKS_MOST];
    size_t len;
} blocks;

/* Values with the steps undone: every level is moved to where the first one would be. */
static size_t flatten(const pfc_point *points, size_t n, const pfc_change *changes, size_t len,
                      bool logged, double *y)
{
    double moved = 0.0;
    size_t k = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        for (; k < len && changes[k].index <= i; k++)
            moved += logged ? log1p(changes[k].rel_change) : changes[k].after - changes[k].before;
        if (isfinite(points[i].v))
            y[count++] = (logged ? log(points[i].v) : points[i].v) - moved;
    }
    return count;
}

static void make_blocks(double *y, size_t n, blocks *b)
{
    const size_t size = PFC_MAX((size_t)BLOCK_LEAST, (n + BLOCKS_MOST - 1) / BLOCKS_MOST);
    for (size_t from = 0; from + size <= n; from += size) {
        b->t[b->len] = (double)from + (double)(size - 1) / 2.0;
        b->y[b->len++] = pfc_stats_median_inplace(y + from, size);
    }
}

/* Variance of Kendall's sum of signs without a trend, corrected for ties, which a coarse clock
 * causes; 0 if all values are equal. */
static double deviation_of(const blocks *b)
{
    const double n = (double)b->len;
    double *sorted = pfc_stats_copy(b->y, b->len), sum = n * (n - 1) * (2 * n + 5);
    pfc_stats_sort(sorted, b->len);
    for (size_t i = 0, end = 0; i < b->len; i = end) {
        while (end < b->len && sorted[end] == sorted[i])
            end++;
        const double t = (double)(end - i);
        sum -= t * (t - 1) * (2 * t + 5);
    }
    free(sorted);
    return sqrt(sum / 18);
}

/* Slope with its 95 % interval from the ranks of all pairs' slopes; p of no trend. */
static double slope_of(const blocks *b, double *low, double *high, double *p)
{
    const double deviation = deviation_of(b);
    double *slopes = pfc_calloc(b->len * b->len / 2 + 1, sizeof *slopes), slope, sign = 0.0;
    size_t len = 0;
    for (size_t i = 0; i < b->len; i++) {
        for (size_t k = i + 1; k < b->len; k++) {
            sign += (b->y[k] > b->y[i]) - (b->y[k] < b->y[i]);
            slopes[len++] = (b->y[k] - b->y[i]) / (b->t[k] - b->t[i]);
        }
    }
    pfc_stats_sort(slopes, len);
    slope = pfc_stats_quantile(slopes, len, 0.5);
    const double reach = 1.96 * deviation / (2.0 * (double)len);
    *low = pfc_stats_quantile(slopes, len, PFC_MAX(0.0, 0.5 - reach));
    *high = pfc_stats_quantile(slopes, len, PFC_MIN(1.0, 0.5 + reach));
    const double z = deviation > 0.0 ? PFC_MAX(0.0, fabs(sign) - 1.0) / deviation : 0.0;
    *p = PFC_MAX(PFC_P_MIN, pfc_stats_normal_tail2(z));
    free(slopes);
    return slope;
}

static bool all_above_zero(const pfc_point *points, size_t n, const pfc_change *changes, size_t len)
{
    bool logged = true;
    for (size_t i = 0; i < n; i++)
        logged &= !isfinite(points[i].v) || points[i].v > 0.0;
    for (size_t k = 0; k < len; k++)
        logged &= changes[k].rel_change > -1.0 && isfinite(changes[k].rel_change);
    return logged;
}

bool pfc_stats_drift(const pfc_point *points, size_t n, const pfc_change *changes,
                     size_t changes_len, pfc_drift *out)
{
    double *y = pfc_calloc(n, sizeof *y), low, high, level, span;
    blocks b = { .len = 0 };
    const bool logged = all_above_zero(points, n, changes, changes_len);
    size_t count;
    count = flatten(points, n, changes, changes_len, logged, y);
    make_blocks(y, count, &b);
    if (count < PFC_DRIFT_MIN_POINTS) {
        free(y);
        return false;
    }
    const double slope = slope_of(&b, &low, &high, &out->p);
    span = b.t[b.len - 1] - b.t[0];
    for (size_t i = 0; i < b.len; i++)
        b.y[i] -= slope * (b.t[i] - b.t[0]);
    level = pfc_stats_median(b.y, b.len);
    out->before = logged ? exp(level) : level;
    out->after = logged ? exp(level + slope * span) : level + slope * span;
    out->rel_change = logged ? expm1(slope * span) : slope * span / fabs(level);
    out->rel_low = logged ? expm1(low * span) : low * span / fabs(level);
    out->rel_high = logged ? expm1(high * span) : high * span / fabs(level);
    free(y);
    return isfinite(out->rel_change);
}

bool pfc_stats_drift_since(const pfc_point *points, size_t n, const pfc_change *changes,
                           size_t changes_len, size_t at, pfc_drift *out)
{
    const bool logged = all_above_zero(points, n, changes, changes_len);
    double *y = pfc_calloc(n, sizeof *y), level = 0.0;
    const size_t count = flatten(points, n, changes, changes_len, logged, y);
    size_t old = 0, from;
    pfc_interval shift = { 0 };
    bool known;
    for (size_t i = 0; i <= at && i < n; i++)
        old += isfinite(points[i].v);
    from = old > PFC_DRIFT_SIDE_MAX ? old - PFC_DRIFT_SIDE_MAX : 0;
    known = old >= PFC_DRIFT_SIDE_MIN && count - old >= PFC_DRIFT_SIDE_MIN;
    if (known) {
        const size_t now = PFC_MIN(count - old, (size_t)PFC_DRIFT_SIDE_MAX);
        known = pfc_stats_shift(y + from, old - from, y + count - now, now, 0.95, &shift, NULL) ==
                PFC_OK;
        level = pfc_stats_median(y + from, old - from);
    }
    free(y);
    if (!known || (!logged && level == 0.0))
        return false;
    out->before = logged ? exp(level) : level;
    out->after = logged ? exp(level + shift.value) : level + shift.value;
    out->rel_change = logged ? expm1(shift.value) : shift.value / fabs(level);
    out->rel_low = logged ? expm1(shift.low) : shift.low / fabs(level);
    out->rel_high = logged ? expm1(shift.high) : shift.high / fabs(level);
    return isfinite(out->rel_change);
}
