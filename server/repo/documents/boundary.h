/*
 * alerts.boundary: the entries of a fingerprint that changed where a toolchain, a harness or a
 * machine explains an alert.
 */
#ifndef PFC_SERVER_REPO_DOCUMENTS_BOUNDARY_H
#define PFC_SERVER_REPO_DOCUMENTS_BOUNDARY_H

#include "core/base/base.h"

typedef struct pfc_boundary_field {
    char *name;         /* NULL: the stored entry has none */
    char *before, *now; /* NULL: the entry did not exist */
} pfc_boundary_field;

/** All of it is owned. */
typedef struct pfc_boundary_fields {
    pfc_boundary_field *items;
    size_t len, cap;
} pfc_boundary_fields;

/** Copies the texts. */
void pfc_boundary_fields_add(pfc_boundary_fields *fields, const char *name, const char *before,
                             const char *now);
/** The text of the column; the caller frees it. */
char *pfc_boundary_fields_text(const pfc_boundary_fields *fields);
/** Reads the column; *out is empty for NULL and for another document. Clear it. */
void pfc_boundary_fields_parse(const char *text, pfc_boundary_fields *out);
void pfc_boundary_fields_clear(pfc_boundary_fields *fields);

#endif
