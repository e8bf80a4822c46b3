/*
 * Instructions by function: read from what valgrind's callgrind writes, and compared between two
 * runs of a program.
 *
 * Instructions do not depend on the machine's load, so a change of the code shows function by
 * function. They are not time: a load that misses a cache counts as one that hits it.
 *
 * Files come from outside: lines, functions and names are bounded. Functions keep no state.
 */
#ifndef PFC_CORE_ANALYSIS_FUNCTIONS_FUNCTIONS_H
#define PFC_CORE_ANALYSIS_FUNCTIONS_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

#define PFC_CALLGRIND_MAX_BYTES  (64u << 20) /* of one file */
#define PFC_FUNCTIONS_MAX        200000      /* of one program */
#define PFC_FUNCTIONS_NAME_BYTES 200         /* a longer name is cut */
#define PFC_FUNCTIONS_SHOWN      40          /* of a comparison */

typedef struct pfc_function {
    char *name;    /* of the symbol, or an address where the program has none */
    uint64_t self; /* instructions in the function itself, without those that it calls */
    uint64_t calls;
} pfc_function;

/** The functions of a program; zero is an empty list. */
typedef struct pfc_functions {
    pfc_function *items; /* after pfc_functions_sort in the order of their names, each name once */
    size_t len, cap;
    uint64_t total; /* instructions of all of them */
} pfc_functions;

/**
 * Adds the functions of one file of callgrind's format, version 1, to *out; `name` is for errors.
 * The first event counts, which has to be Ir (instructions). Several files, one a process, may be
 * added one after the other. PFC_EINVAL "name:line: expected ..., got ...", PFC_ETOOBIG over one of
 * the limits; *out is to be cleared in every case.
 */
pfc_code pfc_callgrind_read(const char *text, size_t len, const char *name, pfc_functions *out,
                            pfc_err *err) PFC_MUSTCHECK;
/** Joins functions of one name and sorts them by it. */
void pfc_functions_sort(pfc_functions *f);
void pfc_functions_clear(pfc_functions *f);

/** One function in both runs; 0 instructions and calls where a run has not executed it. */
typedef struct pfc_function_change {
    char name[PFC_FUNCTIONS_NAME_BYTES + 1];
    uint64_t before, after; /* instructions */
    uint64_t calls_before, calls_after;
} pfc_function_change;

/** The comparison of two programs. */
typedef struct pfc_function_delta {
    char unavailable[300];                            /* why there is none; "": there is one */
    uint64_t before, after;                           /* instructions of all functions */
    pfc_function_change changes[PFC_FUNCTIONS_SHOWN]; /* that differ, the largest change first */
    size_t len, more;                                 /* more: further ones that differ */
} pfc_function_delta;

/** Compares two sorted lists. */
void pfc_functions_compare(const pfc_functions *before, const pfc_functions *after,
                           pfc_function_delta *out);
/** The i-th change in a sentence: instructions, and how often the function is called; false when it
 *  carries less than a fifth of the difference, or there is none. At most 320 bytes with the
 *  terminator. */
bool pfc_function_sentence(const pfc_function_delta *d, size_t i, char out[320]);

#endif
