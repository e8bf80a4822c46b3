/*
 * Disk, memory and processors that a load needs; and which of them is used up first, and when.
 * Arithmetic on figures that were measured: no clock, no I/O, no
 * state; thread-safe.
 *
 * The constants are in PFC_CAPACITY_MEASURED. Most are from
 *     bench/studies/service/sizes.py
 *     bench/studies/service/sizes.py 5:3000:3      (bytes of a run and of its jobs)
 * on an Intel Xeon with 2 vCPUs beside other work (load average 10); bench/results/service.md has
 * what they printed, bench/results/scale.md the constants and the errors for loads that set none.
 *
 * The service begins empty at day 0. A month has 365/12 days, a year 365.
 */
#ifndef PFC_CLI_CAPACITY_CAPACITY_H
#define PFC_CLI_CAPACITY_CAPACITY_H

#include "cli/cli.h"
#include "core/base/err.h"

#define PFC_CAPACITY_MAX_POINTS_A_DAY 1e10 /* more is refused: 400 times the largest known load */
#define PFC_CAPACITY_MAX_DAYS         36500.0 /* what lasts longer counts as lasting */
#define PFC_CAPACITY_MONTH_DAYS       (365.0 / 12)
#define PFC_CAPACITY_EARLIER          150  /* points of a series: see earlier_ms */
#define PFC_CAPACITY_EARLIER_MOST     1500 /* 3,100 cost 6 % more than that */
#define PFC_CAPACITY_CHANGED          20   /* points: see change_ms */
#define PFC_CAPACITY_STANDBYS         2 /* so that the loss of a machine leaves one that confirms */

/** The load. Ranges are those of the options of `perfci capacity`; pfc_capacity_check holds
 * what concerns several of them. */
typedef struct pfc_capacity_load {
    double runs_a_day;     /* 0.001..1e6: commits measured a day, times the runs of a commit */
    double series;         /* 1..1e8, all that exist */
    double points_a_run;   /* 1..20000 and at most `series`: measurements of a run */
    double samples;        /* 1..100000 of a measurement */
    double changing;       /* 0..1: share of the measurements that belong to series that have
                              changed within the last PFC_CAPACITY_CHANGED of their points */
    double raw_months;     /* perfci-server --retain-raw; 0: all measurements stay */
    double day_months;     /* --retain-days; 0: thinned measurements stay */
    double months;         /* 1..1200: for which the need is computed */
    double growth;         /* 0..10: by which runs a day grow in a year; 0.5 is by half */
    double peak;           /* 1..100: the busiest hour's rate by the mean of a day */
    double partition_days; /* perfci-server --partition-width: PFC_CAPACITY_MONTH_DAYS, 7 or 1;
                              0: the widest of them that fits in the memory after `months` */
} pfc_capacity_load;

/** The machine that holds the database and one server. */
typedef struct pfc_capacity_machine {
    double cores;        /* 1..4096 */
    double memory_bytes; /* 256 MiB..1 EiB */
    double disk_bytes;   /* 1 GiB..1 EiB: free for the database */
} pfc_capacity_machine;

typedef struct pfc_capacity_costs {
    /* disk, with indexes; only the first two are of each measurement */
    double point_bytes, sample_bytes; /* of a measurement, and of each of its samples */
    double point_index_bytes; /* of point_bytes: the indexes that storing reads and writes */
    double chunk_bytes;       /* of a measurement, packed beside its table */
    double run_bytes;         /* of a run: runs, run_parts, its commit, its audit row */
    double job_bytes;         /* of the detection jobs of a run, which stay for 30 days */
    double series_bytes;      /* of a series: its row, its state, its benchmark, its keys */
    double log_run_bytes;     /* write-ahead log of a run without its measurements */
    double log_point_bytes, log_sample_bytes; /* of a measurement, and of each of its samples */
    /* processor time of server and database together, each run judged before the next one comes:
     * the dearest arrival, since a batch of one run costs as much as one of many */
    double run_ms;     /* of storing and judging a run, without its measurements */
    double point_ms;   /* of storing and judging a measurement */
    double sample_ms;  /* of each of its samples: judging reads those of the series' points */
    double earlier_ms; /* of judging a measurement, for each earlier point of its series beyond the
                          PFC_CAPACITY_EARLIER behind which point_ms was measured, and up to
                          PFC_CAPACITY_EARLIER_MOST */
    double change_ms;  /* more for a measurement of a series that has changed within its last
                          PFC_CAPACITY_CHANGED points: its changes are computed with their
                          confidence, alerts are made and grouped */
    /* the same where runs wait and are judged together: an import, a server that was away */
    double waiting_run_ms, waiting_point_ms, waiting_sample_ms;
    /* bytes of memory that do not depend on the load */
    double server_bytes; /* of perfci-server: its limit under overload */
    double base_bytes;   /* of the system and of PostgreSQL's processes: an assumption */
    /* assumptions: the shares that may be used before a resource counts as used up */
    double core_share; /* the rest: reads, vacuum, backups */
    double
        disk_share; /* the rest: log, backups in progress, thinning a month beside its old form */
} pfc_capacity_costs;

