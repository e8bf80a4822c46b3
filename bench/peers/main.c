/*
 * perfci-peers: our GEMM beside the libraries people use, in one process, on one thread, in turns.
 *
 * A line of JSON for each shape and peer:
 *   {"benchmark": "gemm/f32/m512n512k512", "ours": GFLOP/s, "peer": "openblas", "value": GFLOP/s,
 *    "unit": "GFLOP/s", "ratio": ours / peer}
 * ratio > 1: ours is faster. The ratio is the median over rounds of the ratio inside a round, so
 * slow drift of the machine cancels; it need not be the quotient of the two medians. A peer that is
 * not there has one line with value null and "note": "not available".
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/peers/peers.h"
#include "core/base/rng.h"
#include "kernels/cpu/gemm_f32/gemm_f32.h"
#include "kernels/cpu/kernel.h"

#define SAMPLE_NS       400000.0 /* long in comparison with the 0.7 us of the clock's system call */
#define SHAPE_BUDGET_NS 700e6
#define MIN_ROUNDS      7
#define MAX_ROUNDS      201

typedef struct shape {
    size_t m, n, k;
} shape;

static const shape shapes[] = {
    { 16, 16, 16 },       { 32, 32, 32 },      { 48, 48, 48 },     { 64, 64, 64 },
    { 96, 96, 96 },       { 128, 128, 128 },   { 192, 192, 192 },  { 256, 256, 256 },
    { 384, 384, 384 },    { 512, 512, 512 },   { 768, 768, 768 },  { 1024, 1024, 1024 },
    { 2048, 2048, 2048 }, { 127, 129, 131 },   { 1000, 10, 1000 }, { 31, 2049, 127 },
    { 10, 1000, 1000 },   { 2048, 64, 64 },    { 64, 2048, 64 },   { 64, 64, 2048 },
    { 128, 4096, 1024 },  { 512, 1024, 4096 }, { 1, 1024, 1024 },  { 1, 4096, 4096 },
    { 4, 1024, 1024 },    { 8, 1024, 1024 },   { 8, 4096, 4096 },  { 16, 1024, 1024 },
    { 24, 1024, 1024 },   { 32, 1024, 1024 },  { 32, 4096, 4096 }, { 64, 1024, 1024 },
};

typedef void (*gemm_fn)(size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
                        const float *b, size_t ldb, float beta, float *c, size_t ldc, float *work);

static const struct {
    const char *backend;
    gemm_fn run;
} variants[] = {
#define PFC_VARIANT(op, isa, needs) { "cpu-" #isa, pfc_##op##_##isa },
#include "kernels/cpu/gemm_f32/variants.def"
#undef PFC_VARIANT
};

typedef struct problem {
    shape s;
    float *a, *b, *ours, *theirs, *work; /* owned */
    gemm_fn run;
    const pfc_peer *peer;
} problem;

/* CPU time of this thread, so that a preempted sample does not count as slow. */
static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static float *floats(size_t len, pfc_rng *rng)
{
    size_t bytes = (PFC_MAX(len, (size_t)1) * sizeof(float) + 4095) / 4096 * 4096;
    float *out = aligned_alloc(4096, bytes);

    if (!out)
        pfc_die("perfci-peers: no memory for %zu bytes", bytes);
    memset(out, 0, bytes);
    for (size_t i = 0; rng && i < len; i++)
        out[i] = (float)(2.0 * pfc_rng_double(rng) - 1.0);
    return out;
}

static double time_ours(const problem *p, size_t calls)
{
    const shape s = p->s;
    double start = now_ns();

    for (size_t i = 0; i < calls; i++)
        p->run(s.m, s.n, s.k, 1.0F, p->a, s.k, p->b, s.n, 0.0F, p->ours, s.n, p->work);
    return (now_ns() - start) / (double)calls;
}

static double time_peer(const problem *p, size_t calls)
{
    double start = now_ns();

    for (size_t i = 0; i < calls; i++)
        pfc_peer_gemm(p->peer, p->s.m, p->s.n, p->s.k, p->a, p->b, p->theirs);
    return (now_ns() - start) / (double)calls;
}

/* Both sides computed the same thing; ours is held to a double reference by the unit tests. */
static bool agree(const problem *p)
{
    double allowed = 1e-5 * sqrt((double)p->s.k) + 1e-5;

    for (size_t i = 0; i < p->s.m * p->s.n; i++) {
        if (!(fabs((double)p->ours[i] - (double)p->theirs[i]) <= allowed))
            return false;
    }
    return true;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t len)
{
    qsort(values, len, sizeof *values, compare_doubles);
    return len % 2 ? values[len / 2] : 0.5 * (values[len / 2 - 1] + values[len / 2]);
}

