/* The patterns of CODEOWNERS files. */
#ifndef PFC_CORE_OWNERS_PATTERN_H
#define PFC_CORE_OWNERS_PATTERN_H

#include "core/base/err.h"

/** One pattern, prepared for matching; its texts are those of `text`, which it owns. */
typedef struct owners_pattern {
    char *text;            /* cut at its slashes */
    const char **segments; /* "**": any number of path segments */
    size_t len;
    bool below; /* also matches every path below one that it matches */
} owners_pattern;

/** gitlab: a pattern without '/' in front matches at any depth. PFC_EINVAL: it is too long, is
 *  empty, or has too many stars. Clear *out, also on failure. */
pfc_code owners_pattern_make(const char *text, bool gitlab, owners_pattern *out,
                             pfc_err *err) PFC_MUSTCHECK;
void owners_pattern_clear(owners_pattern *pattern);
bool owners_pattern_fits(const owners_pattern *pattern, const char *path);
/** '*': any characters, also '/'; '?': one; '\': the next one as it is. */
bool owners_glob_fits(const char *glob, const char *text, size_t len);

#endif
