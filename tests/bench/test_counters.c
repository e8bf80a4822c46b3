/* Counters on made-up system calls, and on this kernel whatever it offers. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "bench/counters/counters.h"

static uint64_t reading[3];
static int opened, closed;
static bool hardware;

/* Type 0 is PERF_TYPE_HARDWARE. */
static int fake_open(void *arg, uint32_t type, uint64_t config)
{
    (void)arg;
    (void)config;
    return type == 0 && !hardware ? -1 : 100 + opened++;
}

static bool fake_read(void *arg, int fd, uint64_t out[3])
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        out[i] = reading[i];
    return fd >= 100;
}

static void fake_enable(void *arg, int fd, bool on)
{
    (void)arg;
    (void)fd;
    (void)on;
}

static void fake_close(void *arg, int fd)
{
    (void)arg;
    (void)fd;
    closed++;
}

static const pfc_counter_sys fake = {
    .open = fake_open, .read = fake_read, .enable = fake_enable, .close = fake_close
};

static pfc_counts count(bool with_hardware, uint64_t value, uint64_t enabled, uint64_t running)
{
    pfc_counters c;
    pfc_counts n;

    hardware = with_hardware;
    reading[0] = value;
    reading[1] = enabled;
    reading[2] = running;
    pfc_counters_open(&c, &fake);
    pfc_counters_start(&c);
    pfc_counters_stop(&c, &n);
    pfc_counters_close(&c);
    return n;
}

Test(counters, events_that_took_turns_are_scaled_by_the_time_they_ran)
{
    const pfc_counts n = count(true, 1000, 400, 100);

    cr_assert(epsilon_eq(dbl, n.share[0], 0.25, 1e-12));
    cr_assert(epsilon_eq(dbl, n.value[0], 4000, 1e-9));
    cr_assert(eq(int, closed, opened));
}

Test(counters, what_the_machine_does_not_count_is_absent_and_not_zero)
{
    const pfc_counts n = count(false, 0, 400, 400);

    for (size_t i = 0; i < PFC_COUNTERS; i++)
        cr_assert(gt(sz, strlen(pfc_counter_name(i)), 0));
    cr_assert(epsilon_eq(dbl, n.share[0], 0, 0)); /* cycles: hardware */
    cr_assert(epsilon_eq(dbl, n.share[PFC_COUNTERS - 1], 1, 0));
    cr_assert(epsilon_eq(dbl, n.value[PFC_COUNTERS - 1], 0, 0)); /* counted, and none came */
}

Test(counters, a_count_that_hardly_ran_or_never_was_enabled_is_absent)
{
    cr_assert(epsilon_eq(dbl, count(true, 10, 1000, 50).share[0], 0, 0));
    cr_assert(epsilon_eq(dbl, count(true, 10, 0, 0).share[0], 0, 0));
}

Test(counters, the_kernel_answers_or_says_it_cannot)
{
    pfc_counters c;
    pfc_counts n;
    volatile double x = 1;

    pfc_counters_open(&c, NULL);
    pfc_counters_start(&c);
    for (int i = 0; i < 1000; i++)
        x = x * 1.0001;
    pfc_counters_stop(&c, &n);
    pfc_counters_close(&c);
    for (size_t i = 0; i < PFC_COUNTERS; i++) {
        cr_assert(n.share[i] >= 0 && n.share[i] <= 1);
        cr_assert(eq(int, c.fd[i], -1));
        if (n.share[i] > 0)
            cr_assert(ge(dbl, n.value[i], 0));
    }
}
