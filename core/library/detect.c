/*
 * Change points of a series, in the order of its times as `perfci detect` takes it.
 */
#include <math.h>
#include <stdlib.h>

#include "core/changepoint/changepoint.h"
#include "core/library/library.h"

struct perfci_detection {
    pfc_detection found; /* places are positions in the arrays as given */
};

static pfc_code check(const perfci_series *s, const perfci_detect_options *o, size_t *repeats,
                      pfc_err *err)
{
    pfc_code code = library_need(s->values, "values", err);

    if (!code && (s->len == 0 || s->len > PERFCI_MAX_POINTS))
        code = pfc_err_set_field(err, s->len ? PFC_ETOOBIG : PFC_EINVAL, "len",
                                 "len: expected 1..%d points, got %zu", PERFCI_MAX_POINTS, s->len);
    if (!code && !s->repeats != !s->repeat_counts)
        code = pfc_err_set_field(err, PFC_EINVAL, "repeats",
                                 "repeats: expected them together with repeat_counts");
    for (size_t i = 0; i < s->len && !code; i++)
        if (isinf(s->values[i]))
            code = pfc_err_set_field(err, PFC_EINVAL, "values",
                                     "values[%zu]: expected a finite number or NaN, got %g", i,
                                     s->values[i]);
    for (size_t i = 0; i < s->len && !code && s->repeat_counts; i++) {
        if (s->repeat_counts[i] > PERFCI_MAX_SAMPLES)
            code = pfc_err_set_field(err, PFC_ETOOBIG, "repeat_counts",
                                     "repeat_counts[%zu]: expected 0..%d, got %zu", i,
                                     PERFCI_MAX_SAMPLES, s->repeat_counts[i]);
        else
            *repeats += s->repeat_counts[i];
    }
    for (size_t i = 0; i < *repeats && !code; i++)
        if (!isfinite(s->repeats[i]))
            code = pfc_err_set_field(err, PFC_EINVAL, "repeats",
                                     "repeats[%zu]: expected a finite number, got %g", i,
                                     s->repeats[i]);
    if (!code)
        code = library_number(o->min_change, 1e-9, 1e6, "min_change", err);
    if (!code)
        code = library_number(o->alpha, 1e-9, 0.5, "alpha", err);
    return code;
}

static pfc_point *points_of(const perfci_series *s)
{
    pfc_point *points = pfc_calloc(s->len, sizeof(*points));
    size_t at = 0;

    for (size_t i = 0; i < s->len; i++) {
        points[i].t = s->times ? s->times[i] : (double)NAN;
        points[i].v = s->values[i];
        points[i].machine_state = s->machine_states ? s->machine_states[i] : 0;
        if (s->repeat_counts && s->repeat_counts[i]) {
            points[i].repeats = s->repeats + at;
            points[i].repeats_len = s->repeat_counts[i];
            at += s->repeat_counts[i];
        }
    }
    return points;
}

static pfc_code detect(const pfc_point *points, size_t n, const pfc_detect_opts *opts,
                       pfc_detection *found, pfc_err *err)
{
    pfc_point *sorted = pfc_calloc(n, sizeof(*sorted));
    size_t *order = pfc_calloc(n, sizeof(*order));
    pfc_code code;

    pfc_stats_series_order(points, n, order);
    for (size_t i = 0; i < n; i++)
        sorted[i] = points[order[i]];
    code = pfc_stats_detect(sorted, n, opts, found, err);
    for (size_t i = 0; i < found->changes_len; i++) {
        pfc_change *c = &found->changes[i];

        c->index = order[c->index];
        c->index_low = order[c->index_low];
        c->index_high = order[c->index_high];
    }
    free(order);
    free(sorted);
    return code;
}

int perfci_detect(const perfci_series *series, const perfci_detect_options *options,
                  perfci_detection **out)
{
    pfc_err *err = library_err();
    perfci_series s = PERFCI_SERIES_INIT;
    perfci_detect_options o = PERFCI_DETECT_OPTIONS_INIT;
    pfc_detection found = { 0 };
    pfc_detect_opts opts;
    pfc_point *points;
    size_t repeats = 0;
    pfc_code code = library_need(out, "out", err);

    if (!code)
        code = library_take(series, LIBRARY_UNTIL(perfci_series, machine_states), &s, sizeof(s),
                            "series", err);
    if (!code && options)
        code = library_take(options, LIBRARY_UNTIL(perfci_detect_options, alpha), &o, sizeof(o),
                            "options", err);
    if (!code)
        code = check(&s, &o, &repeats, err);
    if (code)
        return library_code(code);
    opts = (pfc_detect_opts){ .higher_is_better = o.higher_is_better != 0,
                              .exact = o.exact != 0,
                              .min_rel = o.min_change,
                              .alpha = o.alpha };
    points = points_of(&s);
    code = detect(points, s.len, &opts, &found, err);
    free(points);
    if (code)
        return library_code(code);
    *out = pfc_alloc(sizeof(**out));
    (*out)->found = found;
    return PERFCI_OK;
}

size_t perfci_detection_len(const perfci_detection *detection)
{
    return detection->found.changes_len;
}

int perfci_detection_change(const perfci_detection *detection, size_t i, perfci_change *out)
{
    pfc_err *err = library_err();
    perfci_change full = PERFCI_CHANGE_INIT;
    pfc_code code = library_within(i, detection->found.changes_len, "i", err);

    if (code)
        return library_code(code);
    const pfc_change *c = &detection->found.changes[i];
    full.index = c->index;
    full.index_low = c->index_low;
    full.index_high = c->index_high;
    full.before = c->before;
    full.after = c->after;
    full.rel_change = c->rel_change;
    full.rel_low = c->rel_low;
    full.rel_high = c->rel_high;
    full.p = c->p;
    full.regression = c->regression;
    full.confirmed = c->confirmed;
    return library_code(library_give(out, LIBRARY_UNTIL(perfci_change, confirmed), &full,
                                     sizeof(full), "out", err));
}

double perfci_detection_noise(const perfci_detection *detection)
{
    return detection->found.noise_rel;
}

size_t perfci_detection_watching(const perfci_detection *detection)
{
    return detection->found.watching;
}

void perfci_detection_free(perfci_detection *detection)
{
    if (!detection)
        return;
    pfc_detection_clear(&detection->found);
    free(detection);
}
