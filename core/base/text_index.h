/*
 * Finds texts in a long list by binary search.
 */
#ifndef PFC_CORE_BASE_TEXT_INDEX_H
#define PFC_CORE_BASE_TEXT_INDEX_H

#include "core/base/base.h"

typedef struct pfc_text_place {
    const char *text; /* borrowed */
    size_t place;     /* in the list */
} pfc_text_place;

/** The texts of a list in the order of their bytes. Reading it is thread-safe. */
typedef struct pfc_text_index {
    pfc_text_place *items; /* owned */
    size_t len;
} pfc_text_index;

/** texts: none is NULL; they must outlive the index, the array itself need not. Clear *out. */
void pfc_text_index_make(pfc_text_index *out, const char *const *texts, size_t len);
/** *place: where the text is in the list, the first one of equal texts; NULL: not wanted. False:
 *  it is not there; *place is left alone. */
bool pfc_text_index_find(const pfc_text_index *index, const char *text, size_t *place);
void pfc_text_index_clear(pfc_text_index *index);

#endif
