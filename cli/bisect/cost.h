/*
 * The expected cost of a bisection. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_COST_H
#define PFC_CLI_BISECT_COST_H

#include "cli/bisect/session.h"

/* Prints the expected cost and measures nothing; returns the exit status. */
int bisect_dry_run(const bisect_session *session);
/* Expected runs of the confirmation of the report's first culprit; without a report, of the change
 * that is searched for. */
double bisect_confirm_cost(const bisect_session *session, const pfc_bisect_report *report);

#endif
