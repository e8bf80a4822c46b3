/* Which changes are clear enough for an alert, and LORD++ (see the header) over time. */
#include "core/changepoint/fdr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/changepoint/changepoint.h"
#include "core/stats/dist.h"
#include "core/stats/sort.h"

#define FIRM_POINTS       5
#define FIRM_LONG         20
#define FIRM_EVIDENCE     7.0 /* standard errors */
/* After an accepted level. On seeded series without a change after one (normal, t(4) and AR(0.5)
 * noise, 300 each, a look a point) these open no more alerts than the rule above does. */
#define ACCEPTED_POINTS   3
#define ACCEPTED_EVIDENCE 6.0
#define ACCEPTED_RATIO    8.0  /* 12 in a series without excursions, 3 after one of three points */
#define UNKNOWN           1.64 /* standard errors of a correlation that cannot be ruled out */
#define ALIKE_MOST        0.6
#define INTERVAL          1.96 /* standard errors to each side, of rel_low..rel_high */

/* The evidence of the detector: the jump divided by its standard error. */
static double clearness(const pfc_change *c)
{
    double jump = c->rel_change;
    double width = c->rel_high - c->rel_low;
    double z = -pfc_stats_normal_quantile(PFC_MAX(PFC_MIN(c->p, 1.0), PFC_P_MIN) / 2.0);
    if (c->p > PFC_P_MIN)
        return z;
    if (c->rel_low > -1.0 && c->rel_change > -1.0) {
        jump = log1p(c->rel_change);
        width = log1p(c->rel_high) - log1p(c->rel_low);
    }
    if (!(width > 0.0))
        return (double)INFINITY;
    return PFC_MAX(z, fabs(jump) / width * 2.0 * INTERVAL);
}

/* Factor by which a standard error can be larger than its estimate, with the highest correlation
 * that cannot be ruled out. */
static double stretch(double n)
{
    const double alike = PFC_MIN(UNKNOWN / sqrt(n), ALIKE_MOST);
    return sqrt((1.0 + alike) / (1.0 - alike));
}

static double freedom_of(double n)
{
    return PFC_MAX(n - 4.0, 1.0);
}

double pfc_fdr_sureness(const pfc_change *change, size_t points)
{
    const double n = (double)PFC_MAX(points, (size_t)1);
    const double z = clearness(change) / stretch(n);
    return isfinite(z) ? sqrt(freedom_of(n) * log1p(z * z / freedom_of(n))) : z;
}

double pfc_fdr_needed(size_t points)
{
    const double n = (double)PFC_MAX(points, (size_t)1), df = freedom_of(n);
    return stretch(n) * sqrt(df * expm1(FIRM_EVIDENCE * FIRM_EVIDENCE / df));
}

double pfc_fdr_anywhere(const pfc_change *change, size_t points, bool exact)
{
    if (exact)
        return change->p;
    double p = pfc_stats_normal_tail2(pfc_fdr_sureness(change, points));
    return PFC_MIN(1.0, PFC_MAX(p, PFC_P_MIN) * (double)PFC_MAX(points, (size_t)1));
}

bool pfc_alert_justified(const pfc_change *change, size_t end)
{
    const size_t after = end - change->index;
    if (change->confirmed || after >= FIRM_LONG)
        return true;
    return after >= FIRM_POINTS && pfc_fdr_sureness(change, end) >= FIRM_EVIDENCE;
}

bool pfc_alert_justified_accepted(const pfc_change *change, size_t end, double ratio)
{
    return pfc_alert_justified(change, end) ||
           (end - change->index >= ACCEPTED_POINTS && ratio >= ACCEPTED_RATIO &&
            pfc_fdr_sureness(change, end) >= ACCEPTED_EVIDENCE);
}

void pfc_fdr_keep(const double *p, size_t n, size_t measured, double q, bool *keep)
{
    size_t all = PFC_MAX(n, measured);
    double *padded = pfc_calloc(all, sizeof *padded);
    bool *kept = pfc_calloc(all, sizeof *kept);
    memcpy(padded, p, n * sizeof *p);
    for (size_t i = n; i < all; i++)
        padded[i] = 1.0;
    pfc_stats_fdr(padded, all, q, kept);
    memcpy(keep, kept, n * sizeof *keep);
    free(kept);
    free(padded);
}

/* ---- over time ---- */

/* Sums to 1 over all n >= 1. */
static double share_of(size_t n)
{
    const double x = (double)n;
    return 0.07720838 * log(PFC_MAX(x, 2.0)) / (x * exp(sqrt(log(x))));
}

double pfc_fdr_lord(double alpha, double w0, size_t t, const size_t *found, size_t found_len)
{
    double level = w0 * share_of(t);
    for (size_t k = 0; k < found_len && found[k] < t; k++)
        level += (k == 0 ? alpha - w0 : alpha) * share_of(t - found[k]);
    return level;
}

int64_t pfc_fdr_epoch(int64_t position)
{
    return (PFC_MAX(position, (int64_t)1) - 1) / PFC_FDR_EPOCH * PFC_FDR_EPOCH + 1;
}

void pfc_fdr_found(pfc_fdr_stream *stream, int64_t position)
{
    size_t k = stream->len;
    while (k > 0 && stream->found[k - 1] > position)
        k--;
    if (k > 0 && stream->found[k - 1] == position)
        return;
    stream->found = pfc_grow(stream->found, stream->len, &stream->cap, sizeof *stream->found);
    memmove(stream->found + k + 1, stream->found + k, (stream->len - k) * sizeof *stream->found);
    stream->found[k] = position;
    stream->len++;
}

double pfc_fdr_level(const pfc_fdr_stream *stream, int64_t position)
{
    const double fdr = stream->fdr > 0.0 ? stream->fdr : PFC_ALERT_FDR;
    const int64_t start = pfc_fdr_epoch(position);
    size_t found[PFC_FDR_EPOCH];
    size_t len = 0;
    for (size_t k = 0; k < stream->len && stream->found[k] < position; k++) {
        if (stream->found[k] >= start)
            found[len++] = (size_t)(stream->found[k] - start + 1);
    }
    return fmin(fdr, pfc_fdr_lord(fdr, fdr / 2.0, (size_t)(PFC_MAX(position, start) - start + 1),
                                  found, len));
}

void pfc_fdr_stream_clear(pfc_fdr_stream *stream)
{
    free(stream->found);
    *stream = (pfc_fdr_stream){ .fdr = stream->fdr };
}
