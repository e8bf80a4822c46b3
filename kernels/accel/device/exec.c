/* The functional plane: every command on real bytes. Ranges were checked with the program. */
#include <math.h>
#include <string.h>

#include "kernels/accel/device/parts.h"

static void load_floats(float *out, const uint8_t *from, size_t n, pfc_accel_dtype dtype)
{
    if (dtype == PFC_ACCEL_F32) {
        memcpy(out, from, n * sizeof(*out));
    } else if (dtype == PFC_ACCEL_BF16) {
        for (size_t i = 0; i < n; i++) {
            uint16_t v;

            memcpy(&v, from + 2 * i, sizeof(v));
            out[i] = pfc_accel_bf16_to_f32(v);
        }
    } else {
        for (size_t i = 0; i < n; i++)
            out[i] = (float)(int8_t)from[i];
    }
}

static void store_floats(uint8_t *to, const float *from, size_t n, pfc_accel_dtype dtype)
{
    if (dtype == PFC_ACCEL_F32) {
        memcpy(to, from, n * sizeof(*from));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const uint16_t v = pfc_accel_f32_to_bf16(from[i]);

        memcpy(to + 2 * i, &v, sizeof(v));
    }
}

static void transfer(const pfc_accel_run *run, pfc_accel_memory *mem, const pfc_accel_cmd *cmd)
{
    uint8_t *hbm = run->data[cmd->arg] + cmd->offset;
    const size_t width = (size_t)cmd->n * cmd->elem;

    for (size_t r = 0; r < cmd->m; r++, hbm += cmd->stride) {
        if (cmd->op == PFC_ACCEL_OP_LOAD)
            memcpy(mem->sram + cmd->a + r * width, hbm, width);
        else if (cmd->op == PFC_ACCEL_OP_STORE)
            memcpy(hbm, mem->sram + cmd->a + r * width, width);
        else if (run->program->dtype == PFC_ACCEL_BF16)
            store_floats(hbm, (const float *)(const void *)(mem->acc + cmd->acc) + r * cmd->n,
                         cmd->n, PFC_ACCEL_BF16);
        else
            memcpy(hbm, mem->acc + cmd->acc + r * width, width);
    }
}

static void matmul(const pfc_accel_run *run, pfc_accel_memory *mem, const pfc_accel_cmd *cmd)
{
    const pfc_accel_dtype dtype = run->program->dtype;
    const size_t m = cmd->m;
    const size_t n = cmd->n;
    const size_t k = cmd->k;
    float *a = mem->scratch;
    float *b = a + m * k;
    float *spare = b + k * n;
    void *acc = mem->acc + cmd->acc;

    load_floats(a, mem->sram + cmd->a, m * k, dtype);
    if (cmd->transpose_b) {
        load_floats(spare, mem->sram + cmd->b, k * n, dtype);
        for (size_t p = 0; p < k; p++)
            for (size_t j = 0; j < n; j++)
                b[p * n + j] = spare[j * k + p];
    } else {
        load_floats(b, mem->sram + cmd->b, k * n, dtype);
    }
    if (dtype == PFC_ACCEL_INT8)
        pfc_accel_matmul_int8(acc, a, b, spare, m, n, k, cmd->accumulate);
    else
        pfc_accel_matmul_f32(acc, a, b, m, n, k, cmd->accumulate);
}

static void matvec(const pfc_accel_run *run, pfc_accel_memory *mem, const pfc_accel_cmd *cmd)
{
    const uint64_t es = pfc_accel_dtype_bytes(run->program->dtype);
    pfc_accel_cmd one = *cmd;

    for (uint32_t i = 0; i < PFC_MAX(cmd->batch, 1); i++) {
        matmul(run, mem, &one);
        one.a += (uint64_t)cmd->m * cmd->k * es;
        one.b += (uint64_t)cmd->k * cmd->n * es;
        one.acc += (uint64_t)cmd->m * cmd->n * 4;
    }
}

