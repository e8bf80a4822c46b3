/* Attention by blocks: packing, the two products, the order of the blocks. */
#include "kernels/cpu/attention_f32/flash.h"

#include <math.h>
#include <string.h>

#include "core/base/base.h"
#include "kernels/cpu/attention_f32/attention_f32.h"

static size_t round_up(size_t value, size_t step)
{
    return (value + step - 1) / step * step;
}

static size_t packed_keys_len(size_t seq, size_t dim)
{
    return round_up(round_up(seq, PFC_GEMM_F32_NR_MAX) * dim, 16);
}

static size_t packed_queries_len(size_t dim)
{
    return round_up(round_up(PFC_FLASH_QUERIES, PFC_GEMM_F32_MR_MAX) * dim, 16);
}

size_t pfc_attention_f32_work_len(size_t seq, size_t dim)
{
    size_t blocks = packed_keys_len(seq, dim) + packed_queries_len(dim) +
                    (size_t)PFC_FLASH_QUERIES * PFC_FLASH_KEYS;

    return PFC_MAX(blocks, seq); /* the scalar variant keeps one row of scores */
}

/* K' in slivers of nr keys: out[sliver][dimension][key], the last padded by 0. */
static void pack_keys(size_t seq, size_t dim, size_t nr, const float *k, float *out)
{
    for (size_t j = 0; j < seq; j += nr, out += nr * dim) {
        size_t have = PFC_MIN(nr, seq - j);

        for (size_t p = 0; p < dim; p++) {
            for (size_t r = 0; r < have; r++)
                out[p * nr + r] = k[(j + r) * dim + p];
            for (size_t r = have; r < nr; r++)
                out[p * nr + r] = 0.0F;
        }
    }
}

typedef struct head {
    size_t seq, dim;
    bool causal;
    const float *q, *v;
    float *o;
    float *keys;    /* packed, the whole head */
    float *queries; /* packed, a block */
    float *scores;  /* a block */
} head;

/* Queries first..first + count - 1 against keys from..from + keys - 1. */
static void one_block(const pfc_flash_parts *parts, const head *h, size_t first, size_t count,
                      size_t from, size_t keys, float *max, float *sum)
{
    float *out = h->o + first * h->dim;

    parts->gemm->block(count, keys, h->dim, h->queries, h->keys + from * h->dim, 0.0F, h->scores,
                       PFC_FLASH_KEYS);
    for (size_t i = 0; i < count; i++) {
        float *row = h->scores + i * PFC_FLASH_KEYS;
        size_t seen =
            h->causal ? PFC_MIN(keys, first + i + 1 - PFC_MIN(from, first + i + 1)) : keys;

        if (seen > 0)
            parts->row(seen, row, &max[i], &sum[i], h->dim, out + i * h->dim);
        memset(row + seen, 0, (keys - seen) * sizeof *row);
    }
    parts->gemm->direct(count, h->dim, keys, 1.0F, h->scores, PFC_FLASH_KEYS, h->v + from * h->dim,
                        h->dim, 1.0F, out, h->dim);
}

static void query_block(const pfc_flash_parts *parts, const head *h, size_t first, size_t count)
{
    float max[PFC_FLASH_QUERIES];
    float sum[PFC_FLASH_QUERIES];
    /* Causal: nothing past the last query of the block is seen by any of them. */
    size_t end = h->causal ? first + count : h->seq;

    /* The scale goes into the queries: dim multiplications instead of one a score. */
    parts->gemm->pack_a(count, h->dim, 1.0F / sqrtf((float)h->dim), h->q + first * h->dim, h->dim,
                        h->queries);
    memset(h->o + first * h->dim, 0, count * h->dim * sizeof *h->o);
    for (size_t i = 0; i < count; i++) {
        max[i] = -INFINITY;
        sum[i] = 0.0F;
    }
    for (size_t from = 0; from < end; from += PFC_FLASH_KEYS)
        one_block(parts, h, first, count, from, PFC_MIN((size_t)PFC_FLASH_KEYS, end - from), max,
                  sum);
    for (size_t i = 0; i < count; i++) {
        float *out = h->o + (first + i) * h->dim;

        for (size_t p = 0; p < h->dim; p++)
            out[p] /= sum[i];
    }
}

void pfc_attention_f32_flash(const pfc_flash_parts *parts, size_t heads, size_t seq, size_t dim,
                             bool causal, const float *q, const float *k, const float *v, float *o,
                             float *work)
{
    head h = { .seq = seq, .dim = dim, .causal = causal };

    h.keys = work;
    h.queries = h.keys + packed_keys_len(seq, dim);
    h.scores = h.queries + packed_queries_len(dim);
    for (size_t i = 0; i < heads && dim > 0; i++) {
        size_t at = i * seq * dim;

        h.q = q + at;
        h.v = v + at;
        h.o = o + at;
        pack_keys(seq, dim, parts->gemm->nr, k + at, h.keys);
        for (size_t first = 0; first < seq; first += PFC_FLASH_QUERIES)
            query_block(parts, &h, first, PFC_MIN((size_t)PFC_FLASH_QUERIES, seq - first));
    }
}
