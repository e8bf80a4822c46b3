/*
 * Real histories for the suspects benchmark: commits with their subjects and touched paths, as
 * history.py writes them. Private to this folder.
 */
#ifndef PFC_BENCH_STUDIES_SUSPECTS_HISTORY_H
#define PFC_BENCH_STUDIES_SUSPECTS_HISTORY_H

#include "core/base/err.h"

typedef struct history_commit {
    const char *id, *subject;
    const char **paths;
    size_t paths_len;
} history_commit;

typedef struct history {
    char *text; /* what everything points into */
    history_commit *commits;
    size_t len, cap;
    const char **files; /* every path of the history once, sorted */
    size_t files_len, files_cap;
} history;

/** PFC_ENOTFOUND when the file is not there, PFC_EINVAL with the line when it cannot be read. */
pfc_code history_read(const char *path, history *out, pfc_err *err) PFC_MUSTCHECK;
void history_clear(history *h);

#endif
