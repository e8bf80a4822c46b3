/*
 * Evidence for and against one suspect. Private to core/suspects.
 */
#ifndef PFC_CORE_SUSPECTS_EVIDENCE_H
#define PFC_CORE_SUSPECTS_EVIDENCE_H

#include "core/suspects/suspects.h"

#define PFC_EVIDENCE_MAX 16

typedef struct pfc_evidence {
    double weight; /* logarithm of a probability ratio */
    char *text;    /* owned; NULL: it counts without a sentence */
} pfc_evidence;

typedef struct pfc_evidences {
    pfc_evidence items[PFC_EVIDENCE_MAX];
    size_t len;
} pfc_evidences;

/** fmt NULL: without a sentence. */
void pfc_evidence_add(pfc_evidences *e, double weight, const char *fmt, ...) PFC_PRINTF(3, 4);
/** The evidence of a commit, except its place. True: it is ruled out. */
bool pfc_evidence_of_commit(const pfc_suspect_case *c, const pfc_suspect_commit *commit,
                            pfc_evidences *e);

#endif
