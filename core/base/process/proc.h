/*
 * Child processes with a deadline, a process group of their own and bounded output.
 *
 * When the deadline passes, or the caller stops it, the whole group gets SIGTERM, then SIGKILL two
 * seconds later. The child gets SIGKILL when the parent dies (PR_SET_PDEATHSIG) unless `detach`.
 */
#ifndef PFC_CORE_BASE_PROCESS_PROC_H
#define PFC_CORE_BASE_PROCESS_PROC_H

#include <sys/types.h>

#include "core/base/buf.h"

#define PFC_PROC_MIN_FILES 1024

typedef struct pfc_proc_opts {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up on PATH */
    const char *const *env;  /* "NAME=value" to add or replace, NULL-terminated; NULL: none.
                                 "NAME" without '=' removes it */
    const char *cwd;         /* NULL: the caller's */
    const char *input;       /* text for stdin; NULL: /dev/null */
    size_t input_len;        /* bytes of input */
    size_t max_output_bytes; /* a limit for each of stdout and stderr; 0: 1 MiB. Bytes beyond it are
                                 read and dropped, and `truncated` is set */
    double timeout_s;        /* 0: none */
    double cpu_limit_s;      /* RLIMIT_CPU; 0: none */
    uint64_t memory_limit_bytes; /* RLIMIT_AS, of each process; 0: none */
    uint64_t tree_limit_bytes; /* of memory that the child and its descendants hold together, asked
                                    ten times a second; over it the group is killed at once. They
                                    are also the first to go when the machine's memory ends
                                    (oom_score_adj). 0: none */
    const char *disk_path;     /* with disk_free_bytes: a folder of the file system to watch */
    uint64_t disk_free_bytes;  /* less free than this on it, or room for fewer than
                                       PFC_PROC_MIN_FILES files: the group is killed at once; asked
                                       ten times a second. 0: not watched */
    int inherit_fd;            /* a descriptor above 2 that the child keeps under its number;
                                       0: none. All others are closed */
    int join_fd;         /* the child writes "0" to this descriptor before it runs the program:
                                  the file cgroup.procs of a control group; 0: none */
    bool inherit_stderr; /* stderr goes to the caller's; else it is collected */
    bool inherit_stdout; /* likewise */
    bool merge;          /* stderr into stdout's buffer, in order */
    /* asked about ten times a second while it runs; true stops the child; NULL: never */
    bool (*cancelled)(void *arg);
    void *cancelled_arg;
} pfc_proc_opts;

typedef struct pfc_proc_result {
    int exit_status;           /* 0..255, or -1 when ended by a signal */
    int signal;                /* the signal that ended it, or 0 */
    bool timed_out;            /* the deadline passed */
    bool was_cancelled;        /* the callback said so */
    bool over_memory;          /* tree_limit_bytes was passed */
    bool over_disk;            /* less than disk_free_bytes was free */
    uint64_t process_limit;    /* of its control group, which refused a process or thread; 0: the
                                  limit was not reached, or no group has one */
    uint64_t tree_limit_bytes; /* as it was asked for, for sentences */
    bool truncated;            /* output over the limit was dropped */
    double seconds;            /* wall time */
    double cpu_seconds;        /* user and system time of the child and its waited-for children */
    uint64_t max_rss_bytes;    /* the largest resident set of any of them; 0: not known */
    pfc_buf out;               /* stdout */
    pfc_buf err;               /* stderr */
} pfc_proc_result;

/** Runs to its end. PFC_OK also when the child failed (look at *res); PFC_ENOTFOUND when the
 *  program does not exist, PFC_EIO for the rest. *res is filled on PFC_OK; clear it. */
pfc_code pfc_proc_run(const pfc_proc_opts *opts, pfc_proc_result *res, pfc_err *err) PFC_MUSTCHECK;
void pfc_proc_result_clear(pfc_proc_result *res);
/** "exit status 3", "signal 9 (Killed)", "no answer within 5 s": for sentences. cap >= 1. */
void pfc_proc_describe(const pfc_proc_result *res, char *out, size_t cap);

/** A child that goes on beside us. `stdout_fd`/`stdin_fd` in opts are not collected. */
typedef struct pfc_proc_spawn_opts {
    const char *const *argv;
    const char *const *env;
    const char *cwd;
    const char *log_path; /* stdout and stderr are appended here; NULL: inherited */
    bool detach;          /* setsid, outlives the parent */
    int *stdin_fd;        /* out, when not NULL: write end of a pipe to the child (CLOEXEC) */
    int *stdout_fd;       /* out, when not NULL: read end of a pipe from the child (CLOEXEC) */
} pfc_proc_spawn_opts;

pfc_code pfc_proc_spawn(const pfc_proc_spawn_opts *opts, pid_t *pid, pfc_err *err) PFC_MUSTCHECK;
/** Waits for our child up to timeout_s (< 0: without end). PFC_ETIMEOUT when it still runs. */
pfc_code pfc_proc_wait(pid_t pid, double timeout_s, pfc_proc_result *res,
                       pfc_err *err) PFC_MUSTCHECK;
/** SIGTERM to the child's group, SIGKILL after grace_s; waits until it is gone (child or not). */
void pfc_proc_stop(pid_t pid, double grace_s);

#endif
