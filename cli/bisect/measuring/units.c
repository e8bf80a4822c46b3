/*
 * Units of interleaved pairs.
 */
#include "cli/bisect/measuring/units.h"

#include <math.h>
#include <stdlib.h>

#include "core/stats/stats.h"

#define MAD_TO_SD 1.4826

void bisect_units_clear(bisect_units *u)
{
    pfc_pairing_clear(&u->pairing);
    free(u->ratios);
    *u = (bisect_units){ 0 };
}

bool bisect_units_open(const bisect_units *u)
{
    return u->pairing.runs > 0;
}

void bisect_units_drop(bisect_units *u)
{
    pfc_pairing_drop(&u->pairing);
}

/* The number of the newest unit, 0: none. */
static unsigned newest_unit(const bisect_state *state)
{
    for (size_t i = state->len; i > 0; i--)
        if (state->runs[i - 1].unit)
            return state->runs[i - 1].unit;
    return 0;
}

bisect_run bisect_units_next(const bisect_units *u, const bisect_state *state,
                             const pfc_bisect_step *question)
{
    bisect_run run = { 0 };

    if (bisect_units_open(u)) {
        run.commit = u->subject.commit;
        run.build = u->subject.build;
        run.unit = u->subject.unit;
    } else {
        run.commit = question->commit;
        run.build = question->build;
        run.unit = newest_unit(state) + 1;
    }
    if (pfc_pairing_reference_next(&u->pairing)) {
        run.reference = true;
        run.commit = 0;
        run.build = 0;
    }
    return run;
}

static bisect_ratio add_ratio(bisect_units *u, size_t commit, unsigned build, double ratio)
{
    u->ratios = pfc_grow(u->ratios, u->len, &u->cap, sizeof(*u->ratios));
    u->ratios[u->len] = (bisect_ratio){ commit, build, ratio };
    return u->ratios[u->len++];
}

/* Median ratio of a commit to the good commit; 0: it has no unit. */
static double ratio_of(const bisect_units *u, size_t commit)
{
    double *ones;
    double *ratios;
    const size_t len = bisect_units_of(u, commit, &ones, &ratios);
    const double ratio = commit == 0 ? 1 : len ? pfc_stats_median(ratios, len) : 0;

    free(ones);
    free(ratios);
    return ratio;
}

/* A run of a confirmation's pair. */
static size_t add_link(bisect_units *u, const bisect_run *run, bisect_ratio *out)
{
    const bisect_run first = u->link;
    const bisect_run *before = run->reference ? run : &first;
    const bisect_run *after = run->reference ? &first : run;
    double base;

    if (first.unit != run->unit) {
        u->link = *run;
        return 0;
    }
    u->link = (bisect_run){ 0 };
    base = ratio_of(u, before->commit);
    if (!(base > 0))
        return 0;
    *out = add_ratio(u, after->commit, after->build, base * after->value / before->value);
    return 1;
}

size_t bisect_units_add(bisect_units *u, const bisect_run *run, bisect_ratio out[2])
{
    pfc_pairing_unit unit;

    if (!run->unit)
        return 0; /* a single run from before the change to pairs */
    if (run->link)
        return add_link(u, run, out);
    if (!bisect_units_open(u))
        u->subject = *run; /* a unit begins with its own commit */
    if (!pfc_pairing_add_value(&u->pairing, run->value, &unit))
        return 0;
    out[0] = add_ratio(u, u->subject.commit, u->subject.build, unit.ratio);
    if (!unit.has_still)
        return 1;
    out[1] = (bisect_ratio){ .ratio = unit.still };
    return 2;
}

void bisect_units_adopt(bisect_state *state)
{
    unsigned unit = newest_unit(state);
    bisect_run *half = NULL;

    for (size_t i = 0; i < state->len; i++) {
        bisect_run *run = &state->runs[i];

        if (!run->confirm || run->kind != PFC_OUTCOME_MEASURED)
            continue;
        if (half && half->commit != run->commit) {
            half->unit = run->unit = ++unit;
            half->link = run->link = true;
            (half->commit < run->commit ? half : run)->reference = true;
            half = NULL;
        } else {
            half = run;
        }
    }
}

size_t bisect_units_of(const bisect_units *u, size_t commit, double **ones, double **ratios)
{
    size_t len = 0;

    *ones = pfc_calloc(u->len + 1, sizeof(double));
    *ratios = pfc_calloc(u->len + 1, sizeof(double));
    for (size_t i = 0; i < u->len; i++) {
        if (u->ratios[i].commit != commit)
            continue;
        (*ones)[len] = 1;
        (*ratios)[len++] = u->ratios[i].ratio;
    }
    return len;
}

double bisect_units_noise(const bisect_units *u)
{
    double *off = pfc_calloc(u->len + 1, sizeof(*off));
    double noise = (double)NAN;
    size_t n = 0;

    for (size_t i = 0; i < u->len; i++) {
        double *ones;
        double *ratios;
        const size_t len = bisect_units_of(u, u->ratios[i].commit, &ones, &ratios);

        if (len >= 3)
            off[n++] = fabs(u->ratios[i].ratio / pfc_stats_median(ratios, len) - 1);
        free(ones);
        free(ratios);
    }
    if (n)
        noise = MAD_TO_SD * pfc_stats_median(off, n);
    free(off);
    return noise;
}
