/* Events: record, wait, query, elapsed time, and every misuse that has an error. */
#include <string.h>

#include "tests/check/check.h"
#include "tests/kernels/accel/driver/device.h"

static pfc_accel_device *dev;
static pfc_accel_chip chip;
static pfc_err err;

static void open_round(void)
{
    chip = round_chip();
    cr_assert(eq(int, pfc_accel_open(&dev, &chip, &err), PFC_OK), "%s", err.msg);
}

static void free_round(void)
{
    pfc_accel_device_free(dev);
}

TestSuite(events, .init = open_round, .fini = free_round);

#define OK(call) cr_assert(eq(int, (call), PFC_OK), "%s", err.msg)

static pfc_accel_event event(void)
{
    pfc_accel_event e = 0;

    OK(pfc_accel_event_new(dev, &e, &err));
    return e;
}

static bool is_done(pfc_accel_event e)
{
    bool done = false;

    OK(pfc_accel_event_query(dev, e, &done, &err));
    return done;
}

/* The copy is ready when the record before it is over, so the time between the two records is that
 * of the copy alone: 600 ns to the first byte, then the bytes. */
Test(events, elapsed_time_is_that_of_the_device)
{
    static uint8_t host[1 << 20];
    const pfc_accel_ptr p = taken(dev, sizeof(host));
    const pfc_accel_event from = event(), to = event();
    const uint64_t down = pfc_accel_pcie_read_cycles(&chip, sizeof(host));
    double ns = 0;

    OK(pfc_accel_event_record(dev, from, 0, &err));
    OK(pfc_accel_copy_in_async(dev, 0, p, host, sizeof(host), &err));
    OK(pfc_accel_event_record(dev, to, 0, &err));
    cr_assert(eq(int, pfc_accel_event_elapsed(dev, from, to, &ns, &err), PFC_ECONFLICT));
    cr_assert(ne(ptr, strstr(err.msg, "is not over"), NULL), "%s", err.msg);
    cr_assert(not(is_done(to)));
    OK(pfc_accel_event_synchronise(dev, to, &err));
    cr_assert(is_done(to));
    OK(pfc_accel_event_elapsed(dev, from, to, &ns, &err));
    /* The record is over at the fetch, 1100 later is the fetch of the copy. */
    cr_assert(epsilon_eq(dbl, ns, (double)(1100 + 600 + down), 1e-9));
    OK(pfc_accel_event_elapsed(dev, to, from, &ns, &err));
    cr_assert(epsilon_eq(dbl, ns, -(double)(1100 + 600 + down), 1e-9));
}

/* The stream that waits goes on a semaphore's latency (50 ns) after the record. */
Test(events, a_stream_waits_for_a_record_of_another)
{
    static uint8_t host[1 << 20];
    const pfc_accel_ptr p = taken(dev, sizeof(host));
    const pfc_accel_event copied = event(), passed = event();
    pfc_accel_stream s = 0;
    uint64_t tick = 0;
    double ns = 0;

    OK(pfc_accel_stream_new(dev, &s, &err));
    OK(pfc_accel_copy_in_async(dev, 0, p, host, sizeof(host), &err));
    OK(pfc_accel_event_record(dev, copied, 0, &err));
    OK(pfc_accel_event_wait(dev, s, copied, &err));
    OK(pfc_accel_event_record(dev, passed, s, &err));
    OK(pfc_accel_synchronise(dev, s, &tick, &err));
    OK(pfc_accel_event_elapsed(dev, copied, passed, &ns, &err));
    cr_assert(epsilon_eq(dbl, ns, 50.0, 1e-9));
}

/* The host goes on when the record is over, although the stream has more to do. */
Test(events, the_host_waits_for_a_record_and_not_for_the_stream)
{
    static uint8_t host[1 << 20];
    const pfc_accel_ptr p = taken(dev, sizeof(host));
    const pfc_accel_event e = event();
    const uint64_t start = host_now(dev);
    bool done = true;

    OK(pfc_accel_event_record(dev, e, 0, &err));
    OK(pfc_accel_copy_in_async(dev, 0, p, host, sizeof(host), &err));
    OK(pfc_accel_event_synchronise(dev, e, &err));
    /* The record is over 1100 + 1000 after the start; its completion has crossed the link when the
     * host begins to wait, 1100 + 1100 + 1000 after the start. */
    cr_assert(eq(u64, host_now(dev), start + 3200));
    OK(pfc_accel_stream_query(dev, 0, &done, &err));
    cr_assert(not(done));
}

