/* Semaphores over queues: their times, deadlocks, and every misuse that has an error. */
#include <string.h>

#include "tests/check/check.h"
#include "tests/kernels/accel/driver/device.h"

static pfc_accel_device *dev;
static pfc_accel_chip chip;
static pfc_accel_stream one, two;
static pfc_err err;

#define OK(call) cr_assert(eq(int, (call), PFC_OK), "%s", err.msg)

static void open_round(void)
{
    chip = round_chip();
    OK(pfc_accel_open(&dev, &chip, &err));
    OK(pfc_accel_stream_new(dev, &one, &err));
    OK(pfc_accel_stream_new(dev, &two, &err));
}

static void free_round(void)
{
    pfc_accel_device_free(dev);
}

TestSuite(semaphores, .init = open_round, .fini = free_round);

static pfc_accel_semaphore semaphore(void)
{
    pfc_accel_semaphore s = 0;

    OK(pfc_accel_semaphore_new(dev, &s, &err));
    return s;
}

static uint64_t end_of(pfc_accel_stream stream)
{
    uint64_t tick = 0;

    OK(pfc_accel_synchronise(dev, stream, &tick, &err));
    return tick;
}

/* The signal is executed when it is fetched, 1000 ns after its doorbell; the wait, fetched before,
 * ends 50 ns later. A wait for a value that was seen long before ends when it is fetched. */
Test(semaphores, a_wait_ends_a_latency_after_the_signal)
{
    const pfc_accel_semaphore s = semaphore();
    uint64_t start = host_now(dev);

    OK(pfc_accel_semaphore_wait(dev, one, s, 3, &err));
    OK(pfc_accel_semaphore_signal(dev, 0, s, 3, &err));
    cr_assert(eq(u64, end_of(one), start + 2200 + 1000 + 50));
    start = host_now(dev);
    OK(pfc_accel_semaphore_wait(dev, two, s, 2, &err));
    cr_assert(eq(u64, end_of(two), start + 1100 + 1000));
}

/* Values only grow: a lower signal changes nothing, a higher one ends all waits up to it. */
Test(semaphores, values_only_grow)
{
    const pfc_accel_semaphore s = semaphore();
    bool done = true;

    OK(pfc_accel_semaphore_wait(dev, one, s, 5, &err));
    OK(pfc_accel_semaphore_wait(dev, two, s, 7, &err));
    OK(pfc_accel_semaphore_signal(dev, 0, s, 4, &err));
    end_of(0);
    OK(pfc_accel_stream_query(dev, one, &done, &err));
    cr_assert(not(done));
    OK(pfc_accel_semaphore_signal(dev, 0, s, 6, &err));
    end_of(one);
    OK(pfc_accel_semaphore_signal(dev, 0, s, 1, &err));
    end_of(0);
    OK(pfc_accel_stream_query(dev, two, &done, &err));
    cr_assert(not(done));
    OK(pfc_accel_semaphore_signal(dev, 0, s, 7, &err));
    end_of(two);
}

/* The host's write crosses the link once: 300 ns after its doorbell. */
Test(semaphores, the_host_raises_one)
{
    const pfc_accel_semaphore s = semaphore();
    uint64_t start;

    OK(pfc_accel_semaphore_wait(dev, one, s, 1, &err));
    OK(pfc_accel_stream_query(dev, one, &(bool){ false }, &err)); /* time passes: it is fetched */
    start = host_now(dev);
    OK(pfc_accel_semaphore_set(dev, s, 1, &err));
    cr_assert(eq(u64, end_of(one), start + 1000 + 100 + 300));
}

/* Stream 1 waits for what stream 2 signals behind its own wait for stream 1. */
Test(semaphores, a_circle_of_waits_is_named)
{
    const pfc_accel_semaphore a = semaphore(), b = semaphore();
    uint64_t tick = 7;

    OK(pfc_accel_semaphore_wait(dev, one, a, 1, &err));
    OK(pfc_accel_semaphore_signal(dev, one, b, 2, &err));
    OK(pfc_accel_semaphore_wait(dev, two, b, 2, &err));
    OK(pfc_accel_semaphore_signal(dev, two, a, 1, &err));
    cr_assert(eq(int, pfc_accel_synchronise(dev, one, &tick, &err), PFC_ECONFLICT));
    cr_assert(
        eq(str, err.msg,
           "deadlock: stream 1 waits in command 1 for semaphore 0 >= 1, which command 2 of "
           "stream 2 signals; stream 2 waits in command 1 for semaphore 1 >= 2, which command "
           "2 of stream 1 signals; the circle closes"));
    cr_assert(eq(u64, tick, 7));
    /* The same again, and from the other side. */
    cr_assert(eq(int, pfc_accel_synchronise(dev, two, NULL, &err), PFC_ECONFLICT));
    /* The host can still free them. */
    OK(pfc_accel_semaphore_set(dev, a, 1, &err));
    end_of(one);
    end_of(two);
}

