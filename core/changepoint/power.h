/* Minimum detectable change of a series from its noise and its length, by the detector's own
 * threshold for alerts (fdr.h). Pure functions, thread-safe. */
#ifndef PFC_CORE_CHANGEPOINT_POWER_H
#define PFC_CORE_CHANGEPOINT_POWER_H

#include "core/base/base.h"

#define PFC_NOISE_POINTS 4    /* fewest points from which the noise of a series is estimated */
#define PFC_POINTS_MOST  1000 /* "so many or more": a change of 1 % is out of practical reach */

/** Smallest relative step that is alerted in four cases of five within `points_after` points of it;
 * not under `floor_rel`. points_before: of the newest level that stands; history: of the series,
 * which is what its noise is known from (at least points_before). NAN: unknown. An estimate from
 * the detector's threshold: it says what to expect of a series, not of a change. */
double pfc_detectable(double noise_rel, size_t history, size_t points_before, size_t points_after,
                      double floor_rel);
/** Points of a new level that show a step of `rel` in that sense, at most PFC_POINTS_MOST (that
 * many or more); 0: the noise is unknown. */
size_t pfc_points_for(double noise_rel, size_t history, size_t points_before, double rel);

#endif
