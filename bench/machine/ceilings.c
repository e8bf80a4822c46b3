/* Measures the ceilings: the best of many short samples. */
#include "bench/machine/ceilings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/clock.h"

#define SAMPLE_NS    50000.0 /* short enough to fall between two preemptions */
#define FMA_ITERS    2000
#define DRAM_MIN     (64.0 * 1024 * 1024)
#define DRAM_MAX     (256.0 * 1024 * 1024)
#define DEFAULT_S    0.3
#define MEASUREMENTS 9 /* FMA, and read and copy of four levels */

typedef float (*read_fn)(const float *, size_t);
typedef double (*fma_fn)(uint64_t);

static volatile float sink;

static double cache_bytes(int name, double fallback)
{
    const long n = sysconf(name);

    return n > 0 ? (double)n : fallback;
}

static void find_sizes(pfc_ceilings *out)
{
    out->size_bytes[PFC_LEVEL_L1] = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32.0 * 1024);
    out->size_bytes[PFC_LEVEL_L2] = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 512.0 * 1024);
    out->size_bytes[PFC_LEVEL_L3] = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 8.0 * 1024 * 1024);
    out->size_bytes[PFC_LEVEL_DRAM] = (double)INFINITY;
}

/* A buffer that the level holds and the one before does not. A shared L3 is not ours alone. */
static size_t buffer_bytes(const pfc_ceilings *c, int level)
{
    double bytes = 0.5 * c->size_bytes[level];

    if (level == PFC_LEVEL_L3)
        bytes = fmin(4.0 * c->size_bytes[PFC_LEVEL_L2], bytes);
    if (level == PFC_LEVEL_DRAM)
        bytes = fmin(fmax(2.0 * c->size_bytes[PFC_LEVEL_L3], DRAM_MIN), DRAM_MAX);
    return (size_t)(bytes / 8192.0) * 8192;
}

static double best_fma(fma_fn fma, double seconds)
{
    const int64_t start = pfc_clock_ns();
    double best = 0.0;

    do {
        const int64_t t = pfc_clock_ns();
        const double flops = fma(FMA_ITERS);
        best = fmax(best, flops / (double)PFC_MAX(pfc_clock_ns() - t, 1));
    } while ((double)(pfc_clock_ns() - start) * 1e-9 < seconds);
    return best;
}

/* GB/s of reading `bytes`, or of copying one half of them to the other (read plus written). */
static double best_pass(char *buffer, size_t bytes, read_fn read, bool copy, double seconds)
{
    const int64_t start = pfc_clock_ns();
    double pass_ns = SAMPLE_NS;
    double best = 0.0;

    do {
        const uint64_t passes = (uint64_t)fmax(1.0, SAMPLE_NS / pass_ns);
        const int64_t t = pfc_clock_ns();
        for (uint64_t i = 0; i < passes; i++) {
            if (copy)
                memcpy(buffer, buffer + bytes / 2, bytes / 2);
            else
                sink = read((const float *)(const void *)buffer, bytes / sizeof(float));
            __asm__ volatile("" ::: "memory");
        }
        pass_ns = (double)PFC_MAX(pfc_clock_ns() - t, 1) / (double)passes;
        best = fmax(best, (double)bytes / pass_ns);
    } while ((double)(pfc_clock_ns() - start) * 1e-9 < seconds);
    return best;
}

/* Huge pages asked for: without them the DRAM figures measure the TLB. NULL: no memory for it. */
static char *get_buffer(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    (void)madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 0, bytes);
    return p;
}

static void choose(pfc_ceilings *out, fma_fn *fma, read_fn *read)
{
    const char *isa = "scalar";

    *fma = pfc_fma_scalar;
    *read = pfc_read_scalar;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        isa = "avx2";
        *fma = pfc_fma_avx2;
        *read = pfc_read_avx2;
    }
    if (__builtin_cpu_supports("avx512f")) {
        isa = "avx512";
        *fma = pfc_fma_avx512;
    }
#endif
    strncpy(out->fma_isa, isa, sizeof(out->fma_isa) - 1);
}

void pfc_ceilings_measure(double seconds, pfc_ceilings *out)
{
    const double each = (seconds > 0.0 ? seconds : DEFAULT_S) / MEASUREMENTS;
    fma_fn fma;
    read_fn read;

    *out = (pfc_ceilings){ 0 };
    find_sizes(out);
    choose(out, &fma, &read);
    out->fma_f32_gflops = best_fma(fma, each);
    for (int level = 0; level < PFC_LEVELS; level++) {
        const size_t bytes = buffer_bytes(out, level);
        char *buffer = get_buffer(bytes);

        if (!buffer)
            continue;
        out->read_gbps[level] = best_pass(buffer, bytes, read, false, each);
        out->copy_gbps[level] = best_pass(buffer, bytes, read, true, each);
        (void)munmap(buffer, bytes);
    }
}
