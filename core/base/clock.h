/*
 * Clocks. Durations come from pfc_clock_ns (CLOCK_MONOTONIC); dates of stored things come from the
 * database, or from pfc_clock_unix_s where there is none. Thread-safe.
 */
#ifndef PFC_CORE_BASE_CLOCK_H
#define PFC_CORE_BASE_CLOCK_H

#include "core/base/base.h"

#define PFC_NS_PER_S  1000000000LL
#define PFC_NS_PER_MS 1000000LL

#define PFC_CLOCK_LAST_S 253402300799LL /* 9999-12-31T23:59:59Z: the last that RFC 3339 can say */

/** Monotonic nanoseconds since an arbitrary start; never goes back. */
int64_t pfc_clock_ns(void);
/** Seconds since 1970 UTC, with fraction. */
double pfc_clock_unix_s(void);
/** "2026-11-22T10:00:00.123Z" of a Unix time into out[32]; a later one than can be said: the last.
 */
void pfc_clock_rfc3339(double unix_s, char out[32]);
/** Waits at least `ns`, continuing after signals. For back-off and polling, never for ordering. */
void pfc_clock_sleep_ns(int64_t ns);

#endif