static void measure(const problem *p)
{
    double ours[MAX_ROUNDS];
    double theirs[MAX_ROUNDS];
    double ratio[MAX_ROUNDS];
    double flops = 2.0 * (double)p->s.m * (double)p->s.n * (double)p->s.k;
    double once = fmax(time_ours(p, 1), 100.0);
    size_t calls = 1;
    size_t rounds = 0;

    once = fmax(fmin(once, time_ours(p, 1)), 100.0);
    (void)time_peer(p, 1);
    calls = (size_t)fmax(1.0, SAMPLE_NS / once);
    rounds =
        (size_t)fmin(MAX_ROUNDS, fmax(MIN_ROUNDS, SHAPE_BUDGET_NS / (2.0 * once * (double)calls)));

    /* The order alternates, so that neither library always runs with the caches of the other. */
    for (size_t r = 0; r < rounds; r++) {
        if (r % 2)
            theirs[r] = time_peer(p, calls);
        ours[r] = time_ours(p, calls);
        if (r % 2 == 0)
            theirs[r] = time_peer(p, calls);
        ratio[r] = theirs[r] / ours[r];
    }
    printf("{\"benchmark\": \"gemm/f32/m%zun%zuk%zu\", \"ours\": %.2f, \"peer\": \"%s\", "
           "\"value\": %.2f, \"unit\": \"GFLOP/s\", \"ratio\": %.3f}\n",
           p->s.m, p->s.n, p->s.k, flops / median(ours, rounds), p->peer->name,
           flops / median(theirs, rounds), median(ratio, rounds));
    fflush(stdout);
}

static bool compare_shape(const pfc_peer *peer, gemm_fn run, shape s)
{
    pfc_rng rng;
    problem p = { .s = s, .run = run, .peer = peer };
    bool same = false;

    pfc_rng_seed(&rng, 1);
    p.a = floats(s.m * s.k, &rng);
    p.b = floats(s.k * s.n, &rng);
    p.ours = floats(s.m * s.n, NULL);
    p.theirs = floats(s.m * s.n, NULL);
    p.work = floats(pfc_gemm_f32_work_len(s.m, s.n, s.k), NULL);
    (void)time_ours(&p, 1);
    (void)time_peer(&p, 1);
    same = agree(&p);
    if (same)
        measure(&p);
    else
        fprintf(stderr, "perfci-peers: ours and %s differ at m%zun%zuk%zu\n", peer->name, s.m, s.n,
                s.k);
    free(p.a);
    free(p.b);
    free(p.ours);
    free(p.theirs);
    free(p.work);
    return same;
}

static gemm_fn pick_variant(const char *backend, pfc_err *err)
{
    const pfc_kernel_op *op = NULL;
    size_t index = 0;

    if (pfc_kernel_find("gemm", "f32", &op, err))
        return NULL;
    while (!backend && !pfc_kernel_variant_at(op, index).runnable)
        index++;
    if (backend && pfc_kernel_variant_find(op, backend, &index, err))
        return NULL;
    return variants[index].run; /* the registry expands the same list */
}

static void usage(FILE *to)
{
    fprintf(to, "usage: perfci-peers [--backend B] [--filter TEXT]\n"
                "Measures our f32 GEMM beside OpenBLAS, BLIS and oneDNN where they are installed,\n"
                "one thread, in turns; prints JSON lines. Example:\n"
                "  perfci-peers --backend cpu-avx2 --filter m512n512\n");
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "backend", required_argument, NULL, 'b' },
                                             { "filter", required_argument, NULL, 'f' },
                                             { "help", no_argument, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    const char *backend = NULL;
    const char *filter = "";
    gemm_fn run = NULL;
    pfc_err err = { 0 };
    bool wrong = false;
    int option = 0;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'h') {
            usage(stdout);
            return 0;
        }
        if (option == 'b') {
            backend = optarg;
        } else if (option == 'f') {
            filter = optarg;
        } else {
            usage(stderr);
            return 2;
        }
    }
    run = pick_variant(backend, &err);
    if (!run || optind < argc) {
        fprintf(stderr, "perfci-peers: %s\n", run ? "unexpected argument" : err.msg);
        return run ? 2 : pfc_code_exit(err.code);
    }

    for (size_t i = 0; i < pfc_peer_count(); i++) {
        pfc_peer peer;
        pfc_err why = { 0 };

        if (pfc_peer_open(i, &peer, &why)) {
            printf("{\"benchmark\": null, \"ours\": null, \"peer\": \"%s\", \"value\": null, "
                   "\"unit\": \"GFLOP/s\", \"ratio\": null, \"note\": \"not available\"}\n",
                   pfc_peer_name(i));
            fprintf(stderr, "perfci-peers: %s\n", why.msg);
            continue;
        }
        fprintf(stderr, "perfci-peers: %s %s from %s\n", peer.name, peer.version, peer.path);
        for (size_t s = 0; s < PFC_ARRAY_LEN(shapes); s++) {
            char name[64];

            snprintf(name, sizeof name, "m%zun%zuk%zu", shapes[s].m, shapes[s].n, shapes[s].k);
            if (strstr(name, filter))
                wrong |= !compare_shape(&peer, run, shapes[s]);
        }
        pfc_peer_close(&peer);
    }
    return wrong ? 4 : 0;
}
