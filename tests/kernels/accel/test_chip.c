/* Chip files: accepted values, and the messages for faults. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "kernels/accel/device/device.h"

#include "tests/check/check.h"

/* pfc-edge with one line replaced, added (from "") or removed (to ""). */
static pfc_code parse_changed(const char *from, const char *to, pfc_accel_chip *chip, pfc_err *err)
{
    const char *text = pfc_accel_chip_text(0);
    const char *at = strstr(text, from);
    pfc_buf buf;
    pfc_code code;

    cr_assert(at != NULL, "%s", from);
    pfc_buf_init(&buf, 1 << 20);
    pfc_buf_append(&buf, text, (size_t)(at - text));
    pfc_buf_puts(&buf, to);
    pfc_buf_puts(&buf, at + strlen(from));
    code = pfc_accel_chip_parse(pfc_buf_text(&buf), buf.len, "x.chip", chip, err);
    pfc_buf_clear(&buf);
    return code;
}

Test(chip, built_in_chips_load_and_differ)
{
    pfc_accel_chip chips[8];
    size_t n = 0;
    pfc_err err = { 0 };

    for (; pfc_accel_chip_name(n); n++) {
        cr_assert(eq(int, pfc_accel_chip_load(pfc_accel_chip_name(n), &chips[n], &err), PFC_OK),
                  "%s", err.msg);
        cr_assert(eq(str, chips[n].name, (char *)pfc_accel_chip_name(n)));
        cr_assert(eq(sz, strlen(chips[n].hash), 16));
        if (n > 0)
            cr_assert(ne(str, chips[n].hash, chips[n - 1].hash));
    }
    cr_assert(ge(sz, n, 2));
    cr_assert(pfc_accel_chip_text(n) == NULL);
}

Test(chip, faults_are_reported_with_file_and_line)
{
    static const struct {
        const char *from;
        const char *to;
        const char *says;
    } faults[] = {
        { "clock_mhz = 1000", "clock_mhz = fast", "x.chip:14: clock_mhz" },
        { "clock_mhz = 1000", "clock_mhz = 0", "x.chip:14: clock_mhz" },
        { "clock_mhz = 1000", "clock_mhz = 1e3", "x.chip:14: clock_mhz" },
        { "clock_mhz = 1000", "clock_mhz 1000", "x.chip:14: expected \"key = value\"" },
        { "clock_mhz = 1000", "clock_ghz = 1", "x.chip:14: there is no key \"clock_ghz\"" },
        { "clock_mhz = 1000", "mode = scalesim-ws", "x.chip:14: mode is given twice" },
        { "clock_mhz = 1000", "", "ends without clock_mhz" },
        { "mode = pipelined-ws", "mode = fast", "x.chip:13: mode" },
        { "name = pfc-edge", "name = A B", "x.chip:11: name" },
        { "hbm_row_bytes = 2048", "hbm_row_bytes = 2000", "expected a power of two, got 2000" },
        { "hbm_burst = 64", "hbm_burst = 256\n# ", NULL },
        { "hbm_interleave = 256", "hbm_interleave = 64", NULL },
        { "hbm_refresh = 280", "hbm_refresh = 3900", "expected less than hbm_refresh_every" },
        { "sram_banks = 16", "sram_banks = 15", "sram_bytes: expected a multiple of 64" },
        { "array_rows = 16", "array_rows = 99999999999999999999", "x.chip:15: array_rows" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(faults); i++) {
        pfc_accel_chip chip;
        pfc_err err = { 0 };
        const pfc_code code = parse_changed(faults[i].from, faults[i].to, &chip, &err);

        if (!faults[i].says) {
            cr_assert(eq(int, code, PFC_OK), "%s", err.msg);
            continue;
        }
        cr_assert(eq(int, code, PFC_EINVAL), "%s", faults[i].to);
        cr_assert(strstr(err.msg, faults[i].says) != NULL, "%s: %s", faults[i].says, err.msg);
    }
}

Test(chip, a_file_is_bounded_and_text)
{
    static char large[PFC_ACCEL_CHIP_MAX_BYTES + 2];
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    memset(large, '#', sizeof(large));
    cr_assert(eq(int, pfc_accel_chip_parse(large, sizeof(large), "x", &chip, &err), PFC_ETOOBIG));
    cr_assert(eq(int, pfc_accel_chip_parse("name\0", 5, "x", &chip, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_chip_parse("", 0, "x", &chip, &err), PFC_EINVAL));
}

Test(chip, an_unknown_name_lists_the_known_ones)
{
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("no-such-chip", &chip, &err), PFC_ENOTFOUND));
    cr_assert(strstr(err.msg, "pfc-edge") != NULL, "%s", err.msg);
}

Test(chip, an_array_out_of_range_is_refused)
{
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_chip_set_array(&chip, 0, 8, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_chip_set_array(&chip, 8, 1025, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_chip_set_array(&chip, 8, 32, &err), PFC_OK));
    cr_assert(eq(u64, chip.array_cols, 32));
}
