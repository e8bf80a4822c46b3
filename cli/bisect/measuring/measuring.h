/*
 * One way to measure every commit: settings, suite, metric, and a measurement by them. Private to
 * cli/bisect.
 */
#ifndef PFC_CLI_BISECT_MEASURING_H
#define PFC_CLI_BISECT_MEASURING_H

#include "cli/bisect/axis.h"
#include "cli/bisect/measuring/builds.h"
#include "cli/bisect/state.h"
#include "cli/cli.h"
#include "core/base/config/conf.h"
#include "core/git/project_file.h"

typedef struct bisect_measuring {
    const bisect_opts *opts;
    const bisect_axis *axis;
    bisect_builds *builds;
    pfc_conf conf;
    pfc_project_source source; /* of conf */
    pfc_commit_measure_opts how;
    char *suite_file; /* beside perfci.yaml, or the bad commit's, copied; NULL */
    char *temp;       /* folder of the copy */
} bisect_measuring;

/* Reads perfci.yaml, as soon as the repository is open. */
pfc_code bisect_measuring_read(bisect_measuring *measuring, pfc_err *err) PFC_MUSTCHECK;
/* Decides how to measure, once the axis is read. */
pfc_code bisect_measuring_settle(bisect_measuring *measuring, pfc_err *err) PFC_MUSTCHECK;
void bisect_measuring_clear(bisect_measuring *measuring);
/* Prints what is measured, and what a checkout lacks. */
void bisect_measuring_print(const bisect_measuring *measuring, const pfc_cli *cli);
/* Digest of everything that decides the meaning of a measurement, and the state file that belongs
 * to it. */
void bisect_measuring_key(const bisect_measuring *measuring, bisect_state *state);

/* Measures run->commit with run->build and fills the rest of the run. An outcome without a usable
 * value becomes a failed or broken one with its reason in out->reason. Clear out. */
pfc_code bisect_measure(bisect_measuring *measuring, bisect_run *run, pfc_outcome *out,
                        pfc_err *err) PFC_MUSTCHECK;

#endif
