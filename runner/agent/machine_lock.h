/*
 * One lock for the whole machine: runners of different work folders, users and services measure one
 * after the other, because each would disturb the other's values.
 *
 * Two locks are taken, because no single one is within reach of every runner: an flock on a file
 * that the package creates at boot (deploy/systemd/perfci.tmpfiles; a systemd unit sees /run
 * read-only, which is enough for an flock), and a UNIX socket with a name in the abstract
 * namespace, which needs no file. Two runners exclude each other when they share the file system or
 * the network namespace. Both are released by the kernel when the process ends, however that
 * happens. Any user of the machine can hold the lock, and so keep its runners waiting.
 */
#ifndef PFC_RUNNER_AGENT_MACHINE_LOCK_H
#define PFC_RUNNER_AGENT_MACHINE_LOCK_H

#include "runner/job/job.h"

#define PFC_MACHINE_LOCK "/run/lock/perfci-measure.lock"

/** A held lock; a zeroed struct does not hold one. */
typedef struct pfc_machine_lock {
    bool held;
    int file;   /* descriptor of the file, with an flock; -1: the file cannot be opened */
    int socket; /* descriptor of the bound socket; -1: there are no UNIX sockets */
} pfc_machine_lock;

/**
 * Waits until no other runner of this machine has a job, and keeps the lease alive meanwhile.
 *
 * path  of the file; the socket's name is made from it; NULL: PFC_MACHINE_LOCK
 * *out  out: release it with pfc_machine_unlock in every case
 *
 * PFC_OK and not held: the lease must end (stopped, lost, cancelled). PFC_EUNAVAIL: neither the
 * file nor the socket can be had, so another runner could measure at the same time. Where one of
 * the two is missing, the log says so.
 */
pfc_code pfc_machine_lock_take(const char *path, pfc_lease *lease, pfc_machine_lock *out,
                               pfc_err *err) PFC_MUSTCHECK;
/** Accepts a lock that is not held. */
void pfc_machine_unlock(pfc_machine_lock *lock);

#endif
