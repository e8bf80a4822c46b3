/* Shared by the parts of a comparison: compare.c judges, json.c reads and writes, print.c prints.
 */
#ifndef PFC_CLI_COMPARE_COMPARE_PRIV_H
#define PFC_CLI_COMPARE_COMPARE_PRIV_H

#include "cli/compare/compare.h"

/** An empty row at the end, with no number known; valid until the next. */
pfc_cmp_row *pfc_cmp_add_row(pfc_cmp *cmp);
/** Fills cmp->count. The canary's code is the same on both sides: when it differs, the machine did.
 *  Its row decides nothing, and its change goes to cmp->canary_rel. */
void pfc_cmp_count(pfc_cmp *cmp);

#endif
