/* Selects loops by the CPU's feature bits. */
#include "bench/machine/ceilings/loop_dispatch.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "kernels/cpu/cpu.h"

static void take(pfc_loops *out, int kind, const char *isa, pfc_loop *loop)
{
    out->compute[kind] = loop;
    out->isa[kind] = isa;
}

#if defined(__x86_64__)
typedef struct features {
    bool avx512_vnni, avx512_bf16, avx_vnni, amx_tile, amx_bf16, amx_int8;
} features;

/* Leaf 7 of CPUID (Intel SDM, volume 2, CPUID; AMD APM, volume 3, appendix E). */
static features ask(void)
{
    features f = { 0 };
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;

    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return f;
    f.avx512_vnni = (c >> 11) & 1;
    f.amx_bf16 = (d >> 22) & 1;
    f.amx_tile = (d >> 24) & 1;
    f.amx_int8 = (d >> 25) & 1;
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
        f.avx_vnni = (a >> 4) & 1;
        f.avx512_bf16 = (a >> 5) & 1;
    }
    return f;
}

static void choose_x86(pfc_loops *out)
{
    const features f = ask();

    if (!pfc_cpu_can(PFC_CPU_AVX2, NULL))
        return;
    take(out, PFC_COMPUTE_F32, "avx2", pfc_fma_avx2);
    take(out, PFC_COMPUTE_INT8, "avx2 maddubs", pfc_int8_avx2);
    out->read = pfc_read_avx2;
#ifdef PFC_HAVE_AVXVNNI
    if (f.avx_vnni)
        take(out, PFC_COMPUTE_INT8, "avx-vnni", pfc_int8_avxvnni);
#endif
    if (!pfc_cpu_can(PFC_CPU_AVX512, NULL))
        return;
    take(out, PFC_COMPUTE_F32, "avx512", pfc_fma_avx512);
    out->read = pfc_read_avx512;
#ifdef PFC_HAVE_DOT512
    if (f.avx512_vnni)
        take(out, PFC_COMPUTE_INT8, "avx512-vnni", pfc_int8_avx512);
    if (f.avx512_bf16)
        take(out, PFC_COMPUTE_BF16, "avx512-bf16", pfc_bf16_avx512);
#endif
#ifdef PFC_HAVE_AMX
    if (f.amx_tile && (f.amx_bf16 || f.amx_int8) && pfc_amx_enable()) {
        if (f.amx_bf16)
            take(out, PFC_COMPUTE_BF16, "amx", pfc_bf16_amx);
        if (f.amx_int8)
            take(out, PFC_COMPUTE_INT8, "amx", pfc_int8_amx);
    }
#endif
}
#endif

void pfc_loops_choose(pfc_loops *out)
{
    *out = (pfc_loops){ .read = pfc_read_scalar };
    take(out, PFC_COMPUTE_F32, "scalar", pfc_fma_scalar);
#if defined(__x86_64__)
    choose_x86(out);
#endif
}
