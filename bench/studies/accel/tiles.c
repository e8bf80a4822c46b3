/* The choice of tiles against an exhaustive search: every size of each dimension that is a power of
 * two or three times one of the array's, every order, 2 to 8 buffers, both uses of the engines. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/studies/accel/studies.h"
#include "core/base/rng.h"
#include "kernels/accel/analytic/ceiling.h"

#define MAX_SIZES 32
#define WITHIN    1.03

typedef struct best {
    uint64_t cycles;
    pfc_accel_gemm_tiles tiles;
    size_t tried;
} best;

static pfc_code cycles_of(const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                          const pfc_accel_gemm_tiles *tiles, uint64_t *out, pfc_err *err)
{
    const pfc_accel_compile_opts opts = { .gemm_tiles = tiles };
    pfc_accel_run run = { .chip = chip, .timing_only = true };
    pfc_accel_program *program = NULL;
    uint64_t at = 1 << 20;
    pfc_code code = pfc_accel_compile(problem, chip, PFC_ACCEL_PIPELINED_WS, &opts, &program, err);

    if (code)
        return code;
    for (size_t i = 0; i < program->args_len; i++) {
        run.addr[i] = at;
        at += (program->arg_bytes[i] + 255) / 256 * 256;
    }
    run.program = program;
    code = pfc_accel_execute(&run, err);
    *out = run.counters.v[PFC_ACCEL_CYCLES];
    pfc_accel_program_free(program);
    return code;
}

static size_t sizes_of(uint64_t dim, uint64_t step, uint64_t out[MAX_SIZES])
{
    size_t len = 0;

    step = PFC_MIN(step, dim);
    for (uint64_t s = step; s < dim && len + 3 < MAX_SIZES; s *= 2) {
        out[len++] = s;
        if (s * 3 / 2 < dim && s > step)
            out[len++] = s / 2 * 3;
    }
    out[len++] = dim;
    return len;
}

/* Tiles that do not fit are no candidates. */
static pfc_code consider(best *b, const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                         const pfc_accel_gemm_tiles *tiles, pfc_err *err)
{
    uint64_t cycles = 0;
    pfc_code code = cycles_of(problem, chip, tiles, &cycles, err);

    if (code == PFC_ETOOBIG)
        return PFC_OK;
    if (code)
        return code;
    b->tried++;
    if (cycles < b->cycles) {
        b->cycles = cycles;
        b->tiles = *tiles;
    }
    return PFC_OK;
}

static pfc_code orders_of(best *b, const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                          pfc_accel_gemm_tiles t, pfc_err *err)
{
    const uint64_t nm = ((uint64_t)problem->p[0] + t.m - 1) / t.m;
    const uint64_t nn = ((uint64_t)problem->p[1] + t.n - 1) / t.n;
    const uint64_t nk = ((uint64_t)problem->p[2] + t.k - 1) / t.k;
    pfc_code code = PFC_OK;

    for (unsigned i = 0; i < 24 && !code; i++) {
        t.slots = 2u << i % 3;
        t.mixed = i / 3 % 2 == 1;
        t.m_outer = i / 6 % 2 == 1;
        t.group = i / 12 ? PFC_MIN(t.m_outer ? nn : nm, 256) : 1;
        if ((t.slots > 2 && nm * nn * nk <= t.slots / 2) || (i / 12 && t.group < 2))
            continue;
        code = consider(b, problem, chip, &t, err);
    }
    return code;
}

static pfc_code search(best *b, const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                       pfc_err *err)
{
    uint64_t ms[MAX_SIZES], ns[MAX_SIZES], ks[MAX_SIZES];
    const size_t ms_len = sizes_of((uint64_t)problem->p[0], chip->array_rows, ms);
    const size_t ns_len = sizes_of((uint64_t)problem->p[1], chip->array_cols, ns);
    const size_t ks_len = sizes_of((uint64_t)problem->p[2], chip->array_rows, ks);
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < ms_len * ns_len * ks_len && !code; i++)
        code = orders_of(b, problem, chip,
                         (pfc_accel_gemm_tiles){ .m = ms[i % ms_len],
                                                 .n = ns[i / ms_len % ns_len],
                                                 .k = ks[i / ms_len / ns_len] },
                         err);
    return code;
}

