/*
 * Messages to the service manager (systemd): ready, stopping, and signs of life for its watchdog.
 * Without a manager, every call does nothing. Protocol: sd_notify(3); written here because a
 * runner's machine need not have libsystemd. Not thread-safe.
 */
#ifndef PFC_RUNNER_AGENT_SIGNS_H
#define PFC_RUNNER_AGENT_SIGNS_H

#include <stdint.h>

typedef struct pfc_signs {
    int fd;            /* socket to the manager; -1: there is none */
    int64_t period_ns; /* between two signs of life; 0: there is no watchdog for this process */
    int64_t next_ns;   /* time of the next one */
} pfc_signs;

/** Reads NOTIFY_SOCKET and the watchdog's variables, and removes them from the environment, which
 *  jobs inherit where they are not isolated. */
pfc_signs pfc_signs_open(void);
void pfc_signs_close(pfc_signs *signs);
void pfc_signs_send(const pfc_signs *signs, const char *state);
/** Reports that the runner can work. `signs`: a pfc_signs. */
void pfc_signs_ready(void *signs);
/** Sends a sign of life if one is due; cheap enough to be called ten times a second. `signs`: a
 *  pfc_signs. Called by the loop's own steps and not by a timer: a runner that hangs sends none. */
void pfc_signs_alive(void *signs);

#endif
