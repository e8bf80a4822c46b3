/*
 * PostgreSQL's own programs (psql, pg_dump, pg_restore) as child processes; SIGINT ends them.
 */
#ifndef PFC_CLI_LOCAL_PG_PROGRAMS_H
#define PFC_CLI_LOCAL_PG_PROGRAMS_H

#include "core/base/err.h"

#define PFC_PG_LONGEST_S (24 * 3600.0)

/** Runs one of them. *out: its output, caller frees; NULL: not wanted. PFC_ENOTFOUND: it is not
 *  installed; PFC_EUNAVAIL: it failed, with its first sentence. */
pfc_code pfc_pg_run(const char *const *argv, char **out, pfc_err *err) PFC_MUSTCHECK;
/** The rows of `sql`, one a line, tabs between columns. `sql` is made of constants and numbers,
 *  never of text from outside. `url` has no password: others can see the arguments of psql. */
pfc_code pfc_pg_rows(const char *url, const char *sql, char **out, pfc_err *err) PFC_MUSTCHECK;

#endif
