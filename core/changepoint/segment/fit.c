/* Levels and noise of a series, given what is assumed about trend, wave and machine states. */
#include "core/changepoint/segment/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/changepoint/segment/vector_width.h"
#include "core/stats/sort.h"

#define LOSS_CAP_NATS 20.0
#define SETTLED       0.04 /* relative change of the noise below which no further round is made */
#define GAP_MIN       2.5  /* sigma below which two states are one */

/* The nearest whole number, as lrint gives it, of a small one: its lowest bits once a number is
 * added beside which doubles have no halves. A loop of these becomes vectors. */
static inline int32_t nearest(double x)
{
    double shifted = x + 6755399441055744.0; /* 1.5 * 2^52 */
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    return (int32_t)(uint32_t)bits;
}

WIDEST static void to_cells(const double *a, size_t n, double centre, double unit,
                            double *restrict z, int32_t *restrict q)
{
    const double most = PFC_LATTICE_MAX;
    for (size_t i = 0; i < n; i++) {
        z[i] = (a[i] - centre) / unit;
        double cells = PFC_LATTICE * z[i];
        cells = cells < most ? cells : most;
        q[i] = nearest(cells > -most ? cells : -most);
    }
}

static void scale(pfc_fit *f, double unit)
{
    f->unit = unit;
    to_cells(f->a, f->n, f->centre, unit, f->z, f->q);
}

/* Costs of the state's moves from the path just found, each seen once more than it was. */
static void count_moves(pfc_fit *f)
{
    double seen[4] = { 1.0, 1.0, 1.0, 1.0 };
    for (size_t i = 1; i < f->n; i++)
        seen[f->upper[i - 1] * 2 + f->upper[i]] += 1.0;
    for (int s = 0; s < 2; s++) {
        double all = seen[2 * s] + seen[2 * s + 1];
        f->move[2 * s] = -log(seen[2 * s] / all);
        f->move[2 * s + 1] = -log(seen[2 * s + 1] / all);
    }
}

static void fold(pfc_fit *f)
{
    double gap = f->gap / f->unit;
    for (size_t i = 0; i < f->n; i++)
        f->z[i] -= f->upper[i] ? gap : 0.0;
}

static void segment(pfc_fit *f)
{
    /* The decision is the stricter of the two; only where more changes are wanted than usual must
     * there be more candidates. */
    double penalty = 5.0 + 0.5 * log((double)f->track->places) + PFC_MIN(f->track->strict, 0.0);
    pfc_states states = { 0 };
    double gap_cells = f->gap / f->unit * PFC_LATTICE;
    bool two = f->gap > 0.0;
    if (two) {
        states.gap = (int32_t)lrint(PFC_MIN(gap_cells, (double)PFC_LATTICE_MAX));
        memcpy(states.cost, f->move, sizeof states.cost);
    }
    pfc_loss_init(&f->loss, &f->space->shapes, f->noise.freedom, f->noise.inflate, LOSS_CAP_NATS);
    f->changes = pfc_segment(f->q, f->n, &f->loss, penalty, two ? &states : NULL, f->fixed,
                             f->space, f->starts, f->upper, &f->nll);
    /* The loss was made smaller for correlated noise; that noise is also easier to foretell. */
    double rho = (f->noise.inflate - 1.0) / (f->noise.inflate + 1.0);
    double paid = penalty * (double)(f->changes - f->fixed.len);
    f->nll = (f->nll - paid) * f->noise.inflate + paid;
    f->nll += (double)f->n * (log(f->unit) - f->noise.log_norm + 0.5 * log1p(-rho * rho));
    if (two) {
        count_moves(f);
        fold(f);
    }
}

/* All arrays of a fit are one allocation, which the next fit of as many points reuses to avoid page
 * faults. */
static void *take(uint8_t **at, size_t n, size_t size)
{
    void *p = *at;
    *at += (n * size + 15) / 16 * 16;
    return p;
}

static size_t bytes_of(size_t n)
{
    return 8 * 16 + n * (sizeof(double) * 6 + sizeof(uint32_t) * 2 + 1) + sizeof(double);
}

