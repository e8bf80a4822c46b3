/*
 * Key/value labels in a column of type jsonb: an object of texts. core/wire reads them
 * (pfc_labels_parse).
 */
#ifndef PFC_SERVER_REPO_DOCUMENTS_LABELS_H
#define PFC_SERVER_REPO_DOCUMENTS_LABELS_H

#include "core/wire/wire.h"

/** The text of the column, sorted by name, so that equal labels have equal texts; "{}" for none
 *  and for NULL. The caller frees it. */
char *pfc_labels_text(const pfc_labels *labels);

#endif
