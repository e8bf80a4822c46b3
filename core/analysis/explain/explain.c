/* From run documents to an explanation. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/explain/explain_priv.h"
#include "core/base/base.h"
#include "core/base/buf.h"
#include "core/stats/stats.h"
#include "core/wire/fingerprint.h"
#include "core/wire/run_values.h"

/* Launches a side from which their medians are compared instead of the samples. */
#define MIN_BLOCKS 3

static void add_text(char **texts, size_t *len, size_t cap, char *text)
{
    if (*len < cap)
        texts[(*len)++] = text;
    else
        free(text);
}

void pfc_explanation_repeat(pfc_explanation *e, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_text(e->repeat, &e->repeat_len, PFC_EXPLAIN_MAX_REPEAT, pfc_vformat(fmt, args));
    va_end(args);
}

static bool can_be_simulated(const pfc_explain_side *s)
{
    double launches;

    return pfc_profile_fact_of(&s->profile, "stream_digest") &&
           !pfc_profile_number_of(&s->profile, "launches", &launches);
}

void pfc_explanation_repeat_trace(pfc_explanation *e)
{
    if (strncmp(e->backend, "accel:", 6) != 0 || !can_be_simulated(&e->after) ||
        (e->pair && !can_be_simulated(&e->before)))
        return;
    pfc_explanation_repeat(e, "perfci explain %s %s --benchmark '%s' --backend '%s' --trace traces",
                           e->pair ? e->before.run : "--run", e->after.run, e->benchmark,
                           e->backend);
}

void pfc_explanation_warn(pfc_explanation *e, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_text(e->warnings, &e->warnings_len, PFC_EXPLAIN_MAX_WARNINGS, pfc_vformat(fmt, args));
    va_end(args);
}

static void clear_side(pfc_explain_side *s)
{
    free(s->run);
    free(s->commit);
    free(s->machine_class);
    free(s->trace.file);
    pfc_profile_clear(&s->profile);
}

void pfc_explanation_clear(pfc_explanation *e)
{
    free(e->benchmark);
    free(e->metric);
    free(e->backend);
    free(e->unit);
    clear_side(&e->before);
    clear_side(&e->after);
    free(e->delta);
    free(e->stream);
    free(e->functions);
    if (e->flame)
        pfc_flame_clear(e->flame);
    free(e->flame);
    for (size_t i = 0; i < e->warnings_len; i++)
        free(e->warnings[i]);
    for (size_t i = 0; i < e->repeat_len; i++)
        free(e->repeat[i]);
    memset(e, 0, sizeof(*e));
}

/* ---- one side ---- */

static pfc_code fill_side(const pfc_explain_rules *rules, const pfc_run *run,
                          const pfc_measurement *m, pfc_explain_side *out, pfc_err *err)
{
    const pfc_interval i = pfc_stats_block_interval(m->samples, m->blocks, m->blocks_len, 0.95, 1);
    double total;
    pfc_code code;

    out->run = pfc_strdup(run->id);
    out->commit = pfc_strdup(run->commit);
    out->machine_class = pfc_strdup(run->machine.machine_class);
    out->value = i.value;
    out->low = m->exact ? i.value : i.low;
    out->high = m->exact ? i.value : i.high;
    out->samples = m->samples_len;
    code = pfc_explain_profile(run, m->benchmark, m->backend, &out->profile, err);
    if (code)
        return code;
    pfc_limiter_judge(rules->limiter, &out->profile, PFC_LIMITER_BEST, &out->verdict);
    if (!pfc_profile_total(&out->profile, &total))
        snprintf(out->verdict.reason, sizeof(out->verdict.reason),
                 "the run recorded a value, and no cycles or time that could be divided.");
    out->metrics_len =
        pfc_metrics_evaluate(strncmp(m->backend, "cpu", 3) == 0 ? rules->cpu : rules->accelerator,
                             &out->profile, out->metrics);
    return PFC_OK;
}

static void name_benchmark(const pfc_measurement *m, pfc_explanation *out)
{
    out->benchmark = pfc_strdup(m->benchmark);
    out->metric = pfc_strdup(m->metric);
    out->backend = pfc_strdup(m->backend);
    out->unit = pfc_strdup(m->unit);
    out->higher_is_better = m->higher_is_better;
    out->exact = m->exact;
}

static void advise(const pfc_explain_rules *rules, pfc_explanation *e)
{
    e->advice_len =
        pfc_guidance_advise(rules->guidance, &e->after.profile, &e->after.verdict, e->advice);
}

pfc_code pfc_explain_run(const pfc_explain_rules *rules, const pfc_run *run,
                         const pfc_explain_what *what, pfc_explanation *out, pfc_err *err)
{
    const pfc_measurement *m = NULL;
    pfc_code code;

    memset(out, 0, sizeof(*out));
    code = pfc_explain_select(run, what, &m, err);
    if (!code) {
        name_benchmark(m, out);
        code = fill_side(rules, run, m, &out->after, err);
    }
    if (code)
        return code;
    advise(rules, out);
    return PFC_OK;
}

/* ---- a pair ---- */

