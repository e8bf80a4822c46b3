/* See device.h. */
#include "tests/kernels/accel/driver/device.h"

#include "tests/check/check.h"

pfc_accel_chip round_chip(void)
{
    pfc_accel_chip chip;

    cr_assert(eq(int, pfc_accel_chip_load("pfc-server", &chip, NULL), PFC_OK));
    chip.clock_mhz = 1000;
    chip.pcie_latency_ns = 300;
    chip.launch_ns = 2000;
    chip.host_call_ns = 1000;
    chip.host_doorbell_ns = 100;
    chip.host_irq_ns = 5000;
    chip.host_poll_ns = 200;
    chip.queue_fetch_ns = 100;
    chip.queue_semaphore_ns = 50;
    return chip;
}

pfc_accel_ptr taken(pfc_accel_device *dev, uint64_t bytes)
{
    pfc_accel_ptr p = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_malloc(dev, bytes, &p, &err), PFC_OK), "%s", err.msg);
    return p;
}

uint64_t host_now(pfc_accel_device *dev)
{
    uint64_t ns = 0;

    cr_assert(eq(int, pfc_accel_host_now(dev, &ns, NULL), PFC_OK));
    return ns;
}
