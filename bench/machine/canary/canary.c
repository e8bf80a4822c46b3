/* A fixed piece of work: if its time changes, the machine has changed, not the code. */
#include "bench/machine/machine.h"
#include "core/base/clock.h"
#include "core/stats/stats.h"

#define CANARY_STEPS 8192 /* x 4 dependent multiply-adds of ~8 cycles: about 70 us a sample */

/* volatile ends keep the compiler from folding it; the chain keeps the CPU from overlapping it. */
static void canary_work(void)
{
    static volatile double seed = 1.0000001;
    static volatile double sink;
    double x = seed;

    for (int i = 0; i < CANARY_STEPS; i++) {
        x = x * 0.9999999 + 1e-9;
        x = x * 1.0000001 - 1e-9;
        x = x * 0.9999998 + 2e-9;
        x = x * 1.0000002 - 2e-9;
    }
    sink = x;
    (void)sink;
}

void pfc_canary_measure(double *samples_ns, size_t samples)
{
    canary_work();
    for (size_t i = 0; i < samples; i++) {
        const int64_t start = pfc_clock_ns();
        canary_work();
        samples_ns[i] = (double)PFC_MAX(pfc_clock_ns() - start, 1);
    }
}

double pfc_canary_reading(const double *samples_ns, size_t samples)
{
    return pfc_stats_quantile(samples_ns, samples, 0.25);
}
