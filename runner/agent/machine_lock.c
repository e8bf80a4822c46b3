/*
 * An flock: the kernel releases it when the process ends, however that happens.
 */
#include "runner/agent/machine_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/log.h"

#define LOOK_S 0.5

/* Any user may have made the file; the folder is sticky, and a link in its place is not followed.
 */
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

void pfc_machine_lock(const char *path, pfc_lease *lease, int *fd)
{
    bool logged = false;

    path = path ? path : PFC_MACHINE_LOCK;
    *fd = open_lock(path);
    if (*fd < 0) {
        pfc_log(PFC_WARN, "machine_lock_unavailable", "file", path, "reason", strerror(errno),
                "consequence", "another runner of this machine may measure at the same time");
        return;
    }
    while (flock(*fd, LOCK_EX | LOCK_NB) != 0) {
        if (!logged)
            pfc_log(PFC_INFO, "waiting_for_another_runner", "job", lease->job->id, "file", path);
        logged = true;
        lease->progress = "waiting for another runner of this machine";
        if (pfc_lease_cancelled(lease) || pfc_stop_wait(lease->stop_fd, LOOK_S)) {
            (void)pfc_lease_cancelled(lease); /* notes that the runner is stopped */
            pfc_machine_unlock(*fd);
            *fd = -1;
            return;
        }
    }
}

void pfc_machine_unlock(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}
