/* From an address to a listening socket. Not left to libmicrohttpd: this reports a port in use as
 * an error message and the port that the kernel chose for port 0. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/parse.h"
#include "server/http/connection/conns.h"

/* "127.0.0.1:7420", "[::1]:7420": host without brackets, port as text. */
static pfc_code split(const char *flag, const char *address, char *host, size_t host_cap,
                      const char **port, pfc_err *err)
{
    const char *colon = strrchr(address, ':');
    const char *begin = address;
    size_t len;
    int64_t number = 0;
    pfc_code code;

    if (!colon)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected ADDRESS:PORT, got \"%.200s\"", flag,
                           address);
    code = pfc_parse_i64(colon + 1, 0, 65535, "port", &number, err);
    if (code)
        return pfc_err_wrap(err, "%s", flag);

    len = (size_t)(colon - address);
    if (len >= 2 && begin[0] == '[' && begin[len - 1] == ']') {
        begin++;
        len -= 2;
    }
    if (len >= host_cap)
        return pfc_err_set(err, PFC_EINVAL, "%s: the address is over %zu bytes", flag, host_cap);
    memcpy(host, begin, len);
    host[len] = '\0';
    *port = colon + 1;
    return PFC_OK;
}

static void describe(int fd, char *url, size_t cap)
{
    struct sockaddr_storage storage = { 0 };
    socklen_t len = sizeof(storage);
    char host[NI_MAXHOST] = "";
    char port[NI_MAXSERV] = "";

    if (getsockname(fd, (struct sockaddr *)&storage, &len) != 0 ||
        getnameinfo((struct sockaddr *)&storage, len, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        pfc_die("http: the listening socket has no name: %s", strerror(errno));
    (void)snprintf(url, cap, strchr(host, ':') ? "http://[%.200s]:%s" : "http://%.200s:%s", host,
                   port);
}

pfc_code httpd_listen(const char *flag, const char *address, int *out_fd, char *url, size_t url_cap,
                      pfc_err *err)
{
    const struct addrinfo hints = {
        .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
    };
    struct addrinfo *list = NULL;
    char host[256] = "";
    const char *port = NULL;
    const int on = 1;
    int fd = -1;
    int found;
    pfc_code code;

    code = split(flag, address, host, sizeof(host), &port, err);
    if (code)
        return code;
    found = getaddrinfo(host[0] ? host : NULL, port, &hints, &list);
    if (found != 0)
        return pfc_err_set(err, PFC_EINVAL, "%s: cannot resolve \"%s\": %s", flag, host,
                           gai_strerror(found));

    fd = socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        code = pfc_err_set(err, PFC_EIO, "listen on %s: %s", address, strerror(errno));
        goto done;
    }
    /* A restarted server may take the port while old connections linger; a live one still fails. */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, list->ai_addr, list->ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0) {
        if (errno == EADDRINUSE)
            code = pfc_err_set(err, PFC_EIO,
                               "listen on %s: the port is in use by another program; stop it or "
                               "choose another with %s",
                               address, flag);
        else
            code = pfc_err_set(err, PFC_EIO, "listen on %s: %s", address, strerror(errno));
        goto done;
    }
    describe(fd, url, url_cap);
    *out_fd = fd;
    fd = -1;

done:
    if (fd >= 0)
        close(fd);
    freeaddrinfo(list);
    return code;
}

bool httpd_is_loopback(int fd)
{
    struct sockaddr_storage at = { 0 };
    socklen_t len = sizeof(at);
    pfc_address address;
    pfc_nets loopback = { 0 };

    if (getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        return false;
    if (!pfc_address_of((const struct sockaddr *)&at, &address) ||
        pfc_nets_parse("127.0.0.0/8, ::1", "loopback", &loopback, NULL))
        return false;
    return pfc_nets_hold(&loopback, &address);
}

pfc_code httpd_adopt(int fd, char *url, size_t url_cap, pfc_err *err)
{
    int listens = 0, kind = 0, family = 0;
    socklen_t len = sizeof(int);
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &len) != 0 || kind != SOCK_STREAM ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) != 0 || !listens)
        return pfc_err_set(
            err, PFC_EINVAL,
            "the socket that was passed (descriptor %d) does not listen for streams; "
            "expected ListenStream= in the socket unit",
            fd);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) != 0 ||
        (family != AF_INET && family != AF_INET6))
        return pfc_err_set(err, PFC_EINVAL,
                           "the socket that was passed (descriptor %d) has no Internet address, by "
                           "which limits go; expected ListenStream=ADDRESS:PORT in the socket unit",
                           fd);
    /* libmicrohttpd asks its sockets without waiting. */
    (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    describe(fd, url, url_cap);
    return PFC_OK;
}
