/* perfci detect --explain: every candidate, and in words why it was kept or dropped. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/detect/show.h"
#include "cli/output/output.h"
#include "core/base/buf.h"
#include "core/changepoint/changepoint.h"

/* thresholds of a detector that reports nearly every candidate, so that the dropped ones can be
 * explained */
#define ANYTHING_ALPHA 0.5
#define ANYTHING_REL   1e-9  /* ... and has no floor */
#define USUAL_FLOOR    0.005 /* as stats.h says of min_rel 0 */
#define USUAL_ALPHA    0.01
/* a single point this many standard deviations off its level is mentioned */
#define SPIKE_NOISE    6.0
#define SPIKES_SHOWN   5

static void add(pfc_reasons *out, size_t index, bool kept, char *text)
{
    out->items = pfc_grow(out->items, out->len, &out->cap, sizeof(*out->items));
    out->items[out->len++] = (pfc_reason){ .index = index, .kept = kept, .text = text };
}

void pfc_reasons_clear(pfc_reasons *reasons)
{
    for (size_t i = 0; i < reasons->len; i++)
        free(reasons->items[i].text);
    free(reasons->items);
    memset(reasons, 0, sizeof(*reasons));
}

static bool same_change(const pfc_change *a, const pfc_change *b)
{
    return a->regression == b->regression && a->index_low <= b->index_high &&
           b->index_low <= a->index_high;
}

static const pfc_change *find(const pfc_detection *found, const pfc_change *c)
{
    for (size_t i = 0; i < found->changes_len; i++) {
        if (same_change(&found->changes[i], c))
            return &found->changes[i];
    }
    return NULL;
}

/* "from 100.2 to 130.1 ms (+29.8 %)" */
static void put_step(pfc_buf *out, const pfc_series_in *s, const pfc_change *c)
{
    char before[32], after[32], rel[32];

    pfc_show_value(c->before, before);
    pfc_show_value(c->after, after);
    pfc_show_percent(c->rel_change, rel);
    pfc_buf_printf(out, "from %s to %s%s%s (%s)", before, after, s->unit && *s->unit ? " " : "",
                   s->unit ? s->unit : "", rel);
}

/* Points of the levels on both sides of change k. */
static size_t points_before(const pfc_detection *found, size_t k)
{
    return found->changes[k].index - (k ? found->changes[k - 1].index : 0);
}

static size_t points_after(const pfc_detection *found, size_t k, size_t n)
{
    return (k + 1 < found->changes_len ? found->changes[k + 1].index : n) - found->changes[k].index;
}

static char *why_kept(const pfc_series_in *s, const pfc_detection *found, size_t k)
{
    const pfc_change *c = &found->changes[k];
    const size_t after = points_after(found, k, s->len);
    pfc_buf text;

    pfc_buf_init(&text, 1024);
    put_step(&text, s, c);
    pfc_buf_printf(&text, ", first at one of points %zu to %zu: %zu points before, %zu after, ",
                   c->index_low, c->index_high, points_before(found, k), after);
    if (found->noise_rel > 0)
        pfc_buf_printf(&text, "a step of %.1f times the noise of a point (%.2f %%), ",
                       fabs(c->rel_change) / found->noise_rel, 100 * found->noise_rel);
    else
        pfc_buf_puts(&text, "in a series without noise, ");
    pfc_buf_printf(&text, "p = %.2g; %s", c->p,
                   c->confirmed ? "confirmed: later points do not change it"
                                : "provisional: later points can withdraw it");
    return pfc_buf_take(&text);
}

static char *why_dropped(const pfc_series_in *s, const pfc_detect_opts *opts,
                         const pfc_detection *found, const pfc_change *c)
{
    const double noise = found->noise_rel;
    const double floor_rel = opts->min_rel > 0 ? opts->min_rel : fmin(USUAL_FLOOR, noise);
    const double alpha = opts->alpha > 0 ? opts->alpha : USUAL_ALPHA;
    const double anywhere = fmin(1.0, c->p * (double)s->len);
    pfc_buf text;

    pfc_buf_init(&text, 1024);
    put_step(&text, s, c);
    if (fabs(c->rel_change) < floor_rel)
        pfc_buf_printf(&text, ": smaller than %.2g %%, which %s", 100 * floor_rel,
                       opts->min_rel > 0 ? "--min-change asks for" : "is too small to act on");
    else if (anywhere > alpha)
        pfc_buf_printf(&text,
                       ": not clear enough: noise makes a step like it in %.2g of a hundred series "
                       "of this length, and %.2g are accepted",
                       100 * anywhere, 100 * alpha);
    else
        pfc_buf_puts(&text, ": not needed: the levels, the trend or the waves that were kept "
                            "explain these points as well");
    return pfc_buf_take(&text);
}

