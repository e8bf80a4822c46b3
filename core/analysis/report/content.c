/* The story of an explanation: claim, runs, contributions, causes, limiter, guidance, evidence. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/report/further.h"
#include "core/base/base.h"

#define BAR_COLUMNS 24 /* of a bar in text */

static void value_with_unit(double v, const char *unit, char out[64])
{
    char number[32];

    pfc_report_number(v, number);
    snprintf(out, 64, "%s%s%.24s", number, unit && unit[0] ? " " : "", unit ? unit : "");
}

char *pfc_explanation_claim(const pfc_explanation *e)
{
    char before[64];
    char after[64];
    char change[32];
    char *name =
        e->backend[0] ? pfc_format("%s on %s", e->benchmark, e->backend) : pfc_strdup(e->benchmark);
    const pfc_resource limiter = e->after.verdict.first;
    char *claim;

    value_with_unit(e->after.value, e->unit, after);
    value_with_unit(e->before.value, e->unit, before);
    pfc_report_percent(e->judged.rel_change, change);
    if (e->pair)
        claim = pfc_format("%s: %s changed from %s to %s (%s), %s", name, e->metric, before, after,
                           change, e->judged.verdict);
    else if (limiter == PFC_RESOURCE_NONE)
        claim = pfc_format("%s: %s is %s; what limits it is not decided", name, e->metric, after);
    else
        claim = pfc_format("%s: %s is %s; %s limits it", name, e->metric, after,
                           pfc_resource_name(limiter));
    free(name);
    return claim;
}

/* ---- runs ---- */

static void add_side(pfc_report *r, pfc_report_part *b, const char *name, const pfc_explanation *e,
                     const pfc_explain_side *s)
{
    char value[64];

    pfc_report_row(b);
    value_with_unit(s->value, e->unit, value);
    pfc_report_cell_set(b, 0, "%s", name);
    pfc_report_cell_set(b, 1, "%s", value);
    if (e->exact)
        pfc_report_cell_set(b, 2, "exact");
    else
        pfc_report_cell_set(b, 2, "%.4g to %.4g (95 %%), %zu samples", s->low, s->high, s->samples);
    pfc_report_cell_set(b, 3, "%s", s->run);
    pfc_report_cell_link(r, b, 3, "runs", s->run);
    pfc_report_cell_set(b, 4, "%.12s", s->commit ? s->commit : "not recorded");
    pfc_report_cell_set(b, 5, "%s", s->machine_class);
}

static void add_runs(pfc_report *r, const pfc_explanation *e)
{
    pfc_report_part *b;

    pfc_report_add_part(r, PFC_REPORT_HEADING, "%s", e->pair ? "Baseline and comparison" : "Run");
    b = pfc_report_add_part(r, PFC_REPORT_TABLE, "The runs");
    pfc_report_column(b, "", false);
    pfc_report_column(b, e->metric, true);
    pfc_report_column(b, "interval", false);
    pfc_report_column(b, "run", false);
    pfc_report_column(b, "commit", false);
    pfc_report_column(b, "machine", false);
    if (e->pair)
        add_side(r, b, "before", e, &e->before);
    add_side(r, b, e->pair ? "after" : "", e, &e->after);
    for (size_t i = 0; i < e->warnings_len; i++)
        pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "Note: %s", e->warnings[i]);
}

/* ---- what changed ---- */

static void bar_text(double share, char out[3 * BAR_COLUMNS + 1])
{
    const int n = (int)lround(PFC_MIN(fabs(share), 1.0) * BAR_COLUMNS);
    size_t len = 0;

    for (int i = 0; i < n; i++) {
        memcpy(out + len, "\xe2\x96\x88", 3);
        len += 3;
    }
    out[len] = '\0';
}

