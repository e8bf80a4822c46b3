/*
 * Series whose changes go away and come back at the same place.
 */
#ifndef PFC_SERVER_SERVICES_DETECT_FLAPS_H
#define PFC_SERVER_SERVICES_DETECT_FLAPS_H

#include "server/services/detect/detect.h"

/** Notes in series.two_speeds the machines that show both levels of an alertable change that went
 *  away twice or more, among the newest 200 points; none where no such change is left. tx holds the
 *  series. */
pfc_code pfc_flaps_note(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                        const pfc_history *h, pfc_err *err) PFC_MUSTCHECK;

#endif
