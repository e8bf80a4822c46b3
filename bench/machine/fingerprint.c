/* The fingerprint of a run: the machine, and the parts of perfci that measured on it. */
#include <sched.h>

#include "bench/machine/machine.h"

#ifndef PFC_BUILD_FLAGS
#define PFC_BUILD_FLAGS PFC_NOT_AVAILABLE
#endif
#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

void pfc_machine_read(const pfc_machine_opts *opts, pfc_machine *out)
{
    pfc_machine_describe(opts ? opts->root : NULL, opts ? opts->gpus : NULL, out);
    pfc_machine_put(out, "compiler", COMPILER);
    pfc_machine_put(out, "flags", PFC_BUILD_FLAGS);
    pfc_machine_put(out, "harness", pfc_harness_hash());
    pfc_machine_put(out, "simulator", opts ? opts->simulator : NULL);
    pfc_machine_put(out, "chips", opts ? opts->chips : NULL);
    pfc_machine_put(out, "suite", opts ? opts->suite_hash : NULL);
    pfc_machine_hash(out);
}

/* Chooses the last CPU, because interrupts and other processes are mostly on the first. */
int pfc_machine_pin_cpu(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return -1;
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
        if (CPU_ISSET((size_t)cpu, &set))
            return cpu;
    }
    return -1;
}
