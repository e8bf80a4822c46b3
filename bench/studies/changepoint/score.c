/* Matching detections with labels, and the figures that follow. */
#include "bench/studies/changepoint/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t margins[PFC_SCORE_MARGINS] = { 0, 2, 5 };

typedef struct counts {
    size_t tp, fp, fn;
} counts;

static size_t apart(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* Largest one-to-one matching of two ascending lists; marks what was used of `found`. */
static size_t match(const size_t *want, size_t wanted, const size_t *found, size_t len,
                    size_t margin, bool *used)
{
    size_t i = 0;
    size_t j = 0;
    size_t pairs = 0;
    while (i < wanted && j < len) {
        if (apart(want[i], found[j]) <= margin) {
            used[j] = true;
            pairs++;
            i++;
            j++;
        } else if (found[j] < want[i]) {
            j++;
        } else {
            i++;
        }
    }
    return pairs;
}

static size_t labels_of(const pfc_labelled *s, bool optional, size_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < s->labels_len; i++) {
        if (s->labels[i].optional == optional)
            out[n++] = s->labels[i].index;
    }
    return n;
}

static bool ignored(const pfc_labelled *s, size_t index)
{
    for (size_t i = 0; i < s->ignore_len; i++) {
        if (index >= s->ignore[2 * i] && index <= s->ignore[2 * i + 1])
            return true;
    }
    return false;
}

/* Optional changes and ignored ranges absorb detections at no cost. */
static counts count(const pfc_labelled *s, const pfc_answer *a, size_t margin)
{
    size_t *want = pfc_calloc(s->labels_len, sizeof *want);
    size_t *rest = pfc_calloc(a->len, sizeof *rest);
    bool *used = pfc_calloc(a->len, sizeof *used);
    counts c = { 0 };
    size_t wanted = labels_of(s, false, want);
    c.tp = match(want, wanted, a->changes, a->len, margin, used);
    c.fn = wanted - c.tp;
    size_t left = 0;
    for (size_t i = 0; i < a->len; i++) {
        if (!used[i])
            rest[left++] = a->changes[i];
    }
    memset(used, 0, a->len * sizeof *used);
    wanted = labels_of(s, true, want);
    (void)match(want, wanted, rest, left, PFC_MAX(margin, (size_t)3), used);
    for (size_t i = 0; i < left; i++)
        c.fp += !used[i] && !ignored(s, rest[i]);
    free(used);
    free(rest);
    free(want);
    return c;
}

static double f1(double tp, double fp, double fn)
{
    double p = tp + fp > 0.0 ? tp / (tp + fp) : 1.0;
    double r = tp + fn > 0.0 ? tp / (tp + fn) : 1.0;
    return p + r > 0.0 ? 2.0 * p * r / (p + r) : 0.0;
}

double pfc_score_f1(const pfc_category_score *c, int margin)
{
    return f1((double)c->tp[margin], (double)c->fp[margin], (double)c->fn[margin]);
}

static pfc_category_score *category_of(pfc_score *score, const pfc_labelled *s)
{
    for (size_t i = 0; i < score->categories_len; i++) {
        pfc_category_score *c = &score->categories[i];
        /* A category may have both kinds of series: they are counted apart. */
        if (c->null == s->null && strcmp(c->name, s->category) == 0)
            return c;
    }
    pfc_category_score *c = &score->categories[score->categories_len++];
    *c = (pfc_category_score){ .name = s->category, .null = s->null };
    return c;
}

static void count_places(const pfc_labelled *s, const pfc_answer *a, size_t *matched, size_t *exact)
{
    size_t *want = pfc_calloc(s->labels_len, sizeof *want);
    size_t wanted = labels_of(s, false, want);
    for (size_t i = 0; i < wanted; i++) {
        size_t nearest = SIZE_MAX;
        for (size_t k = 0; k < a->len; k++)
            nearest = PFC_MIN(nearest, apart(want[i], a->changes[k]));
        *matched += nearest <= 5;
        *exact += nearest == 0;
    }
    free(want);
}

/* ---- delay: the same series cut later and later ---- */

typedef struct cut {
    const char *group;
    size_t after;
    bool found;
} cut;

static int by_group(const void *a, const void *b)
{
    const cut *x = a;
    const cut *y = b;
    int order = strcmp(x->group, y->group);
    return order ? order : (x->after > y->after) - (x->after < y->after);
}

typedef struct delays {
    size_t groups, sum, at_1, at_3, at_5;
} delays;

