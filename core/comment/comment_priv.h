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

typedef struct comment_shape {
    bool evidence;          /* a column of what the same benchmark's other metrics say */
    const char *series_url; /* as of pfc_comment_opts */
    size_t max_rows;
    size_t max_bytes; /* of `out` */
} comment_shape;

/** A table of the rows, as many as fit; returns how many there are in it. */
size_t comment_table(const pfc_cmp *cmp, const comment_shape *shape, const pfc_cmp_row *const *rows,
                     size_t len, pfc_buf *out);
/** The changes of the same benchmark's other metrics; false: there are none. */
bool comment_evidence(const pfc_cmp *cmp, const pfc_cmp_row *of, pfc_buf *out);
/** Head and base with links, and the link to the whole comparison; then the note. */
void comment_sides(const pfc_cmp *cmp, const pfc_comment_opts *opts, pfc_buf *out);
/** Whether the object code of both sides is the same; nothing where it is not known. */
void comment_object_code(const pfc_cmp *cmp, pfc_buf *out);
/** One line for each kernel and backend; nothing for a single one. */
void comment_slices(const pfc_cmp *cmp, pfc_buf *out);
/** Functions whose number of instructions changed; nothing where they are not known. */
void comment_functions(const pfc_cmp *cmp, pfc_buf *out);

#endif
