/*
 * How a repository is built and measured, told from its files: for `perfci init`.
 *
 * Only what files say is used: targets that link a benchmark library, benchmark functions, a target
 * `bench` of a Makefile. Nothing is executed. At most PFC_INSPECT_MAX_FILES files are opened, and
 * of each at most PFC_INSPECT_MAX_BYTES are read; folders that hold other people's code or what was
 * built (third_party, node_modules, build, ...) are left out, and symbolic links are not followed.
 */
#ifndef PFC_CLI_SETUP_INSPECT_REPOSITORY_H
#define PFC_CLI_SETUP_INSPECT_REPOSITORY_H

#include "core/base/base.h"

#define PFC_INSPECT_MAX_FILES 4000
#define PFC_INSPECT_MAX_BYTES (128 * 1024)
#define PFC_INSPECT_MAX_DEPTH 6

/** Findings about a repository; texts are owned. */
typedef struct pfc_inspect {
    const char *kind; /* "CMake and Google Benchmark"; static; NULL: nothing that is known */
    char *build;      /* shell command; NULL: nothing is built */
    char *measure;    /* shell command; NULL: it must be written by hand, `todo` says how */
    char *todo;       /* what is missing; NULL: nothing */
    char *program;    /* the name of the program that `measure` begins with; NULL: none was built */
    char *others;     /* further benchmark programs, ", " between; NULL: none */
} pfc_inspect;

/** Never fails: what cannot be read is not known. Clear with pfc_inspect_clear. */
void pfc_inspect_look(const char *root, pfc_inspect *out);
void pfc_inspect_clear(pfc_inspect *found);
/** Where `program` was built, relative to `root` ("build/src/bench"); NULL: not below build
 * folders. Caller frees. */
char *pfc_inspect_find_program(const char *root, const char *program);

#endif
