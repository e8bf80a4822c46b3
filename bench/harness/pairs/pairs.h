/*
 * Compares two builds in interleaved pairs.
 *
 * Samples of one build taken now and of another taken later differ by every change of the machine
 * between them. Therefore both are measured together: two processes, one for each build, take turns
 * of one short sample on one core, in the order ABBA or BAAB (drawn again each time). Only the
 * ratio of neighbouring turns counts: effects slower than a turn (clock frequency, load on the same
 * physical core) cancel. Every turn warms up first, because the other side has just used the
 * caches. A *pair* is PFC_PAIR_TURNS turns of each side. Its value is the median of the neighbours'
 * log ratios. The median is robust against one preempted turn, and against a turn in another steady
 * state of the core (1 to 2 % apart, drawn again at every context switch).
 *
 * One *launch* is a new process of each side and one or a few pairs. The memory layout differs
 * between launches and is constant within one, so the launch is the unit of the statistics.
 *
 * The verdict "different" needs two confirmations without a common sample: a first set of launches
 * that shows the difference, then a new set that shows it in the same direction. Each uses a
 * sequential test (pfc_seq_symmetric_p), which keeps its level although it is evaluated after every
 * launch.
 *
 * While both sides are pinned to a core, this process runs there too: a request costs two context
 * switches and the core never idles. All three run under SCHED_FIFO when that is allowed. Source:
 * the order ABBA and two processes: Bulej et al., arXiv 2001.05811; blocks: Kalibera & Jones, ISMM
 * 2013.
 */
#ifndef PFC_BENCH_HARNESS_PAIRS_PAIRS_H
#define PFC_BENCH_HARNESS_PAIRS_PAIRS_H

#include <sys/types.h>

#include "bench/harness/harness.h"
#include "core/stats/stats.h"

#define PFC_TURN_MAX_SAMPLES 1000
#define PFC_PAIRS_DEFAULT    200 /* at most, of one comparison */
#define PFC_PAIR_TURNS       10  /* of each side */
#define PFC_PAIR_TURNS_LONG  4   /* when a call is over 300 us */

/** A side's answer after its launch. */
typedef struct pfc_launched {
    pfc_status status; /* broken, skipped: `reason` says why; there is no process to end */
    char *reason;      /* owned; NULL when ok */
    uint64_t calls;    /* calls that make a sample long enough */
    double call_ns;    /* approximate time of a call; 0: not known */
    bool cpu_clock;    /* a call is so long that it is timed by the thread's CPU clock */
} pfc_launched;

/** One turn of one side. */
typedef struct pfc_pair_turn {
    uint64_t warm;  /* calls before the first sample */
    uint64_t calls; /* of one sample */
    uint64_t per;   /* what the sample's time is divided by; `calls`, but for injected work */
    size_t samples; /* 1..PFC_TURN_MAX_SAMPLES */
    bool cpu_clock;
} pfc_pair_turn;

/** A build under comparison: child processes, or a model in tests. */
typedef struct pfc_side {
    /* Starts a fresh process that has opened, warmed up and (spec->check) checked the benchmark.
     * PFC_OK also when it is broken or skipped. */
    pfc_code (*launch)(void *arg, const pfc_block_spec *spec, pfc_launched *out, pfc_err *err);
    /* Fills samples_ns[0..turn->samples), ns a call, each > 0; adds to *preempted the samples that
     * lost the processor and were taken again. */
    pfc_code (*turn)(void *arg, const pfc_pair_turn *turn, double *samples_ns, uint64_t *preempted,
                     pfc_err *err);
    void (*end)(void *arg); /* also when nothing is launched */
    pfc_block_fn block;     /* for exact backends: one block answers */
    void *arg;
    void *block_arg;
} pfc_side;

/** The child of a side: `program --serve`. */
typedef struct pfc_serve_child {
    const char *program;
    pid_t pid; /* 0: none */
    int in, out;
    pfc_buf pending; /* read, not yet used */
} pfc_serve_child;

