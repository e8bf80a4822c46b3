/*
 * Stores the results of judging in the rows of several series, and of their states, at once.
 */
#ifndef PFC_SERVER_SERVICES_DETECT_JUDGED_ROWS_H
#define PFC_SERVER_SERVICES_DETECT_JUDGED_ROWS_H

#include "server/services/detect/detect.h"

/* One series. */
typedef struct pfc_judged_row {
    int64_t series_id, points, last_commit_id;
    double noise_rel, detectable_rel; /* NAN: unknown */
    int64_t watching, watching_of, level_points;
    bool judged;
    pfc_settled settled;
    int64_t anchor_run;
    int64_t position, generation; /* of its state; generation 0: it has none */
} pfc_judged_row;

typedef struct pfc_judged_rows pfc_judged_rows;

/** Room for `len` series; free it. */
pfc_judged_rows *pfc_judged_rows_new(size_t len);
void pfc_judged_rows_free(pfc_judged_rows *rows);
/** Adds one, with the newest medians of h. steady: ignored where the row has no state. */
void pfc_judged_rows_add(pfc_judged_rows *rows, const pfc_judged_row *row, const pfc_history *h,
                         const pfc_steady *steady);
/** Stores them by one statement. */
pfc_code pfc_judged_rows_store(pfc_tx *tx, int64_t project_id, const pfc_judged_rows *rows,
                               pfc_err *err) PFC_MUSTCHECK;

#endif
