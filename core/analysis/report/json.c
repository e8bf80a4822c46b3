/* An explanation as JSON. Numbers that are not known are null. */
#include <math.h>
#include <string.h>

#include "core/analysis/report/further.h"
#include "core/base/base.h"

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *resource(pfc_resource r)
{
    return r == PFC_RESOURCE_NONE ? json_null() : json_string(pfc_resource_name(r));
}

/* ---- one side ---- */

static json_t *savings(const pfc_limiter_verdict *v)
{
    json_t *out = json_object();

    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++)
        json_object_set_new(out, pfc_resource_name(r), number(v->saving[r]));
    return out;
}

static json_t *verdict_json(const pfc_limiter_verdict *v)
{
    json_t *causes = json_array();

    for (size_t i = 0; i < v->causes_len; i++)
        json_array_append_new(causes,
                              json_pack("{s:s, s:s, s:o}", "id", v->causes[i].id, "text",
                                        v->causes[i].text, "share", number(v->causes[i].share)));
    return json_pack("{s:s, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:s}", "view",
                     v->view == PFC_LIMITER_TRACE ? "trace" : "counters", "inconclusive",
                     v->inconclusive, "reason", v->reason, "first", resource(v->first), "second",
                     resource(v->second), "confidence", number(v->confidence), "saving", savings(v),
                     "causes", causes, "disagreement", v->disagreement);
}

static json_t *metrics_json(const pfc_explain_side *s)
{
    json_t *out = json_array();

    for (size_t i = 0; i < s->metrics_len; i++) {
        const pfc_metric_value *m = &s->metrics[i];

        json_array_append_new(out, json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:s}", "name",
                                             m->name, "title", m->title, "unit", m->unit, "value",
                                             m->available ? number(m->value) : json_null(), "peak",
                                             number(m->peak), "achievable", number(m->achievable),
                                             "share", number(m->share), "reason", m->reason));
    }
    return out;
}

static json_t *path_json(const pfc_explain_side *s)
{
    pfc_profile_part *parts = pfc_calloc(PFC_PROFILE_MAX_PARTS, sizeof(*parts));
    const size_t len = pfc_profile_parts(&s->profile, parts, PFC_PROFILE_MAX_PARTS);
    json_t *out = json_array();

    for (size_t i = 0; i < len; i++)
        json_array_append_new(out, json_pack("{s:s, s:s, s:f}", "resource",
                                             pfc_resource_name(parts[i].resource), "phase",
                                             parts[i].phase, "ticks", parts[i].ticks));
    free(parts);
    return out;
}

static json_t *side_json(const pfc_explain_side *s)
{
    return json_pack("{s:s, s:o, s:s, s:f, s:o, s:o, s:I, s:o, s:o, s:o}", "run", s->run, "commit",
                     text_or_null(s->commit), "machine", s->machine_class, "value", s->value, "low",
                     number(s->low), "high", number(s->high), "samples", (json_int_t)s->samples,
                     "limiter", verdict_json(&s->verdict), "metrics", metrics_json(s), "path",
                     path_json(s));
}

/* ---- the difference ---- */

/* Contributions in the unit of the metric: ticks in the ratio in which the metric changed with
 * them, so that they sum to its delta for a rate as well as for a time. */
static json_t *contributions_json(const pfc_explanation *e)
{
    const pfc_delta *d = e->delta;
    json_t *out = json_array();
    double scale;

    if (!d || d->delta == 0)
        return out;
    scale = (e->after.value - e->before.value) / d->delta;
    for (size_t i = 0; i < d->contributions_len; i++) {
        const pfc_delta_contribution *c = &d->contributions[i];

        json_array_append_new(out, json_pack("{s:o, s:s, s:f, s:f}", "resource",
                                             resource(c->resource), "phase", c->phase, "value",
                                             c->value * scale, "ticks", c->value));
    }
    return out;
}

static json_t *causes_json(const pfc_explanation *e)
{
    const pfc_delta *d = e->delta;
    json_t *out = json_array();
    char text[320];

    for (size_t i = 0; d && i < d->causes_len; i++)
        json_array_append_new(out, json_pack("{s:s, s:o, s:f, s:s}", "kind",
                                             pfc_delta_kind_name(d->causes[i].kind), "resource",
                                             resource(d->causes[i].resource), "ticks",
                                             d->causes[i].ticks, "text", d->causes[i].text));
    for (size_t i = 0; e->functions && pfc_function_sentence(e->functions, i, text); i++)
        json_array_append_new(out, json_pack("{s:s, s:n, s:f, s:s}", "kind", "function",
                                             "resource", "ticks", 0.0, "text", text));
    return out;
}