/* One group, its cuts in order: the first after which it is found at all. */
static void add_group(delays *d, const cut *cuts, size_t n)
{
    size_t points = PFC_SCORE_NEVER;
    for (size_t i = n; i-- > 0 && cuts[i].found;)
        points = cuts[i].after;
    d->groups++;
    d->sum += points;
    for (size_t i = 0; i < n; i++) {
        d->at_1 += cuts[i].found && cuts[i].after == 1;
        d->at_3 += cuts[i].found && cuts[i].after == 3;
        d->at_5 += cuts[i].found && cuts[i].after == 5;
    }
}

static delays measure_delay(cut *cuts, size_t n)
{
    delays d = { 0 };
    if (n)
        qsort(cuts, n, sizeof *cuts, by_group);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && strcmp(cuts[to].group, cuts[from].group) == 0; to++)
            ;
        add_group(&d, cuts + from, to - from);
    }
    return d;
}

/* ---- all together ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const pfc_category_score *)a)->name, ((const pfc_category_score *)b)->name);
}

static void finish(pfc_score *out, const delays *d, size_t matched, size_t exact)
{
    size_t points = 0, fp = 0, series = 0, hit = 0, scored = 0;
    for (size_t i = 0; i < out->categories_len; i++) {
        pfc_category_score *c = &out->categories[i];
        if (c->null) {
            points += c->points;
            fp += c->fp[PFC_MARGIN_2];
            series += c->series;
            hit += c->hit;
            out->null_worst =
                fmax(out->null_worst, 1000.0 * (double)c->fp[PFC_MARGIN_2] / (double)c->points);
            continue;
        }
        c->scored = c->tp[PFC_MARGIN_2] + c->fn[PFC_MARGIN_2] > 0;
        scored += c->scored;
        for (int m = 0; m < PFC_SCORE_MARGINS && c->scored; m++)
            out->macro_f1[m] += pfc_score_f1(c, m);
    }
    for (int m = 0; m < PFC_SCORE_MARGINS; m++)
        out->macro_f1[m] /= (double)PFC_MAX(scored, (size_t)1);
    out->null_per_1000 = 1000.0 * (double)fp / (double)PFC_MAX(points, (size_t)1);
    out->null_hit = (double)hit / (double)PFC_MAX(series, (size_t)1);
    double groups = (double)PFC_MAX(d->groups, (size_t)1);
    out->delay = d->groups ? (double)d->sum / groups : (double)PFC_SCORE_NEVER;
    out->found_at_1 = (double)d->at_1 / groups;
    out->found_at_3 = (double)d->at_3 / groups;
    out->found_at_5 = (double)d->at_5 / groups;
    out->exact = matched ? (double)exact / (double)matched : (double)NAN;
    double a = out->macro_f1[PFC_MARGIN_2];
    double b = 1.0 / (1.0 + out->null_per_1000);
    double p = 1.0 - out->delay / PFC_SCORE_NEVER;
    out->headline = a * b * p > 0.0 ? 300.0 * a * b * p / (a * b + b * p + a * p) : 0.0;
    if (out->categories_len)
        qsort(out->categories, out->categories_len, sizeof *out->categories, by_name);
}

void pfc_score_answers(const pfc_corpus *corpus, const pfc_answer *answers, pfc_score *out)
{
    size_t cuts_len = 0, matched = 0, exact = 0;
    cut *cuts = pfc_calloc(corpus->len, sizeof *cuts);
    *out = (pfc_score){ .categories = pfc_calloc(corpus->len, sizeof *out->categories) };
    for (size_t i = 0; i < corpus->len; i++) {
        const pfc_labelled *s = &corpus->items[i];
        const pfc_answer *a = &answers[i];
        if (s->foreign || (s->weak && !s->group))
            continue;
        if (s->group) {
            cuts[cuts_len++] = (cut){ s->group, s->after, count(s, a, 2).tp > 0 };
            continue;
        }
        pfc_category_score *c = category_of(out, s);
        c->series++;
        c->points += s->len;
        for (int m = 0; m < PFC_SCORE_MARGINS; m++) {
            counts n = count(s, a, s->null ? 2 : margins[m]);
            c->tp[m] += n.tp;
            c->fp[m] += n.fp;
            c->fn[m] += n.fn;
            c->hit += m == PFC_MARGIN_2 && n.fp > 0;
        }
        if (!s->null)
            count_places(s, a, &matched, &exact);
    }
    delays d = measure_delay(cuts, cuts_len);
    finish(out, &d, matched, exact);
    free(cuts);
}

void pfc_score_clear(pfc_score *score)
{
    free(score->categories);
    *score = (pfc_score){ 0 };
}
