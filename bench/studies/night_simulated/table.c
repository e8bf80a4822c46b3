/* Cells of the table: threads, counts, Wilson's intervals. */
#include "bench/studies/night_simulated/table.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_THREADS 64
#define Z            1.959963984540054 /* 95 % */

typedef struct share {
    const pfc_sim_cell *cell;
    const uint64_t *seeds;
    size_t nights, first, stride;
    pfc_sim_tally tally;
    pfc_code code;
    pfc_err err;
} share;

static void add(pfc_sim_tally *t, const pfc_sim_night *night)
{
    t->nights++;
    t->planted += night->planted;
    t->found += night->found;
    t->exact += night->exact;
    t->wrong += night->wrong;
    t->wrong_nights += night->wrong > 0;
    t->same += night->same;
    t->boundaries += night->boundaries;
    t->covered += night->covered;
    t->visits += night->visits;
    t->seconds += night->seconds;
}

static void *work(void *arg)
{
    share *s = arg;

    for (size_t i = s->first; i < s->nights && !s->code; i += s->stride) {
        pfc_sim_night night;

        s->code = pfc_night_run(&s->cell->opts, s->seeds[i], &night, &s->err);
        if (!s->code)
            add(&s->tally, &night);
    }
    return NULL;
}

static void join(pfc_sim_tally *out, const pfc_sim_tally *t)
{
    out->nights += t->nights;
    out->planted += t->planted;
    out->found += t->found;
    out->exact += t->exact;
    out->wrong += t->wrong;
    out->wrong_nights += t->wrong_nights;
    out->same += t->same;
    out->boundaries += t->boundaries;
    out->covered += t->covered;
    out->visits += t->visits;
    out->seconds += t->seconds;
}

pfc_code pfc_cell_run(const pfc_sim_cell *cell, size_t nights, uint64_t seed, size_t threads,
                      pfc_sim_tally *out, pfc_err *err)
{
    pthread_t ids[MOST_THREADS];
    share shares[MOST_THREADS];
    uint64_t *seeds = pfc_calloc(nights ? nights : 1, sizeof *seeds);
    pfc_code code = PFC_OK;
    size_t started = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, seed);
    for (size_t i = 0; i < nights; i++)
        seeds[i] = pfc_rng_u64(&rng);
    threads = PFC_MIN(PFC_MAX(threads, (size_t)1), (size_t)MOST_THREADS);
    for (; started < threads; started++) {
        shares[started] = (share){
            .cell = cell, .seeds = seeds, .nights = nights, .first = started, .stride = threads
        };
        if (pthread_create(&ids[started], NULL, work, &shares[started])) {
            code = pfc_err_set(err, PFC_EUNAVAIL, "thread %zu: could not be started", started);
            break;
        }
    }
    *out = (pfc_sim_tally){ 0 };
    for (size_t i = 0; i < started; i++) {
        pthread_join(ids[i], NULL);
        join(out, &shares[i].tally);
        if (shares[i].code && !code) {
            code = shares[i].code;
            if (err)
                *err = shares[i].err;
        }
    }
    free(seeds);
    return code;
}

/* Wilson's interval of k of n, in per cent. */
static void print_rate(size_t k, size_t n)
{
    const double m = (double)n;
    const double p = n ? (double)k / m : 0.0;
    const double middle = (p + Z * Z / (2.0 * m)) / (1.0 + Z * Z / m);
    const double half = Z * sqrt(p * (1.0 - p) / m + Z * Z / (4.0 * m * m)) / (1.0 + Z * Z / m);

    if (!n)
        printf("                      ");
    else
        printf("  %5.1f (%5.1f - %5.1f)", 100.0 * p, 100.0 * fmax(middle - half, 0.0),
               100.0 * fmin(middle + half, 1.0));
}

void pfc_table_head(void)
{
    printf("%-26s %6s %9s %6s %6s %22s%22s%22s %7s %6s %6s %5s\n", "machine", "series", "plant",
           "budget", "nights", "found, %", "at its commit, %", "nights with a false, %", "visits",
           "same,%", "cov,%", "ms");
}

void pfc_table_row(const pfc_sim_cell *cell, const pfc_sim_tally *t)
{
    const double nights = (double)t->nights;
    char plant[48] = "none";

    if (cell->opts.plant > 0.0)
        snprintf(plant, sizeof plant, "%zu x %g %%", PFC_MAX(cell->opts.plants, (size_t)1),
                 100.0 * cell->opts.plant);
    printf("%-26s %6zu %9s %6.1f %6zu", cell->name, cell->opts.series, plant, cell->opts.budget,
           t->nights);
    print_rate(t->found, t->planted && cell->opts.plants < 2 ? t->nights : t->planted);
    print_rate(t->exact, t->planted);
    print_rate(t->wrong_nights, t->nights);
    printf(" %7.2f %6.1f %6.1f %5.0f%s\n", t->visits / nights,
           100.0 * (double)t->same / (double)PFC_MAX(t->boundaries, (size_t)1),
           100.0 * (double)t->covered / (double)PFC_MAX(t->boundaries + t->planted, (size_t)1),
           1000.0 * t->seconds / nights, cell->circular ? "  circular" : "");
    fflush(stdout);
}
