/* Operations and memory traffic of one call of a benchmark, from its parameters. */
#include <string.h>

#include "bench/suite/suite.h"

/* ---- bytes ---- */

/* All inputs and the output; gemm_bias_act has a bias a column. */
static double gemm_bytes(const pfc_case *c, double elem)
{
    const double m = (double)c->params[0];
    const double n = (double)c->params[1];
    const double k = (double)c->params[2];
    const double bias = strcmp(c->op->name, "gemm_bias_act") == 0 ? n : 0.0;

    return elem * (m * k + k * n + m * n + bias);
}

/* Q and O have a row a query, K and V a row a key, and heads may share them. */
static double attention_bytes(const pfc_case *c, double elem)
{
    const int64_t *p = c->params;
    const double heads = (double)p[0];
    const double keys = (double)p[1];
    const double queries = p[4] ? (double)p[4] : keys;
    const double kv_heads = p[5] ? (double)p[5] : heads;

    return elem * 2.0 * (double)p[2] * (heads * queries + kv_heads * keys);
}

bool pfc_case_streams(const pfc_case *c)
{
    return strcmp(c->op->unit, "GB/s") == 0;
}

double pfc_case_bytes(const pfc_case *c)
{
    const double elem = pfc_dtype_bytes(c->dtype);

    if (pfc_case_streams(c))
        return pfc_case_work(c) * 1e9;
    return strcmp(c->op->name, "attention") == 0 ? attention_bytes(c, elem) : gemm_bytes(c, elem);
}

/* ---- operations ---- */

/* Of each element; what is done once a row is left out. */
static const struct {
    const char *op;
    double each;
} norms[] = {
    { "layernorm", 8 },        /* sum; subtract, square, sum; subtract, scale; gamma, beta */
    { "rmsnorm", 4 },          /* square, sum; scale; gamma */
    { "residual_rmsnorm", 5 }, /* add, and those of rmsnorm */
    { "softmax", 5 },          /* maximum; subtract, exp, sum; divide */
};

double pfc_case_gops(const pfc_case *c)
{
    return pfc_case_streams(c) ? 0.0 : pfc_case_work(c) * 1e3;
}

double pfc_case_operations(const pfc_case *c)
{
    if (!pfc_case_streams(c))
        return 1e9 * pfc_case_gops(c);
    for (size_t i = 0; i < PFC_ARRAY_LEN(norms); i++) {
        if (strcmp(norms[i].op, c->op->name) == 0)
            return norms[i].each * (double)c->params[0] * (double)c->params[1];
    }
    return 0.0;
}

/* ---- of a run ---- */

const pfc_case *pfc_suite_find(const pfc_suite *suite, const char *name)
{
    for (size_t i = 0; i < suite->cases_len; i++) {
        if (strcmp(suite->cases[i].name, name) == 0)
            return &suite->cases[i];
    }
    return NULL;
}

void pfc_suite_set_work(const pfc_suite *suite, pfc_run *run)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        pfc_measurement *m = &run->measurements[i];
        const pfc_case *c = pfc_suite_find(suite, m->benchmark);

        if (!c || m->status != PFC_STATUS_OK || strcmp(m->metric, "time_ns") != 0)
            continue;
        m->operations = pfc_case_operations(c);
        m->bytes = pfc_case_bytes(c);
    }
}
