/*
 * Which way metrics are better, as the command line and perfci.yaml say it; and that a command's
 * own times and memory are asked for.
 */
#ifndef PFC_CLI_RESULTS_DIRECTION_H
#define PFC_CLI_RESULTS_DIRECTION_H

#include "cli/cli.h"
#include "core/base/config/conf.h"

typedef struct pfc_directions {
    pfc_direction items[PFC_MAX_DIRECTIONS]; /* the first of a name counts */
    size_t len;
} pfc_directions;

enum { PFC_KEY_DIRECTION = 0x4a0 };
#define PFC_DIRECTION_OPTION                                                                       \
    PFC_OPT_OWN(PFC_KEY_DIRECTION, "direction", "NAME=D",                                          \
                "Which way the metric NAME is better: higher or lower; repeatable")
#define PFC_TIME_OPTION(type, member)                                                              \
    PFC_OPT_FLAG("time", type, member,                                                             \
                 "Of a command: its wall time, CPU time and peak memory are the result, whatever " \
                 "it prints")

/** A --direction of the command line, whose text it cuts at the '='. Anything else than NAME=higher
 * or NAME=lower ends the process with a message. */
void pfc_directions_add(pfc_directions *to, char *arg, struct argp_state *state);
/** Those of perfci.yaml, behind: they live as long as `conf`. */
void pfc_directions_add_conf(pfc_directions *to, const pfc_conf *conf);

#endif
