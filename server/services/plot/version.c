/* The version of the data that plots of a branch show. */
#include <stdlib.h>

#include "server/services/plot/plot_priv.h"

typedef struct asked {
    int64_t project_id;
    const char *branch;
    char *version;
} asked;

pfc_code pfc_plot_version_read(pfc_tx *tx, int64_t project_id, const char *branch, char **out,
                               pfc_err *err)
{
    pfc_sql_plot_version_rows rows = { 0 };
    pfc_code code = pfc_sql_plot_version(
        tx, &(pfc_sql_plot_version_args){ .project_id = project_id, .branch = branch }, &rows, err);

    if (!code)
        *out = pfc_strdup(rows.items[0].version);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code read_version(pfc_tx *tx, void *into, pfc_err *err)
{
    asked *a = into;

    free(a->version);
    a->version = NULL;
    return pfc_plot_version_read(tx, a->project_id, a->branch, &a->version, err);
}

pfc_code pfc_plot_version(pfc_db *db, int64_t project_id, const char *branch, char **out,
                          pfc_err *err)
{
    asked a = { .project_id = project_id, .branch = branch };
    pfc_code code = pfc_db_read(db, read_version, &a, err);

    if (code) {
        free(a.version);
        return code;
    }
    *out = a.version;
    return PFC_OK;
}
