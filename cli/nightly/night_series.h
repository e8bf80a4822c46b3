/*
 * A judged series of a round as JSON. Private to judge.c and series.c.
 */
#ifndef PFC_CLI_NIGHTLY_NIGHT_SERIES_H
#define PFC_CLI_NIGHTLY_NIGHT_SERIES_H

#include "cli/nightly/nightly.h"

typedef struct pfc_night_series {
    const pfc_blocks_result *result;
    const pfc_measurement *like; /* any measurement of the series */
    const pfc_blocks_fit *fit;
} pfc_night_series;

/** verdict: "regression", "improvement", "same" or "undecided"; adjusted: NAN of an exact one. The
 * caller decrefs. */
json_t *pfc_night_boundary_json(const pfc_blocks_result *result, const pfc_boundary *boundary,
                                const char *verdict, double adjusted);
/** Takes `boundaries`; the caller decrefs. */
json_t *pfc_night_series_json(const pfc_night_series *series, json_t *boundaries);

#endif
