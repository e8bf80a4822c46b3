/* The reference: a row of scores, its softmax, the weighted mean. */
#include <math.h>

#include "kernels/cpu/attention_f32/attention_f32.h"

/* Weights of the first `keys` keys for one query, not yet divided by their sum, which is returned.
 */
static float weigh(size_t keys, size_t dim, const float *query, const float *k, float *weights)
{
    const float scale = 1.0F / sqrtf((float)dim);
    float max = -INFINITY;
    float sum = 0.0F;

    for (size_t j = 0; j < keys; j++) {
        float score = 0.0F;

        for (size_t p = 0; p < dim; p++)
            score += query[p] * k[j * dim + p];
        weights[j] = score * scale;
        max = fmaxf(max, weights[j]);
    }
    for (size_t j = 0; j < keys; j++) {
        weights[j] = expf(weights[j] - max);
        sum += weights[j];
    }
    return sum;
}

void pfc_attention_f32_scalar(size_t heads, size_t seq, size_t dim, bool causal, const float *q,
                              const float *k, const float *v, float *o, float *work)
{
    for (size_t row = 0; row < heads * seq && dim > 0; row++) {
        size_t head = row / seq * seq * dim;
        size_t keys = causal ? row % seq + 1 : seq;
        float sum = weigh(keys, dim, q + row * dim, k + head, work);
        float *out = o + row * dim;

        for (size_t p = 0; p < dim; p++)
            out[p] = 0.0F;
        for (size_t j = 0; j < keys; j++) {
            for (size_t p = 0; p < dim; p++)
                out[p] += work[j] * v[head + j * dim + p];
        }
        for (size_t p = 0; p < dim; p++)
            out[p] /= sum;
    }
}
