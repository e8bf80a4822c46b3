/*
 * Runs the commands of a measured commit apart from the runner's machine, by bubblewrap.
 *
 * A command sees: the system read-only (/usr, parts of /etc, /sys), the folders of its mounts, an
 * empty /tmp of its own, and its own processes. It has no network, no capability, no way to gain
 * privileges, the environment of an allow-list, and a filter of system calls (seccomp.h). When it
 * ends, every process that it started is killed with its PID namespace.
 *
 * Whom it runs as: a runner that is not root uses a user namespace and keeps its own uid, which
 * owns nothing that the command can see. A runner that is root runs commands as `job_uid`, an id
 * without files, because uid 0 reads every file that is mounted, also in a user namespace.
 *
 * Who starts it: this process, or perfci-sandbox (launcher.h), a process that needs no network and
 * no secret. With it, the runner needs no right to make namespaces.
 *
 * Not contained: CPU time of the other cores, caches and memory bandwidth (a command is measured,
 * so it runs at full speed), and GPUs, whose device files are passed through.
 *
 * Threads: an opened sandbox is not changed; several threads may use it.
 */
#ifndef PFC_RUNNER_SANDBOX_SANDBOX_H
#define PFC_RUNNER_SANDBOX_SANDBOX_H

#include <sys/types.h>

#include "core/base/err.h"
#include "core/base/process/proc.h"

#define PFC_SANDBOX_JOB_UID     59999 /* no account of Debian; see job_uid */
#define PFC_SANDBOX_MAX_PATHS   32    /* further read-only folders, further variables */
#define PFC_SANDBOX_MAX_MOUNTS  8
#define PFC_SANDBOX_TMP_BYTES   ((uint64_t)4 << 30)  /* of /tmp */
#define PFC_SANDBOX_FILE_BYTES  ((uint64_t)16 << 30) /* of one file (RLIMIT_FSIZE) */
#define PFC_SANDBOX_MAX_OPEN    65536                /* descriptors of a process (RLIMIT_NOFILE) */
#define PFC_SANDBOX_MAX_THREADS 4096                 /* processes and threads (RLIMIT_NPROC) */

typedef struct pfc_sandbox pfc_sandbox;

typedef struct pfc_sandbox_opts {
    const char *dir; /* folder of the runner; files of the sandbox are written below it */
    const char *const *read_only; /* further folders that every command sees, such as /opt/rocm;
                                     absolute, NULL-terminated; NULL: none */
    const char *const *variables; /* further names of variables that pass; NULL-terminated */
    uid_t job_uid;                /* with root; 0: PFC_SANDBOX_JOB_UID */
    const char *socket;  /* of perfci-sandbox, which then starts the commands; NULL: this process
                           starts them */
    const char *starter; /* with a socket: perfci-sandbox; NULL: beside this program */
    bool few_namespaces; /* commands see the host's name and this process's control group: where
                            the namespaces for these are not to be had */
} pfc_sandbox_opts;

/**
 * Looks for bubblewrap and tries it with every option that commands will be started with.
 *
 * The texts of opts are copied. PFC_EUNAVAIL with the reason when this machine cannot isolate a
 * command (no bwrap, no namespaces): *out is NULL then.
 */
pfc_code pfc_sandbox_open(const pfc_sandbox_opts *opts, pfc_sandbox **out,
                          pfc_err *err) PFC_MUSTCHECK;
void pfc_sandbox_close(pfc_sandbox *sandbox);

/** A folder or file that the command sees under its own path. */
typedef struct pfc_sandbox_mount {
    const char *path; /* absolute */
    bool writable;
} pfc_sandbox_mount;

typedef struct pfc_sandbox_command {
    const char *const *argv; /* NULL-terminated; looked up in the sandbox */
    const char *cwd;         /* absolute, in a mount */
    bool network;            /* the machine's network, for a build that downloads */
    const char *const *env;  /* "NAME=value" besides the allow-list; NULL-terminated; NULL: none */
    pfc_sandbox_mount mounts[PFC_SANDBOX_MAX_MOUNTS];
    size_t mounts_len;
    uint64_t memory_bytes; /* with a socket: limit of memory of all its processes; 0: none */
} pfc_sandbox_command;

/** The program to start instead of the command. */
typedef struct pfc_sandbox_start {
    char **argv;   /* NULL-terminated */
    int keep_fd;   /* the program must inherit this descriptor; -1: none */
    bool reported; /* perfci-sandbox writes to keep_fd how the command ended */
} pfc_sandbox_start;

/** Fills *out; clear it after the program was started. */
pfc_code pfc_sandbox_wrap(const pfc_sandbox *sandbox, const pfc_sandbox_command *command,
                          pfc_sandbox_start *out, pfc_err *err) PFC_MUSTCHECK;
/**
 * Completes *res, the result of pfc_proc_run for `start`: the command's own status, signal, and
 * what it used, in place of bubblewrap's or perfci-sandbox's. Waits for every child of this
 * process, so that the command's processes have ended: the caller has no other child.
 *
 * PFC_EUNAVAIL or PFC_EINVAL with the reason when perfci-sandbox did not start the command.
 */
pfc_code pfc_sandbox_ended(const pfc_sandbox_start *start, pfc_proc_result *res,
                           pfc_err *err) PFC_MUSTCHECK;
void pfc_sandbox_start_clear(pfc_sandbox_start *start);

/** Gives a tree to the uid that commands run as (root only, else nothing is done). Symbolic links
 *  are changed themselves, never what they point to. */
pfc_code pfc_sandbox_own(const pfc_sandbox *sandbox, const char *path, pfc_err *err) PFC_MUSTCHECK;

/** One line for logs and pages: "bubblewrap 0.8.0, uid 59999". Lives as long as the sandbox. */
const char *pfc_sandbox_description(const pfc_sandbox *sandbox);

#endif
