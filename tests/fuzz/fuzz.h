/* Functions that every fuzz target defines and both drivers call. */
#ifndef PFC_TESTS_FUZZ_FUZZ_H
#define PFC_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/** Ends the process with a sentence unless `condition` holds: a property of the target broke. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/** True under libFuzzer: a target with many forms of reading tries one of them an execution. The
 *  replay of what is committed tries them all. */
#ifdef PERFCI_LIBFUZZER
#define FUZZ_ONE_FORM true
#else
#define FUZZ_ONE_FORM false
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
