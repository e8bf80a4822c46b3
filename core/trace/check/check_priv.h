/*
 * Shared by the checkers of both formats. Private to core/trace.
 */
#ifndef PFC_CORE_TRACE_CHECK_CHECK_PRIV_H
#define PFC_CORE_TRACE_CHECK_CHECK_PRIV_H

#include "core/trace/check/check.h"

/** Adds a fault. */
void pfc_trace_found(pfc_trace_report *report, pfc_trace_check_kind kind, uint64_t record,
                     uint64_t offset, const char *fmt, ...) PFC_PRINTF(5, 6);

/** Checks the records of a reader that was opened with PFC_TRACE_LENIENT. PFC_EIO. */
pfc_code pfc_trace_check_binary(pfc_trace_reader *reader, pfc_trace_report *report,
                                pfc_err *err) PFC_MUSTCHECK;
/** Checks JSON from a descriptor, or, when fd is -1, from memory. PFC_EIO. */
pfc_code pfc_trace_check_json(int fd, const void *bytes, size_t len, const char *name,
                              pfc_trace_report *report, pfc_err *err) PFC_MUSTCHECK;

#endif
