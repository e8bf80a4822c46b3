/*
 * Parts of a bisection's report as JSON, with the members that the command line, the service and
 * reports posted to the service share.
 */
#ifndef PFC_CORE_BISECT_REPORT_JSON_H
#define PFC_CORE_BISECT_REPORT_JSON_H

#include <jansson.h>

#include "core/bisect/finding.h"
#include "core/bisect/remaining.h"

/** A real, or null where JSON has no such number: infinities and NaN. */
json_t *pfc_bisect_number_json(double value);
/** One item of "culprits". `ids`: array of the culprit's commit ids, taken over. */
json_t *pfc_culprit_json(const pfc_culprit *culprit, json_t *ids);
/** "difference": the ends' difference against the margin. */
json_t *pfc_finding_json(const pfc_finding *finding, double more_runs);
/** Sets "stopped" to "budget", and the members that say which question the budget left open.
 * `likeliest`: id of the most probable commit. */
void pfc_bisect_remaining_json(const pfc_bisect_remaining *remaining, size_t budget_runs,
                               const char *likeliest, double more_runs, json_t *doc);

#endif
