/* The client's address: the peer's, or the one that a trusted proxy forwards for. */
#include <string.h>

#include "server/http/connection/conns.h"

size_t httpd_peer_key(const pfc_address *peer, const unsigned char **bytes)
{
    const size_t v4_at = sizeof(peer->bytes) - 4;

    *bytes = pfc_address_is_v4(peer) ? peer->bytes + v4_at : peer->bytes;
    /* Providers assign a whole /64 to one customer. */
    return pfc_address_is_v4(peer) ? 4 : 8;
}

bool httpd_forwarded_for(const char *header, const pfc_nets *trusted, pfc_address *out)
{
    size_t end = header ? strlen(header) : 0;

    /* From the right: each proxy appends the address of its client, and only trusted proxies are
     * believed. */
    while (end > 0) {
        size_t begin = end;

        while (begin > 0 && header[begin - 1] != ',')
            begin--;
        while (end > begin && header[end - 1] == ' ')
            end--;
        while (begin < end && header[begin] == ' ')
            begin++;
        if (!pfc_address_parse(header + begin, end - begin, out))
            return false;
        if (!pfc_nets_hold(trusted, out))
            return true;
        while (begin > 0 && header[begin - 1] != ',')
            begin--;
        end = begin > 0 ? begin - 1 : 0;
    }
    return false;
}
