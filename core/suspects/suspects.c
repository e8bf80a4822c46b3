/*
 * The ranking: the evidence of each commit gives its weight; weights and places give probabilities.
 */
#include "core/suspects/suspects.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/suspects/evidence.h"

/* Log-weights of suspects that are no commits. A commit that touches one of the benchmark's files
 * and has its name in the subject has about 3. A compiler that changed at the place is more
 * probable by an order of magnitude, because most commits change no performance. */
#define TOOLCHAIN_WEIGHT 5.0
#define MACHINE_WEIGHT   4.0
/* Deterministic metrics do not depend on the machine: one that moved excludes it, an unchanged one
 * is evidence against the code. */
#define EXACT_MOVED      (-3.0)
#define EXACT_STILL      (-1.2)
/* Where the object code is the same, a cause that acts through it is excluded. */
#define SAME_CODE        (-12.0)
/* Least weight of "none of these", so that it ranks first when every suspect is ruled out. */
#define NONE_WEIGHT      (-4.5)

#define STUDENT_NU 4.0
#define MIN_NOISE  0.01 /* of the step */

/* ---- places ---- */

static double log_student(double x, double scale)
{
    const double z = x / scale;

    return -(STUDENT_NU + 1) / 2 * log1p(z * z / STUDENT_NU);
}

void pfc_suspects_place(const pfc_suspect_point *points, size_t n, double before, double after,
                        double noise_rel, int64_t first, size_t len, double *out)
{
    const double old = log(before), now = log(after);
    const double scale = fmax(noise_rel, MIN_NOISE * fabs(now - old)) + 1e-12;
    double sum = 0, best;
    size_t i = 0;

    /* Moving the place forward by one point moves that point from the new level to the old one. */
    for (size_t k = 0; k < len; k++) {
        for (; i < n && points[i].position < first + (int64_t)k; i++) {
            const double x = log(points[i].value);

            sum += log_student(x - old, scale) - log_student(x - now, scale);
        }
        out[k] = sum;
    }
    best = len ? out[0] : 0;
    for (size_t k = 1; k < len; k++)
        best = fmax(best, out[k]);
    for (size_t k = 0; k < len; k++)
        out[k] -= best;
}

/* ---- names ---- */

const char *pfc_suspect_kind_name(pfc_suspect_kind kind)
{
    static const char *const names[] = { "commit", "toolchain", "harness", "machine", "none" };

    return names[kind];
}

pfc_suspect_kind pfc_suspect_kind_of_field(const char *field)
{
    static const char *const toolchain[] = { "compiler", "flags",  "libc",   "linker", "cc",
                                             "cxx",      "cflags", "python", "rustc",  "driver" };
    static const char *const harness[] = { "harness", "suite", "simulator", "perfci", "bench" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(toolchain); i++)
        if (strncmp(field, toolchain[i], strlen(toolchain[i])) == 0)
            return PFC_SUSPECT_IS_TOOLCHAIN;
    for (size_t i = 0; i < PFC_ARRAY_LEN(harness); i++)
        if (strncmp(field, harness[i], strlen(harness[i])) == 0)
            return PFC_SUSPECT_IS_HARNESS;
    return PFC_SUSPECT_IS_MACHINE;
}

/* ---- ranking ---- */

void pfc_suspects_clear(pfc_suspects *s)
{
    for (size_t i = 0; i < s->len; i++)
        for (size_t k = 0; k < s->items[i].reasons_len; k++)
            free(s->items[i].reasons[k]);
    free(s->items);
    *s = (pfc_suspects){ 0 };
}

static int weightiest_first(const void *a, const void *b)
{
    const double x = fabs(((const pfc_evidence *)a)->weight);
    const double y = fabs(((const pfc_evidence *)b)->weight);

    return (x < y) - (x > y);
}

/* The sum of the evidence; its sentences become the suspect's reasons. */
static double conclude(pfc_evidences *e, pfc_suspect *s)
{
    double sum = 0;

    for (size_t i = 0; i < e->len; i++)
        sum += e->items[i].weight;
    qsort(e->items, e->len, sizeof(e->items[0]), weightiest_first);
    for (size_t i = 0; i < e->len; i++) {
        if (i < PFC_SUSPECT_MAX_REASONS && e->items[i].text)
            s->reasons[s->reasons_len++] = e->items[i].text;
        else
            free(e->items[i].text);
    }
    e->len = 0;
    return sum;
}

static void place_evidence(const pfc_suspect_case *c, double place, pfc_evidences *e)
{
    if (place > -1.0 && c->len > 1)
        pfc_evidence_add(e, place, "lies where the series changes its level");
    else if (place <= -4.0)
        pfc_evidence_add(e, place, "the series changes its level elsewhere in the range");
    else
        pfc_evidence_add(e, place, NULL);
}

