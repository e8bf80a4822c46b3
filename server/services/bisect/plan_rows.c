/*
 * Reads a bisection's rows, and makes the plan from them.
 */
#include "core/base/buf.h"
#include "server/services/bisect/bisect.h"
#include "server/services/bisect/remote.h"

static const char *const state_names[] = { "asked", "measured", "broken", "failed", "timed_out" };

const char *remote_state_name(pfc_bisect_outcome state)
{
    return state_names[state];
}

static pfc_bisect_outcome state_of(const char *name)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(state_names); i++)
        if (pfc_streq(name, state_names[i]))
            return (pfc_bisect_outcome)i;
    return PFC_BISECT_PENDING;
}

const char *remote_commit(const remote *r, size_t place)
{
    return r->line.items[place];
}

void remote_clear(remote *r)
{
    pfc_texts_clear(&r->line);
    pfc_texts_clear(&r->option_texts);
    free(r->prior);
    free(r->steps);
    pfc_rows_clear(&r->row);
    pfc_rows_clear(&r->step_rows);
    *r = (remote){ 0 };
}

/* ---- loading ---- */

static pfc_code read_row(remote *r, pfc_err *err)
{
    const pfc_sql_bisection_load_row *row = r->row.items;
    size_t prior_len = 0;

    pfc_array_texts(row->line, &r->line);
    r->len = r->line.len;
    r->metric = row->metric;
    r->benchmark = row->benchmark;
    r->backend = row->backend;
    r->branch = row->branch;
    r->machine_class = row->machine_class;
    r->alert_id = row->alert_id;
    r->known = row->higher_is_better.known;
    r->higher_is_better = row->higher_is_better.value;
    r->exact = row->exact;
    pfc_array_f64s(row->prior, &r->prior, &prior_len);
    if (prior_len != r->len) {
        free(r->prior);
        r->prior = NULL;
    }
    return pfc_bisection_options_parse(row->options_json, &r->options, &r->option_texts, err);
}

static void read_steps(remote *r)
{
    for (size_t i = 0; i < r->step_rows.len; i++) {
        const pfc_sql_bisection_steps_row *row = &r->step_rows.items[i];

        r->steps = pfc_grow(r->steps, r->steps_len, &r->steps_cap, sizeof(*r->steps));
        r->steps[r->steps_len++] = (remote_step){
            .n = row->n,
            .place = (size_t)row->place,
            .layout = (unsigned)row->layout,
            .state = state_of(row->state),
            .job_id = row->job_id,
            .run_id = row->run_id,
            .value = row->value,
            .reason = row->reason,
            .job_state = row->job_state,
            .job_reason = row->job_reason,
        };
    }
}

pfc_code remote_load(pfc_tx *tx, int64_t project_id, int64_t id, remote *out, pfc_err *err)
{
    remote r = { .project_id = project_id, .id = id };
    pfc_code code;

    code = pfc_sql_bisection_load(
        tx, &(pfc_sql_bisection_load_args){ .project_id = project_id, .id = id }, &r.row, err);
    if (!code && r.row.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such bisection");
    if (!code)
        code = read_row(&r, err);
    if (!code)
        code = pfc_sql_bisection_steps(
            tx, &(pfc_sql_bisection_steps_args){ .project_id = project_id, .bisection_id = id },
            &r.step_rows, err);
    if (code) {
        remote_clear(&r);
        return code;
    }
    read_steps(&r);
    *out = r;
    return PFC_OK;
}

/* ---- planning ---- */

pfc_code remote_plan_new(const remote *r, pfc_bisect_plan **out, pfc_err *err)
{
    const pfc_bisection_options *o = &r->options;
    const pfc_bisect_opts opts = {
        .commits = r->len,
        .higher_is_better = r->higher_is_better,
        .confidence = o->confidence,
        .exact = r->exact,
        .noise_rel = o->noise_rel,
        .layout_noise_rel = o->layout_noise_rel,
        .delta_rel = o->delta_rel,
        .margin = o->margin_rel,
        .relink = o->relink,
        .max_runs = (size_t)o->max_runs,
        .prior = r->prior,
        .seed = 1,
    };

    return pfc_bisect_new(out, &opts, err);
}

pfc_code remote_plan_add(pfc_bisect_plan *plan, const remote_step *s, pfc_err *err)
{
    return pfc_bisect_add_result(
        plan,
        &(pfc_bisect_result){
            .commit = s->place, .build = s->layout, .outcome = s->state, .value = s->value },
        err);
}

pfc_code remote_plan(const remote *r, pfc_bisect_plan **out, pfc_err *err)
{
    pfc_bisect_plan *plan = NULL;
    pfc_code code = remote_plan_new(r, &plan, err);

    for (size_t i = 0; !code && i < r->steps_len; i++)
        code = remote_plan_add(plan, &r->steps[i], err);
    if (code)
        pfc_bisect_free(plan);
    else
        *out = plan;
    return code;
}
