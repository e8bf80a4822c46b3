/*
 * The search: measures until the plan stops and its culprits are confirmed. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_SEARCH_H
#define PFC_CLI_BISECT_SEARCH_H

#include "cli/bisect/session.h"

/* ---- loop.c ---- */

/* Runs the search; session->interrupted when a signal ended it. PFC_EBROKEN when an end cannot be
 * measured. */
pfc_code bisect_search(bisect_session *session, pfc_err *err) PFC_MUSTCHECK;

/* ---- record.c ---- */

/* Measures run->commit and run->build and saves the run; *recorded false when a signal ended it.
 * `reason` has PFC_WORKSPACE_REASON_BYTES. */
pfc_code bisect_record_run(bisect_session *session, bisect_run *run, char *reason, bool *recorded,
                           pfc_err *err) PFC_MUSTCHECK;

/* ---- pairs.c: when commits are measured in interleaved pairs ---- */

/* The planner receives single runs, and pairs are allowed. */
bool bisect_pairs_possible(const bisect_session *session);
/* Changes to pairs, with a note, when single runs show a machine with speed states. */
pfc_code bisect_pairs_on_states(bisect_session *session, bool *changed, pfc_err *err) PFC_MUSTCHECK;
/* Single runs ended the search with an answer that cannot be trusted: changes to pairs after a
 * confirmation that confirms no commit, and before "no regression" when any run is an outlier. */
pfc_code bisect_pairs_on_doubt(bisect_session *session, bool *changed, pfc_err *err) PFC_MUSTCHECK;

/* ---- confirm.c ---- */

/* Compares each culprit with the commit before it: replays kept runs, measures the rest. *again: a
 * comparison refuted the answer, its runs went to the plan, and the search continues. */
pfc_code bisect_confirm(bisect_session *session, bool *again, pfc_err *err) PFC_MUSTCHECK;

#endif
