#include "tests/kernels/accel/chips.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"

#define KEY(field, min, max, usual)                                                                \
    {                                                                                              \
#field, offsetof(pfc_accel_chip, field), (min), (max), (usual), false                      \
    }
#define KEY2(field, min, max, usual)                                                               \
    {                                                                                              \
#field, offsetof(pfc_accel_chip, field), (min), (max), (usual), true                       \
    }

/* One bank, wide interleaving and rare refreshes: every key may go from end to end on its own. */
const chip_key chip_keys[] = {
    KEY(clock_mhz, 1, 10000, 1001),
    KEY(array_rows, 1, 1024, 17),
    KEY(array_cols, 1, 1024, 19),
    KEY(array_load_rows, 1, 1024, 2),
    KEY(f32_passes, 1, 16, 3),
    KEY(vector_lanes, 1, 65536, 21),
    KEY(vector_latency, 0, 10000, 22),
    KEY(vector_reduce, 0, 10000, 23),
    KEY(vector_exp, 1, 64, 5),
    KEY(sram_bytes, 4096, 1073741824, 1048576),
    KEY(sram_banks, 1, 64, 1),
    KEY(sram_port_bytes, 1, 4096, 33),
    KEY(acc_bytes, 1024, 268435456, 65537),
    KEY(dma_engines, 1, 64, 6),
    KEY(dma_bytes, 1, 4096, 35),
    KEY(dma_setup, 0, 100000, 36),
    KEY(dma_window, 1, 64, 7),
    KEY(hbm_bytes, 1048576, 1099511627776, 2097152),
    KEY(hbm_mbps, 1, 100000000, 51201),
    KEY(hbm_channels, 1, 128, 9),
    KEY2(hbm_interleave, 64, 65536, 4096),
    KEY2(hbm_burst, 16, 256, 64),
    KEY(hbm_banks, 1, 64, 10),
    KEY2(hbm_row_bytes, 256, 65536, 2048),
    KEY(hbm_row_miss, 0, 10000, 37),
    KEY(hbm_turnaround, 0, 10000, 38),
    KEY(hbm_refresh_every, 100, 10000000, 20000),
    KEY(hbm_refresh, 0, 10000, 99),
    KEY(hbm_latency, 0, 100000, 39),
    KEY(pcie_gen, 3, 6, 4),
    KEY(pcie_lanes, 1, 16, 8),
    KEY(pcie_payload, 64, 4096, 129),
    KEY(pcie_latency_ns, 0, 1000000, 401),
    KEY(launch_ns, 0, 1000000000, 2501),
    KEY(pcie_read_bytes, 64, 4096, 513),
    KEY(pcie_reads, 1, 4096, 65),
    KEY(host_call_ns, 0, 1000000000, 1201),
    KEY(host_doorbell_ns, 0, 1000000000, 151),
    KEY(host_irq_ns, 0, 1000000000, 4001),
    KEY(host_poll_ns, 1, 1000000000, 201),
    KEY(queue_fetch_ns, 0, 1000000000, 101),
    KEY(queue_semaphore_ns, 0, 1000000000, 301),
};
const size_t chip_keys_len = PFC_ARRAY_LEN(chip_keys);

static void line(pfc_buf *buf, const char *key, const char *usual, const char *name,
                 const char *value)
{
    const bool changed = name && strcmp(key, name) == 0;

    if (!changed)
        pfc_buf_printf(buf, "%s = %s\n", key, usual);
    else if (value)
        pfc_buf_printf(buf, "%s = %s\n", key, value);
}

char *chip_text(const char *name, const char *value)
{
    pfc_buf buf;
    char *text;

    pfc_buf_init(&buf, PFC_ACCEL_CHIP_MAX_BYTES);
    line(&buf, "name", "made-up", name, value);
    line(&buf, "about", "a chip for tests", name, value);
    line(&buf, "mode", "scalesim-is", name, value);
    for (size_t i = 0; i < chip_keys_len; i++) {
        char usual[32];

        snprintf(usual, sizeof usual, "%" PRIu64, chip_keys[i].usual);
        line(&buf, chip_keys[i].name, usual, name, value);
    }
    text = pfc_strndup(pfc_buf_text(&buf), buf.len);
    pfc_buf_clear(&buf);
    return text;
}
