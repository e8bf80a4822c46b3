/* Two runs of a suite with a slower benchmark, and rules to explain them with. */
#ifndef PFC_TESTS_CORE_EXPLAIN_EXPLAIN_CASE_H
#define PFC_TESTS_CORE_EXPLAIN_EXPLAIN_CASE_H

#include "core/analysis/explain/explain.h"

#define CASE_GEMM      "gemm/bf16/m64"
#define CASE_ATTENTION "attention/bf16/h1"
#define CASE_CHIP      "accel:pfc-server"

/** A run whose GEMM takes `cycles`; memory has all ticks above 600. The attention takes 500 cycles
 *  on every call. The caller frees it with pfc_run_free. */
pfc_run *case_run(const char *id, double cycles);
/** A CPU's benchmark with these samples of time_ns. */
void case_add_cpu(pfc_run *run, const double *samples, size_t len);

#endif