static double weigh_commit(const pfc_suspect_case *c, size_t i, pfc_suspect *s)
{
    pfc_evidences e = { 0 };

    s->kind = PFC_SUSPECT_IS_COMMIT;
    s->index = i;
    s->ruled_out = pfc_evidence_of_commit(c, &c->commits[i], &e);
    place_evidence(c, c->commits[i].place, &e);
    if (c->exact_still && !c->exact_moved && !s->ruled_out)
        pfc_evidence_add(&e, EXACT_STILL, "exact metrics of the benchmark stand still");
    else if (c->exact_moved && !s->ruled_out)
        pfc_evidence_add(&e, 0, "exact metrics of the benchmark moved, too: it is the code");
    return conclude(&e, s);
}

static bool acts_through_code(const char *field)
{
    static const char *const known[] = { "compiler", "flags",  "linker", "cc",
                                         "cxx",      "cflags", "rustc" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(known); i++)
        if (strncmp(field, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

static double weigh_boundary(const pfc_suspect_case *c, size_t i, pfc_suspect *s)
{
    const pfc_suspect_boundary *b = &c->boundaries[i];
    pfc_evidences e = { 0 };

    s->kind = pfc_suspect_kind_of_field(b->field);
    s->index = i;
    pfc_evidence_add(&e, s->kind == PFC_SUSPECT_IS_MACHINE ? MACHINE_WEIGHT : TOOLCHAIN_WEIGHT,
                     "%s changed here from \"%.80s\" to \"%.80s\"", b->field,
                     b->before ? b->before : "unknown", b->now ? b->now : "unknown");
    place_evidence(c, b->place, &e);
    if (b->same_code && acts_through_code(b->field))
        pfc_evidence_add(&e, SAME_CODE, "the object code is the same before and after");
    if (c->exact_moved && s->kind != PFC_SUSPECT_IS_HARNESS)
        pfc_evidence_add(&e, EXACT_MOVED, "exact metrics moved, too, and they do not depend on it");
    return conclude(&e, s);
}

static int most_probable_first(const void *a, const void *b)
{
    const pfc_suspect *x = a, *y = b;

    if (x->probability != y->probability)
        return x->probability < y->probability ? 1 : -1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Replaces the log-weights in `probability` by probabilities with their floors. */
static void normalise(pfc_suspects *s, size_t commits)
{
    const double floor = PFC_SUSPECT_FLOOR / (double)commits;
    double best = -INFINITY, sum = 0, none;

    for (size_t i = 0; i + 1 < s->len; i++)
        best = fmax(best, s->items[i].probability);
    /* When even the best suspect is almost excluded, that is evidence for none of them. */
    none = exp(NONE_WEIGHT - best);
    for (size_t i = 0; i + 1 < s->len; i++) {
        s->items[i].probability = exp(s->items[i].probability - best);
        sum += s->items[i].probability;
    }
    none = fmax(none, sum * PFC_SUSPECT_NONE / (1 - PFC_SUSPECT_NONE));
    s->items[s->len - 1].probability = none;
    sum += none;
    for (size_t i = 0; i < s->len; i++) {
        s->items[i].probability *= (1 - PFC_SUSPECT_FLOOR) / sum;
        if (s->items[i].kind == PFC_SUSPECT_IS_COMMIT)
            s->items[i].probability += floor;
    }
}

pfc_code pfc_suspects_rank(const pfc_suspect_case *c, pfc_suspects *out, pfc_err *err)
{
    pfc_suspects s = { 0 };
    pfc_suspect *none;

    if (c->len == 0 || c->len > PFC_SUSPECT_MAX_COMMITS)
        return pfc_err_set(err, PFC_EINVAL, "suspects: expected 1..%d commits, got %zu",
                           PFC_SUSPECT_MAX_COMMITS, c->len);
    s.len = c->len + c->boundaries_len + 1;
    s.items = pfc_calloc(s.len, sizeof(s.items[0]));
    for (size_t i = 0; i < c->len; i++)
        s.items[i].probability = weigh_commit(c, i, &s.items[i]);
    for (size_t i = 0; i < c->boundaries_len; i++)
        s.items[c->len + i].probability = weigh_boundary(c, i, &s.items[c->len + i]);
    none = &s.items[s.len - 1];
    none->kind = PFC_SUSPECT_IS_NOTHING;
    none->reasons[none->reasons_len++] =
        pfc_strdup("the range may be wrong, or no commit caused the change");
    normalise(&s, c->len);
    qsort(s.items, s.len, sizeof(s.items[0]), most_probable_first);
    *out = s;
    return PFC_OK;
}
