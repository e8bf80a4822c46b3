/*
 * Results of other tools from files and folders: what import, push and detect read.
 */
#ifndef PFC_CLI_RESULTS_RESULTS_H
#define PFC_CLI_RESULTS_RESULTS_H

#include "cli/cli.h"
#include "core/import/import.h"

#define PFC_RESULTS_MAX_FILES 5000                    /* below one folder */
#define PFC_RESULTS_MAX_DEPTH 12                      /* folders below it */
#define PFC_RESULTS_MAX_BYTES (1024ull * 1024 * 1024) /* of all its files together */

/** The results of one argument of the command line. */
typedef struct pfc_results {
    char *file; /* the argument; below a folder the file's path */
    pfc_import_result read;
    pfc_import_result whole; /* of a history: all its points as one run; else empty */
} pfc_results;

/** Takes a file's results over: they are cleared after it. */
typedef pfc_code pfc_results_sink(void *arg, pfc_results *results, pfc_err *err);

/**
 * Reads a file ("-": standard input) or a folder and hands each result over.
 *
 * Of a folder every regular file is read that can be results: Criterion.rs' new/sample.json with
 * the benchmark's name beside it, asv's result files, pytest-benchmark's storage, and other JSON,
 * CSV and text files. Links are not followed. A file of no known format is left out with a note;
 * without a single result the folder is a fault. The files of a Criterion.rs tree become one
 * result, for they are one run.
 *
 * opts   where `benchmark` is NULL, a file of Criterion.rs takes the name from the file beside it
 *
 * PFC_EINVAL and the others of pfc_import_read, with the file's name; PFC_ETOOBIG over the limits.
 */
pfc_code pfc_results_read(const pfc_cli *cli, const pfc_import_opts *opts, const char *path,
                          pfc_results_sink *sink, void *arg, pfc_err *err) PFC_MUSTCHECK;

/** All of standard input, or of a file. Caller frees *out. */
pfc_code pfc_results_text(const char *path, char **out, size_t *len, pfc_err *err) PFC_MUSTCHECK;

#endif
