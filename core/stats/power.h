/* What a series can show, from its noise and its length: an estimate of what to expect of it, by the
 * detector's own threshold for alerts (fdr.h). Pure functions. */
#ifndef PFC_CORE_STATS_POWER_H
#define PFC_CORE_STATS_POWER_H

#include "core/base/base.h"

/** Smallest relative step that is alerted in four cases of five within `points_after` points, after
 *  `points_before` points whose noise is noise_rel; not under `floor_rel`. NAN: unknown. An estimate
 *  from the detector's threshold: it says what to expect of a series, not of a change. */
double pfc_detectable(double noise_rel, size_t points_before, size_t points_after,
                      double floor_rel);
/** Points of a new level that show a step of `rel` in that sense; 0: unknown, or never with so few
 *  points before. */
size_t pfc_points_for(double noise_rel, size_t points_before, double rel);

#endif
