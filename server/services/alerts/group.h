/*
 * One stretch of a branch's history while its alerts are opened: group.c opens and groups
 * alerts, group_withheld.c decides which changes get none, group_placed.c keeps the groups that a
 * person has made.
 */
#ifndef PFC_SERVER_SERVICES_ALERTS_GROUP_H
#define PFC_SERVER_SERVICES_ALERTS_GROUP_H

#include "core/changepoint/fdr.h"
#include "server/services/alerts/alerts.h"
#include "server/services/alerts/withheld.h"

/* A live confirmed regression. */
typedef struct group_member {
    int64_t id, series_id, commit_id, commit_low_id, commit_high_id, alert_id, group_id;
    int64_t event_id; /* of the machine that explains its alert at present; 0: none */
    int64_t event;    /* ... from now on */
    bool undone;
    bool identical; /* lay in identical code so far */
    bool blocks;    /* a session decided that it is there */
    bool waits;     /* its series is measured in blocks: no alert before they are measured */
    bool asked;     /* a session has measured its two sides without a decision */
    bool placed;    /* a person has put its alert into its group */
    const char *against, *commit_high; /* its two sides; against NULL: no earlier point */
    double rel_change, p;              /* p: of a place named beforehand */
    size_t places;
    bool untriaged, infra; /* set by the detector, and not changed by a person */
    pfc_clustered at;
} group_member;

typedef struct grouping {
    pfc_tx *tx;
    int64_t project_id;
    const char *branch;
    pfc_fdr_stream stream;
    int64_t low, high; /* positions looked at */
    group_member *members;
    pfc_res *rows;         /* behind their texts */
    pfc_clustered **items; /* the members' `at`, in their order */
    size_t len;
    size_t clusters_len;
    int64_t *taken; /* group ids in use: of clusters that keep one */
    size_t taken_len;
    pfc_withheld_list withheld; /* changes without an alert, and why */
} grouping;

/** Removes the members that get no alert in any case: changes in identical code, and changes that
 *  must be measured in blocks first. Notes the reasons in g->withheld, and closes alerts that were
 *  opened for them. */
pfc_code group_set_aside(grouping *g, pfc_err *err) PFC_MUSTCHECK;
/** Keeps placed alerts in their groups: each such group becomes one cluster, and a new change whose
 *  cluster has only alerts of one such group joins it. Returns the new number of clusters, which
 *  are numbered from 0 without gaps. (group_placed.c) */
size_t group_keep_placed(grouping *g, size_t clusters);
/** Notes that Benjamini-Hochberg refused the change, at this level over so many measured series. */
void group_withhold(grouping *g, const group_member *m, size_t measured, double level);

#endif
