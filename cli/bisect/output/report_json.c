/*
 * The report as JSON, and its post to the service.
 */
#include "core/bisect/report_json.h"

#include <math.h>
#include <stdlib.h>

#include "cli/api.h"
#include "cli/bisect/output/report.h"

/* The confirmed culprits, or the others. */
static json_t *culprits_json(const bisect_session *b, const pfc_bisect_report *report,
                             bool confirmed)
{
    json_t *list = json_array();

    for (size_t i = 0; i < report->culprits_len; i++) {
        const pfc_culprit *c = &report->culprits[i];
        json_t *ids = json_array();

        for (size_t k = c->first; k <= c->last; k++)
            json_array_append_new(ids, json_string(bisect_id(&b->axis, k)));
        if ((pfc_bisect_verdict_names(report->verdict) && bisect_is_confirmed(b, i)) != confirmed) {
            json_decref(ids);
            continue;
        }
        json_array_append_new(list, pfc_culprit_json(c, ids));
    }
    return list;
}

json_t *bisect_report_json(const bisect_session *b, const pfc_bisect_report *report,
                           const bisect_stop *stop)
{
    json_t *doc = json_pack(
        "{s:s,s:o,s:I,s:I,s:I,s:o}", "verdict", pfc_bisect_verdict_name(report->verdict),
        "culprits", culprits_json(b, report, true), "runs", (json_int_t)bisect_run_count(b, report),
        "builds", (json_int_t)report->builds, "commits_measured",
        (json_int_t)report->commits_measured, "seconds", pfc_bisect_number_json(b->state.seconds));

    bisect_stop_json(b, stop, doc);
    return doc;
}

static json_t *steps_json(const bisect_session *b)
{
    json_t *list = json_array();

    for (size_t i = 0; i < b->state.len; i++) {
        const bisect_run *run = &b->state.runs[i];
        json_t *step;

        if (run->kind != PFC_OUTCOME_MEASURED)
            continue;
        step = json_pack("{s:s,s:f,s:I}", "commit", bisect_id(&b->axis, run->commit), "value",
                         run->value, "build", (json_int_t)run->build);
        if (run->confirm)
            json_object_set_new(step, "confirm", json_true());
        json_array_append_new(list, step);
    }
    return list;
}

/* The only confirmed culprit, if it is a single commit; NULL: none, or several. */
static const bisect_confirmation *only_confirmed(const bisect_session *b)
{
    const bisect_confirmation *found = NULL;

    for (size_t i = 0; i < b->confirmations.len; i++) {
        const bisect_confirmation *c = &b->confirmations.items[i];

        if (c->result.verdict != PFC_CONFIRM_CONFIRMED || c->culprit.first != c->culprit.last)
            continue;
        if (found)
            return NULL;
        found = c;
    }
    return found;
}

/* The raw pairs of the only confirmed culprit: the service evaluates them itself. */
static json_t *confirmation_json(const bisect_session *b)
{
    const bisect_confirmation *c = only_confirmed(b);
    json_t *pairs;
    double half = 0;
    bool open = false, half_after = false;

    if (!c)
        return NULL;
    pairs = json_array();
    for (size_t i = 0; i < b->state.len; i++) {
        const bisect_run *run = &b->state.runs[i];

        if (!run->confirm || run->kind != PFC_OUTCOME_MEASURED ||
            (run->commit != c->culprit.first - 1 && run->commit != c->culprit.last))
            continue;
        if (open)
            json_array_append_new(pairs, half_after ? json_pack("[f,f]", run->value, half)
                                                    : json_pack("[f,f]", half, run->value));
        half = run->value;
        half_after = run->commit == c->culprit.last;
        open = !open;
    }
    /* The comparison of a neighbouring culprit may share a commit: then the owner of a run is
     * unknown here. */
    if (json_array_size(pairs) != c->result.pairs) {
        json_decref(pairs);
        return NULL;
    }
    return json_pack("{s:s,s:o}", "before", bisect_id(&b->axis, c->culprit.first - 1), "pairs",
                     pairs);
}

pfc_code bisect_report_post(const bisect_session *b, const pfc_bisect_report *report,
                            const bisect_stop *stop, pfc_err *err)
{
    const bisect_opts *o = b->opts;
    json_t *body = bisect_report_json(b, report, stop);
    json_t *confirmation;
    char *project = NULL;
    pfc_http *http = NULL;
    pfc_code code = pfc_api_open(o->url, o->data, &b->measuring.conf, &http, err);

    if (!code)
        code =
            pfc_api_project(o->project, &b->measuring.conf,
                            b->builds.repo ? pfc_repo_root(b->builds.repo) : NULL, &project, err);
    if (code)
        goto done;
    json_object_set_new(body, "project", json_string(project));
    json_object_set_new(body, "metric", json_string(b->measuring.how.metric));
    if (o->benchmark)
        json_object_set_new(body, "benchmark", json_string(o->benchmark));
    if (o->backend)
        json_object_set_new(body, "backend", json_string(o->backend));
    json_object_set_new(body, "good", json_string(bisect_id(&b->axis, 0)));
    json_object_set_new(body, "bad", json_string(bisect_id(&b->axis, bisect_bad(&b->axis))));
    json_object_set_new(body, "steps", steps_json(b));
    confirmation = confirmation_json(b);
    if (confirmation)
        json_object_set_new(body, "confirmation", confirmation);
    code = pfc_http_json(http, "POST", "/api/v1/bisections", body, NULL, NULL, err);

done:
    pfc_http_free(http);
    free(project);
    json_decref(body);
    return code;
}

json_t *bisect_document_json(const bisect_session *b, const pfc_bisect_report *report,
                             const bisect_stop *stop)
{
    json_t *doc = bisect_report_json(b, report, stop);
    json_t *open = culprits_json(b, report, false);

    /* Durations of a fixed amount of work before and after: they differ when the machine
     * changed. */
    json_object_set_new(doc, "canary",
                        b->canary.read
                            ? json_pack("{s:o,s:o,s:b}", "before_ns",
                                        pfc_bisect_number_json(b->canary.before_ns), "after_ns",
                                        pfc_bisect_number_json(b->canary.after_ns), "moved",
                                        b->canary.moved)
                            : json_null());
    json_object_set_new(
        doc, "confirmed",
        json_boolean(pfc_bisect_verdict_names(report->verdict) && bisect_confirms(b->opts)));
    /* Culprits of the search that are not confirmed: see evidence. */
    json_object_set_new(doc, "unconfirmed", open);
    json_object_set_new(doc, "evidence", bisect_evidence_json(b, report));
    return doc;
}