/* A wait is for the newest record at the time of the call; a later record does not hold it up. */
Test(events, an_event_is_recorded_again)
{
    const pfc_accel_event e = event(), after = event();
    pfc_accel_semaphore gate = 0;
    pfc_accel_stream s = 0;

    OK(pfc_accel_stream_new(dev, &s, &err));
    OK(pfc_accel_semaphore_new(dev, &gate, &err));
    OK(pfc_accel_event_record(dev, e, 0, &err));
    OK(pfc_accel_event_wait(dev, s, e, &err));
    OK(pfc_accel_event_record(dev, after, s, &err));
    OK(pfc_accel_semaphore_wait(dev, 0, gate, 1, &err));
    OK(pfc_accel_event_record(dev, e, 0, &err));
    OK(pfc_accel_event_synchronise(dev, after, &err));
    cr_assert(not(is_done(e)));
    cr_assert(eq(int, pfc_accel_event_synchronise(dev, e, &err), PFC_ECONFLICT));
    OK(pfc_accel_semaphore_set(dev, gate, 1, &err));
    OK(pfc_accel_event_synchronise(dev, e, &err));
    cr_assert(is_done(e));
}

Test(events, an_event_that_was_never_recorded_is_not_waited_for)
{
    const pfc_accel_event e = event();
    bool done = true;
    double ns = 0;

    cr_assert(eq(int, pfc_accel_event_wait(dev, 0, e, &err), PFC_ECONFLICT));
    cr_assert(ne(ptr, strstr(err.msg, "was never recorded"), NULL), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_event_synchronise(dev, e, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_event_query(dev, e, &done, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_event_elapsed(dev, e, e, &ns, &err), PFC_ECONFLICT));
}

Test(events, handles_are_checked)
{
    const pfc_accel_event e = event();
    pfc_accel_device *other = NULL;
    pfc_accel_semaphore semaphore = 0;
    pfc_accel_event again;

    OK(pfc_accel_open(&other, &chip, &err));
    OK(pfc_accel_event_new(other, &again, &err)); /* one at the same place as e */
    OK(pfc_accel_semaphore_new(dev, &semaphore, &err));
    cr_assert(eq(int, pfc_accel_event_record(other, e, 0, &err), PFC_EINVAL)); /* not its own */
    cr_assert(eq(int, pfc_accel_event_record(dev, 0, 0, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_event_record(dev, semaphore, 0, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_event_record(dev, e + 1, 0, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_event_record(dev, e, 9, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_event_free(other, e, &err), PFC_EINVAL));
    OK(pfc_accel_event_free(dev, e, &err));
    cr_assert(eq(int, pfc_accel_event_free(dev, e, &err), PFC_EINVAL)); /* double free */
    cr_assert(ne(ptr, strstr(err.msg, "freed before"), NULL), "%s", err.msg);
    again = event(); /* in the same place: the old handle stays invalid */
    cr_assert(ne(u64, again, e));
    cr_assert(eq(int, pfc_accel_event_record(dev, e, 0, &err), PFC_EINVAL));
    pfc_accel_device_free(other);
}

Test(events, an_event_in_use_is_not_freed)
{
    const pfc_accel_event e = event();
    pfc_accel_semaphore gate = 0;

    OK(pfc_accel_semaphore_new(dev, &gate, &err));
    OK(pfc_accel_semaphore_wait(dev, 0, gate, 1, &err));
    OK(pfc_accel_event_record(dev, e, 0, &err));
    cr_assert(eq(int, pfc_accel_event_free(dev, e, &err), PFC_ECONFLICT));
    cr_assert(ne(ptr, strstr(err.msg, "commands that are not over: 1"), NULL), "%s", err.msg);
    OK(pfc_accel_semaphore_set(dev, gate, 1, &err));
    OK(pfc_accel_synchronise(dev, 0, NULL, &err));
    OK(pfc_accel_event_free(dev, e, &err));
}

Test(events, there_are_so_many_and_not_more)
{
    pfc_accel_event e = 0, first = 0;

    first = event();
    for (size_t i = 1; i < PFC_ACCEL_MAX_EVENTS; i++)
        e = event();
    cr_assert(eq(int, pfc_accel_event_new(dev, &e, &err), PFC_ETOOBIG));
    OK(pfc_accel_event_free(dev, first, &err));
    OK(pfc_accel_event_new(dev, &e, &err));
}

Test(events, a_closed_device_answers_with_errors)
{
    const pfc_accel_event e = event();
    bool done;
    double ns;
    pfc_accel_event other;

    OK(pfc_accel_close(dev, &err));
    cr_assert(eq(int, pfc_accel_event_new(dev, &other, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_event_record(dev, e, 0, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_event_wait(dev, 0, e, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_event_synchronise(dev, e, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_event_query(dev, e, &done, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_event_elapsed(dev, e, e, &ns, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_event_free(dev, e, &err), PFC_ECONFLICT));
    cr_assert(ne(ptr, strstr(err.msg, "closed"), NULL), "%s", err.msg);
}
