/* A device whose times are round, for the tests of the driver's queues. */
#ifndef PFC_TESTS_KERNELS_ACCEL_DRIVER_DEVICE_H
#define PFC_TESTS_KERNELS_ACCEL_DRIVER_DEVICE_H

#include "kernels/accel/ops/ops.h"

/**
 * pfc-server at 1 GHz, so that a cycle is a nanosecond, with these times in ns: one way over the
 * link 300, launch 2000, call 1000, doorbell 100, interrupt 5000, poll 200, fetch 100, semaphore
 * 50. A command is fetched 3 * 300 + 100 = 1000 after its doorbell, a kernel dispatched in 1000.
 */
pfc_accel_chip round_chip(void);
/** Device memory; the test fails when there is none. */
pfc_accel_ptr taken(pfc_accel_device *dev, uint64_t bytes);
/** The host's clock, ns. */
uint64_t host_now(pfc_accel_device *dev);

#endif
