/* Addresses and networks, all of them as IPv6. */
#include "core/base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "core/base/parse.h"

static const unsigned char mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

bool pfc_address_is_v4(const pfc_address *address)
{
    return memcmp(address->bytes, mapped, sizeof(mapped)) == 0;
}

bool pfc_address_of(const struct sockaddr *address, pfc_address *out)
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

bool pfc_address_parse(const char *text, size_t len, pfc_address *out)
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

void pfc_address_text(const pfc_address *address, char out[PFC_ADDRESS_TEXT])
{
    static const pfc_address unknown;
    const bool v4 = pfc_address_is_v4(address);

    if (memcmp(address, &unknown, sizeof(unknown)) == 0 ||
        !inet_ntop(v4 ? AF_INET : AF_INET6, address->bytes + (v4 ? sizeof(mapped) : 0), out,
                   PFC_ADDRESS_TEXT))
        out[0] = '\0';
}

static pfc_code parse_net(const char *text, size_t len, const char *what, pfc_net *out,
                          pfc_err *err)
{
    const char *slash = memchr(text, '/', len);
    size_t address_len = slash ? (size_t)(slash - text) : len;
    char number[8] = "";
    int64_t bits = 0;
    int most;

    if (!pfc_address_parse(text, address_len, &out->base))
        goto bad;
    most = pfc_address_is_v4(&out->base) ? 32 : 128;
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
                       "%s: expected addresses or networks such as 10.0.0.0/8, got \"%.*s\"", what,
                       (int)PFC_MIN(len, (size_t)60), text);
}

pfc_code pfc_nets_parse(const char *list, const char *what, pfc_nets *out, pfc_err *err)
{
    out->len = 0;
    for (const char *at = list ? list : ""; *at;) {
        size_t len = strcspn(at, ", ");
        pfc_code code;

        if (len > 0 && out->len == PFC_ARRAY_LEN(out->items))
            return pfc_err_set(err, PFC_EINVAL, "%s: expected at most %zu networks", what,
                               PFC_ARRAY_LEN(out->items));
        if (len > 0) {
            code = parse_net(at, len, what, &out->items[out->len], err);
            if (code)
                return code;
            out->len++;
        }
        at += len + (at[len] != '\0');
    }
    return PFC_OK;
}

static bool in_net(const pfc_net *net, const pfc_address *address)
{
    size_t whole = net->bits / 8;
    unsigned rest = net->bits % 8;

    if (memcmp(net->base.bytes, address->bytes, whole) != 0)
        return false;
    return rest == 0 || (net->base.bytes[whole] ^ address->bytes[whole]) >> (8 - rest) == 0;
}

bool pfc_nets_hold(const pfc_nets *nets, const pfc_address *address)
{
    for (size_t i = 0; i < nets->len; i++) {
        if (in_net(&nets->items[i], address))
            return true;
    }
    return false;
}

/* Networks that no packet of the public Internet comes from or goes to (RFC 6890 and its
 * registries). */
static const char not_public[] =
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 "
    "192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 "
    "224.0.0.0/3 ::/127 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 "
    "fc00::/7 fe80::/9 ff00::/8";

bool pfc_address_is_loopback(const pfc_address *address)
{
    static const unsigned char v6[16] = { [15] = 1 };

    if (pfc_address_is_v4(address))
        return address->bytes[sizeof(mapped)] == 127;
    return memcmp(address->bytes, v6, sizeof(v6)) == 0;
}

bool pfc_address_is_public(const pfc_address *address)
{
    pfc_nets nets;

    return pfc_nets_parse(not_public, "networks", &nets, NULL) == PFC_OK &&
           !pfc_nets_hold(&nets, address);
}
