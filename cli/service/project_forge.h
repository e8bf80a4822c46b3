/*
 * perfci project set and pulls: the repository of a forge that a project watches, and its pull
 * requests.
 */
#ifndef PFC_CLI_SERVICE_PROJECT_FORGE_H
#define PFC_CLI_SERVICE_PROJECT_FORGE_H

#include "cli/cli.h"
#include "core/http/client.h"

/** Texts NULL, numbers 0: left as they are. */
typedef struct pfc_project_forge {
    const char *forge, *repo, *policy, *machine_class; /* forge "none": the link is removed */
    double budget_s, patience_s;
} pfc_project_forge;

/** Registers another repository of the project, and prints it; repo_url "none": removes it. */
pfc_code pfc_project_move(const pfc_cli *cli, pfc_http *http, const char *project,
                          const char *repo_url, pfc_err *err) PFC_MUSTCHECK;
/** Changes the link of the project, and prints it. */
pfc_code pfc_project_set(const pfc_cli *cli, pfc_http *http, const char *project,
                         const pfc_project_forge *set, pfc_err *err) PFC_MUSTCHECK;
/** Prints the newest pull requests. */
pfc_code pfc_project_pulls(const pfc_cli *cli, pfc_http *http, const char *project,
                           pfc_err *err) PFC_MUSTCHECK;

#endif
