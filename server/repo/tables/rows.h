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

/** Queries on tx. page NULL: all rows, no cursor. Clears args. */
pfc_code pfc_rows_query(pfc_tx *tx, const char *name, pfc_args *args, const pfc_shape *shape,
                        const pfc_page *page, pfc_rows *out, pfc_err *err) PFC_MUSTCHECK;
#endif
