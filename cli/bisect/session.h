/*
 * A local bisection, composed of its parts. Each part has its own header and reads only the parts
 * above it in this list. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_SESSION_H
#define PFC_CLI_BISECT_SESSION_H

#include "cli/bisect/measuring/runs.h"
#include "cli/bisect/output/decision_log.h"
#include "cli/bisect/output/view.h"
#include "core/bisect/confirm.h"
#include "runner/measure/canary.h"

/* The confirmation of one culprit. */
typedef struct bisect_confirmation {
    pfc_culprit culprit;
    pfc_confirm_result result;
    char reason[200]; /* why it stays open, else "" */
} bisect_confirmation;

/* Of the culprits of the current answer, in the report's order. */
typedef struct bisect_confirmations {
    bisect_confirmation *items; /* owned */
    size_t len;
} bisect_confirmations;

typedef struct bisect_session {
    const pfc_cli *cli;
    const bisect_opts *opts;
    bisect_axis axis;
    bisect_builds builds;
    bisect_state state;
    bisect_measuring measuring;
    bisect_planning planning;
    bisect_progress progress;
    bisect_view view;
    bisect_log log;
    bisect_confirmations confirmations;
    int64_t started_ns;
    double seconds_before;  /* of earlier calls */
    pfc_canary_look canary; /* before and after a search by a command */
    bisect_costs kept;      /* of a dry run: by the runs of an earlier call; 0: none */
    bool interrupted;
} bisect_session;

/* Finds the commits, the settings and the kept state; makes the plan. The session must not move.
 * Close it in every case. */
pfc_code bisect_session_open(bisect_session *session, const pfc_cli *cli, const bisect_opts *opts,
                             pfc_err *err) PFC_MUSTCHECK;
void bisect_session_close(bisect_session *session);
/* Prints the log's decision in progress, then sets the view's phase. */
void bisect_session_phase(bisect_session *session, const char *fmt, ...) PFC_PRINTF(2, 3);

#endif
