/*
 * Between the files that store schedules (schedules.c) and that start their nights
 * (schedule_fire.c).
 */
#ifndef PFC_SERVER_SERVICES_QUEUE_SCHEDULE_PLAN_H
#define PFC_SERVER_SERVICES_QUEUE_SCHEDULE_PLAN_H

#include "server/services/queue/schedules.h"

/** The first due time after `after`, in Unix seconds. PFC_EINVAL with the field cron or zone,
 *  PFC_EUNAVAIL: no time zone data, PFC_EIO: it is damaged. */
pfc_code pfc_schedule_next(const char *cron_text, const char *zone_name, const char *zone_dir,
                           int64_t after, double *next, pfc_err *err) PFC_MUSTCHECK;
/** Locks the schedule until the transaction ends. PFC_ENOTFOUND. Clear *out in every case. */
pfc_code pfc_schedule_lock(pfc_tx *tx, int64_t project_id, const char *name,
                           pfc_sql_schedule_due_rows *out, pfc_err *err) PFC_MUSTCHECK;

#endif
