/*
 * Why a bisection stopped before it was decided, and which runs would decide it. Private to
 * cli/bisect.
 */
#ifndef PFC_CLI_BISECT_STOP_REASON_H
#define PFC_CLI_BISECT_STOP_REASON_H

#include "cli/bisect/session.h"
#include "core/bisect/finding.h"
#include "core/bisect/remaining.h"

typedef struct bisect_stop {
    bool budget; /* the allowed runs are used, and the search or its confirmation needs more */
    size_t budget_runs;
    pfc_bisect_remaining left;
    double more_runs;    /* expected, the confirmation included */
    pfc_finding finding; /* the ends' difference against the margin */
    bool open_none; /* not decided: there is probably no regression, and the evidence is missing */
} bisect_stop;

/* `report`: the answer. `budget` is false when it is decided, or not decided for another reason. */
void bisect_stop_get(const bisect_session *session, const pfc_bisect_report *report,
                     bisect_stop *out);
/* One sentence; only for `budget`. */
void bisect_say_stop(const bisect_session *session, const bisect_stop *stop, pfc_buf *out);
/* "the ends differ by …", and the runs that would decide it; without a full stop. */
void bisect_say_difference(const bisect_stop *stop, pfc_buf *out);
/* Sets "difference" and "stopped" ("budget", "interrupted", null) and for a budget the open
 * question. */
void bisect_stop_json(const bisect_session *session, const bisect_stop *stop, json_t *doc);

#endif
