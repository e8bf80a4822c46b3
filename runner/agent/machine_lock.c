#include "runner/agent/machine_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/log.h"

#define LOOK_S 0.5

/* Any user may have made the file; the folder is sticky, and a link in its place is not followed.
 * For reading: /run is read-only to a systemd unit, and an flock needs no more. */
static int open_lock(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0 && errno == ENOENT) {
        fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
        if (fd < 0 && errno == EEXIST)
            fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    }
    return fd;
}

/* The abstract name of the lock for this path: "perfci-measure-" and the start of its SHA-256. */
static socklen_t socket_name(const char *path, struct sockaddr_un *out)
{
    char hash[PFC_SHA256_HEX];
    int len;

    pfc_sha256_hex(path, strlen(path), hash);
    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    len = snprintf(out->sun_path + 1, sizeof(out->sun_path) - 1, "perfci-measure-%.16s", hash);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

static bool take_file(int fd)
{
    return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void warn_of_socket(void)
{
    pfc_log(PFC_WARN, "machine_lock_socket_unavailable", "reason", strerror(errno), "consequence",
            "a runner that cannot open the file may measure meanwhile");
}

/* Returns false if another runner has the name. Where the system refuses abstract names, no socket
 * is opened. */
static bool take_socket(const char *path, int *fd)
{
    struct sockaddr_un name;
    const socklen_t len = socket_name(path, &name);

    if (*fd < 0 || bind(*fd, (const struct sockaddr *)&name, len) == 0)
        return true;
    if (errno == EADDRINUSE)
        return false;
    warn_of_socket();
    (void)close(*fd);
    *fd = -1;
    return true;
}

/* Always the file first, so that two runners never hold one lock each and wait for the other. */
static bool try_both(const char *path, pfc_machine_lock *lock, bool *file_held)
{
    if (!*file_held)
        *file_held = take_file(lock->file);
    return *file_held && take_socket(path, &lock->socket);
}

static void wait_for_both(const char *path, pfc_lease *lease, pfc_machine_lock *lock)
{
    bool logged = false, file_held = false;

    while (!try_both(path, lock, &file_held)) {
        if (!logged)
            pfc_log(PFC_INFO, "waiting_for_another_runner", "job", lease->job->id, "file", path);
        logged = true;
        lease->progress = "waiting for another runner of this machine";
        if (pfc_lease_cancelled(lease) || pfc_stop_wait(lease->stop_fd, LOOK_S)) {
            (void)pfc_lease_cancelled(lease); /* notes that the runner is stopped */
            return;
        }
    }
    lock->held = true;
}

pfc_code pfc_machine_lock_take(const char *path, pfc_lease *lease, pfc_machine_lock *out,
                               pfc_err *err)
{
    const char *why = "";

    path = path ? path : PFC_MACHINE_LOCK;
    *out = (pfc_machine_lock){ .file = open_lock(path) };
    if (out->file < 0) {
        why = strerror(errno);
        pfc_log(PFC_WARN, "machine_lock_file_unavailable", "file", path, "reason", why,
                "consequence", "a runner in another network namespace may measure meanwhile");
    }
    /* The socket never listens; it is only needed because the kernel gives its name to one process
     * at a time. */
    out->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (out->socket < 0)
        warn_of_socket();
    if (out->file >= 0 || out->socket >= 0)
        wait_for_both(path, lease, out);
    if (out->file >= 0 || out->socket >= 0)
        return PFC_OK;
    out->held = false;
    return pfc_err_set(err, PFC_EUNAVAIL,
                       "not measured: the lock of this machine cannot be taken, so another runner "
                       "could measure at the same time: %s: %s; there are no UNIX sockets, either",
                       path, why);
}

void pfc_machine_unlock(pfc_machine_lock *lock)
{
    if (lock->socket > 0)
        (void)close(lock->socket);
    if (lock->file > 0)
        (void)close(lock->file);
    *lock = (pfc_machine_lock){ 0 };
}
