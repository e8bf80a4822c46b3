/*
 * Results of the vector unit. Plain float arithmetic in a fixed order, no library functions but
 * the exactly rounded square root, so that every host gets the same bits.
 */
#include <math.h>
#include <string.h>

#include "kernels/accel/device/parts.h"

#define LANES 16
#define EPS   1e-5f

float pfc_accel_bf16_to_f32(uint16_t v)
{
    const uint32_t bits = (uint32_t)v << 16;
    float out;

    memcpy(&out, &bits, sizeof(out));
    return out;
}

uint16_t pfc_accel_f32_to_bf16(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof(bits));
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/* 2^n e^r with |r| <= ln2 / 2 and Taylor to r^7; relative error below 2e-7. */
float pfc_accel_exp(float x)
{
    int n;
    uint32_t bits;
    float scale;
    float r;
    float p;

    if (!(x > -87.0f))
        return isnan(x) ? x : 0.0f;
    if (x > 88.0f)
        return INFINITY;
    n = (int)(x * 1.44269504f + (x < 0 ? -0.5f : 0.5f));
    r = x - (float)n * 0.693359375f; /* exact: the high part of ln 2 has nine bits */
    r = r - (float)n * -2.12194440e-4f;
    p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    bits = (uint32_t)(n + 127) << 23;
    memcpy(&scale, &bits, sizeof(scale));
    return p * scale;
}

float pfc_accel_activate(float x, uint8_t act)
{
    float u;

    switch ((pfc_accel_act)act) {
    case PFC_ACCEL_ACT_NONE:
        break;
    case PFC_ACCEL_ACT_RELU:
        return x < 0.0f ? 0.0f : x;
    case PFC_ACCEL_ACT_GELU:
        u = 0.797884583f * (x + 0.044715f * x * x * x);
        return x / (1.0f + pfc_accel_exp(-2.0f * u));
    case PFC_ACCEL_ACT_SILU:
        return x / (1.0f + pfc_accel_exp(-x));
    }
    return x;
}

static float fold_lanes(const float *part)
{
    float sum = 0.0f;

    for (size_t l = 0; l < LANES; l++)
        sum += part[l];
    return sum;
}

float pfc_accel_sum(const float *x, size_t n)
{
    float part[LANES] = { 0 };

    for (size_t i = 0; i < n; i++)
        part[i % LANES] += x[i];
    return fold_lanes(part);
}

static float sum_squares(const float *x, size_t n)
{
    float part[LANES] = { 0 };

    for (size_t i = 0; i < n; i++)
        part[i % LANES] += x[i] * x[i];
    return fold_lanes(part);
}

void pfc_accel_softmax_row(float *x, size_t n)
{
    float top = -INFINITY;
    float sum;

    for (size_t i = 0; i < n; i++)
        top = x[i] > top ? x[i] : top;
    for (size_t i = 0; i < n; i++)
        x[i] = pfc_accel_exp(x[i] - top);
    sum = pfc_accel_sum(x, n);
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] / sum;
}

void pfc_accel_layernorm_row(float *x, const float *gamma, const float *beta, size_t n)
{
    const float mean = pfc_accel_sum(x, n) / (float)n;
    float inv;

    for (size_t i = 0; i < n; i++)
        x[i] -= mean;
    inv = 1.0f / sqrtf(sum_squares(x, n) / (float)n + EPS);
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] * inv * gamma[i] + beta[i];
}

void pfc_accel_rmsnorm_row(float *x, const float *gamma, size_t n)
{
    const float inv = 1.0f / sqrtf(sum_squares(x, n) / (float)n + EPS);

    for (size_t i = 0; i < n; i++)
        x[i] = x[i] * inv * gamma[i];
}
