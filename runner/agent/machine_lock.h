/*
 * One lock for the whole machine: runners of different work folders, users and services measure one
 * after the other, because each would disturb the other's values.
 */
#ifndef PFC_RUNNER_AGENT_MACHINE_LOCK_H
#define PFC_RUNNER_AGENT_MACHINE_LOCK_H

#include "runner/job/job.h"

#define PFC_MACHINE_LOCK "/run/lock/perfci-measure.lock"

/**
 * Waits until no other runner of this machine has a job, and keeps the lease alive meanwhile.
 *
 * path  NULL: PFC_MACHINE_LOCK
 * *fd   out: release it with pfc_machine_unlock; -1 when the lease must end (stopped, lost,
 *       cancelled), or where the file cannot be opened. The latter is logged: the machine then has
 *       no lock.
 */
void pfc_machine_lock(const char *path, pfc_lease *lease, int *fd);
/** Accepts -1. */
void pfc_machine_unlock(int fd);

#endif
