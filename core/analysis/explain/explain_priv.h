/* Shared by the parts of core/analysis/explain. Private to this folder. */
#ifndef PFC_CORE_ANALYSIS_EXPLAIN_EXPLAIN_PRIV_H
#define PFC_CORE_ANALYSIS_EXPLAIN_EXPLAIN_PRIV_H

#include "core/analysis/explain/explain.h"

/** The measurement that `what` means; errors as of pfc_explain_run. (select.c) */
pfc_code pfc_explain_select(const pfc_run *run, const pfc_explain_what *what,
                            const pfc_measurement **out, pfc_err *err) PFC_MUSTCHECK;
/** The measurement of `after` whose value became worse by the largest share of the value before. If
 *  no value became worse, the measurement whose value improved most. Exact measurements are
 *  preferred to noisy ones. PFC_ENOTFOUND when no benchmark is in both runs. (select.c) */
pfc_code pfc_explain_select_worst(const pfc_run *before, const pfc_run *after,
                                  const pfc_explain_what *what, const pfc_measurement **out,
                                  pfc_err *err) PFC_MUSTCHECK;

#endif
