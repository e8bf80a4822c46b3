/*
 * Results of other tools as series: a file is a point, a history is several. For `perfci detect`.
 */
#ifndef PFC_CLI_DETECT_RESULTS_SERIES_H
#define PFC_CLI_DETECT_RESULTS_SERIES_H

#include "cli/detect/series_read.h"
#include "cli/results/results.h"

typedef struct pfc_points pfc_points;

pfc_points *pfc_points_new(void);
/** Accepts NULL. */
void pfc_points_free(pfc_points *points);
/** Takes the values out of the runs; those that are broken or skipped are points without a value.
 */
void pfc_points_add(pfc_points *points, const pfc_import_result *result);
/**
 * Hands a series a benchmark, metric and backend over, in the order of their first points. A
 * point's time is its commit's where the repository around the current folder has all of them, else
 * what the results say; points without any are in the order in which they were added.
 */
void pfc_points_each(pfc_points *points, const pfc_series_sink *sink);
/** Names of metrics whose direction nothing says, without twins; lower was taken. */
size_t pfc_points_undirected(const pfc_points *points, const char *const **names);

#endif
