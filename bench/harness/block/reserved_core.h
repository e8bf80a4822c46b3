/*
 * The core that a comparison has for itself: the measuring process joins its children there, so
 * that a question and its answer are two switches on one core instead of two sleeping cores being
 * woken, and all of them run under SCHED_FIFO when that is allowed (root, CAP_SYS_NICE or
 * RLIMIT_RTPRIO), so that no other process comes between two turns.
 *
 * The asking process has the higher priority: a child that never answers cannot keep it from seeing
 * the deadline. A child gets its priority from its parent, not by inheritance, and passes none on:
 * what it starts runs as usual. The kernel keeps 5 % of the core for everyone else.
 */
#ifndef PFC_BENCH_HARNESS_BLOCK_RESERVED_CORE_H
#define PFC_BENCH_HARNESS_BLOCK_RESERVED_CORE_H

#include <sched.h>
#include <sys/types.h>

#include "core/base/base.h"

/** The thread's earlier settings. Private to the thread that joined. */
typedef struct pfc_core {
    cpu_set_t before;
    int policy;
    struct sched_param param;
    bool pinned, fifo;
} pfc_core;

/** Pins the calling thread to `cpu` and asks for SCHED_FIFO; cpu < 0: changes nothing. A setting
 *  that the system does not allow keeps its value. */
void pfc_core_join(pfc_core *core, int cpu);
/** Puts back what pfc_core_join changed. */
void pfc_core_leave(pfc_core *core);
/** Gives a child of a thread that joined the priority below its own; nothing when that runs as
 *  usual. */
void pfc_core_admit(pid_t child);

#endif