static void warn_of_fingerprints(const pfc_run *before, const pfc_run *after, pfc_explanation *e)
{
    const pfc_labels *a = &before->machine.fingerprint;
    const pfc_labels *b = &after->machine.fingerprint;
    char **names = NULL;
    size_t len = 0;

    pfc_fingerprint_diff(a, b, PFC_FINGERPRINT_VALUES, &names, &len);
    for (size_t i = 0; i < len; i++) {
        const char *x = pfc_labels_get(a, names[i]);
        const char *y = pfc_labels_get(b, names[i]);

        pfc_explanation_warn(e, "The runs differ in %.60s: \"%.100s\" before, \"%.100s\" after.",
                             names[i], x ? x : "not recorded", y ? y : "not recorded");
        free(names[i]);
    }
    free(names);
}

static void judge_exact(pfc_explanation *e)
{
    e->judged.rel_low = e->judged.rel_high = e->judged.rel_change;
    if (e->after.value == e->before.value)
        e->judged.verdict = "same";
    else
        e->judged.verdict = (e->after.value > e->before.value) == e->higher_is_better
                                ? "improvement"
                                : "regression";
}

/* As `perfci compare` judges runs that were not interleaved. */
static void judge_noisy(pfc_explanation *e, const pfc_measurement *a, const pfc_measurement *b)
{
    const bool by_block = a->blocks_len >= MIN_BLOCKS && b->blocks_len >= MIN_BLOCKS;
    const pfc_compare_opts opts = { 0 };
    pfc_compare_result r = { 0 };
    size_t na = 0;
    size_t nb = 0;
    double *va = pfc_measurement_values(a, by_block, &na);
    double *vb = pfc_measurement_values(b, by_block, &nb);
    pfc_err err = { 0 };

    if (pfc_stats_compare(va, na, vb, nb, &opts, &r, &err)) {
        pfc_explanation_warn(e, "The change cannot be judged: %s.", err.msg);
    } else {
        e->judged.rel_change = r.rel_change;
        e->judged.rel_low = r.rel_low;
        e->judged.rel_high = r.rel_high;
        e->judged.p = r.p;
        if (r.verdict == PFC_VERDICT_SAME)
            e->judged.verdict = "same";
        else if (r.verdict == PFC_VERDICT_DIFFERENT)
            e->judged.verdict =
                (r.rel_change > 0) == e->higher_is_better ? "improvement" : "regression";
    }
    free(va);
    free(vb);
}

static void judge(pfc_explanation *e, const pfc_explain_judged *judged, const pfc_measurement *a,
                  const pfc_measurement *b)
{
    const double change = e->before.value != 0 ? e->after.value / e->before.value - 1 : (double)NAN;

    if (judged) {
        e->judged = *judged;
        return;
    }
    e->judged =
        (pfc_explain_judged){ "inconclusive", change, (double)NAN, (double)NAN, (double)NAN };
    if (e->exact)
        judge_exact(e);
    else
        judge_noisy(e, a, b);
}

static void split(pfc_explanation *e)
{
    pfc_err err = { 0 };

    double total;

    if (!pfc_profile_total(&e->before.profile, &total) ||
        !pfc_profile_total(&e->after.profile, &total)) {
        pfc_explanation_warn(e, "The runs recorded values only: without cycles or a time, the "
                                "difference cannot be split by resource.");
        return;
    }
    e->delta = pfc_calloc(1, sizeof(*e->delta));
    if (pfc_delta_of(&e->before.profile, &e->after.profile, e->delta, &err)) {
        free(e->delta);
        e->delta = NULL;
        pfc_explanation_warn(e, "The difference cannot be split by resource: %s.", err.msg);
    } else if (e->delta->basis == PFC_DELTA_UNITS) {
        pfc_explanation_warn(e, "At least one of the runs has no critical path: the difference is "
                                "split by the time of the unit that computes.");
    } else if (e->delta->basis == PFC_DELTA_TOTAL) {
        pfc_explanation_warn(e, "The runs recorded no counters that the difference could be split "
                                "by.");
    }
}

pfc_code pfc_explain_pair(const pfc_explain_rules *rules, const pfc_run *before,
                          const pfc_run *after, const pfc_explain_what *what,
                          const pfc_explain_judged *judged, pfc_explanation *out, pfc_err *err)
{
    const pfc_measurement *b = NULL;
    const pfc_measurement *a = NULL;
    pfc_code code;

    memset(out, 0, sizeof(*out));
    out->pair = true;
    code = what->benchmark ? pfc_explain_select(after, what, &b, err)
                           : pfc_explain_select_worst(before, after, what, &b, err);
    if (!code) {
        const pfc_explain_what same = { b->benchmark, b->backend, b->metric };

        name_benchmark(b, out);
        code = pfc_explain_select(before, &same, &a, err);
    }
    if (!code)
        code = fill_side(rules, before, a, &out->before, err);
    if (!code)
        code = fill_side(rules, after, b, &out->after, err);
    if (code)
        return code;
    warn_of_fingerprints(before, after, out);
    judge(out, judged, a, b);
    split(out);
    advise(rules, out);
    return PFC_OK;
}
