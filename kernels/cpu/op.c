/* The functions that operations call: adding a buffer to a plan, comparing a value, tolerance of a
 * sum. */
#include "kernels/cpu/op.h"

#include <math.h>

void pfc_kernel_plan_add(pfc_kernel_plan *plan, pfc_kernel_role role, size_t rows, size_t cols,
                         float low, float high)
{
    pfc_kernel_buffer *buffer = NULL;

    if (plan->buffers_len == PFC_KERNEL_MAX_BUFFERS)
        pfc_die("kernel: an operation requires more than %d buffers", PFC_KERNEL_MAX_BUFFERS);
    buffer = &plan->buffers[plan->buffers_len++];
    *buffer = (pfc_kernel_buffer){ .role = role, .low = low, .high = high };
    if (__builtin_mul_overflow(rows, cols, &buffer->len))
        plan->overflow = true;
}

void pfc_kernel_compare(pfc_kernel_check *check, size_t row, size_t col, double got, double want,
                        double tolerance)
{
    double error = fabs(got - want);
    double ratio = 0.0;

    check->checked++;
    if (isnan(error))
        ratio = INFINITY;
    else if (error > 0.0)
        ratio = error / tolerance; /* infinite when none is allowed */
    if (check->checked > 1 && !(ratio > check->worst_ratio))
        return;
    check->worst_ratio = ratio;
    check->worst_error = error;
    check->tolerance = tolerance;
    check->got = got;
    check->want = want;
    check->row = row;
    check->col = col;
}

double pfc_kernel_sum_tolerance(size_t terms)
{
    double n = (double)terms;

    return (fmin(n, 8.0 * sqrt(n)) + 2.0) * 0x1p-24;
}
