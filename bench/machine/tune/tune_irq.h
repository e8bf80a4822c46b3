/*
 * Where interrupts shall go while a core measures: anywhere else. Used by tune.c alone.
 */
#ifndef PFC_BENCH_MACHINE_TUNE_TUNE_IRQ_H
#define PFC_BENCH_MACHINE_TUNE_TUNE_IRQ_H

#include <sched.h>

#include "core/base/base.h"

/** The core to keep free and what is left for interrupts. */
typedef struct pfc_irq_plan {
    int cpu;         /* that measures; -1: there is no other CPU, so nothing can be moved */
    cpu_set_t avoid; /* its threads */
    cpu_set_t rest;  /* every other CPU that is online */
} pfc_irq_plan;

/** `root` as in pfc_tune_host. The core is the one that measurements are pinned to: the last CPU
 * that is online, of those that stay when SMT is switched off. */
void pfc_irq_plan_read(const char *root, pfc_irq_plan *out);
/** The new value of /proc/irq/N/smp_affinity_list, given the current one ("0-2,5"): the same CPUs
 * without the measuring core, or all other CPUs when that leaves none. NULL when it avoids the core
 * already or is no list. Caller frees. */
char *pfc_irq_away(const pfc_irq_plan *plan, const char *now);

#endif
