/*
 * Who is at the other end: addresses, networks that are trusted, and whom a trusted proxy speaks for.
 * An IPv4 address is kept as the IPv6 address it maps to (RFC 4291, 2.5.5.2).
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "core/base/parse.h"
#include "server/http/internal.h"

static const unsigned char mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

static bool is_v4(const httpd_peer *peer)
{
    return memcmp(peer->bytes, mapped, sizeof(mapped)) == 0;
}

bool httpd_peer_of(const struct sockaddr *address, httpd_peer *out)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (address && address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof(v4));
        memcpy(out->bytes, mapped, sizeof(mapped));
        memcpy(out->bytes + sizeof(mapped), &v4.sin_addr, 4);
        return true;
    }
    if (address && address->sa_family == AF_INET6) {
        memcpy(&v6, address, sizeof(v6));
        memcpy(out->bytes, &v6.sin6_addr, sizeof(out->bytes));
        return true;
    }
    memset(out, 0, sizeof(*out));
    return false;
}

/* text[0..len) as an address, without a port. */
static bool parse_address(const char *text, size_t len, httpd_peer *out)
{
    char word[INET6_ADDRSTRLEN];

    if (len == 0 || len >= sizeof(word))
        return false;
    memcpy(word, text, len);
    word[len] = '\0';
    memcpy(out->bytes, mapped, sizeof(mapped));
    return inet_pton(AF_INET, word, out->bytes + sizeof(mapped)) == 1 ||
           inet_pton(AF_INET6, word, out->bytes) == 1;
}

size_t httpd_peer_key(const httpd_peer *peer, const unsigned char **bytes)
{
    *bytes = is_v4(peer) ? peer->bytes + sizeof(mapped) : peer->bytes;
    /* One customer has a whole /64. */
    return is_v4(peer) ? 4 : 8;
}

static pfc_code parse_net(const char *text, size_t len, httpd_net *out, pfc_err *err)
{
    const char *slash = memchr(text, '/', len);
    size_t address_len = slash ? (size_t)(slash - text) : len;
    char number[8] = "";
    int64_t bits = 0;
    int most;

    if (!parse_address(text, address_len, &out->base))
        goto bad;
    most = is_v4(&out->base) ? 32 : 128;
    bits = most;
    if (slash) {
        if (len - address_len - 1 >= sizeof(number))
            goto bad;
        memcpy(number, slash + 1, len - address_len - 1);
        if (pfc_parse_i64(number, 0, most, "", &bits, NULL))
            goto bad;
    }
    out->bits = (unsigned)bits + (most == 32 ? 96 : 0);
    return PFC_OK;

bad:
    return pfc_err_set(err, PFC_EINVAL,
                       "--trusted-proxies: want addresses or networks such as 10.0.0.0/8, got "
                       "\"%.*s\"",
                       (int)PFC_MIN(len, (size_t)60), text);
}

pfc_code httpd_nets_parse(const char *list, httpd_nets *out, pfc_err *err)
{
    out->len = 0;
    for (const char *at = list ? list : ""; *at;) {
        size_t len = strcspn(at, ", ");
        pfc_code code;

        if (len > 0 && out->len == PFC_ARRAY_LEN(out->items))
            return pfc_err_set(err, PFC_EINVAL, "--trusted-proxies: want at most %zu networks",
                               PFC_ARRAY_LEN(out->items));
        if (len > 0) {
            code = parse_net(at, len, &out->items[out->len], err);
            if (code)
                return code;
            out->len++;
        }
        at += len + (at[len] != '\0');
    }
    return PFC_OK;
}

static bool in_net(const httpd_net *net, const httpd_peer *peer)
{
    size_t whole = net->bits / 8;
    unsigned rest = net->bits % 8;

    if (memcmp(net->base.bytes, peer->bytes, whole) != 0)
        return false;
    return rest == 0 || (net->base.bytes[whole] ^ peer->bytes[whole]) >> (8 - rest) == 0;
}

bool httpd_nets_hold(const httpd_nets *nets, const httpd_peer *peer)
{
    for (size_t i = 0; i < nets->len; i++) {
        if (in_net(&nets->items[i], peer))
            return true;
    }
    return false;
}

bool httpd_forwarded_for(const char *header, const httpd_nets *trusted, httpd_peer *out)
{
    size_t end = header ? strlen(header) : 0;

    /* From the right: each proxy adds whom it heard, and only those that are trusted tell the truth. */
    while (end > 0) {
        size_t begin = end;

        while (begin > 0 && header[begin - 1] != ',')
            begin--;
        while (end > begin && header[end - 1] == ' ')
            end--;
        while (begin < end && header[begin] == ' ')
            begin++;
        if (!parse_address(header + begin, end - begin, out))
            return false;
        if (!httpd_nets_hold(trusted, out))
            return true;
        while (begin > 0 && header[begin - 1] != ',')
            begin--;
        end = begin > 0 ? begin - 1 : 0;
    }
    return false;
}
