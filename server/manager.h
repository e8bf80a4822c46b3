/*
 * The service manager (systemd): the sockets that it passes, and the states that it is sent: ready,
 * reloading, stopping, alive. Without a service manager, every call does nothing. Protocol:
 * sd_notify(3), sd_listen_fds(3).
 */
#ifndef PFC_SERVER_MANAGER_H
#define PFC_SERVER_MANAGER_H

#include <stdbool.h>

#include "core/base/err.h"

typedef struct pfc_watchdog pfc_watchdog;

/** The sockets that were passed: the one named "ops" (FileDescriptorName=), and one other; -1:
 * none. PFC_EINVAL for more of them, and for closed ones. Call it once, before other threads start.
 */
pfc_code pfc_manager_sockets(int *fd, int *ops_fd, pfc_err *err) PFC_MUSTCHECK;

/** Report a change of state; any thread. `status` is the line that systemctl status shows. */
void pfc_manager_ready(const char *status);
void pfc_manager_reloading(void);
void pfc_manager_stopping(void);

/**
 * Sends keep-alive messages to the manager, from a thread of its own, while alive(context) is true.
 * Without them the manager restarts the service after its WatchdogSec. *out NULL when the manager
 * has no watchdog for the service. PFC_EIO when the thread cannot start.
 */
pfc_code pfc_watchdog_start(pfc_watchdog **out, bool (*alive)(void *context), void *context,
                            pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_watchdog_stop(pfc_watchdog *dog);

#endif
