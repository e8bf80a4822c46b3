/* L1 beside L2. */
#include <stdio.h>

#include "bench/studies/accel/studies.h"
#include "kernels/accel/reference/compare.h"

#define MOST 100 /* of a side */

static pfc_code issue_rule(size_t cases, pfc_rng *rng, pfc_err *err)
{
    double worst = 0;
    size_t equal = 0;

    for (size_t i = 0; i < cases; i++) {
        const uint64_t rows = 1 + pfc_rng_below(rng, 128);
        const uint64_t cols = 1 + pfc_rng_below(rng, 128);
        const uint64_t m = 1 + pfc_rng_below(rng, 1u << pfc_rng_below(rng, 10));
        const uint64_t n = 1 + pfc_rng_below(rng, 500);
        const uint64_t k = 1 + pfc_rng_below(rng, 500);
        const uint64_t folds = ((n + cols - 1) / cols) * ((k + rows - 1) / rows);
        const uint64_t form = pfc_accel_tensor_cycles(PFC_ACCEL_ONNXIM_WS, rows, cols, m, n, k);
        const uint64_t ticks = pfc_accel_ticked_issue(rows, cols, folds, m);
        const double rel = (double)PFC_MAX(form, ticks) / (double)PFC_MIN(form, ticks) - 1;

        worst = PFC_MAX(worst, rel);
        equal += form == ticks;
    }
    printf("onnxim-ws    %6zu problems, ticked issue rule: equal %zu, worst difference %.3g\n",
           cases, equal, worst);
    return worst <= 0.005
               ? PFC_OK
               : pfc_err_set(err, PFC_EBROKEN, "onnxim-ws: expected at most 0.005 from its rule");
}

pfc_code study_fidelities(size_t cases, uint64_t seed, pfc_err *err)
{
    static const pfc_accel_mode modes[] = { PFC_ACCEL_SCALESIM_WS, PFC_ACCEL_SCALESIM_OS,
                                            PFC_ACCEL_SCALESIM_IS, PFC_ACCEL_PIPELINED_WS };
    uint64_t ticks[PFC_ARRAY_LEN(modes)] = { 0 };
    const double start = study_cpu_s();
    pfc_rng rng;

    pfc_rng_seed(&rng, seed);
    for (size_t i = 0; i < cases; i++) {
        pfc_accel_compare p;
        pfc_code code = PFC_OK;

        pfc_accel_compare_draw(&p, &rng, MOST);
        for (size_t k = 0; k < PFC_ARRAY_LEN(modes) && !code; k++)
            code = pfc_accel_compare_run(&p, modes[k], &ticks[k], err);
        pfc_accel_compare_free(&p);
        if (code)
            return code;
    }
    for (size_t k = 0; k < PFC_ARRAY_LEN(modes); k++)
        printf("%-12s %6zu problems, array of cells: equal cycles and results, %llu ticks\n",
               pfc_accel_mode_name(modes[k]), cases, (unsigned long long)ticks[k]);
    printf("             %.1f CPU seconds\n", study_cpu_s() - start);
    return issue_rule(cases, &rng, err);
}
