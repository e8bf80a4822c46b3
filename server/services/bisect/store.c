/*
 * Writes a bisection's rows.
 */
#include <math.h>

#include "server/services/bisect/remote.h"

pfc_code remote_put_step(pfc_tx *tx, const remote *r, const remote_step *s, pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_i64(&args, r->project_id);
    pfc_args_i64(&args, r->id);
    pfc_args_i64(&args, s->n);
    pfc_args_i64(&args, (int64_t)s->place);
    pfc_args_i64(&args, s->layout);
    pfc_args_id(&args, s->job_id);
    pfc_args_id(&args, s->run_id);
    pfc_args_f64(&args, s->state == PFC_BISECT_MEASURED ? s->value : (double)NAN);
    return pfc_tx_query(tx, "bisection_step_put", &args, NULL, err);
}

pfc_code remote_finish(pfc_tx *tx, int64_t project_id, int64_t id, const char *state,
                       const remote_end *end, int64_t *row, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, id);
    pfc_args_text(&args, state);
    pfc_args_text(&args, end->verdict);
    pfc_args_text(&args, end->culprits);
    pfc_args_text(&args, end->reason);
    pfc_args_text(&args, end->stopped);
    code = pfc_query_id(tx, "bisection_finish", &args, row, err);
    if (!code) {
        pfc_args_i64(&args, id);
        code = pfc_tx_query(tx, "bisection_notify", &args, NULL, err);
    }
    return code;
}

pfc_code remote_cancel_jobs(pfc_tx *tx, int64_t project_id, int64_t id, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, id);
    code = pfc_tx_query(tx, "bisection_jobs_cancel", &args, &res, err);
    for (size_t i = 0; !code && i < pfc_res_rows(res); i++) {
        pfc_args_i64(&args, pfc_res_i64(res, i, 0));
        code = pfc_tx_query(tx, "job_notify", &args, NULL, err);
    }
    pfc_res_free(res);
    return code;
}

char *remote_labels(const remote *r)
{
    json_t *doc;
    char *labels;

    if (!r->machine_class)
        return NULL;
    doc = json_pack("{s:s}", "machine_class", r->machine_class);
    labels = json_dumps(doc, JSON_COMPACT);
    json_decref(doc);
    return labels;
}
