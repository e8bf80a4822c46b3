/* Clocks and their resolution. */
#include <time.h>

#include "bench/harness/harness.h"

static double read_clock(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double wall_ns(void *arg)
{
    (void)arg;
    return read_clock(CLOCK_MONOTONIC);
}

static double cpu_ns(void *arg)
{
    (void)arg;
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* The smallest step between two readings is both: a coarse clock shows its tick, a fine one the
 * cost of reading it. 200 tries find it on a busy machine, too, because only one must be quiet. */
static double smallest_step(double (*now)(void *))
{
    double best = 1e9;

    for (int i = 0; i < 200; i++) {
        const double start = now(NULL);
        double end = now(NULL);
        for (int spin = 0; end <= start && spin < 1000000; spin++)
            end = now(NULL);
        if (end > start && end - start < best)
            best = end - start;
    }
    return best;
}

pfc_timer pfc_timer_wall(void)
{
    return (pfc_timer){ .now_ns = wall_ns,
                        .name = "monotonic",
                        .resolution_ns = smallest_step(wall_ns) };
}

pfc_timer pfc_timer_cpu(void)
{
    return (pfc_timer){ .now_ns = cpu_ns,
                        .name = "thread-cpu",
                        .resolution_ns = smallest_step(cpu_ns) };
}
