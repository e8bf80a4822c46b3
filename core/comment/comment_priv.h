/* Shared by the parts of the comment. */
#ifndef PFC_CORE_COMMENT_COMMENT_PRIV_H
#define PFC_CORE_COMMENT_COMMENT_PRIV_H

#include "core/comment/comment.h"

/* Does the row count in the verdict, and is it broken, a regression or an improvement? */
bool comment_is_change(const pfc_cmp_row *row);

/**
 * Rows in the order of weight: broken, regressions, improvements (the larger first), not decided,
 * the same. Caller frees; cmp->len of them.
 */
const pfc_cmp_row **comment_order(const pfc_cmp *cmp);

/** A table of the rows, as many as fit into max_rows and into max_bytes of `out`; how many there
 * are in it. `evidence`: with a column of what the same benchmark's other metrics say. */
size_t comment_table(const pfc_cmp *cmp, const pfc_cmp_row *const *rows, size_t len, bool evidence,
                     size_t max_rows, size_t max_bytes, pfc_buf *out);
/** One line for each kernel and backend; nothing for a single one. */
void comment_slices(const pfc_cmp *cmp, pfc_buf *out);
/** Functions whose number of instructions changed; nothing where they are not known. */
void comment_functions(const pfc_cmp *cmp, pfc_buf *out);

#endif
