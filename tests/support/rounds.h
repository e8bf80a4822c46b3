/*
 * How often a test repeats a simulation. A sanitizer looks for wrong accesses to memory and for
 * undefined operations, which a tenth of the rounds show as well; the release build asserts the
 * shares with all of them.
 */
#ifndef PFC_TESTS_SUPPORT_ROUNDS_H
#define PFC_TESTS_SUPPORT_ROUNDS_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PFC_ROUNDS(n) ((n) / 10)
#else
#define PFC_ROUNDS(n) (n)
#endif

#endif
