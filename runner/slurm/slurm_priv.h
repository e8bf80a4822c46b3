/* Shared by the files of this folder. */
#ifndef PFC_RUNNER_SLURM_SLURM_PRIV_H
#define PFC_RUNNER_SLURM_SLURM_PRIV_H

#include "runner/slurm/cluster.h"

/** Cuts a line at "|" into exactly `len` fields; the last one keeps the rest. False: too few. */
bool pfc_slurm_split(char *line, char **fields, size_t len);
/** Runs one of Slurm's programs; *out: its stdout, the caller's. PFC_ENOTFOUND: not installed;
 *  PFC_EUNAVAIL: the controller does not answer in time; PFC_EINVAL: it refuses, with its words. */
pfc_code pfc_slurm_ask(const char *const *argv, const char *input, char **out,
                       pfc_err *err) PFC_MUSTCHECK;

#endif
