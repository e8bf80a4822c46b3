/* Digests that must not depend on the compiler, its options, or a trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/studies/accel/studies.h"

static const pfc_accel_problem problems[] = {
    { .kernel = PFC_ACCEL_GEMM, .dtype = PFC_ACCEL_INT8, .p = { 96, 80, 200 } },
    { .kernel = PFC_ACCEL_GEMM, .dtype = PFC_ACCEL_BF16, .p = { 129, 65, 300 } },
    { .kernel = PFC_ACCEL_GEMM, .dtype = PFC_ACCEL_F32, .p = { 1, 257, 129 } },
    { .kernel = PFC_ACCEL_ATTENTION, .dtype = PFC_ACCEL_BF16, .p = { 2, 100, 64, 1 } },
    { .kernel = PFC_ACCEL_ATTENTION, .dtype = PFC_ACCEL_F32, .p = { 1, 65, 32, 0 } },
    { .kernel = PFC_ACCEL_LAYERNORM, .dtype = PFC_ACCEL_F32, .p = { 33, 500 } },
    { .kernel = PFC_ACCEL_RMSNORM, .dtype = PFC_ACCEL_BF16, .p = { 17, 1000 } },
    { .kernel = PFC_ACCEL_SOFTMAX, .dtype = PFC_ACCEL_F32, .p = { 20, 333 } },
};

static pfc_code one(const pfc_accel_problem *p, const pfc_accel_chip *chip, const char *path,
                    pfc_err *err)
{
    const pfc_accel_trace_opts trace = { .path = path, .kernel = "case", .every = 50 };
    const pfc_accel_case_opts opts = { .seed = 3 };
    pfc_accel_result plain;
    pfc_accel_result traced;
    pfc_accel_case *c = NULL;
    pfc_code code = pfc_accel_case_new(&c, p, chip, chip->mode, &opts, err);

    if (!code)
        code = pfc_accel_case_run(c, &plain, err);
    if (!code)
        code = pfc_accel_case_run_detail(c, &traced, NULL, &trace, err);
    if (!code && strcmp(plain.digest, traced.digest) != 0)
        code =
            pfc_err_set(err, PFC_EBROKEN, "%s on %s: another digest with a trace: %s and %s",
                        pfc_accel_kernel_name(p->kernel), chip->name, plain.digest, traced.digest);
    if (!code)
        printf("%-11s %-4s %4lld %4lld %4lld %-11s %9llu %s %s\n", pfc_accel_kernel_name(p->kernel),
               pfc_accel_dtype_name(p->dtype), (long long)p->p[0], (long long)p->p[1],
               (long long)p->p[2], chip->name, (unsigned long long)plain.cycles, plain.digest,
               plain.stream_digest);
    pfc_accel_case_free(c);
    return code;
}

pfc_code study_digests(pfc_err *err)
{
    char folder[] = "/tmp/perfci-accel-XXXXXX";
    char path[64];
    pfc_code code = PFC_OK;

    if (!mkdtemp(folder))
        return pfc_err_set(err, PFC_EIO, "cannot make a folder in /tmp");
    snprintf(path, sizeof(path), "%s/trace.bin", folder);
    for (size_t i = 0; pfc_accel_chip_name(i) && !code; i++) {
        pfc_accel_chip chip;

        code = pfc_accel_chip_load(pfc_accel_chip_name(i), &chip, err);
        for (size_t k = 0; k < PFC_ARRAY_LEN(problems) && !code; k++)
            code = one(&problems[k], &chip, path, err);
    }
    unlink(path);
    rmdir(folder);
    return code;
}
