/*
 * Seeded random numbers (xoshiro256**, seeded by splitmix64): same seed, same sequence on every
 * machine. Passed in by the caller, so that each statistic can be repeated bit for bit. Not for
 * secrets: those come from pfc_random_bytes. A pfc_rng is not shared between threads.
 * Source: Blackman & Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47, 2021.
 */
#ifndef PFC_CORE_BASE_RNG_H
#define PFC_CORE_BASE_RNG_H

#include "core/base/err.h"

typedef struct pfc_rng {
    uint64_t s[4];
} pfc_rng;

void pfc_rng_seed(pfc_rng *rng, uint64_t seed);
uint64_t pfc_rng_u64(pfc_rng *rng);
/** Uniform in [0, bound), bound > 0, without bias. */
uint64_t pfc_rng_below(pfc_rng *rng, uint64_t bound);
/** Uniform in [0, 1). */
double pfc_rng_double(pfc_rng *rng);
/** Standard normal (polar method). */
double pfc_rng_normal(pfc_rng *rng);
/** Random order of n pointers-sized indices: items[i] are permuted in place. */
void pfc_rng_shuffle(pfc_rng *rng, size_t *items, size_t n);
/** Bytes from the kernel, for tokens and ids; ends the process if the kernel has none. */
void pfc_random_bytes(void *out, size_t len);
/** 128 random bits as 32 hexadecimal digits and NUL: ids of runs and requests. */
void pfc_random_id(char out[33]);

#endif
