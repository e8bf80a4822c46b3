/*
 * The SQL of schema/, as embed.py puts it into the program at build time.
 */
#ifndef PFC_SCHEMA_SCHEMA_H
#define PFC_SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

/** One numbered migration; versions go up from 1 without gaps. */
typedef struct pfc_migration {
    int version;
    const char *name; /* "0001_initial" */
    const char *sql;
} pfc_migration;

/** One named statement. */
typedef struct pfc_statement {
    const char *name;
    const char *sql;
    bool copy;    /* a COPY: it is not prepared, and its rows come after it */
    bool generic; /* one plan for all values */
} pfc_statement;

extern const pfc_migration pfc_migrations[];
extern const size_t pfc_migrations_len;

/** Sorted by name. */
extern const pfc_statement pfc_statements[];
extern const size_t pfc_statements_len;

#endif
