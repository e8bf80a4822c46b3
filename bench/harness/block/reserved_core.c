/* Pinned and under SCHED_FIFO while a comparison lasts. */
#include "bench/harness/block/reserved_core.h"

#include <string.h>

#include "bench/harness/cells.h"

#define ASKING    2 /* priorities: the one that asks must be able to interrupt */
#define ANSWERING 1

void pfc_core_join(pfc_core *core, int cpu)
{
    const struct sched_param param = { .sched_priority = ASKING };

    memset(core, 0, sizeof(*core));
    if (cpu < 0 || sched_getaffinity(0, sizeof(core->before), &core->before) != 0)
        return;
    core->pinned = pfc_pin(cpu);
    core->policy = sched_getscheduler(0);
    if (core->pinned && core->policy >= 0 && sched_getparam(0, &core->param) == 0)
        core->fifo = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0;
}

void pfc_core_leave(pfc_core *core)
{
    if (core->fifo)
        (void)sched_setscheduler(0, core->policy, &core->param);
    if (core->pinned)
        (void)sched_setaffinity(0, sizeof(core->before), &core->before);
    core->pinned = core->fifo = false;
}

void pfc_core_admit(pid_t child)
{
    const struct sched_param param = { .sched_priority = ANSWERING };

    if (sched_getscheduler(0) == (SCHED_FIFO | SCHED_RESET_ON_FORK))
        (void)sched_setscheduler(child, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}
