/*
 * What the subcommands that list the service's rows share: queries and cells.
 */
#ifndef PFC_CLI_BROWSE_H
#define PFC_CLI_BROWSE_H

#include "cli/cli.h"
#include "core/base/buf.h"

/** Adds key=value, escaped, to the path's query; nothing when value is NULL. */
void pfc_browse_query(pfc_buf *path, const char *key, const char *value);
void pfc_browse_query_i64(pfc_buf *path, const char *key, int64_t value);

/* Cells of the newest row; a member that is absent, null or of another kind leaves the cell empty. */

void pfc_browse_text(pfc_table *table, size_t col, const json_t *obj, const char *key);
/** A whole number, or the first 12 digits of a commit. */
void pfc_browse_id(pfc_table *table, size_t col, const json_t *obj, const char *key);
void pfc_browse_value(pfc_table *table, size_t col, const json_t *value);
void pfc_browse_percent(pfc_table *table, size_t col, const json_t *value);

/** "want A, B or C, got "D"; did you mean ...?" with code PFC_EINVAL; `known` is NULL-terminated. */
pfc_code pfc_browse_unknown(const char *what, const char *word, const char *const *known,
                            pfc_err *err);

#endif
