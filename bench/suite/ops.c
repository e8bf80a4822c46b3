/* The operations that suites may name: their parameters and how much work a call is. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "bench/suite/suite.h"
#include "core/base/buf.h"

#define DIM_MAX (1 << 20) /* vocabularies are some 10^5; a backend may take less */
#define SEQ_MAX 65536

static double gemm_work(const int64_t *p, double elem_bytes)
{
    (void)elem_bytes;
    return 2e-12 * (double)p[0] * (double)p[1] * (double)p[2];
}

/* QK^T and PV are 2 flops for each of d columns; a causal mask leaves the lower triangle, of which
 * q queries are the last rows. */
static double attention_work(const int64_t *p, double elem_bytes)
{
    const double s = (double)p[1];
    const double q = p[4] ? (double)p[4] : s;
    const double pairs = p[3] ? q * s - q * (q - 1.0) / 2.0 : q * s;

    (void)elem_bytes;
    return 4e-12 * (double)p[0] * pairs * (double)p[2];
}

static const char *attention_fault(const int64_t *p)
{
    if (p[4] > p[1])
        return "attention: q, the queries, is over s, the keys";
    if (p[5] > 0 && p[0] % p[5] != 0)
        return "attention: kv, the heads of keys and values, divides not h, the heads";
    return NULL;
}

/* The matrix read once and written once, and the weights: gamma and beta, gamma alone, or none. */
static double layernorm_work(const int64_t *p, double elem_bytes)
{
    return 1e-9 * (2.0 * (double)p[0] + 2.0) * (double)p[1] * elem_bytes;
}

static double rmsnorm_work(const int64_t *p, double elem_bytes)
{
    return 1e-9 * (2.0 * (double)p[0] + 1.0) * (double)p[1] * elem_bytes;
}

/* Both matrices read, their sum and its norm written. */
static double residual_work(const int64_t *p, double elem_bytes)
{
    return 1e-9 * (4.0 * (double)p[0] + 1.0) * (double)p[1] * elem_bytes;
}

static double softmax_work(const int64_t *p, double elem_bytes)
{
    return 1e-9 * 2.0 * (double)p[0] * (double)p[1] * elem_bytes;
}

#define NORM_PARAMS                                                                                \
    {                                                                                              \
        { .name = "rows", .min = 1, .max = DIM_MAX, .fallback = -1 },                              \
            { .name = "cols", .min = 1, .max = DIM_MAX, .fallback = -1 },                          \
    }

static const pfc_op ops[] = {
    {
        .name = "gemm",
        .metric = "gemm_tflops",
        .unit = "TFLOP/s",
        .params = {
            { .name = "m", .min = 1, .max = DIM_MAX, .fallback = -1 },
            { .name = "n", .min = 1, .max = DIM_MAX, .fallback = -1 },
            { .name = "k", .min = 1, .max = DIM_MAX, .fallback = -1 },
            /* floats between the end of a row and the next */
            { .name = "pad", .min = 0, .max = 64, .fallback = 0 },
        },
        .params_len = 4,
        .work = gemm_work,
    },
    {
        .name = "attention",
        .metric = "attention_tflops",
        .unit = "TFLOP/s",
        .params = {
            { .name = "h", .min = 1, .max = SEQ_MAX, .fallback = -1 },
            { .name = "s", .min = 1, .max = SEQ_MAX, .fallback = -1 },
            { .name = "d", .min = 1, .max = 1024, .fallback = -1 },
            { .name = "causal", .min = 0, .max = 1, .fallback = 0 },
            /* queries, the last of s; 0: as many as keys */
            { .name = "q", .min = 0, .max = SEQ_MAX, .fallback = 0 },
            /* heads of keys and values, shared by groups of heads; 0: as many as heads */
            { .name = "kv", .min = 0, .max = SEQ_MAX, .fallback = 0 },
        },
        .params_len = 6,
        .work = attention_work,
        .fault = attention_fault,
    },
    { .name = "layernorm", .metric = "norm_gbps", .unit = "GB/s", .params = NORM_PARAMS,
      .params_len = 2, .work = layernorm_work },
    { .name = "rmsnorm", .metric = "norm_gbps", .unit = "GB/s", .params = NORM_PARAMS,
      .params_len = 2, .work = rmsnorm_work },
    { .name = "softmax", .metric = "norm_gbps", .unit = "GB/s", .params = NORM_PARAMS,
      .params_len = 2, .work = softmax_work },
    {
        .name = "gemm_bias_act",
        .metric = "gemm_tflops",
        .unit = "TFLOP/s",
        .params = {
            { .name = "m", .min = 1, .max = DIM_MAX, .fallback = -1 },
            { .name = "n", .min = 1, .max = DIM_MAX, .fallback = -1 },
            { .name = "k", .min = 1, .max = DIM_MAX, .fallback = -1 },
            /* 0 none, 1 ReLU, 2 GELU, 3 SiLU */
            { .name = "act", .min = 0, .max = 3, .fallback = 0 },
        },
        .params_len = 4,
        .work = gemm_work,
    },
    { .name = "residual_rmsnorm", .metric = "norm_gbps", .unit = "GB/s", .params = NORM_PARAMS,
      .params_len = 2, .work = residual_work },
};

