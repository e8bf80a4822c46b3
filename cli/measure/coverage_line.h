/*
 * The line that names what a command will measure, and the error when there is nothing to measure.
 */
#ifndef PFC_CLI_MEASURE_COVERAGE_LINE_H
#define PFC_CLI_MEASURE_COVERAGE_LINE_H

#include "cli/cli.h"
#include "core/git/project_file.h"

/** After flags and perfci.yaml; NULL where there is none. */
typedef struct pfc_measured {
    const pfc_conf *conf;
    const char *measure, *suite; /* the command, else the suite */
    const char *metric, *unit;
    bool time; /* the command's times and memory instead of what it prints */
    bool higher_is_better;
    const char *remark; /* behind the file's name; NULL: none */
    bool cost; /* a bare number whose direction nothing says: lower is better, and that is said */
} pfc_measured;

/** "config: FILE; measure: CMD; metric: M" on stderr, unless --quiet. */
void pfc_measured_say(const pfc_cli *cli, const pfc_measured *m);
/** PFC_EINVAL: there is no benchmark; names the file (or `dir`, where none was found) and what to
 * write. */
pfc_code pfc_measured_nothing(const pfc_conf *conf, const char *dir, pfc_err *err);

/* ---- measured by the service's runners ---- */

/** Runners read perfci.yaml of the branch (NULL: HEAD). The text to send with a job so that the one
 * here counts; NULL where both are the same, or there is none here. Lives as long as `source`. */
const char *pfc_measured_to_send(pfc_repo *repo, const char *branch,
                                 const pfc_project_source *source);
/** Says what the runners will measure; `sent` as above. PFC_EINVAL as pfc_measured_nothing when the
 *  file here has no benchmark. */
pfc_code pfc_measured_remotely(const pfc_cli *cli, const pfc_conf *conf, const char *branch,
                               bool sent, const char *metric, pfc_err *err) PFC_MUSTCHECK;
/** Says how to go on when the service refused the settings that were sent. */
pfc_code pfc_measured_refused(pfc_code code, bool sent, pfc_err *err);

#endif
