/*
 * The ends of a window, as requests name them: Unix seconds or commits.
 */
#include <math.h>

#include "core/base/parse.h"
#include "server/repo/sql/series.h"
#include "server/services/history/history.h"

pfc_code pfc_window_position(pfc_tx *tx, int64_t project_id, const char *branch, const char *commit,
                             const char *field, int64_t *position, pfc_err *err)
{
    pfc_sql_commit_position_rows rows = { 0 };
    pfc_code code =
        pfc_sql_commit_position(tx,
                                &(pfc_sql_commit_position_args){
                                    .project_id = project_id, .branch = branch, .sha = commit },
                                &rows, err);

    if (!code && rows.len > 1)
        code = pfc_err_set_field(err, PFC_EINVAL, field, "%s: \"%s\" fits several commits", field,
                                 commit);
    if (!code) {
        *position = rows.len == 1 ? rows.items[0].position : 0;
        if (!*position)
            code =
                pfc_err_set_field(err, PFC_ENOTFOUND, field,
                                  "%s: no commit \"%s\" on the line of %s", field, commit, branch);
    }
    pfc_rows_clear(&rows);
    return code;
}

/* "Unix seconds or a commit id": at most 11 decimal digits are seconds. */
static pfc_code read_bound(pfc_tx *tx, int64_t project_id, const char *branch, const char *text,
                           const char *field, int64_t *position, double *time, pfc_err *err)
{
    if (!text)
        return PFC_OK;
    if (strspn(text, "0123456789.-") == strlen(text) && strlen(text) <= 18 &&
        strspn(text, "0123456789") <= 11 &&
        pfc_parse_double(text, -1e11, 1e11, field, time, NULL) == PFC_OK)
        return PFC_OK;
    if (!pfc_is_hex_id(text))
        return pfc_err_set_field(err, PFC_EINVAL, field, "%s: expected Unix seconds or a commit id",
                                 field);
    return pfc_window_position(tx, project_id, branch, text, field, position, err);
}

pfc_code pfc_window_bounds_read(pfc_tx *tx, int64_t project_id, const char *branch,
                                const char *from, const char *to, pfc_window_bounds *out,
                                pfc_err *err)
{
    pfc_window_bounds b = { .time_from = (double)NAN, .time_to = (double)NAN };
    pfc_code code =
        read_bound(tx, project_id, branch, from, "from", &b.position_from, &b.time_from, err);

    if (!code)
        code = read_bound(tx, project_id, branch, to, "to", &b.position_to, &b.time_to, err);
    /* Ends of the same kind in the wrong order are an error, not an empty window. */
    if (!code && (b.time_from > b.time_to ||
                  (b.position_from && b.position_to && b.position_from > b.position_to)))
        code = pfc_err_set_field(err, PFC_EINVAL, "to", "to: lies before from");
    if (!code)
        *out = b;
    return code;
}
