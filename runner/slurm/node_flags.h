/*
 * The flags of perfci-runner on the nodes that follow from the dispatcher's own, given as flags or
 * in its environment, which the nodes do not have.
 */
#ifndef PFC_RUNNER_SLURM_NODE_FLAGS_H
#define PFC_RUNNER_SLURM_NODE_FLAGS_H

#include "runner/agent/agent.h"

/** NULL-terminated; free with pfc_slurm_node_flags_free. `log`: NULL: the default level. */
char **pfc_slurm_node_flags(const pfc_agent_opts *opts, const char *log);
void pfc_slurm_node_flags_free(char **flags);

#endif
