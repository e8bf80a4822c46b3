/*
 * The commits of a history with their runs and verdicts before a nightly round. Private to known.c
 * and plan.c.
 */
#ifndef PFC_CLI_NIGHTLY_HISTORY_LINE_H
#define PFC_CLI_NIGHTLY_HISTORY_LINE_H

#include "cli/nightly/nightly.h"

/* The first-parent history, oldest first, and what is known of each commit. */
typedef struct pfc_night_line {
    pfc_commit_id *ids;
    size_t len;
    bool *has_run, *seen;   /* seen: has a run, or its object code is that of one that has */
    size_t *newest_verdict; /* index in pfc_night.sessions of the newest session with a verdict of
                               the commit */
    bool *open;             /* that verdict is "undecided", or single measurements show a change */
    bool *suspect; /* open, and the values show a step: goes before those that are only wide */
    bool *keep;    /* is measured in this round */
    bool *wanted;  /* is reported */
} pfc_night_line;

size_t pfc_night_place(const pfc_night_line *line,
                       const char *id); /* PFC_NIGHT_NONE: it is not there */

/** Asks the service for runs, sessions and candidates: fills in what is known of each commit. */
pfc_code pfc_night_known(pfc_night *night, pfc_night_line *line, pfc_err *err) PFC_MUSTCHECK;
/** Of the branch; NULL: there is none. */
const json_t *pfc_night_newest_session(const pfc_night *night);

#endif
