/*
 * The repository, and the checkouts and builds of its commits. Private to cli/bisect.
 */
#ifndef PFC_CLI_BISECT_BUILDS_H
#define PFC_CLI_BISECT_BUILDS_H

#include "cli/bisect/options.h"
#include "runner/workspace/workspace.h"

typedef struct bisect_builds {
    pfc_repo *repo;           /* NULL with --no-checkout and no repository */
    pfc_workspace *workspace; /* opened at the first measurement */
    char *folder;             /* of the workspace */
    pfc_workspace_opts opts;
} bisect_builds;

/* Opens the workspace unless it is open. */
pfc_code bisect_builds_open(bisect_builds *builds, const bisect_opts *opts, double timeout_s,
                            pfc_err *err) PFC_MUSTCHECK;
/* Closes the workspace: one process at a time may use a folder of checkouts. */
void bisect_builds_release(bisect_builds *builds);
void bisect_builds_clear(bisect_builds *builds);
/* Builds get another layout on request, by --relink or by perfci.yaml's command. */
bool bisect_builds_relink(const bisect_builds *builds, const bisect_opts *opts);

#endif
