/*
 * Statements of schema/queries with structs for parameters and rows.
 *
 * schema/statements.py writes server/repo/sql/FILE.h for each schema/queries/FILE.sql, with a
 * function a statement; this is what those are made of. A list of rows is `{items, len, next,
 * hold}`: texts of the items point into `hold`, and pfc_rows_clear(&list) frees both. Texts are
 * NULL, numbers 0 and doubles NAN where the database has NULL.
 */
#ifndef PFC_SERVER_REPO_STATEMENTS_STATEMENT_H
#define PFC_SERVER_REPO_STATEMENTS_STATEMENT_H

#include <stdlib.h>
#include <string.h>

#include "server/repo/connection/db.h"

/** Frees a list of rows, which is empty then. */
#define pfc_rows_clear(rows)                                                                       \
    do {                                                                                           \
        free((rows)->items);                                                                       \
        pfc_res_free((rows)->hold);                                                                \
        memset((rows), 0, sizeof(*(rows)));                                                        \
    } while (0)

#define PFC_ROWS(name, type)                                                                       \
    typedef struct name {                                                                          \
        type *items;                                                                               \
        size_t len;                                                                                \
        int64_t next;                                                                              \
        pfc_res *hold;                                                                             \
    } name

/** Any list, before it gets its type. */
typedef struct pfc_rows {
    void *items;
    size_t len;
    int64_t next;
    pfc_res *hold;
} pfc_rows;

/** Moves untyped rows into a typed list. */
#define PFC_ROWS_INTO(out, rows)                                                                   \
    do {                                                                                           \
        (out)->items = (rows).items;                                                               \
        (out)->len = (rows).len;                                                                   \
        (out)->next = (rows).next;                                                                 \
        (out)->hold = (rows).hold;                                                                 \
    } while (0)

/** Frees the rows, of which the texts stay as long as *keep, which pfc_res_free frees. */
#define pfc_rows_keep_texts(rows, keep)                                                            \
    do {                                                                                           \
        *(keep) = (rows)->hold;                                                                    \
        (rows)->hold = NULL;                                                                       \
        pfc_rows_clear(rows);                                                                      \
    } while (0)

/** For a list that must have one row. None: PFC_ENOTFOUND "no WHAT"; several: PFC_EINVAL. */
pfc_code pfc_rows_expect_one(size_t len, const char *what, pfc_err *err) PFC_MUSTCHECK;

#define PFC_LIST_LIMIT 100
#define PFC_LIST_MAX   1000

typedef struct pfc_page {
    int64_t cursor;
    int limit; /* 0: PFC_LIST_LIMIT */
} pfc_page;

/** Limit of a page, with one more row to see whether there is a next page. */
int pfc_page_fetch(pfc_page page);
/** Cuts rows that were asked with pfc_page_fetch to the page. `member` is what the cursor counts.
 */
#define pfc_rows_cut(rows, page, member)                                                           \
    do {                                                                                           \
        if ((rows)->len == (size_t)pfc_page_fetch(page)) {                                         \
            (rows)->len--;                                                                         \
            (rows)->next = (rows)->items[(rows)->len - 1].member;                                  \
        }                                                                                          \
    } while (0)

/** A truth value that may be NULL. */
typedef struct pfc_maybe {
    bool known; /* false: NULL */
    bool value;
} pfc_maybe;

/** A bytea in a row; data NULL for SQL NULL. */
typedef struct pfc_bytes {
    const unsigned char *data;
    size_t len;
} pfc_bytes;

/** An array in a row, as PostgreSQL prints it; text NULL for SQL NULL. */
typedef struct pfc_array_text {
    const char *text;
} pfc_array_text;

/** The elements, none for SQL NULL; *out is the caller's (NULL when empty). A NULL element is NAN.
 */
void pfc_array_f64s(pfc_array_text array, double **out, size_t *len);
/** How many elements an array of float8 has that came through array_send(), none for SQL NULL; the
 *  elements, at most `most`, into `out`: returns how many. Neither side
 *  makes or parses text for these. */
size_t pfc_bytes_f64s_len(pfc_bytes array);
size_t pfc_bytes_f64s(pfc_bytes array, double *out, size_t most);
void pfc_array_u32s(pfc_array_text array, uint32_t **out, size_t *len);
void pfc_array_i64s(pfc_array_text array, int64_t **out, size_t *len); /* a NULL element is 0 */

/** Texts, all of it owned. */
typedef struct pfc_texts {
    char **items;
    size_t len;
} pfc_texts;

/** The elements of an array of texts with one dimension; NULL elements are left out. */
void pfc_array_texts(pfc_array_text array, pfc_texts *out);
/** Frees the texts; the list is empty then. */
void pfc_texts_clear(pfc_texts *texts);

typedef enum pfc_sql_type {
    PFC_SQL_ID, /* int64_t; 0: NULL */
    PFC_SQL_I64,
    PFC_SQL_I32,
    PFC_SQL_F64, /* not finite: NULL */
    PFC_SQL_BOOL,
    PFC_SQL_TEXT,
    PFC_SQL_JSON,
    PFC_SQL_TIMESTAMP, /* as PostgreSQL prints it, like a date */
    PFC_SQL_DATE,
    PFC_SQL_BYTES,
    PFC_SQL_VOID, /* a column that is not read */
    PFC_SQL_TEXTS,
    PFC_SQL_I64S,
    PFC_SQL_U32S,
    PFC_SQL_F64S,
    PFC_SQL_BOOLS,
} pfc_sql_type;

/** A parameter or a column, and where it is in its struct. */
typedef struct pfc_sql_member {
    const char *name;
    pfc_sql_type type;
    bool nullable; /* an array that is NULL: SQL NULL, else an empty one. A BOOL is a pfc_maybe */
    size_t offset, len_offset;
} pfc_sql_member;

typedef struct pfc_sql_statement {
    const char *name;
    const pfc_sql_member *in;
    size_t in_len;
    const pfc_sql_member *out;
    size_t out_len;
    size_t row_size;
    bool binary; /* the result is read in binary form: it has bytes */
} pfc_sql_statement;

/** Sorted by name, as pfc_statements. */
extern const pfc_sql_statement pfc_sql_statements[];
extern const size_t pfc_sql_statements_len;

/** Runs the statement with the parameters of its struct at `args` (NULL: it has none). out NULL: no
 *  rows are wanted; else clear it with pfc_rows_clear. Codes as for pfc_tx_query. */
pfc_code pfc_sql_run(pfc_tx *tx, const pfc_sql_statement *statement, const void *args,
                     pfc_rows *out, pfc_err *err) PFC_MUSTCHECK;
/** The same for a statement of which the number of changed rows is asked. */
pfc_code pfc_sql_count(pfc_tx *tx, const pfc_sql_statement *statement, const void *args,
                       size_t *changed, pfc_err *err) PFC_MUSTCHECK;
/** The same for a statement with one column: its value in the first row, which has row_size bytes
 * at `value` (NULL: it is not wanted); without a row 0, false, NAN. */
pfc_code pfc_sql_value(pfc_tx *tx, const pfc_sql_statement *statement, const void *args,
                       void *value, pfc_err *err) PFC_MUSTCHECK;

#endif