/* Level of point i, by the changes found. */
static double level_at(const pfc_series_in *s, const pfc_detection *found, size_t i, double whole)
{
    double level = found->changes_len ? found->changes[0].before : whole;

    (void)s;
    for (size_t k = 0; k < found->changes_len && found->changes[k].index <= i; k++)
        level = found->changes[k].after;
    return level;
}

static double median_of(const pfc_series_in *s)
{
    double *v = pfc_calloc(s->len, sizeof(*v)), median;
    size_t n = 0;

    for (size_t i = 0; i < s->len; i++) {
        if (isfinite(s->points[i].v))
            v[n++] = s->points[i].v;
    }
    median = n ? pfc_stats_median(v, n) : (double)NAN;
    free(v);
    return median;
}

/* How many noises point i lies off its level, signed; 0 where that cannot be said. */
static double off_level(const pfc_series_in *s, const pfc_detection *found, size_t i, double whole)
{
    const double level = level_at(s, found, i, whole), v = s->points[i].v;

    if (!isfinite(v) || !(found->noise_rel > 0) || level == 0)
        return 0;
    return (v - level) / fabs(level) / found->noise_rel;
}

static void add_spikes(const pfc_series_in *s, const pfc_detection *found, pfc_reasons *out)
{
    const double whole = median_of(s);
    const size_t end = s->len - PFC_MIN(found->watching, s->len);
    size_t shown = 0, more = 0, first = 0;

    for (size_t i = 0; i < end; i++) {
        const double z = off_level(s, found, i, whole);
        const bool lonely =
            (i == 0 || fabs(off_level(s, found, i - 1, whole)) < SPIKE_NOISE / 2) &&
            (i + 1 >= s->len || fabs(off_level(s, found, i + 1, whole)) < SPIKE_NOISE / 2);

        if (fabs(z) < SPIKE_NOISE || !lonely)
            continue;
        if (shown == SPIKES_SHOWN) {
            first = more++ ? first : i;
            continue;
        }
        shown++;
        add(out, i, false,
            pfc_format("a single point %.1f times the noise %s its level, its neighbours are not: "
                       "a spike, no change",
                       fabs(z), z > 0 ? "above" : "below"));
    }
    if (more)
        add(out, first, false, pfc_format("and %zu more single points like it", more));
}

static char *why_watched(const pfc_series_in *s, const pfc_detection *found)
{
    const double odds = pfc_stats_change_or_spike(s->points, s->len, found);
    const double n = odds >= 1.0 ? odds : 1.0 / odds;
    /* Nothing measured is surer than that. */
    char *said = isfinite(odds)
                     ? pfc_format("; %s%.3g to 1 for a %s, by what this series did so far",
                                  n > 1000.0 ? "over " : "", fmin(n, 1000.0),
                                  odds >= 1.0 ? "change" : "spike")
                     : pfc_strdup("");
    char *text =
        pfc_format("watching: the newest %zu point%s may be a new level, too few to tell%s",
                   found->watching, found->watching == 1 ? "" : "s", said);

    free(said);
    return text;
}

static int by_index(const void *a, const void *b)
{
    const pfc_reason *x = a, *y = b;

    return (x->index > y->index) - (x->index < y->index);
}

void pfc_detect_explain(const pfc_series_in *s, const pfc_detect_opts *opts,
                        const pfc_detection *found, pfc_reasons *out)
{
    pfc_detect_opts anything = *opts;
    pfc_detection all = { 0 };

    memset(out, 0, sizeof(*out));
    if (s->len == 0)
        return;
    for (size_t k = 0; k < found->changes_len; k++)
        add(out, found->changes[k].index, true, why_kept(s, found, k));
    anything.alpha = ANYTHING_ALPHA;
    anything.min_rel = ANYTHING_REL;
    if (pfc_stats_detect(s->points, s->len, &anything, &all, NULL) == PFC_OK) {
        for (size_t k = 0; k < all.changes_len; k++) {
            if (!find(found, &all.changes[k]))
                add(out, all.changes[k].index, false, why_dropped(s, opts, found, &all.changes[k]));
        }
    }
    pfc_detection_clear(&all);
    add_spikes(s, found, out);
    if (found->watching &&
        (found->changes_len == 0 ||
         found->changes[found->changes_len - 1].index < s->len - found->watching))
        add(out, s->len - found->watching, false, why_watched(s, found));
    if (out->len)
        qsort(out->items, out->len, sizeof(*out->items), by_index);
}
