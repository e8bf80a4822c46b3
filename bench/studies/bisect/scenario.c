/*
 * Scenario files and the machine that measures them.
 */
#include "bench/studies/bisect/scenario.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define COMMITS_MAX 100000

static double number(const json_t *root, const char *name, double otherwise)
{
    const json_t *v = json_object_get(root, name);
    return json_is_number(v) ? json_number_value(v) : otherwise;
}

static size_t index_of(const json_t *commits, const char *id)
{
    for (size_t i = 0; id && i < json_array_size(commits); i++)
        if (pfc_streq(json_string_value(json_object_get(json_array_get(commits, i), "id")), id))
            return i;
    return SIZE_MAX;
}

static bool touches(const json_t *commit, const json_t *files)
{
    const json_t *paths = json_object_get(commit, "files");
    for (size_t i = 0; i < json_array_size(paths); i++)
        for (size_t k = 0; k < json_array_size(files); k++)
            if (json_equal(json_array_get(paths, i), json_array_get(files, k)))
                return true;
    return false;
}

static void read_commits(scenario *s, const json_t *root)
{
    const json_t *commits = json_object_get(root, "commits");
    s->value = pfc_calloc(s->len, sizeof *s->value);
    s->layout = pfc_calloc(s->len, sizeof *s->layout);
    s->broken = pfc_calloc(s->len, sizeof *s->broken);
    s->touches = pfc_calloc(s->len, sizeof *s->touches);
    for (size_t i = 0; i < s->len; i++) {
        const json_t *c = json_array_get(commits, i);
        s->value[i] = number(c, "value", 0);
        s->layout[i] = number(c, "layout", 0);
        s->broken[i] = pfc_streq(json_string_value(json_object_get(c, "build")), "fail");
        s->touches[i] = i > 0 && touches(c, json_object_get(root, "benchmark_files"));
        s->any_touches = s->any_touches || s->touches[i];
    }
}

static pfc_code read_noise(scenario *s, const json_t *noise, pfc_err *err)
{
    static const char *const kinds[] = { "gaussian", "lognormal", "outlier", "bimodal", "drift" };
    const char *kind = json_string_value(json_object_get(noise, "kind"));
    s->cv = number(noise, "cv", 0);
    s->shape = number(noise, "shape", 0.8);
    s->rate = number(noise, "rate", 0.05);
    s->size = number(noise, "size", 10);
    s->gap = number(noise, "gap", 0);
    s->flip = number(noise, "switch", 0.1);
    s->stationary = number(noise, "stationary", 0.3);
    s->drift = number(noise, "step", 0);
    for (size_t i = 0; i < PFC_ARRAY_LEN(kinds); i++) {
        if (pfc_streq(kind, kinds[i])) {
            s->kind = (noise_kind)i;
            return PFC_OK;
        }
    }
    return pfc_err_set(err, PFC_EINVAL, "noise.kind: unknown kind \"%s\"", kind ? kind : "");
}

static pfc_code read_truth(scenario *s, const json_t *root, pfc_err *err)
{
    const json_t *sets = json_object_get(json_object_get(root, "truth"), "sets");
    const json_t *commits = json_object_get(root, "commits");
    if (!json_is_array(sets) || json_array_size(sets) > SCENARIO_MAX_SETS)
        return pfc_err_set(err, PFC_EINVAL, "truth.sets: expected at most %d", SCENARIO_MAX_SETS);
    for (size_t i = 0; i < json_array_size(sets); i++) {
        const json_t *set = json_array_get(sets, i);
        size_t len = json_array_size(set);
        if (!len)
            return pfc_err_set(err, PFC_EINVAL, "truth.sets[%zu]: expected a commit", i);
        commit_set *t = &s->truth[s->truth_len++];
        t->first = index_of(commits, json_string_value(json_array_get(set, 0)));
        t->last = index_of(commits, json_string_value(json_array_get(set, len - 1)));
        if (t->first >= s->len || t->last >= s->len)
            return pfc_err_set(err, PFC_EINVAL, "truth.sets[%zu]: no such commit", i);
    }
    return PFC_OK;
}

