/* Waiting for quiet on a modelled machine and clock. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "bench/machine/quiet.h"

static double now_s, busy_until_s, steal_until_s, busy_s, steal_s;

/* Two CPUs; until the given times, others take 80 % of them, or the hypervisor 10 %. */
static void load(void *arg, pfc_load *out)
{
    (void)arg;
    *out = (pfc_load){ 1.5, steal_s, busy_s, 2 * now_s };
}

static void sleep_ns(void *arg, int64_t ns)
{
    const double s = (double)ns * 1e-9;

    (void)arg;
    busy_s += now_s < busy_until_s ? 1.6 * s : 0.1 * s;
    steal_s += now_s < steal_until_s ? 0.2 * s : 0;
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
    *out = (pfc_load){ NAN, NAN, NAN, NAN };
}

Test(quiet, nothing_known_is_nothing_against_it)
{
    const pfc_quiet_world blind = { .load = unreadable, .sleep_ns = sleep_ns };
    pfc_quiet q;

    pfc_quiet_wait(60, &blind, &q);
    cr_assert(q.quiet);
    cr_assert(isnan(q.steal_share));
}
