/*
 * Messages between the runner, `perfci-sandbox run` and `perfci-sandbox serve`.
 *
 * The runner starts `perfci-sandbox run --socket S --report FD REQUEST...`. That program connects
 * to S (SOCK_SEQPACKET), and sends one message: the words of REQUEST, each with its NUL, and its
 * stdout and stderr (SCM_RIGHTS). The server runs the command, and answers with one
 * pfc_launch_report, which `run` writes to FD. A server that reads the end of the connection ends
 * the command; `run` shuts its side down at SIGTERM and then waits for the report, so that no
 * process of the command is left when it ends.
 *
 * REQUEST: [--network] [--memory BYTES] (--rw PATH | --ro PATH)... (--env NAME=VALUE)... --cwd PATH
 * -- PROGRAM ARGUMENT...
 *
 * Both sides are of one installation: the report is a C struct, checked by its size and its mark.
 */
#ifndef PFC_RUNNER_SANDBOX_LAUNCH_H
#define PFC_RUNNER_SANDBOX_LAUNCH_H

#include "core/base/err.h"
#include "runner/sandbox/sandbox.h"

#define PFC_LAUNCH_MARK      0x70666331u
#define PFC_LAUNCH_MAX_BYTES (128u * 1024) /* of a request; less than a socket's default buffer */

typedef struct pfc_launch_report {
    uint32_t mark;
    int32_t code;           /* pfc_code; PFC_OK: the command was started */
    int32_t exit_status;    /* 0..255, or -1 */
    int32_t signal;         /* that ended it, or 0 */
    uint32_t over_memory;   /* 1: it was ended at --memory */
    uint64_t process_limit; /* as in pfc_proc_result */
    double cpu_seconds;     /* user and system time of all its processes */
    uint64_t max_rss_bytes;
    char reason[PFC_ERR_MAX]; /* with a code */
} pfc_launch_report;

/** A request as the server reads it: pointers go into `text`. */
typedef struct pfc_launch_request {
    char text[PFC_LAUNCH_MAX_BYTES];
    const char *argv[400];
    const char *env[400];
    pfc_sandbox_command command;
} pfc_launch_request;

/**
 * Reads the words in request->text, `len` bytes.
 *
 * PFC_EINVAL: an unknown word, a missing one, a path that is not absolute, too many words.
 */
pfc_code pfc_launch_parse(pfc_launch_request *request, size_t len, pfc_err *err) PFC_MUSTCHECK;

/** Limits of a server. */
typedef struct pfc_launch_rules {
    const char *work; /* work folder of the runner */
    bool network;     /* requests with --network */
} pfc_launch_rules;

/**
 * Checks a request: a writable mount lies in a folder "cache-*" or "tmp" of the work folder, and a
 * read-only one there or below /usr; no symbolic link is on the way from the work folder to it.
 *
 * PFC_EDENIED with the reason.
 */
pfc_code pfc_launch_allowed(const pfc_launch_rules *rules, const pfc_launch_request *request,
                            pfc_err *err) PFC_MUSTCHECK;

#endif
