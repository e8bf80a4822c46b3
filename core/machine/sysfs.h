/*
 * One-line files of /proc and /sys below a root that tests replace. A file that is missing, empty
 * or not a number is reported as absent, never guessed.
 */
#ifndef PFC_CORE_MACHINE_SYSFS_H
#define PFC_CORE_MACHINE_SYSFS_H

#include "core/base/buf.h"

/** First line of root + path, without blanks at its end and at most 255 bytes; NULL when it cannot
 * be read or is empty. Caller frees. root NULL: "". */
char *pfc_sysfs_line(const char *root, const char *fmt, ...) PFC_PRINTF(2, 3);
/** The first line as a decimal integer; false leaves *out alone. */
bool pfc_sysfs_i64(const char *root, int64_t *out, const char *fmt, ...) PFC_PRINTF(3, 4);
/** Up to `cap` bytes of a binary file; the number read, 0 when it cannot be. */
size_t pfc_sysfs_bytes(const char *root, void *out, size_t cap, const char *fmt, ...)
    PFC_PRINTF(4, 5);
/** Names in a folder that match a glob pattern ("card*"), in order; *len of them, at most `max`.
 *  Caller frees each and the array. NULL when there are none. */
char **pfc_sysfs_list(const char *root, const char *pattern, size_t max, size_t *len);
void pfc_sysfs_list_free(char **names, size_t len);

#endif