static void add_contributions(pfc_report *r, const pfc_explanation *e)
{
    const pfc_delta *d = e->delta;
    pfc_report_part *b =
        pfc_report_add_part(r, PFC_REPORT_TABLE, "Contributions to the difference");
    double most = 0;
    char number[32];

    pfc_report_column(b, "resource", false);
    pfc_report_column(b, "phase", false);
    pfc_report_column(b, "ticks", true);
    pfc_report_column(b, "of the difference", true);
    pfc_report_column(b, "", false);
    for (size_t i = 0; i < d->contributions_len; i++)
        most = PFC_MAX(most, fabs(d->contributions[i].value));
    for (size_t i = 0; i < d->contributions_len; i++) {
        const pfc_delta_contribution *c = &d->contributions[i];
        char bar[3 * BAR_COLUMNS + 1];

        pfc_report_row(b);
        pfc_report_number(c->value, number);
        bar_text(c->value / most, bar);
        pfc_report_cell_set(b, 0, "%s", pfc_resource_name(c->resource));
        pfc_report_cell_set(b, 1, "%s", c->phase);
        pfc_report_cell_set(b, 2, "%s%s", c->value > 0 ? "+" : "", number);
        pfc_report_percent(d->delta != 0 ? c->value / d->delta : (double)NAN, number);
        pfc_report_cell_set(b, 3, "%s", number);
        pfc_report_cell_set(b, 4, "%s", bar);
    }
    pfc_report_row(b);
    pfc_report_number(d->delta, number);
    pfc_report_cell_set(b, 0, "total");
    pfc_report_cell_set(b, 2, "%s%s", d->delta > 0 ? "+" : "", number);
}

void pfc_report_add_picture(pfc_report *r, const pfc_explanation *e,
                            void (*draw)(const pfc_explanation *, pfc_buf *))
{
    pfc_buf svg;

    pfc_buf_init(&svg, 1u << 20);
    draw(e, &svg);
    if (svg.len && !svg.overflow)
        pfc_report_add_part(r, PFC_REPORT_PICTURE, "%s", pfc_buf_text(&svg));
    pfc_buf_clear(&svg);
}

static void add_causes(pfc_report *r, const pfc_explanation *e)
{
    const pfc_delta *d = e->delta;

    pfc_report_add_part(r, PFC_REPORT_HEADING, "Why");
    if (d->delta == 0)
        pfc_report_add_part(r, PFC_REPORT_PARAGRAPH,
                            d->same_stream ? "The totals are equal, and the command streams are "
                                             "identical: there is nothing to explain."
                                           : "The totals are equal: there is nothing to explain.");
    for (size_t i = 0; i < d->causes_len; i++) {
        const pfc_delta_cause *c = &d->causes[i];
        char ticks[32];

        pfc_report_number(c->ticks, ticks);
        if (c->resource == PFC_RESOURCE_NONE)
            pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "%zu. %s", i + 1, c->text);
        else
            pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "%zu. %s It acts through %s (%s%s ticks).",
                                i + 1, c->text, pfc_resource_name(c->resource),
                                c->ticks > 0 ? "+" : "", ticks);
    }
    if (d->delta != 0 && d->same_stream)
        pfc_report_add_part(
            r, PFC_REPORT_PARAGRAPH,
            "The command streams are identical: the cause is the chip's file or the "
            "simulator.");
}

/* The functions that changed most are the causes that instructions show. */
static void add_function_causes(pfc_report *r, const pfc_explanation *e)
{
    char text[320];

    for (size_t i = 0; e->functions && pfc_function_sentence(e->functions, i, text); i++)
        pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "- %s", text);
}

static void add_delta(pfc_report *r, const pfc_explanation *e)
{
    if (!e->delta) {
        if (e->functions && e->functions->len)
            pfc_report_add_part(r, PFC_REPORT_HEADING, "Why");
        add_function_causes(r, e);
        return;
    }
    add_causes(r, e);
    add_function_causes(r, e);
    if (e->delta->contributions_len == 0)
        return;
    pfc_report_add_part(r, PFC_REPORT_HEADING, "Where the difference is");
    pfc_report_add_picture(r, e, pfc_picture_waterfall);
    add_contributions(r, e);
}

/* ---- limiter ---- */

static void add_verdict(pfc_report *r, const char *name, const pfc_limiter_verdict *v)
{
    char second[80] = "";

    if (v->inconclusive) {
        pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "%sinconclusive: %s", name, v->reason);
        return;
    }
    if (v->second != PFC_RESOURCE_NONE)
        snprintf(second, sizeof(second), "; next %s, %.1f %%", pfc_resource_name(v->second),
                 100 * v->saving[v->second]);
    pfc_report_add_part(r, PFC_REPORT_PARAGRAPH,
                        "%s%s (%s). If it took no time, the run would take %.1f %% less%s. "
                        "Confidence %.0f %%, from %s.",
                        name, pfc_resource_name(v->first), pfc_resource_meaning(v->first),
                        100 * v->saving[v->first], second, 100 * v->confidence,
                        v->view == PFC_LIMITER_TRACE ? "the run's trace" : "its counters");
    for (size_t i = 0; i < v->causes_len; i++)
        pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "- %s", v->causes[i].text);
    if (v->disagreement[0])
        pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "- %s", v->disagreement);
}

