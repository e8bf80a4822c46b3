/*
 * A control group (cgroup v2) for each command: it ends every process of the command at once, and
 * limits memory and processes where the kernel offers these controllers to the runner.
 *
 * The groups are made below the group that the runner itself is in. The kernel allows controllers
 * only below a group without processes, so the runner moves itself into a group of its own where it
 * is alone. Where no group can be made (cgroup v1, no delegation, a read-only hierarchy as under
 * ProtectControlGroups=yes), the PID namespace of the sandbox ends the processes, and the runner
 * itself watches the memory (core/base/process/proc.h).
 *
 * Source: Linux, Documentation/admin-guide/cgroup-v2.rst. Threads: one at a time.
 */
#ifndef PFC_RUNNER_SANDBOX_CGROUP_H
#define PFC_RUNNER_SANDBOX_CGROUP_H

#include "core/base/err.h"
#include "core/base/process/proc.h"

typedef struct pfc_cgroups pfc_cgroups;

/**
 * Looks whether groups can be made, enables the controllers, and removes what a killed runner left.
 *
 * base  folder of a group, for tests; NULL: the group of this process
 * *out  close it with pfc_cgroups_close; NULL unless PFC_OK
 *
 * PFC_EUNAVAIL with the reason when no group can be made.
 */
pfc_code pfc_cgroups_open(const char *base, pfc_cgroups **out, pfc_err *err) PFC_MUSTCHECK;
/** Gives the controllers back and moves the process to where it was. Accepts NULL. */
void pfc_cgroups_close(pfc_cgroups *groups);
/** For logs and pages, such as "cgroup v2: memory, processes, kill"; as long as `groups` lives. */
const char *pfc_cgroups_description(const pfc_cgroups *groups);

/** The group of one command. */
typedef struct pfc_cgroup {
    char *path;             /* its folder, owned; NULL: there is no group */
    int procs_fd;           /* a process that writes "0" to this descriptor joins the group */
    uint64_t process_limit; /* that the kernel holds; 0: none */
} pfc_cgroup;

/**
 * Makes a group.
 *
 * memory_bytes  limit of memory of all its processes; 0: none
 * processes     limit of processes and threads; 0: none
 * out           end it with pfc_cgroup_end
 *
 * A limit whose controller is missing is left out. PFC_EIO when the group cannot be made.
 */
pfc_code pfc_cgroup_begin(pfc_cgroups *groups, uint64_t memory_bytes, uint64_t processes,
                          pfc_cgroup *out, pfc_err *err) PFC_MUSTCHECK;
/**
 * Ends every process in the group, waits until none is left (at most 5 s, then it is logged), and
 * removes the group. Accepts a group without path.
 *
 * res  of the command, or NULL: gets over_memory when the kernel killed a process at the memory
 *      limit, and process_limit when it refused a process or thread
 */
void pfc_cgroup_end(pfc_cgroup *group, pfc_proc_result *res);

#endif
