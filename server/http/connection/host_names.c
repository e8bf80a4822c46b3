/* Host headers against the list of names. */
#include "server/http/connection/host_names.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/base.h"

#define MAX_HOST 256 /* bytes; DNS names have at most 253 */

static void add(httpd_hosts *hosts, const char *name, size_t len)
{
    char *text = pfc_strndup(name, len);

    for (char *at = text; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    hosts->names = pfc_grow(hosts->names, hosts->len, &hosts->cap, sizeof(*hosts->names));
    hosts->names[hosts->len++] = text;
}

/* Length of the host in "host", "host:port", "[::1]:port". */
static size_t host_len(const char *text)
{
    const char *end = text[0] == '[' ? strchr(text, ']') : NULL;

    return end ? (size_t)(end - text) + 1 : strcspn(text, ":/");
}

void httpd_hosts_init(httpd_hosts *hosts, const char *list, const char *url, bool near)
{
    static const char between[] = ", ";
    const char *name = url ? strstr(url, "://") : NULL;

    *hosts = (httpd_hosts){ .any = !list && !near };
    if (name)
        add(hosts, name + 3, host_len(name + 3));
    for (const char *at = list; at && *at;) {
        const size_t len = strcspn(at, between);

        if (len > 0)
            add(hosts, at, len);
        at += len + strspn(at + len, between);
    }
}

void httpd_hosts_clear(httpd_hosts *hosts)
{
    for (size_t i = 0; i < hosts->len; i++)
        free(hosts->names[i]);
    free(hosts->names);
    *hosts = (httpd_hosts){ 0 };
}

static bool is_address(const char *host)
{
    unsigned char bytes[16];
    char bare[MAX_HOST];
    const size_t len = strlen(host);

    if (host[0] != '[')
        return inet_pton(AF_INET, host, bytes) == 1;
    if (len < 3 || host[len - 1] != ']')
        return false;
    memcpy(bare, host + 1, len - 2);
    bare[len - 2] = '\0';
    return inet_pton(AF_INET6, bare, bytes) == 1;
}

static bool is_port(const char *text)
{
    const size_t digits = strspn(text + (*text == ':'), "0123456789");

    return !*text || (*text == ':' && digits <= 5 && text[1 + digits] == '\0');
}

bool httpd_hosts_hold(const httpd_hosts *hosts, const char *host)
{
    static const char local[] = "localhost";
    char name[MAX_HOST];
    size_t len = host_len(host);

    if (hosts->any)
        return true;
    if (len == 0 || len >= sizeof(name) || !is_port(host + len))
        return false;
    len -= len > 1 && host[len - 1] == '.'; /* a trailing dot of the DNS root */
    memcpy(name, host, len);
    name[len] = '\0';
    if (is_address(name) || strcasecmp(name, local) == 0 ||
        (len > sizeof(local) && name[len - sizeof(local)] == '.' &&
         strcasecmp(name + len - sizeof(local) + 1, local) == 0))
        return true;
    for (size_t i = 0; i < hosts->len; i++)
        if (strcasecmp(name, hosts->names[i]) == 0)
            return true;
    return false;
}
