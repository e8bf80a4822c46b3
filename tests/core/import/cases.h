/*
 * Cases of the readers in files: a text, options, and everything that must come of it, written out.
 *
 *   @case NAME
 *   @opt KEY VALUE      of pfc_import_opts, see cases.c
 *   @map                lines of a CSV mapping
 *   @text               lines of input; @escaped: with \r \t \xNN \\, and \c for "no line end here"
 *   @want               what pfc_import_read gives, as case_read writes it
 */
#ifndef PFC_TESTS_CORE_IMPORT_CASES_H
#define PFC_TESTS_CORE_IMPORT_CASES_H

#include "core/import/import.h"

enum { CASE_DIRECTIONS = 8 };

typedef struct import_case {
    char *name;
    char *text;
    size_t len;
    char *map;  /* NULL: none */
    char *want; /* lines */
    pfc_import_opts opts;
    pfc_direction directions[CASE_DIRECTIONS];
    char *owned[2 * CASE_DIRECTIONS]; /* texts of the options */
    size_t owned_len;
} import_case;

typedef struct import_cases {
    import_case *of;
    size_t len;
} import_cases;

/** Reads tests/data/import-cases/`file`; ends the test when it is no such file. */
import_cases cases_load(const char *file);
void cases_free(import_cases *cases);

/** Reads `text` with the options of the case and writes what came of it:
 *
 *   format NAME | history | note TEXT
 *   run COMMIT BRANCH TIME                              where one of them is known
 *   BENCHMARK | METRIC | UNIT | lower | 1 2; 3 4        blocks apart by ";"
 *   ... | broken: REASON | @BACKEND | {PARAM=x} | [EXTRA=x]
 *   error EINVAL: MESSAGE | hint HINT
 *
 * Caller frees. */
char *case_read(const import_case *c, const char *text, size_t len);

#endif
