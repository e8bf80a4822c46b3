/*
 * The log where there is no terminal: one line for each decision of the planner, which is a commit
 * and all runs that it gets in a row. A commit that gets many units of interleaved pairs in a row
 * has a line after 1, 2, 4, 8, ... of them and after the last, each about all so far. With
 * --verbose one line for each run. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_DECISION_LOG_H
#define PFC_CLI_BISECT_DECISION_LOG_H

#include "cli/bisect/output/progress.h"

typedef struct bisect_log {
    bisect_progress *progress;
    bool open;         /* runs of a decision are being collected */
    size_t from;       /* its first run */
    size_t units;      /* complete units of pairs in a row of the same commit */
    size_t units_from; /* the first run of the first of them */
    bool unsaid;       /* the newest of them are in no line yet */
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
