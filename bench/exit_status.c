/* How perfci-bench ends. */
#include "bench/program.h"

int pfc_bench_fail(const pfc_err *err)
{
    fprintf(stderr, "perfci-bench: %s\n", err->msg);
    return pfc_code_exit(err->code);
}

int pfc_bench_flush(void)
{
    return fflush(stdout) == 0 ? 0 : PFC_BENCH_EXIT_INFRA;
}
