/*
 * One explanation of a series: levels, on top of a trend, a wave or two machine states, under a
 * noise whose scale, tails and correlation come from the residuals. Explanations of one series are
 * compared by their likelihood less a price for what they assume. Private to core/stats.
 */
#ifndef PFC_CORE_CHANGEPOINT_SEGMENT_FIT_H
#define PFC_CORE_CHANGEPOINT_SEGMENT_FIT_H

#include "core/changepoint/stages.h"

/* Lengths of the runs of spikes at each level, without any change. */
typedef struct pfc_runs pfc_runs;

#define PFC_TREND_DEGREE 3

typedef struct pfc_fit {
    const pfc_clean_series *track;
    size_t n;
    double *a;        /* value without trend and wave, in units of track->y */
    double *z;        /* the same without machine state, in sigma around the median */
    int32_t *q;       /* with machine state, in cells */
    uint8_t *upper;   /* machine state of each point, when gap > 0 */
    uint32_t *starts; /* first points of the later levels */
    size_t changes;
    double *mean;    /* of each level in sigma, changes + 1; filled by pfc_fit_decide */
    double *scratch; /* 3 n values */
    double (*basis)[PFC_TREND_DEGREE]; /* of trends at each point, while they are tried */
    pfc_runs *runs;                    /* while changes are decided on */
    void *memory;                      /* behind the arrays */
    pfc_confirmed_starts fixed;        /* confirmed changes: never dropped */
    pfc_segment_space *space; /* shared between the explanations of one series; not owned */
    double centre;            /* what z is counted from, in units of y */
    pfc_noise noise;
    pfc_loss loss;
    double unit;        /* sigma, in units of track->y */
    int degree;         /* of the trend taken out; 0: none */
    double period;      /* of the wave in points; 0: none */
    double wave[4];     /* its cosine and sine, and those of half the period, in units of y */
    double gap;         /* between machine states, units of y; 0: one state */
    double move[4];     /* costs of the states, as in pfc_states */
    double nll;         /* negative log-likelihood with the price of every change */
    size_t shares_at;   /* first point after the share of the states changed; 0: it did not */
    double shares_gain; /* nats that this change explains */
} pfc_fit;

void pfc_fit_init(pfc_fit *f, const pfc_clean_series *track, pfc_confirmed_starts fixed,
                  pfc_segment_space *space);
/** Of the same track, and not filled yet. */
void pfc_fit_init_like(pfc_fit *f, const pfc_fit *from);
void pfc_fit_clear(pfc_fit *f);
/** Levels and noise for the nuisance terms as they stand, starting from noise `unit`. */
void pfc_fit_run(pfc_fit *f, double unit);
/** Levels for noise that is known: of such tails, `unit` large. */
void pfc_fit_known(pfc_fit *f, double unit, double freedom, double inflate);
/** Levels alone, with the noise as it is. */
void pfc_fit_levels(pfc_fit *f);
/** Copies nuisance terms and values, so that `to` can try one more. */
void pfc_fit_copy(pfc_fit *to, const pfc_fit *from);
/** Tries a trend, a wave and machine states on *f, keeps what explains the series better. */
void pfc_fit_explain(pfc_fit *f);
/** Drops the changes whose evidence against their neighbours is too weak. */
void pfc_fit_decide(pfc_fit *f);

/** Searches for a change in the shares of the machine states, when there are two. */
void pfc_fit_state_shares(pfc_fit *f);
/** For so many levels. Free it. */
pfc_runs *pfc_runs_new(size_t levels);
void pfc_runs_free(pfc_runs *runs);
/** Levels k and k + 1 have become one in *f. */
void pfc_runs_joined(pfc_runs *runs, const pfc_fit *f, size_t k);
/** Most points, outside `level`, that lie beyond `limit` sigma (below, when negative) from their
 *  level with at most one other between them; 8: or more. Of the levels as they stand, f->mean
 *  filled. */
size_t pfc_runs_longest(pfc_runs *runs, const pfc_fit *f, size_t level, double limit);

/** Jump at change k over its standard error. */
double pfc_fit_evidence(const pfc_fit *f, size_t k);

static inline size_t pfc_level_from(const pfc_fit *f, size_t k)
{
    return k ? f->starts[k - 1] : 0;
}
static inline size_t pfc_level_to(const pfc_fit *f, size_t k)
{
    return k < f->changes ? f->starts[k] : f->n;
}

/** Changes that are not confirmed. */
static inline size_t pfc_free_changes(const pfc_fit *f)
{
    return f->changes - f->fixed.len;
}
static inline bool pfc_is_confirmed_start(const pfc_fit *f, uint32_t start)
{
    for (size_t k = f->fixed.len; k-- > 0;) {
        if (f->fixed.at[k] <= start)
            return f->fixed.at[k] == start;
    }
    return false;
}

#endif
