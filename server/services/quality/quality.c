/* Quality of the alerts of a project; see quality.h. */
#include "server/services/quality/quality.h"

#include <assert.h>
#include <string.h>

typedef struct reading {
    int64_t project_id;
    int months, most;
    pfc_quality *out;
} reading;

static pfc_code read_rows(pfc_tx *tx, void *into, pfc_err *err)
{
    const reading *r = into;

    pfc_rows_clear(&r->out->rows);
    return pfc_sql_quality_rows(tx,
                                &(pfc_sql_quality_rows_args){
                                    .project_id = r->project_id,
                                    .months = r->months,
                                    .most = r->most,
                                    .limit = 1 + r->months + PFC_QUALITY_MAX_KERNELS + 1,
                                },
                                &r->out->rows, err);
}

pfc_code pfc_quality_read(pfc_db *db, int64_t project_id, int months, int most, pfc_quality *out,
                          pfc_err *err)
{
    pfc_quality quality = { 0 };
    reading r = { .project_id = project_id, .months = months, .most = most, .out = &quality };
    pfc_code code;

    assert(months >= 1 && months <= PFC_QUALITY_MAX_MONTHS);
    assert(most >= 1 && most <= PFC_QUALITY_MAX_ALERTS);
    code = pfc_db_read(db, read_rows, &r, err);
    if (code) {
        pfc_quality_clear(&quality);
        return code;
    }
    for (size_t i = 1; i < quality.rows.len; i++) {
        quality.months += quality.rows.items[i].month != NULL;
        quality.kernels += quality.rows.items[i].kernel != NULL;
    }
    quality.truncated = quality.rows.len && quality.rows.items[0].truncated;
    quality.more_kernels = quality.kernels > PFC_QUALITY_MAX_KERNELS;
    quality.kernels = PFC_MIN(quality.kernels, PFC_QUALITY_MAX_KERNELS);
    *out = quality;
    return PFC_OK;
}

void pfc_quality_clear(pfc_quality *quality)
{
    pfc_rows_clear(&quality->rows);
    memset(quality, 0, sizeof(*quality));
}
