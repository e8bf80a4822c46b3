/*
 * .ninja_deps: "# ninjadeps\n", a version, then records of a size of four bytes. With the size's
 * highest bit the record is an output's id, its time (4 bytes in version 3, 8 in 4) and the ids of
 * what it depends on; without, it is a name padded to four bytes, and the complement of its id,
 * which counts from 0.
 */
#include <stdlib.h>
#include <string.h>

#include "core/objects/objects.h"

#define SIGNATURE  "# ninjadeps\n"
#define DEPS_BIT   0x80000000u
#define MAX_RECORD (1u << 19)

typedef struct names {
    char **items;
    size_t len, cap;
} names;

static uint32_t u32(const char *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

/* False: the rest is torn or no log at all. */
static bool take_name(names *all, const char *at, size_t len)
{
    if (len < 8 || u32(at + len - 4) != ~(uint32_t)all->len)
        return false;
    all->items = pfc_grow(all->items, all->len, &all->cap, sizeof(*all->items));
    all->items[all->len++] = pfc_strndup(at, strnlen(at, len - 4));
    return true;
}

static bool take_deps(const names *all, const char *at, size_t len, size_t time_bytes,
                      pfc_objects_sink sink, void *arg)
{
    const size_t head = 4 + time_bytes;

    if (len < head || u32(at) >= all->len)
        return false;
    for (size_t i = head; i + 4 <= len; i += 4)
        if (u32(at + i) < all->len)
            sink(arg, all->items[u32(at)], all->items[u32(at + i)], "");
    return true;
}

pfc_code pfc_objects_ninja_deps(const char *bytes, size_t len, pfc_objects_sink sink, void *arg,
                                pfc_err *err)
{
    const size_t signature = strlen(SIGNATURE);
    names all = { 0 };
    size_t at = signature + 4;
    uint32_t version = 0;

    if (len >= at && memcmp(bytes, SIGNATURE, signature) == 0)
        version = u32(bytes + signature);
    if (version != 3 && version != 4)
        return pfc_err_set(err, PFC_EINVAL, ".ninja_deps: expected ninja's log of version 3 or 4");
    while (len - at >= 4) {
        const uint32_t head = u32(bytes + at);
        const size_t size = head & ~DEPS_BIT;
        const char *record = bytes + at + 4;

        if (size > MAX_RECORD || size % 4 || size > len - at - 4)
            break;
        if (head & DEPS_BIT ? !take_deps(&all, record, size, version == 4 ? 8 : 4, sink, arg)
                            : !take_name(&all, record, size))
            break;
        at += 4 + size;
    }
    for (size_t i = 0; i < all.len; i++)
        free(all.items[i]);
    free(all.items);
    return PFC_OK;
}
