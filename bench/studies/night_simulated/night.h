/*
 * Nights that are simulated: builds, a machine that changes its speed, the planner and the
 * judgement as the command and the service use them. Everything follows from the seed.
 */
#ifndef PFC_BENCH_STUDIES_NIGHT_SIMULATED_NIGHT_H
#define PFC_BENCH_STUDIES_NIGHT_SIMULATED_NIGHT_H

#include "core/base/rng.h"
#include "core/blocks/design.h"

#define PFC_NIGHT_MAX_SERIES 16
#define PFC_NIGHT_MAX_PLANTS 4

/** Values of a program's metrics on a real machine, in the order they were measured. */
typedef struct pfc_trace {
    char *name;
    double *log_value; /* about the median of its column; len x columns */
    size_t len, columns;
} pfc_trace;

/** Reads a JSON array of numbers above 0, or an object with "metrics" (names) and "runs" (arrays of
 * as many numbers), as bench/studies/night/record.py writes it. Clear it. */
pfc_code pfc_trace_read(const char *path, pfc_trace *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_trace_clear(pfc_trace *trace);

/** One machine over a night. A visit is the unit of time. */
typedef struct pfc_machine_model {
    double noise;           /* standard deviation of a value's logarithm */
    double outliers;        /* share of values that are slower by 5 times the noise on average */
    double stretch;         /* mean length of a state, visits; 0: no states */
    double low, high;       /* how much slower the slow states are */
    double drift;           /* per visit, linear */
    double walk;            /* per visit, standard deviation of a random walk */
    const pfc_trace *trace; /* instead of all that: recorded values */
} pfc_machine_model;

typedef struct pfc_sim_machine {
    pfc_machine_model model;
    pfc_rng rng;
    size_t left; /* visits until the state changes */
    bool slow;
    double level;
    double walked;
    size_t time;
    size_t at, column; /* in the trace */
} pfc_sim_machine;

void pfc_machine_start(pfc_sim_machine *m, const pfc_machine_model *model, uint64_t seed);
/** The next visit begins. */
void pfc_machine_step(pfc_sim_machine *m);
/** Logarithm of what the machine makes of a value of `series` in this visit. */
double pfc_machine_factor(pfc_sim_machine *m, size_t series);

typedef struct pfc_sim_night_opts {
    pfc_machine_model machine;
    size_t commits; /* new ones; base and anchor come on top */
    size_t series;  /* the plant is in one of them */
    double plant;   /* relative; 0: none */
    size_t plants;  /* of that size, at different commits */
    double budget;  /* visits of all series, for each new commit */
    double margin;  /* of the planner; 0: its default */
    bool whole;     /* a visit measures all series, as one run of a command does */
} pfc_sim_night_opts;

typedef struct pfc_sim_night {
    size_t planted;
    size_t found;      /* plants whose series has a regression somewhere */
    size_t exact;      /* plants found at their commit */
    size_t wrong;      /* boundaries called different whose place holds no plant */
    size_t same;       /* boundaries without a plant whose interval lies within the margin */
    size_t boundaries; /* without a plant */
    size_t covered;    /* boundaries whose fitted interval covers the truth */
    double visits;     /* of all series, for each new commit */
    double seconds;
} pfc_sim_night;

pfc_code pfc_night_run(const pfc_sim_night_opts *opts, uint64_t seed, pfc_sim_night *out,
                       pfc_err *err) PFC_MUSTCHECK;

#endif
