/*
 * The state of a project: its open alerts, broken builds, silent runners and the verdicts on its
 * headline metrics, in figures and in one sentence, for the overview and the nightly report.
 */
#ifndef PFC_SERVER_SERVICES_HISTORY_PROJECT_SUMMARY_H
#define PFC_SERVER_SERVICES_HISTORY_PROJECT_SUMMARY_H

#include "server/services/service.h"

typedef struct pfc_standing {
    int64_t open, regressions, broken, drifts, toolchain, harness; /* alerts that need a person */
    int64_t groups, fresh; /* of those alerts; fresh: new since the last night or, without one, in
                            * 24 hours */
    bool since_night;      /* the project has a night */
    int64_t broken_builds; /* commits that the last night could not build or measure */
    int64_t suppressed;    /* alerts that suppression rules hide; counted nowhere else */
    int64_t silent;        /* runners that sent no request for 5 minutes, and one within 30 days */
    /* Headline series by the newest change of each: regressed as long as its alert is open,
     * watching while it is too young for one. */
    int64_t headline, regressed, watching, improved;
} pfc_standing;

pfc_code pfc_standing_get(pfc_db *db, int64_t project_id, pfc_standing *out,
                          pfc_err *err) PFC_MUSTCHECK;
/** "bad": an alert of a regression or a broken benchmark is open; "warn": another alert is open or
 *  may follow, a build is broken or a runner is silent; else "good". */
const char *pfc_standing_level(const pfc_standing *s);
/** "2 open alert groups with 3 alerts (2 regressions, 1 broken), 1 group new since the last night;
 *  1 broken build; 1 silent runner; 6 headline metrics unchanged." Caller frees. */
char *pfc_standing_sentence(const pfc_standing *s);

#endif
