/*
 * What a command measures: told in one line before it begins, and what to say when there is nothing.
 */
#ifndef PFC_CLI_MEASURED_H
#define PFC_CLI_MEASURED_H

#include "cli/cli.h"
#include "core/base/conf.h"

/** After flags and perfci.yaml; NULL where there is none. */
typedef struct pfc_measured {
    const pfc_conf *conf;
    const char *measure, *suite; /* the command, else the suite */
    const char *metric, *unit;
    bool higher_is_better;
} pfc_measured;

/** "config: FILE; measure: CMD; metric: M" on stderr, unless --quiet. */
void pfc_measured_say(const pfc_cli *cli, const pfc_measured *m);
/** PFC_EINVAL: there is no benchmark; names the file (or `dir`, where none was found) and what to write. */
pfc_code pfc_measured_nothing(const pfc_conf *conf, const char *dir, pfc_err *err);

#endif