static void norm(const pfc_accel_run *run, pfc_accel_memory *mem, const pfc_accel_cmd *cmd)
{
    const pfc_accel_dtype dtype = run->program->dtype;
    const size_t es = pfc_accel_dtype_bytes(dtype);
    const size_t n = cmd->n;
    float *x = mem->scratch;
    float *gamma = x + n;
    float *beta = gamma + n;

    if (cmd->op != PFC_ACCEL_OP_SOFTMAX)
        load_floats(gamma, mem->sram + cmd->b, n, dtype);
    if (cmd->op == PFC_ACCEL_OP_LAYERNORM)
        load_floats(beta, mem->sram + cmd->b + n * es, n, dtype);
    for (size_t i = 0; i < cmd->m; i++) {
        uint8_t *row = mem->sram + cmd->a + i * n * es;

        load_floats(x, row, n, dtype);
        if (cmd->op == PFC_ACCEL_OP_SOFTMAX)
            pfc_accel_softmax_row(x, n);
        else if (cmd->op == PFC_ACCEL_OP_LAYERNORM)
            pfc_accel_layernorm_row(x, gamma, beta, n);
        else
            pfc_accel_rmsnorm_row(x, gamma, n);
        store_floats(row, x, n, dtype);
    }
}

/* Milakov & Gimelshein, arXiv 1805.02867: running maximum and sum of each row. The sum is of the
 * rounded weights, those that the array will use. */
static void attention_step(const pfc_accel_run *run, pfc_accel_memory *mem,
                           const pfc_accel_cmd *cmd)
{
    const pfc_accel_dtype dtype = run->program->dtype;
    const size_t es = pfc_accel_dtype_bytes(dtype);
    const size_t n = cmd->n;
    float *top = (float *)(void *)(mem->sram + cmd->b);
    float *sum = top + cmd->m;
    float *p = mem->scratch;

    for (size_t i = 0; i < cmd->m; i++) {
        const float *s = (const float *)(const void *)(mem->acc + cmd->acc) + i * n;
        float *out = (float *)(void *)(mem->acc + cmd->acc2) + i * cmd->k;
        uint8_t *row = mem->sram + cmd->a + i * n * es;
        const size_t at = cmd->period ? i % cmd->period : i;
        const int64_t reach = (int64_t)at + cmd->diagonal + 1;
        const size_t valid = reach < 0 ? 0 : PFC_MIN((size_t)reach, n);
        const float old = cmd->first ? -INFINITY : top[i];
        float now = old;
        float shrink;

        for (size_t j = 0; j < valid; j++)
            now = s[j] * cmd->scale > now ? s[j] * cmd->scale : now;
        for (size_t j = 0; j < n; j++)
            p[j] = j < valid ? pfc_accel_exp(s[j] * cmd->scale - now) : 0.0f;
        store_floats(row, p, n, dtype);
        load_floats(p, row, n, dtype);
        shrink = old == now ? 1.0f : pfc_accel_exp(old - now);
        sum[i] = (cmd->first ? 0.0f : sum[i] * shrink) + pfc_accel_sum(p, n);
        top[i] = now;
        if (!cmd->first)
            for (size_t j = 0; j < cmd->k; j++)
                out[j] *= shrink;
    }
}

static void attention_end(const pfc_accel_run *run, pfc_accel_memory *mem, const pfc_accel_cmd *cmd)
{
    const size_t es = pfc_accel_dtype_bytes(run->program->dtype);
    const float *sum = (const float *)(const void *)(mem->sram + cmd->b) + cmd->m;
    float *x = mem->scratch;

    for (size_t i = 0; i < cmd->m; i++) {
        const float *out = (const float *)(const void *)(mem->acc + cmd->acc2) + i * cmd->k;

        for (size_t j = 0; j < cmd->k; j++)
            x[j] = out[j] / sum[i];
        store_floats(mem->sram + cmd->a + i * cmd->k * es, x, cmd->k, run->program->dtype);
    }
}

/* Of sums in the accumulators, or (BIAS_ROWS) of results that were stored before and are rounded
 * already. */
