/* Lengths of the spikes of a series: runs of points far to one side of their level. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/changepoint/segment/fit.h"
#include "core/changepoint/segment/vector_width.h"

#define LENGTHS 8 /* longer runs count as runs of this length */
#define SIDES   2

/* How far out the best run of each length lies, by side: its least far point decides. */
typedef struct reach {
    float at[SIDES][LENGTHS];
} reach;

struct pfc_runs {
    size_t levels;
    reach *of; /* by level; NULL until the first query: most series have no short levels */
    reach most;
    reach second; /* most without the level that has it */
    uint32_t owner[SIDES][LENGTHS];
};

/* Points of a run have at most one other between them. best run of L points that ends at i:
 * its i-th point and the best one of L - 1 that ended at i - 1 or i - 2. */
static void reach_of(const pfc_fit *f, size_t level, reach *out)
{
    float ago[3][SIDES][LENGTHS];
    for (size_t s = 0; s < SIDES; s++) {
        for (size_t l = 0; l < LENGTHS; l++)
            out->at[s][l] = ago[0][s][l] = ago[1][s][l] = ago[2][s][l] = -INFINITY;
    }
    double mean = f->mean[level];
    size_t to = pfc_level_to(f, level);
    size_t now = 0;
    for (size_t i = pfc_level_from(f, level); i < to; i++) {
        float r = (float)(f->z[i] - mean);
        size_t one = (now + 2) % 3;
        size_t two = (now + 1) % 3;
        for (size_t s = 0; s < SIDES; s++) {
            float x = s ? -r : r;
            const float *a = ago[one][s];
            const float *b = ago[two][s];
            float *c = ago[now][s];
            c[0] = x;
            for (size_t l = 1; l < LENGTHS; l++) {
                float before = a[l - 1] > b[l - 1] ? a[l - 1] : b[l - 1];
                c[l] = before < x ? before : x;
            }
            for (size_t l = 0; l < LENGTHS; l++)
                out->at[s][l] = c[l] > out->at[s][l] ? c[l] : out->at[s][l];
        }
        now = (now + 1) % 3;
    }
}

WIDEST static void rank(pfc_runs *runs)
{
    float *most = &runs->most.at[0][0];
    float *second = &runs->second.at[0][0];
    uint32_t *owner = &runs->owner[0][0];
    for (size_t j = 0; j < SIDES * LENGTHS; j++)
        most[j] = second[j] = -INFINITY;
    for (size_t k = 0; k < runs->levels; k++) {
        const float *x = &runs->of[k].at[0][0];
        for (size_t j = 0; j < SIDES * LENGTHS; j++) {
            bool more = x[j] > most[j];
            float lower = more ? most[j] : x[j];
            second[j] = lower > second[j] ? lower : second[j];
            owner[j] = more ? (uint32_t)k : owner[j];
            most[j] = more ? x[j] : most[j];
        }
    }
}

pfc_runs *pfc_runs_new(size_t levels)
{
    pfc_runs *runs = pfc_calloc(1, sizeof *runs);
    runs->levels = levels;
    return runs;
}

static void find(pfc_runs *runs, const pfc_fit *f)
{
    runs->of = pfc_calloc(runs->levels, sizeof *runs->of);
    for (size_t k = 0; k < runs->levels; k++)
        reach_of(f, k, &runs->of[k]);
    rank(runs);
}

void pfc_runs_free(pfc_runs *runs)
{
    if (!runs)
        return;
    free(runs->of);
    free(runs);
}

void pfc_runs_joined(pfc_runs *runs, const pfc_fit *f, size_t k)
{
    runs->levels--;
    if (!runs->of)
        return;
    memmove(runs->of + k + 1, runs->of + k + 2, (runs->levels - k - 1) * sizeof *runs->of);
    reach_of(f, k, &runs->of[k]);
    rank(runs);
}

size_t pfc_runs_longest(pfc_runs *runs, const pfc_fit *f, size_t level, double limit)
{
    if (!runs->of)
        find(runs, f);
    size_t side = limit < 0.0;
    float beyond = (float)fabs(limit);
    size_t len = 0;
    while (len < LENGTHS) {
        bool own = runs->owner[side][len] == level;
        float x = own ? runs->second.at[side][len] : runs->most.at[side][len];
        if (!(x > beyond))
            break;
        len++;
    }
    return len;
}
