/*
 * Compares the runs of a commit with those of its first parent, for the pages that list a commit's
 * values. The verdicts are pfc_compare's.
 */
#ifndef PFC_SERVER_SERVICES_HISTORY_AGAINST_PARENT_H
#define PFC_SERVER_SERVICES_HISTORY_AGAINST_PARENT_H

#include "server/services/history/compare.h"

/** *measured: the commit and its first parent were; else *out is empty. Clear *out. */
pfc_code pfc_compare_parent(pfc_db *db, int64_t project_id, const pfc_commit_row *commit,
                            bool *measured, pfc_comparison *out, pfc_err *err) PFC_MUSTCHECK;
/** The row about a value; NULL: it was measured on one side only. */
const pfc_compare_row *pfc_comparison_row(const pfc_comparison *c, const pfc_commit_value *value);

#endif