static void bias_act(const pfc_accel_run *run, pfc_accel_memory *mem, const pfc_accel_cmd *cmd)
{
    const pfc_accel_dtype dtype = run->program->dtype;
    const size_t n = cmd->n;
    float *x = mem->scratch;
    float *bias = x + n;

    load_floats(bias, mem->sram + cmd->b, n, dtype);
    for (size_t i = 0; i < cmd->m; i++) {
        uint8_t *row = mem->sram + cmd->a + i * n * pfc_accel_dtype_bytes(dtype);

        if (cmd->op == PFC_ACCEL_OP_BIAS_ROWS)
            load_floats(x, row, n, dtype);
        else
            memcpy(x, mem->acc + cmd->acc + i * n * sizeof(*x), n * sizeof(*x));
        for (size_t j = 0; j < n; j++)
            x[j] = pfc_accel_activate(x[j] + bias[j], cmd->act);
        store_floats(row, x, n, dtype);
    }
}

/* The norm is of the rounded sums, those that are stored. */
static void residual_norm(const pfc_accel_run *run, pfc_accel_memory *mem, const pfc_accel_cmd *cmd)
{
    const pfc_accel_dtype dtype = run->program->dtype;
    const size_t es = pfc_accel_dtype_bytes(dtype);
    const size_t n = cmd->n;
    float *x = mem->scratch;
    float *sum = x + n;
    float *gamma = sum + n;

    load_floats(gamma, mem->sram + cmd->b, n, dtype);
    for (size_t i = 0; i < cmd->m; i++) {
        uint8_t *row = mem->sram + cmd->a + i * n * es;
        uint8_t *residual = mem->sram + cmd->c + i * n * es;

        load_floats(x, row, n, dtype);
        load_floats(sum, residual, n, dtype);
        for (size_t j = 0; j < n; j++)
            sum[j] += x[j];
        store_floats(residual, sum, n, dtype);
        load_floats(sum, residual, n, dtype);
        pfc_accel_rmsnorm_row(sum, gamma, n);
        store_floats(row, sum, n, dtype);
    }
}

size_t pfc_accel_scratch_floats(const pfc_accel_program *p)
{
    size_t most = 1;

    for (size_t i = 0; i < p->len; i++) {
        const pfc_accel_cmd *c = &p->cmds[i];
        const size_t m = c->m;
        const size_t n = c->n;
        const size_t k = c->k;
        size_t want = 3 * PFC_MAX(n, k);

        if (c->unit == PFC_ACCEL_UNIT_DMA)
            continue;
        if (c->op == PFC_ACCEL_OP_MATMUL || c->op == PFC_ACCEL_OP_MATVEC)
            want = m * k + k * n + PFC_MAX(m * n, k * n) + 1;
        most = PFC_MAX(most, want);
    }
    return most;
}

void pfc_accel_exec(const pfc_accel_run *run, pfc_accel_memory *mem, const pfc_accel_cmd *cmd)
{
    switch ((pfc_accel_op)cmd->op) {
    case PFC_ACCEL_OP_LOAD:
    case PFC_ACCEL_OP_STORE:
    case PFC_ACCEL_OP_STORE_ACC:
        transfer(run, mem, cmd);
        return;
    case PFC_ACCEL_OP_MATMUL:
        matmul(run, mem, cmd);
        return;
    case PFC_ACCEL_OP_MATVEC:
        matvec(run, mem, cmd);
        return;
    case PFC_ACCEL_OP_SOFTMAX:
    case PFC_ACCEL_OP_LAYERNORM:
    case PFC_ACCEL_OP_RMSNORM:
        norm(run, mem, cmd);
        return;
    case PFC_ACCEL_OP_ATT_STEP:
        attention_step(run, mem, cmd);
        return;
    case PFC_ACCEL_OP_ATT_END:
        attention_end(run, mem, cmd);
        return;
    case PFC_ACCEL_OP_BIAS_ACT:
    case PFC_ACCEL_OP_BIAS_ROWS:
        bias_act(run, mem, cmd);
        return;
    case PFC_ACCEL_OP_RES_NORM:
        residual_norm(run, mem, cmd);
        return;
    }
}