static json_t *differences_json(const pfc_delta *d)
{
    json_t *out = json_array();

    for (size_t i = 0; d && i < d->differences_len; i++) {
        const pfc_delta_difference *x = &d->differences[i];

        json_array_append_new(out, json_pack("{s:s, s:s, s:s, s:o}", "name", x->name, "before",
                                             x->before, "after", x->after, "rel_change",
                                             number(x->rel)));
    }
    return out;
}

static json_t *delta_json(const pfc_delta *d)
{
    static const char *const basis[] = {
        [PFC_DELTA_PATH] = "path", [PFC_DELTA_UNITS] = "units", [PFC_DELTA_TOTAL] = "total"
    };

    if (!d)
        return json_null();
    return json_pack("{s:s, s:f, s:f, s:f, s:b, s:b, s:b, s:o, s:I}", "basis", basis[d->basis],
                     "before", d->before, "after", d->after, "delta", d->delta, "same_chip",
                     d->same_chip, "same_stream", d->same_stream, "same_simulator",
                     d->same_simulator, "differences", differences_json(d), "differences_more",
                     (json_int_t)d->differences_more);
}

/* ---- the rest ---- */

static json_t *guidance_json(const pfc_explanation *e)
{
    json_t *out = json_array();

    for (size_t i = 0; i < e->advice_len; i++) {
        const pfc_advice *a = &e->advice[i];

        json_array_append_new(
            out, json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:s, s:s}", "id", a->id, "symptom",
                           a->symptom, "change", a->change, "action", a->action, "gain", a->gain,
                           "low", a->low, "high", a->high, "risk", a->risk, "effort", a->effort));
    }
    return out;
}

static json_t *evidence_json(const pfc_explanation *e)
{
    json_t *out = json_array();

    if (e->pair)
        json_array_append_new(out, json_pack("{s:s, s:s}", "run", e->before.run, "what",
                                             "the value, counters and critical path before"));
    json_array_append_new(out, json_pack("{s:s, s:s}", "run", e->after.run, "what",
                                         e->pair ? "the value, counters and critical path after"
                                                 : "the value, counters and critical path"));
    return out;
}

static json_t *texts_json(char *const *texts, size_t len)
{
    json_t *out = json_array();

    for (size_t i = 0; i < len; i++)
        json_array_append_new(out, json_string(texts[i]));
    return out;
}

static json_t *limiter_json(const pfc_explanation *e)
{
    return json_pack("{s:o, s:o}", "before",
                     e->pair ? resource(e->before.verdict.first) : json_null(), "after",
                     resource(e->after.verdict.first));
}

json_t *pfc_explanation_json(const pfc_explanation *e)
{
    char *claim = pfc_explanation_claim(e);
    json_t *out = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:f, s:o}", "claim", claim, "metric", e->metric,
        "benchmark", e->benchmark, "backend", e->backend, "unit", e->unit ? e->unit : "",
        "direction", e->higher_is_better ? "higher" : "lower", "exact", e->exact, "before",
        e->pair ? number(e->before.value) : json_null(), "after", e->after.value, "delta",
        e->pair ? number(e->after.value - e->before.value) : json_null());

    free(claim);
    if (e->pair)
        json_object_set_new(out, "judged",
                            json_pack("{s:s, s:o, s:o, s:o, s:o}", "verdict", e->judged.verdict,
                                      "rel_change", number(e->judged.rel_change), "rel_low",
                                      number(e->judged.rel_low), "rel_high",
                                      number(e->judged.rel_high), "p", number(e->judged.p)));
    json_object_set_new(out, "contributions", contributions_json(e));
    json_object_set_new(out, "limiter", limiter_json(e));
    json_object_set_new(out, "causes", causes_json(e));
    json_object_set_new(out, "guidance", guidance_json(e));
    json_object_set_new(out, "evidence", evidence_json(e));
    json_object_set_new(out, "repeat", texts_json(e->repeat, e->repeat_len));
    json_object_set_new(out, "warnings", texts_json(e->warnings, e->warnings_len));
    json_object_set_new(out, "total", delta_json(e->delta));
    json_object_set_new(out, "runs",
                        json_pack("{s:o, s:o}", "before",
                                  e->pair ? side_json(&e->before) : json_null(), "after",
                                  side_json(&e->after)));
    pfc_report_further_json(e, out);
    return out;
}

json_t *pfc_explain_ranks_json(const pfc_explain_rank *ranks, size_t len)
{
    json_t *out = json_array();

    for (size_t i = 0; i < len; i++)
        json_array_append_new(
            out, json_pack("{s:s, s:s, s:f, s:o, s:f, s:o, s:s}", "benchmark", ranks[i].benchmark,
                           "backend", ranks[i].backend, "total", ranks[i].total, "limiter",
                           resource(ranks[i].limiter), "recoverable", ranks[i].recoverable,
                           "ceiling", ranks[i].ceiling > 0 ? number(ranks[i].ceiling) : json_null(),
                           "advice", ranks[i].advice));
    return out;
}