extern const pfc_capacity_costs PFC_CAPACITY_MEASURED;

typedef enum pfc_capacity_resource {
    PFC_CAPACITY_DISK,
    PFC_CAPACITY_MEMORY,
    PFC_CAPACITY_CORES,
    PFC_CAPACITY_RESOURCES
} pfc_capacity_resource;

/** "disk", "memory", "processor". */
const char *pfc_capacity_name(pfc_capacity_resource resource);

typedef struct pfc_capacity_answer {
    double points_a_day;      /* today */
    double points_a_day_then; /* after `months` */
    double points_stored;     /* after `months`, thinned ones among them */
    double partition_days;    /* for which the memory is computed */
    double disk_bytes_a_day;  /* added on the first day */
    /* Write-ahead log today, which each standby and an archive receive; not part of the disk.
     * Images of full pages are extra. */
    double log_bytes_a_day;
    /* Behind no earlier points, and behind those that a series has after `months`. */
    double processor_ms_a_point, processor_ms_a_point_then, points_a_series_then;
    double processor_ms_a_point_waiting; /* where many runs wait and are judged together */
    /* By resource, in bytes, bytes and cores of the busiest hour: needed after `months`, usable of
     * the machine. */
    double need[PFC_CAPACITY_RESOURCES], may[PFC_CAPACITY_RESOURCES];
    /* Days until it is used up; 0: it is today; HUGE_VAL: not within PFC_CAPACITY_MAX_DAYS. */
    double lasts[PFC_CAPACITY_RESOURCES];
    pfc_capacity_resource first; /* with the smallest of `lasts`; valid if that is finite */
    /* Such machines after `months`, each with a part of the projects, without the standbys;
     * HUGE_VAL: no number does. */
    double shards;
} pfc_capacity_answer;

/** PFC_EINVAL with a sentence that names the option: more points a run than series, thinned
 * measurements that are deleted before they are thinned, more than PFC_CAPACITY_MAX_POINTS_A_DAY at
 * any time. */
pfc_code pfc_capacity_check(const pfc_capacity_load *load, pfc_err *err) PFC_MUSTCHECK;

/** load passed pfc_capacity_check, all numbers are in their ranges. */
void pfc_capacity_compute(const pfc_capacity_costs *costs, const pfc_capacity_load *load,
                          const pfc_capacity_machine *machine, pfc_capacity_answer *out);

/* ---- constants of this machine ---- */

#define PFC_CAPACITY_CONSTANTS 13 /* that a measurement replaces */

/** The name of constant i, and its value in *costs. */
const char *pfc_capacity_constant(size_t i, const pfc_capacity_costs *costs, double *value);

/** Costs of storing and judging, each run judged before the next one came. */
typedef struct pfc_capacity_stage {
    double series, samples;          /* of each run, which measures all series */
    double earlier;                  /* points of each series before */
    double changing;                 /* series that change at the first of the judged runs */
    double ms, log_bytes;            /* of a run: processor time, write-ahead log */
    double table_bytes, index_bytes; /* of a measurement */
} pfc_capacity_stage;

/** Stages of one measurement: `many` has more series than `few`, `sampled` has the series of `many`
 *  with more samples, `aged` is `many` behind more points, some series of `changed` change. */
typedef struct pfc_capacity_figures {
    pfc_capacity_stage few, many, sampled, aged, changed;
    double run_bytes, job_bytes; /* of a run */
} pfc_capacity_figures;

/** Replaces the constants that the figures give; replaced[i]: constant i. One that would not be
 *  above zero, which is noise, stays as it is. */
void pfc_capacity_solve(const pfc_capacity_figures *figures, pfc_capacity_costs *costs,
                        bool replaced[PFC_CAPACITY_CONSTANTS]);

/** Takes the figures on this machine: starts a private PostgreSQL and server in a temporary folder
 *  (about 300 MB), stores and judges runs, and removes all of it, also on failure or SIGINT. Shows
 *  its progress. PFC_ETIMEOUT after PFC_CAPACITY_MEASURE_S. (measure.c) */
#define PFC_CAPACITY_MEASURE_S 600.0
pfc_code pfc_capacity_measure(const pfc_cli *cli, pfc_capacity_figures *out,
                              pfc_err *err) PFC_MUSTCHECK;

#endif
