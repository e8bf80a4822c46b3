/*
 * Memory for one JSON tree that is read and thrown away: jansson allocates every number
 * separately, which for a run document costs more than parsing it. Between begin and seal its
 * allocations on this thread come from chunks that are freed together; everything else goes to
 * malloc.
 */
#include "core/wire/arena.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <jansson.h>

#define ALIGN 16
/* glibc consolidates its whole heap when more than 64 KiB are freed at once, so small
 * documents stay below that */
#define CHUNK_MIN (32u * 1024)
#define CHUNK_MAX (4u * 1024 * 1024)

typedef struct chunk {
    struct chunk *next;
    size_t len, cap; /* bytes of data used and there */
    _Alignas(ALIGN) char data[];
} chunk;

static _Thread_local chunk *chunks; /* newest first */
static _Thread_local bool active;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *take(size_t size)
{
    size_t need = (size + ALIGN - 1) / ALIGN * ALIGN;
    void *at;

    if (!active)
        return malloc(size);
    if (need < size)
        return NULL;
    if (!chunks || chunks->cap - chunks->len < need) {
        size_t cap = chunks ? PFC_MIN(chunks->cap * 2, (size_t)CHUNK_MAX) : (size_t)CHUNK_MIN;
        chunk *fresh;

        cap = PFC_MAX(cap, need);
        fresh = malloc(sizeof(*fresh) + cap);
        if (!fresh)
            return NULL;
        *fresh = (chunk){ .next = chunks, .cap = cap };
        chunks = fresh;
    }
    at = chunks->data + chunks->len;
    chunks->len += need;
    return at;
}

/* Memory of the arena is freed with the arena, all other memory here. */
static void give(void *at)
{
    for (const chunk *c = chunks; c; c = c->next) {
        if ((uintptr_t)at - (uintptr_t)c->data < c->cap)
            return;
    }
    free(at);
}

static void install(void)
{
    json_set_alloc_funcs(take, give);
}

void pfc_json_arena_begin(void)
{
    (void)pthread_once(&once, install);
    active = true;
}

void pfc_json_arena_seal(void)
{
    active = false;
}

void pfc_json_arena_free(void)
{
    while (chunks) {
        chunk *next = chunks->next;

        free(chunks);
        chunks = next;
    }
}
