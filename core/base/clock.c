/* Clocks, and a pause that signals do not cut short. */
#include "core/base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

int64_t pfc_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * PFC_NS_PER_S + now.tv_nsec;
}

double pfc_clock_unix_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void pfc_clock_rfc3339(double unix_s, char out[32])
{
    const double last = (double)PFC_CLOCK_LAST_S + 0.999; /* rounding must not make it year 10000 */
    int64_t ms = (int64_t)floor(fmin(unix_s, last) * 1000.0 + 0.5);
    time_t seconds = (time_t)(ms >= 0 ? ms / 1000 : -((-ms + 999) / 1000));
    unsigned rest = (unsigned)(ms - (int64_t)seconds * 1000) % 1000u;
    struct tm utc = { 0 };
    unsigned year;

    gmtime_r(&seconds, &utc);
    /* The remainders show the compiler that each field keeps its width; without them it warns that
     * the text may be cut. */
    year = (unsigned)(utc.tm_year + 1900) % 10000u;
    snprintf(out, 32, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", year,
             (unsigned)(utc.tm_mon + 1) % 100u, (unsigned)utc.tm_mday % 100u,
             (unsigned)utc.tm_hour % 100u, (unsigned)utc.tm_min % 100u, (unsigned)utc.tm_sec % 100u,
             rest);
}

void pfc_clock_sleep_ns(int64_t ns)
{
    int64_t end = pfc_clock_ns() + ns;
    struct timespec until = { .tv_sec = end / PFC_NS_PER_S, .tv_nsec = end % PFC_NS_PER_S };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        continue;
}
