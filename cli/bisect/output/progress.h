/*
 * Figures of a running bisection that the view and the log share. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_PROGRESS_H
#define PFC_CLI_BISECT_PROGRESS_H

#include "cli/bisect/planning.h"

typedef struct bisect_progress {
    const pfc_cli *cli;
    const bisect_planning *planning;
    double to_go;         /* runs, estimated at estimated_ns, when estimated_at runs were done */
    int64_t estimated_ns; /* 0: no estimate yet */
    size_t estimated_at;
} bisect_progress;

/* Expected further runs of the search, at least 1; estimated again every 3 s. */
double bisect_runs_to_go(bisect_progress *progress);
/* Appends "[18/45]": runs done and expected; "[18]" while there is no estimate, and in a
 * confirmation, which ends when its test decides. */
void bisect_say_count(bisect_progress *progress, bool confirm, pfc_buf *out);
/* Appends the most probable commits with their probabilities. */
void bisect_say_suspects(const bisect_planning *planning, pfc_buf *out);
/* Clears the view from the terminal. */
void bisect_view_erase(const pfc_cli *cli);

#endif
