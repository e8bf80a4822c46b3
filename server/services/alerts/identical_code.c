/*
 * Finds changes in identical code, from the hashes of object code in the measurements.
 */
#include "server/services/alerts/identical_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/suspects/suspects.h"
#include "server/repo/sql/withheld.h"
#include "server/services/service.h"

pfc_code pfc_runtime_files(pfc_tx *tx, int64_t project_id, const char *benchmark, char ***out,
                           size_t *len, pfc_err *err)
{
    pfc_sql_runtime_files_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_runtime_files(
        tx, &(pfc_sql_runtime_files_args){ .project_id = project_id, .benchmark = benchmark },
        &rows, err);
    *out = NULL;
    *len = 0;
    if (!code && rows.len) {
        *out = pfc_calloc(rows.len, sizeof(char *));
        for (size_t i = 0; i < rows.len; i++)
            (*out)[(*len)++] = pfc_strdup(rows.items[i].glob);
    }
    pfc_rows_clear(&rows);
    return code;
}

/* Does a commit from low to high touch a file that the program reads at run time? True also for
 * commits whose paths are unknown. */
static pfc_code touches_runtime(pfc_tx *tx, int64_t project_id, const char *branch, int64_t low,
                                int64_t high, char *const *globs, size_t globs_len, bool *touches,
                                pfc_err *err)
{
    pfc_sql_range_paths_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_range_paths(
        tx,
        &(pfc_sql_range_paths_args){
            .project_id = project_id, .branch = branch, .position_from = low, .position_to = high },
        &rows, err);
    *touches = false;
    for (size_t i = 0; !code && i < rows.len && !*touches; i++) {
        const char *path = rows.items[i].path;

        *touches = !path || pfc_path_fits(path, globs, globs_len);
    }
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_identical_look(pfc_tx *tx, int64_t project_id, const char *branch,
                            const int64_t *changes, size_t n, pfc_identical **out, size_t *out_len,
                            pfc_err *err)
{
    pfc_sql_identical_code_rows rows = { 0 };
    pfc_code code = PFC_OK;

    *out = NULL;
    *out_len = 0;
    if (n == 0)
        return PFC_OK;
    code = pfc_sql_identical_code(tx,
                                  &(pfc_sql_identical_code_args){ .project_id = project_id,
                                                                  .branch = branch,
                                                                  .change_point_ids = changes,
                                                                  .change_point_ids_len = n },
                                  &rows, err);
    if (!code)
        *out = pfc_calloc(rows.len + 1, sizeof(**out));
    for (size_t i = 0; !code && i < rows.len; i++) {
        const char *benchmark = rows.items[i].benchmark;
        const int64_t low = rows.items[i].position_low;
        const int64_t high = rows.items[i].position_high;
        pfc_identical found = { .change_id = rows.items[i].id };
        char **globs = NULL;
        size_t globs_len = 0;
        bool touches = false;

        (void)snprintf(found.against, sizeof(found.against), "%s", rows.items[i].against);
        (void)snprintf(found.commit, sizeof(found.commit), "%s", rows.items[i].commit);
        code = pfc_runtime_files(tx, project_id, benchmark, &globs, &globs_len, err);
        if (!code && globs_len)
            code =
                touches_runtime(tx, project_id, branch, low, high, globs, globs_len, &touches, err);
        if (!code && !touches)
            (*out)[(*out_len)++] = found;
        pfc_texts_free(globs, globs_len);
    }
    pfc_rows_clear(&rows);
    if (code) {
        free(*out);
        *out = NULL;
        *out_len = 0;
    }
    return code;
}
