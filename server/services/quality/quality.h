/*
 * Quality of the alerts of a project: how triage judged them, and how long triage, culprit and fix
 * took. Thread-safe.
 */
#ifndef PFC_SERVER_SERVICES_QUALITY_QUALITY_H
#define PFC_SERVER_SERVICES_QUALITY_QUALITY_H

#include "server/repo/sql/quality.h"
#include "server/services/service.h"

#define PFC_QUALITY_MONTHS      12 /* unless asked for others */
#define PFC_QUALITY_MAX_MONTHS  36
#define PFC_QUALITY_MAX_KERNELS 200
#define PFC_QUALITY_MAX_ALERTS  50000

typedef pfc_sql_quality_rows_row pfc_quality_row;
typedef pfc_sql_quality_rows_rows pfc_quality_rows;

/** Slices of `rows`: the first row is that of all alerts. */
typedef struct pfc_quality {
    pfc_quality_rows rows;
    size_t months, kernels; /* rows 1..months, and the kernels after them */
    bool more_kernels;      /* than PFC_QUALITY_MAX_KERNELS */
    bool truncated;         /* older alerts of these months are not counted */
} pfc_quality;

/** Alerts opened in the current month and the `months` - 1 before it (1 to PFC_QUALITY_MAX_MONTHS),
 *  at most the newest `most` of the project (1 to PFC_QUALITY_MAX_ALERTS). Clear *out. A replica
 *  may answer. */
pfc_code pfc_quality_read(pfc_db *db, int64_t project_id, int months, int most, pfc_quality *out,
                          pfc_err *err) PFC_MUSTCHECK;
void pfc_quality_clear(pfc_quality *quality);

#endif
