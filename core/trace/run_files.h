/*
 * Traces that a measuring program leaves for the run that it measures. The caller names a folder in
 * the environment; the program writes BENCHMARK@BACKEND.pct into it, or BENCHMARK.pct where the
 * backend does not matter. A slash in a name is a subfolder. The names are those of the run
 * document, so that the reader of the folder opens only files that it expects.
 */
#ifndef PFC_CORE_TRACE_RUN_FILES_H
#define PFC_CORE_TRACE_RUN_FILES_H

#include "core/base/base.h"

#define PFC_RUN_TRACES_VARIABLE "PERFCI_TRACES" /* the folder */

#define PFC_RUN_TRACES_MAX      16                  /* traces that are stored with one run */
#define PFC_RUN_TRACE_MAX_BYTES (16u * 1024 * 1024) /* of one of them */

/** A trace that belongs to a run. */
typedef struct pfc_run_trace {
    char *benchmark;
    char *file; /* path in the folder */
    char *bytes;
    size_t len;
} pfc_run_trace;

/** Frees the traces and their array. Accepts NULL. */
void pfc_run_traces_free(pfc_run_trace *traces, size_t len);

/** The file's path in the folder; backend NULL or "": without one. Caller frees. NULL: the name
 *  would leave the folder ("..", an empty component) or is longer than a path may be. */
char *pfc_run_trace_file(const char *benchmark, const char *backend);

#endif
