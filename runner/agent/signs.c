#include "runner/agent/signs.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/parse.h"

/* The socket is a path or, with "@", a name in the abstract namespace. */
static int connect_to(const char *name)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    const size_t len = strlen(name);
    int fd;

    if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof(to.sun_path))
        return -1;
    memcpy(to.sun_path, name, len);
    if (name[0] == '@')
        to.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to,
                           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) != 0) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* A third of the manager's limit, so that two messages may be late. */
static int64_t watchdog_period(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    int64_t period = 0, owner = getpid();

    if (!usec || pfc_parse_i64(usec, 1, INT64_MAX / 1000, "WATCHDOG_USEC", &period, NULL))
        return 0;
    if (pid && pfc_parse_i64(pid, 1, INT64_MAX, "WATCHDOG_PID", &owner, NULL))
        return 0;
    return owner == getpid() ? period * 1000 / 3 : 0;
}

pfc_signs pfc_signs_open(void)
{
    const char *name = getenv("NOTIFY_SOCKET");
    const pfc_signs signs = { .fd = name ? connect_to(name) : -1, .period_ns = watchdog_period() };

    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
    return signs;
}

void pfc_signs_close(pfc_signs *signs)
{
    if (signs->fd >= 0)
        (void)close(signs->fd);
    signs->fd = -1;
}

void pfc_signs_send(const pfc_signs *signs, const char *state)
{
    if (signs->fd >= 0)
        (void)!send(signs->fd, state, strlen(state), MSG_NOSIGNAL);
}

void pfc_signs_ready(void *arg)
{
    pfc_signs_send(arg, "READY=1");
}

void pfc_signs_alive(void *arg)
{
    pfc_signs *signs = arg;
    const int64_t now_ns = pfc_clock_ns();

    if (signs->fd < 0 || !signs->period_ns || now_ns < signs->next_ns)
        return;
    signs->next_ns = now_ns + signs->period_ns;
    pfc_signs_send(signs, "WATCHDOG=1");
}
