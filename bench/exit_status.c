/* How perfci-bench ends. */
#include "bench/program.h"

int pfc_bench_fail(const pfc_err *err)
{
    fprintf(stderr, "perfci-bench: %s\n", err->msg);
    return pfc_code_exit(err->code);
}

int pfc_bench_flush(void)
{
    /* A write larger than the buffer fails before the flush; then only the stream's error flag
     * shows the failure. */
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : PFC_BENCH_EXIT_INFRA;
}