/** A side whose launches are children of `program`; `child` holds them and outlives the side. A
 *  child that dies or is silent for two minutes makes its benchmark broken. */
pfc_side pfc_side_of_program(pfc_serve_child *child, const char *program);

/** As the child: reads one spec and then turns from `in`, answers on `out`, a line of JSON each,
 *  until `in` ends. PFC_EINVAL when a line is none. */
pfc_code pfc_serve(const pfc_backends *backends, FILE *in, FILE *out, const pfc_timer *wall,
                   const pfc_timer *cpu, pfc_err *err) PFC_MUSTCHECK;

/** Zero means the default. */
typedef struct pfc_paired_opts {
    size_t turns;        /* of each side in a pair, even; 0: PFC_PAIR_TURNS or _LONG */
    size_t warm_samples; /* a turn begins with as many calls as these have; 0: 1, and none for calls
                            over 1 ms, which find nothing of theirs in the caches */
    size_t launch_pairs; /* 0: 1, more when a launch takes longer than a pair */
    size_t min_launches; /* before "same" is said; 0: 8. "Different" takes as many by its nature */
    size_t max_pairs;    /* of both confirmations together; 0: PFC_PAIRS_DEFAULT */
    double alpha;        /* level of each confirmation; 0: 0.01 */
    double margin;       /* relative change that does not matter; 0: 0.005 */
    double max_seconds;  /* for one benchmark on one backend; 0: 60 */
    double extra_rel;    /* B does this share more calls than it is given credit for: injected
                            slowdown, to check the method; 0: none */
    const pfc_case *case_b; /* B measures this one instead and is given credit for the same work:
                               injected work again, as a slightly larger problem; NULL: none */
    size_t copies;          /* of the problem, that calls go round: out of the caches, and without
                               warm-up; 0: 1 */
    uint64_t seed;          /* of order and input; 0: 1 */
    int cpu;                /* for both sides; -1: not pinned */
    bool (*cancelled)(void *arg);
    void *cancelled_arg;
} pfc_paired_opts;

/** Result of one benchmark on one backend. */
typedef struct pfc_pair_result {
    pfc_status status;
    char *reason;  /* which side and why, unless ok */
    bool broken_a; /* the side that broke, when broken */
    pfc_verdict verdict;
    double rel_change, rel_low, rel_high; /* time of B against A, all launches; 95 %, for their
                                             number as if it had been fixed before */
    double any_low, any_high;             /* 1 - alpha, at all looks together: wider */
    double min_rel;                       /* B's fastest sample against A's: a cross-check */
    double p;                             /* of both confirmations together, at all looks */
    double noise_rel;                     /* robust sd of the launches' ratios */
    double detectable_rel; /* smallest change that its limit of pairs confirms with power 0.9 */
    size_t confirmations;  /* 0, 1, 2 */
    size_t launches, pairs;
    double *log_ratio; /* of each launch: log of B / A */
    double *a, *b;     /* raw samples, ns a call, launch after launch: samples_len each */
    size_t samples_len;
    uint64_t preempted; /* samples that lost the processor and were taken again */
    bool fifo;          /* SCHED_FIFO was allowed */
    uint32_t *blocks;   /* samples of each launch */
    uint64_t calls;     /* of one sample */
    bool cpu_clock;
    double seconds;
} pfc_pair_result;

/**
 * Compares one benchmark on one (timed) backend. PFC_OK also when it is broken or skipped.
 * PFC_EUNAVAIL: cancelled. Clear *out in every case.
 */
pfc_code pfc_paired_run(const pfc_side *a, const pfc_side *b, const pfc_case *c,
                        const char *backend, const pfc_paired_opts *opts, pfc_pair_result *out,
                        pfc_err *err) PFC_MUSTCHECK;
void pfc_paired_clear(pfc_pair_result *paired);

