/*
 * From what the detector says of each series to what deserves an alert, given how many series were
 * looked at: used by the service when it opens alerts, and by the simulation that checks the promise.
 */
#ifndef PFC_CORE_STATS_FDR_H
#define PFC_CORE_STATS_FDR_H

#include "core/stats/stats.h"

#define PFC_ALERT_FDR 0.05 /* share of mistaken alerts among those opened for one place */

/** p of a change as clear as this one at any of the `points` places of its series; a series without
 *  noise has no chance to search in, so its p is kept. */
double pfc_fdr_anywhere(double p, size_t points, bool exact);
/** Enough of a change to open an alert, whatever else is known of it: settled by the detector, or
 *  five points and seven standard errors (the next points will hardly take that back), or twenty
 *  points. points_after: of the new level, up to the next change. */
bool pfc_alert_firm(const pfc_change *change, size_t points_after);
/** keep[i]: p[i] is a discovery at level q (Benjamini-Hochberg) among n changes at one place, where
 *  `measured` series were looked at; those without a change count with p = 1. measured < n is n. */
void pfc_fdr_keep(const double *p, size_t n, size_t measured, double q, bool *keep);

#endif
