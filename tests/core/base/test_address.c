/* Addresses and networks: each end of a prefix, each form of a text, and the limits of a list. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/address.h"
#include "core/base/buf.h"

#include "tests/check/check.h"

static pfc_address parsed(const char *text)
{
    pfc_address address;

    cr_assert(pfc_address_parse(text, strlen(text), &address), "%s", text);
    return address;
}

Test(address, a_text_is_an_address_and_nothing_more)
{
    static const struct {
        const char *text, *back; /* back NULL: refused */
    } cases[] = {
        { "192.0.2.7", "192.0.2.7" },
        { "0.0.0.0", "0.0.0.0" },
        { "::ffff:192.0.2.7", "192.0.2.7" },
        { "2001:DB8::1", "2001:db8::1" },
        { "::", "" },
        { "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
          "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
        { "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555", NULL },
        { "", NULL },
        { "256.0.0.1", NULL },
        { "1.2.3", NULL },
        { "1.2.3.4 ", NULL },
        { "::1%lo", NULL },
        { "[::1]", NULL },
        { "host", NULL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_address address;
        char text[PFC_ADDRESS_TEXT] = "unset";
        const bool good = pfc_address_parse(cases[i].text, strlen(cases[i].text), &address);

        cr_expect(eq(int, good, cases[i].back != NULL), "%s", cases[i].text);
        if (!good)
            continue;
        pfc_address_text(&address, text);
        cr_expect(eq(str, text, (char *)cases[i].back), "%s", cases[i].text);
        cr_expect(eq(int, pfc_address_is_v4(&address), strchr(text, '.') != NULL), "%s",
                  cases[i].text);
    }
    /* Bytes behind the length are no part of the address. */
    {
        pfc_address address;
        char text[PFC_ADDRESS_TEXT];

        cr_assert(pfc_address_parse("10.0.0.12", 8, &address));
        pfc_address_text(&address, text);
        cr_expect(eq(str, text, "10.0.0.1"));
    }
}

Test(address, a_socket_address_is_of_either_family_or_unknown)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    struct sockaddr other = { .sa_family = AF_UNIX };
    pfc_address address;
    char text[PFC_ADDRESS_TEXT];

    v4.sin_addr.s_addr = htonl(0x0a010203);
    cr_assert(pfc_address_of((struct sockaddr *)&v4, &address));
    pfc_address_text(&address, text);
    cr_expect(eq(str, text, "10.1.2.3"));
    cr_assert(eq(int, inet_pton(AF_INET6, "2001:db8::5", &v6.sin6_addr), 1));
    cr_assert(pfc_address_of((struct sockaddr *)&v6, &address));
    pfc_address_text(&address, text);
    cr_expect(eq(str, text, "2001:db8::5"));
    for (int i = 0; i < 2; i++) {
        memset(&address, 7, sizeof(address));
        cr_expect(not(pfc_address_of(i ? &other : NULL, &address)));
        pfc_address_text(&address, text);
        cr_expect(eq(str, text, ""));
    }
}

