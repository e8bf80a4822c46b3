/*
 * WIDEST before a function: it is compiled for several widths of vectors, and the loader takes the
 * widest that the machine has. Only for loops whose results do not depend on the width: integers,
 * and sums of doubles that are kept apart by hand. Private to core/stats.
 */
#ifndef PFC_CORE_CHANGEPOINT_SEGMENT_VECTOR_WIDTH_H
#define PFC_CORE_CHANGEPOINT_SEGMENT_VECTOR_WIDTH_H

/* Sanitizers start after the loader chooses between clones, which they do not survive. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__OPTIMIZE__) &&                      \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define WIDEST __attribute__((target_clones("avx2", "default")))
#else
#define WIDEST
#endif

#endif
