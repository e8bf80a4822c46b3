/*
 * The runs of a bisection and their file: each run is on disk before the planner receives it, so
 * that a crash or Ctrl-C costs at most the run in progress. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_STATE_H
#define PFC_CLI_BISECT_STATE_H

#include "core/base/hash.h"
#include "runner/workspace/workspace.h"

typedef struct bisect_run {
    size_t commit; /* index */
    unsigned build;
    pfc_outcome_kind kind;
    double value;          /* when measured */
    bool higher_is_better; /* as the measurement stated */
    bool undirected;       /* it stated no direction */
    bool exact;
    bool built;
    bool confirm; /* of a confirmation: not for the planner */
    /* In interleaved pairs: see units.h. */
    unsigned unit;  /* from 1; 0: a single run */
    bool reference; /* of the build that the unit's other runs are compared with */
    bool link;      /* the unit is a confirmation's pair: the reference is the commit before */
    double build_s, measure_s;
} bisect_run;

typedef struct bisect_state {
    char *path;               /* of the file */
    char key[PFC_SHA256_HEX]; /* of everything that decides the meaning of a measurement */
    double seconds;           /* of earlier calls and this one, up to the last save */
    int refuted;              /* answers that a confirmation refuted */
    bool paired;              /* the planner receives units of pairs, no longer single runs */
    bisect_run *runs;
    size_t len;
    size_t cap;
} bisect_state;

/* Reads the file if it exists and has this key; *found reports it. PFC_EINVAL when it is
 * damaged. */
pfc_code bisect_state_load(bisect_state *state, size_t commits, bool *found,
                           pfc_err *err) PFC_MUSTCHECK;
/* Replaces the file atomically, and creates its folder. */
pfc_code bisect_state_save(const bisect_state *state, pfc_err *err) PFC_MUSTCHECK;
void bisect_state_add(bisect_state *state, const bisect_run *run);
void bisect_state_clear(bisect_state *state);

#endif
