/* Hand-made traces for the tests of the critical path: a header, records, and the path of both. */
#ifndef PFC_TESTS_CORE_ANALYSIS_PATH_PATH_CASE_H
#define PFC_TESTS_CORE_ANALYSIS_PATH_PATH_CASE_H

#include "core/analysis/path/path.h"

/** Ids of the units of the header: a queue, a matrix unit, a vector unit, three DMA engines. */
enum { CASE_QUEUE = 1, CASE_TENSOR = 2, CASE_VECTOR = 3, CASE_DMA0 = 16, CASE_DMA1, CASE_DMA2 };

/** One clock, the units above; names "kernel", "load a[i]", "load_a", "matmul_sum"; one channel of
 *  device memory, pieces of 4,096 bytes, a window of 64 pieces, no refresh. */
const pfc_trace_header *path_case_header(void);
/** The path of these records; the code of the first failure. */
pfc_code path_case(const pfc_trace_record *records, size_t len, pfc_path *out, pfc_err *err);
/** Ticks of all phases in which the resource blocks. */
uint64_t path_case_blocking(const pfc_path *path, pfc_resource r);

#endif
