/* A list of backends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/backends/backend.h"

void pfc_backends_clear(pfc_backends *backends)
{
    free(backends->items);
    *backends = (pfc_backends){ 0 };
}

void pfc_backends_add(pfc_backends *backends, const char *name, const char *missing, bool exact,
                      const pfc_backend_ops *ops, const void *arg)
{
    pfc_backend *b;

    backends->items =
        pfc_grow(backends->items, backends->len, &backends->cap, sizeof(*backends->items));
    b = &backends->items[backends->len++];
    *b = (pfc_backend){ .exact = exact, .ops = ops, .arg = arg };
    snprintf(b->name, sizeof(b->name), "%s", name);
    snprintf(b->missing, sizeof(b->missing), "%s", missing ? missing : "");
}

void pfc_backends_chips(const pfc_backends *backends, char out[PFC_SHA256_HEX])
{
    out[0] = '\0';
    if (backends->hash_chips)
        backends->hash_chips(out);
}

const pfc_backend *pfc_backends_find(const pfc_backends *backends, const char *name)
{
    for (size_t i = 0; i < backends->len; i++) {
        if (strcmp(backends->items[i].name, name) == 0)
            return &backends->items[i];
    }
    return NULL;
}
