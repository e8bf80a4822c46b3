/* Measures the ceilings of one core: the best of many short samples. */
#include "bench/machine/ceilings/ceilings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/machine/ceilings/pass.h"
#include "core/base/clock.h"

#define SAMPLE_NS    50000.0 /* short enough to fall between two preemptions */
#define LOOP_ROUNDS  200     /* of a compute loop: about a microsecond */
#define DRAM_MIN     (64.0 * 1024 * 1024)
#define DRAM_MAX     (256.0 * 1024 * 1024)
#define DRAM_THREAD  (16.0 * 1024 * 1024) /* of each thread at least */
#define DEFAULT_S    0.3
#define MEASUREMENTS 12 /* arithmetic of three types, read and copy of four levels, L3's reach */

static volatile float sink;

const char *pfc_compute_name(int kind)
{
    static const char *const names[] = { "f32", "bf16", "int8" };

    return names[kind];
}

const char *pfc_level_name(int level)
{
    static const char *const names[] = { "L1", "L2", "L3", "DRAM" };

    return names[level];
}

double pfc_pass_run(const pfc_pass *pass, uint64_t times)
{
    const size_t piece = pass->window ? pass->window : pass->bytes;

    if (pass->compute)
        return pass->compute(LOOP_ROUNDS * times);
    for (uint64_t i = 0; i < times; i++) {
        const size_t at = pass->window ? *pass->at : 0;
        if (pass->read) /* buffer and windows are aligned */
            sink =
                pass->read((const float *)(const void *)(pass->buffer + at), piece / sizeof(float));
        else
            memcpy(pass->buffer + at / 2, pass->buffer + (pass->bytes + at) / 2, piece / 2);
        __asm__ volatile("" ::: "memory");
        if (pass->window)
            *pass->at = at + 2 * piece <= pass->bytes ? at + piece : 0;
    }
    return (double)piece * (double)times;
}

static double timed(const pfc_pass *pass, uint64_t times, double *ns)
{
    const int64_t start = pfc_clock_ns();
    const double work = pfc_pass_run(pass, times);

    *ns = (double)PFC_MAX(pfc_clock_ns() - start, 1);
    return work / *ns;
}

/* Takes the shortest of three, because the first pass is cold and another may be preempted. */
uint64_t pfc_pass_times(const pfc_pass *pass, double ns)
{
    double least = (double)INFINITY;

    for (int i = 0; i < 3; i++) {
        double one;
        (void)timed(pass, 1, &one);
        least = fmin(least, one);
    }
    return (uint64_t)fmax(1.0, ns / least);
}

/* Work a nanosecond: 1e9 operations or bytes a second. */
static double best(const pfc_pass *pass, double seconds)
{
    const uint64_t times = pfc_pass_times(pass, SAMPLE_NS);
    const int64_t start = pfc_clock_ns();
    double rate = 0.0;

    do {
        double ns;
        rate = fmax(rate, timed(pass, times, &ns));
    } while ((double)(pfc_clock_ns() - start) * 1e-9 < seconds);
    return rate;
}

/* Without huge pages the DRAM figures measure the TLB. */
char *pfc_buffer_get(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    (void)madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 0, bytes);
    return p;
}

void pfc_buffer_drop(char *buffer, size_t bytes)
{
    if (buffer)
        (void)munmap(buffer, bytes);
}

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

/* Other cores use a shared L3, too, so only four times the size of L2 is used. */
size_t pfc_buffer_bytes(const pfc_ceilings *c, int level, size_t threads)
{
    double bytes = 0.5 * c->size_bytes[level];

    if (level == PFC_LEVEL_L3)
        bytes = fmin(4.0 * c->size_bytes[PFC_LEVEL_L2], bytes);
    if (level == PFC_LEVEL_DRAM)
        bytes = fmax(fmin(fmax(2.0 * c->size_bytes[PFC_LEVEL_L3], DRAM_MIN), DRAM_MAX) /
                         (double)threads,
                     DRAM_THREAD);
    return (size_t)(bytes / 8192.0) * 8192;
}

/* Virtual machines report caches that are shared or absent. Therefore the size is measured: the
 * last doubling whose rate is nearer to L3's than to DRAM's. */
static void find_reach(const pfc_loops *loops, double seconds, pfc_ceilings *out)
{
    const double least =
        sqrt(out->one.read_gbps[PFC_LEVEL_L3] * out->one.read_gbps[PFC_LEVEL_DRAM]);
    const size_t most = pfc_buffer_bytes(out, PFC_LEVEL_DRAM, 1) / 2;
    size_t bytes = pfc_buffer_bytes(out, PFC_LEVEL_L3, 1);
    char *buffer = pfc_buffer_get(most);
    double reach = 2.0 * (double)bytes;

    for (bytes *= 2; buffer && bytes <= most; bytes *= 2) {
        const pfc_pass pass = { .read = loops->read, .buffer = buffer, .bytes = bytes };
        if (best(&pass, seconds / 8.0) < least)
            break;
        reach = 2.0 * (double)bytes;
    }
    out->size_bytes[PFC_LEVEL_L3] = fmin(out->size_bytes[PFC_LEVEL_L3], reach);
    pfc_buffer_drop(buffer, most);
}

static void measure_one(const pfc_loops *loops, double each, pfc_ceilings *out)
{
    for (int kind = 0; kind < PFC_COMPUTES; kind++) {
        const pfc_pass pass = { .compute = loops->compute[kind] };
        if (pass.compute)
            out->one.gops[kind] = best(&pass, each);
    }
    for (int level = 0; level < PFC_LEVELS; level++) {
        const size_t bytes = pfc_buffer_bytes(out, level, 1);
        char *buffer = pfc_buffer_get(bytes);
        size_t at = 0;
        pfc_pass pass = { .read = loops->read, .buffer = buffer, .bytes = bytes, .at = &at };

        if (!buffer)
            continue;
        pass.window = level == PFC_LEVEL_DRAM ? PFC_DRAM_WINDOW : 0;
        out->one.read_gbps[level] = best(&pass, each);
        pass.read = NULL;
        out->one.copy_gbps[level] = best(&pass, each);
        pfc_buffer_drop(buffer, bytes);
    }
    find_reach(loops, each, out);
}

void pfc_ceilings_measure(double seconds, bool all_cores, pfc_ceilings *out)
{
    const double budget = seconds > 0.0 ? seconds : DEFAULT_S;
    pfc_loops loops;

    *out = (pfc_ceilings){ 0 };
    find_sizes(out);
    pfc_loops_choose(&loops);
    for (int kind = 0; kind < PFC_COMPUTES; kind++)
        snprintf(out->isa[kind], sizeof(out->isa[kind]), "%s",
                 loops.isa[kind] ? loops.isa[kind] : "");
    measure_one(&loops, budget / MEASUREMENTS, out);
    if (all_cores)
        pfc_ceilings_measure_all(&loops, budget, out);
    if (!loops.compute[PFC_COMPUTE_BF16]) {
        out->one.gops[PFC_COMPUTE_BF16] = out->one.gops[PFC_COMPUTE_F32];
        out->all.gops[PFC_COMPUTE_BF16] = out->all.gops[PFC_COMPUTE_F32];
        snprintf(out->isa[PFC_COMPUTE_BF16], sizeof(out->isa[PFC_COMPUTE_BF16]),
                 "%.10s, converted to f32", out->isa[PFC_COMPUTE_F32]);
    }
}
