/*
 * Declarations shared by the rooms workspace and measure. Private to them.
 */
#ifndef PFC_RUNNER_WORKSPACE_WORKSPACE_PRIV_H
#define PFC_RUNNER_WORKSPACE_WORKSPACE_PRIV_H

#include "core/base/hash.h"
#include "core/base/process/proc.h"
#include "runner/sandbox/cgroup.h"
#include "runner/sandbox/sandbox.h"
#include "runner/workspace/workspace.h"

#define PFC_COMMAND_TREES    2
#define PFC_CACHE_FREE_BYTES ((uint64_t)1 << 30)
#define PFC_CACHE_FREE_FILES 16384

/** One shell command of the project. */
typedef struct pfc_command {
    const char *text; /* for /bin/sh -c, or NULL: argv */
    const char *const *argv;
    const char *dir;
    const char *ceiling; /* git looks for no repository from this folder upwards; NULL: no limit */
    const char *commit;  /* PERFCI_COMMIT; NULL: not set */
    unsigned build;      /* PERFCI_BUILD */
    bool merge;          /* stderr into stdout */
    const pfc_sandbox
        *sandbox;         /* NULL: the command runs as this user and sees what this user sees */
    pfc_cgroups *cgroups; /* a control group for the command; NULL: none */
    bool network;         /* in the sandbox: the machine's network */
    const char *trees[PFC_COMMAND_TREES]; /* further checkouts that it reads; NULL: none */
    bool read_only;                       /* `dir` cannot be written in the sandbox */
    const char *scratch;                  /* a folder for its results; NULL: none */
    const char *traces;                   /* PERFCI_TRACES, in `scratch`; NULL: not set */
    const char *program;                  /* a program outside of the checkout; NULL: none */
    size_t max_output_bytes;
    double timeout_s;
    bool (*cancelled)(void *arg);
    void *cancelled_arg;
} pfc_command;

/** Runs the command without the secrets of this environment and with at most $PERFCI_MEMORY_LIMIT
 * of memory for its process tree (not set: three quarters of the machine; 0: no limit). In the
 * sandbox it is isolated as runner/sandbox/sandbox.h says, and ends when the disk of `dir` is
 * nearly full. With a control group every process of the command ends with it. As pfc_proc_run;
 * PFC_EINVAL: the variable is not a number of bytes. */
pfc_code pfc_command_run(const pfc_command *cmd, pfc_proc_result *res, pfc_err *err) PFC_MUSTCHECK;

/** True for names of variables that a project's command must not receive. */
bool pfc_command_is_secret(const char *name);

/** The line of the output that best explains a failure: the first with "error", else the last that
 * is not empty; "" when there is none. One line, printable, cut to `cap`. */
void pfc_command_error_line(const char *output, char *out, size_t cap);

/**
 * Runs perfci-bench with argv[0..argc) and the arguments from `opts`, for which 7 places must be
 * free. Fills the outcome's kind, reason and seconds. MEASURED: read its documents; this includes
 * status 4 (a wrong result), because the documents say which benchmark is broken and the other
 * values are valid.
 */
pfc_code pfc_measure_run_bench(const pfc_commit_measure_opts *opts, pfc_command *cmd,
                               const char **argv, size_t argc, pfc_outcome *out,
                               pfc_err *err) PFC_MUSTCHECK;
/** Makes the folder for traces in cmd->scratch, whose path *out gets (caller frees) and the command
 * is given. */
pfc_code pfc_traces_begin(pfc_command *cmd, char **out, pfc_err *err) PFC_MUSTCHECK;
/** Reads the traces of the benchmarks of out->run from there into `out`, at most
 * PFC_RUN_TRACES_MAX. One that cannot be read is logged and left out. */
void pfc_traces_collect(const pfc_command *cmd, pfc_outcome *out);

/** The perfci-bench for a checkout: opts->bench, else the one built there, else the one beside this
 * program. Caller frees. */
pfc_code pfc_measure_find_bench(const pfc_commit_measure_opts *opts, const char *dir, char **out,
                                pfc_err *err) PFC_MUSTCHECK;
/** Sets id, commit, times and machine of a new run. */
void pfc_measure_finish_run(const pfc_commit_measure_opts *opts, const char *commit,
                            double started_at, pfc_run *run);

/** Fills in missing name, class and fingerprint by pfc_machine_describe. `name` and `machine_class`
 * override any value unless NULL. root: prefix of /proc and /sys; NULL: "". */
void pfc_host_describe(const char *root, pfc_machine *machine, const char *name,
                       const char *machine_class);

/**
 * SHA-256 over what a build command is likely to run: the compilers, linkers and build programs on
 * PATH, each with the file that its name leads to, its size and its time of change; the C and C++
 * libraries; and the variables that choose compilers and flags. A build of another toolchain is
 * another program, so it is no entry of the cache. Takes less than a millisecond.
 */
void pfc_toolchain_hash(char out[PFC_SHA256_HEX]);

/** Removes the least recently used subfolders of `dir` until `keep` are left, besides `except`. */
pfc_code pfc_cache_make_room(const char *dir, size_t keep, const char *except,
                             pfc_err *err) PFC_MUSTCHECK;

/** Removes the least recently used subfolders of `dir` while its disk has less than
 * PFC_CACHE_FREE_BYTES or room for fewer than PFC_CACHE_FREE_FILES files, until none is left. */
pfc_code pfc_cache_free_disk(const char *dir, pfc_err *err) PFC_MUSTCHECK;

/** Opens the repository at opts->source: a folder directly, a URL through a mirror below opts->dir,
 * created when absent. *mirror: path of the mirror, NULL when the source is a folder; caller frees.
 */
pfc_code pfc_source_open(const pfc_workspace_opts *opts, pfc_repo **repo, char **mirror,
                         pfc_err *err) PFC_MUSTCHECK;
/** Updates a mirror by the git program. */
pfc_code pfc_source_fetch(const char *mirror, const pfc_workspace_opts *opts,
                          pfc_err *err) PFC_MUSTCHECK;

#endif
