/*
 * A file that gets its name only when it is complete. Private to core/trace.
 */
#ifndef PFC_CORE_TRACE_SINK_H
#define PFC_CORE_TRACE_SINK_H

#include "core/base/err.h"

typedef struct pfc_trace_sink pfc_trace_sink;

/** Opens a temporary file beside `path`; "-" is standard output; a path that exists and is no
 *  regular file is written directly. PFC_ENOTFOUND or PFC_EIO. */
pfc_code pfc_trace_sink_open(pfc_trace_sink **out, const char *path, pfc_err *err) PFC_MUSTCHECK;
/** Writes all bytes, unless an earlier call failed. */
void pfc_trace_sink_write(pfc_trace_sink *sink, const void *bytes, size_t len);
bool pfc_trace_sink_failed(const pfc_trace_sink *sink);
/** Closes and renames, or reports the first failure and removes the temporary file. Frees. */
pfc_code pfc_trace_sink_close(pfc_trace_sink *sink, pfc_err *err) PFC_MUSTCHECK;
/** Frees and removes the temporary file. Accepts NULL. */
void pfc_trace_sink_drop(pfc_trace_sink *sink);

#endif
