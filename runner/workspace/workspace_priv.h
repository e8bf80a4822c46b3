/*
 * What the parts of the workspace share. Private to this folder.
 */
#ifndef PFC_RUNNER_WORKSPACE_WORKSPACE_PRIV_H
#define PFC_RUNNER_WORKSPACE_WORKSPACE_PRIV_H

#include "core/base/proc.h"
#include "runner/workspace/workspace.h"

/** One shell command of the project. */
typedef struct pfc_command {
    const char *text; /* for /bin/sh -c, or NULL: argv */
    const char *const *argv;
    const char *dir;
    const char *ceiling; /* git looks for no repository from this folder upwards; NULL: no limit */
    const char *commit;  /* PERFCI_COMMIT; NULL: not set */
    unsigned build;      /* PERFCI_BUILD */
    bool merge;          /* stderr into stdout */
    size_t max_output_bytes;
    double timeout_s;
    bool (*cancelled)(void *arg);
    void *cancelled_arg;
} pfc_command;

/** Runs it with our secrets removed from its environment and at most $PERFCI_MEMORY_LIMIT of memory
 *  (it and what it starts together; three quarters of the machine when not set, 0: no limit). As
 *  pfc_proc_run; PFC_EINVAL: that variable is no number of bytes. */
pfc_code pfc_command_run(const pfc_command *cmd, pfc_proc_result *res, pfc_err *err) PFC_MUSTCHECK;

/** True for names of variables that no measured code may see. */
bool pfc_command_is_secret(const char *name);

/** The line that tells most about a failure: the first with "error", else the last that is not
 *  empty; "" when there is none. One line, printable, cut to `cap`. */
void pfc_command_telling_line(const char *output, char *out, size_t cap);

/**
 * Runs perfci-bench: argv[0..argc) and behind it what `opts` adds, for which 7 places must be free.
 * Fills the outcome's kind, reason and seconds; MEASURED: its documents are to be read, also after
 * status 4, a kernel's wrong result, as they say which and the other numbers stand.
 */
pfc_code pfc_measure_run_bench(const pfc_commit_measure_opts *opts, pfc_command *cmd,
                               const char **argv, size_t argc, pfc_outcome *out,
                               pfc_err *err) PFC_MUSTCHECK;
/** The perfci-bench for a checkout: the given one, its own, the one beside us. Caller frees. */
pfc_code pfc_measure_find_bench(const pfc_commit_measure_opts *opts, const char *dir, char **out,
                                pfc_err *err) PFC_MUSTCHECK;
/** Id, commit, times and machine of a run just measured. */
void pfc_measure_finish_run(const pfc_commit_measure_opts *opts, const char *commit,
                            double started_at, pfc_run *run);

/** Fills what the run's machine lacks by pfc_machine_describe: name, class, fingerprint; name and
 *  class that are given (not NULL) stand instead of any. root: where /proc and /sys are, NULL: "". */
void pfc_host_describe(const char *root, pfc_machine *machine, const char *name,
                       const char *machine_class);

/** An owned folder with one subfolder a checkout; the least recently used ones go. */
pfc_code pfc_cache_make_room(const char *dir, size_t keep, const char *except,
                             pfc_err *err) PFC_MUSTCHECK;

/** Opens the repository at opts->source: a folder directly, a URL through a mirror below opts->dir,
 *  which is made when absent. *mirror: its folder, NULL for a folder; caller frees. */
pfc_code pfc_source_open(const pfc_workspace_opts *opts, pfc_repo **repo, char **mirror,
                         pfc_err *err) PFC_MUSTCHECK;
/** Brings a mirror up to date by the git program. */
pfc_code pfc_source_fetch(const char *mirror, const pfc_workspace_opts *opts,
                          pfc_err *err) PFC_MUSTCHECK;

#endif