static void add_limiter(pfc_report *r, const pfc_explanation *e)
{
    pfc_report_add_part(r, PFC_REPORT_HEADING, "Limiter");
    if (e->pair)
        add_verdict(r, "Before: ", &e->before.verdict);
    add_verdict(r, e->pair ? "After: " : "", &e->after.verdict);
    pfc_report_add_picture(r, e, pfc_picture_strip);
}

/* ---- guidance ---- */

static void add_guidance(pfc_report *r, const pfc_explanation *e)
{
    pfc_report_part *b;

    pfc_report_add_part(r, PFC_REPORT_HEADING, "What would help");
    if (e->advice_len == 0) {
        pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "No entry of the catalogue fits this run.");
        return;
    }
    b = pfc_report_add_part(r, PFC_REPORT_TABLE, "Guidance, the largest predicted gain first");
    pfc_report_column(b, "change", false);
    pfc_report_column(b, "predicted gain", true);
    pfc_report_column(b, "symptom", false);
    pfc_report_column(b, "risk", false);
    pfc_report_column(b, "effort", false);
    for (size_t i = 0; i < e->advice_len; i++) {
        const pfc_advice *a = &e->advice[i];

        pfc_report_row(b);
        pfc_report_cell_set(b, 0, "%s", a->change);
        pfc_report_cell_set(b, 1, "%.1f %% (%.1f to %.1f)", 100 * a->gain, 100 * a->low,
                            100 * a->high);
        pfc_report_cell_set(b, 2, "%s", a->symptom);
        pfc_report_cell_set(b, 3, "%s", a->risk);
        pfc_report_cell_set(b, 4, "%s", a->effort);
    }
}

/* ---- metrics ---- */

static const pfc_metric_value *metric_before(const pfc_explanation *e, const char *name)
{
    for (size_t i = 0; e->pair && i < e->before.metrics_len; i++)
        if (strcmp(e->before.metrics[i].name, name) == 0)
            return &e->before.metrics[i];
    return NULL;
}

static void metric_cell(pfc_report_part *b, size_t col, const pfc_metric_value *m)
{
    char number[32];

    if (!m || !m->available) {
        pfc_report_cell_set(b, col, "not available");
        return;
    }
    pfc_report_number(m->value, number);
    pfc_report_cell_set(b, col, "%s", number);
}

static void add_metrics(pfc_report *r, const pfc_explanation *e)
{
    pfc_report_part *b;
    char number[32];
    bool any = false;

    for (size_t i = 0; i < e->after.metrics_len; i++)
        any |= e->after.metrics[i].available;
    pfc_report_add_part(r, PFC_REPORT_HEADING, "Utilisation");
    if (!any) {
        pfc_report_add_part(r, PFC_REPORT_PARAGRAPH,
                            "Not available: the run recorded no counters.");
        return;
    }
    pfc_report_add_picture(r, e, pfc_picture_shares);
    b = pfc_report_add_part(r, PFC_REPORT_TABLE, "Metrics");
    pfc_report_column(b, "metric", false);
    if (e->pair)
        pfc_report_column(b, "before", true);
    pfc_report_column(b, e->pair ? "after" : "value", true);
    pfc_report_column(b, "unit", false);
    pfc_report_column(b, "peak", true);
    pfc_report_column(b, "achievable", true);
    pfc_report_column(b, "share of the peak", true);
    for (size_t i = 0; i < e->after.metrics_len; i++) {
        const pfc_metric_value *m = &e->after.metrics[i];
        size_t col = 0;

        pfc_report_row(b);
        pfc_report_cell_set(b, col++, "%s", m->title);
        if (e->pair)
            metric_cell(b, col++, metric_before(e, m->name));
        metric_cell(b, col++, m);
        pfc_report_cell_set(b, col++, "%s", m->unit);
        pfc_report_number(m->peak, number);
        pfc_report_cell_set(b, col++, "%s", isnan(m->peak) ? "" : number);
        pfc_report_number(m->achievable, number);
        pfc_report_cell_set(b, col++, "%s", isnan(m->achievable) ? "" : number);
        if (isfinite(m->share))
            pfc_report_cell_set(b, col, "%.1f %%", 100 * m->share);
    }
    pfc_report_add_picture(r, e, pfc_picture_roofline);
}

