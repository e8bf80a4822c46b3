/*
 * The loops that the ceilings are measured with, one for each kind of arithmetic and instruction
 * set. Private to this folder. A loop runs `iterations` rounds and returns the number of operations
 * (a multiply and an add are two). Each file is compiled for its instruction set: the caller must
 * check that the CPU supports it.
 */
#ifndef PFC_BENCH_MACHINE_CEILINGS_LOOPS_H
#define PFC_BENCH_MACHINE_CEILINGS_LOOPS_H

#include "core/base/base.h"

typedef double pfc_loop(uint64_t iterations);
/* The sum of `len` floats (a multiple of 128, 64-byte aligned): only its time matters. */
typedef float pfc_read_loop(const float *x, size_t len);

pfc_loop pfc_fma_scalar, pfc_fma_avx2, pfc_fma_avx512;
pfc_loop pfc_bf16_avx512, pfc_bf16_amx;
pfc_loop pfc_int8_avx2, pfc_int8_avxvnni, pfc_int8_avx512, pfc_int8_amx;
pfc_read_loop pfc_read_scalar, pfc_read_avx2, pfc_read_avx512;

/** Requests the tile registers from the kernel; false: the CPU or the kernel has none. */
bool pfc_amx_enable(void);

#endif
