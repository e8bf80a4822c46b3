/*
 * The log where there is no terminal: one line for each decision of the planner, which is a commit
 * (or a unit of interleaved pairs) and all runs that it gets in a row. With --verbose one line for
 * each run. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_DECISION_LOG_H
#define PFC_CLI_BISECT_DECISION_LOG_H

#include "cli/bisect/output/progress.h"

typedef struct bisect_log {
    bisect_progress *progress;
    bool open;         /* runs of a decision are being collected */
    size_t from;       /* its first run */
    bisect_run newest; /* its newest run of the commit that it measures */
} bisect_log;

/* Before a run: prints the line of the decision in progress unless the run belongs to it. */
void bisect_log_begin(bisect_log *log, const bisect_run *run);
/* Notes a run; prints a line when a decision is complete, when a commit cannot be measured, and
 * with --verbose for each run. */
void bisect_log_run(bisect_log *log, const bisect_run *run, const char *reason);
/* Prints the line of the decision in progress, if any: before a new phase and at the end. */
void bisect_log_flush(bisect_log *log);

#endif
