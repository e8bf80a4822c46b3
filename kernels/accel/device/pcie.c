/* The PCIe link: data rate after encoding, packet headers and link-layer traffic. */
#include "kernels/accel/device/parts.h"

/* A packet's header, framing and check: 24 to 28 bytes. */
#define OVERHEAD_BYTES 26
/* Link-layer packets take some 4 % (DESIGN of the link: flow control and acknowledgements). */
#define DATA_PERCENT   96

uint64_t pfc_accel_ns_to_cycles(const pfc_accel_chip *chip, uint64_t ns)
{
    return pfc_accel_ceil_div(ns * chip->clock_mhz, 1000);
}

/* MB/s of a lane after 128b/130b encoding (generation 6: FLIT mode, 236 of 256 bytes). */
static uint64_t lane_mbps(uint64_t gen)
{
    static const uint64_t mbps[] = { 984, 1969, 3938, 7375 };

    return mbps[gen - 3];
}

uint64_t pfc_accel_pcie_wire_cycles(const pfc_accel_chip *chip, uint64_t bytes)
{
    const uint64_t packets = pfc_accel_ceil_div(bytes, chip->pcie_payload);
    const uint64_t wire = bytes + packets * OVERHEAD_BYTES;
    const uint64_t mbps100 = lane_mbps(chip->pcie_gen) * chip->pcie_lanes * DATA_PERCENT;

    /* bytes / (MB/s) = microseconds; times MHz = cycles. wire < 2^42, so the product fits. */
    return (uint64_t)pfc_accel_ceil_div(wire * 100 * chip->clock_mhz, mbps100);
}

/* Each round trip brings at most the bytes of all outstanding requests (Little's law). */
uint64_t pfc_accel_pcie_read_cycles(const pfc_accel_chip *chip, uint64_t bytes)
{
    const uint64_t trip = pfc_accel_ns_to_cycles(chip, 2 * chip->pcie_latency_ns);
    const uint64_t window = chip->pcie_reads * chip->pcie_read_bytes;
    const uint64_t whole = bytes / window * trip;
    const uint64_t rest = pfc_accel_ceil_div(bytes % window * trip, window);

    return PFC_MAX(pfc_accel_pcie_wire_cycles(chip, bytes), whole + rest);
}

uint64_t pfc_accel_pcie_cycles(const pfc_accel_chip *chip, uint64_t bytes)
{
    if (bytes == 0)
        return 0;
    return pfc_accel_ns_to_cycles(chip, chip->pcie_latency_ns) +
           pfc_accel_pcie_wire_cycles(chip, bytes);
}
