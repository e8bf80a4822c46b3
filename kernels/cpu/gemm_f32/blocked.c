/* The three outer loops of a packed product, and the sizes of their workspace. */
#include "kernels/cpu/gemm_f32/blocked.h"

#include "core/base/base.h"
#include "kernels/cpu/gemm_f32/gemm_f32.h"

static size_t round_up(size_t value, size_t step)
{
    return (value + step - 1) / step * step;
}

size_t pfc_gemm_f32_even_step(size_t size, size_t most, size_t granule)
{
    size_t pieces = (size + most - 1) / most;

    return pieces <= 1 ? size : PFC_MIN(round_up((size + pieces - 1) / pieces, granule), most);
}

static size_t packed_a_len(size_t m, size_t k)
{
    return round_up(PFC_MIN(m, (size_t)PFC_GEMM_F32_MC_MAX), PFC_GEMM_F32_MR_MAX) *
           PFC_MIN(k, (size_t)PFC_GEMM_F32_KC_MAX);
}

size_t pfc_gemm_f32_work_len(size_t m, size_t n, size_t k)
{
    size_t b = round_up(PFC_MIN(n, (size_t)PFC_GEMM_F32_NC_MAX), PFC_GEMM_F32_NR_MAX) *
               PFC_MIN(k, (size_t)PFC_GEMM_F32_KC_MAX);

    /* MR_MAX extra rows: tiles that do not divide it round up past it by less than themselves. */
    return round_up(packed_a_len(m + PFC_GEMM_F32_MR_MAX, k), 16) + b;
}

static void scale(size_t m, size_t n, float beta, float *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++)
            c[i * ldc + j] = beta == 0.0F ? 0.0F : beta * c[i * ldc + j];
    }
}

void pfc_gemm_f32_blocked(const pfc_gemm_f32_tile *tile, size_t m, size_t n, size_t k, float alpha,
                          const float *a, size_t lda, const float *b, size_t ldb, float beta,
                          float *c, size_t ldc, float *work)
{
    size_t mc = pfc_gemm_f32_even_step(m, tile->mc, tile->mr);
    size_t nc = pfc_gemm_f32_even_step(n, tile->nc, tile->nr);
    size_t kc = pfc_gemm_f32_even_step(k, tile->kc, 4);
    float *packed_a = work;
    float *packed_b = work + round_up(round_up(mc, tile->mr) * kc, 16);

    if (m == 0 || n == 0)
        return;
    if (k == 0 || alpha == 0.0F) {
        scale(m, n, beta, c, ldc);
        return;
    }
    if (tile->is_small(m, n, k, lda, ldb)) {
        tile->direct(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
        return;
    }

    /* One block of A: pack it once, and use each piece of B while it is still in L2. */
    if (m <= mc)
        nc = tile->thin_nc;

    if (m <= mc) {
        for (size_t p = 0; p < k; p += kc) {
            size_t kb = PFC_MIN(kc, k - p);

            tile->pack_a(m, kb, alpha, a + p, lda, packed_a);
            for (size_t j = 0; j < n; j += nc) {
                size_t nb = PFC_MIN(nc, n - j);

                tile->pack_b(kb, nb, b + p * ldb + j, ldb, packed_b);
                tile->block(m, nb, kb, packed_a, packed_b, p == 0 ? beta : 1.0F, c + j, ldc);
            }
        }
        return;
    }
    for (size_t j = 0; j < n; j += nc) {
        size_t nb = PFC_MIN(nc, n - j);

        for (size_t p = 0; p < k; p += kc) {
            size_t kb = PFC_MIN(kc, k - p);

            tile->pack_b(kb, nb, b + p * ldb + j, ldb, packed_b);
            for (size_t i = 0; i < m; i += mc) {
                size_t mb = PFC_MIN(mc, m - i);

                tile->pack_a(mb, kb, alpha, a + i * lda + p, lda, packed_a);
                tile->block(mb, nb, kb, packed_a, packed_b, p == 0 ? beta : 1.0F, c + i * ldc + j,
                            ldc);
            }
        }
    }
}
