/* Memory that never fails for the caller, and the end of the process when it cannot be had. */
#include "core/base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_BYTES 1024

void pfc_die(const char *fmt, ...)
{
    va_list args;

    fputs("perfci: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

void *pfc_alloc(size_t size_bytes)
{
    return pfc_calloc(1, size_bytes);
}

void *pfc_calloc(size_t count, size_t size_bytes)
{
    size_t bytes = 0;
    void *p = NULL;

    if (__builtin_mul_overflow(count, size_bytes, &bytes))
        pfc_die("out of memory: %zu items of %zu bytes", count, size_bytes);
    /* malloc(0) may return NULL, which callers could not distinguish from failure. Small blocks
     * come from malloc, because glibc's calloc does not use the thread's cache of freed blocks. */
    bytes = PFC_MAX(bytes, 1);
    p = bytes <= SMALL_BYTES ? malloc(bytes) : calloc(1, bytes);
    if (p == NULL)
        pfc_die("out of memory: %zu bytes", bytes);
    return bytes <= SMALL_BYTES ? memset(p, 0, bytes) : p;
}

void *pfc_realloc(void *old, size_t count, size_t size_bytes)
{
    size_t bytes = 0;
    void *p;

    if (__builtin_mul_overflow(PFC_MAX(count, 1), PFC_MAX(size_bytes, 1), &bytes))
        pfc_die("out of memory: %zu items of %zu bytes", count, size_bytes);
    p = realloc(old, bytes);
    if (p == NULL)
        pfc_die("out of memory: %zu bytes", bytes);
    return p;
}

char *pfc_strdup(const char *text)
{
    return text == NULL ? NULL : pfc_strndup(text, strlen(text));
}

char *pfc_strndup(const char *text, size_t len)
{
    char *copy = pfc_realloc(NULL, len + 1, 1);

    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *pfc_vformat(const char *fmt, va_list args)
{
    char *out = NULL;

    if (vasprintf(&out, fmt, args) < 0)
        pfc_die("out of memory while formatting text");
    return out;
}

char *pfc_format(const char *fmt, ...)
{
    va_list args;
    char *out;

    va_start(args, fmt);
    out = pfc_vformat(fmt, args);
    va_end(args);
    return out;
}

bool pfc_streq(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return strcmp(a, b) == 0;
}

void *pfc_grow(void *items, size_t len, size_t *cap, size_t item_bytes)
{
    size_t wanted;

    if (len < *cap)
        return items;
    wanted = *cap == 0 ? 8 : *cap * 2;
    items = pfc_realloc(items, wanted, item_bytes);
    memset((char *)items + *cap * item_bytes, 0, (wanted - *cap) * item_bytes);
    *cap = wanted;
    return items;
}
