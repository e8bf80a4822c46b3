/* A project's detector settings: reading the document, and what it says of a series. */
#include "core/wire/detector.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GLOBS 5

static const char *const glob_names[GLOBS] = { "benchmark", "metric", "backend", "machine_class",
                                               "branch" };

static void rule_globs(pfc_detector_rule *rule, char **out[GLOBS])
{
    char **const all[GLOBS] = { &rule->benchmark, &rule->metric, &rule->backend,
                                &rule->machine_class, &rule->branch };

    memcpy(out, all, sizeof(all));
}

static pfc_code read_glob(const json_t *obj, const pfc_json_at *at, const char *name, char **out,
                          pfc_err *err)
{
    size_t stars = 0;
    pfc_code code = pfc_json_string(obj, at, name, false, PFC_DETECTOR_MAX_GLOB, out, err);

    if (code || !*out)
        return code;
    for (const char *c = *out; *c; c++)
        stars += *c == '*';
    if (!**out || stars > PFC_DETECTOR_MAX_STARS)
        return pfc_json_fault(at, name, err,
                              "expected a glob of 1 to %d bytes with at most %d stars",
                              PFC_DETECTOR_MAX_GLOB, PFC_DETECTOR_MAX_STARS);
    return PFC_OK;
}

static pfc_code read_rule(const json_t *obj, const pfc_json_at *at, pfc_detector_rule *rule,
                          pfc_err *err)
{
    static const char *const known[] = { "benchmark",     "metric", "backend",
                                         "machine_class", "branch", "min_change",
                                         "alpha",         "judged", NULL };
    char **globs[GLOBS];
    bool judged = true;
    pfc_code code;

    *rule = (pfc_detector_rule){ .min_change = (double)NAN, .alpha = (double)NAN, .judged = -1 };
    if (!json_is_object(obj))
        return pfc_json_fault(at, NULL, err, "expected an object with globs and settings");
    code = pfc_json_known(obj, at, known, err);
    rule_globs(rule, globs);
    for (size_t i = 0; i < GLOBS && !code; i++)
        code = read_glob(obj, at, glob_names[i], globs[i], err);
    if (!code)
        code = pfc_json_double(obj, at, "min_change", false, PFC_DETECTOR_MIN_CHANGE_LEAST,
                               PFC_DETECTOR_MIN_CHANGE_MOST, &rule->min_change, err);
    if (!code)
        code = pfc_json_double(obj, at, "alpha", false, PFC_DETECTOR_ALPHA_LEAST,
                               PFC_DETECTOR_ALPHA_MOST, &rule->alpha, err);
    if (!code && json_object_get(obj, "judged")) {
        code = pfc_json_bool(obj, at, "judged", true, &judged, err);
        rule->judged = judged;
    }
    if (!code && isnan(rule->min_change) && isnan(rule->alpha) && rule->judged < 0)
        code = pfc_json_fault(at, NULL, err, "expected one of min_change, alpha, judged");
    return code;
}

pfc_code pfc_detector_from_json(const json_t *doc, pfc_detector *out, pfc_err *err)
{
    static const char *const known[] = { "fdr", "rules", NULL };
    const pfc_json_at list = { .key = "rules" };
    pfc_detector detector = { 0 };
    json_t *rules = NULL;
    pfc_code code;

    if (!json_is_object(doc))
        return pfc_err_set(err, PFC_EINVAL, "detector: expected an object with fdr and rules");
    code = pfc_json_known(doc, NULL, known, err);
    if (!code)
        code = pfc_json_double(doc, NULL, "fdr", false, PFC_DETECTOR_FDR_LEAST,
                               PFC_DETECTOR_FDR_MOST, &detector.fdr, err);
    if (!code)
        code = pfc_json_array(doc, NULL, "rules", true, PFC_DETECTOR_MAX_RULES, &rules, err);
    detector.rules = pfc_calloc(json_array_size(rules), sizeof(*detector.rules));
    for (size_t i = 0; !code && i < json_array_size(rules); i++) {
        const pfc_json_at at = { .up = &list, .index = i };

        code = read_rule(json_array_get(rules, i), &at, &detector.rules[i], err);
        detector.rules_len++;
    }
    if (code)
        pfc_detector_clear(&detector);
    else
        *out = detector;
    return code;
}

void pfc_detector_clear(pfc_detector *detector)
{
    for (size_t i = 0; i < detector->rules_len; i++) {
        char **globs[GLOBS];

        rule_globs(&detector->rules[i], globs);
        for (size_t k = 0; k < GLOBS; k++)
            free(*globs[k]);
    }
    free(detector->rules);
    memset(detector, 0, sizeof(*detector));
}

static bool fits(const char *glob, const char *text)
{
    return !glob || fnmatch(glob, text ? text : "", 0) == 0;
}

pfc_detector_settings pfc_detector_for(const pfc_detector *detector, const pfc_series_name *name)
{
    pfc_detector_settings settings = { .judged = true };

    for (size_t i = 0; detector && i < detector->rules_len; i++) {
        const pfc_detector_rule *rule = &detector->rules[i];

        if (!fits(rule->benchmark, name->benchmark) || !fits(rule->metric, name->metric) ||
            !fits(rule->backend, name->backend) ||
            !fits(rule->machine_class, name->machine_class) || !fits(rule->branch, name->branch))
            continue;
        if (!isnan(rule->min_change))
            settings.min_change = rule->min_change;
        if (!isnan(rule->alpha))
            settings.alpha = rule->alpha;
        if (rule->judged >= 0)
            settings.judged = rule->judged;
    }
    return settings;
}