/* 1 to 512, each power of two as often as the next. */
static int64_t dimension(pfc_rng *rng)
{
    const int64_t top = 1ll << (1 + pfc_rng_below(rng, 9));

    return top - (int64_t)pfc_rng_below(rng, (uint64_t)top / 2 + 1);
}

static void print_tiles(const char *what, const pfc_accel_gemm_tiles *t, uint64_t cycles)
{
    printf("  %s %llu: %llux%llux%llu %s%s group %llu slots %llu\n", what,
           (unsigned long long)cycles, (unsigned long long)t->m, (unsigned long long)t->n,
           (unsigned long long)t->k, t->m_outer ? "m" : "n", t->mixed ? " mixed" : "",
           (unsigned long long)t->group, (unsigned long long)t->slots);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Cycles of the best beyond the lower bound, as a share of the bound. */
static double gap_of(const pfc_accel_problem *p, const pfc_accel_chip *chip, uint64_t best_cycles)
{
    const uint64_t ceiling = pfc_accel_ceiling_of(p, chip, chip->mode, PFC_ACCEL_TILINGS).cycles;

    return (double)best_cycles / (double)ceiling - 1.0;
}

pfc_code study_tiles(size_t count, pfc_err *err)
{
    pfc_rng rng;
    size_t within = 0;
    size_t tried = 0;
    size_t above = 0; /* problems whose lower bound is above the best: none, or it is no bound */
    double *gaps = pfc_calloc(count, sizeof(*gaps));
    double worst = 1.0;
    double sum = 0.0;

    pfc_rng_seed(&rng, 17);
    for (size_t i = 0; i < count; i++) {
        pfc_accel_problem p = { .kernel = PFC_ACCEL_GEMM, .dtype = (pfc_accel_dtype)(i / 3 % 3) };
        best b = { .cycles = UINT64_MAX };
        uint64_t chosen = 0;
        pfc_accel_chip chip;
        double ratio;
        pfc_code code = pfc_accel_chip_load(pfc_accel_chip_name(i % 3), &chip, err);

        for (size_t d = 0; d < 3; d++)
            p.p[d] = dimension(&rng);
        if (!code)
            code = cycles_of(&p, &chip, NULL, &chosen, err);
        if (!code)
            code = search(&b, &p, &chip, err);
        if (code) {
            free(gaps);
            return code;
        }
        ratio = (double)chosen / (double)b.cycles;
        gaps[i] = gap_of(&p, &chip, b.cycles);
        above += gaps[i] < 0.0;
        within += ratio <= WITHIN;
        tried += b.tried;
        sum += ratio;
        worst = ratio > worst ? ratio : worst;
        if (ratio > WITHIN) {
            printf("%s %s m %lld n %lld k %lld: %llu cycles, %.3f of the best\n", chip.name,
                   pfc_accel_dtype_name(p.dtype), (long long)p.p[0], (long long)p.p[1],
                   (long long)p.p[2], (unsigned long long)chosen, ratio);
            print_tiles("best", &b.tiles, b.cycles);
        }
    }
    study_figure("efficiency_pct", 100.0 * (double)within / (double)count,
                 "accel/tiles/within-3-percent-of-the-best");
    printf("tiles: %zu problems, %zu programs; within 3 %% of the best: %.1f %%; mean %.4f, worst "
           "%.3f\n",
           count, tried, 100.0 * (double)within / (double)count, sum / (double)count, worst);
    qsort(gaps, count, sizeof(*gaps), ascending);
    study_figure("overhead_pct", 100.0 * gaps[count / 2], "accel/ceiling/median-gap-to-the-best");
    printf("ceiling: above the best of %zu problems; median gap to the best %.1f %%, 90 %% of the "
           "gaps within %.1f %%\n",
           above, 100.0 * gaps[count / 2], 100.0 * gaps[count * 9 / 10]);
    free(gaps);
    return PFC_OK;
}
