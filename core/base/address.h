/*
 * Addresses and networks of the Internet. An IPv4 address is kept as the IPv6 address that it maps
 * to (RFC 4291, 2.5.5.2), so one comparison does for both. Thread-safe.
 */
#ifndef PFC_CORE_BASE_ADDRESS_H
#define PFC_CORE_BASE_ADDRESS_H

#include <sys/socket.h>

#include "core/base/err.h"

/** All zero: unknown. */
typedef struct pfc_address {
    unsigned char bytes[16];
} pfc_address;

typedef struct pfc_net {
    pfc_address base;
    unsigned bits; /* of the prefix, 0..128 */
} pfc_net;

typedef struct pfc_nets {
    pfc_net items[32];
    size_t len;
} pfc_nets;

/** False, and unknown, when it is neither IPv4 nor IPv6. */
bool pfc_address_of(const struct sockaddr *address, pfc_address *out);
/** text[0..len) as an address, without a port. */
bool pfc_address_parse(const char *text, size_t len, pfc_address *out);
bool pfc_address_is_v4(const pfc_address *address);
#define PFC_ADDRESS_TEXT 46 /* bytes, with the end: INET6_ADDRSTRLEN */
/** "192.0.2.7" or "2001:db8::1"; "" for the unknown address. */
void pfc_address_text(const pfc_address *address, char out[PFC_ADDRESS_TEXT]);
bool pfc_address_is_loopback(const pfc_address *address);
/** True for an address that is routed on the public Internet; false for loopback, private,
 * link-local and special-use networks (RFC 6890). */
bool pfc_address_is_public(const pfc_address *address);

/** "10.0.0.0/8, ::1": at most 32, NULL and "" are none. PFC_EINVAL names the word; `what`: the
 * setting. */
pfc_code pfc_nets_parse(const char *list, const char *what, pfc_nets *out,
                        pfc_err *err) PFC_MUSTCHECK;
bool pfc_nets_hold(const pfc_nets *nets, const pfc_address *address);

#endif
