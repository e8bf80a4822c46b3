/* Waiting for quiet on a modelled machine and clock. */
#include <math.h>
#include <string.h>

#include "bench/machine/quiet/quiet.h"

#include "tests/check/check.h"

static double now_s, busy_until_s, steal_until_s, busy_s, steal_s;
static double running = 1, load1 = 1.5, ghz = 3, ghz_a_second, throttled, throttled_a_second;

/* Two CPUs; until the given times, others take 80 % of them, or the hypervisor 10 %. */
static void load(void *arg, pfc_load *out)
{
    (void)arg;
    *out = (pfc_load){ .load1 = load1,
                       .steal_seconds = steal_s,
                       .busy_seconds = busy_s,
                       .total_seconds = 2 * now_s,
                       .running = running,
                       .throttled = throttled,
                       .core_ghz = ghz,
                       .cpus = 2 };
}

static void sleep_ns(void *arg, int64_t ns)
{
    const double s = (double)ns * 1e-9;

    (void)arg;
    busy_s += now_s < busy_until_s ? 1.6 * s : 0.1 * s;
    steal_s += now_s < steal_until_s ? 0.2 * s : 0;
    ghz += ghz_a_second * s;
    throttled += throttled_a_second * s;
    now_s += s;
}

static const pfc_quiet_world world = { .load = load, .sleep_ns = sleep_ns };

Test(quiet, a_quiet_machine_is_seen_in_one_look)
{
    pfc_quiet q;

    pfc_quiet_wait(60, &world, &q);
    cr_assert(q.quiet);
    cr_assert(epsilon_eq(dbl, q.waited_s, 0.5, 1e-9));
    cr_assert(eq(str, q.reason, ""));
}

Test(quiet, it_waits_until_others_are_done)
{
    pfc_quiet q;

    busy_until_s = 7;
    pfc_quiet_wait(60, &world, &q);
    cr_assert(q.quiet);
    cr_assert(epsilon_eq(dbl, q.waited_s, 7.5, 1e-9));
}

Test(quiet, a_machine_that_never_gets_quiet_is_given_up_with_the_reason)
{
    pfc_quiet q;

    busy_until_s = 1e9;
    pfc_quiet_wait(3, &world, &q);
    cr_assert(not(q.quiet));
    cr_assert(epsilon_eq(dbl, q.waited_s, 3, 1e-9));
    cr_assert(ne(ptr, strstr(q.reason, "80 %"), NULL), "%s", q.reason);
    busy_until_s = 0;
    steal_until_s = 1e9;
    pfc_quiet_wait(1, &world, &q);
    cr_assert(ne(ptr, strstr(q.reason, "hypervisor took 10.0 %"), NULL), "%s", q.reason);
}

static void unreadable(void *arg, pfc_load *out)
{
    (void)arg;
    *out = (pfc_load){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
}

Test(quiet, nothing_known_is_nothing_against_it)
{
    const pfc_quiet_world blind = { .load = unreadable, .sleep_ns = sleep_ns };
    pfc_quiet q;

    pfc_quiet_wait(60, &blind, &q);
    cr_assert(q.quiet);
    cr_assert(isnan(q.steal_share));
}

static bool refused(const char *why)
{
    pfc_quiet q;

    pfc_quiet_wait(0, &world, &q);
    return !q.quiet && strstr(q.reason, why);
}

Test(quiet, threads_that_wait_for_a_cpu_close_the_gate)
{
    running = 3; /* this one and two others on two CPUs: each has its own */
    cr_assert(not(refused("")));
    running = 5;
    cr_assert(refused("4.0 threads of others run or wait for 2 CPUs (limit 2.0)"));
}

Test(quiet, the_load_of_the_last_minute_closes_the_gate)
{
    load1 = 2.9;
    cr_assert(not(refused("")));
    load1 = 6;
    cr_assert(refused("the load of the last minute is 6.0 on 2 CPUs (limit 3.0)"));
}

Test(quiet, a_clock_that_wanders_closes_the_gate)
{
    ghz_a_second = -0.1; /* 3 to 2.95 GHz within half a second: 1.7 % */
    cr_assert(not(refused("")));
    ghz_a_second = -0.8; /* by 0.4 GHz: 13 % or more */
    cr_assert(refused("the core's clock wanders: now 2.55 GHz"));
}

Test(quiet, heat_closes_the_gate)
{
    throttled_a_second = 4;
    cr_assert(refused("slowed by heat 2 times within 0.5 s"));
}
