/* Heartbeats of the server's threads. */
#include "server/services/thread_health.h"

#include "core/base/base.h"
#include "core/base/clock.h"

void pfc_pulse_beat(pfc_pulse *pulse, size_t thread)
{
    atomic_store(&pulse->seen_ns[PFC_MIN(thread, PFC_PULSE_MAX - 1)], pfc_clock_ns());
}

void pfc_pulse_end(pfc_pulse *pulse, size_t thread)
{
    atomic_store(&pulse->seen_ns[PFC_MIN(thread, PFC_PULSE_MAX - 1)], 0);
}

double pfc_pulse_silent_s(const pfc_pulse *pulse)
{
    const int64_t now_ns = pfc_clock_ns();
    int64_t longest_ns = 0;

    for (size_t i = 0; i < PFC_PULSE_MAX; i++) {
        const int64_t seen_ns = atomic_load(&pulse->seen_ns[i]);

        if (seen_ns)
            longest_ns = PFC_MAX(longest_ns, now_ns - seen_ns);
    }
    return (double)longest_ns * 1e-9;
}
