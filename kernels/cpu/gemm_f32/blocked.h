/*
 * The loops around a register tile, shared by the wide variants and by attention_f32; private to
 * kernels/cpu.
 *
 * The scheme is that of Goto & van de Geijn (ACM TOMS 34(3), 2008) in the form of BLIS (Van Zee &
 * van de Geijn, ACM TOMS 41(3), 2015): B is packed into slivers of `nr` columns that stay in L1 one
 * at a time, A into slivers of `mr` rows, a block of which stays in L2.
 */
#ifndef PFC_KERNELS_CPU_GEMM_F32_BLOCKED_H
#define PFC_KERNELS_CPU_GEMM_F32_BLOCKED_H

#include <stdbool.h>
#include <stddef.h>

#define PFC_GEMM_F32_MC_MAX 576  /* rows of a packed block of A */
#define PFC_GEMM_F32_KC_MAX 512  /* its depth, and that of the panel of B */
#define PFC_GEMM_F32_NC_MAX 4096 /* columns of the packed panel of B */
#define PFC_GEMM_F32_MR_MAX 16   /* rows of the largest register tile */
#define PFC_GEMM_F32_NR_MAX 64   /* its columns */

/** One instruction set's parts. Sizes: mr, nr, mc, kc, nc at most the maxima above. */
typedef struct pfc_gemm_f32_tile {
    size_t mr, nr;     /* register tile */
    size_t mc, kc, nc; /* cache blocks, upper limits; mc a multiple of mr, nc of nr */
    size_t thin_nc;    /* columns of B at a time when one block holds all rows of A; likewise */

    /* True when the product is too small, or too thin, to earn back the packing. */
    bool (*is_small)(size_t m, size_t n, size_t k, size_t lda, size_t ldb);

    /* The whole product, operands read in place. */
    void (*direct)(size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
                   const float *b, size_t ldb, float beta, float *c, size_t ldc);

    /* m x k of A, times alpha, as slivers of mr rows: out[sliver][p][row], the last padded by 0. */
    void (*pack_a)(size_t m, size_t k, float alpha, const float *a, size_t lda, float *out);

    /* k x n of B as slivers of nr columns: out[sliver][p][column], the last padded by 0. */
    void (*pack_b)(size_t k, size_t n, const float *b, size_t ldb, float *out);

    /* C = A B + beta C on packed operands, m <= mc, n <= nc, k <= kc, k > 0. */
    void (*block)(size_t m, size_t n, size_t k, const float *a, const float *b, float beta,
                  float *c, size_t ldc);
} pfc_gemm_f32_tile;

/** The parts of each instruction set, for kernels that are built on products (x86-64 only). */
extern const pfc_gemm_f32_tile pfc_gemm_f32_tile_avx2;
extern const pfc_gemm_f32_tile pfc_gemm_f32_tile_avx512;

/** The largest step of an even split: 600 in pieces of at most 512 is 2 * 300, not 512 + 88, so
 * that no piece is too short to pay for its own start. All but the last are multiples of `granule`.
 */
size_t pfc_gemm_f32_even_step(size_t size, size_t most, size_t granule);

/** The product by `tile`; the rest as pfc_gemm_f32_scalar. */
void pfc_gemm_f32_blocked(const pfc_gemm_f32_tile *tile, size_t m, size_t n, size_t k, float alpha,
                          const float *a, size_t lda, const float *b, size_t ldb, float beta,
                          float *c, size_t ldc, float *work);

#endif
