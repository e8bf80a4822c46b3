/* Copies and launches that return at once: their times, their order, and their results. */
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

TestSuite(async, .init = open_round, .fini = free_round);

#define OK(call) cr_assert(eq(int, (call), PFC_OK), "%s", err.msg)

static bool is_over(pfc_accel_stream stream)
{
    bool done = false;

    OK(pfc_accel_stream_query(dev, stream, &done, &err));
    return done;
}

/* A call and its doorbell take 1100 ns of the host; the copy itself goes on beside it. Fetched 1000
 * later, its first byte arrives 600 after that. */
Test(async, a_copy_returns_before_its_bytes_have_moved)
{
    static uint8_t in[1 << 20], out[1 << 20];
    const uint64_t down = pfc_accel_pcie_read_cycles(&chip, sizeof(in));
    const pfc_accel_ptr p = taken(dev, sizeof(in));
    const uint64_t start = host_now(dev);
    uint64_t tick = 0;

    memset(in, 0x5a, sizeof(in));
    OK(pfc_accel_copy_in_async(dev, 0, p, in, sizeof(in), &err));
    cr_assert(eq(u64, host_now(dev) - start, 1100));
    cr_assert(not(is_over(0)));
    OK(pfc_accel_copy_out_async(dev, 0, out, p, sizeof(out), &err));
    cr_assert(eq(chr, (char)out[0], 0)); /* `out` is filled when the command is executed */
    OK(pfc_accel_synchronise(dev, 0, &tick, &err));
    cr_assert(eq(u64, tick,
                 start + 1100 + 1000 + 600 + down + pfc_accel_pcie_wire_cycles(&chip, sizeof(in))));
    cr_assert(eq(int, memcmp(in, out, sizeof(in)), 0));
    cr_assert(is_over(0));
    cr_assert(eq(u64, host_now(dev), tick + 300 + 5000 + 1000)); /* and the query */
}

/* Bytes are read when the copy is executed, so the host can still change them before. */
Test(async, a_command_reads_the_host_memory_when_it_is_executed)
{
    pfc_accel_semaphore gate = 0;
    const pfc_accel_ptr p = taken(dev, 4);
    uint32_t value = 1;
    uint32_t back = 0;

    OK(pfc_accel_semaphore_new(dev, &gate, &err));
    OK(pfc_accel_semaphore_wait(dev, 0, gate, 1, &err));
    OK(pfc_accel_copy_in_async(dev, 0, p, &value, 4, &err));
    value = 2;
    OK(pfc_accel_semaphore_set(dev, gate, 1, &err));
    OK(pfc_accel_copy_out(dev, 0, &back, p, 4, &err));
    cr_assert(eq(u32, back, 2));
}

static pfc_accel_program *compiled(int64_t m)
{
    const pfc_accel_problem problem = { .kernel = PFC_ACCEL_SOFTMAX,
                                        .dtype = PFC_ACCEL_F32,
                                        .p = { m, 4 } };
    pfc_accel_program *program = NULL;

    OK(pfc_accel_compile(&problem, &chip, PFC_ACCEL_PIPELINED_WS, NULL, &program, &err));
    return program;
}

/* Both streams' kernels are ready at almost the same time: the chip executes one after the other,
 * the one that was submitted first before the other. */
