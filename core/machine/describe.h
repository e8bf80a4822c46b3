/*
 * Description of this machine: the one that the run documents of perfci-bench and those of the
 * runner's commands carry, so that a machine that did not change is not described in two ways.
 * Reads /proc and /sys, and asks the drivers of GPUs; values that cannot be read are "not
 * available", never guessed and never empty. Thread-safe except for GPUs: one thread at a time.
 */
#ifndef PFC_CORE_MACHINE_DESCRIBE_H
#define PFC_CORE_MACHINE_DESCRIBE_H

#include "core/machine/gpu.h"

/**
 * Name (host name), class (CPU model, else the architecture) and the machine's part of the
 * fingerprint: cpu, cpus, topology, microcode, governor, turbo, smt, kernel, libc, hypervisor,
 * hugepages, aslr, gpu, gpu_driver. root: where /proc and /sys are, NULL or "" for the real ones;
 * gpus NULL: this machine's, or those below root where that is given. `out` is overwritten. Its
 * hash stays unset until the measuring program has added its own entries and calls
 * pfc_machine_hash. The caller clears it with pfc_machine_clear.
 */
void pfc_machine_describe(const char *root, const pfc_gpu_sources *gpus, pfc_machine *out);

/** Appends an entry; value NULL or "": not available. */
void pfc_machine_put(pfc_machine *machine, const char *name, const char *value);

#endif
