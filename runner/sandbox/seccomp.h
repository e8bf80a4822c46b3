/*
 * The filter of system calls for sandboxed commands, as a program of the kernel's BPF machine.
 *
 * It denies (EPERM) calls that reach other processes or the kernel itself and that no benchmark
 * needs: ptrace and process_vm_*, mounts, namespaces (also by clone), kernel modules, keyrings,
 * bpf, userfaultfd, io_uring, file handles, clocks, reboot and swap, counters of a whole processor,
 * input for a terminal, and sockets other than UNIX, IP and netlink. clone3 answers ENOSYS, because
 * its flags are in memory where a filter cannot read them; C libraries then use clone.
 */
#ifndef PFC_RUNNER_SANDBOX_SECCOMP_H
#define PFC_RUNNER_SANDBOX_SECCOMP_H

#include "core/base/err.h"

/** *fd: a memory file (close-on-exec) that holds the program, at its start; the caller closes it.
 */
pfc_code pfc_seccomp_program(int *fd, pfc_err *err) PFC_MUSTCHECK;

#endif
