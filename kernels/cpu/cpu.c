/* cpuid and xgetbv, decoded once. Bit numbers: Intel SDM vol. 2A, CPUID; vol. 1, chapter 13. */
#include "kernels/cpu/cpu.h"

#include <pthread.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static const char *missing[PFC_CPU_AVX512 + 1]; /* why not, or NULL; written once by ask() */

#if defined(__x86_64__)
static uint64_t enabled_state(void)
{
    uint32_t low = 0;
    uint32_t high = 0;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((uint64_t)high << 32) | low;
}

static void ask(void)
{
    const uint64_t ymm_state = 0x6;  /* XMM and YMM halves */
    const uint64_t zmm_state = 0xe6; /* the same, opmask, upper ZMM, ZMM16..31 */
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    uint64_t state = 0;
    bool fma = false;

    missing[PFC_CPU_AVX2] = "this CPU has no AVX2";
    missing[PFC_CPU_AVX512] = "this CPU has no AVX-512F";
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return;
    fma = (c & bit_FMA) != 0;
    if (c & bit_OSXSAVE)
        state = enabled_state();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return;

    if (b & bit_AVX2) {
        if (!fma)
            missing[PFC_CPU_AVX2] = "this CPU has AVX2 but no FMA";
        else if ((state & ymm_state) != ymm_state)
            missing[PFC_CPU_AVX2] = "the operating system does not save the YMM registers";
        else
            missing[PFC_CPU_AVX2] = NULL;
    }
    if (b & bit_AVX512F) {
        if ((state & zmm_state) != zmm_state)
            missing[PFC_CPU_AVX512] = "the operating system does not save the ZMM registers";
        else
            missing[PFC_CPU_AVX512] = NULL;
    }
}
#else
static void ask(void)
{
    missing[PFC_CPU_AVX2] = "AVX2 exists on x86-64 only";
    missing[PFC_CPU_AVX512] = "AVX-512F exists on x86-64 only";
}
#endif

bool pfc_cpu_can(pfc_cpu_level level, const char **reason)
{
    pthread_once(&asked, ask);
    if (reason)
        *reason = missing[level] ? missing[level] : "";
    return missing[level] == NULL;
}
