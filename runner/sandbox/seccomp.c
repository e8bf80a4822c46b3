/* The list of denied system calls, compiled by libseccomp. */
#include "runner/sandbox/seccomp.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/base.h"

/* Linux' names; libseccomp answers __NR_SCMP_ERROR for one that it does not know, which is then
 * denied by no rule: a call that is newer than this list is not privileged by design. */
static const char *const denied[] = {
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "pidfd_getfd",
    "kcmp",
    "mount",
    "umount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "unshare",
    "setns",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "bpf",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "name_to_handle_at",
    "open_by_handle_at",
    "add_key",
    "request_key",
    "keyctl",
    "acct",
    "quotactl",
    "swapon",
    "swapoff",
    "reboot",
    "sethostname",
    "setdomainname",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "syslog",
    "lookup_dcookie",
    "fanotify_init",
    "iopl",
    "ioperm",
};

static int deny(scmp_filter_ctx filter, const char *name)
{
    const int call = seccomp_syscall_resolve_name(name);

    if (call == __NR_SCMP_ERROR)
        return 0;
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0);
}

/* A network namespace separates IP, UNIX and netlink sockets alone. A virtual machine's job could
 * call its host by AF_VSOCK, and the others are rarely reviewed code of the kernel (AF_ALG). */
static int add_socket_rules(scmp_filter_ctx filter)
{
    int failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                                  SCMP_A0(SCMP_CMP_GT, AF_NETLINK));

    for (unsigned family = AF_INET + 1; family < AF_NETLINK && failed == 0; family++)
        if (family != AF_INET6)
            failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                                      SCMP_A0(SCMP_CMP_EQ, family));
    return failed;
}

static int add_rules(scmp_filter_ctx filter)
{
    int failed = 0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(denied) && failed == 0; i++)
        failed = deny(filter, denied[i]);
    if (failed == 0)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    /* Without random addresses a run is not comparable with the others of its series. */
    if (failed == 0)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(personality), 1,
                                  SCMP_A0(SCMP_CMP_EQ, ADDR_NO_RANDOMIZE));
    /* A user namespace gives every capability inside of it, and with them most of the kernel's code
     * that only root reaches otherwise. */
    if (failed == 0)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER));
    /* Characters pushed into the terminal's input would be read by the shell behind the runner;
     * TIOCLINUX pastes a selection of a console. */
    if (failed == 0)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                                  SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, TIOCSTI));
    if (failed == 0)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                                  SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, TIOCLINUX));
    /* Counters of a whole processor show what other processes do; a process may count itself. */
    if (failed == 0)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(perf_event_open), 1,
                                  SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, 0xffffffffu));
    return failed ? failed : add_socket_rules(filter);
}

pfc_code pfc_seccomp_program(int *fd, pfc_err *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int failed = filter ? add_rules(filter) : -ENOMEM;
    int file = -1;

    if (failed == 0) {
        file = memfd_create("perfci-seccomp", MFD_CLOEXEC);
        failed = file < 0 ? -errno : seccomp_export_bpf(filter, file);
    }
    if (failed == 0 && lseek(file, 0, SEEK_SET) != 0)
        failed = -errno;
    seccomp_release(filter);
    if (failed != 0) {
        if (file >= 0)
            close(file);
        return pfc_err_set(err, PFC_EIO, "filter of system calls: %s", strerror(-failed));
    }
    *fd = file;
    return PFC_OK;
}
