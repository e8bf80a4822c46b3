/*
 * The view on a terminal: four lines, redrawn in place. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_VIEW_H
#define PFC_CLI_BISECT_VIEW_H

#include "cli/bisect/output/progress.h"

#define BISECT_PHASE_BYTES 160

typedef struct bisect_view {
    bisect_progress *progress;
    char phase[BISECT_PHASE_BYTES]; /* purpose of the runs from now on */
    bool phase_printed;
} bisect_view;

/* Sets the phase: the view's first line; elsewhere a line of the log, before the next run. */
void bisect_view_phase(bisect_view *view, const char *text);
/* On a terminal: redraws phase, posterior, suspects, runs done and expected, time left. */
void bisect_view_draw(bisect_view *view, const bisect_run *next);

#endif
