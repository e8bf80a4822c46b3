/*
 * Getting runs: by measuring (working tree, a commit, two interleaved commits), or from files in
 * any supported format.
 */
#ifndef PFC_CLI_MEASURE_MEASURE_H
#define PFC_CLI_MEASURE_MEASURE_H

#include "cli/cli.h"
#include "cli/results/direction.h"
#include "core/base/config/conf.h"
#include "core/git/project_file.h"
#include "core/wire/benchmark_filter.h"
#include "runner/blocks/blocks.h"
#include "runner/build/products.h"

#define PFC_TAKE_MAX_BACKENDS 8
#define PFC_TAKE_MAX_REPEATS  1000

/** The measurement that the flags ask for; NULL where a flag is not given. */
typedef struct pfc_take_opts {
    const char *config; /* --config: the perfci.yaml that counts */
    const char *suite, *filter, *measure, *build;
    const char *backends[PFC_TAKE_MAX_BACKENDS];
    size_t backends_len;
    const char *work;       /* checkouts; NULL: below the user's cache folder */
    const char *wait_quiet; /* of suites: a duration, checked; NULL: they are measured at once */
    double timeout_s;       /* 0: perfci.yaml's */
    bool resources;         /* of a command: also its wall and CPU time and memory */
    bool time;              /* of a command: these alone */
    pfc_directions directions;
    size_t repeats; /* of the whole suite or command; 0: 1 for a suite, 5 for a command */
    uint64_t seed;  /* of the order of turns */
} pfc_take_opts;

/** A --backend of the command line; one too many ends the process with a sentence. */
void pfc_take_add_backend(pfc_take_opts *opts, const char *name, struct argp_state *state);

/** The option that says which perfci.yaml counts. */
#define PFC_CONFIG_OPTION(type, member)                                                            \
    PFC_OPT_TEXT("config", "FILE", type, member, "The perfci.yaml that counts",                    \
                 .fallback = "the working tree's, else the newest commit's")

/** Where measuring happens: the repository here, if any, and its settings. Open once. */
typedef struct pfc_take {
    const pfc_cli *cli;
    const pfc_take_opts *opts;
    pfc_conf conf;
    pfc_project_source source; /* where it came from */
    char *suite;               /* as perfci-bench finds it */
    pfc_repo *repo;            /* NULL outside any repository */
    char *root;                /* of the working tree, or the current folder */
    char *work;
    pfc_workspace *ws;
    pfc_workspace_opts ws_opts;
    pfc_commit_measure_opts measure;
    pfc_directions directions; /* of the flags, then of perfci.yaml */
    bool no_canary;            /* the warning that there is none was printed */
    bool noted;                /* what the reading left out or took was printed */
    bool heading_printed;      /* what is measured was printed */
    double build_s;            /* wall time of the working tree's build; 0: there was none */
    pfc_built built;           /* what the last whole measurement was built from */
} pfc_take;

/** The commits whose perfci.yaml counts where the working tree has none. */
typedef struct pfc_take_range {
    const char *from, *to; /* revisions; from NULL: `to` alone; to NULL: HEAD */
} pfc_take_range;

/** Opens the repository around `dir` (NULL: here) and reads the perfci.yaml that counts.
 * `need_repo` makes the repository's absence an error; range NULL: HEAD. Close in every case. */
pfc_code pfc_take_open(pfc_take *take, const pfc_cli *cli, const pfc_take_opts *opts,
                       const char *dir, bool need_repo, const pfc_take_range *range,
                       pfc_err *err) PFC_MUSTCHECK;
void pfc_take_close(pfc_take *take);
/** From now on the perfci.yaml of this commit counts, and no other: a pull request's base. Nothing
 *  changes with --config. */
pfc_code pfc_take_config_of(pfc_take *take, const pfc_commit_id *base, pfc_err *err) PFC_MUSTCHECK;
/** Prints what is measured; PFC_EINVAL when there is nothing. Every measurement below calls it. */
pfc_code pfc_take_ready(pfc_take *take, pfc_err *err) PFC_MUSTCHECK;
/** The selection of --filter and --backend. */
pfc_benchmark_filter pfc_take_select(const pfc_take_opts *opts);

/** Opens the checkouts of `take`, of which at least `builds` are kept at a time; once. */
pfc_code pfc_take_workspace(pfc_take *take, size_t builds, pfc_err *err) PFC_MUSTCHECK;

/** Measures the working tree as it is, after perfci.yaml's `build`. The run names HEAD as its
 *  commit only when no tracked file differs from it. PFC_EBROKEN with the reason. */
pfc_code pfc_take_tree(pfc_take *take, pfc_run **out, pfc_err *err) PFC_MUSTCHECK;
/** Measures a commit in a checkout of its own. */
pfc_code pfc_take_commit(pfc_take *take, const pfc_commit_id *id, pfc_run **out,
                         pfc_err *err) PFC_MUSTCHECK;
/** When to stop interleaved measuring. */
typedef struct pfc_take_rounds {
    size_t most; /* rounds; 0: PFC_TAKE_MAX_REPEATS */
    double
        max_s; /* a round that would probably end later is not begun, but the first; 0: no limit */
    /* Asked after each round; NULL: all rounds are made. PFC_OK and *done: that is enough. */
    pfc_code (*decided)(void *arg, const pfc_run *a, const pfc_run *b, bool *done, pfc_err *err);
    void *arg;
} pfc_take_rounds;

/** Builds both commits, then measures them interleaved (ABBA or BAAB, drawn at random for each
 * round), so that whatever the machine does meets both alike. A round is two measurements each
 * side; the documents say which and in what order (document_pairs.h). *rounds: those made. */
pfc_code pfc_take_pair(pfc_take *take, const pfc_commit_id *a, const pfc_commit_id *b,
                       const pfc_take_rounds *stop, pfc_run **run_a, pfc_run **run_b,
                       size_t *rounds, pfc_err *err) PFC_MUSTCHECK;

/** Measures builds in blocks, by what the flags and perfci.yaml ask for: conf, wanted and progress
 * of `opts` are filled in. As pfc_blocks_measure. */
pfc_code pfc_take_blocks(pfc_take *take, const pfc_blocks_run_opts *opts, pfc_blocks_result *out,
                         pfc_err *err) PFC_MUSTCHECK;

/** Measures suites in interleaved pairs: the processes of both builds stay up and alternate after a
 * fraction of a millisecond; *run_b's measurements hold the verdicts (extra.pair_*). PFC_EUNAVAIL:
 * a command is measured, or a build is too old to alternate; use pfc_take_pair then. */
pfc_code pfc_take_turns(pfc_take *take, const pfc_commit_id *a, const pfc_commit_id *b,
                        double margin, pfc_run **run_a, pfc_run **run_b,
                        pfc_err *err) PFC_MUSTCHECK;

/** Warns that the canary moved. */
void pfc_take_say_moved(const pfc_take *take);

/** Reads a file in any supported format ("auto" or NULL: found by content). */
pfc_code pfc_take_file(const char *path, const char *format, const pfc_directions *directions,
                       pfc_run **out, pfc_err *err) PFC_MUSTCHECK;

/** Table of a run: median, interval, n. */
void pfc_take_print(const pfc_cli *cli, const pfc_run *run);
/** True when a measurement is broken. */
bool pfc_take_broken(const pfc_run *run);

#endif
