/*
 * The evidence of an answer: baseline, comparison, attribution, confirmation, cost, and the
 * commands that repeat it. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_EVIDENCE_H
#define PFC_CLI_BISECT_EVIDENCE_H

#include "cli/bisect/answer.h"
#include "cli/bisect/output/stop_reason.h"

json_t *bisect_evidence_json(const bisect_session *session, const pfc_bisect_report *report);
/* Sentences with titles, as text or as Markdown. */
void bisect_evidence_print(const bisect_session *session, const pfc_bisect_report *report,
                           const bisect_stop *stop, bool markdown);

#endif
