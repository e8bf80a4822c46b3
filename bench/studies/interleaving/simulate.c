/* Modelled builds, whose truth is known: the rule and the interval are the ones that measure. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/studies/interleaving/study.h"

/* One row: noise and what is true. */
typedef struct scene {
    const char *name;
    double change;        /* of B */
    double launch_rel;    /* layout: one draw for each launch of each side */
    double turn_rel;      /* noise of a sample */
    double outlier_share; /* of launches, a fifth slower */
    double two_speeds;    /* turns run at one of two speeds so far apart */
    double drift;         /* of the machine over the whole comparison */
    double drift_pairs;   /* which has so many pairs */
    size_t max_pairs;     /* 0: 100 */
    double margin;        /* 0: the comparison's */
} scene;

static const scene scenes[] = {
    { "nothing", 0.0, 0.002, 0.003, 0, 0, 0, 0, 0, 0 },
    { "nothing, 2 % outlying launches", 0.0, 0.002, 0.003, 0.02, 0, 0, 0, 0, 0 },
    { "nothing, two speeds", 0.0, 0.001, 0.003, 0, 0.014, 0, 0, 0, 0 },
    { "nothing, noise of 3 %", 0.0, 0.02, 0.03, 0, 0, 0, 0, 0, 0 },
    { "0.25 %", 0.0025, 0.002, 0.003, 0, 0, 0, 0, 0, 0 },
    { "0.5 %", 0.005, 0.002, 0.003, 0.02, 0, 0, 0, 0, 0 },
    { "1 %", 0.01, 0.002, 0.003, 0.02, 0.014, 0, 0, 0, 0 },
    { "1 %, noise of 1.5 %", 0.01, 0.01, 0.015, 0, 0, 0, 0, 0, 0 },
    /* as the L2 kernel's launches and samples are, compared as in the study of 0.5 % */
    { "0.5 %, as l2", 0.005, 0.0045, 0.003, 0.01, 0.014, 0, 0, 200, 0.0025 },
    { "drift of 5 %", 0.0, 0.002, 0.003, 0, 0, 0.05, 60, 0, 0 },
    { "drift of 5 %, 1 %", 0.01, 0.002, 0.003, 0, 0, 0.05, 20, 0, 0 },
};

typedef struct machine {
    pfc_rng rng;
    double speed, drift_per_turn;
} machine;

typedef struct build {
    const scene *s;
    machine *m;
    double call_ns, level;
} build;

static pfc_code launch(void *arg, const pfc_block_spec *spec, pfc_launched *out, pfc_err *err)
{
    build *b = arg;

    (void)spec;
    (void)err;
    b->level = exp(b->s->launch_rel * pfc_rng_normal(&b->m->rng));
    if (pfc_rng_double(&b->m->rng) < b->s->outlier_share)
        b->level *= 1.2;
    *out = (pfc_launched){ .calls = 20 };
    return PFC_OK;
}

static pfc_code turn(void *arg, const pfc_pair_turn *t, double *samples, uint64_t *preempted,
                     pfc_err *err)
{
    build *b = arg;

    (void)preempted;
    (void)err;
    b->m->speed *= 1.0 + b->m->drift_per_turn;
    for (size_t i = 0; i < t->samples; i++) {
        samples[i] =
            b->call_ns * b->level * b->m->speed * exp(b->s->turn_rel * pfc_rng_normal(&b->m->rng));
        if (pfc_rng_below(&b->m->rng, 2))
            samples[i] *= 1.0 + b->s->two_speeds;
    }
    return PFC_OK;
}

static void end(void *arg)
{
    (void)arg;
}

static pfc_code one(const scene *s, const pfc_case *c, uint64_t seed, pfc_tally *t, pfc_err *err)
{
    machine m = { .speed = 1.0 };
    build a = { .s = s, .m = &m, .call_ns = 1000 };
    build b = { .s = s, .m = &m, .call_ns = 1000 * (1 + s->change) };
    const pfc_side sides[2] = { { .launch = launch, .turn = turn, .end = end, .arg = &a },
                                { .launch = launch, .turn = turn, .end = end, .arg = &b } };
    const pfc_paired_opts opts = {
        .seed = seed,
        .cpu = -1,
        .max_pairs = s->max_pairs ? s->max_pairs : 100,
        .margin = s->margin,
        .min_launches = (size_t)s->drift_pairs,
    };
    pfc_pair_result p;
    pfc_code code;

    pfc_rng_seed(&m.rng, seed * 7919);
    /* a pair is its turns of both sides; four cold ones come before */
    if (s->drift > 0.0)
        m.drift_per_turn = s->drift / (s->drift_pairs * (2.0 * PFC_PAIR_TURNS + 4.0));
    code = pfc_paired_run(&sides[0], &sides[1], c, "cpu-scalar", &opts, &p, err);
    if (!code)
        pfc_tally_add(t, &p);
    pfc_paired_clear(&p);
    return code;
}

static pfc_code row(const scene *s, const pfc_case *c, size_t n, pfc_tally *t, pfc_err *err)
{
    pfc_code code = PFC_OK;

    *t = (pfc_tally){ .kernel = "model",
                      .benchmark = pfc_strdup(s->name),
                      .inject_rel = s->change,
                      .drifts = s->drift > 0.0,
                      .wanted = n,
                      .pairs = pfc_calloc(n, sizeof(double)),
                      .noise = pfc_calloc(n, sizeof(double)),
                      .change = pfc_calloc(n, sizeof(double)) };
    for (size_t k = 0; k < n && !code; k++)
        code = one(s, c, k + 1, t, err);
    return code;
}

pfc_code pfc_study_simulate(size_t n, bool json, FILE *out, bool *kept, pfc_err *err)
{
    static const char text[] = "suite: model\nbackends: [cpu-scalar]\nbenchmarks:\n"
                               "  - {op: gemm, shapes: [{m: 8, n: 8, k: 8}]}\n";
    pfc_tally tallies[PFC_ARRAY_LEN(scenes)] = { 0 };
    pfc_suite *suite = NULL;
    pfc_code code = pfc_suite_parse(text, strlen(text), "model", &suite, err);

    if (!code && !json)
        pfc_tally_head(out);
    for (size_t i = 0; i < PFC_ARRAY_LEN(scenes) && !code; i++) {
        code = row(&scenes[i], &suite->cases[0], n, &tallies[i], err);
        if (!code && json)
            pfc_tally_json(out, &tallies[i]);
        else if (!code)
            pfc_tally_row(out, &tallies[i]);
        fflush(out);
    }
    /* the lines of JSON hold all that the sentences are made of */
    if (!code)
        *kept = pfc_study_verdict_modelled(tallies, PFC_ARRAY_LEN(scenes), json ? stderr : out);
    for (size_t i = 0; i < PFC_ARRAY_LEN(scenes); i++)
        pfc_tally_clear(&tallies[i]);
    pfc_suite_free(suite);
    return code;
}
