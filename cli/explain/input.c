/* From the command line to run documents. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/compare.h"
#include "cli/explain/explain.h"
#include "cli/measure/measure.h"
#include "cli/results/side.h"
#include "core/base/parse.h"
#include "core/wire/run_values.h"

typedef struct reading {
    const explain_opts *o;
    pfc_conf conf;
    pfc_repo *repo; /* NULL: this folder is in none */
    pfc_http *http; /* NULL: no service was needed so far */
    char *project;
} reading;

/* The service, opened when the first thing is asked of it. */
static pfc_code service(reading *r, pfc_err *err)
{
    if (r->http)
        return PFC_OK;
    return pfc_api_open(r->o->url, r->o->data, &r->conf, &r->http, err);
}

static pfc_code revision(reading *r, const pfc_commit_id *id, const char *machine_class,
                         pfc_run **out, pfc_err *err)
{
    pfc_code code = service(r, err);

    if (!code && !r->project)
        code = pfc_api_project(r->o->project, &r->conf, r->repo ? pfc_repo_root(r->repo) : NULL,
                               &r->project, err);
    return code ? code : pfc_side_stored_run(r->http, r->project, id->hex, machine_class, out, err);
}

static pfc_code side(reading *r, const char *text, const char *machine_class, pfc_run **out,
                     pfc_err *err)
{
    const pfc_directions none = { 0 };
    pfc_commit_id id = { "" };
    pfc_side_kind kind;
    pfc_code code = pfc_side_find(r->repo, text, false, &kind, &id, err);

    if (code)
        return code;
    switch (kind) {
    case PFC_SIDE_FILE:
        return pfc_take_file(text, NULL, &none, out, err);
    case PFC_SIDE_REVISION:
        return revision(r, &id, machine_class, out, err);
    case PFC_SIDE_RUN:
        break;
    }
    code = service(r, err);
    return code ? code : pfc_side_fetch_run(r->http, text, out, err);
}

static char *member(const json_t *obj, const char *key)
{
    return pfc_strdup(json_string_value(json_object_get(obj, key)));
}

/* The service says which runs stand for the two sides of an alert. */
static pfc_code alert(reading *r, explain_input *out, pfc_err *err)
{
    int64_t id = 0;
    char *path = NULL;
    json_t *doc = NULL;
    const json_t *runs;
    pfc_code code = pfc_parse_i64(r->o->alert, 1, INT64_MAX, "--alert", &id, err);

    if (!code)
        code = service(r, err);
    if (code)
        return code;
    path = pfc_format("/api/v1/alerts/%lld/explanation", (long long)id);
    code = pfc_http_json(r->http, "GET", path, NULL, NULL, &doc, err);
    runs = json_object_get(doc, "runs");
    if (!code)
        code = pfc_side_fetch_run(
            r->http, json_string_value(json_object_get(json_object_get(runs, "before"), "run")),
            &out->before, err);
    if (!code)
        code = pfc_side_fetch_run(
            r->http, json_string_value(json_object_get(json_object_get(runs, "after"), "run")),
            &out->after, err);
    if (!code) {
        out->benchmark = member(doc, "benchmark");
        out->backend = member(doc, "backend");
        out->metric = member(doc, "metric");
        out->alert = pfc_strdup(r->o->alert);
    }
    json_decref(doc);
    free(path);
    return code;
}

static pfc_code read_all(reading *r, explain_input *out, pfc_err *err)
{
    const explain_opts *o = r->o;
    pfc_code code;

    if (o->alert)
        return alert(r, out, err);
    out->benchmark = pfc_strdup(o->benchmark);
    out->backend = pfc_strdup(o->backend);
    out->metric = pfc_strdup(o->metric);
    if (o->run)
        return side(r, o->run, NULL, &out->after, err);
    code = side(r, o->sides[1], NULL, &out->after, err);
    return code ? code : side(r, o->sides[0], out->after->machine.machine_class, &out->before, err);
}

pfc_code explain_input_read(const explain_opts *o, explain_input *out, pfc_err *err)
{
    reading r = { .o = o };
    pfc_code code = pfc_conf_find(".", &r.conf, err);

    memset(out, 0, sizeof(*out));
    if (!code && pfc_repo_open(".", &r.repo, err)) {
        r.repo = NULL;
        *err = (pfc_err){ 0 };
    }
    if (!code)
        code = read_all(&r, out, err);
    if (!code && r.http)
        out->link_base = pfc_strdup(pfc_http_url(r.http));
    pfc_repo_close(r.repo);
    pfc_http_free(r.http);
    pfc_conf_clear(&r.conf);
    free(r.project);
    return code;
}

void explain_input_clear(explain_input *in)
{
    pfc_run_free(in->before);
    pfc_run_free(in->after);
    free(in->benchmark);
    free(in->backend);
    free(in->metric);
    free(in->alert);
    free(in->link_base);
    memset(in, 0, sizeof(*in));
}

/* ---- explaining ---- */

/* A row of the comparison decides a noisy metric; an exact one is judged by its values. */
static bool judged_of(const explain_input *in, const pfc_explanation *e, pfc_explain_judged *out)
{
    pfc_cmp cmp = { 0 };
    pfc_err err = { 0 };
    bool found = false;

    if (e->exact ||
        pfc_cmp_runs(in->before, in->after, in->before->id, in->after->id, 0, &cmp, &err)) {
        pfc_cmp_clear(&cmp);
        return false;
    }
    for (size_t i = 0; i < cmp.len && !found; i++) {
        const pfc_cmp_row *row = &cmp.rows[i];

        found = pfc_streq(row->benchmark, e->benchmark) && pfc_streq(row->metric, e->metric) &&
                pfc_streq(row->backend, e->backend);
        if (found)
            *out = (pfc_explain_judged){ pfc_cmp_name(row->verdict), row->rel_change, row->rel_low,
                                         row->rel_high, row->p };
    }
    pfc_cmp_clear(&cmp);
    return found;
}

static void add_commands(const explain_input *in, pfc_explanation *e)
{
    if (!in->before) {
        pfc_explanation_repeat(e, "perfci explain --run %s --benchmark '%s' --backend '%s'",
                               in->after->id, e->benchmark, e->backend);
        return;
    }
    pfc_explanation_repeat(e, "perfci explain %s %s --benchmark '%s' --backend '%s' --metric '%s'",
                           in->before->id, in->after->id, e->benchmark, e->backend, e->metric);
    if (in->before->commit && in->after->commit)
        pfc_explanation_repeat(e, "perfci compare %.12s %.12s", in->before->commit,
                               in->after->commit);
    if (in->alert) {
        pfc_explanation_repeat(e, "perfci why %s", in->alert);
        pfc_explanation_repeat(e, "perfci repro %s", in->alert);
    }
}

pfc_code explain_input_explain(const pfc_explain_rules *rules, const explain_input *in,
                               pfc_explanation *out, pfc_err *err)
{
    const pfc_explain_what what = { in->benchmark, in->backend, in->metric };
    pfc_explain_judged judged;
    pfc_code code;

    if (!in->before) {
        code = pfc_explain_run(rules, in->after, &what, out, err);
    } else {
        code = pfc_explain_pair(rules, in->before, in->after, &what, NULL, out, err);
        if (!code && judged_of(in, out, &judged))
            out->judged = judged;
    }
    if (!code) {
        add_commands(in, out);
        pfc_explanation_repeat_trace(out);
    }
    return code;
}
