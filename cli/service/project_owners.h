/* perfci project owners: who owns the benchmarks and files of a project. */
#ifndef PFC_CLI_SERVICE_PROJECT_OWNERS_H
#define PFC_CLI_SERVICE_PROJECT_OWNERS_H

#include "cli/cli.h"
#include "core/http/client.h"

/** Prints the rules and the stored CODEOWNERS file; with `file`, replaces the rules by its
 *  content first. */
pfc_code pfc_project_owners(const pfc_cli *cli, pfc_http *http, const char *project,
                            const char *file, pfc_err *err) PFC_MUSTCHECK;

#endif
