/*
 * Attributes, sizes and memory that every other file may count on.
 *
 * Allocation never fails from the caller's point of view: every size that comes from outside is
 * bounded before it reaches an allocation, so running out of memory is a fault of the machine, and
 * the process ends with a sentence on stderr instead of limping on.
 */
#ifndef PFC_CORE_BASE_BASE_H
#define PFC_CORE_BASE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PFC_MUSTCHECK         __attribute__((warn_unused_result))
#define PFC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define PFC_NORETURN          __attribute__((noreturn))
#define PFC_UNUSED            __attribute__((unused))

#define PFC_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define PFC_MIN(a, b)    ((a) < (b) ? (a) : (b))
#define PFC_MAX(a, b)    ((a) > (b) ? (a) : (b))

/** Version of every program of this build, as in `--version` and /version. */
#define PFC_VERSION "0.1.0"

/** Ends the process with a sentence on stderr; for out of memory and broken invariants only. */
PFC_NORETURN void pfc_die(const char *fmt, ...) PFC_PRINTF(1, 2);

/** size_bytes > 0 zeroed bytes, caller frees with free(); never NULL. */
void *pfc_alloc(size_t size_bytes) __attribute__((malloc, returns_nonnull));

/** An array of `count` zeroed items of `size_bytes`; ends the process on overflow. count may be 0.
 */
void *pfc_calloc(size_t count, size_t size_bytes) __attribute__((malloc, returns_nonnull));

/** Resizes to count * size_bytes (not zeroed); `old` may be NULL; never returns NULL. */
void *pfc_realloc(void *old, size_t count, size_t size_bytes) __attribute__((returns_nonnull));

/** A copy of `text`, or NULL when text is NULL; caller frees. */
char *pfc_strdup(const char *text);

/** A copy of the first `len` bytes of `text`, which has as many, terminated; caller frees. */
char *pfc_strndup(const char *text, size_t len);

/** printf into a new string; caller frees. Never NULL. */
char *pfc_format(const char *fmt, ...) PFC_PRINTF(1, 2);
/** The same with a list of arguments. */
char *pfc_vformat(const char *fmt, va_list args) PFC_PRINTF(1, 0);

/** True when both are equal strings; NULL equals only NULL. */
bool pfc_streq(const char *a, const char *b);

/** Makes room for one more item: doubles *cap when len == *cap. Returns the (moved) array. */
void *pfc_grow(void *items, size_t len, size_t *cap, size_t item_bytes);

#endif
