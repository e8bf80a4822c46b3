/*
 * The answer of a search after its confirmations. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_ANSWER_H
#define PFC_CLI_BISECT_ANSWER_H

#include "cli/bisect/session.h"

/* The plan's report. Named culprits without any confirmation make it inconclusive. Clear it with
 * pfc_bisect_report_clear. */
void bisect_answer(const bisect_session *session, pfc_bisect_report *out);
/* Is the i-th culprit confirmed? True where nothing is to be confirmed. */
bool bisect_is_confirmed(const bisect_session *session, size_t culprit);
/* Does the answer name a confirmed culprit? */
bool bisect_names_culprit(const bisect_session *session);
/* When the only culprit is a merge: the ends of the branch that it merged, merge base and tip. */
bool bisect_merged_branch(const bisect_session *session, pfc_commit_id *base, pfc_commit_id *tip);
/* Runs of the search and of confirmations. */
size_t bisect_run_count(const bisect_session *session, const pfc_bisect_report *report);

#endif
