/*
 * Values of a run's measurements, as comparisons use them. Thread-safe; nothing is changed.
 */
#ifndef PFC_CORE_WIRE_RUN_VALUES_H
#define PFC_CORE_WIRE_RUN_VALUES_H

#include "core/wire/wire.h"

/** True for the id of a run, 32 hexadecimal digits, and for the number of a stored one. */
bool pfc_run_is_id(const char *text);

/** The run's measurement with the benchmark, metric and backend of `like`; NULL: it has none. */
const pfc_measurement *pfc_run_find(const pfc_run *run, const pfc_measurement *like);

/** The compared values of a measurement: the medians of its blocks, or with `by_block` false its
 *  samples. *n of them; the caller frees. */
double *pfc_measurement_values(const pfc_measurement *m, bool by_block, size_t *n);

#endif
