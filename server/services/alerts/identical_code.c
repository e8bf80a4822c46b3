/*
 * Changes in identical code, from what the measurements say of the code they ran.
 */
#include "server/services/alerts/identical_code.h"

#include <stdlib.h>
#include <string.h>

#include "core/suspects/suspects.h"
#include "server/services/internal.h"

pfc_code pfc_runtime_files(pfc_tx *tx, int64_t project_id, const char *benchmark, char ***out,
                           size_t *len, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_text(&args, benchmark);
    code = pfc_tx_query(tx, "runtime_files", &args, &res, err);
    *out = NULL;
    *len = 0;
    if (!code && pfc_res_rows(res)) {
        *out = pfc_calloc(pfc_res_rows(res), sizeof(char *));
        for (size_t i = 0; i < pfc_res_rows(res); i++)
            (*out)[(*len)++] = pfc_strdup(pfc_res_text(res, i, 0));
    }
    pfc_res_free(res);
    return code;
}

/* Does a commit from low to high touch what is read while the program runs? Of a commit whose paths are not
 * known it may. */
static pfc_code touches_runtime(pfc_tx *tx, int64_t project_id, const char *branch, int64_t low,
                                int64_t high, char *const *globs, size_t globs_len, bool *touches,
                                pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_text(&args, branch);
    pfc_args_i64(&args, low);
    pfc_args_i64(&args, high);
    code = pfc_tx_query(tx, "range_paths", &args, &res, err);
    *touches = false;
    for (size_t i = 0; !code && i < pfc_res_rows(res) && !*touches; i++) {
        const char *path = pfc_res_text(res, i, 0);

        *touches = !path || pfc_path_fits(path, globs, globs_len);
    }
    pfc_res_free(res);
    return code;
}

pfc_code pfc_identical_look(pfc_tx *tx, int64_t project_id, const char *branch,
                            const int64_t *changes, size_t n, pfc_identical **out, size_t *out_len,
                            pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code = PFC_OK;

    *out = NULL;
    *out_len = 0;
    if (n == 0)
        return PFC_OK;
    pfc_args_i64(&args, project_id);
    pfc_args_text(&args, branch);
    pfc_args_i64s(&args, changes, n);
    code = pfc_tx_query(tx, "identical_code", &args, &res, err);
    if (!code)
        *out = pfc_calloc(pfc_res_rows(res) + 1, sizeof(**out));
    for (size_t i = 0; !code && i < pfc_res_rows(res); i++) {
        const char *benchmark = pfc_res_text(res, i, pfc_res_column(res, "benchmark"));
        const int64_t low = pfc_res_i64(res, i, pfc_res_column(res, "position_low"));
        const int64_t high = pfc_res_i64(res, i, pfc_res_column(res, "position_high"));
        pfc_identical found = { .change_id = pfc_res_i64(res, i, 0) };
        char **globs = NULL;
        size_t globs_len = 0;
        bool touches = false;

        (void)snprintf(found.against, sizeof(found.against), "%s",
                       pfc_res_text(res, i, pfc_res_column(res, "against")));
        (void)snprintf(found.commit, sizeof(found.commit), "%s",
                       pfc_res_text(res, i, pfc_res_column(res, "commit")));
        code = pfc_runtime_files(tx, project_id, benchmark, &globs, &globs_len, err);
        if (!code && globs_len)
            code =
                touches_runtime(tx, project_id, branch, low, high, globs, globs_len, &touches, err);
        if (!code && !touches)
            (*out)[(*out_len)++] = found;
        pfc_texts_free(globs, globs_len);
    }
    pfc_res_free(res);
    if (code) {
        free(*out);
        *out = NULL;
        *out_len = 0;
    }
    return code;
}
