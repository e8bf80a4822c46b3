#include "kernels/accel/reference/array.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/accel/reference/array_parts.h"

static pfc_code check(const pfc_accel_ticked *t, pfc_err *err)
{
    if (t->mode == PFC_ACCEL_ONNXIM_WS)
        return pfc_err_set(err, PFC_EINVAL,
                           "onnxim-ws has no cells to tick: use its issue rule, or pipelined-ws");
    if (t->rows < 1 || t->cols < 1 || t->rows > PFC_ACCEL_TICKED_MAX ||
        t->cols > PFC_ACCEL_TICKED_MAX)
        return pfc_err_set(err, PFC_EINVAL,
                           "ticked array: expected 1..%d rows and columns, got %ux%u",
                           PFC_ACCEL_TICKED_MAX, t->rows, t->cols);
    return PFC_OK;
}

pfc_code pfc_accel_ticked_run(pfc_accel_ticked *t, pfc_err *err)
{
    pfc_accel_array *array;
    const pfc_code code = check(t, err);
    bool lost;

    if (code)
        return code;
    t->last = 0;
    t->products = 0;
    if (t->m && t->n)
        memset(t->c, 0, (size_t)t->m * t->n * sizeof(*t->c));
    if (!t->m || !t->n || !t->k)
        return PFC_OK;
    array = pfc_calloc(1, sizeof(*array));
    array->t = t;
    if (t->mode == PFC_ACCEL_SCALESIM_OS)
        pfc_accel_run_output_stationary(array);
    else if (t->mode == PFC_ACCEL_PIPELINED_WS)
        pfc_accel_run_pipelined(array);
    else
        pfc_accel_run_stationary(array);
    t->last = array->ticks - 1;
    lost = array->lost;
    free(array);
    return lost ? pfc_err_set(err, PFC_EBUG, "ticked array: an operand was lost") : PFC_OK;
}

void pfc_accel_plain_gemm(int32_t *c, const int8_t *a, const int8_t *b, size_t m, size_t n,
                          size_t k)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            uint32_t sum = 0;

            for (size_t p = 0; p < k; p++)
                sum += (uint32_t)(a[i * k + p] * b[p * n + j]);
            c[i * n + j] = (int32_t)sum;
        }
    }
}