static void lay_out(pfc_fit *f, const pfc_clean_series *track, pfc_confirmed_starts fixed,
                    pfc_segment_space *space)
{
    memset(f, 0, sizeof *f);
    f->track = track;
    f->fixed = fixed;
    f->space = space;
    f->n = track->n;
    f->memory = pfc_segment_space_take(space, bytes_of(f->n));
    uint8_t *at = f->memory;
    f->a = take(&at, f->n, sizeof *f->a);
    f->z = take(&at, f->n, sizeof *f->z);
    f->mean = take(&at, f->n + 1, sizeof *f->mean);
    f->scratch = take(&at, 3 * f->n, sizeof *f->scratch);
    f->q = take(&at, f->n, sizeof *f->q);
    f->starts = take(&at, f->n, sizeof *f->starts);
    f->upper = take(&at, f->n, sizeof *f->upper);
}

void pfc_fit_init(pfc_fit *f, const pfc_clean_series *track, pfc_confirmed_starts fixed,
                  pfc_segment_space *space)
{
    lay_out(f, track, fixed, space);
    memset(f->upper, 0, f->n);
    memcpy(f->a, track->y, f->n * sizeof *f->a);
    memcpy(f->scratch, f->a, f->n * sizeof *f->a);
    f->centre = pfc_stats_median_spend(f->scratch, f->n);
}

void pfc_fit_init_like(pfc_fit *f, const pfc_fit *from)
{
    lay_out(f, from->track, from->fixed, from->space);
    f->centre = from->centre;
}

void pfc_fit_clear(pfc_fit *f)
{
    pfc_segment_space_give(f->space, f->memory);
    memset(f, 0, sizeof *f);
}

void pfc_fit_copy(pfc_fit *to, const pfc_fit *from)
{
    memcpy(to->a, from->a, from->n * sizeof *to->a);
    memcpy(to->z, from->z, from->n * sizeof *to->z);
    memcpy(to->q, from->q, from->n * sizeof *to->q);
    memcpy(to->upper, from->upper, from->n * sizeof *to->upper);
    memcpy(to->starts, from->starts, from->changes * sizeof *to->starts);
    memcpy(to->move, from->move, sizeof to->move);
    memcpy(to->wave, from->wave, sizeof to->wave);
    to->changes = from->changes;
    to->noise = from->noise;
    to->loss = from->loss;
    to->unit = from->unit;
    to->degree = from->degree;
    to->period = from->period;
    to->gap = from->gap;
    to->nll = from->nll;
}

/* Noise of the levels just found. The same levels as a round before leave the same residuals, in
 * units that were right already. */
static pfc_noise noise_now(pfc_fit *f, uint32_t *starts, size_t *changes)
{
    pfc_noise noise = f->noise;
    size_t bytes = f->changes * sizeof *starts;
    if (!(f->gap > 0.0) && *changes == f->changes && memcmp(starts, f->starts, bytes) == 0) {
        noise.sigma = 1.0;
        return noise;
    }
    memcpy(starts, f->starts, bytes);
    *changes = f->changes;
    return pfc_noise_of(f->z, f->n, f->starts, f->changes, f->scratch);
}

void pfc_fit_run(pfc_fit *f, double unit)
{
    uint32_t *starts = (uint32_t *)(f->scratch + 2 * f->n); /* of the levels that the noise is of */
    size_t changes = SIZE_MAX;
    f->noise = (pfc_noise){ .sigma = 1.0, .freedom = 5.0, .inflate = 1.0, .log_norm = -0.96862 };
    scale(f, unit);
    segment(f);
    for (int round = 0; round < 2; round++) {
        pfc_noise before = f->noise;
        f->noise = noise_now(f, starts, &changes);
        bool settled = round > 0 && fabs(f->noise.sigma - 1.0) < SETTLED &&
                       f->noise.freedom == before.freedom &&
                       fabs(f->noise.inflate - before.inflate) < SETTLED;
        if (settled)
            break;
        scale(f, f->unit * f->noise.sigma);
        if (f->gap > 0.0 && f->gap < GAP_MIN * f->unit) {
            f->nll = (double)INFINITY;
            return;
        }
        segment(f);
    }
}

void pfc_fit_known(pfc_fit *f, double unit, double freedom, double inflate)
{
    f->noise = pfc_noise_known(freedom, inflate);
    scale(f, unit);
    segment(f);
}

void pfc_fit_levels(pfc_fit *f)
{
    scale(f, f->unit);
    segment(f);
}