Test(async, kernels_of_two_streams_share_the_chip)
{
    pfc_accel_program *program = compiled(64);
    const pfc_accel_ptr args[] = { taken(dev, 1024), taken(dev, 1024) };
    pfc_accel_counters counters[2] = { 0 };
    pfc_accel_stream s = 0;
    uint64_t ends[2] = { 0 };

    OK(pfc_accel_stream_new(dev, &s, &err));
    OK(pfc_accel_launch(dev, s, program, args, 2, NULL, &counters[0], &err));
    OK(pfc_accel_launch(dev, 0, program, args, 2, NULL, &counters[1], &err));
    cr_assert(eq(u64, counters[1].v[PFC_ACCEL_CYCLES], 0)); /* it has not begun */
    OK(pfc_accel_synchronise(dev, 0, &ends[1], &err));
    OK(pfc_accel_synchronise(dev, s, &ends[0], &err));
    cr_assert(gt(u64, counters[0].v[PFC_ACCEL_CYCLES], 0));
    cr_assert(eq(u64, ends[1],
                 PFC_MAX(ends[0], ends[0] - counters[0].v[PFC_ACCEL_CYCLES] + 1100) +
                     counters[1].v[PFC_ACCEL_CYCLES]));
    pfc_accel_program_free(program);
}

/* A device that is closed, or freed, with commands in its queues drops them. */
Test(async, commands_of_a_closed_device_are_dropped)
{
    pfc_accel_program *program = compiled(8);
    const pfc_accel_ptr args[] = { taken(dev, 128), taken(dev, 128) };
    uint32_t back = 7;

    OK(pfc_accel_launch(dev, 0, program, args, 2, NULL, NULL, &err));
    OK(pfc_accel_copy_out_async(dev, 0, &back, args[1], 4, &err));
    OK(pfc_accel_close(dev, &err));
    cr_assert(eq(u32, back, 7));
    pfc_accel_program_free(program);
}

/* The queue is bounded; a command past the bound is refused, those before it are executed. */
Test(async, a_queue_holds_so_many_commands)
{
    pfc_accel_semaphore gate = 0;
    const pfc_accel_ptr p = taken(dev, 4);
    uint32_t word = 1;

    OK(pfc_accel_semaphore_new(dev, &gate, &err));
    OK(pfc_accel_semaphore_wait(dev, 0, gate, 1, &err));
    for (size_t i = 1; i < PFC_ACCEL_MAX_PACKETS; i++)
        OK(pfc_accel_copy_in_async(dev, 0, p, &word, 4, &err));
    cr_assert(eq(int, pfc_accel_copy_in_async(dev, 0, p, &word, 4, &err), PFC_ETOOBIG));
    cr_assert(ne(ptr, strstr(err.msg, "65536 commands of stream 0"), NULL), "%s", err.msg);
    OK(pfc_accel_semaphore_set(dev, gate, 1, &err));
    OK(pfc_accel_synchronise(dev, 0, NULL, &err));
    OK(pfc_accel_copy_in_async(dev, 0, p, &word, 4, &err));
}

Test(async, bad_copies_and_frees_are_errors)
{
    pfc_accel_semaphore gate = 0;
    const pfc_accel_ptr p = taken(dev, 256);
    uint32_t word = 1;

    cr_assert(eq(int, pfc_accel_copy_in_async(dev, 0, p, NULL, 4, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_copy_out_async(dev, 0, NULL, p, 4, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_copy_in_async(dev, 1, p, &word, 4, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_copy_in_async(dev, 0, p + 254, &word, 4, &err), PFC_EINVAL));
    OK(pfc_accel_copy_in_async(dev, 0, p, &word, 0, &err));
    OK(pfc_accel_semaphore_new(dev, &gate, &err));
    OK(pfc_accel_semaphore_wait(dev, 0, gate, 1, &err));
    OK(pfc_accel_copy_in_async(dev, 0, p + 4, &word, 4, &err));
    cr_assert(eq(int, pfc_accel_free(dev, p, &err), PFC_ECONFLICT));
    cr_assert(ne(ptr, strstr(err.msg, "command 2 of stream 0"), NULL), "%s", err.msg);
    OK(pfc_accel_semaphore_set(dev, gate, 1, &err));
    OK(pfc_accel_synchronise(dev, 0, NULL, &err));
    OK(pfc_accel_free(dev, p, &err));
    cr_assert(eq(int, pfc_accel_copy_in_async(dev, 0, p, &word, 4, &err), PFC_EINVAL));
}