/* The first and the last address of each network, and those beside it. */
Test(address, a_network_holds_both_its_ends_and_no_neighbour)
{
    static const struct {
        const char *net, *first, *last, *before, *after; /* before, after NULL: none */
    } cases[] = {
        { "10.0.0.0/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0" },
        { "172.16.0.0/12", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0" },
        { "192.0.2.128/25", "192.0.2.128", "192.0.2.255", "192.0.2.127", "192.0.3.0" },
        { "192.0.2.4/31", "192.0.2.4", "192.0.2.5", "192.0.2.3", "192.0.2.6" },
        { "192.0.2.7/32", "192.0.2.7", "192.0.2.7", "192.0.2.6", "192.0.2.8" },
        { "192.0.2.7", "192.0.2.7", "192.0.2.7", "192.0.2.6", "192.0.2.8" },
        { "0.0.0.0/0", "0.0.0.0", "255.255.255.255", NULL, "::1:0:0:0" },
        { "fe80::/9", "fe80::", "feff:ffff::1", "fe7f:ffff::", "ff00::" },
        { "2001:db8::/33",
          "2001:db8::", "2001:db8:7fff:ffff::", "2001:db7:ffff::", "2001:db8:8000::" },
        { "::1/128", "::1", "::1", "::", "::2" },
        { "::2", "::2", "::2", "::1", "::3" },
        { "::/0", "::", "ffff::ffff", NULL, NULL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        const char *const inside[] = { cases[i].first, cases[i].last };
        const char *const outside[] = { cases[i].before, cases[i].after };
        pfc_nets nets;

        cr_assert(eq(int, pfc_nets_parse(cases[i].net, "n", &nets, NULL), PFC_OK));
        cr_assert(eq(sz, nets.len, 1));
        for (size_t k = 0; k < 2; k++) {
            pfc_address address = parsed(inside[k]);

            cr_expect(pfc_nets_hold(&nets, &address), "%s %s", cases[i].net, inside[k]);
            if (!outside[k])
                continue;
            address = parsed(outside[k]);
            cr_expect(not(pfc_nets_hold(&nets, &address)), "%s %s", cases[i].net, outside[k]);
        }
    }
}

Test(address, prefixes_have_the_length_of_their_family)
{
    static const struct {
        const char *text;
        pfc_code code;
    } cases[] = {
        { "1.2.3.4/0", PFC_OK },      { "1.2.3.4/32", PFC_OK },     { "1.2.3.4/33", PFC_EINVAL },
        { "1.2.3.4/-1", PFC_EINVAL }, { "::1/0", PFC_OK },          { "::1/128", PFC_OK },
        { "::1/129", PFC_EINVAL },    { "::1/0000008", PFC_OK },    { "::1/00000008", PFC_EINVAL },
        { "1.2.3.4/", PFC_EINVAL },   { "/8", PFC_EINVAL },         { "1.2.3.4/8/8", PFC_EINVAL },
        { "1.2.3.4/8x", PFC_EINVAL }, { "1.2.3.4/ 8", PFC_EINVAL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_nets nets;
        pfc_err err = { 0 };

        cr_expect(eq(int, pfc_nets_parse(cases[i].text, "--networks", &nets, &err), cases[i].code),
                  "%s", cases[i].text);
    }
}

Test(address, lists_are_separated_by_commas_and_blanks_and_have_at_most_32_members)
{
    static const struct {
        const char *list;
        size_t len;
    } cases[] = { { NULL, 0 },      { "", 0 },        { " ,, ", 0 },        { "::1", 1 },
                  { "::1,::2", 2 }, { "::1 ::2", 2 }, { ", ::1 , ::2,", 2 } };
    pfc_nets nets;
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        nets.len = 9;
        cr_expect(eq(int, pfc_nets_parse(cases[i].list, "n", &nets, NULL), PFC_OK), "%zu", i);
        cr_expect(eq(sz, nets.len, cases[i].len), "%zu", i);
    }
    for (int count = 32; count <= 33; count++) {
        pfc_buf list;

        pfc_buf_init(&list, 4096);
        for (int i = 1; i <= count; i++)
            pfc_buf_printf(&list, "::%d,", i);
        cr_expect(eq(int, pfc_nets_parse(pfc_buf_text(&list), "--networks", &nets, &err),
                     count == 32 ? PFC_OK : PFC_EINVAL));
        cr_expect(eq(sz, nets.len, 32));
        pfc_buf_clear(&list);
    }
    cr_expect(eq(str, err.msg, "--networks: expected at most 32 networks"));
    for (int i = 32; i <= 33; i++) {
        char *text = pfc_format("::%d", i);
        const pfc_address address = parsed(text);

        cr_expect(eq(int, pfc_nets_hold(&nets, &address), i == 32), "%s", text);
        free(text);
    }
}

Test(err, a_hint_and_a_field_belong_to_one_error)
{
    pfc_err err = { 0 };

    cr_expect(eq(int, pfc_err_set_field(&err, PFC_ECONFLICT, "a.b", "no"), PFC_ECONFLICT));
    cr_expect(eq(int, pfc_err_hint(&err, "try %d\x01", 5), PFC_ECONFLICT));
    cr_expect(eq(str, err.hint, "try 5?"));
    cr_expect(eq(str, err.msg, "no"));
    cr_expect(eq(int, pfc_err_set_field(&err, PFC_EIO, "c", "other"), PFC_EIO));
    cr_expect(eq(str, err.hint, ""));
    cr_expect(eq(int, pfc_err_hint(&err, "again"), PFC_EIO));
    cr_expect(eq(int, pfc_err_set(&err, PFC_EBROKEN, "third"), PFC_EBROKEN));
    cr_expect(eq(int, err.code, PFC_EBROKEN));
    cr_expect(eq(str, err.hint, ""));
    cr_expect(eq(str, err.field, ""));
    cr_expect(eq(int, pfc_err_hint(NULL, "x"), PFC_EBUG));
    cr_expect(eq(int, pfc_err_wrap(NULL, "x"), PFC_EBUG));
    cr_expect(eq(int, pfc_err_set_field(NULL, PFC_EIO, "f", "x"), PFC_EIO));
    err = (pfc_err){ 0 };
    cr_expect(eq(int, pfc_err_wrap(&err, "a context without an error"), PFC_EBUG));
}
