/*
 * Writes a bisection's rows.
 */
#include <math.h>

#include "server/repo/sql/bisections.h"
#include "server/repo/sql/jobs.h"
#include "server/services/bisect/remote.h"

pfc_code remote_put_step(pfc_tx *tx, const remote *r, const remote_step *s, pfc_err *err)
{
    return pfc_sql_bisection_step_put(
        tx,
        &(pfc_sql_bisection_step_put_args){
            .project_id = r->project_id,
            .bisection_id = r->id,
            .n = s->n,
            .place = (int64_t)s->place,
            .layout = s->layout,
            .job_id = s->job_id,
            .run_id = s->run_id,
            .value = s->state == PFC_BISECT_MEASURED ? s->value : (double)NAN },
        err);
}

pfc_code remote_finish(pfc_tx *tx, int64_t project_id, int64_t id, const char *state,
                       const remote_end *end, int64_t *row, pfc_err *err)
{
    pfc_code code;

    code =
        pfc_sql_bisection_finish(tx,
                                 &(pfc_sql_bisection_finish_args){ .project_id = project_id,
                                                                   .id = id,
                                                                   .state = state,
                                                                   .verdict = end->verdict,
                                                                   .culprits = end->culprits,
                                                                   .reason = end->reason,
                                                                   .stopped_json = end->stopped },
                                 row, err);
    if (!code)
        code = pfc_sql_bisection_notify(tx, &(pfc_sql_bisection_notify_args){ .id = id }, err);
    return code;
}

pfc_code remote_cancel_jobs(pfc_tx *tx, int64_t project_id, int64_t id, pfc_err *err)
{
    pfc_sql_bisection_jobs_cancel_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_bisection_jobs_cancel(
        tx, &(pfc_sql_bisection_jobs_cancel_args){ .project_id = project_id, .bisection_id = id },
        &rows, err);
    for (size_t i = 0; !code && i < rows.len; i++)
        code =
            pfc_sql_job_notify(tx, &(pfc_sql_job_notify_args){ .job_id = rows.items[i].id }, err);
    pfc_rows_clear(&rows);
    return code;
}

const char *remote_job_kind(const remote *r, const char *kind)
{
    return r->options.stranger ? "pull_request" : kind;
}

void remote_labels(const remote *r, pfc_labels *out)
{
    if (r->machine_class)
        pfc_labels_set(out, "machine_class", r->machine_class);
}
