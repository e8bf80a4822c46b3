/*
 * Interface between opening alerts (group.c) and finding machines that changed (machine_shift.c).
 */
#ifndef PFC_SERVER_SERVICES_ALERTS_MACHINE_SHIFT_H
#define PFC_SERVER_SERVICES_ALERTS_MACHINE_SHIFT_H

#include "core/suspects/machine_shift.h"
#include "server/services/service.h"

/* Regressions that one commit may have caused. */
typedef struct pfc_machine_shift_query {
    int64_t project_id;
    const char *branch;
    int64_t low, high;                                /* positions: what they have in common */
    int64_t commit_id, commit_low_id, commit_high_id; /* of the sharpest one */
    const int64_t *series;
    size_t len;
} pfc_machine_shift_query;

typedef struct pfc_shift_event {
    pfc_shift_answer answer;
    int64_t id;     /* 0: there is none, or a person has dismissed it */
    bool news;      /* it was not there, or had ended */
    bool *belongs;  /* of ask->series: explained by the machine; owned */
    char *sentence; /* for the alerts' history; owned */
} pfc_shift_event;

/** Decides whether a machine is the cause, and stores the event if so. Clear *out, also on
 * error. */
pfc_code pfc_machine_shift_find(pfc_tx *tx, const pfc_machine_shift_query *ask,
                                pfc_shift_event *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_shift_event_clear(pfc_shift_event *event);

#endif
