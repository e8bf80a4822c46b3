/* Shares of right verdicts, with confidence intervals, as JSON. */
#include <math.h>

#include "cli/accel/grade/grade.h"
#include "core/base/base.h"

static const double bins[GRADE_BINS + 1] = { 0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0 };

void grade_bin(size_t bin, double *low, double *high)
{
    *low = bins[bin];
    *high = bins[bin + 1];
}

static size_t bin_of(double confidence)
{
    size_t bin = 0;

    while (bin + 1 < GRADE_BINS && confidence >= bins[bin + 1])
        bin++;
    return bin;
}

static void count(grade_share *share, bool right)
{
    share->cases++;
    share->right += right;
}

void grade_tally_add(grade_tally *tally, const grade_result *result, grade_view view)
{
    const grade_verdict *v = &result->verdict[view];
    const bool right = v->first == result->truth;

    tally->cases++;
    tally->top1 += right;
    tally->top2 += right || (v->first != PFC_RESOURCE_NONE && v->second == result->truth);
    count(&tally->by_resource[result->truth], right);
    if (v->first == PFC_RESOURCE_NONE) {
        tally->inconclusive++;
        return;
    }
    count(&tally->by_confidence[bin_of(v->confidence)], right);
    tally->confidence[bin_of(v->confidence)] += v->confidence;
}

/* Source: Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22,
 * 1927. */
double grade_low95(uint64_t right, uint64_t cases)
{
    const double z = 1.959963984540054; /* 97.5 % quantile of the standard normal distribution */
    const double n = (double)cases;
    double p, middle, half;

    if (cases == 0)
        return 0;
    p = (double)right / n;
    middle = p + z * z / (2 * n);
    half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    return PFC_MAX((middle - half) / (1 + z * z / n), 0);
}

static json_t *share_json(uint64_t right, uint64_t cases)
{
    return cases ? json_real((double)right / (double)cases) : json_null();
}

static json_t *resources_json(const grade_tally *tally)
{
    json_t *doc = json_object();

    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++) {
        const grade_share *s = &tally->by_resource[r];

        if (s->cases)
            json_object_set_new(doc, pfc_resource_name(r),
                                json_pack("{s:I, s:o, s:f, s:f}", "cases", (json_int_t)s->cases,
                                          "top1", share_json(s->right, s->cases), "low95",
                                          grade_low95(s->right, s->cases), "share",
                                          (double)s->cases / (double)tally->cases));
    }
    return doc;
}

static json_t *confidence_json(const grade_tally *tally)
{
    json_t *list = json_array();

    for (size_t i = 0; i < GRADE_BINS; i++) {
        const grade_share *s = &tally->by_confidence[i];
        double low, high;

        grade_bin(i, &low, &high);
        if (s->cases)
            json_array_append_new(list, json_pack("{s:f, s:f, s:I, s:f, s:o}", "from", low, "to",
                                                  high, "verdicts", (json_int_t)s->cases, "stated",
                                                  tally->confidence[i] / (double)s->cases, "right",
                                                  share_json(s->right, s->cases)));
    }
    return list;
}

json_t *grade_tally_json(const grade_tally *tally)
{
    return json_pack(
        "{s:I, s:I, s:I, s:o, s:o, s:f, s:f, s:o, s:o}", "cases", (json_int_t)tally->cases,
        "decided", (json_int_t)(tally->cases - tally->inconclusive), "inconclusive",
        (json_int_t)tally->inconclusive, "top1", share_json(tally->top1, tally->cases), "top2",
        share_json(tally->top2, tally->cases), "low95", grade_low95(tally->top1, tally->cases),
        "top2_low95", grade_low95(tally->top2, tally->cases), "by_resource", resources_json(tally),
        "confidence", confidence_json(tally));
}