Test(semaphores, a_circle_over_events_and_three_streams_is_named)
{
    const pfc_accel_semaphore a = semaphore();
    pfc_accel_event e = 0;

    OK(pfc_accel_event_new(dev, &e, &err));
    OK(pfc_accel_semaphore_wait(dev, two, a, 1, &err));
    OK(pfc_accel_event_record(dev, e, two, &err));
    OK(pfc_accel_event_wait(dev, 0, e, &err));
    OK(pfc_accel_stream_wait(dev, one, 0, &err));
    OK(pfc_accel_semaphore_signal(dev, one, a, 1, &err));
    cr_assert(eq(int, pfc_accel_event_synchronise(dev, e, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_synchronise(dev, 0, NULL, &err), PFC_ECONFLICT));
    for (unsigned s = 0; s < 3; s++) {
        char stream[32] = "stream 0 waits in command 1";

        stream[7] = (char)('0' + s);
        cr_assert(ne(ptr, strstr(err.msg, stream), NULL), "%s", err.msg);
    }
    cr_assert(ne(ptr, strstr(err.msg, "the circle closes"), NULL), "%s", err.msg);
}

Test(semaphores, a_wait_that_no_command_ends_is_named)
{
    const pfc_accel_semaphore a = semaphore();
    const pfc_accel_ptr p = taken(dev, 4);
    uint32_t word = 0;

    OK(pfc_accel_semaphore_signal(dev, one, a, 1, &err));
    OK(pfc_accel_semaphore_wait(dev, 0, a, 2, &err));
    cr_assert(eq(int, pfc_accel_copy_in(dev, 0, p, &word, 4, &err), PFC_ECONFLICT));
    cr_assert(eq(str, err.msg,
                 "deadlock: stream 0 waits in command 1 for semaphore 0 >= 2, which no command "
                 "signals"));
}

Test(semaphores, handles_and_values_are_checked)
{
    const pfc_accel_semaphore s = semaphore();
    pfc_accel_device *other = NULL;
    pfc_accel_event event = 0;
    pfc_accel_semaphore again;

    OK(pfc_accel_open(&other, &chip, &err));
    OK(pfc_accel_semaphore_new(other, &again, &err)); /* one at the same place as s */
    OK(pfc_accel_event_new(dev, &event, &err));
    cr_assert(eq(int, pfc_accel_semaphore_wait(other, 0, s, 1, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_semaphore_wait(dev, 0, event, 1, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_semaphore_wait(dev, 0, 0, 1, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_semaphore_wait(dev, 0, s, 0, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_semaphore_signal(dev, 0, s, 0, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_semaphore_set(dev, s, 0, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_semaphore_signal(dev, 9, s, 1, &err), PFC_EINVAL));
    OK(pfc_accel_semaphore_wait(dev, 0, s, 1, &err));
    cr_assert(eq(int, pfc_accel_semaphore_free(dev, s, &err), PFC_ECONFLICT));
    OK(pfc_accel_semaphore_set(dev, s, 1, &err));
    end_of(0);
    OK(pfc_accel_semaphore_free(dev, s, &err));
    cr_assert(eq(int, pfc_accel_semaphore_free(dev, s, &err), PFC_EINVAL));
    again = semaphore(); /* in the same place, with the value 0 */
    cr_assert(ne(u64, again, s));
    cr_assert(eq(int, pfc_accel_semaphore_set(dev, s, 1, &err), PFC_EINVAL));
    OK(pfc_accel_semaphore_wait(dev, 0, again, 1, &err));
    cr_assert(eq(int, pfc_accel_synchronise(dev, 0, NULL, &err), PFC_ECONFLICT));
    pfc_accel_device_free(other);
}

/* A value on its way when its semaphore is freed does not reach the next one in its place. */
Test(semaphores, a_late_value_does_not_reach_another_semaphore)
{
    pfc_accel_semaphore again;

    pfc_accel_device_free(dev);
    chip.queue_semaphore_ns = 1000000; /* longer than the calls below */
    OK(pfc_accel_open(&dev, &chip, &err));
    again = semaphore();
    cr_assert(ne(u64, again, 0));
    OK(pfc_accel_semaphore_signal(dev, 0, again, 1, &err));
    end_of(0);
    OK(pfc_accel_semaphore_free(dev, again, &err));
    again = semaphore();
    OK(pfc_accel_semaphore_wait(dev, 0, again, 1, &err));
    cr_assert(eq(int, pfc_accel_synchronise(dev, 0, NULL, &err), PFC_ECONFLICT));
}

Test(semaphores, there_are_so_many_and_not_more)
{
    pfc_accel_semaphore s = 0;

    for (size_t i = 0; i < PFC_ACCEL_MAX_SEMAPHORES; i++)
        s = semaphore();
    cr_assert(
        eq(int, pfc_accel_semaphore_new(dev, &(pfc_accel_semaphore){ 0 }, &err), PFC_ETOOBIG));
    OK(pfc_accel_semaphore_free(dev, s, &err));
    semaphore();
}

Test(semaphores, a_closed_device_answers_with_errors)
{
    const pfc_accel_semaphore s = semaphore();
    pfc_accel_semaphore other;

    OK(pfc_accel_close(dev, &err));
    cr_assert(eq(int, pfc_accel_semaphore_new(dev, &other, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_semaphore_free(dev, s, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_semaphore_signal(dev, 0, s, 1, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_semaphore_wait(dev, 0, s, 1, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_semaphore_set(dev, s, 1, &err), PFC_ECONFLICT));
    cr_assert(ne(ptr, strstr(err.msg, "closed"), NULL), "%s", err.msg);
}
