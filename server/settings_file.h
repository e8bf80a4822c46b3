/*
 * The server's settings file: NAME=value lines with the names of the environment variables, as in a
 * systemd EnvironmentFile. Blank lines and lines that begin with # are ignored; a value may be in
 * "double quotes"; there are no escapes and no continuation lines. Secrets do not belong in it.
 */
#ifndef PFC_SERVER_SETTINGS_FILE_H
#define PFC_SERVER_SETTINGS_FILE_H

#include "core/base/err.h"

#define PFC_SETTINGS_FILE_MAX_BYTES (64 * 1024)
#define PFC_SETTINGS_FILE_MAX_VALUE 4096

typedef struct pfc_settings_file {
    char **names, **values; /* owned; each name once */
    size_t len;
} pfc_settings_file;

/** PFC_EINVAL for names that are not in `known` (NULL-terminated), a name given twice, control
 * bytes, and a value over 4 KiB. `name` is the file in messages "NAME:LINE: ...". *out is cleared
 * on failure. */
pfc_code pfc_settings_file_parse(const char *text, size_t len, const char *name,
                                 const char *const *known, pfc_settings_file *out,
                                 pfc_err *err) PFC_MUSTCHECK;
/** Reads and parses a file of at most 64 KiB. */
pfc_code pfc_settings_file_read(const char *path, const char *const *known, pfc_settings_file *out,
                                pfc_err *err) PFC_MUSTCHECK;
/** NULL when the file does not have the name. */
const char *pfc_settings_file_get(const pfc_settings_file *file, const char *name);
void pfc_settings_file_clear(pfc_settings_file *file);

#endif
