/*
 * Machines that moved: where the canary did not stand still, one event stands for all the
 * regressions that the machine would have shown.
 */
#include "server/services/internal.h"

pfc_code pfc_environment_note(pfc_tx *tx, int64_t project_id, int64_t machine_id, int64_t run_id,
                              bool infra, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    int64_t id = 0;
    bool tell;
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, machine_id);
    if (infra)
        pfc_args_i64(&args, run_id);
    code = pfc_tx_query(tx, infra ? "environment_moved" : "environment_still", &args, &res, err);
    if (code)
        return code;
    if (pfc_res_rows(res))
        id = pfc_res_i64(res, 0, 0);
    tell = id && (!infra || pfc_res_bool(res, 0, 1));
    pfc_res_free(res);
    if (!tell)
        return PFC_OK;
    pfc_args_i64(&args, id);
    return pfc_tx_query(tx, "environment_notify", &args, NULL, err);
}
