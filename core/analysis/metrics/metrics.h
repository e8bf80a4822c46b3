/*
 * Metrics of a run as data: expressions (expr/expr.h) over the numbers of a profile, from a file
 * for each family of devices (accelerator.yaml, cpu.yaml). A metric has a value, a unit, and where
 * it makes sense a peak, an achievable peak, and the share of the peak.
 *
 * A file has `definitions` (optional) and `metrics`, a list; a metric has `name`, `title`, `unit`,
 * `value`, and optionally `peak` and `achievable`.
 *
 * Metrics that were loaded are never changed: several threads may evaluate them.
 */
#ifndef PFC_CORE_ANALYSIS_METRICS_METRICS_H
#define PFC_CORE_ANALYSIS_METRICS_METRICS_H

#include "core/analysis/profile/profile.h"

#define PFC_METRICS_MAX 64

typedef struct pfc_metric_value {
    char name[48];  /* "hbm_bandwidth" */
    char unit[16];  /* "bytes/cycle" */
    char title[80]; /* "HBM bandwidth" */
    bool available;
    char reason[160];  /* what is missing; "" when available */
    double value;      /* NAN when not available */
    double peak;       /* of the hardware; NAN: the metric has none */
    double achievable; /* what measured programs reach at best; NAN: the metric has none */
    double share;      /* value / peak; NAN without a peak */
} pfc_metric_value;

typedef struct pfc_metrics pfc_metrics;

/** The built-in metrics of a family ("accelerator", "cpu"), or those of DIR/FAMILY.yaml; `dir`
 *  NULL: the built-in ones. PFC_EINVAL names file, line and what was expected. */
pfc_code pfc_metrics_load(const char *dir, const char *family, pfc_metrics **out,
                          pfc_err *err) PFC_MUSTCHECK;
/** The same of a text in memory; `name` is for messages. */
pfc_code pfc_metrics_parse(const char *name, const char *text, size_t len, pfc_metrics **out,
                           pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_metrics_free(pfc_metrics *m);
/** Evaluates all of them; returns how many there are. Never fails: a metric that cannot be computed
 *  says why. */
size_t pfc_metrics_evaluate(const pfc_metrics *m, const pfc_profile *p,
                            pfc_metric_value out[PFC_METRICS_MAX]);
/** The one of that name among `len` of them; NULL when there is none. */
const pfc_metric_value *pfc_metric_find(const pfc_metric_value *values, size_t len,
                                        const char *name);

#endif
