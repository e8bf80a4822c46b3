/*
 * change_points.withheld and .withheld_detail: why a change has no alert, and the numbers of the
 * sentence that says so.
 */
#ifndef PFC_SERVER_REPO_DOCUMENTS_WITHHELD_H
#define PFC_SERVER_REPO_DOCUMENTS_WITHHELD_H

#include "server/repo/statements/statement.h"

/* Codes, with the members of the detail that each has. */
#define PFC_WITHHELD_IMPROVEMENT  "improvement"
#define PFC_WITHHELD_MARGIN       "margin"       /* rel, margin */
#define PFC_WITHHELD_FDR          "fdr"          /* p, anywhere, points, level, series, fdr */
#define PFC_WITHHELD_NOT_FIRM     "not_firm"     /* points, needed, ended */
#define PFC_WITHHELD_NEEDS_BLOCKS "needs_blocks" /* against, commit */
#define PFC_WITHHELD_IDENTICAL    "identical"    /* against, commit */
#define PFC_WITHHELD_GONE         "gone"
#define PFC_WITHHELD_BUDGET       "budget" /* against, commit, rounds, rel_low, rel_high */
#define PFC_WITHHELD_RULE_OFF     "rule_off"
#define PFC_WITHHELD_MACHINE      "machine"

/** Numbers that are not stored are NAN after reading, texts "". */
typedef struct pfc_withheld_detail {
    double rel, margin;               /* relative change, and the least that makes an alert */
    double points, needed;            /* of the new level */
    bool ended;                       /* another change ended the new level */
    double p, anywhere;               /* at one point; at any of `points` */
    double level, series, fdr;        /* that `anywhere` exceeds; series of the commit; rate */
    const char *against, *commit;     /* ids: the commit before the change, and the one with it */
    double rounds, rel_low, rel_high; /* measured so far; interval of the relative change */
} pfc_withheld_detail;

/** The text of the column: the members of the code. "{}" for NULL and for a code without any. The
 *  caller frees it. */
char *pfc_withheld_detail_text(const char *code, const pfc_withheld_detail *detail);
/** Reads the column; for NULL and for another document nothing is stored. `texts` owns the texts
 *  that *out points to; clear it. */
void pfc_withheld_detail_parse(const char *text, pfc_withheld_detail *out, pfc_texts *texts);

#endif
