/* A small header and trace that the tests of core/trace share, and writing it to a file. */
#ifndef PFC_TESTS_CORE_TRACE_TRACE_CASE_H
#define PFC_TESTS_CORE_TRACE_TRACE_CASE_H

#include "core/trace/trace.h"

/** Ids of the units of case_header(). */
enum { CASE_HOST = 1, CASE_QUEUE = 10, CASE_TENSOR = 20, CASE_DMA = 30, CASE_POWER = 40 };

/** Two clocks (host 1 GHz, device 2 GHz with 36 bits), five units (the DMA engine overlaps), two
 *  counters, three names, three metadata pairs. */
const pfc_trace_header *case_header(void);
/** A launch from the call to the interrupt: every type of record, without a fault. */
const pfc_trace_record *case_records(size_t *len);
/** The same without the drop record, behind which pairs are not checked. */
const pfc_trace_record *case_whole_records(size_t *len);
/** A file with these records as the bytes of the format say, whatever is wrong with them; caller
 *  frees. */
uint8_t *case_bytes_of(const pfc_trace_header *header, const pfc_trace_record *records, size_t len,
                       size_t *out_len);
/** A fresh path in a folder of its own, with this ending; caller frees. */
char *case_path(const char *name);
/** Writes the records to `path` with `header`; the code of closing. */
pfc_code case_write(const char *path, const pfc_trace_header *header,
                    const pfc_trace_record *records, size_t len, pfc_err *err);
/** Removes the file and the folder that case_path made, and frees `path`. */
void case_remove(char *path);

#endif