/* ---- evidence ---- */

static void add_differences(pfc_report *r, const pfc_explanation *e)
{
    const pfc_delta *d = e->delta;
    pfc_report_part *b;
    char number[32];

    if (!d || d->differences_len == 0)
        return;
    pfc_report_add_part(r, PFC_REPORT_HEADING, "What differs in the records");
    b = pfc_report_add_part(r, PFC_REPORT_TABLE, "Recorded values that differ");
    pfc_report_column(b, "name", false);
    pfc_report_column(b, "before", true);
    pfc_report_column(b, "after", true);
    pfc_report_column(b, "change", true);
    for (size_t i = 0; i < d->differences_len; i++) {
        pfc_report_row(b);
        pfc_report_percent(d->differences[i].rel, number);
        pfc_report_cell_set(b, 0, "%s", d->differences[i].name);
        pfc_report_cell_set(b, 1, "%s", d->differences[i].before);
        pfc_report_cell_set(b, 2, "%s", d->differences[i].after);
        pfc_report_cell_set(b, 3, "%s", isnan(d->differences[i].rel) ? "" : number);
    }
    if (d->differences_more)
        pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "%zu smaller differences are not listed.",
                            d->differences_more);
}

void pfc_report_add(pfc_report *r, const pfc_explanation *e)
{
    char *claim = pfc_explanation_claim(e);

    pfc_report_add_part(r, PFC_REPORT_HEADING, "Claim");
    pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "%s.", claim);
    free(claim);
    add_runs(r, e);
    add_delta(r, e);
    pfc_report_add_further(r, e);
    add_limiter(r, e);
    pfc_report_add_phases(r, e);
    add_guidance(r, e);
    add_metrics(r, e);
    add_differences(r, e);
    if (e->repeat_len)
        pfc_report_add_part(r, PFC_REPORT_HEADING, "How to repeat");
    for (size_t i = 0; i < e->repeat_len; i++)
        pfc_report_add_part(r, PFC_REPORT_CODE, "%s", e->repeat[i]);
}

void pfc_report_add_ranks(pfc_report *r, const char *run, const pfc_explain_rank *ranks, size_t len)
{
    pfc_report_part *b;
    char number[32];

    pfc_report_add_part(r, PFC_REPORT_HEADING, "Benchmarks by what could be gained");
    pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "Run %s, %zu benchmarks.", run, len);
    b = pfc_report_add_part(r, PFC_REPORT_TABLE, "Ranking");
    pfc_report_column(b, "benchmark", false);
    pfc_report_column(b, "backend", false);
    pfc_report_column(b, "total", true);
    pfc_report_column(b, "limiter", false);
    pfc_report_column(b, "at most gained", true);
    pfc_report_column(b, "ceiling reached", true);
    pfc_report_column(b, "first advice", false);
    for (size_t i = 0; i < len; i++) {
        pfc_report_row(b);
        pfc_report_number(ranks[i].total, number);
        pfc_report_cell_set(b, 0, "%s", ranks[i].benchmark);
        pfc_report_cell_set(b, 1, "%s", ranks[i].backend);
        pfc_report_cell_set(b, 2, "%s", number);
        pfc_report_cell_set(b, 3, "%s",
                            ranks[i].limiter == PFC_RESOURCE_NONE
                                ? "inconclusive"
                                : pfc_resource_name(ranks[i].limiter));
        pfc_report_cell_set(b, 4, "%.1f %%", 100 * ranks[i].recoverable / ranks[i].total);
        if (ranks[i].ceiling > 0)
            pfc_report_cell_set(b, 5, "%.1f %%", 100 * ranks[i].ceiling / ranks[i].total);
        else
            pfc_report_cell_set(b, 5, "not available");
        pfc_report_cell_set(b, 6, "%s", ranks[i].advice);
    }
}