/** Decision after the launches so far. */
typedef enum pfc_paired_state {
    PFC_PAIRED_MORE,      /* continue this confirmation */
    PFC_PAIRED_CONFIRM,   /* the first is reached: keep all launches and begin the second */
    PFC_PAIRED_DIFFERENT, /* both reached */
    PFC_PAIRED_SAME,
    PFC_PAIRED_OPEN, /* the limit is reached without an answer */
} pfc_paired_state;

/**
 * The decision rule, separate from the measurement: log_ratio[0..n) of launches (log of B / A), the
 * first `first` of which are the first confirmation (first == n while it is being sought); `limit`:
 * launches that may be made in all. *p gets the p-value of what is sought, at all looks: of the
 * first set alone, then of both (their evidence multiplies).
 */
pfc_paired_state pfc_paired_judge(const double *log_ratio, size_t n, size_t first, size_t limit,
                                  const pfc_paired_opts *opts, double *p);

/** The estimate of launches: Hodges-Lehmann with its interval at `level`, as relative change of
 * time. n >= 1. Source: Hollander & Wolfe, Nonparametric Statistical Methods, 3.2-3.3. */
pfc_interval pfc_paired_estimate(const double *log_ratio, size_t n, double level);

#define PFC_NOISE_LAUNCHES 6    /* fewer tell no noise */
#define PFC_NOISE_GATE_REL 0.05 /* a benchmark that cannot show 5 % is reported, never a gate */

/** The smallest change that a comparison can confirm, estimated from its samples; relative values,
 *  0.01 = 1 %. Spreads are robust (1.4826 times the median absolute deviation). */
typedef struct pfc_pair_noise {
    double sample_rel;      /* of samples around their launch's median */
    double autocorrelation; /* of neighbouring samples of a side: high, and many say little */
    double unpaired_rel;    /* of a side's launch medians: what runs of one side alone differ by */
    double ratio_rel;       /* of the launches' ratios: what pairs leave of it */
    double ratio_autocorrelation; /* of neighbouring launches' ratios: the test takes it for 0 */
    double detectable_rel;        /* smallest change that `pairs` pairs confirm with power 0.9 */
    double pairs_1pct;            /* pairs to confirm 1 %, with power 0.9 */
    double pairs_half_pct;        /* and 0.5 % */
    bool gates;                   /* detectable_rel is at most PFC_NOISE_GATE_REL */
} pfc_pair_noise;

/** Launches that confirm a change of `rel` with power 0.9 when their ratios have the spread
 *  `ratio_rel`: 18 for signs that all agree, twice, and 44 times the squared spread. The 44 is
 *  simulated (perfci-bench-pairs --simulate models the same rule): normal ratios, changes of 0.2 to
 *  1 spread, where it was 42 to 46; above it is too many by at most a half. */
double pfc_noise_launches(double ratio_rel, double rel);
/** Of a comparison with at least 6 launches, for one that may take `pairs` pairs.
 *  PFC_EINVAL: too few, or it has no samples. */
pfc_code pfc_noise_of(const pfc_pair_result *p, size_t pairs, pfc_pair_noise *out,
                      pfc_err *err) PFC_MUSTCHECK;

/**
 * Compares a suite. Fills two run documents with the raw samples of both sides in the same order,
 * and adds the result of the pairs to `extra` of B's measurements: pair_verdict ("same",
 * "different", "inconclusive"), pair_rel_change, pair_rel_low, pair_rel_high (of the metric, not of
 * time), pair_p, pair_noise_rel, pair_detectable_rel, pair_min_rel, pairs, pair_launches,
 * pair_confirmations, pair_preempted, and the rest of pfc_pair_noise
 * (pair_gates "false": report only). Exact backends are measured once for each side. Of `measure`,
 * only filter, backends and progress apply.
 */
pfc_code pfc_suite_pair(const pfc_suite *suite, const pfc_backends *backends,
                        const pfc_side sides[2], const pfc_measure_opts *measure,
                        const pfc_paired_opts *opts, pfc_run *const runs[2],
                        pfc_err *err) PFC_MUSTCHECK;

#endif