const pfc_op *pfc_op_find(const char *name)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(ops); i++) {
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    }
    return NULL;
}

const pfc_op *pfc_op_list(size_t *len)
{
    *len = PFC_ARRAY_LEN(ops);
    return ops;
}

double pfc_dtype_bytes(const char *dtype)
{
    if (strcmp(dtype, "f32") == 0)
        return 4.0;
    if (strcmp(dtype, "bf16") == 0)
        return 2.0;
    return strcmp(dtype, "int8") == 0 ? 1.0 : 0.0;
}

bool pfc_op_has_dtype(const pfc_op *op, const char *dtype)
{
    return strcmp(dtype, "int8") != 0 || strcmp(op->name, "gemm") == 0;
}

char *pfc_case_name(const pfc_op *op, const char *dtype, const int64_t *params)
{
    pfc_buf buf;

    pfc_buf_init(&buf, 512);
    pfc_buf_printf(&buf, "%s/%s/", op->name, dtype);
    for (size_t i = 0; i < op->params_len; i++) {
        if (params[i] != op->params[i].fallback)
            pfc_buf_printf(&buf, "%s%lld", op->params[i].name, (long long)params[i]);
    }
    return pfc_buf_take(&buf);
}

char *pfc_case_own_name(const pfc_op *op, const char *dtype, const int64_t *params,
                        const char *program, const char *schedule)
{
    const char *file = program ? program : schedule;
    char *shape = pfc_case_name(op, dtype, params);
    const char *slash = file ? strrchr(file, '/') : NULL;
    char *name;

    if (!file)
        return shape;
    name = pfc_format("%s/%s", shape, slash ? slash + 1 : file);
    free(shape);
    return name;
}

void pfc_case_clear(pfc_case *c)
{
    free(c->name);
    free(c->program);
    free(c->schedule);
    free(c->where);
    for (size_t i = 0; i < c->backends_len; i++)
        free(c->backends[i]);
    free(c->backends);
    *c = (pfc_case){ 0 };
}

double pfc_case_work(const pfc_case *c)
{
    return c->op->work(c->params, pfc_dtype_bytes(c->dtype));
}

bool pfc_suite_glob(const char *glob, const char *name)
{
    return fnmatch(glob, name, 0) == 0;
}

bool pfc_suite_is_glob(const char *name)
{
    return strpbrk(name, "*?[") != NULL;
}

bool pfc_case_wants(const pfc_case *c, const char *backend)
{
    for (size_t i = 0; i < c->backends_len; i++) {
        if (pfc_suite_glob(c->backends[i], backend))
            return true;
    }
    return false;
}
