/*
 * perfci-sandbox: a process that starts sandboxed commands for the runner of its machine.
 *
 * It has what a sandbox needs (namespaces, mounts) and neither network nor secrets; the runner has
 * the network and its token, and needs no namespaces. Requests: runner/sandbox/launch.h.
 */
#ifndef PFC_RUNNER_LAUNCHER_LAUNCHER_H
#define PFC_RUNNER_LAUNCHER_LAUNCHER_H

#include "runner/sandbox/launch.h"

#define PFC_LAUNCHER_MAX_COMMANDS 8 /* at a time; a runner has one */

typedef struct pfc_launcher_opts {
    const char *socket;       /* path to listen on; NULL: the socket that systemd passes */
    pfc_launch_rules rules;   /* see there */
    pfc_sandbox_opts sandbox; /* `dir` is set to the work folder */
} pfc_launcher_opts;

/**
 * Serves requests of processes of the same user, each in a process of its own, until SIGTERM.
 *
 * PFC_EUNAVAIL when there is no socket, PFC_EIO when it fails. A machine that cannot isolate a
 * command is no error here: each request is answered with the reason.
 */
pfc_code pfc_launcher_serve(const pfc_launcher_opts *opts, pfc_err *err) PFC_MUSTCHECK;

/**
 * Sends a request and waits for the command's end.
 *
 * socket     path of the server's socket
 * report_fd  receives the pfc_launch_report
 * words      of the request, `len` of them
 *
 * Returns the exit status of this process: the command's, 128 + N after signal N, 125 when it was
 * not started.
 */
int pfc_launcher_run(const char *socket, int report_fd, char *const *words, size_t len);

#endif
