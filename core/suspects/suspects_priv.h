/*
 * Evidence for and against one suspect. Private to core/suspects.
 */
#ifndef PFC_CORE_SUSPECTS_SUSPECTS_PRIV_H
#define PFC_CORE_SUSPECTS_SUSPECTS_PRIV_H

#include "core/suspects/suspects.h"

#define PFC_EVIDENCE_MAX 16

typedef struct pfc_evidence {
    double weight; /* log-odds */
    char *text;    /* owned; NULL: it counts, and is not worth a word */
} pfc_evidence;

typedef struct pfc_evidences {
    pfc_evidence items[PFC_EVIDENCE_MAX];
    size_t len;
} pfc_evidences;

/** fmt NULL: without words. */
void pfc_evidence_add(pfc_evidences *e, double weight, const char *fmt, ...) PFC_PRINTF(3, 4);
/** All that is known of a commit itself, its place aside. True: it is ruled out. */
bool pfc_evidence_of_commit(const pfc_suspect_case *c, const pfc_suspect_commit *commit,
                            pfc_evidences *e);

#endif
