/* Heartbeats of the server's threads. */
#include "server/services/thread_health.h"

#include "core/base/base.h"
#include "core/base/clock.h"

void pfc_thread_health_beat(pfc_thread_health *health, size_t thread)
{
    atomic_store(&health->seen_ns[PFC_MIN(thread, PFC_THREAD_HEALTH_MAX - 1)], pfc_clock_ns());
}

void pfc_thread_health_end(pfc_thread_health *health, size_t thread)
{
    atomic_store(&health->seen_ns[PFC_MIN(thread, PFC_THREAD_HEALTH_MAX - 1)], 0);
}

double pfc_thread_health_silent_s(const pfc_thread_health *health)
{
    const int64_t now_ns = pfc_clock_ns();
    int64_t longest_ns = 0;

    for (size_t i = 0; i < PFC_THREAD_HEALTH_MAX; i++) {
        const int64_t seen_ns = atomic_load(&health->seen_ns[i]);

        if (seen_ns)
            longest_ns = PFC_MAX(longest_ns, now_ns - seen_ns);
    }
    return (double)longest_ns * 1e-9;
}
