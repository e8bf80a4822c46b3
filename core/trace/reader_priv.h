/* More of a reader, for exporter and checker. Private to core/trace. */
#ifndef PFC_CORE_TRACE_READER_PRIV_H
#define PFC_CORE_TRACE_READER_PRIV_H

#include "core/trace/layout.h"

/** The header with its tables; lives as long as the reader. */
const pfc_trace_index *pfc_trace_reader_index(const pfc_trace_reader *reader);

/** Byte offset of a record that was read, by its number. */
uint64_t pfc_trace_reader_offset_of(const pfc_trace_reader *reader, uint64_t number);

#endif