static uint64_t seed_of(const char *text)
{
    uint64_t h = 1469598103934665603u; /* FNV-1a */
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

pfc_code scenario_load(scenario *s, const char *path, pfc_err *err)
{
    json_error_t bad;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &bad);
    pfc_code code = PFC_OK;
    memset(s, 0, sizeof *s);
    if (!root)
        return pfc_err_set(err, PFC_EINVAL, "%s: %s", path, bad.text);
    const char *name = json_string_value(json_object_get(root, "name"));
    const char *group = json_string_value(json_object_get(root, "group"));
    const char *seed = json_string_value(json_object_get(root, "seed"));
    s->name = pfc_strdup(name ? name : path);
    s->group = pfc_strdup(group ? group : "");
    s->seed = seed_of(seed ? seed : s->name);
    s->higher_is_better = json_is_true(json_object_get(root, "higher_is_better"));
    s->delta_hint = number(root, "delta_hint", 0);
    s->noise_hint = number(root, "noise_hint", 0);
    s->layout_hint = number(root, "layout_hint", 0);
    s->flaky_run = number(root, "flaky_run", 0);
    s->limit_runs = number(json_object_get(root, "limits"), "mean_runs", 0);
    s->len = json_array_size(json_object_get(root, "commits"));
    if (s->len < 2 || s->len > COMMITS_MAX)
        code = pfc_err_set(err, PFC_EINVAL, "%s: expected 2..%d commits, got %zu", path,
                           COMMITS_MAX, s->len);
    if (!code) {
        read_commits(s, root);
        code = read_noise(s, json_object_get(root, "noise"), err);
    }
    if (!code)
        code = read_truth(s, root, err);
    json_decref(root);
    return code ? pfc_err_wrap(err, "%s", path) : PFC_OK;
}

void scenario_clear(scenario *s)
{
    free(s->name);
    free(s->group);
    free(s->value);
    free(s->layout);
    free(s->broken);
    free(s->touches);
    memset(s, 0, sizeof *s);
}

/* ---- the machine ---- */

void session_begin(session *n, const scenario *s, uint64_t number)
{
    memset(n, 0, sizeof *n);
    n->s = s;
    n->seed = s->seed ^ (number * 0x9e3779b97f4a7c15u);
    n->built = pfc_calloc(s->len, 1);
    n->builds_of = pfc_calloc(s->len, sizeof *n->builds_of);
    pfc_rng_seed(&n->rng, n->seed);
}

void session_end(session *n)
{
    free(n->built);
    free(n->builds_of);
}

/* Relative error of the next run. */
static double noise(session *n)
{
    const scenario *s = n->s;
    double e = s->cv * pfc_rng_normal(&n->rng);
    double v = s->shape * s->shape;
    switch (s->kind) {
    case NOISE_GAUSSIAN:
        return e;
    case NOISE_LOGNORMAL:
        return s->cv * (exp(s->shape * e / s->cv) - exp(v / 2)) / sqrt((exp(v) - 1) * exp(v));
    case NOISE_OUTLIER:
        if (pfc_rng_double(&n->rng) < s->rate)
            e += fabs(s->size * s->cv * pfc_rng_normal(&n->rng));
        return e;
    case NOISE_BIMODAL:
        if (!n->begun || pfc_rng_double(&n->rng) < s->flip)
            n->slow = pfc_rng_double(&n->rng) < s->stationary;
        n->begun = true;
        return e + (n->slow ? s->gap : 0);
    case NOISE_DRIFT:
        n->level += s->drift * pfc_rng_normal(&n->rng);
        return e + n->level;
    }
    return e;
}

/* The offset of a rebuild belongs to the build, not to the moment. */
static double rebuild_offset(const session *n, size_t commit, unsigned build)
{
    pfc_rng rng;
    pfc_rng_seed(&rng, n->s->seed + commit * 1000003u + build);
    return n->s->layout_hint * pfc_rng_normal(&rng);
}

answer_kind session_measure(session *n, size_t commit, unsigned build, double *value)
{
    const scenario *s = n->s;
    if (s->broken[commit]) {
        n->builds++;
        return ANSWER_BROKEN;
    }
    if (build == 0 && !n->built[commit]) {
        n->built[commit] = 1;
        n->builds++;
    }
    if (build > n->builds_of[commit]) {
        n->builds_of[commit] = build;
        n->builds++;
    }
    n->runs++;
    double e = noise(n);
    if (pfc_rng_double(&n->rng) < s->flaky_run)
        return ANSWER_FAILED;
    bool fresh = build && s->layout_hint > 0;
    double v =
        s->value[commit] * (1 + (fresh ? rebuild_offset(n, commit, build) : s->layout[commit]));
    *value = s->higher_is_better ? v / (1 + e) : v * (1 + e);
    return ANSWER_VALUE;
}
