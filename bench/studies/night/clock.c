/*
 * Preloaded (LD_PRELOAD) into the `perfci nightly` of a replayed study: CLOCK_MONOTONIC advances by
 * VISIT_NS with each visit and by the program's own sleeps, and stands still otherwise. The budget
 * of a night, which is in seconds, is then exactly one of visits, whatever else the machine does.
 * The planner's seed is taken from this clock, too, so a study can be repeated: the same seed gives
 * the same blocks.
 *
 * Environment:
 *   NIGHT_VISITS   the file of the wrapper (visit.c) with LINE bytes for each visit
 *   NIGHT_CLOCK_S  the clock before the first visit, seconds
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 41, VISIT_NS = 10000000, NS_PER_S = 1000000000 };

static char visits[4096];
static long long first_ns;
static atomic_llong slept_ns;

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("NIGHT_VISITS"), *from = getenv("NIGHT_CLOCK_S");

    if (path && strlen(path) < sizeof(visits))
        strcpy(visits, path);
    if (from)
        first_ns = strtoll(from, NULL, 10) * NS_PER_S;
    unsetenv("LD_PRELOAD"); /* the commands that perfci starts have the real clock */
}

static long long now_ns(void)
{
    struct stat st;

    if (stat(visits, &st))
        st.st_size = 0;
    return first_ns + (long long)st.st_size / LINE * VISIT_NS + atomic_load(&slept_ns);
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    const int saved = errno;
    long long ns;

    if (id != CLOCK_MONOTONIC || !visits[0])
        return (int)syscall(SYS_clock_gettime, id, out);
    ns = now_ns();
    errno = saved;
    out->tv_sec = ns / NS_PER_S;
    out->tv_nsec = ns % NS_PER_S;
    return 0;
}

/* A pause until a time of this clock is a real one of that length. */
int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left)
{
    const long long until = wanted->tv_sec * (long long)NS_PER_S + wanted->tv_nsec;
    const long long ns = until - (flags & TIMER_ABSTIME ? now_ns() : 0);
    const struct timespec rest = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

    if (id != CLOCK_MONOTONIC || !visits[0])
        return syscall(SYS_clock_nanosleep, id, flags, wanted, left) ? errno : 0;
    if (ns <= 0)
        return 0;
    if (syscall(SYS_clock_nanosleep, id, 0, &rest, left))
        return errno; /* by a signal: the caller pauses again, for all of it */
    atomic_fetch_add(&slept_ns, ns);
    return 0;
}
