/*
 * Memory between two unreadable pages: a reader that goes one byte past either end of its input
 * dies at once, in every build. Header only, so that a test of any folder can use it.
 */
#ifndef PFC_TESTS_SUPPORT_GUARDED_TEXT_H
#define PFC_TESTS_SUPPORT_GUARDED_TEXT_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct guard {
    char *map; /* an unreadable page, `len` bytes, an unreadable page */
    size_t page;
    size_t len;
} guard;

/** Room for texts of up to `max` bytes. */
static inline guard guard_open(size_t max)
{
    guard g = { .page = (size_t)sysconf(_SC_PAGESIZE) };

    g.len = (max / g.page + 1) * g.page;
    g.map = mmap(NULL, g.len + 2 * g.page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.map == MAP_FAILED || mprotect(g.map + g.page, g.len, PROT_READ | PROT_WRITE) != 0)
        abort();
    return g;
}

static inline void guard_close(guard *g)
{
    munmap(g->map, g->len + 2 * g->page);
    g->map = NULL;
}

/** A copy whose last byte is the last readable one; valid until the next. */
static inline char *guard_end(guard *g, const char *text, size_t len)
{
    char *at = g->map + g->page + g->len - len;

    return len ? memcpy(at, text, len) : at;
}

/** A copy whose first byte is the first readable one; valid until the next. */
static inline char *guard_start(guard *g, const char *text, size_t len)
{
    char *at = g->map + g->page;

    return len ? memcpy(at, text, len) : at;
}

#endif
