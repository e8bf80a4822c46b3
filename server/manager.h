/*
 * The service manager (systemd): its sockets, and what it is told: ready, reloading, stopping, alive.
 * Without one, every call does nothing. Protocol: sd_notify(3), sd_listen_fds(3).
 */
#ifndef PFC_SERVER_MANAGER_H
#define PFC_SERVER_MANAGER_H

#include <stdbool.h>

#include "core/base/err.h"

typedef struct pfc_watchdog pfc_watchdog;

/** The sockets that were passed: the one named "ops" (FileDescriptorName=), and another; -1 where there
 *  is none. PFC_EINVAL for more, and for those that are not open. Call it once, before there are other threads. */
pfc_code pfc_manager_sockets(int *fd, int *ops_fd, pfc_err *err) PFC_MUSTCHECK;

/** State changes, any thread. `status` is a line for people (systemctl status). */
void pfc_manager_ready(const char *status);
void pfc_manager_reloading(void);
void pfc_manager_stopping(void);

/**
 * Tells the manager that the process lives, from a thread of its own, while alive(context) says so:
 * when it does not, nothing is told, and the manager restarts the service after its WatchdogSec.
 * *out NULL when the manager does not ask. PFC_EIO when there is no thread.
 */
pfc_code pfc_watchdog_start(pfc_watchdog **out, bool (*alive)(void *context), void *context,
                            pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_watchdog_stop(pfc_watchdog *dog);

#endif
