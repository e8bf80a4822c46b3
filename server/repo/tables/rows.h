/*
 * From a named query to a typed list, once for all table families.
 */
#ifndef PFC_SERVER_REPO_TABLES_ROWS_H
#define PFC_SERVER_REPO_TABLES_ROWS_H

#include "server/repo/tables/repo.h"

/** How a row becomes a struct. The first column is the one that the cursor counts. */
typedef struct pfc_shape {
    const pfc_col *cols;
    size_t cols_len;
    size_t size;
} pfc_shape;

#define PFC_SHAPE(columns, type)                                                                   \
    {                                                                                              \
        (columns), PFC_ARRAY_LEN(columns), sizeof(type)                                            \
    }
#define PFC_COL(type, field, column, kind_)                                                        \
    {                                                                                              \
        .name = (column), .kind = PFC_COL_##kind_, .offset = offsetof(type, field)                 \
    }

/** Pushes the cursor (0: NULL). */
void pfc_args_cursor(pfc_args *args, pfc_page page);

/** Queries on tx. page NULL: all rows, no cursor. Clears args. */
pfc_code pfc_rows_query(pfc_tx *tx, const char *name, pfc_args *args, const pfc_shape *shape,
                        const pfc_page *page, pfc_rows *out, pfc_err *err) PFC_MUSTCHECK;
/** The same on a connection of its own. */
pfc_code pfc_rows_read(pfc_db *db, const char *name, pfc_args *args, const pfc_shape *shape,
                       const pfc_page *page, pfc_rows *out, pfc_err *err) PFC_MUSTCHECK;
/** pfc_rows_read of a statement that takes project_id (0: NULL), cursor and limit. */
pfc_code pfc_rows_page(pfc_db *db, const char *name, int64_t project_id, pfc_page page,
                       const pfc_shape *shape, pfc_rows *out, pfc_err *err) PFC_MUSTCHECK;
/** pfc_rows_read for exactly one row; none: PFC_ENOTFOUND "no WHAT"; several: PFC_EINVAL. */
pfc_code pfc_rows_one(pfc_db *db, const char *name, pfc_args *args, const pfc_shape *shape,
                      pfc_rows *out, const char *what, pfc_err *err) PFC_MUSTCHECK;

#endif
